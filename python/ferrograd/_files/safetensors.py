"""Files of tensors in the format safetensors: a length, a header in JSON, and the numbers.

Reading such a file runs no code and believes none of its lengths.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit.dialect import NATIVE, PADDLE, TORCH
from ferrograd._tensor.dtypes import bfloat16_of_bits, bits_of_bfloat16

#: The names of dtypes in a header.
_NAMES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "float16": "F16",
    "bfloat16": "BF16",
    "uint32": "U32",
    "int32": "I32",
    "float32": "F32",
    "complex64": "C64",
    "uint64": "U64",
    "int64": "I64",
    "float64": "F64",
}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
#: No header is longer, so that a damaged length takes no memory.
_LONGEST = 100_000_000
_MOST_AXES = 64
#: How many bytes of a tensor are read at a time.
_PART = 1 << 20


class SafetensorError(ValueError):
    """A file that is not in the format, or a tensor that the format does not have."""


def _bytes_of(name: str, x: Any) -> tuple[str, list[int], Any]:
    if not isinstance(x, Tensor):
        raise ArgumentError(f"safetensors: {name!r} must be a Tensor, not {type(x).__name__}")
    kind = x.dtype.name
    values = x.detach().numpy() if kind != "bfloat16" else bits_of_bfloat16(x.detach().astype("float32").numpy())
    values = np.ascontiguousarray(values)
    if kind not in _NAMES:
        raise SafetensorError(f"safetensors: {name!r} is of {kind}, which the format does not have")
    # NumPy gives an array of no axes one axis.
    return _NAMES[kind], list(x.shape), values.astype(values.dtype.newbyteorder("<"), copy=False)


def _parts(tensors: Mapping[str, Any], metadata: Mapping[str, str] | None) -> list[Any]:
    """The header and the numbers of each tensor. Larger elements come first, so that all are aligned."""
    if not isinstance(tensors, Mapping):
        raise ArgumentError(f"safetensors: a dict of tensors is wanted, not {type(tensors).__name__}")
    found = {name: _bytes_of(name, x) for name, x in tensors.items()}
    for name, value in (metadata or {}).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise ArgumentError("safetensors: metadata must be texts by name")
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    at, data = 0, []
    for name, (kind, shape, values) in sorted(found.items(), key=lambda item: (-item[1][2].itemsize, item[0])):
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
        data.append(values.reshape(-1).view(np.uint8).data if values.size else b"")
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little"), text, *data]


def save(tensors: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> bytes:
    """Tensors by name as bytes in the format."""
    return b"".join(_parts(tensors, metadata))


def save_file(
    tensors: Mapping[str, Any], filename: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Writes tensors by name to a file. Tensors that share memory are written apart."""
    parts = _parts(tensors, metadata)
    with open(filename, "wb") as file:
        for part in parts:
            file.write(part)


