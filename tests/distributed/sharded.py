"""A program of several processes: optimizers and modules whose state is divided among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ferrograd import FerrogradError, torch as _torch

torch: Any = _torch
dist, nn = torch.distributed, torch.nn
from ferrograd.torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy  # noqa: E402
from ferrograd.torch.distributed.optim import ZeroRedundancyOptimizer  # noqa: E402


def model() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3)).double()


def train(net: Any, optimizer: Any, whole: bool, steps: int = 3) -> None:
    """Steps on this process's samples, or on all."""
    n, rank = dist.get_world_size(), dist.get_rank()
    x = torch.arange(12 * 5.0).sin().reshape(12, 5).double()
    mine = slice(None) if whole else slice(12 // n * rank, 12 // n * (rank + 1))
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    for _ in range(steps):
        optimizer.zero_grad()
        (net(x[mine]) ** 2).mean().backward()
        optimizer.step()
        schedule.step()


def wanted(make: Callable[[Any], Any]) -> dict[str, Any]:
    """The state of the model after training in one process."""
    net = model()
    train(net, make(net.parameters()), True)
    return dict(net.state_dict())


def close(state: Any, other: Any) -> None:
    assert list(state) == list(other)
    for name in state:
        torch.testing.assert_close(state[name], other[name])


def held(optimizer: Any) -> int:
    """The numbers in the state of an optimizer, without the counts of steps, which are tensors in a loaded state."""
    values = [x for s in optimizer.state.values() for name, x in s.items() if name != "step"]
    return sum(x.numel() for x in values if isinstance(x, torch.Tensor))


def optimizers(n: int, rank: int) -> None:
    kinds: Any = ((torch.optim.Adam, {"lr": 0.05}), (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}))
    for kind, options in kinds:

        def make(params: Any, kind: Any = kind, options: Any = options) -> Any:
            return kind(params, **options)

        net = nn.parallel.DistributedDataParallel(model())
        optimizer = ZeroRedundancyOptimizer(net.parameters(), kind, **options)
        train(net, optimizer, False)
        close(net.module.state_dict(), wanted(make))
        counts = dist_gather(held(optimizer))
        whole = kind(model().parameters(), **options)
        assert max(counts) <= sum(counts) * 0.65
        with pytest.raises(RuntimeError, match="consolidate_state_dict"):
            optimizer.state_dict()
        optimizer.consolidate_state_dict(to=1)
        state = [optimizer.state_dict() if rank == 1 else None]
        dist.broadcast_object_list(state, src=1)
        # One process reads what several have written, and the other way round.
        whole.load_state_dict(state[0])
        assert held(whole) == sum(counts)
        again = ZeroRedundancyOptimizer(net.parameters(), kind, lr=9.0)
        again.load_state_dict(whole.state_dict())
        assert held(again) == held(optimizer)
        assert again.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]


def dist_gather(value: int) -> list[int]:
    found = [0] * dist.get_world_size()
    dist.all_gather_object(found, value)
    return found


def modules(n: int, rank: int) -> None:
    def make(params: Any) -> Any:
        return torch.optim.AdamW(params, lr=0.05)

    for nested in (False, True):
        for again in (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy.FULL_SHARD):
            net = model()
            count = sum(p.numel() for p in net.parameters())
            names = list(net.state_dict())
            if nested:
                net[2] = FullyShardedDataParallel(net[2], sharding_strategy=again)
            net = FullyShardedDataParallel(net, sharding_strategy=again)
            assert net.reshard_after_forward == (again is ShardingStrategy.FULL_SHARD)
            optimizer = make(net.parameters())
            assert sum(p.numel() for p in net.parameters()) <= count / n + 2
            train(net, optimizer, False)
            assert list(net.state_dict()) == names
            close(net.state_dict(), wanted(make))
            assert held(optimizer) <= 2 * (count / n + 2)
            # Files that these processes have written, one process reads as well.
            whole = FullyShardedDataParallel.optim_state_dict(net, optimizer)
            assert sum(x.numel() for s in whole["state"].values() for x in s.values() if x.ndim) == 2 * count
            fresh = make(net.parameters())
            fresh.load_state_dict(FullyShardedDataParallel.optim_state_dict_to_load(net, fresh, whole))
            for p in net.parameters():
                assert torch.equal(fresh.state[p]["exp_avg"], optimizer.state[p]["exp_avg"])
            norm = net.clip_grad_norm_(1e-3)
            alone = model()
            alone.load_state_dict(net.state_dict())
            other = FullyShardedDataParallel(model())
            other.load_state_dict(alone.state_dict())
            close(other.state_dict(), alone.state_dict())
            assert norm > 1e-3
            assert abs(net.clip_grad_norm_(1.0) - 1e-3) < 1e-6
    with pytest.raises(FerrogradError, match="one dtype"):
        FullyShardedDataParallel(nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1).double()))
    with pytest.raises(FerrogradError, match=r"not ShardingStrategy\.NO_SHARD"):
        FullyShardedDataParallel(nn.Linear(1, 1), sharding_strategy=ShardingStrategy.NO_SHARD)
    with pytest.raises(FerrogradError, match="no parameters"):
        FullyShardedDataParallel(nn.Tanh())


class Shared(_torch.nn.Module):
    """Two layers with one weight, and running statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.norm = nn.Linear(3, 3), nn.Linear(3, 3, bias=False), nn.BatchNorm1d(3)
        self.b.weight = self.a.weight
        self.double()

    def forward(self, x: Any) -> Any:
        return self.norm(self.b(torch.tanh(self.a(x))))


def shared_parameters(n: int, rank: int) -> None:
    """A parameter that modules share stays one; statistics are updated once."""
    x = torch.arange(12.0).reshape(4, 3).sin().double() + rank
    for strategy in (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy.FULL_SHARD):
        torch.manual_seed(0)
        plain = Shared()
        whole = nn.parallel.DistributedDataParallel(plain, broadcast_buffers=False)
        net = Shared()
        net.load_state_dict(plain.state_dict())
        parts = FullyShardedDataParallel(net, sharding_strategy=strategy)
        assert sum(p.numel() for p in parts.parameters()) <= (9 + 3 + 6) / n + 1
        for model in (whole, parts):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(2):
                optimizer.zero_grad()
                (model(x) ** 3).sum().backward()
                optimizer.step()
        close(parts.state_dict(), plain.state_dict())
        state = parts.state_dict()
        assert torch.equal(state["a.weight"], state["b.weight"])
    net = Shared()
    net.b = FullyShardedDataParallel(net.b)
    with pytest.raises(FerrogradError, match="wrap the modules that share it together"):
        FullyShardedDataParallel(net)


def main() -> None:
    dist.init_process_group("mpi")
    n, rank = dist.get_world_size(), dist.get_rank()
    optimizers(n, rank)
    modules(n, rank)
    shared_parameters(n, rank)
    dist.destroy_process_group()
    if rank == 0:
        print("all the same")


if __name__ == "__main__":
    main()
