"""What files of PyTorch are made of: archives, pickles whose tensors have their memory elsewhere, and that memory."""

from __future__ import annotations

import contextlib
import importlib
import io
import pickle
import zipfile
from typing import IO, Any

import numpy as np

from ferrograd import _core
from ferrograd._core import TorchTensor, torch as ops
from ferrograd._files.unknown_classes import Locked
from ferrograd._kit.dialect import TORCH
from ferrograd._tensor.device import TorchDevice
from ferrograd._tensor.dtypes import bfloat16_of_bits, dtype, dtype_of
from ferrograd._tensor.shape import TorchSize
from ferrograd.torch.nn.parameter import Parameter

#: The classes of memory that a file names, by dtype.
STORAGES = {
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
DTYPE_OF_STORAGE = {name: dtype for dtype, name in STORAGES.items()} | {"UntypedStorage": "uint8"}
#: The dtypes that a file may name.
_DTYPES = {*STORAGES, "uint16", "uint32", "uint64"}
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
safe: dict[tuple[str, str], Any] = {}


class Unpickler(pickle.Unpickler):
    """Loads a pickle whose tensors have their memory elsewhere. PyTorch's classes are those of this dialect."""

    def __init__(self, file: IO[bytes], memory: Any, weights_only: bool) -> None:
        super().__init__(file)
        self._memory, self._weights_only = memory, weights_only

    def persistent_load(self, pid: Any) -> Any:
        return self._memory(*reference(pid))

    def find_class(self, module: str, name: str) -> Any:
        # The name of the module in protocols before 3.
        module = "builtins" if module == "__builtin__" else module
        if module == "torch" or module.startswith("torch."):
            _refuse_foreign(module, name)
            found = _torch_object(module, name)
            if found is not None:
                return Locked(found) if self._weights_only and callable(found) else found
        if (module, name) in safe:
            return safe[module, name]
        if self._weights_only and (module, name) not in _ALLOWED:
            _counterpart(module, name)
            raise pickle.UnpicklingError(
                f"Weights only load failed: the file names {module}.{name}, which is no tensor, number, text or "
                "container. Load it with weights_only=False if you trust it: a pickle can run any code. A class that "
                "you know can be allowed with torch.serialization.add_safe_globals"
            )
        found = _counterpart(module, name) or super().find_class(module, name)
        return Locked(found) if self._weights_only and module.startswith("ferrograd.") else found


def reference(pid: Any) -> tuple[Kind, str, int]:
    """A reference to memory: its class, its name, and how many numbers it has."""
    if not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage" or not isinstance(pid[1], Kind):
        raise pickle.UnpicklingError("the file refers to something that is no memory of a tensor")
    return pid[1], str(pid[2]), int(pid[4])


class Kind:
    """A class of memory: the dtype of its elements. A name without a dtype means bytes."""

    def __init__(self, name: str) -> None:
        self.name, self.dtype = name, DTYPE_OF_STORAGE[name]


def _counterpart(module: str, name: str) -> Any:
    """The class or function of this dialect for one of PyTorch; None for one of another library.

    Raises:
        UnpicklingError: the dialect has none.
    """
    if module != "torch" and not module.startswith("torch."):
        return None
    if module.startswith("torch._C."):
        parent, names = "torch._C", f"{module.removeprefix('torch._C.')}.{name}".split(".")
    else:
        parent, names = module, name.split(".")
    while parent == module or parent == "torch._C" or parent.startswith("torch.nn"):
        with contextlib.suppress(ImportError, AttributeError):
            found = importlib.import_module(f"ferrograd.{parent}")
            for part in names:
                found = getattr(found, part)
            return found
        # Some layers lie in other files than PyTorch's; torch.nn has them all.
        parent = parent.rpartition(".")[0]
    raise pickle.UnpicklingError(
        f"the file names {module}.{name}, which is not here. In PyTorch, save what consists of tensors, such as the "
        "state_dict() of a module"
    )


#: Tensors of PyTorch's that have no counterpart here, by the function that makes them.
_FOREIGN = {
    "_rebuild_qtensor": "a quantised tensor: in PyTorch, save its dequantize()",
    "_rebuild_nested_tensor": "a nested tensor: in PyTorch, save its to_padded_tensor(0.0)",
    "_rebuild_njt": "a nested tensor: in PyTorch, save its to_padded_tensor(0.0)",
    "_rebuild_meta_tensor_no_storage": (
        "a tensor of the device 'meta', which has a shape but no numbers: in PyTorch, load the numbers into its module "
        "with load_state_dict(state, assign=True), or make some with to_empty(device='cpu'), and save it then"
    ),
    "_rebuild_wrapper_subclass": (
        "a tensor of a subclass that wraps others: in PyTorch, save the plain tensors that it wraps"
    ),
}
#: What PyTorch can make of a tensor whose dtype does not exist here, by how the name of the dtype begins.
_FOREIGN_DTYPES: dict[tuple[str, ...], str] = {
    ("float8",): "to(torch.float32)",
    ("complex32",): "to(torch.complex64)",
    ("qint", "quint"): "dequantize()",
    ("bits", "float4"): "view(torch.uint8)",
    tuple(f"{kind}{width}" for kind in ("int", "uint") for width in range(1, 8)): "view(torch.uint8)",
}


def _refuse_foreign(module: str, name: str) -> None:
    """Raises for a kind of tensor that only PyTorch has, and says what it is and what to do."""
    what = _FOREIGN.get(name)
    if module == "torch" and name not in _DTYPES:
        for beginnings, way in _FOREIGN_DTYPES.items():
            if name.startswith(beginnings):
                what = f"the dtype torch.{name}, which is not here: in PyTorch, save {way} of the tensors that have it"
    if module.startswith(("torch.ao.", "torch.quantization.", "torch.nn.quantized.")):
        what = "a quantised module: in PyTorch, save the state_dict() of the module before it was quantised"
    if what is not None:
        raise pickle.UnpicklingError(f"the file holds {what}")


def _torch_object(module: str, name: str) -> Any:
    """What stands for a class or function of PyTorch's that files of tensors name; None for any other."""
    if name in DTYPE_OF_STORAGE:
        return Kind(name)
    if module == "torch" and name in _DTYPES:
        return dtype_of(name, TORCH)
    return _OBJECTS.get((module, name))


def _rebuild_tensor(memory: Any, offset: int, size: Any, stride: Any, *rest: Any) -> Any:
    """A tensor whose elements are these places of a vector."""
    tracked = bool(rest[0]) if rest else False
    facts = list(rest[2:])
    if facts and isinstance(facts[0], dtype):
        # UntypedStorage is plain bytes.
        memory = _core.make(memory.numpy().view(np.dtype(facts.pop(0))), None, False, TORCH)
    found = ops.as_strided(memory, list(size), list(stride), int(offset))
    for name, apply in (("conj", ops.conj), ("neg", ops.negative)):
        # PyTorch saves the memory of a view, and beside it what the view makes of the elements.
        if facts and isinstance(facts[0], dict) and facts[0].get(name):
            found = ops.clone(apply(found))
    found = found.detach()
    return found.requires_grad_() if tracked else found


def _rebuild_sparse(layout: str, data: tuple[Any, ...]) -> Any:
    """The dense tensor of a sparse one."""
    if layout == "torch.sparse_coo":
        indices, values, size = data[:3]
        made = ops.zeros([*size], dtype=values.dtype)
        return made.index_put(tuple(indices), values, accumulate=True)
    if layout not in ("torch.sparse_csr", "torch.sparse_csc"):
        raise pickle.UnpicklingError(f"the file holds a tensor of layout {layout}: in PyTorch, save its to_dense()")
    starts, others, values, size = data[:4]
    if starts.ndim != 1 or values.ndim != 1:
        raise pickle.UnpicklingError(f"the file holds a batch of layout {layout}: in PyTorch, save its to_dense()")
    runs = ops.repeat_interleave(ops.arange(starts.shape[0] - 1), starts[1:] - starts[:-1], 0)
    places = (runs, others) if layout == "torch.sparse_csr" else (others, runs)
    return ops.zeros([*size], dtype=values.dtype).index_put(places, values, accumulate=True)


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
    ("torch._utils", "_rebuild_sparse_tensor"): _rebuild_sparse,
    ("torch.serialization", "_get_layout"): str,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _rebuild_parameter,
    ("torch._tensor", "_rebuild_from_type_v2"): _rebuild_with_attributes,
    ("torch", "Tensor"): TorchTensor,
    ("torch", "Size"): _rebuild_size,
    ("torch", "device"): TorchDevice,
    ("torch.nn.parameter", "Parameter"): Parameter,
}


