"""Parts of a computation that workers compute: the processes or threads of an executor."""

from __future__ import annotations

import itertools
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, Protocol

from ferrograd import _core, _tree
from ferrograd._autograd.modes import is_grad_enabled, no_grad
from ferrograd._core import ArgumentError, Tensor

Progress = bool | Callable[[int, int], None]
#: How many tasks an executor has at a time, so that their data fit into memory.
AHEAD = 64


class Executor(Protocol):
    """What has ``submit``, as a ``concurrent.futures.Executor`` does."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Starts ``fn(*args)`` in a worker; returns a future with ``result()`` and ``cancel()``."""


class Meter:
    """Reports how many parts are done, by tqdm or to a callback."""

    def __init__(self, what: str, total: int, progress: Progress) -> None:
        self.total, self.done = total, 0
        self.callback = progress if callable(progress) else None
        self.bar = self._bar(what, total) if progress and not callable(progress) else None

    @staticmethod
    def _bar(what: str, total: int) -> Any:
        """A bar of tqdm: a widget in a notebook, a line on stderr elsewhere."""
        try:
            tqdm = import_module("tqdm.auto").tqdm
        except ModuleNotFoundError as error:
            text = f"{what}: progress=True needs the package tqdm; without it, pass a function of (done, total)"
            raise ModuleNotFoundError(text, name="tqdm") from error
        return tqdm(total=total, desc=what, unit="part")

    def add(self, count: int) -> None:
        """Adds ``count`` parts and reports."""
        self.done += count
        if self.callback is not None:
            self.callback(self.done, self.total)
        if self.bar is not None:
            self.bar.update(count)
            if self.done == self.total:
                self.bar.close()


def _packed(what: str, function: Callable[..., Any]) -> bytes:
    """A function as bytes that :mod:`pickle` loads: by cloudpickle if it is installed."""
    try:
        cloudpickle = import_module("cloudpickle")
    except ImportError:
        pass
    else:
        return cloudpickle.dumps(function)
    try:
        return pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ArgumentError(
            f"{what}: the function cannot be sent to a worker ({error}); with cloudpickle it can: pip install "
            "cloudpickle"
        ) from error


def _run(packed: bytes, args: Sequence[Any]) -> Any:
    """In a worker: calls a function."""
    return pickle.loads(packed)(*args)


def refuse_recorded(what: str, tree: Any) -> None:
    """Raises for tensors whose history a worker would not see."""
    for x in _tree.leaves(tree):
        if isinstance(x, Tensor) and is_grad_enabled() and x.requires_grad:
            raise ArgumentError(
                f"{what}: gradients of what workers compute are not recorded, and an argument requires a gradient; "
                "give x.detach(), or call it under no_grad()"
            )
    if _core.innermost_batch([x for x in _tree.leaves(tree) if isinstance(x, Tensor)]) is not None:
        raise ArgumentError(f"{what}: inside vmap a worker does not know the batch; call vmap in the worker instead")


def mapped(
    what: str,
    function: Callable[..., Any],
    tasks: Iterable[Sequence[Any]],
    executor: Executor | None,
    retries: int = 0,
    name: str = "part",
) -> Iterator[Any]:
    """``function(*task)`` for each task, in order.

    An executor has at most ``AHEAD`` tasks at a time. A task that fails is sent again up to ``retries`` times; then its
    error is raised, with a note that says which task it was.
    """
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ArgumentError(f"{what}: retries must be an int that is not negative, not {retries!r}")
    if executor is None:
        yield from (function(*task) for task in tasks)
        return
    if not hasattr(executor, "submit"):
        raise ArgumentError(f"{what}: executor must have submit(), as a concurrent.futures.Executor does")
    packed, rest = _packed(what, function), iter(tasks)
    waiting: deque[tuple[Sequence[Any], Any]] = deque()
    try:
        for i in itertools.count(1):
            for task in itertools.islice(rest, AHEAD - len(waiting)):
                waiting.append((task, executor.submit(_run, packed, task)))
            if not waiting:
                return
            task, future = waiting.popleft()
            for left in range(retries, -1, -1):
                try:
                    found = future.result()
                    break
                except Exception as error:
                    if not left:
                        error.add_note(f"{what}: {name} {i}")
                        raise
                    future = executor.submit(_run, packed, task)
            yield found
    finally:
        for _, future in waiting:
            future.cancel()


