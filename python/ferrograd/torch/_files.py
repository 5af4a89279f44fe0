"""``torch.save`` and ``torch.load``: files in PyTorch's format, which both libraries read and write."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import TorchTensor
from ferrograd._core import torch as ops
from ferrograd._dialects.numbers import TORCH
from ferrograd._tensor.device import TorchDevice
from ferrograd._tensor.dtypes import bfloat16_of_bits, bits_of_bfloat16, dtype, dtype_of
from ferrograd._tensor.shape import TorchSize
from ferrograd._tensor.strangers import Locked
from ferrograd.torch.nn.parameter import Parameter

__all__ = ["load", "save"]

#: The classes of memory that a file names, by dtype.
_STORAGES = {
    "bool": "BoolStorage",
    "uint8": "ByteStorage",
    "int8": "CharStorage",
    "int16": "ShortStorage",
    "int32": "IntStorage",
    "int64": "LongStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
    "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}
_DTYPE_OF_STORAGE = {name: dtype for dtype, name in _STORAGES.items()} | {"UntypedStorage": "uint8"}
#: The dtypes that a file may name.
_DTYPES = {*_STORAGES, "uint16", "uint32", "uint64"}
#: The classes and functions that a pickle of tensors may name.
_ALLOWED = {
    ("builtins", "bytearray"),
    ("builtins", "bytes"),
    ("builtins", "complex"),
    ("builtins", "frozenset"),
    ("builtins", "range"),
    ("builtins", "set"),
    ("builtins", "slice"),
    ("collections", "Counter"),
    ("collections", "OrderedDict"),
    ("collections", "defaultdict"),
    ("_codecs", "encode"),
    ("ferrograd._tensor.pickling", "_rebuild"),
    ("ferrograd._tensor.shape", "TorchSize"),
    ("ferrograd.torch.nn.parameter", "Parameter"),
}
#: What programs allow beside these, by module and name.
_safe: dict[tuple[str, str], Any] = {}
#: How files begin that PyTorch wrote before its release 1.6.
_LEGACY = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."


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


class _Pickler(_PythonPickler):  # type: ignore[misc]
    """Writes tensors as PyTorch does: their memory is left for entries of their own, by number."""

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
        has_class = name in _STORAGES
        kind = self._name("torch", _STORAGES[name]) if has_class else self._name("torch.storage", "UntypedStorage")
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


def save(
    obj: object,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Writes tensors and any other picklable object to a file in PyTorch's format.

    PyTorch reads what consists of tensors, parameters, numbers, text and containers. Tensors that share all their
    memory share it in the file; other views are written apart.

    >>> import io, ferrograd.torch as torch
    >>> file = io.BytesIO()
    >>> torch.save({"w": torch.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)["w"].tolist()
    [1.0, 1.0]
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as file:
            return save(obj, file, pickle_module, pickle_protocol)
    text = io.BytesIO()
    # Protocol 0 writes such references as text.
    pickler = _Pickler(text, pickle_protocol or 1)
    pickler.dump(obj)
    folder = os.path.splitext(os.path.basename(str(getattr(f, "name", "archive"))))[0] or "archive"
    with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, f"{folder}/data.pkl", text.getvalue())
        _add(archive, f"{folder}/byteorder", b"little")
        for number, memory in enumerate(pickler.memories):
            _add(archive, f"{folder}/data/{number}", memory.astype(memory.dtype.newbyteorder("<"), copy=False).data)
        _add(archive, f"{folder}/version", b"3\n")
    return None


def _add(archive: zipfile.ZipFile, name: str, data: Any) -> None:
    """Adds an entry whose data begins at a multiple of 64 bytes, as readers that map a file into memory want."""
    info = zipfile.ZipInfo(name)
    start = archive.fp.tell() if archive.fp is not None else 0
    info.extra = b"FB" + (gap := -(start + 30 + len(name.encode()) + 4) % 64).to_bytes(2, "little") + b"Z" * gap
    archive.writestr(info, data)


class _Unpickler(pickle.Unpickler):
    """Loads a pickle whose tensors have their memory elsewhere. PyTorch's classes are those of this dialect."""

    def __init__(self, file: IO[bytes], memory: Any, weights_only: bool) -> None:
        super().__init__(file)
        self._memory, self._weights_only = memory, weights_only

    def persistent_load(self, pid: Any) -> Any:
        if not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage" or not isinstance(pid[1], _Kind):
            raise pickle.UnpicklingError("the file refers to something that is no memory of a tensor")
        return self._memory(pid[1], str(pid[2]), int(pid[4]))

    def find_class(self, module: str, name: str) -> Any:
        # The name of the module in protocols before 3.
        module = "builtins" if module == "__builtin__" else module
        if module == "torch" or module.startswith("torch."):
            found = _torch_object(module, name)
            if found is not None:
                return Locked(found) if self._weights_only and callable(found) else found
        if (module, name) in _safe:
            return _safe[module, name]
        if self._weights_only and (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(
                f"Weights only load failed: the file names {module}.{name}, which is no tensor, number, text or "
                "container. Load it with weights_only=False if you trust it: a pickle can run any code. A class that "
                "you know can be allowed with torch.serialization.add_safe_globals"
            )
        if module == "torch" or module.startswith("torch."):
            module = "ferrograd." + module
        found = super().find_class(module, name)
        return Locked(found) if self._weights_only and module.startswith("ferrograd.") else found


class _Kind:
    """A class of memory: the dtype of its elements, which are bytes where the name says none."""

    def __init__(self, name: str) -> None:
        self.name, self.dtype = name, _DTYPE_OF_STORAGE[name]


def _torch_object(module: str, name: str) -> Any:
    """What stands for a class or function of PyTorch's that files of tensors name; None for any other."""
    if name in _DTYPE_OF_STORAGE:
        return _Kind(name)
    if module == "torch" and name in _DTYPES:
        return dtype_of(name, TORCH)
    return _OBJECTS.get((module, name))


def _rebuild_tensor(memory: Any, offset: int, size: Any, stride: Any, *rest: Any) -> Any:
    """A tensor whose elements are these places of a vector."""
    tracked = bool(rest[0]) if rest else False
    if len(rest) > 2:
        # UntypedStorage is plain bytes.
        memory = _core.make(memory.numpy().view(np.dtype(rest[2])), None, False, TORCH)
    found = ops.as_strided(memory, list(size), list(stride), int(offset)).detach()
    return found.requires_grad_() if tracked else found


def _rebuild_parameter(data: Any, requires_grad: bool, hooks: Any, state: Any = None) -> Any:
    made: Any = Parameter(data, requires_grad)
    if state is not None:
        vars(made).update(state)
    return made


def _rebuild_with_attributes(rebuild: Any, kind: Any, parts: tuple[Any, ...], state: Any) -> Any:
    """A tensor with attributes of the user's."""
    kind, rebuild = (part.real if isinstance(part, Locked) else part for part in (kind, rebuild))
    if kind is not TorchTensor or rebuild is not _rebuild_tensor:
        raise pickle.UnpicklingError(f"the file has a tensor of the class {getattr(kind, '__name__', kind)}")
    made = rebuild(*parts)
    # PyTorch writes a pair where a class has slots.
    vars(made).update(state[0] if isinstance(state, tuple) else state)
    return made


def _rebuild_size(sizes: Any = ()) -> TorchSize:
    return TorchSize(int(n) for n in sizes)


_OBJECTS: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v3"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _rebuild_parameter,
    ("torch._tensor", "_rebuild_from_type_v2"): _rebuild_with_attributes,
    ("torch", "Tensor"): TorchTensor,
    ("torch", "Size"): _rebuild_size,
    ("torch", "device"): TorchDevice,
    ("torch.nn.parameter", "Parameter"): Parameter,
}


