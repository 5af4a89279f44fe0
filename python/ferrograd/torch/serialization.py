"""``torch.serialization``: files in PyTorch's format, which both libraries read and write."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._kit import public as _public
from ferrograd.torch._base.archives import (
    DTYPE_OF_STORAGE,
    Archive,
    Kind,
    Unpickler,
    open_archive,
    reference,
    safe,
    tensor_of,
)
from ferrograd.torch._base.written import write
from ferrograd.torch.jit import MARK, module_of

#: The version of pickle that :func:`save` writes.
DEFAULT_PROTOCOL = 2
#: What ``map_location`` may be.
MAP_LOCATION = Any

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

#: How files begin that PyTorch wrote before its release 1.6.
_LEGACY = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."


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
