"""The ``out`` and ``requires_grad`` arguments of the dialects' functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, DtypeError, ShapeError, Tensor

#: The kinds of dtypes, each of which holds the values of those before it. NumPy's kind of bfloat16 is V.
_KINDS = {kind: i for i, kinds in enumerate(("b", "iu", "fV", "c")) for kind in kinds}


def check_can_take(function: str, out: Tensor, result: Tensor) -> None:
    """Raises unless the dtype of ``out`` holds numbers of the result's kind: integers take no floats."""
    if _KINDS[result.dtype.kind] > _KINDS[out.dtype.kind]:
        text = f"result type {result.dtype} can't be cast to the desired output type {out.dtype}"
        raise DtypeError(f"{function}: {text}")


def placed(result: Tensor, out: Tensor | None, requires_grad: bool) -> Any:
    """The result, or ``out`` with the result written to it; a leaf that requires a gradient if asked for."""
    if out is not None:
        result = _core.overwrite(out, "out", 0 in out.shape, lambda _: result, (), {})
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
        pairs = list(zip(out, result, strict=True))
        for to, part in pairs:
            _check(to, part)
        # A leaf that requires a gradient comes first: it is refused.
        for to, part in sorted(pairs, key=lambda pair: not (pair[0].is_leaf and pair[0].requires_grad)):
            into(to, part)
        return type(result)(*out) if hasattr(result, "_fields") else tuple(out)
    _check(out, result)
    _core.overwrite(out, "out", 0 in out.shape, lambda _: result, (), {})
    return out


def _check(out: Any, result: Any) -> None:
    """Raises unless the result can be written to ``out``. So either all of several results are written or none."""
    if not isinstance(out, Tensor) or not isinstance(result, Tensor):
        raise ArgumentError(f"out takes a tensor for each result, not {type(out).__name__}")
    check_can_take("out", out, result)
    if 0 not in out.shape and out.shape != result.shape:
        shapes = f"{list(result.shape)}, which cannot be written into the shape {list(out.shape)}"
        raise ShapeError(f"out: the result has shape {shapes}")


def with_out(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which also takes ``out`` to write its result to."""

    @functools.wraps(f)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        return into(out, f(*args, **kwargs))

    return call
