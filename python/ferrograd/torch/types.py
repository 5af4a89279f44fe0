"""``torch.types``: names for annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any

from ferrograd._kit import public as _public
from ferrograd._tensor.shape import TorchSize as Size

__all__ = ["Device", "FileLike", "Number", "Storage", "Tensor"]

from ferrograd._core import TorchTensor as Tensor

Number = int | float | bool
Device = Any
FileLike = str | os.PathLike[str] | IO[bytes]
Storage = Any
_int, _float, _bool, _complex = int, float, bool, complex
_dtype = _device = _layout = _qscheme = Any
_size = Size | list[int] | tuple[int, ...]
_TensorOrTensors = Tensor | Sequence[Tensor]

__dir__ = _public.names(globals())
