"""The ``out`` and ``requires_grad`` arguments of the dialects' functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor


def dtype_beside(out: Tensor | None, dtype: Any) -> Any:
    """The dtype in which numbers are made for ``out``: its own. Raises where another one is asked for."""
    if out is None:
        return dtype
    if dtype is not None and dtype != out.dtype:
        raise ArgumentError(f"dtype {dtype} does not match dtype of out parameter ({out.dtype})")
    return out.dtype


def placed(result: Tensor, out: Tensor | None, requires_grad: bool) -> Any:
    """The result, or ``out`` with the result written to it; a leaf that requires a gradient if asked for."""
    if out is not None:
        result = _core.write_out("out", result, out)
    if requires_grad:
        result.requires_grad = requires_grad
    return result


def into(out: Any, result: Any) -> Any:
    """The result, or ``out`` with the result written to it. Several results take a tuple or list of tensors.

    In torch an ``out`` of another shape takes that of the result, with a warning if it has elements.
    """
    if out is None:
        return result
    if isinstance(result, tuple) and isinstance(out, (tuple, list)) and len(out) == len(result):
        pairs = list(zip(out, result, strict=True))
        # Either all results are written or none.
        for to, part in pairs:
            _core.check_out("out", part, to)
        # A leaf that requires a gradient comes first: it is refused.
        for to, part in sorted(pairs, key=lambda pair: not (pair[0].is_leaf and pair[0].requires_grad)):
            into(to, part)
        return type(result)(*out) if hasattr(result, "_fields") else tuple(out)
    return _core.write_out("out", result, out)


def with_out(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which also takes ``out`` to write its result to."""

    @functools.wraps(f)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        return into(out, f(*args, **kwargs))

    return call
