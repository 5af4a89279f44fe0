"""A program of several processes: ``paddle.distributed``, ``DataParallel`` and ``fleet``."""

from __future__ import annotations

from typing import Any

import numpy as np
from ferrograd import paddle as _paddle

paddle: Any = _paddle
dist = paddle.distributed
fleet = dist.fleet


def functions(n: int, rank: int) -> None:
    x = paddle.to_tensor([1.0, rank])
    dist.all_reduce(x)
    assert x.tolist() == [n, n * (n - 1) / 2]
    dist.all_reduce(x, op=dist.ReduceOp.MAX, sync_op=False).wait()
    assert x.tolist() == [n, n * (n - 1) / 2]
    x = paddle.to_tensor([float(rank)])
    dist.reduce(x, dst=1, op=dist.ReduceOp.AVG)
    assert x.item() == ((n - 1) / 2 if rank == 1 else rank)
    x = paddle.to_tensor([rank])
    dist.broadcast(x, src=n - 1)
    assert x.item() == n - 1
    found: list[Any] = []
    dist.all_gather(found, paddle.to_tensor([rank]))
    assert [x.item() for x in found] == list(range(n))
    found = []
    dist.gather(paddle.to_tensor([rank]), found, dst=0)
    assert [x.item() for x in found] == (list(range(n)) if rank == 0 else [])
    x = paddle.zeros([1])
    dist.scatter(x, [paddle.to_tensor([float(r)]) for r in range(n)] if rank == 0 else None, src=0)
    assert x.item() == rank
    dist.reduce_scatter(x, [paddle.to_tensor([float(r)]) for r in range(n)])
    assert x.item() == n * rank
    out: list[Any] = []
    dist.alltoall(out, [paddle.to_tensor([10 * rank + r]) for r in range(n)])
    assert [x.item() for x in out] == [10 * r + rank for r in range(n)]
    x = paddle.zeros([n], dtype="int64")
    dist.alltoall_single(x, paddle.arange(n) + 10 * rank)
    assert x.tolist() == [10 * r + rank for r in range(n)]
    task = dist.isend(paddle.to_tensor([rank]), (rank + 1) % n)
    x = paddle.zeros([1], dtype="int64")
    dist.recv(x, (rank - 1) % n)
    task.wait()
    assert x.item() == (rank - 1) % n
    objects: list[Any] = []
    dist.all_gather_object(objects, str(rank))
    assert objects == [str(r) for r in range(n)]
    part = dist.new_group([0, 1])
    assert part.is_member() == (rank < 2)
    if rank < 2:
        x = paddle.to_tensor([float(rank)])
        dist.all_reduce(x, group=part)
        assert x.item() == 1
    x = paddle.to_tensor([float(rank)], stop_gradient=False)
    (dist.get_group().communicator.allreduce(x * x) * 2).sum().backward()
    assert x.grad.item() == 4 * rank * n


def train(wrap: bool) -> tuple[list[float], Any]:
    """Losses and weights of a model with batch normalization, on this process's part of each batch or on the whole."""
    n, rank = (dist.get_world_size(), dist.get_rank()) if wrap else (1, 0)
    paddle.seed(3)
    model = paddle.nn.Sequential(paddle.nn.Linear(4, 8), paddle.nn.BatchNorm1D(8), paddle.nn.Linear(8, 1))
    names = list(model.state_dict())
    optimizer = paddle.optimizer.Momentum(0.1, parameters=model.parameters())
    if wrap:
        model = paddle.nn.SyncBatchNorm.convert_sync_batchnorm(model)
        for p in model.parameters():
            p.set_value(p + rank)
        model = fleet.distributed_model(model)
        optimizer = fleet.distributed_optimizer(optimizer)
        assert isinstance(model, paddle.DataParallel)
    assert list(model.state_dict()) == names
    x = np.random.default_rng(0).normal(size=(24, 4)).astype("float32")
    data = [(row, row[:1]) for row in x]
    sampler = paddle.io.DistributedBatchSampler(data, 12 // n, None if wrap else 1, None if wrap else 0)
    losses = []
    for _ in range(3):
        for inputs, labels in paddle.io.DataLoader(data, batch_sampler=sampler):
            loss = paddle.nn.functional.mse_loss(model(inputs), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            total = loss.detach()
            if wrap:
                dist.all_reduce(total, op=dist.ReduceOp.AVG)
            losses.append(total.item())
    return losses, np.concatenate([p.numpy().ravel() for p in model.parameters()])


def main() -> None:
    assert not dist.is_initialized()
    dist.init_parallel_env()
    n, rank = dist.get_world_size(), dist.get_rank()
    functions(n, rank)
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"dp_degree": n, "mp_degree": 1}
    fleet.init(is_collective=True, strategy=strategy)
    assert (fleet.worker_num(), fleet.worker_index(), fleet.is_first_worker()) == (n, rank, rank == 0)
    for found, wanted in zip(train(True), train(False), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=1e-5)
    layer = paddle.nn.Linear(1, 1)
    layer.weight.trainable = False
    layer(paddle.full([1, 1], float(rank))).backward(paddle.full([1, 1], 2.0 * rank))
    fleet.utils.hybrid_parallel_util.fused_allreduce_gradients(layer.parameters(), None)
    assert layer.bias.grad.item() == n - 1
    assert layer.weight.grad is None
    fleet.barrier_worker()
    if rank == 0:
        print("all the same")


if __name__ == "__main__":
    dist.spawn(main)
