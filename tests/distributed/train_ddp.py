"""A program for PyTorch: trains a small model in several processes and prints what came out."""

import argparse
import json
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Model(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 16)
        self.second = nn.Linear(16, 3)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):  # type: ignore[no-untyped-def]
        self.calls += 1
        return self.second(torch.tanh(self.first(x)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="gloo")
    backend = parser.parse_args().backend
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29511")
    dist.init_process_group(backend, init_method="env://", rank=rank, world_size=size)
    assert (dist.get_rank(), dist.get_world_size()) == (rank, size)
    model = Model().double()
    with torch.no_grad():
        for p in model.parameters():
            # Each process begins with other numbers; those of process 0 count.
            p.copy_((torch.arange(p.numel(), dtype=torch.float64) + rank).sin().reshape(p.shape) / 2)
    model = DDP(model, bucket_cap_mb=0.0005)
    x = torch.arange(48 * 6, dtype=torch.float64).cos().reshape(48, 6)
    y = (x[:, :3] * 3).long().abs().sum(1) % 3
    data = TensorDataset(x, y)
    sampler = DistributedSampler(data, shuffle=False)
    loader = DataLoader(data, batch_size=12 // size, sampler=sampler)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()
    losses = []
    for epoch in range(3):
        sampler.set_epoch(epoch)
        total = torch.zeros(1, dtype=torch.float64)
        for i, (inputs, labels) in enumerate(loader):
            # Gradients of two batches are accumulated.
            if i % 2 == 0:
                optimizer.zero_grad()
                with model.no_sync():
                    loss = loss_of(model(inputs), labels)
                    loss.backward()
            else:
                loss = loss_of(model(inputs), labels)
                loss.backward()
                optimizer.step()
            total += loss.detach()
        dist.all_reduce(total, op=dist.ReduceOp.SUM)
        losses.append(total.item() / size / len(loader))
    everyone = [torch.zeros(3, dtype=torch.float64) for _ in range(size)]
    dist.all_gather(everyone, model.module.second.bias.detach())
    assert all(torch.equal(one, everyone[0]) for one in everyone)
    dist.barrier()
    if rank == 0:
        weights = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
        print(json.dumps({"losses": losses, "weights": weights.tolist(), "names": list(model.state_dict())}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
