"""Programs written for the distributed training of PyTorch and of Paddle."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from ferrograd import FerrogradError, paddle as _paddle, torch as _torch

from tests.distributed.launch import ROOT, needs_mpi, passed

torch: Any = _torch
paddle: Any = _paddle
RUN = "import ferrograd, runpy; ferrograd.install_as('torch'); runpy.run_path({!r}, run_name='__main__')"
PROGRAM = RUN.format(str(ROOT / "tests/distributed/train_ddp.py"))
SPAWNED = RUN.format(str(ROOT / "tests/distributed/spawned.py"))
#: What PyTorch 2.15 prints, in any number of processes.
LOSSES = [2.2775969237882787, 2.029757015226909, 1.8119187546219813]


@needs_mpi
@pytest.mark.parametrize(("dialect", "n"), [("torch", 4), ("paddle", 2)])
def test_names(dialect: str, n: int) -> None:
    assert passed(n, "-m", f"tests.distributed.{dialect}_names") == "all the same\n"


@needs_mpi
def test_a_program_for_data_parallel_training() -> None:
    alone = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    results = [json.loads(alone.stdout), json.loads(passed(2, "-c", PROGRAM, "--backend", "mpi"))]
    for found in results:
        np.testing.assert_allclose(found["losses"], LOSSES, rtol=1e-12)
        np.testing.assert_allclose(found["weights"], results[0]["weights"], rtol=1e-10, atol=1e-12)
        assert "module.first.weight" in found["names"]


@needs_mpi
def test_a_program_that_spawns_its_processes() -> None:
    assert passed(2, "-c", SPAWNED, FERROGRAD_DISTRIBUTED_DEBUG="0") == "all ended\n"


def test_a_world_of_one() -> None:
    dist = torch.distributed
    with pytest.raises(ValueError, match="has not been initialized"):
        dist.get_rank()
    with pytest.raises(FerrogradError, match="mpiexec -n N"):
        dist.init_process_group("gloo", world_size=4, rank=0)
    with pytest.raises(FerrogradError, match="'mpi' and 'gloo'"):
        dist.init_process_group("nccl")
    dist.init_process_group()
    try:
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group()
        assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        model(torch.ones(1, 2)).sum().backward()
        assert model.module.bias.grad.item() == 1
        with pytest.raises(FerrogradError, match="device_mesh is not supported"):
            torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1), device_mesh=1)
        assert len(torch.utils.data.DistributedSampler(range(3))) == 3
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


def test_a_world_of_one_for_paddle() -> None:
    dist = paddle.distributed
    # What an example of the documentation has made.
    dist.destroy_process_group()
    assert (dist.get_rank(), dist.get_world_size(), dist.ParallelEnv().nranks) == (0, 1, 1)
    assert not dist.is_initialized()
    dist.fleet.init(is_collective=True)
    try:
        layer = paddle.nn.Linear(1, 1)
        assert dist.fleet.distributed_model(layer) is layer
        strategy = dist.fleet.DistributedStrategy()
        strategy.hybrid_configs = {"mp_degree": 2}
        with pytest.raises(FerrogradError, match="mp_degree=2"):
            dist.fleet.init(strategy=strategy)
        with pytest.raises(FerrogradError, match="mpiexec -n 4"):
            dist.spawn(print, nprocs=4)
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()
