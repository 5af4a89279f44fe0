"""Paddle's flags: ``FLAGS_check_nan_inf`` works; others are stored and change nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ferrograd import _core

__all__ = ["get_flags", "set_flags"]

#: The flags that change nothing here, with Paddle's defaults.
_noted: dict[str, Any] = {
    "FLAGS_allocator_strategy": "auto_growth",
    "FLAGS_benchmark": False,
    "FLAGS_call_stack_level": 1,
    "FLAGS_cudnn_deterministic": False,
    "FLAGS_eager_delete_tensor_gb": 0.0,
    "FLAGS_embedding_deterministic": 0,
    "FLAGS_paddle_num_threads": 1,
    "FLAGS_sort_sum_gradient": False,
    "FLAGS_use_mkldnn": False,
    "FLAGS_use_stride_kernel": True,
}
#: The flag that makes every op refuse to return NaN.
_NANS = "FLAGS_check_nan_inf"


def set_flags(flags: Mapping[str, Any]) -> None:
    """Sets flags by name. ``FLAGS_check_nan_inf`` makes an op whose result holds NaN raise, on this thread.

    Other known flags are stored and change nothing. An unknown flag is a ValueError.

    >>> import ferrograd.paddle as paddle
    >>> paddle.set_flags({"FLAGS_cudnn_deterministic": True})
    >>> paddle.get_flags("FLAGS_cudnn_deterministic")
    {'FLAGS_cudnn_deterministic': True}
    """
    if not isinstance(flags, Mapping):
        raise TypeError("flags in set_flags should be a dict")
    for name, value in flags.items():
        if name == _NANS:
            _core.watch("nans", bool(value))
        elif name in _noted:
            _noted[name] = value
        else:
            raise ValueError(f"Flag {name} cannot set its value through this function.")


def get_flags(flags: str | Sequence[str]) -> dict[str, Any]:
    """The values of flags, by name."""
    if not isinstance(flags, str | list | tuple):
        raise TypeError("Flags in get_flags should be a list, tuple or string.")
    found: dict[str, Any] = {}
    for name in [flags] if isinstance(flags, str) else flags:
        if name == _NANS:
            found[name] = bool(_core.watching("nans"))
        elif name in _noted:
            found[name] = _noted[name]
        else:
            raise ValueError(f"Flag {name} cannot get its value through this function.")
    return found
