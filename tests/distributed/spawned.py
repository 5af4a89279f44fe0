"""A program for PyTorch that spawns its processes itself; ``mpiexec`` has started as many."""

import gc
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(rank: int, world_size: int) -> None:
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def train(rank: int, world_size: int, path: str) -> None:
    setup(rank, world_size)
    torch.manual_seed(rank)
    model = DDP(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)))
    if rank == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()
    model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    nn.functional.mse_loss(model(torch.randn(5, 3)), torch.zeros(5, 1)).backward()
    optimizer.step()
    sums = [torch.zeros(4, 3) for _ in range(world_size)]
    dist.all_gather(sums, model.module[0].weight.detach())
    assert all(torch.equal(one, sums[0]) for one in sums)
    dist.destroy_process_group()


def forget(rank: int, world_size: int) -> None:
    """Messages for which nobody waits: their memory lives until they have arrived, or to the end."""
    setup(rank, world_size)
    before, after = (rank - 1) % world_size, (rank + 1) % world_size
    dist.irecv(torch.zeros(1000), before, tag=1)
    dist.isend(torch.full((1 << 20,), 3.0), after, tag=2)
    dist.irecv(torch.zeros(1000), before, tag=3)
    gc.collect()
    rest = [torch.ones(1 << 20) for _ in range(4)]
    dist.send(torch.ones(1000), after, tag=1)
    found = torch.zeros(1 << 20)
    dist.recv(found, before, tag=2)
    assert (found == 3).all()
    assert all((x == 1).all() for x in rest)
    dist.isend(torch.ones(1 << 20), after, tag=4)
    dist.destroy_process_group()


if __name__ == "__main__":
    assert os.environ["WORLD_SIZE"] == os.environ["LOCAL_WORLD_SIZE"] == "2"
    assert os.environ["MASTER_PORT"].isdigit()
    path = os.path.join(tempfile.gettempdir(), f"model-{os.getppid()}")
    mp.spawn(train, args=(2, path), nprocs=2)
    assert mp.spawn(forget, args=(2,), nprocs=2, join=False).join()
    if os.environ["RANK"] == "0":
        os.remove(path)
        sys.stdout.write("all ended\n")
