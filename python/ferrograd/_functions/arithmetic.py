"""Quotients that are rounded as an argument says."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, Tensor


def quotient(ops: Any, x: Any, y: Any, rounding_mode: str | None) -> Any:
    """The quotient, computed by the functions of a dialect. The mode "trunc" rounds it towards 0, "floor" down.

    Rounded quotients of integers are integers.
    """
    if rounding_mode is None:
        found: Tensor = ops.divide(x, y)
    elif rounding_mode == "floor":
        found = ops.floor_divide(x, y)
    elif rounding_mode != "trunc":
        raise ArgumentError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    elif any(isinstance(v, float) or (isinstance(v, Tensor) and v.dtype.kind == "f") for v in (x, y)):
        found = ops.trunc(ops.divide(x, y))
    else:
        found = ops.floor_divide(ops.subtract(x, ops.fmod(x, y)), y)
    return found
