"""torch's settings of the whole program: how tensors are printed, and switches that change nothing here."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.warning import warn
from ferrograd._tensor.device import TorchDevice
from ferrograd._tensor.repr import TORCH_OPTIONS as _print_options
from ferrograd.torch._base import warned

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_default_device",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_default_device",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_printoptions",
    "set_warn_always",
    "use_deterministic_algorithms",
]

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": 2**62, "edgeitems": 3, "linewidth": 80},
}
_noted: dict[str, Any] = {
    "deterministic": False,
    "deterministic_warns": False,
    "precision": "highest",
    "interop_threads": 1,
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors are printed: digits after the point, elements before a summary, elements at its edges, columns.

    A ``profile`` is "default", "short" or "full"; without ``sci_mode`` the format of numbers follows from them.

    >>> import ferrograd.torch as torch
    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1 / 3])
    tensor([0.33])
    >>> torch.set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in _PROFILES:
            raise ArgumentError(f"set_printoptions: profile is one of {sorted(_PROFILES)}, not {profile!r:.60}")
        _print_options.change(**_PROFILES[profile])
    _print_options.change(precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth)
    _print_options.sci_mode = sci_mode


def get_default_device() -> TorchDevice:
    """The device of new tensors: the CPU."""
    return TorchDevice("cpu")


def set_default_device(device: Any) -> None:
    """Takes the CPU, or None for it; raises for another device."""
    _core.check_device("set_default_device", device)


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Is stored and changes nothing: results have the same bits in every run and on any number of threads."""
    mode = _arguments.truth(mode, "use_deterministic_algorithms", "mode")
    _noted.update(deterministic=mode, deterministic_warns=bool(mode and warn_only))


def are_deterministic_algorithms_enabled() -> bool:
    """What :func:`use_deterministic_algorithms` was given."""
    return bool(_noted["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The ``warn_only`` that :func:`use_deterministic_algorithms` was given."""
    return bool(_noted["deterministic_warns"])


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same as :func:`use_deterministic_algorithms`, with 0, 1 and 2 or "default", "warn" and "error"."""
    names = {"default": 0, "warn": 1, "error": 2}
    level = names.get(debug_mode, debug_mode) if isinstance(debug_mode, str) else debug_mode
    if level not in (0, 1, 2):
        raise ArgumentError(f"invalid value of debug_mode, expected one of {sorted(names)}, but got {debug_mode}")
    use_deterministic_algorithms(level != 0, warn_only=level == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as :func:`set_deterministic_debug_mode` takes them."""
    if not _noted["deterministic"]:
        return 0
    return 1 if _noted["deterministic_warns"] else 2


def set_warn_always(b: bool, /) -> None:
    """Sets whether what is warned of once a process is warned of every time. Filters of Python's come after that."""
    warned.is_always = _arguments.truth(b, "set_warn_always", "b")


def is_warn_always_enabled() -> bool:
    """What :func:`set_warn_always` was given."""
    return warned.is_always


def set_float32_matmul_precision(precision: str) -> None:
    """Is stored and changes nothing: products of float32 are always computed in float32."""
    if precision not in ("highest", "high", "medium"):
        warn(f"{precision} is not one of 'highest', 'high', and 'medium'")
        return
    _noted["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What :func:`set_float32_matmul_precision` was given."""
    return str(_noted["precision"])


def set_flush_denormal(mode: bool) -> bool:
    """False: numbers below the smallest normal one keep their values."""
    return False


def set_num_interop_threads(num: int) -> None:
    """Is stored and changes nothing: :func:`set_num_threads` is for all work."""
    if num < 1:
        raise ArgumentError("Expected a positive number of threads")
    _noted["interop_threads"] = num


def get_num_interop_threads() -> int:
    """What :func:`set_num_interop_threads` was given."""
    return int(_noted["interop_threads"])