def tensor_of(data: Any, dtype: str, count: int) -> Any:
    """The vector of ``count`` numbers that the bytes hold; raises if they hold another count."""
    kind = np.dtype("uint16" if dtype == "bfloat16" else dtype)
    if count < 0 or len(data) != count * kind.itemsize:
        raise pickle.UnpicklingError(f"the file has {len(data)} bytes for {count} numbers of {dtype}")
    if dtype == "bfloat16":
        return _core.make(bfloat16_of_bits(np.frombuffer(data, "<u2")), dtype, False, TORCH)
    return _core.make(np.frombuffer(data, kind.newbyteorder("<")).astype(kind, copy=False), None, False, TORCH)


class _Part(io.RawIOBase):
    """The bytes of a stream from ``start`` to ``end``, as a stream."""

    def __init__(self, f: IO[bytes], start: int, end: int) -> None:
        self._file, self._start, self._length, self._at = f, start, end - start, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(offset + (0, self._at, self._length)[whence], 0)
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        left = max(self._length - self._at, 0)
        self._file.seek(self._start + self._at)
        data = self._file.read(left if size is None or size < 0 else min(size, left))
        self._at += len(data)
        return data


def _end_of_archive(f: IO[bytes], start: int) -> int:
    """Where the archive ends that begins at ``start``. Others may follow."""
    end = _end_by_records(f, start)
    if end is None:
        # PyTorch leaves the sizes out. The last archive says where it begins, and so where the one before it ends.
        end, first = f.seek(0, io.SEEK_END), 1
        while first > 0:
            with zipfile.ZipFile(_Part(f, start, end)) as last:
                first = min((info.header_offset for info in last.infolist()), default=0)
            end = start + first if first > 0 else end
    return end


