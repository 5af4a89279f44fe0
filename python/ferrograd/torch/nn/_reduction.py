"""The names of reductions, for losses that other libraries derive from those of PyTorch."""

from __future__ import annotations

from ferrograd.torch.nn._functional.losses import reduction_of

__all__ = ["get_enum", "legacy_get_string"]

_NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a reduction."""
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NUMBERS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the older flags of losses mean."""
    return reduction_of(size_average, reduce, "mean")
