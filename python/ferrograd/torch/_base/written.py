"""What ``torch.save`` writes: an archive with a pickle, and with the memory of its tensors in entries of its own."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections import OrderedDict
from typing import IO, Any

import numpy as np

from ferrograd._core import TorchTensor
from ferrograd._tensor.device import TorchDevice
from ferrograd._tensor.dtypes import bits_of_bfloat16, dtype
from ferrograd._tensor.shape import TorchSize
from ferrograd.torch._base.archives import STORAGES
from ferrograd.torch.nn.parameter import Parameter


class _Name:
    """A class or function of PyTorch's that a pickle names; it need not be installed."""

    def __init__(self, module: str, name: str) -> None:
        self.line = pickle.GLOBAL + f"{module}\n{name}\n".encode()

    def __call__(self) -> None:
        """Only the pickle calls it."""


class _Memory:
    """The memory of a tensor, as a pickle refers to it."""

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key


#: The class in Python, whose way to write a global can be changed.
_PythonPickler: Any = pickle._Pickler


class Pickler(_PythonPickler):  # type: ignore[misc]
    """Writes tensors as PyTorch does: their memory goes to entries of its own, which have numbers."""

    def __init__(self, file: IO[bytes], protocol: int) -> None:
        super().__init__(file, protocol)
        self.memories: list[np.ndarray[Any, Any]] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._names: dict[tuple[str, str], _Name] = {}

    def _name(self, module: str, name: str) -> _Name:
        return self._names.setdefault((module, name), _Name(module, name))

    def save(self, obj: Any, save_persistent_id: bool = True) -> Any:
        if isinstance(obj, dtype):
            obj = self._name("torch", obj.name)
        if not isinstance(obj, _Name):
            return super().save(obj, save_persistent_id)
        written = self.memo.get(id(obj))
        self.write(obj.line if written is None else self.get(written[0]))
        return self.memoize(obj) if written is None else None

    def persistent_id(self, obj: Any) -> Any:
        return obj.key if isinstance(obj, _Memory) else None

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is TorchTensor:
            made = self._tensor(obj)
            if not vars(obj):
                return made
            described = (made[0], self._name("torch", "Tensor"), made[1], vars(obj))
            return self._name("torch._tensor", "_rebuild_from_type_v2"), described
        if type(obj) is Parameter:
            parts: Any = (obj.detach(), bool(obj.requires_grad), OrderedDict())
            if vars(obj):
                return self._name("torch._utils", "_rebuild_parameter_with_state"), (*parts, vars(obj))
            return self._name("torch._utils", "_rebuild_parameter"), parts
        if type(obj) is TorchSize:
            return self._name("torch", "Size"), (tuple(obj),)
        if type(obj) is TorchDevice:
            return self._name("torch", "device"), (str(obj),)
        return NotImplemented

    def _tensor(self, x: Any) -> Any:
        name = x.dtype.name
        values = x.detach().numpy() if name != "bfloat16" else bits_of_bfloat16(x.detach().float().numpy())
        memory, strides = _in_memory(values)
        # Tensors that share all their memory, such as tied weights, share an entry.
        place = x.data_ptr() if name == "bfloat16" and x.is_contiguous() else memory.ctypes.data
        key = (place, name, memory.size)
        number = self._numbers.setdefault(key, len(self.memories)) if memory.size else len(self.memories)
        if number == len(self.memories):
            self.memories.append(memory)
        has_class = name in STORAGES
        kind = self._name("torch", STORAGES[name]) if has_class else self._name("torch.storage", "UntypedStorage")
        stored = _Memory(("storage", kind, str(number), "cpu", memory.size if has_class else memory.nbytes))
        parts: Any = (stored, 0, tuple(x.shape), strides, bool(x.requires_grad), OrderedDict())
        if has_class:
            return self._name("torch._utils", "_rebuild_tensor_v2"), parts
        return self._name("torch._utils", "_rebuild_tensor_v3"), (*parts, self._name("torch", name))


def _in_memory(values: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], tuple[int, ...]]:
    """The elements as a vector in the order of their memory if it has no gaps, and the strides into the vector."""
    order = sorted(range(values.ndim), key=lambda i: -values.strides[i])
    found = values.transpose(order)
    if not found.flags.c_contiguous:
        order, found = list(range(values.ndim)), np.ascontiguousarray(values)
    strides, step = [0] * values.ndim, 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(values.shape[axis], 1)
    return found.reshape(-1), tuple(strides)


def write(obj: object, f: Any, protocol: int, others: dict[str, bytes]) -> None:
    """Writes an archive of an object, and other entries."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as file:
            return write(obj, file, protocol, others)
    if not getattr(f, "seekable", bool)():
        # The archive is put together elsewhere, since a file may have nothing but `write`.
        whole = io.BytesIO()
        write(obj, whole, protocol, others)
        f.write(whole.getbuffer())
        getattr(f, "flush", bool)()
        return None
    text = io.BytesIO()
    # Protocol 0 writes such references as text.
    pickler = Pickler(text, protocol or 1)
    pickler.dump(obj)
    folder = os.path.splitext(os.path.basename(str(getattr(f, "name", "archive"))))[0] or "archive"
    with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, f"{folder}/data.pkl", text.getvalue())
        _add(archive, f"{folder}/byteorder", b"little")
        for number, memory in enumerate(pickler.memories):
            _add(archive, f"{folder}/data/{number}", memory.astype(memory.dtype.newbyteorder("<"), copy=False).data)
        for name, data in others.items():
            _add(archive, f"{folder}/{name}", data)
        _add(archive, f"{folder}/version", b"3\n")
    getattr(f, "flush", bool)()
    return None


def _add(archive: zipfile.ZipFile, name: str, data: Any) -> None:
    """Adds an entry whose data begins at a multiple of 64 bytes, as readers that map a file into memory want."""
    info = zipfile.ZipInfo(name)
    start = archive.fp.tell() if archive.fp is not None else 0
    info.extra = b"FB" + (gap := -(start + 30 + len(name.encode()) + 4) % 64).to_bytes(2, "little") + b"Z" * gap
    archive.writestr(info, data)
