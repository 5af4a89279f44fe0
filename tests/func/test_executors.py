"""Transforms whose parts are computed by the workers of an executor."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from copy import deepcopy
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import ArgumentError, ShapeError, func, torch as _torch

from tests.distributed.launch import ROOT, needs_mpi, passed
from tests.func.pools import loss
from tests.func.tools import sample

torch: Any = _torch


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        yield pool


@pytest.fixture
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def test_value_and_grad(processes: Executor, threads: Executor) -> None:
    w = {"a": sample(3, 2), "b": sample(2)}
    x = sample(37, 3)
    summed: Callable[..., Any] = func.value_and_grad(loss, batch_argnums=1, blocks=5)
    wanted = summed(w, x, scale=2.0)
    whole = func.value_and_grad(loss)(w, x, scale=2.0)
    np.testing.assert_allclose(wanted[0].item(), whole[0].item())
    np.testing.assert_allclose(wanted[1]["a"].tolist(), whole[1]["a"].tolist())
    for pool in (processes, threads, fg.distributed.world()):
        seen: list[int] = []

        def note(done: int, total: int, seen: list[int] = seen) -> None:
            seen.append(done)

        options: Any = {"executor": pool, "progress": note}
        found = func.value_and_grad(loss, batch_argnums=1, blocks=5, **options)(w, x, scale=2.0)
        # To the last bit, whoever computes the blocks.
        assert found[0].item() == wanted[0].item()
        assert found[1]["a"].tolist() == wanted[1]["a"].tolist()
        assert found[1]["b"].tolist() == wanted[1]["b"].tolist()
        assert seen == [1, 2, 3, 4, 5]


def test_arguments_of_any_kind(threads: Executor) -> None:
    def f(scale: Any, w: Any, batch: Any) -> Any:
        return (batch["x"] * w * scale).sum() + batch["y"].sum() * w

    batch = {"x": np.arange(10.0), "y": fg.arange(10.0).astype("float64")}
    options: Any = {"batch_argnums": (-1,), "blocks": 3, "executor": threads}
    value, (by_w, by_scale) = func.value_and_grad(f, (1, 0), **options)(fg.tensor(2.0), fg.tensor(3.0), batch)
    assert (value.item(), by_w.item(), by_scale.item()) == (405, 135, 135)


def test_jacobians_and_hessians(processes: Executor) -> None:
    x, a = sample(7), sample(7, 7)

    def f(x: Any, scale: Any = 2.0) -> Any:
        return {"y": a @ x * scale, "z": fg.sum(fg.sin(x) * x)}

    transforms: tuple[Any, ...] = (func.jacrev, func.jacfwd, func.jacobian)
    for transform in transforms:
        for options in ({}, {"chunk_size": 3}):
            found = transform(f, executor=processes, **options)(x)
            wanted = transform(f, **options)(x)
            assert found["y"].tolist() == wanted["y"].tolist()
            assert found["z"].tolist() == wanted["z"].tolist()
    seen: list[tuple[int, int]] = []
    hessian = func.hessian(lambda x: f(x)["z"], chunk_size=4, executor=processes, progress=lambda *n: seen.append(n))
    assert hessian(x).tolist() == func.hessian(lambda x: f(x)["z"])(x).tolist()
    assert seen == [(4, 7), (7, 7)]


def test_vmap(processes: Executor) -> None:
    xs, w = sample(21, 3), sample(3)
    per_sample = func.vmap(func.grad(lambda w, x: fg.sum(fg.sin(w * x))), (None, 0), executor=processes)
    assert (
        per_sample(w, xs).tolist()
        == func.vmap(func.grad(lambda w, x: fg.sum(fg.sin(w * x))), (None, 0))(w, xs).tolist()
    )

    def several(pair: Any) -> Any:
        return pair["x"].sum(), {"n": 3}

    total, rest = func.vmap(several, ({"x": 1},), (0, None), chunk_size=2, executor=processes)({"x": xs})
    assert total.tolist() == xs.sum(0).tolist()
    assert rest == {"n": 3}
    assert func.vmap(lambda x: x * 2, executor=processes)(fg.ones([0, 2])).shape == (0, 2)


class Flaky(Executor):
    """Fails the first time that a task is sent."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.sent = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.sent += 1
        future: Future[Any] = Future()
        if self.left:
            self.left -= 1
            future.set_exception(OSError("the worker is gone"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_retries() -> None:
    x = sample(6)
    transforms: tuple[Any, ...] = (func.jacrev, func.vmap)
    for transform in transforms:
        pool = Flaky(3)
        found = transform(lambda x: x * x, chunk_size=2, executor=pool, retries=3)(x)
        assert found.tolist() == transform(lambda x: x * x)(x).tolist()
        assert pool.sent == 6
    with pytest.raises(OSError, match="gone") as caught:
        func.jacrev(lambda x: x * x, chunk_size=2, executor=Flaky(5), retries=2)(x)
    assert caught.value.__notes__ == ["jacrev: chunk 1"]


def die(w: Any, x: Any, path: str) -> Any:
    if x[0].item() == 4:
        if path:
            Path(path).touch()
        os._exit(3)
    return (w * x).sum()


def test_a_worker_that_dies_and_one_that_raises(threads: Executor) -> None:
    w, x = fg.tensor(1.0), fg.arange(8.0)
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        pytest.raises(BrokenProcessPool),
    ):
        func.value_and_grad(die, batch_argnums=1, blocks=4, executor=pool)(w, x, "")
    with pytest.raises(ShapeError, match="one element") as caught:
        func.value_and_grad(lambda w, x: w * x, batch_argnums=1, blocks=4, executor=threads)(w, x)
    assert caught.value.__notes__ == ["value_and_grad: block 1"]


@pytest.mark.parametrize("kind", ["standard", pytest.param("loky", marks=pytest.mark.long), "dask"])
def test_executors_of_other_packages(kind: str, tmp_path: Path) -> None:
    if kind != "standard" and importlib.util.find_spec("distributed" if kind == "dask" else kind) is None:
        pytest.skip(f"needs the package {kind}")
    command = [sys.executable, "-m", "tests.func.pools", kind, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "all the same\n"), done.stderr[-4000:]


@needs_mpi
@pytest.mark.parametrize("n", [2, 4])
def test_workers_of_mpi(n: int, tmp_path: Path) -> None:
    program = ("-m", "mpi4py.futures", "-m", "tests.func.pools", "mpi", str(tmp_path))
    assert passed(n, *program, WORKERS=str(n - 1)) == "all the same\n"


def always_die(x: Any) -> Any:
    if (x == 4).any().item():
        os._exit(3)
    return (x * x).sum()


def test_a_death_counts_for_the_part_that_causes_it() -> None:
    made: list[Executor] = []

    def make() -> Executor:
        made.append(ProcessPoolExecutor(2, get_context("spawn")))
        return made[-1]

    for retries in (0, 1):
        del made[:]
        with pytest.raises(BrokenProcessPool) as caught:
            func.value_and_grad(always_die, batch_argnums=0, blocks=8, executor=make, retries=retries)(fg.arange(8.0))
        assert caught.value.__notes__ == ["value_and_grad: block 5"]
        # One in which all ran, one for each run of the block that kills alone; the last break makes one, too.
        assert len(made) == 3 + retries
        for pool in made:
            with pytest.raises(RuntimeError):
                pool.submit(abs, 1)
    # An executor that was given is broken, and another one cannot be made.
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, pytest.raises(BrokenProcessPool) as caught:
        func.value_and_grad(always_die, batch_argnums=0, executor=pool, retries=2)(fg.arange(8.0))
    assert len(caught.value.__notes__) == 2
    assert "if executor is a function" in caught.value.__notes__[1]
    # A class is a function that makes its objects.
    assert func.vmap(lambda x: x * 2, chunk_size=2, executor=ThreadPoolExecutor)(fg.arange(4.0)).tolist() == [
        0,
        2,
        4,
        6,
    ]


class Own(Exception):
    """An error that pickle cannot make again."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)


def test_errors_of_functions_come_back(processes: Executor, threads: Executor) -> None:
    lock = threading.Lock()

    def locked(x: Any) -> Any:
        with lock:
            return x * 1

    def own(x: Any) -> Any:
        raise Own(3, "the text of it")

    def leave(x: Any) -> Any:
        sys.exit("as it likes")

    x = fg.arange(4.0)
    with pytest.raises(ArgumentError, match=r"vmap: the function cannot be sent to a worker \(.*lock.*\); make in"):
        func.vmap(locked, executor=threads)(x)
    for f, text in ((own, "in raises\n(.|\n)*Own: the text of it"), (leave, "SystemExit: as it likes")):
        with pytest.raises(RuntimeError, match=text.replace("raises", f.__name__)) as caught:
            func.vmap(f, chunk_size=2, executor=processes)(x)
        assert caught.value.__notes__ == ["vmap: chunk 1"]
    with pytest.raises(Own, match="the text"):
        func.vmap(own, executor=threads)(x)
    with pytest.raises(ArgumentError, match=r"a function that made int, which has no submit\(\)"):
        func.vmap(own, executor=lambda: 3)(x)


def test_wrong_arguments(threads: Executor) -> None:
    w, x = fg.tensor(1.0), fg.arange(8.0)

    def f(w: Any, x: Any) -> Any:
        return (w * x).sum()

    options: Any
    for options, args, text in (
        ({"executor": threads}, (w, x), "batch_argnums says"),
        ({"batch_argnums": 1, "has_aux": True}, (w, x), "has_aux"),
        ({"batch_argnums": 2}, (w, x), "positions among 2"),
        ({"batch_argnums": ()}, (w, x), "positions among 2"),
        ({"batch_argnums": 0}, (w, x), "equally many rows"),
        ({"batch_argnums": 1, "blocks": 9}, (w, x), "which is 8, not 9"),
        ({"batch_argnums": 1, "blocks": 0}, (w, x), "not 0"),
        ({"batch_argnums": 1, "deterministic": False}, (w, x), "a Communicator"),
        ({"batch_argnums": 1, "retries": -1}, (w, x), "retries"),
        ({"batch_argnums": 1, "executor": 3}, (w, x), "submit"),
        ({"batch_argnums": 1}, (w.clone().requires_grad_(), x), r"x\.detach"),
    ):
        with pytest.raises(ArgumentError, match=text):
            func.value_and_grad(f, **options)(*args)
    with pytest.raises(ArgumentError, match="random numbers of their own"):
        func.vmap(f, executor=threads, randomness="different")
    with pytest.raises(ArgumentError, match="inside vmap"):
        func.vmap(lambda x: func.jacrev(lambda x: x * x, executor=threads)(x))(sample(2, 3))
    with fg.no_grad():
        assert func.value_and_grad(f, batch_argnums=1)(w.clone().requires_grad_(), x)[1].item() == 28


def test_normalization_over_all_blocks(threads: Executor) -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh()).double()
    whole = deepcopy(net)
    net = torch.nn.SyncBatchNorm.convert_sync_batchnorm(net)
    x = torch.tensor(sample(12, 3).tolist(), dtype=torch.float64)

    def loss(w: Any, x: Any, scale: Any, net: Any = net) -> Any:
        return torch.func.functional_call(net, w, (x,)).pow(2).sum() * scale

    w = {name: p.detach() for name, p in net.named_parameters()}
    options: Any = {"argnums": (0, 2), "batch_argnums": 1}
    value, slopes = func.value_and_grad(loss, blocks=4, **options)(w, x, 2.0)
    found: Any = func.value_and_grad(lambda w, x, s: loss(w, x, s, whole), (0, 2))(w, x, 2.0)
    torch.testing.assert_close(value, found[0])
    torch.testing.assert_close(slopes[1].item(), found[1][1].item())
    for name in w:
        torch.testing.assert_close(slopes[0][name], found[1][0][name])
    for own, other in zip(net.buffers(), whole.buffers(), strict=True):
        torch.testing.assert_close(own, other)
    with pytest.raises(ArgumentError, match="a worker knows one"):
        func.value_and_grad(loss, blocks=4, executor=threads, **options)(w, x, 2.0)
    with pytest.raises(ArgumentError, match="12 rows are in 5 blocks"):
        func.value_and_grad(loss, blocks=5, **options)(w, x, 2.0)
    net.eval()
    assert func.value_and_grad(loss, blocks=5, executor=threads, **options)(w, x, 2.0)[0].item() > 0
    assert net[1].num_batches_tracked.item() == 1