class Reader:
    """The tensors of some bytes or a file that is mapped into memory."""

    def __init__(self, data: Any, dialect: int) -> None:
        self._data, self._dialect = data, dialect
        length = int.from_bytes(bytes(data[:8]), "little")
        if len(data) < 8 or length > min(_LONGEST, len(data) - 8):
            raise SafetensorError("safetensors: the file is too short for its header")
        try:
            header = json.loads(bytes(data[8 : 8 + length]).decode(), object_pairs_hook=_distinct)
        except SafetensorError:
            raise
        except (ValueError, RecursionError) as error:
            raise SafetensorError("safetensors: the header is no JSON") from error
        if not isinstance(header, dict):
            raise SafetensorError("safetensors: the header is no object")
        self.metadata: dict[str, str] | None = header.pop("__metadata__", None)
        if not isinstance(self.metadata, dict | None):
            raise SafetensorError("safetensors: the metadata are no object")
        if not all(isinstance(value, str) for value in (self.metadata or {}).values()):
            raise SafetensorError("safetensors: the metadata are no texts")
        self._start, self._entries = 8 + length, header
        at = 0
        for name, entry in sorted(header.items(), key=lambda item: _offsets(*item)):
            begin, end = _offsets(name, entry)
            if begin != at or end - begin != _size(name, entry):
                raise SafetensorError(f"safetensors: {name!r} does not follow the tensor before it")
            at = end
        if self._start + at != len(data):
            raise SafetensorError("safetensors: the file has another length than its header says")

    def names(self) -> list[str]:
        """The names, in the order of the data."""
        return sorted(self._entries, key=lambda name: _offsets(name, self._entries[name]))

    def raw(self, name: str) -> tuple[np.ndarray[Any, Any], str]:
        """The numbers of a tensor in the file (for bfloat16 their bits), and the name of its dtype."""
        if name not in self._entries:
            raise SafetensorError(f"safetensors: the file has no tensor {name!r}")
        entry = self._entries[name]
        begin, end = _offsets(name, entry)
        dtype = _DTYPES[entry["dtype"]]
        try:
            kind = np.dtype("uint16" if dtype == "bfloat16" else dtype)
            raw = np.frombuffer(self._data[self._start + begin : self._start + end], kind.newbyteorder("<"))
            return raw.reshape(entry["shape"]), dtype
        except TypeError as error:
            raise SafetensorError(f"safetensors: {name!r} is of a dtype that is not here: {entry['dtype']}") from error

    def get(self, name: str) -> Any:
        """A tensor. A large one is read part by part, so that its numbers are in memory once."""
        raw, dtype = self.raw(name)
        if raw.nbytes <= _PART:
            return self.made(raw, dtype)
        functions: Any = {NATIVE: _core.native, PADDLE: _core.paddle, TORCH: _core.torch}[self._dialect]
        whole = functions.zeros(list(raw.shape), dtype)
        numbers, places = raw.reshape(-1), whole.reshape(-1)
        step = _PART // raw.itemsize
        for begin in range(0, numbers.size, step):
            places[begin : begin + step] = self.made(numbers[begin : begin + step], dtype)
            self._forget(raw, begin + step)
        return whole

    def _forget(self, raw: np.ndarray[Any, Any], count: int) -> None:
        """Lets the system have the pages of a mapped file that the first numbers of a tensor are in."""
        mapped: Any = getattr(self._data, "_mmap", None)
        if hasattr(mapped, "madvise"):
            end = raw.ctypes.data - self._data.ctypes.data + count * raw.itemsize
            mapped.madvise(mmap.MADV_DONTNEED, 0, min(end, len(mapped)) // mmap.PAGESIZE * mmap.PAGESIZE)

    def made(self, raw: np.ndarray[Any, Any], dtype: str) -> Any:
        """Numbers of the file as a tensor."""
        values = bfloat16_of_bits(raw) if dtype == "bfloat16" else raw.astype(raw.dtype.newbyteorder("="), copy=False)
        return _core.make(values, dtype, False, self._dialect)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, whose names are distinct."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise SafetensorError("safetensors: the header has a name twice")
    return found


def _offsets(name: str, entry: Any) -> tuple[int, int]:
    found = entry.get("data_offsets") if isinstance(entry, dict) else None
    if not isinstance(found, list) or len(found) != 2 or not all(type(n) is int and n >= 0 for n in found):
        raise SafetensorError(f"safetensors: {name!r} has no place in the file")
    return found[0], found[1]


def _size(name: str, entry: Any) -> int:
    shape, kind = entry.get("shape"), entry.get("dtype")
    is_known = isinstance(kind, str) and kind in _DTYPES
    if not is_known or not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise SafetensorError(f"safetensors: {name!r} has no dtype and shape that are known")
    bits = {"BOOL": 8, "BF16": 16}.get(kind) or int(kind[1:])
    # NumPy has no larger shapes, also for arrays without elements.
    if len(shape) > _MOST_AXES or math.prod(n for n in shape if n) * bits // 8 > sys.maxsize:
        raise SafetensorError(f"safetensors: {name!r} has the shape {shape}, which is too large")
    return math.prod(shape) * bits // 8


def _mapped(filename: str | os.PathLike[str]) -> Any:
    # A number would name a file that is open already.
    if os.path.getsize(os.fspath(filename)) == 0:
        raise SafetensorError("safetensors: the file is empty")
    return np.memmap(filename, np.uint8, "r")


def load(data: bytes, dialect: int) -> dict[str, Any]:
    """The tensors of bytes in the format, by name."""
    reader = Reader(np.frombuffer(data, np.uint8), dialect)
    return {name: reader.get(name) for name in reader.names()}


def load_file(filename: str | os.PathLike[str], dialect: int) -> dict[str, Any]:
    """The tensors of a file, by name."""
    reader = Reader(_mapped(filename), dialect)
    return {name: reader.get(name) for name in reader.names()}


class SafeOpen:
    """A file whose tensors are read one by one."""

    def __init__(self, filename: str | os.PathLike[str], dialect: int) -> None:
        self._reader: Reader | None = Reader(_mapped(filename), dialect)

    def _open(self) -> Reader:
        if self._reader is None:
            raise SafetensorError("safetensors: the file is closed")
        return self._reader

    def __enter__(self) -> SafeOpen:
        return self

    def __exit__(self, *error: object) -> None:
        self._reader = None

    def keys(self) -> Iterable[str]:
        """The names of the tensors."""
        return self._open().names()

    def metadata(self) -> dict[str, str] | None:
        """The texts of the file by name; None without any."""
        return self._open().metadata

    def get_tensor(self, name: str) -> Any:
        """A tensor."""
        return self._open().get(name)

    def get_slice(self, name: str) -> Slice:
        """A tensor in the file. An index reads only the elements that it names: ``f.get_slice(name)[:, 2:4]``."""
        return Slice(self._open(), name)

    offset_keys = keys


class Slice:
    """A tensor in a file, to be indexed."""

    def __init__(self, reader: Reader, name: str) -> None:
        self._reader = reader
        self._raw, self._dtype = reader.raw(name)

    def get_shape(self) -> list[int]:
        """The shape."""
        return list(self._raw.shape)

    def get_dtype(self) -> str:
        """The name of the dtype in the format, such as ``F32``."""
        return _NAMES[self._dtype]

    def __getitem__(self, index: Any) -> Any:
        return self._reader.made(np.asarray(self._raw[index]), self._dtype)
