"""The inspection functions of the array API standard: ``__array_namespace_info__``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._core.native import get_default_dtype
from ferrograd._tensor.device import DEVICES, Device

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": (),
}
_GROUPS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}


class _Info:
    """The result of ``__array_namespace_info__()``."""

    def capabilities(self) -> dict[str, Any]:
        """Optional features: boolean indexing and data-dependent shapes are supported."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """The device of new tensors."""
        return DEVICES[0]

    def devices(self) -> list[Device]:
        """All devices."""
        return [DEVICES[0]]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of new tensors for which none is given."""
        whole = np.dtype("int64")
        return {"real floating": np.dtype(get_default_dtype()), "integral": whole, "indexing": whole}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """The supported dtypes by name: of one kind, of a tuple of kinds, or of all."""
        kinds = kind if isinstance(kind, tuple) else tuple(_KINDS) if kind is None else (kind,)
        found: dict[str, np.dtype[Any]] = {}
        for k in kinds:
            if k not in _KINDS and k not in _GROUPS:
                raise ValueError(f"dtypes: {k!r} is no kind of dtype")
            for part in _GROUPS.get(k, (k,)):
                found |= {name: np.dtype(name) for name in _KINDS[part]}
        return found


def __array_namespace_info__() -> _Info:
    """Inspection of the namespace, as the array API standard defines it."""
    return _Info()
