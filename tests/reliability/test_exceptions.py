"""An exception of Python code that a pass calls comes out as the same object, with its traceback and its notes."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import pytest

from tests.dialects import ALL, Dialect

#: Arguments of the exceptions that need some.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "UnicodeDecodeError": ("utf8", b"x", 0, 1, "why"),
    "UnicodeEncodeError": ("utf8", "x", 0, 1, "why"),
    "UnicodeTranslateError": ("x", 0, 1, "why"),
    "ExceptionGroup": ("two", [ValueError(1), TypeError(2)]),
    "BaseExceptionGroup": ("two", [ValueError(1), KeyboardInterrupt()]),
}
EXCEPTIONS = [
    e
    for e in vars(builtins).values()
    if isinstance(e, type) and issubclass(e, BaseException) and e.__module__ == "builtins"
]


def raising(error: BaseException) -> Callable[..., Any]:
    def f(*args: Any) -> Any:
        raise error

    return f


def failing(place: str, d: Dialect, error: BaseException) -> Callable[[], Any]:
    """A call in which a function of the user's raises the error."""
    x = d.leaf([1.0, 2.0])
    y = x * 2.0
    fail = raising(error)
    if place == "hook":
        y.register_hook(fail)
        return lambda: (y * y).sum().backward()
    if place == "hook of a node":
        y.grad_fn.register_hook(fail)
        return lambda: d.grad([(y * y).sum()], [x])
    if place == "packer":

        def pack() -> None:
            with fg.saved_tensors_hooks(fail, lambda t: t):
                x * x

        return pack

    class Fails(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return fail() if place == "forward" else x * 2.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return fail()

    if place == "forward":
        return lambda: Fails.apply(x)
    out = Fails.apply(y).sum()
    return lambda: out.backward()


@pytest.mark.parametrize("d", ALL, ids=repr)
@pytest.mark.parametrize("place", ["hook", "hook of a node", "packer", "forward", "backward"])
def test_every_exception_of_python_comes_out_as_it_is(place: str, d: Dialect) -> None:
    for kind in EXCEPTIONS:
        error = kind(*ARGUMENTS.get(kind.__name__, ("text",)))
        call = failing(place, d, error)
        with pytest.raises(BaseException) as caught:  # noqa: PT011 - the next line says which
            call()
        assert caught.value is error, (kind, caught.value)
        trace, names = error.__traceback__, []
        while trace is not None:
            names.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        assert names[-1] == "f", (kind, names)
        if place == "backward":
            assert any("Fails" in note and __file__ in note for note in error.__notes__), error.__notes__
    x = d.leaf(3.0)
    assert d.grad([x * x], [x])[0].item() == 6.0
