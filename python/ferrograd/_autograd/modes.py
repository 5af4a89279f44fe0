"""Grad modes of the thread. Each is a context manager and a decorator."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import Callable, Generator
from typing import Any, Literal, ParamSpec, TypeVar, overload

from ferrograd import _core
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.warning import warn

P = ParamSpec("P")
R = TypeVar("R")


_NO_CONTEXT = contextlib.nullcontext()


def own_writes(*tensors: _core.Tensor) -> contextlib.AbstractContextManager[Any]:
    """A context in which a function of the library writes to tensors, also where a transform of torch refuses it."""
    return _core.Transforming(False, tensors) if _core.is_transforming() else _NO_CONTEXT


class _Mode:
    """A context manager that sets a mode. It is reusable and reentrant."""

    __slots__ = ("_fg_before", "_on")

    def __init__(self, on: Any) -> None:
        self._on = on
        self._fg_before: list[Any] = []

    def _switch(self) -> Any:
        """Sets the mode; returns what :meth:`_back` needs to restore the previous one."""
        return _core.set_grad_mode(self._on)

    def _back(self, before: Any) -> None:
        _core.set_grad_mode(before)

    def __enter__(self) -> None:
        self._fg_before.append(self._switch())

    def __exit__(self, *_: object) -> None:
        self._back(self._fg_before.pop())

    def __call__(self, f: Callable[P, R]) -> Callable[P, R]:
        """The function, run in this mode. For a generator or coroutine the mode is set only while its code runs.

        Of a class, which warns, the mode is set while an object is made, and not in its methods.
        """
        if inspect.isclass(f):
            warn(
                "Decorating classes is deprecated: the mode is set while an object is made, and not in its methods. "
                "Decorate __init__, or each method, instead.",
                FutureWarning,
            )
        called = self._around(f)
        # Some callers read ``__signature__`` and do not follow ``__wrapped__``; some callables have no signature.
        with contextlib.suppress(TypeError, ValueError):
            called.__signature__ = inspect.signature(f)  # type: ignore[attr-defined]
        return called

    def _around(self, f: Callable[P, R]) -> Callable[P, R]:
        if inspect.isgeneratorfunction(f):

            @functools.wraps(f)
            def steps(*args: P.args, **kwargs: P.kwargs) -> Any:
                return (yield from _stepwise(f(*args, **kwargs), self))

            return steps
        if inspect.iscoroutinefunction(f):

            @functools.wraps(f)
            async def awaited(*args: P.args, **kwargs: P.kwargs) -> Any:
                return await types.coroutine(_stepwise)(f(*args, **kwargs), self)

            return awaited  # type: ignore[return-value]

        @functools.wraps(f)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            before = self._switch()
            try:
                return f(*args, **kwargs)
            finally:
                self._back(before)

        return call


def _stepwise(body: Any, mode: _Mode) -> Generator[Any, Any, Any]:
    """Runs a generator or coroutine with the mode set only during its steps."""
    step, value = body.send, None
    while True:
        before = mode._switch()
        try:
            out = step(value)
        except StopIteration as end:
            return end.value
        finally:
            mode._back(before)
        try:
            value = yield out
            step = body.send
        except GeneratorExit:
            before = mode._switch()
            try:
                body.close()
            finally:
                mode._back(before)
            raise
        except BaseException as error:
            step, value = body.throw, error


class no_grad(_Mode):
    """Turns recording off: a context manager (``with no_grad():``) or decorator (``@no_grad`` or ``@no_grad()``).

    >>> x = fg.tensor(2.0, requires_grad=True)
    >>> with fg.no_grad():
    ...     y = x * x
    >>> y.requires_grad
    False
    """

    __slots__ = ()

    @overload
    def __new__(cls, f: None = None) -> no_grad: ...
    @overload
    def __new__(cls, f: Callable[P, R]) -> Callable[P, R]: ...  # type: ignore[misc]
    def __new__(cls, f: Callable[P, R] | None = None) -> no_grad | Callable[P, R]:  # type: ignore[misc]
        mode = super().__new__(cls)
        _Mode.__init__(mode, False)
        return mode if f is None else mode(f)

    def __init__(self, f: object = None) -> None:
        pass


class no_derivative(_Mode):
    """Turns recording off in a function of the library that has no derivative, which errors say of the user's line."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(False)

    def _switch(self) -> Any:
        return _core.set_grad_mode(False, True)


