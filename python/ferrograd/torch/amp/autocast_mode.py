"""``torch.amp.autocast_mode``."""

from __future__ import annotations

from functools import partial, wraps
from typing import Any

from ferrograd import _core
from ferrograd._autograd.autocast import Autocast, cast_all, tell_of_no_gain
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.warning import warn
from ferrograd._tensor.dtypes import dtype_of

__all__ = [
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
]

#: The devices that torch knows and that are not here.
_ABSENT = ("cuda", "hpu", "ipu", "maia", "mps", "mtia", "xla", "xpu")
#: The dtype of ``autocast`` where none is given.
_default = ["bfloat16"]


def is_autocast_available(device_type: str) -> bool:
    """Whether ``autocast`` computes in a smaller dtype on a device: on the CPU."""
    return str(getattr(device_type, "type", device_type)) == "cpu"


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether ``autocast`` is on for a device on this thread."""
    return is_autocast_available(device_type) and _core.autocast_dtype() is not None


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype that ``autocast`` computes in on a device."""
    if not is_autocast_available(device_type):
        return dtype_of("float16", TORCH)
    return dtype_of(_core.autocast_dtype() or _default[0], TORCH)


def get_autocast_cpu_dtype() -> Any:
    """The older name of ``get_autocast_dtype("cpu")``."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Any:
    """The older name of ``get_autocast_dtype("cuda")``."""
    return get_autocast_dtype("cuda")


def is_autocast_cpu_enabled() -> bool:
    """The older name of ``is_autocast_enabled("cpu")``."""
    return is_autocast_enabled("cpu")


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Sets the dtype of ``autocast`` for the CPU where none is given."""
    if is_autocast_available(device_type):
        _default[0] = _half(dtype)


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Switches ``autocast`` on or off for the CPU on this thread."""
    if is_autocast_available(device_type):
        _core.set_autocast(_default[0] if enabled else None)


def _half(dtype: Any) -> str:
    return _core.make([], dtype, False, TORCH).dtype.name


class autocast(Autocast):
    """A context, or a decorator, in which products are computed in a half dtype, by default bfloat16.

    Matrix products, convolutions and attention have results of that dtype. Losses and functions that need the digits
    compute in float32. Everything else computes in the dtype of its operands. The lists are torch's for the CPU. Where
    the processor has instructions for bfloat16, products take less time in it; elsewhere a warning says once that
    they do not. For a GPU it warns, as torch does where there is none, and does nothing.

    Raises:
        RuntimeError: torch knows no such device.

    >>> import ferrograd.torch as torch
    >>> x = torch.ones(2, 2)
    >>> with torch.autocast("cpu"):
    ...     (x @ x).dtype, (x + x).dtype
    (torch.bfloat16, torch.float32)
    """

    def __init__(
        self, device_type: str = "cuda", dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        kind = str(getattr(device_type, "type", device_type)).partition(":")[0]
        if kind not in ("cpu", "meta", *_ABSENT):
            raise RuntimeError(f"Unsupported autocast device_type '{device_type}'")
        name = _default[0] if dtype is None else _half(dtype)
        if enabled and kind in _ABSENT:
            warn(f"User provided device_type of '{kind}', but it is not available. Disabling autocast")
            enabled = False
        if enabled and name not in ("float16", "bfloat16"):
            warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast. CPU Autocast only "
                "supports dtype of torch.bfloat16, torch.float16 currently."
            )
            enabled = False
        if enabled:
            tell_of_no_gain(name)
        self.device, self._enabled = kind, enabled
        self.fast_dtype = dtype_of(name, TORCH)
        # For another device nothing changes.
        self._is_here = kind == "cpu"
        super().__init__(name if enabled else None)

    def __enter__(self) -> autocast:
        self._fg_before.append(_core.set_autocast(self._wanted) if self._is_here else _core.autocast_dtype())
        return self


def custom_fwd(fwd: Any = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
    """A decorator for the ``forward`` of a ``Function``.

    Where autocast is on, ``forward`` with ``cast_inputs`` gets its tensors in that dtype and runs without autocast.
    ``custom_bwd`` runs ``backward`` in the same mode.
    """
    if fwd is None:
        return partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._autocast = dtype = _core.autocast_dtype() if is_autocast_available(device_type) else None
        if dtype is None or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        ctx._autocast, name = None, _core.make([], cast_inputs, False, TORCH).dtype.name
        with Autocast(None):
            return fwd(ctx, *cast_all(args, name), **cast_all(kwargs, name))

    return forward


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """A decorator for the ``backward`` of a ``Function`` whose ``forward`` has ``custom_fwd``."""
    if bwd is None:
        return partial(custom_bwd, device_type=device_type)

    @wraps(bwd)
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_autocast_available(device_type):
            return bwd(ctx, *args, **kwargs)
        with Autocast(ctx._autocast):
            return bwd(ctx, *args, **kwargs)

    return backward


def _cast(value: Any, device_type: Any, dtype: Any = None) -> Any:
    """The value with all float tensors in it cast to a dtype, except those of float64."""
    return cast_all(value, str((device_type if dtype is None else dtype).name))


__dir__ = _public.names(globals())
