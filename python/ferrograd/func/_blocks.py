"""Sums of values and gradients over blocks of samples, added in one order whoever computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import tree as _tree
from ferrograd._layers import blocks as running
from ferrograd.func._executors import Meter, Progress, mapped, refuse_recorded
from ferrograd.func._record import tensor


class _Block:
    """The value and the gradient of a function for one block of samples."""

    def __init__(self, both: Callable[..., tuple[Any, Any]]) -> None:
        self.both = both

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
        with running.apart():
            return [x.detach() for x in _tree.leaves(self.both(*args, **kwargs))]


def _cut(
    what: str, args: tuple[Any, ...], places: Sequence[int], blocks: int
) -> tuple[int, Callable[[int, int], tuple[Any, ...]]]:
    """The number of rows, and the function that gives the arguments of some blocks, cut when it is called."""
    found = [x for i in places for x in _tree.leaves(args[i])]
    lengths = {x.shape[0] for x in found if len(getattr(x, "shape", ()))}
    if len(lengths) != 1 or not all(len(getattr(x, "shape", ())) for x in found):
        raise ArgumentError(f"{what}: the arrays at batch_argnums must have equally many rows, not {sorted(lengths)}")
    (n,) = lengths
    if not 1 <= blocks <= n:
        raise ArgumentError(f"{what}: blocks must be from 1 to the number of rows, which is {n}, not {blocks}")

    def rows(x: Any, a: int, b: int) -> Tensor:
        part = x[n * a // blocks : n * b // blocks]
        return part if isinstance(part, Tensor) else _core.make(part, None, False, 0)

    def some(a: int, b: int) -> tuple[Any, ...]:
        return tuple(_tree.mapped(lambda x: rows(x, a, b), arg) if i in places else arg for i, arg in enumerate(args))

    return n, some


def in_blocks(
    what: str,
    both: Callable[..., tuple[Any, Any]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wrt: Sequence[int],
    batch_argnums: int | Sequence[int],
    blocks: int,
    executor: Any,
    retries: int,
    progress: Progress,
    deterministic: bool,
) -> list[Tensor]:
    """The sums, over blocks of rows, of the leaves of what ``both`` returns, added in the order of the blocks.

    ``wrt`` are the positions of the differentiated arguments.
    """
    refuse_recorded(what, (args, kwargs))
    places = [batch_argnums] if isinstance(batch_argnums, int) else list(batch_argnums)
    if not places or not all(isinstance(i, int) and -len(args) <= i < len(args) for i in places):
        raise ArgumentError(f"{what}: batch_argnums are positions among {len(args)} arguments, not {batch_argnums!r}")
    places = [i % len(args) for i in places]
    n, some = _cut(what, args, places, blocks)
    processes = hasattr(executor, "sum_in_order")
    rank, size = (executor.rank, executor.size) if processes else (0, 1)
    if blocks < size:
        raise ArgumentError(f"{what}: there must be at least as many blocks as processes, {size}, not {blocks}")
    if not deterministic and not processes:
        raise ArgumentError(f"{what}: deterministic=False is for an executor that is a Communicator")
    mine = range(blocks * rank // size, blocks * (rank + 1) // size)
    # Each process reports its own blocks; one bar is enough.
    meter = Meter(what, len(mine), progress if callable(progress) else progress and rank == 0)
    total: list[Tensor] = []
    with no_grad():
        try:
            tasks = ((some(k, k + 1), kwargs) for k in mine)
            parts: list[list[Tensor]] = []
            for found in mapped(what, _Block(both), tasks, None if processes else executor, retries, "block"):
                meter.add(1)
                if processes:
                    parts.append(found)
                else:
                    total = [a + b for a, b in zip(total, found, strict=True)] if total else found
            return _summed_by(executor, parts, deterministic) if processes else total
        except running.AllBlocksNeeded:
            if executor is not None and not processes:
                raise
        if n % blocks:
            raise ArgumentError(f"{what}: SyncBatchNorm needs blocks of one size, but {n} rows are in {blocks} blocks")
        communicator = executor if processes else running.alone()
        given = (
            _tree.mapped(lambda x: tensor(x, what), x) if i in wrt else x
            for i, x in enumerate(some(mine.start, mine.stop))
        )
        parts = _together(both, tuple(given), kwargs, places, mine, blocks, communicator, deterministic)
        meter.add(len(mine))
        return _summed_by(communicator, parts, deterministic)


def _together(
    both: Callable[..., tuple[Any, Any]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    places: Sequence[int],
    mine: range,
    blocks: int,
    communicator: Any,
    deterministic: bool,
) -> list[list[Tensor]]:
    """What ``both`` returns for each block of this process. All are computed at once, each as if it were alone."""
    with _core.Level(len(mine), "error") as level:

        def inside(x: Any, is_cut: bool) -> Any:
            if is_cut:
                return level.enter(x.reshape([len(mine), x.shape[0] // len(mine), *x.shape[1:]]), 0)
            # Each block has its own copy of a parameter, and so its own gradient and matrix products. A product of
            # several blocks with one matrix would have bits that depend on the number of blocks.
            return level.enter(level.leave(x, 0).clone(), 0) if isinstance(x, Tensor) else x

        given = [_tree.mapped(partial(inside, is_cut=i in places), arg) for i, arg in enumerate(args)]
        with running.together(communicator, level, blocks, deterministic):
            leaves = [level.leave(x.detach(), 0) for x in _tree.leaves(both(*given, **kwargs))]
    return [[x[k] for x in leaves] for k in range(len(mine))]


def _summed_by(communicator: Any, found: list[list[Tensor]], deterministic: bool) -> list[Tensor]:
    """The sums over the blocks of all processes, by one communication for each dtype."""
    like = found[0]
    total: list[Any] = [None] * len(like)
    for dtype in sorted({x.dtype.name for x in like}):
        places = [i for i, x in enumerate(like) if x.dtype.name == dtype]
        flat = [_core.native.concat([leaves[i].reshape([-1]) for i in places]) for leaves in found]
        if deterministic:
            summed = communicator.sum_in_order(flat)
        else:
            summed = communicator.allreduce(_core.native.sum(_core.native.stack(flat), 0))
        at = 0
        for i in places:
            n = len(like[i].reshape([-1]))
            total[i] = summed[at : at + n].reshape(list(like[i].shape))
            at += n
    return total