class enable_grad(_Mode):
    """Turns recording on, also inside ``no_grad``: a context manager or decorator.

    >>> with fg.no_grad(), fg.enable_grad():
    ...     fg.is_grad_enabled()
    True
    """

    __slots__ = ()

    @overload
    def __new__(cls, f: None = None) -> enable_grad: ...
    @overload
    def __new__(cls, f: Callable[P, R]) -> Callable[P, R]: ...  # type: ignore[misc]
    def __new__(cls, f: Callable[P, R] | None = None) -> enable_grad | Callable[P, R]:  # type: ignore[misc]
        mode = super().__new__(cls)
        _Mode.__init__(mode, True)
        return mode if f is None else mode(f)

    def __init__(self, f: object = None) -> None:
        pass


class _SetMode(_Mode):
    """A mode that is set at once. As a context manager it restores the previous one at the end."""

    __slots__ = ("_first",)

    def __init__(self, on: Any) -> None:
        super().__init__(on)
        self._first: Any = self._switch()

    def __enter__(self) -> None:
        before = self._switch()
        self._fg_before.append(before if self._first is None else self._first)
        self._first = None

    def __call__(self, f: Callable[P, R]) -> Callable[P, R]:
        """The function, run in this mode. The mode outside the function is restored."""
        if self._first is not None:
            self._back(self._first)
            self._first = None
        return super().__call__(f)


class set_grad_enabled(_SetMode):
    """Switches recording on or off at once. As a context manager it restores the previous mode at the end.

    >>> with fg.set_grad_enabled(False):
    ...     fg.is_grad_enabled()
    False
    """

    __slots__ = ()

    def __init__(self, mode: bool) -> None:
        super().__init__(_arguments.truth(mode, "set_grad_enabled", "mode"))


class numpy_conversion(_SetMode):
    """Sets what this thread does where a tensor that requires grad is asked for plain numbers.

    ``np.asarray(x)``, ``x.numpy()``, ``x.tolist()``, ``x.item()``, ``float(x)``, ``complex(x)`` and ``memoryview(x)``
    give numbers that no gradient flows through. ``"allow"``, the mode at first, gives them silently, ``"warn"`` with a
    ``UserWarning``; ``"raise"`` raises. The mode is set at once. As a context manager it restores the previous mode at
    the end, and it is a decorator too. Without recording (``no_grad``) nothing is lost, so nothing is said. Inside a
    transform or a recorded backward, a value that depends on what is differentiated always raises. ``int``, ``bool``
    and printing are allowed everywhere.

    Raises:
        ConversionError: from the conversions.
        ArgumentError: ``mode`` is none of the three.

    >>> x = fg.tensor(2.0, requires_grad=True)
    >>> float(x)
    2.0
    >>> with fg.numpy_conversion("raise"):
    ...     float(x.detach())
    2.0
    >>> with fg.numpy_conversion("raise"):
    ...     float(x)
    Traceback (most recent call last):
    ferrograd.ConversionError: float at ...: the numbers of a Tensor that requires grad are asked for, ...
    """

    __slots__ = ()

    def __init__(self, mode: Literal["allow", "warn", "raise"]) -> None:
        super().__init__(mode)

    def _switch(self) -> Any:
        return _core.set_numpy_conversion(self._on)

    def _back(self, before: Any) -> None:
        _core.set_numpy_conversion(before)


class inference_mode(_Mode):
    """Turns recording off and marks new tensors as inference tensors: a context manager or decorator.

    An inference tensor (``x.is_inference()``) is never part of a graph. Outside the context an error is raised where a
    gradient would have to read it, and where it is written to in place. ``inference_mode(False)`` turns the mode off.

    >>> w = fg.tensor(2.0, requires_grad=True)
    >>> with fg.inference_mode():
    ...     y = w * 3
    >>> y.requires_grad, y.is_inference()
    (False, True)
    """

    __slots__ = ()

    @overload
    def __new__(cls, mode: bool = True) -> inference_mode: ...
    @overload
    def __new__(cls, mode: Callable[P, R]) -> Callable[P, R]: ...  # type: ignore[misc]
    def __new__(cls, mode: bool | Callable[P, R] = True) -> inference_mode | Callable[P, R]:  # type: ignore[misc]
        made = super().__new__(cls)
        _Mode.__init__(made, callable(mode) or _arguments.truth(mode, "inference_mode", "mode"))
        return made(mode) if callable(mode) else made

    def __init__(self, mode: object = True) -> None:
        pass

    def _switch(self) -> Any:
        return _core.set_inference_mode(self._on), _core.set_grad_mode(not self._on)

    def _back(self, before: Any) -> None:
        inference, grad = before
        _core.set_inference_mode(inference)
        _core.set_grad_mode(grad)


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in :class:`inference_mode`.

    >>> fg.is_inference_mode_enabled()
    False
    """
    return _core.is_inference_mode_enabled()


def is_grad_enabled() -> bool:
    """Whether ops are recorded on this thread.

    >>> fg.is_grad_enabled()
    True
    """
    return _core.is_grad_enabled()
