"""Checkpoints that several processes write together, and any number of processes read.

A checkpoint is a folder: one file of numbers for each process, and ``index.json``, which says what is in them. The
index gets its name last, when all else is on the disk, and holds checksums. So a folder has the whole old checkpoint or
the whole new one, whenever its writing is interrupted.
"""

from __future__ import annotations

import json
import os
import secrets
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, FerrogradError, Tensor
from ferrograd._kit.dialect import NATIVE
from ferrograd.distributed._communicator import Communicator, world
from ferrograd.distributed._operations import array_of

_INDEX = "index.json"
_VERSION = 1


def save(path: str | os.PathLike[str], tree: Any, communicator: Communicator | None = None) -> None:
    """Writes a checkpoint: dicts, lists and tuples of tensors, numbers, strings and None, the same on all processes.

    Each process writes its share of the tensors. A checkpoint of the same path is replaced as a whole, when the new one
    is on the disk.

    Raises:
        ArgumentError: a value is of another type, or the processes have other structures, on all processes.
        FerrogradError: a process cannot write its file, on all processes.

    >>> import tempfile, os
    >>> from ferrograd import distributed
    >>> path = os.path.join(tempfile.mkdtemp(), "step-1")
    >>> distributed.save(path, {"w": fg.tensor([1.0, 2.0]), "step": 1})
    >>> distributed.load(path)
    {'w': Tensor([1., 2.], dtype=float32), 'step': 1}
    """
    comm = world() if communicator is None else communicator
    tensors: list[Tensor] = []
    structure = _encoded(tree, tensors)
    kinds = [[x.dtype.name, list(x.shape)] for x in tensors]
    summary = zlib.crc32(json.dumps([structure, kinds]).encode())
    summaries = comm.allgather_object(summary)
    different = [rank for rank, other in enumerate(summaries) if other != summaries[0]]
    if different:
        raise ArgumentError(f"save: ranks 0 and {different[0]} have other structures, numbers or shapes")
    folder, token = Path(path), comm.broadcast_object(secrets.token_hex(4))
    sizes = [array_of(x).nbytes for x in tensors]
    name = f"{token}-{comm.rank}.bin"
    mine = [i for i, owner in enumerate(_dealt(sizes, comm.size)) if owner == comm.rank]
    entries = _tried(comm, lambda: _write_numbers(folder / name, [(i, tensors[i]) for i in mine]))
    rows = {i: [*row, f"{token}-{rank}.bin"] for rank, part in enumerate(entries) for i, row in part.items()}
    table = [[*kinds[i], *rows[i]] for i in range(len(tensors))]
    _tried(comm, lambda: _write_index(folder, structure, table) if comm.rank == 0 else None)


def load(path: str | os.PathLike[str], communicator: Communicator | None = None, *, dialect: int = NATIVE) -> Any:
    """Reads a checkpoint that :func:`save` wrote in any number of processes. Each process reads all of it.

    Raises:
        FileNotFoundError: there is none.
        FerrogradError: it is damaged.

    >>> import tempfile, os
    >>> from ferrograd import distributed
    >>> path = os.path.join(tempfile.mkdtemp(), "step-1")
    >>> distributed.save(path, [fg.tensor(3.0), (None, "a")])
    >>> distributed.load(path)
    [Tensor(3., dtype=float32), (None, 'a')]
    """
    folder = Path(path)
    # All processes read what was written before any of them came here.
    if communicator is not None:
        communicator.barrier()
    structure, table = _read_index(folder)
    try:
        return _decoded(structure, [_read_numbers(folder, row, dialect) for row in table])
    except (FerrogradError, FileNotFoundError, MemoryError):
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, OSError) as error:
        raise _damaged(folder / _INDEX, "it describes no tensors") from error


def _tried(comm: Communicator, work: Callable[[], Any]) -> list[Any]:
    """What ``work`` returns on all processes; raises on all where it fails on one."""
    found, failed = None, None
    try:
        found = work()
    except OSError as error:
        failed = str(error)
    results = comm.allgather_object((found, failed))
    for rank, (_, text) in enumerate(results):
        if text is not None:
            raise FerrogradError(f"save: rank {rank}: {text}")
    return [value for value, _ in results]


