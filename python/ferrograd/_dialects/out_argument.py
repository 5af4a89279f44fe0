"""The ``out`` and ``requires_grad`` arguments of the dialects' functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor


def placed(result: Tensor, out: Tensor | None, requires_grad: bool) -> Any:
    """The result, or ``out`` with the result written to it; a leaf that requires a gradient if asked for."""
    if out is not None:
        out.set_value(result)
        result = out
    if requires_grad:
        result.requires_grad = requires_grad
    return result


def into(out: Any, result: Any) -> Any:
    """The result, or ``out`` with the result written to it. Several results take a tuple or list of tensors.

    An ``out`` without elements takes the shape of the result; any other must have it.
    """
    if out is None:
        return result
    if isinstance(result, tuple) and isinstance(out, (tuple, list)) and len(out) == len(result):
        parts = [into(to, part) for to, part in zip(out, result, strict=True)]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    if not isinstance(out, Tensor) or not isinstance(result, Tensor):
        raise ArgumentError(f"out takes a tensor for each result, not {type(out).__name__}")
    _core.overwrite(out, "out", 0 in out.shape, lambda _: result, (), {})
    return out


def with_out(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which also takes ``out`` to write its result to."""

    @functools.wraps(f)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        return into(out, f(*args, **kwargs))

    return call
