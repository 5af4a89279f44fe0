"""``torch.amp.autocast_mode``."""

from __future__ import annotations

import warnings
from contextlib import ContextDecorator
from typing import Any

from ferrograd._core import ArgumentError

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

#: The devices that torch knows and that are not here.
_ABSENT = ("cuda", "hpu", "ipu", "maia", "mps", "mtia", "xla", "xpu")


def is_autocast_available(device_type: str) -> bool:
    """Whether ``autocast`` computes in a smaller dtype on a device: on none."""
    return False


class autocast(ContextDecorator):
    """A context, or a decorator, that computes in a smaller dtype where torch would. There is none here.

    For a GPU it warns, as torch does where there is none, and does nothing.

    Raises:
        ArgumentError: it is enabled for the CPU, whose ops compute in the dtype of their arguments.
        RuntimeError: torch knows no such device.

    >>> import ferrograd.torch as torch
    >>> with torch.autocast("cpu", enabled=False):
    ...     torch.ones(2, 2).mm(torch.ones(2, 2)).dtype
    dtype('float32')
    """

    def __init__(
        self, device_type: str = "cuda", dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        kind = str(getattr(device_type, "type", device_type)).partition(":")[0]
        if kind not in ("cpu", "meta", *_ABSENT):
            raise RuntimeError(f"Unsupported autocast device_type '{device_type}'")
        if enabled and kind in _ABSENT:
            warnings.warn(
                f"User provided device_type of '{kind}', but it is not available. Disabling autocast", stacklevel=2
            )
        elif enabled:
            raise ArgumentError(
                "autocast: operations on the CPU compute in the dtype of their arguments here. Pass enabled=False, or "
                "convert the arguments yourself"
            )
        self.device, self.fast_dtype, self._enabled = kind, dtype, False

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing was changed."""


def custom_fwd(fwd: Any = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
    """The ``forward`` of a ``Function`` itself, as nothing is cast; without it, a decorator."""
    return (lambda fwd: fwd) if fwd is None else fwd


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """The ``backward`` of a ``Function`` itself, as nothing is cast; without it, a decorator."""
    return (lambda bwd: bwd) if bwd is None else bwd