def _dealt(sizes: list[int], n: int) -> list[int]:
    """A process for each tensor: the largest first, to the process that has the least."""
    owners, load = [0] * len(sizes), [0] * n
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        owners[i] = min(range(n), key=load.__getitem__)
        load[owners[i]] += sizes[i]
    return owners


def _encoded(tree: Any, tensors: list[Tensor]) -> Any:
    """A structure as JSON, in which a tensor is its number."""
    if isinstance(tree, Tensor):
        tensors.append(tree)
        return {"tensor": len(tensors) - 1}
    if isinstance(tree, dict):
        pairs = []
        for key, value in tree.items():
            if type(key) not in (str, int):
                raise ArgumentError(f"save: keys are strings and ints, not {type(key).__name__}")
            pairs.append([key, _encoded(value, tensors)])
        return {"dict": pairs}
    if isinstance(tree, (list, tuple)):
        return {"tuple" if isinstance(tree, tuple) else "list": [_encoded(part, tensors) for part in tree]}
    if tree is None or type(tree) in (bool, int, float, str):
        return tree
    raise ArgumentError(
        f"save: a checkpoint has tensors, numbers, strings, None, lists, tuples and dicts, not {type(tree).__name__}"
    )


def _decoded(structure: Any, tensors: list[Tensor]) -> Any:
    if not isinstance(structure, dict):
        return structure
    ((kind, value),) = structure.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "dict":
        return {key: _decoded(part, tensors) for key, part in value}
    parts = [_decoded(part, tensors) for part in value]
    return tuple(parts) if kind == "tuple" else parts


def _on_disk(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def _write_numbers(path: Path, tensors: list[tuple[int, Tensor]]) -> dict[int, list[int]]:
    """Writes tensors one after the other; the offset, the size in bytes and the checksum of each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    found, at = {}, 0
    with open(path, "wb") as file:
        for i, x in tensors:
            values = array_of(x).reshape(-1).view(np.uint8).data
            found[i] = [at, values.nbytes, zlib.crc32(values)]
            file.write(values)
            at += values.nbytes
        _on_disk(file)
    return found


def _write_index(folder: Path, structure: Any, table: list[Any]) -> None:
    """Writes the index under another name, renames it, and removes files that belong to no checkpoint any more."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"version": _VERSION, "structure": structure, "tensors": table})
    temporary = folder / f"{_INDEX}.{secrets.token_hex(4)}"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(f"{zlib.crc32(text.encode()):08x}\n{text}")
        _on_disk(file)
    os.replace(temporary, folder / _INDEX)
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    used = {row[-1] for row in table}
    for old in folder.iterdir():
        if old.name not in used and (old.suffix == ".bin" or old.name.startswith(f"{_INDEX}.")):
            old.unlink()


def _damaged(path: Path, why: str) -> FerrogradError:
    return FerrogradError(f"load: {path} is damaged: {why}")


def _read_index(folder: Path) -> tuple[Any, list[Any]]:
    path = folder / _INDEX
    checksum, _, text = path.read_text(encoding="utf-8", errors="replace").partition("\n")
    if checksum != f"{zlib.crc32(text.encode()):08x}":
        raise _damaged(path, "its checksum is another one")
    try:
        found = json.loads(text)
        version, structure, tensors = found["version"], found["structure"], found["tensors"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _damaged(path, "it is no index") from error
    if version != _VERSION:
        raise FerrogradError(f"load: {path} has version {version!r:.40}; this is version {_VERSION}")
    return structure, tensors


def _read_numbers(folder: Path, row: list[Any], dialect: int) -> Tensor:
    dtype, shape, at, size, checksum, name = row
    path = folder / Path(name).name
    try:
        with open(path, "rb") as file:
            if not 0 <= at <= at + size <= file.seek(0, os.SEEK_END):
                raise _damaged(path, "it is too short")
            file.seek(at)
            values = file.read(size)
    except FileNotFoundError as error:
        raise _damaged(path, "it is missing") from error
    if len(values) != size or zlib.crc32(values) != checksum:
        raise _damaged(path, "a checksum is another one")
    stored = np.dtype("float32" if dtype in ("bfloat16", "float16") else dtype)
    return _core.make(np.frombuffer(values, stored).reshape(shape), dtype, False, dialect)


__all__ = ["load", "save"]
