"""``torch.futures``: results that other threads will give."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A result that :meth:`set_result` gives, and that :meth:`wait` waits for.

    >>> import ferrograd.torch as torch
    >>> future = torch.futures.Future()
    >>> double = future.then(lambda f: 2 * f.value())
    >>> future.set_result(3)
    >>> double.wait()
    6
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def done(self) -> bool:
        """Whether there is a result or an error."""
        return self._future.done()

    def wait(self) -> T:
        """The result, as soon as it is there; raises the error if there is one."""
        return self._future.result()

    def value(self) -> T:
        """The result, which must be there."""
        if not self.done():
            raise RuntimeError("Future.value: there is no result yet; wait() waits for it")
        return self.wait()

    def set_result(self, result: T) -> None:
        """Gives the result, once."""
        try:
            self._future.set_result(result)
        except concurrent.futures.InvalidStateError:
            raise RuntimeError("Future can only be marked completed once.") from None

    def set_exception(self, result: BaseException) -> None:
        """Gives an error, which ``wait`` raises."""
        if not isinstance(result, BaseException):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        try:
            self._future.set_exception(result)
        except concurrent.futures.InvalidStateError:
            raise RuntimeError("Future can only be marked completed once.") from None

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """The result of the callback, which is called with this future when it is done."""
        following: Future[S] = Future()

        def follow(_: object) -> None:
            try:
                following.set_result(callback(self))
            except Exception as error:
                following.set_exception(error)

        self._future.add_done_callback(follow)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Calls the callback with this future when it is done."""
        self._future.add_done_callback(lambda _: callback(self))


def _listed(futures: Any, function: str) -> list[Future[Any]]:
    """The futures; raises unless each is one."""
    if not isinstance(futures, list | tuple) or not all(isinstance(future, Future) for future in futures):
        raise ArgumentError(f"{function}: futures must be a list of Futures, not {futures!r:.60}")
    return list(futures)


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """The futures, when all of them are done.

    >>> import ferrograd.torch as torch
    >>> first, second = torch.futures.Future(), torch.futures.Future()
    >>> both = torch.futures.collect_all([first, second])
    >>> first.set_result(1), both.done(), second.set_result(2), both.done()
    (None, False, None, True)
    """
    futures = _listed(futures, "collect_all")
    together: Future[list[Future[Any]]] = Future()
    waiting = {id(future) for future in futures}

    def finish(future: Future[Any]) -> None:
        waiting.discard(id(future))
        if not waiting and not together.done():
            together.set_result(futures)

    for future in futures:
        future.add_done_callback(finish)
    if not futures:
        together.set_result([])
    return together


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The results of all futures; raises the first error.

    >>> import ferrograd.torch as torch
    >>> future = torch.futures.Future()
    >>> future.set_result(1)
    >>> torch.futures.wait_all([future])
    [1]
    """
    return [future.wait() for future in _listed(futures, "wait_all")]


__dir__ = _public.names(globals())
