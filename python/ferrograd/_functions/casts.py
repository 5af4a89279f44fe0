"""Casts to the dtype in which a function is computed, and casts of complex numbers to real ones, which dialects
allow.
"""

from __future__ import annotations

from typing import Any

from ferrograd._core import DtypeError, Tensor, native as ops
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.warning import warn


def cast(input: Tensor, dtype: Any) -> Any:
    """The tensor in a dtype. A real dtype takes the real part of complex numbers, with a warning."""
    if _arguments.tensor(input, "cast", "input").dtype.kind == "c" and ops.zeros([0], dtype).dtype.kind not in "bc":
        input = real_part(input)
    return ops.cast(input, dtype)


def in_inexact(input: Tensor, dtype: Any, function: str) -> Any:
    """The tensor in the float or complex dtype in which a function is computed, or as it is where that is None."""
    if dtype is None:
        return input
    found = cast(_arguments.tensor(input, function, "input"), dtype)
    if found.dtype.kind in "iub":
        raise DtypeError(f"{function}: dtype should be floating point or complex, but got {dtype}")
    return found


def real_part(input: Tensor) -> Any:
    """The real part, with the warning that the imaginary part is lost."""
    warn("Casting complex values to real discards the imaginary part")
    return ops.real(input)
