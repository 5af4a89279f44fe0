"""In-place forms in Paddle's way: the tensor takes the dtype of the result, as ``equal_`` gives truth values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import PaddleTensor
from ferrograd._kit.adapters import RESHAPING

__all__ = ["install", "leaf_kept", "overwrite", "taking_the_dtype"]

#: Methods of the core whose results may have another dtype than the tensor.
_OF_THE_CORE = """abs_ bitwise_and_ bitwise_or_ bitwise_xor_ copysign_ eq_ equal_ floor_divide_ fmax_ fmin_ ge_ greater_
greater_equal_ greater_than_ gt_ heaviside_ hypot_ ldexp_ le_ less_ less_equal_ less_than_ logical_and_ logical_not_
logical_or_ logical_xor_ lt_ maximum_ minimum_ mod_ mul_ multiply_ ne_ not_equal_ pow_ power_ remainder_
true_divide_"""


class _OtherDtype(Exception):
    """Carries a result whose dtype the tensor is to take out of the core, which has checked that it may be written."""


def leaf_kept(x: Any) -> AbstractContextManager[Any]:
    """A context in which a write to a leaf that requires a gradient is not recorded, so that it stays one."""
    return no_grad() if x.is_leaf and not x.stop_gradient else nullcontext()


def overwrite(x: Any, name: str, f: Callable[[Any], Any]) -> Any:
    """Writes ``f`` of a tensor over it, and returns it."""
    _core.overwrite(x, name, False, f, (), {})
    return x


def taking_the_dtype(cls: type, name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place form ``name_`` of the method ``f`` of ``cls``: the tensor becomes its result, with its dtype.

    An integer tensor takes no floats that an operand brings: then the core raises DtypeError.
    """

    def computed(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        result = f(x, *args, **kwargs)
        if result.dtype != x.dtype and result.shape == x.shape and not _brings_floats(x, result, args, kwargs):
            raise _OtherDtype(result)
        return result

    @functools.wraps(f)
    def written(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return _core.overwrite(x, name, name in RESHAPING, computed, args, kwargs)
        except _OtherDtype as found:
            (result,) = found.args
        return _become(x, name, result)

    written.__name__ = f"{name}_"
    written.__qualname__ = f"{cls.__qualname__}.{name}_"
    written.__module__ = cls.__module__
    return written


def _brings_floats(x: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the result of an integer tensor is a float because an operand is one."""
    if result.dtype.kind != "f" or x.dtype.kind not in "biu":
        return False
    kinds = (y.dtype.kind if isinstance(y, PaddleTensor) else type(y) for y in (*args, *kwargs.values()))
    return any(kind in ("f", float) for kind in kinds)


def _become(x: Any, name: str, result: Any) -> Any:
    """Gives the tensor the value, the dtype and the history of a result of another dtype."""
    if _core.is_grad_enabled() and not x.stop_gradient:
        x.detach_()
    x.data = result.detach()
    # The tensor takes over the history of the result. Without one the numbers are written again, to count a write.
    _core.overwrite(x, name, not result.stop_gradient, lambda _: result, (), {})
    return x


def _with_short_cut(short_cut: Callable[..., Any], written: Callable[..., Any]) -> Callable[..., Any]:
    """``written``, but ``short_cut`` where the one operand has the dtype of the tensor."""

    @functools.wraps(written)
    def call(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], PaddleTensor) and args[0].dtype is x.dtype and not kwargs:
            return short_cut(x, *args)
        return written(x, *args, **kwargs)

    return call


#: Of these, operands of one dtype give a result of that dtype.
_ARITHMETIC = """bitwise_and_ bitwise_or_ bitwise_xor_ fmax_ fmin_ maximum_ minimum_ mod_ mul_ multiply_ remainder_"""


def install(cls: type) -> None:
    """Gives the class these forms of the methods that the core has."""
    for name in _OF_THE_CORE.split():
        core, written = getattr(cls, name), taking_the_dtype(cls, name[:-1], getattr(cls, name[:-1]))
        setattr(cls, name, _with_short_cut(core, written) if name in _ARITHMETIC.split() else written)
