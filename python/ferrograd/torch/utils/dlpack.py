"""``torch.utils.dlpack``."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.dialect import TORCH

__all__ = ["from_dlpack", "to_dlpack"]


def from_dlpack(ext_tensor: Any, *, device: object = None, copy: bool | None = None) -> Any:
    """A tensor with a copy of the elements of another library's array, or of a capsule. Without one it raises."""
    _core.check_device("from_dlpack", device)
    if copy is False:
        raise ValueError("from_dlpack: the elements are copied; take copy=None")
    return _core.from_dlpack(ext_tensor, dialect=TORCH)


def to_dlpack(tensor: Any) -> Any:
    """A DLPack capsule of a tensor."""
    return _arguments.tensor(tensor, "to_dlpack", "tensor").__dlpack__()


__dir__ = _public.names(globals())
