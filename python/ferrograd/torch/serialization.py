"""``torch.serialization``: files in PyTorch's format, which both libraries read and write."""

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
from ferrograd._kit import public as _public
from ferrograd._tensor.device import TorchDevice
from ferrograd._tensor.dtypes import bits_of_bfloat16, dtype
from ferrograd._tensor.shape import TorchSize
from ferrograd.torch._base.archives import (
    DTYPE_OF_STORAGE,
    STORAGES,
    Archive,
    Kind,
    Unpickler,
    open_archive,
    reference,
    safe,
    tensor_of,
)
from ferrograd.torch.jit import MARK, module_of
from ferrograd.torch.nn.parameter import Parameter

#: The version of pickle that :func:`save` writes.
DEFAULT_PROTOCOL = 2
#: What ``map_location`` may be.
MAP_LOCATION = Any

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

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
    write(obj, f, pickle_protocol, {})


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
    pickler = _Pickler(text, protocol or 1)
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


def _loaded(archive: Archive, weights_only: bool) -> Any:
    """What an archive holds: an object, or a module that ``torch.jit.save`` wrote."""
    if "data.pkl" in archive.entries and ("constants.pkl" in archive.entries or MARK in archive.entries):
        return module_of(archive)
    if "data.pkl" in archive.entries:
        return Unpickler(io.BytesIO(archive.text("data.pkl")), archive.memory, weights_only).load()
    if any(name.startswith(("models/", "serialized_exported_program")) for name in archive.entries):
        raise pickle.UnpicklingError(
            "the file is a program of torch.export: torch.export.load(file).state_dict has its weights"
        )
    raise pickle.UnpicklingError("the file is an archive without tensors")


def _load_zip(f: IO[bytes], weights_only: bool, mapped: Any) -> Any:
    """What the first archive of a stream holds. The stream is left at its end."""
    archive, end = open_archive(f, mapped)
    found = _loaded(archive, weights_only)
    f.seek(end)
    return found


class _Inert:
    """What stands for all that a pickle makes while only its references to memory are looked for."""

    def __new__(cls, *args: Any, **kwargs: Any) -> _Inert:
        return super().__new__(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Takes what the class takes that it stands for."""

    def _nothing(self, *args: Any) -> None:
        """Does nothing."""

    __setstate__ = append = extend = add = __setitem__ = _nothing

    def __call__(self, *args: Any, **kwargs: Any) -> _Inert:
        """Another one."""
        return _Inert()


class _References(pickle.Unpickler):
    """Notes the memories that a pickle refers to. It makes no object and runs no code of the pickle's."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self.memories: dict[str, tuple[Kind, int]] = {}

    def persistent_load(self, pid: Any) -> Any:
        kind, number, count = reference(pid)
        self.memories.setdefault(number, (kind, count))
        return _Inert()

    def find_class(self, module: str, name: str) -> Any:
        return Kind(name) if module.startswith("torch") and name in DTYPE_OF_STORAGE else _Inert


def _load_legacy(f: IO[bytes], weights_only: bool) -> Any:
    """Reads what PyTorch wrote before its release 1.6: a pickle with the memory of the tensors behind it.

    The references to memory are looked for first, since tensors are made, and code may run, once.
    """
    start = f.tell()
    length = f.seek(0, io.SEEK_END)
    f.seek(start)
    for _ in range(3):
        # A number that marks such files, the release of the format, and facts about the machine.
        Unpickler(f, None, True).load()
    begin = f.tell()
    references = _References(f)
    references.load()
    memories: dict[str, Any] = {}
    for number in Unpickler(f, None, True).load():
        kind, count = references.memories[number]
        if kind.name == "UntypedStorage":
            raise pickle.UnpicklingError("tensors of a dtype newer than the file's format. In PyTorch, save it again")
        if not 0 <= count <= length:
            raise pickle.UnpicklingError(f"the file has {length} bytes, which are too few for {count} numbers")
        size = int.from_bytes(f.read(8), "little")
        if size != count:
            raise pickle.UnpicklingError(f"the file has {size} numbers where {count} are wanted")
        width = np.dtype("uint16" if kind.dtype == "bfloat16" else kind.dtype).itemsize
        memories[number] = tensor_of(f.read(size * width), kind.dtype, count)
    end = f.tell()
    f.seek(begin)
    found = Unpickler(f, lambda kind, number, count: memories[number], weights_only).load()
    f.seek(end)
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
    """Reads what :func:`save` or PyTorch wrote. Tensors of GPUs come to the CPU, sparse ones become dense.

    A file of TorchScript gives a module that has the weights and does not run. With ``mmap`` the numbers are copied
    from a map of the file, whose checksums are not looked at.

    Raises:
        ValueError: ``mmap`` of something that is no path.
        UnpicklingError: with ``weights_only``, a file that is damaged or holds anything but tensors, numbers, text and
            containers.
        MemoryError: what the file says of itself takes more memory than there is.
    """
    if map_location is not None and not callable(map_location) and not isinstance(map_location, dict):
        _core.check_device("load", map_location)
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            mapped = np.memmap(f, np.uint8, "c") if mmap and os.path.getsize(f) else None
            return _load(file, pickle_module, weights_only, mapped)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    return _load(f, pickle_module, weights_only, None)


def _load(f: Any, pickle_module: Any, weights_only: bool, mapped: Any) -> Any:
    if not getattr(f, "seekable", lambda: True)():
        f = io.BytesIO(f.read())
    start = f.tell()
    head = f.read(20)
    f.seek(start)
    if mapped is not None and not head.startswith(b"PK\x03\x04"):
        raise RuntimeError("mmap can only be used with files saved in the format of PyTorch 1.6 and newer")
    try:
        with no_grad():
            if head.startswith(b"PK\x03\x04"):
                return _load_zip(f, weights_only, mapped)
            if _LEGACY in head:
                return _load_legacy(f, weights_only)
            if weights_only or pickle_module is None:
                return Unpickler(f, None, weights_only).load()
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
    safe.update(_named(safe_globals))


def get_safe_globals() -> list[Any]:
    """The classes and functions that :func:`add_safe_globals` was given."""
    return list(safe.values())


def clear_safe_globals() -> None:
    """Forgets what :func:`add_safe_globals` was given."""
    safe.clear()


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """A context in which files may name these classes and functions too."""
    before = dict(safe)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        safe.clear()
        safe.update(before)


__dir__ = _public.names(globals())
