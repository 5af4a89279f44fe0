"""``torch.onnx``: there is no export."""

from __future__ import annotations

from typing import Any, NoReturn

from ferrograd._core import FerrogradError
from ferrograd._kit import public as _public

__all__ = ["export", "is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """False: there is no export."""
    return False


def export(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises: there is no export.

    ``torch.save(module.state_dict(), file)`` writes the numbers in PyTorch's format; PyTorch can export them.
    """
    raise FerrogradError(
        "torch.onnx.export: there is no export here. Write torch.save(module.state_dict(), file), load that in "
        "PyTorch, and export it there"
    )


__dir__ = _public.names(globals())
