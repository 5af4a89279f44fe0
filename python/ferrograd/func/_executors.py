"""Parts of a computation that the workers of an executor compute. Workers are processes or threads."""

from __future__ import annotations

import itertools
import os
import pickle
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from ferrograd import _core
from ferrograd._autograd.modes import is_grad_enabled
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import tree as _tree

Progress = bool | Callable[[int, int], None]
#: How many tasks an executor has at a time, so that their data fit into memory.
AHEAD = 64


class Executor(Protocol):
    """What has ``submit``, as a ``concurrent.futures.Executor`` does."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Starts ``fn(*args)`` in a worker; returns a future with ``result()`` and ``cancel()``."""


#: What computes, or what makes it.
Executors = Executor | Callable[[], Executor]


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
        pickler, advice = import_module("cloudpickle"), "make in the function what it holds"
    except ImportError:
        pickler, advice = pickle, "with cloudpickle it may be: pip install cloudpickle"
    try:
        packed: bytes = pickler.dumps(function)
    except Exception as error:
        raise ArgumentError(f"{what}: the function cannot be sent to a worker ({error}); {advice}") from error
    return packed


def _run(packed: bytes, args: Sequence[Any], home: int) -> Any:
    """In a worker: calls a function that process ``home`` has sent."""
    try:
        return pickle.loads(packed)(*args)
    except BaseException as error:
        if os.getpid() == home or _travels(error):
            raise
        text = "".join(traceback.format_exception(error))
    raise RuntimeError(f"in a worker:\n{text}")


def _travels(error: BaseException) -> bool:
    """Whether an error that a worker raises can be raised again in the calling process, unchanged and without ending
    it.
    """
    if not isinstance(error, Exception):
        return False
    try:
        return type(pickle.loads(pickle.dumps(error))) is type(error)
    except Exception:
        return False


def refuse_recorded(what: str, tree: Any) -> None:
    """Raises for tensors whose history a worker would not see."""
    for x in _tree.leaves(tree):
        if isinstance(x, Tensor) and is_grad_enabled() and x.requires_grad:
            raise ArgumentError(
                f"{what}: gradients of what workers compute are not recorded, and an argument requires a gradient; "
                "give x.detach(), or call it under no_grad()"
            )
    if _core.batches([x for x in _tree.leaves(tree) if isinstance(x, Tensor)]):
        raise ArgumentError(f"{what}: inside vmap a worker does not know the batch; call vmap in the worker instead")


class _Pool:
    """The executor of a call: the one given, or one that a given function makes. After the death of a worker has broken
    it, the function makes another one.
    """

    def __init__(self, what: str, given: Executors, packed: bytes) -> None:
        self._make: Callable[[], Executor] | None = None
        if isinstance(given, type) or not hasattr(given, "submit"):
            if not callable(given):
                raise ArgumentError(
                    f"{what}: executor must have submit(), as a concurrent.futures.Executor does, or be a function "
                    "that makes what has it"
                )
            self._make = given
        self._what, self._packed = what, packed
        #: How many executors there were before this one.
        self.age = 0
        self._executor = self._made() if self._make is not None else cast(Executor, given)

    def _made(self) -> Executor:
        assert self._make is not None, "a function was given"
        found = self._make()
        if not hasattr(found, "submit"):
            raise ArgumentError(
                f"{self._what}: executor is a function that made {type(found).__name__}, which has no submit()"
            )
        return found

    def submit(self, task: Sequence[Any]) -> Any:
        """The future of a task."""
        return self._executor.submit(_run, self._packed, task, os.getpid())

    def renewed(self, age: int) -> bool:
        """Whether another executor is in the place of a broken one."""
        if self._make is None:
            return False
        if age == self.age:
            self.close()
            self._executor, self.age = self._made(), self.age + 1
        return True

    def close(self) -> None:
        """Shuts down an executor that was made here."""
        if self._make is not None and hasattr(self._executor, "shutdown"):
            self._executor.shutdown()


def mapped(
    what: str,
    function: Callable[..., Any],
    tasks: Iterable[Sequence[Any]],
    executor: Executors | None,
    retries: int = 0,
    name: str = "part",
) -> Iterator[Any]:
    """``function(*task)`` for each task, in order.

    An executor has at most ``AHEAD`` tasks at a time. A task that fails is sent again up to ``retries`` times; then its
    error is raised, with a note that says which task it was. The death of a worker breaks some executors, and all tasks
    that they had fail. If another one can be made, these run in it one by one, so that the death counts for the task
    that causes it.
    """
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ArgumentError(f"{what}: retries must be an int that is not negative, not {retries!r}")
    if executor is None:
        yield from (function(*task) for task in tasks)
        return
    from concurrent.futures import BrokenExecutor

    pool, rest = _Pool(what, executor, _packed(what, function)), iter(tasks)
    waiting: deque[tuple[Sequence[Any], Any, int]] = deque()
    try:
        for i in itertools.count(1):
            if all(age == pool.age for *_, age in waiting):
                for task in itertools.islice(rest, AHEAD - len(waiting)):
                    waiting.append((task, pool.submit(task), pool.age))
            if not waiting:
                return
            task, future, age = waiting.popleft()
            left = retries
            while True:
                try:
                    found = (pool.submit(task) if future is None else future).result()
                    break
                except Exception as error:
                    broken = isinstance(error, BrokenExecutor)
                    crowd = broken and any(age == other for *_, other in waiting)
                    renewed = broken and pool.renewed(age)
                    counts = not (renewed and crowd)
                    if counts and not left:
                        error.add_note(f"{what}: {name} {i}" + (" or another that ran with it" if crowd else ""))
                        if broken and not renewed:
                            error.add_note(f"{what}: if executor is a function that makes one, retries go to a new one")
                        raise
                    left -= counts
                    future, age = None, pool.age
            yield found
    finally:
        for _, future, _ in waiting:
            future.cancel()
        pool.close()
