"""The memory of a tensor, as ``torch.storage`` names it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ferrograd._core import ArgumentError


class _Bytes:
    """The bytes of a file, as readers of formats such as that of safetensors use them."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def untyped(self) -> _Bytes:
        """The bytes themselves."""
        return self

    def nbytes(self) -> int:
        """Their number."""
        return int(self._values.size)

    def __getitem__(self, index: slice) -> Any:
        """Some of them, as a NumPy array."""
        return self._values[index].view(BytesOfFile)


class BytesOfFile(np.ndarray[Any, Any]):
    """Some bytes of a file, as the reader of safetensors asks for them."""


@dataclass(frozen=True)
class Storage:
    """The memory that a tensor and its views share, by its address and its number of bytes.

    It is counted in elements of ``itemsize`` bytes.
    """

    address: int
    total: int = 0
    itemsize: int = field(default=1, compare=False)

    @property
    def _cdata(self) -> int:
        """The address, as a name of the memory."""
        return self.address

    def data_ptr(self) -> int:
        """The address. A write may move it."""
        return self.address

    def nbytes(self) -> int:
        """The number of bytes."""
        return self.total

    def is_shared(self) -> bool:
        """False: no memory is shared with other processes."""
        return False

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0, *, size: int = 0) -> Any:
        """The bytes of a file, for readers of formats such as that of safetensors: slices of it are NumPy arrays.

        Raises:
            ArgumentError: with ``shared``, which would write to the file.
        """
        if shared:
            raise ArgumentError("UntypedStorage.from_file: files are only read; shared must be False")
        return _Bytes(np.memmap(filename, np.uint8, "r", shape=(nbytes or size,)))

    def element_size(self) -> int:
        """The bytes of one element."""
        return self.itemsize

    def size(self) -> int:
        """The number of elements, which are bytes where the memory has no dtype."""
        return self.total // self.itemsize

    __len__ = size
