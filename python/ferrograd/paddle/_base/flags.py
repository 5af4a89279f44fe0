"""Paddle's flags: ``FLAGS_check_nan_inf`` works; Paddle's other flags are stored and change nothing. If an environment
variable has the name of a flag when the module is imported, the flag begins with its value.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ferrograd import _core
from ferrograd._autograd import untracked

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
#: The flag that makes every op refuse to return NaN, and an infinity that it was not given.
_NANS = "FLAGS_check_nan_inf"
#: What becomes of such a result: 0, the only level here, raises.
_LEVEL = "FLAGS_check_nan_inf_level"
#: The flag of the warning of a ``backward`` that has nothing to do. Paddle does not have it.
_NOTHING = "FLAGS_warn_untracked_backward"


def set_flags(flags: Mapping[str, Any]) -> None:
    """Sets flags by name. Known flags that are not listed here are stored and change nothing.

    ``FLAGS_check_nan_inf`` makes an op raise, on this thread, whose result holds NaN, or an infinity that no operand
    holds. ``FLAGS_warn_untracked_backward``, which Paddle does not have, is True: ``backward`` of a tensor that no
    gradient flows from warns, once for each line, and says why. An unknown flag is a ValueError, and so is a
    ``FLAGS_check_nan_inf_level`` other than 0, with which Paddle prints and goes on. Flags in the environment count
    from the import on.

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
            _core.watch("infs", bool(value))
        elif name == _LEVEL:
            if value != 0:
                raise ValueError(f"{_LEVEL} is 0 here, which raises; {value!r} does not print and go on")
        elif name == _NOTHING:
            untracked.is_on = bool(value)
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
        elif name == _LEVEL:
            found[name] = 0
        elif name == _NOTHING:
            found[name] = untracked.is_on
        elif name in _noted:
            found[name] = _noted[name]
        else:
            raise ValueError(f"Flag {name} cannot get its value through this function.")
    return found


def _obey_environment() -> None:
    """Sets the flags that the environment has, a truth value as 1, 0 or a word, as Paddle reads them."""
    first = {_NANS: False, _LEVEL: 0, _NOTHING: True, **_noted}
    for name in first.keys() & os.environ.keys():
        text, default = os.environ[name], first[name]
        try:
            is_true = text.lower() in ("1", "true", "yes", "on")
            value = is_true if isinstance(default, bool) else type(default)(text)
        except ValueError:
            raise ValueError(f"the environment variable {name} is {text!r}, and a number is wanted") from None
        set_flags({name: value})


_obey_environment()
