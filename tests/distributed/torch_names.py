"""A program of several processes: ``torch.distributed``, and modules that communicate."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest
from ferrograd import ArgumentError, FerrogradError, torch as _torch
from ferrograd.distributed import DistributedError

from tests.waiting import LONG

torch: Any = _torch
dist = torch.distributed
nn = torch.nn
DDP = nn.parallel.DistributedDataParallel


def mine(*shape: int) -> Any:
    return torch.arange(float(torch.Size(shape).numel())).reshape(*shape) + 10 * dist.get_rank()


def everyone(*shape: int) -> list[Any]:
    at = torch.arange(float(torch.Size(shape).numel())).reshape(*shape)
    return [at + 10 * r for r in range(dist.get_world_size())]


def functions(n: int, rank: int) -> None:
    values = everyone(2)
    total = sum(values[1:], values[0])
    for op, wanted in (
        (dist.ReduceOp.SUM, total),
        (dist.ReduceOp.AVG, total / n),
        (dist.ReduceOp.MAX, values[-1]),
        (dist.ReduceOp.MIN, values[0]),
        (dist.ReduceOp.PRODUCT, torch.stack(values).prod(0)),
    ):
        x = mine(2)
        work = dist.all_reduce(x, op, async_op=True)
        assert work.wait()
        torch.testing.assert_close(x, wanted)
        x = mine(2)
        dist.reduce(x, n - 1, op)
        torch.testing.assert_close(x, wanted if rank == n - 1 else values[rank])
    bits = torch.tensor([rank, 1])
    dist.all_reduce(bits, dist.ReduceOp.BOR)
    assert bits.tolist() == [n - 1 if n in (2, 4) else 3, 1]
    x = mine(2)
    dist.broadcast(x, n - 1)
    assert torch.equal(x, values[-1])
    found = [torch.zeros(2) for _ in range(n)]
    dist.all_gather(found, mine(2))
    assert all(map(torch.equal, found, values))
    stacked = torch.zeros(2 * n)
    dist.all_gather_into_tensor(stacked, mine(2))
    assert torch.equal(stacked, torch.cat(values))
    found = [torch.zeros(2) for _ in range(n)]
    dist.gather(mine(2), found if rank == 1 else None, dst=1)
    assert all(map(torch.equal, found, values)) == (rank == 1)
    x = torch.zeros(2)
    dist.scatter(x, values if rank == 1 else None, src=1)
    assert torch.equal(x, values[rank])
    x = torch.zeros(2)
    dist.reduce_scatter(x, [row * (rank + 1) for row in values])
    assert torch.equal(x, values[rank] * (n * (n + 1) // 2))
    dist.reduce_scatter_tensor(x, torch.cat(values) * (rank + 1), dist.ReduceOp.MAX)
    assert torch.equal(x, values[rank] * n)
    found = [torch.zeros(r + 1) for r in range(n)]
    dist.all_to_all(found, [torch.full((rank + 1,), float(r)) for r in range(n)])
    assert [x.tolist() for x in found] == [[float(rank)] * (r + 1) for r in range(n)]
    x = torch.zeros(n)
    dist.all_to_all_single(x, torch.arange(float(n)) + n * rank)
    assert x.tolist() == [n * r + rank for r in range(n)]
    x = torch.zeros(2)
    work = dist.isend(mine(2), (rank + 1) % n, tag=3)
    assert dist.recv(x, (rank - 1) % n, tag=3) == (rank - 1) % n
    assert work.wait()
    assert torch.equal(x, values[rank - 1])
    objects: list[Any] = [None] * n
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": r} for r in range(n)]
    dist.broadcast_object_list(objects := [rank, "a"], src=1)
    assert objects == [1, "a"]
    dist.scatter_object_list(out := [None], list(range(n)) if rank == 0 else None, src=0)
    assert out == [rank]
    dist.gather_object(rank, objects := [None] * n, dst=0)
    assert objects == (list(range(n)) if rank == 0 else [None] * n)
    dist.monitored_barrier()
    # What is sent and received may be listed, and objects go from one process to another.
    x = torch.zeros(2)
    calls = [dist.P2POp(dist.isend, mine(2), (rank + 1) % n), dist.P2POp(dist.irecv, x, (rank - 1) % n)]
    assert repr(calls[0]) == f"P2POp(isend, torch.float32[2], peer={(rank + 1) % n})"
    assert repr(dist.P2POp(dist.irecv, x, group_peer=0, tag=3)) == "P2POp(irecv, torch.float32[2], group_peer=0, tag=3)"
    assert repr(dist.group.WORLD) == f"ProcessGroup(ranks={list(range(n))}, backend={dist.get_backend()!r})"
    for work in dist.batch_isend_irecv(calls):
        assert work.wait(timedelta(seconds=LONG))
    assert torch.equal(x, values[rank - 1])
    with pytest.raises(ArgumentError, match="isend or irecv"):
        dist.P2POp(dist.send, x, 0)
    if rank == 0:
        dist.send_object_list([1, {"a": torch.ones(2)}], 1)
        dist.send_object_list([1], 1)
    elif rank == 1:
        objects = [None, None]
        assert dist.recv_object_list(objects) == 0
        assert objects[0] == 1
        assert objects[1]["a"].tolist() == [1, 1]
        with pytest.raises(ArgumentError, match="the list has 2 objects, that of the sender 1"):
            dist.recv_object_list(objects, 0)
        with pytest.raises(DistributedError, match=r"rank 1 waits in Recv for rank 0, .* within 0\.1 s"):
            dist.irecv(x, 0, tag=9).wait(timedelta(seconds=0.1))
    dist.barrier()
    if rank == 0:
        dist.send(x, 1, tag=9)


def groups(n: int, rank: int) -> None:
    part = dist.new_group(sorted({1, n - 1}))
    if rank in (1, n - 1):
        assert dist.get_process_group_ranks(part) == sorted({1, n - 1})
        x = torch.tensor([float(rank)])
        dist.all_reduce(x, group=part)
        assert x.item() == (n if n > 2 else 1)
        dist.broadcast(x, src=n - 1, group=part)
    else:
        assert part is dist.GroupMember.NON_GROUP_MEMBER
        assert dist._rank_not_in_group(part)
        assert dist.get_rank(part) == -1
        with pytest.raises(ValueError, match="Invalid process group"):
            dist.all_reduce(torch.ones(1), group=part)
    own, every = dist.new_subgroups(n // 2)
    assert [dist.get_process_group_ranks(one) for one in every if one.rank() >= 0] == [own._ranks]
    x = torch.tensor([float(rank)])
    dist.all_reduce(x, group=own)
    assert x.item() == sum(range(n // 2)) + (rank >= n // 2) * (n // 2) ** 2
    with pytest.raises(ArgumentError, match=f"must divide {n} processes"):
        dist.new_subgroups(n + 1)
    with pytest.raises(ArgumentError, match="a rank is in two groups"):
        dist.new_subgroups_by_enumeration([[0, 1], [1]])


def derivatives(n: int, rank: int) -> None:
    x = torch.tensor([rank + 1.0], requires_grad=True)
    (dist.nn.all_reduce(x**2) ** 2).backward()
    total = sum((r + 1) ** 2 for r in range(n))
    assert x.grad.item() == 2 * total * n * 2 * (rank + 1)
    x.grad = None
    gathered = dist.nn.functional.all_gather(x)
    (gathered[(rank + 1) % n] * 3).sum().backward()
    assert x.grad.item() == 3


def synchronized_statistics(n: int, rank: int) -> None:
    """Batch normalization of parts is that of the whole, with running statistics and gradients."""
    torch.manual_seed(0)
    whole = torch.rand(2 * n + 1, 3, 4, dtype=torch.float64)
    weights = torch.rand(2 * n + 1, 3, 4, dtype=torch.float64)
    # The parts of the processes have different sizes.
    own = slice(2 * rank, 2 * n + 1 if rank == n - 1 else 2 * rank + 2)
    layers = [nn.BatchNorm1d(3).double() for _ in range(2)]
    layers[1] = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(layers[1]))[0]
    assert isinstance(layers[1], nn.SyncBatchNorm)
    results = []
    for layer, at in zip(layers, (slice(None), own), strict=True):
        x = whole.clone().requires_grad_()
        y = layer(x[at])
        (y.sin() * weights[at]).sum().backward()
        results.append((y, x.grad[own], layer.running_mean, layer.running_var, layer.weight.grad))
    dist.all_reduce(results[1][4])
    torch.testing.assert_close(results[1][0], results[0][0][own])
    for found, wanted in zip(results[1][1:], results[0][1:], strict=True):
        torch.testing.assert_close(found, wanted)
    layers[1].eval()
    assert torch.equal(layers[1](whole), nn.functional.batch_norm(whole, *results[1][2:4], *layers[1].parameters()))


class TwoWays(_torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.never = (nn.Linear(2, 1) for _ in range(3))
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Any, right: bool) -> Any:
        self.last = self.seen.item()
        self.seen += 1 + dist.get_rank()
        return (self.right if right else self.left)(x)


def data_parallel(n: int, rank: int) -> None:
    torch.manual_seed(rank)
    model = TwoWays()
    ddp = DDP(model, find_unused_parameters=True)
    assert not ddp.static_graph
    logged = ddp._get_ddp_logging_data()
    assert (logged["world_size"], logged["rank"], logged["find_unused_parameters"]) == (n, rank, True)
    weights = [model.left.weight.detach().clone() for _ in range(n)]
    dist.all_gather(weights, model.left.weight.detach())
    assert all(torch.equal(w, weights[0]) for w in weights)
    x = torch.ones(1, 2) * (rank + 1)
    for step in range(2):
        ddp.zero_grad()
        # The buffers of process 0 count.
        ddp(x, rank == 0).sum().backward()
        assert model.last == step
        assert model.right.weight.grad.tolist() == [[1 / n] * 2]
        torch.testing.assert_close(model.left.weight.grad, torch.full((1, 2), (n * (n + 1) / 2 - 1) / n))
        assert model.never.weight.grad is None
    # Accumulated gradients are averaged as a whole.
    ddp.zero_grad()
    with ddp.no_sync():
        ddp(x, True).sum().backward()
        assert model.right.bias.grad.item() == 1
    ddp(x, True).sum().backward()
    assert model.right.bias.grad.item() == 2
    strict = DDP(TwoWays())
    strict(x, True).sum().backward()
    with pytest.raises(RuntimeError, match=r"left\.weight.*find_unused_parameters=True"):
        strict(x, True)
    # A pass that fails leaves nothing behind.
    failing = DDP(nn.Sequential(nn.Linear(2, 300), nn.Linear(300, 1)), bucket_cap_mb=0.0001)
    hook = failing.module[0].weight.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        failing(x).sum().backward()
    hook.remove()
    failing.zero_grad()
    failing(x).sum().backward()
    assert failing.module[1].bias.grad.item() == 1
    for dtype in (torch.bfloat16, torch.complex64):
        layer = DDP(nn.Linear(2, 1, dtype=dtype))
        loss = layer(x.to(dtype)).sum()
        (loss.real if loss.is_complex() else loss).backward()
        assert layer.module.bias.grad.dtype == dtype
        assert layer.module.bias.grad.to(torch.complex64).real.tolist() == [1]
    with pytest.raises(FerrogradError, match="models of"):
        DDP(nn.Linear(2 + rank, 1))


def expected_passes(n: int, rank: int) -> None:
    """A forward call decides whether the next backward pass averages, and which buffers the module has."""
    model = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1, affine=False))
    ddp, layer = DDP(model), model[0]
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0]]) * (rank + 1)
    ddp(x)
    model[1].running_mean.fill_(rank)
    with torch.no_grad():
        ddp.eval()(x)
        assert model[1].running_mean.item() == 0
        model[1].running_mean.fill_(rank)
        ddp(x)
        assert model[1].running_mean.item() == rank
    ddp = DDP(layer)
    mine, mean = [rank + 1.0] * 2, [(n + 1) / 2] * 2
    flat = torch.zeros(3)
    for averages, forward, backward in ((True, True, False), (False, False, True), (True, True, True)):
        with nullcontext() if forward else ddp.no_sync():
            loss = ddp(x).sum()
        flat.zero_()
        layer.weight.grad = flat[:2].reshape(1, 2)
        with nullcontext() if backward else ddp.no_sync():
            loss.backward(retain_graph=True)
        # It is written in place.
        torch.testing.assert_close(flat[:2].tolist(), mean if averages else mine)
        flat.zero_()
        loss.backward()
        assert flat[:2].tolist() == mine


def joined(n: int, rank: int) -> None:
    """Process ``r`` has ``r + 1`` batches. All end with what the last one has."""
    for divide_by_all in (True, False):
        model = nn.Linear(1, 1, bias=False)
        model.register_buffer("seen", torch.zeros(1))
        ddp = DDP(model)
        with torch.no_grad():
            model.weight.fill_(0)
        with ddp.join(divide_by_initial_world_size=divide_by_all):
            for _ in range(rank + 1):
                model.seen += 1
                ddp(torch.ones(1, 1) * (rank + 1)).sum().backward()
                with torch.no_grad():
                    model.weight += model.weight.grad
                model.weight.grad = None
        means = [sum(range(k + 1, n + 1)) / (n if divide_by_all else n - k) for k in range(n)]
        torch.testing.assert_close(model.weight.item(), sum(means))
        assert model.seen.item() == n

    def until_the_first_ends() -> None:
        with ddp.join(throw_on_early_termination=True):
            for _ in range(rank + 1):
                ddp(torch.ones(1, 1)).sum().backward()

    with pytest.raises(RuntimeError, match="at least one rank"):
        until_the_first_ends()


def main() -> None:
    dist.init_process_group("mpi")
    n, rank = dist.get_world_size(), dist.get_rank()
    for check in (functions, groups, derivatives, synchronized_statistics, data_parallel, expected_passes, joined):
        check(n, rank)
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        print("all the same")


if __name__ == "__main__":
    main()
