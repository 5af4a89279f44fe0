"""Autocast: products and convolutions of a thread have results of a half dtype.

The core knows which of its ops this concerns. Functions that are made of ops say it with :func:`in_half` and
:func:`in_float32`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._kit.warning import warn

F = TypeVar("F", bound=Callable[..., Any])

#: The dtypes that autocast changes.
_CHANGED = ("float16", "bfloat16", "float32")


class Autocast:
    """Switches autocast on with a half dtype, or off with None, as a context or around a function."""

    def __init__(self, dtype: str | None) -> None:
        self._wanted = dtype
        self._fg_before: list[str | None] = []

    def __enter__(self) -> Any:
        self._fg_before.append(_core.set_autocast(self._wanted))
        return self

    def __exit__(self, *error: object) -> None:
        """Goes back to what was before."""
        _core.set_autocast(self._fg_before.pop())

    def __call__(self, function: F) -> F:
        """The function with every call in this context."""

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return called  # type: ignore[return-value]


#: Holds something once :func:`tell_of_no_gain` has warned.
_told: list[bool] = []


def tell_of_no_gain(dtype: str) -> None:
    """Warns, once a process, where autocast in bfloat16 takes no less time than float32."""
    if dtype == "bfloat16" and not _told and not _core.multiplies_bfloat16():
        _told.append(True)
        warn(
            "autocast gains nothing on this processor, which has no instructions for bfloat16: products are computed "
            "in float32, and only their results are rounded. With enabled=False nothing is rounded, in less time."
        )


def cast_all(value: Any, dtype: str) -> Any:
    """The value with all tensors of half dtypes and of float32, also those in lists, tuples and dicts, cast."""
    if isinstance(value, Tensor):
        name = value.dtype.name
        return value.astype(dtype) if name in _CHANGED and name != dtype else value
    if isinstance(value, dict):
        return type(value)((key, cast_all(item, dtype)) for key, item in value.items())
    if type(value) in (list, tuple):
        return type(value)(cast_all(item, dtype) for item in value)
    return value


def _casting(function: F, rounds: bool) -> F:
    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        dtype = _core.autocast_dtype()
        if dtype is None:
            return function(*args, **kwargs)
        with Autocast(None):
            found = function(*cast_all(args, "float32"), **cast_all(kwargs, "float32"))
            return cast_all(found, dtype) if rounds else found

    return called  # type: ignore[return-value]


def in_half(function: F) -> F:
    """A function that is made of products: where autocast is on, its results are in the half dtype, rounded once."""
    return _casting(function, rounds=True)


def in_float32(function: F) -> F:
    """A function that loses too many digits in a half dtype: where autocast is on, it computes in float32."""
    return _casting(function, rounds=False)