def _end_by_records(f: IO[bytes], start: int) -> int | None:
    """Where the archive ends that begins at ``start``, by the sizes of its entries; None if one does not say its."""

    def number(data: bytes, at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], "little")

    length = f.seek(0, io.SEEK_END)
    at = start
    while at < length:
        f.seek(at)
        head = f.read(46)
        mark = head[:4]
        if mark == b"PK\x03\x04":
            f.seek(at + 30 + number(head, 26, 2))
            extra, size = f.read(number(head, 28, 2)), number(head, 18, 4)
            if size == 0xFFFFFFFF and extra[:2] == b"\x01\x00":
                # The sizes as numbers of 64 bits: as it is, and in the archive.
                size = number(extra, 12, 8)
            if number(head, 6, 2) & 8:
                return None
            at += 30 + number(head, 26, 2) + len(extra) + size
        elif mark == b"PK\x01\x02":
            at += 46 + number(head, 28, 2) + number(head, 30, 2) + number(head, 32, 2)
        elif mark == b"PK\x06\x06":
            at += 12 + number(head, 4, 8)
        elif mark == b"PK\x06\x07":
            at += 20
        elif mark == b"PK\x05\x06":
            return at + 22 + number(head, 20, 2)
        else:
            return None
    return None


#: The largest text of an archive that is read: the programs in it.
_LONGEST = 1 << 26


class Archive:
    """An archive of PyTorch's: pickles, programs, and the numbers of tensors, each an entry.

    With ``mapped``, the bytes of the file, numbers are taken from there as they are asked for.
    """

    def __init__(self, f: Any, mapped: Any = None) -> None:
        self._zip, self._mapped = zipfile.ZipFile(f), mapped
        # The first folder, which older programs do not have, is the name of the file.
        names = {info: info.filename.partition("/")[2] or info.filename for info in self._zip.infolist()}
        self.entries = {name: info for info, name in names.items()}
        if "byteorder" in self.entries and self.text("byteorder") != b"little":
            raise pickle.UnpicklingError("the file was written on a machine with another order of bytes")
        self._known: dict[tuple[str, str], Any] = {}

    def text(self, name: str) -> bytes:
        """The bytes of an entry, such as a program, which may be compressed."""
        if self._entry(name).file_size > _LONGEST and self._entry(name).compress_type != zipfile.ZIP_STORED:
            raise pickle.UnpicklingError(f"the entry {name} is too long")
        return self._zip.read(self._entry(name))

    def data(self, name: str) -> Any:
        """The numbers of an entry, as bytes."""
        entry = self._entry(name)
        if entry.compress_type != zipfile.ZIP_STORED:
            raise pickle.UnpicklingError(f"the numbers {name} are compressed, which those of PyTorch are not")
        if self._mapped is None:
            return self._zip.read(entry)
        at = entry.header_offset
        lengths = self._mapped[at + 26 : at + 30].tobytes()
        start = at + 30 + int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
        return self._mapped[start : start + entry.file_size]

    def _entry(self, name: str) -> zipfile.ZipInfo:
        if name not in self.entries:
            raise pickle.UnpicklingError(f"the file has no entry {name}")
        return self.entries[name]

    def memory(self, kind: Kind, number: str, count: int) -> Any:
        """The memory of tensors, as a vector."""
        if (number, kind.dtype) not in self._known:
            self._known[number, kind.dtype] = tensor_of(self.data(f"data/{number}"), kind.dtype, count)
        return self._known[number, kind.dtype]


def open_archive(f: Any, mapped: Any = None) -> tuple[Archive, int]:
    """The first archive of a stream, and where it ends."""
    start = f.tell()
    head = f.read(30)
    name = f.read(int.from_bytes(head[26:28], "little"))
    if start and not name.endswith(b"data.pkl"):
        # The stream is not where an archive begins.
        return Archive(f, mapped), f.tell()
    end = _end_of_archive(f, start)
    return Archive(_Part(f, start, end), mapped), end
