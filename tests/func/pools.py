"""A program: what every kind of executor must do."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import ferrograd as fg
import pytest
from ferrograd import ShapeError, func

from tests.func.tools import sample


def loss(w: Any, x: Any, scale: float = 1.0) -> Any:
    return fg.sum(fg.sin(x @ w["a"]) * w["b"]) * scale


def die_once(x: Any, path: str) -> Any:
    """Ends the process where there is a 4, if no file says that one has ended already."""
    if (x == 4).any().item() and not os.path.exists(path):
        Path(path).touch()
        os._exit(3)
    return (x * x).sum()


def same_as_alone(pool: Any) -> None:
    """Blocks, Jacobians, Hessians and maps have the bits that they have in this process; progress is reported."""
    w, x, v = {"a": sample(3, 2), "b": sample(2)}, sample(37, 3), sample(7)
    seen: list[tuple[int, int]] = []

    def note(done: int, total: int) -> None:
        seen.append((done, total))

    def f(v: Any) -> Any:
        return fg.sum(fg.sin(v) * v**2)

    options: Any = {"executor": pool, "retries": 1, "progress": note}
    found = func.value_and_grad(loss, batch_argnums=1, blocks=5, **options)(w, x, scale=2.0)
    wanted = func.value_and_grad(loss, batch_argnums=1, blocks=5)(w, x, scale=2.0)
    assert found[0].item() == wanted[0].item()
    assert all(found[1][name].tolist() == wanted[1][name].tolist() for name in w)
    assert seen == [(k, 5) for k in range(1, 6)]
    for transform, of in ((func.jacobian, lambda v: v * v), (func.hessian, f)):
        del seen[:]
        chunks: Any = {"chunk_size": 4}
        assert transform(of, **chunks, **options)(v).tolist() == transform(of, **chunks)(v).tolist()
        assert seen == [(4, 7), (7, 7)]
    del seen[:]
    slopes: Any = func.vmap(func.grad(loss), (None, 0), chunk_size=10, **options)(w, x)
    alone: Any = func.vmap(func.grad(loss), (None, 0), chunk_size=10)(w, x)
    assert all(slopes[name].tolist() == alone[name].tolist() for name in w)
    assert seen == [(10, 37), (20, 37), (30, 37), (37, 37)]


def an_error_has_its_block(pool: Any) -> None:
    """What one block raises is raised here and says which block it was; then the executor takes other tasks."""

    def fails(w: Any, x: Any) -> Any:
        return w * x if (x == 5).any().item() else (w * x).sum()

    w, x = fg.tensor(1.0), fg.arange(8.0)
    with pytest.raises(ShapeError, match="one element") as caught:
        func.value_and_grad(fails, batch_argnums=1, blocks=4, executor=pool, retries=1)(w, x)
    assert "value_and_grad: block 3" in caught.value.__notes__
    assert func.jacrev(lambda x: x * x, executor=pool)(x).trace().item() == 56


def a_death_is_outlived(pool: Any, path: Path) -> None:
    """The block of a worker that dies is computed again."""
    x = fg.arange(8.0)
    found = func.value_and_grad(die_once, batch_argnums=0, blocks=8, executor=pool, retries=1)(x, str(path))
    assert path.exists()
    assert found[0].item() == 140


def of_dask(path: Path) -> None:
    """Nannies replace the processes of a cluster on this machine."""
    dask: Any = import_module("distributed")
    settings: Any = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with dask.LocalCluster(**settings) as cluster, dask.Client(cluster) as client:
        check(client.get_executor(), path)


def of_loky(path: Path) -> None:
    from loky import get_reusable_executor

    check(lambda: get_reusable_executor(max_workers=2), path)


def of_mpi(path: Path) -> None:
    """A worker that dies ends an MPI program, so none does."""
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as pool:
        assert pool.num_workers == int(os.environ["WORKERS"])
        check(pool, None)


def of_the_standard_library(path: Path) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    check(lambda: ProcessPoolExecutor(2, get_context("spawn")), path)


def check(pool: Any, path: Path | None) -> None:
    same_as_alone(pool)
    an_error_has_its_block(pool)
    if path is not None:
        a_death_is_outlived(pool, path / "died")


def main(kind: str, path: str) -> None:
    {"dask": of_dask, "loky": of_loky, "mpi": of_mpi, "standard": of_the_standard_library}[kind](Path(path))
    print("all the same")


if __name__ == "__main__":
    main(*sys.argv[1:])