def _tensor_of(data: bytes, dtype: str, count: int) -> Any:
    """The vector of ``count`` numbers that the bytes hold; raises if they hold another count."""
    kind = np.dtype("uint16" if dtype == "bfloat16" else dtype)
    if count < 0 or len(data) != count * kind.itemsize:
        raise pickle.UnpicklingError(f"the file has {len(data)} bytes for {count} numbers of {dtype}")
    if dtype == "bfloat16":
        return _core.make(bfloat16_of_bits(np.frombuffer(data, "<u2")), dtype, False, TORCH)
    return _core.make(np.frombuffer(data, kind.newbyteorder("<")).astype(kind, copy=False), None, False, TORCH)


def _load_zip(f: IO[bytes], weights_only: bool) -> Any:
    with zipfile.ZipFile(f) as archive:
        entries = {info.filename.partition("/")[2]: info for info in archive.infolist()}
        if "data.pkl" not in entries:
            raise pickle.UnpicklingError("the file is an archive without tensors; a compiled program is not read here")
        if any(info.compress_type != zipfile.ZIP_STORED for info in entries.values()):
            raise pickle.UnpicklingError("the file has compressed entries, which PyTorch does not write")
        if "byteorder" in entries and archive.read(entries["byteorder"]) != b"little":
            raise pickle.UnpicklingError("the file was written on a machine with another order of bytes")
        known: dict[tuple[str, str], Any] = {}

        def memory(kind: _Kind, number: str, count: int) -> Any:
            if (number, kind.dtype) not in known:
                entry = entries.get(f"data/{number}")
                if entry is None:
                    raise pickle.UnpicklingError(f"the file has no entry data/{number}")
                known[number, kind.dtype] = _tensor_of(archive.read(entry), kind.dtype, count)
            return known[number, kind.dtype]

        return _Unpickler(io.BytesIO(archive.read(entries["data.pkl"])), memory, weights_only).load()