class _Block:
    """The value and the gradient of a function for one block of samples."""

    def __init__(self, both: Callable[..., tuple[Any, Any]]) -> None:
        self.both = both

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
        return [x.detach() for x in _tree.leaves(self.both(*args, **kwargs))]


def _cut(what: str, args: tuple[Any, ...], places: Sequence[int], blocks: int) -> Callable[[int], tuple[Any, ...]]:
    """The function that gives the arguments of a block. Arrays are cut when it is called."""
    found = [x for i in places for x in _tree.leaves(args[i])]
    lengths = {x.shape[0] for x in found if len(getattr(x, "shape", ()))}
    if len(lengths) != 1 or not all(len(getattr(x, "shape", ())) for x in found):
        raise ArgumentError(f"{what}: the arrays at batch_argnums must have equally many rows, not {sorted(lengths)}")
    (n,) = lengths
    if not 1 <= blocks <= n:
        raise ArgumentError(f"{what}: blocks must be from 1 to the number of rows, which is {n}, not {blocks}")

    def rows(x: Any, k: int) -> Tensor:
        part = x[n * k // blocks : n * (k + 1) // blocks]
        return part if isinstance(part, Tensor) else _core.make(part, None, False, 0)

    def block(k: int) -> tuple[Any, ...]:
        return tuple(_tree.mapped(lambda x: rows(x, k), arg) if i in places else arg for i, arg in enumerate(args))

    return block


def in_blocks(
    what: str,
    both: Callable[..., tuple[Any, Any]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    batch_argnums: int | Sequence[int],
    blocks: int,
    executor: Any,
    retries: int,
    progress: Progress,
) -> list[Tensor]:
    """The sums, over blocks of rows, of the leaves of what ``both`` returns, added in the order of the blocks."""
    refuse_recorded(what, (args, kwargs))
    places = [batch_argnums] if isinstance(batch_argnums, int) else list(batch_argnums)
    if not places or not all(isinstance(i, int) and -len(args) <= i < len(args) for i in places):
        raise ArgumentError(f"{what}: batch_argnums are positions among {len(args)} arguments, not {batch_argnums!r}")
    block = _cut(what, args, [i % len(args) for i in places], blocks)
    meter = Meter(what, blocks, progress)
    if hasattr(executor, "sum_in_order"):
        rank, size = executor.rank, executor.size
        if blocks < size:
            raise ArgumentError(f"{what}: there must be at least as many blocks as processes, {size}, not {blocks}")
        mine = range(blocks * rank // size, blocks * (rank + 1) // size)
        with no_grad():
            return _summed_by(executor, [_Block(both)(block(k), kwargs) for k in mine])
    total: list[Tensor] = []
    with no_grad():
        tasks = ((block(k), kwargs) for k in range(blocks))
        for found in mapped(what, _Block(both), tasks, executor, retries, "block"):
            total = [a + b for a, b in zip(total, found, strict=True)] if total else found
            meter.add(1)
    return total


def _summed_by(communicator: Any, found: list[list[Tensor]]) -> list[Tensor]:
    """The sums over the blocks of all processes, by one communication for each dtype."""
    like = found[0]
    total: list[Any] = [None] * len(like)
    for dtype in sorted({x.dtype.name for x in like}):
        places = [i for i, x in enumerate(like) if x.dtype.name == dtype]
        flat = [_core.native.concat([leaves[i].reshape([-1]) for i in places]) for leaves in found]
        summed, at = communicator.sum_in_order(flat), 0
        for i in places:
            n = len(like[i].reshape([-1]))
            total[i] = summed[at : at + n].reshape(list(like[i].shape))
            at += n
    return total
