"""Communications between processes, and their derivatives."""

from __future__ import annotations

import re
from typing import Any

import ferrograd as fg
import pytest
from ferrograd import ArgumentError, DtypeError, ShapeError, distributed

from tests.distributed import derivatives
from tests.distributed.launch import launch, needs_mpi, passed


def test_derivatives_in_a_world_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    derivatives.main()
    assert capsys.readouterr().out == "all the same\n"


@needs_mpi
@pytest.mark.parametrize("n", [2, 4])
def test_derivatives(n: int) -> None:
    assert passed(n, "-m", "tests.distributed.derivatives") == "all the same\n"


def test_wrong_arguments() -> None:
    world = distributed.world()
    x = fg.ones([1, 2])
    numbers: Any = [1.0]
    calls: list[Any] = [
        lambda: world.allreduce(x, "median"),
        lambda: world.allreduce(numbers),
        lambda: world.broadcast(x, 1),
        lambda: world.broadcast(None),
        lambda: world.reduce(x, -1),
        lambda: world.sendrecv(x, 0, 3),
        lambda: world.gather(x, True),
        lambda: world.sum_in_order(numbers),
    ]
    for call in calls:
        with pytest.raises(ArgumentError):
            call()
    with pytest.raises(DtypeError, match="mean of int64"):
        world.allreduce(fg.arange(3), "mean")
    for stacked in (world.reduce_scatter, world.alltoall, world.scatter):
        with pytest.raises(ShapeError, match="one entry for each of 1 processes"):
            stacked(fg.ones([2, 2]))
    with pytest.raises(ShapeError, match="one shape"):
        world.sum_in_order([fg.ones(1), fg.ones(2)])
    with pytest.raises(ShapeError, match="one shape"):
        world.sum_in_order([])


@needs_mpi
@pytest.mark.parametrize("n", [2, pytest.param(4, marks=pytest.mark.long)])
def test_every_function_with_every_dtype_inside_every_transform(n: int) -> None:
    assert passed(n, "-m", "tests.distributed.walk") == "all the same\n"


@needs_mpi
@pytest.mark.parametrize("n", [2, 4])
def test_mistakes_raise_on_all_processes(n: int) -> None:
    assert passed(n, "-m", "tests.distributed.mistakes") == "all raised\n"


#: By name: a program that one process ends, and what the processes say.
ENDS = {
    "others wait": ("w.rank or w.barrier()", "rank 0 calls barrier.. at .*, rank 1 calls nothing more at its end"),
    "others differentiate": ("y = w.allreduce(x); w.rank or y.sum().backward()", "AllReduce.*rank 1 calls nothing"),
    "an exception": ("w.rank or 1 / 0; w.barrier()", "rank 0 of 2 failed and ends the others(.|\n)*ZeroDivisionError"),
    "shapes that differ, without debug mode": (
        "w.allreduce(fg.ones(3 + w.rank)); hang()",
        r"rank [01] calls AllReduce\(\['float32', \[[34]\], 'sum'\]\), and another process calls another function",
    ),
    "another dtype, without debug mode": (
        "w.allgather(fg.ones(2).astype(['float32', 'float64'][w.rank])); hang()",
        "rank [01] calls AllGather.*FERROGRAD_DISTRIBUTED_DEBUG=1 says which and where",
    ),
    "late": ("soon(); w.rank and hang(); w.barrier()", "within 1 s rank 1 calls nothing"),
    "without debug mode": ("w.rank and sys.exit(); w.barrier()", "rank 0 waits in Barrier for rank 1, which has ended"),
    "in a part, without debug mode": (
        "part = w.split(0); part.scan(x); w.rank or part.allreduce(x)",
        "rank 0 waits in Allreduce for rank 1, which has ended(.|\n)*in allreduce",
    ),
    "a message that nobody sends, without debug mode": (
        "torch.distributed.init_process_group(); w.rank or torch.distributed.recv(torch.ones(1))",
        "rank 0 waits in Recv for rank 1, which has ended",
    ),
    "a message that nobody takes, without debug mode": (
        "torch.distributed.init_process_group(); w.rank or torch.distributed.send(torch.ones(1 << 20), 1)",
        "rank 0 waits in Send for rank 1, which has ended",
    ),
    "messages that cross": (
        "torch.distributed.init_process_group(); soon(); torch.distributed.recv(torch.ones(1), 1 - w.rank)",
        "rank [01] waits in Recv for rank [01], which does not answer within 1 s",
    ),
    "killed": ("w.rank and os.kill(os.getpid(), 15); w.barrier()", "rank 1"),
    "killed while the other computes": ("w.rank and os.kill(os.getpid(), 9)\nwhile True: x = x * 1", "rank 1"),
}


START = """
import os, sys, threading, ferrograd as fg, ferrograd.torch as torch
w = fg.distributed.world(); x = fg.ones(3).requires_grad_()
hang = threading.Event().wait
# From now on a process waits for the others for a second. All have begun.
soon = lambda: w.barrier() or fg.distributed.set_debug(True, timeout=1)
"""

LATE = """
import sys, time, ferrograd as fg
w = fg.distributed.world(); x = fg.ones(3); part = w.split(w.rank % 2)
time.sleep(w.rank / 2); w.gather(x, 0)
if w.rank == 1: sys.exit()
if w.rank == 2: time.sleep(1)
if w.rank < 3: part.allreduce(x)
print(w.rank)
"""


@needs_mpi
def test_processes_may_end_once_they_have_done_their_part() -> None:
    done = passed(3, "-c", LATE, FERROGRAD_DISTRIBUTED_DEBUG="0")
    assert sorted(done.split()) == ["0", "2"]


@needs_mpi
@pytest.mark.parametrize("end", ENDS)
def test_a_process_that_ends_ends_the_others(end: str) -> None:
    program, text = ENDS[end]
    done = launch(2, "-c", START + program, FERROGRAD_DISTRIBUTED_DEBUG="0" if "without" in end else "1")
    assert done.returncode != 0
    assert re.search(text, done.stderr), done.stderr
