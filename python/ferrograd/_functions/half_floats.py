"""float16 and bfloat16 in functions that are made of several ops."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ferrograd._autograd.autocast import cast_all
from ferrograd._core import Tensor

F = TypeVar("F", bound=Callable[..., Any])


def rounded_once(function: F) -> F:
    """A function that computes with tensors of a half dtype in float32 and rounds its results, as a single op does."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        given = [value.dtype for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
        floats = {dtype.name for dtype in given if dtype.kind in "fV"}
        if len(floats) != 1 or floats.isdisjoint(("float16", "bfloat16")):
            return function(*args, **kwargs)
        return cast_all(function(*cast_all(args, "float32"), **cast_all(kwargs, "float32")), floats.pop())

    return called  # type: ignore[return-value]