def _load_legacy(f: IO[bytes], weights_only: bool) -> Any:
    """Reads what PyTorch wrote before its release 1.6: a pickle with the memory of the tensors behind it."""
    start = f.tell()
    length = f.seek(0, io.SEEK_END)
    f.seek(start)
    for _ in range(3):
        # A number that marks such files, the release of the format, and facts about the machine.
        _Unpickler(f, None, True).load()
    places: dict[str, tuple[str, int, Any]] = {}

    def memory(kind: _Kind, number: str, count: int) -> Any:
        if kind.name == "UntypedStorage":
            raise pickle.UnpicklingError("tensors of a dtype newer than the file's format. In PyTorch, save it again")
        if number not in places:
            if not 0 <= count <= length:
                raise pickle.UnpicklingError(f"the file has {length} bytes, which are too few for {count} numbers")
            places[number] = kind.dtype, count, ops.zeros([count], kind.dtype)
        return places[number][2]

    found = _Unpickler(f, memory, weights_only).load()
    for number in _Unpickler(f, None, True).load():
        dtype, count, vector = places[number]
        size = int.from_bytes(f.read(8), "little")
        if size != count:
            raise pickle.UnpicklingError(f"the file has {size} numbers where {count} are wanted")
        vector.copy_(_tensor_of(f.read(size * vector.element_size()), dtype, count))
    return found


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool = True,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Reads what :func:`save` or PyTorch wrote. Tensors of GPUs come to the CPU.

    Raises:
        UnpicklingError: with ``weights_only``, a file that is damaged or holds anything but tensors, numbers, text and
            containers.
        MemoryError: what the file says of itself takes more memory than there is.
    """
    if map_location is not None and not callable(map_location) and not isinstance(map_location, dict):
        _core.check_device("load", map_location)
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return load(file, pickle_module=pickle_module, weights_only=weights_only)
    if not f.seekable():
        f = io.BytesIO(f.read())
    start = f.tell()
    head = f.read(20)
    f.seek(start)
    try:
        with no_grad():
            if head.startswith(b"PK\x03\x04"):
                return _load_zip(f, weights_only)
            if _LEGACY in head:
                return _load_legacy(f, weights_only)
            if weights_only or pickle_module is None:
                return _Unpickler(f, None, weights_only).load()
    except (pickle.UnpicklingError, OSError, MemoryError):
        raise
    except Exception as error:
        if not weights_only:
            raise
        raise pickle.UnpicklingError(f"Weights only load failed: the file is damaged: {error!r}") from error
    return pickle_module.load(f)


def _named(classes: Iterable[Any]) -> dict[tuple[str, str], Any]:
    """Classes and functions by module and name; a pair gives the name."""
    found = {}
    for item in classes:
        if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], str):
            kind, path = item
        elif hasattr(item, "__module__") and hasattr(item, "__qualname__"):
            kind, path = item, f"{item.__module__}.{item.__qualname__}"
        else:
            raise TypeError(f"a class, a function or a pair with its name is wanted, not {item!r:.60}")
        module, _, name = path.rpartition(".")
        found[module, name] = kind
    return found


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Lets files that :func:`load` reads with ``weights_only`` name these classes and functions."""
    _safe.update(_named(safe_globals))


def get_safe_globals() -> list[Any]:
    """The classes and functions that :func:`add_safe_globals` was given."""
    return list(_safe.values())


def clear_safe_globals() -> None:
    """Forgets what :func:`add_safe_globals` was given."""
    _safe.clear()


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """A context in which files may name these classes and functions too."""
    before = dict(_safe)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _safe.clear()
        _safe.update(before)
