"""torch's functions that create tensors.

``real`` and ``imag`` are here too: tensors have attributes of these names, and no methods.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, DtypeError, ShapeError, TorchTensor, torch as ops
from ferrograd._functions import create
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.out import dtype_beside, placed
from ferrograd._kit.specialize import specialize
from ferrograd._kit.warning import warn
from ferrograd.torch._base.formats import in_format
from ferrograd.torch._base.meta import MetaTensor, is_meta, shape_of
from ferrograd.torch._base.storage import BytesOfFile
from ferrograd.torch._tensor import Tensor

__all__ = [
    "arange",
    "as_tensor",
    "asarray",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "eye",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "imag",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "range",
    "real",
    "scalar_tensor",
    "tensor",
    "tril_indices",
    "triu_indices",
    "zeros",
    "zeros_like",
]


def _shape(sizes: tuple[Any, ...], size: Any) -> Any:
    """The shape from sizes given one by one, as one sequence, or by name."""
    if size is not None:
        if sizes:
            raise TypeError("the sizes are given twice, by place and as `size`")
        return size
    return sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes


def _numbers(data: Any) -> Any:
    """Lists in which tensors of one element are numbers, as PyTorch has it, if the first element is such a tensor."""
    first = data
    # The core refuses lists that are nested deeper, or hold themselves.
    for _ in builtins.range(64):
        if type(first) not in (list, tuple) or not first:
            break
        first = first[0]
    if first is data or not isinstance(first, Tensor) or first.ndim == 0 or first.numel() != 1:
        return data
    return _without_axes(data)


def _without_axes(data: Any, depth: int = 64) -> Any:
    if isinstance(data, list | tuple) and depth:
        return [_without_axes(one, depth - 1) for one in data]
    return ops.reshape(data, []) if isinstance(data, Tensor) and data.numel() == 1 else data


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of numbers, nested lists, arrays or tensors.

    Python floats get the default float dtype. Arrays and tensors keep their dtype.

    >>> import ferrograd.torch as torch
    >>> torch.tensor([[1, 2], [3, 4]], dtype=torch.float64).requires_grad
    False
    """
    _core.check_device("tensor", device)
    return _core.make(_numbers(data), dtype, requires_grad, TORCH)


def as_tensor(data: Any, dtype: Any = None, device: object = None) -> Tensor:
    """The object as a tensor. A tensor of that dtype is returned itself.

    The tensor of a NumPy array of that dtype lies in the memory of the array, as one of ``from_numpy`` does. Anything
    else is copied, and so are arrays in whose memory no tensor can lie.

    >>> import numpy as np
    >>> import ferrograd.torch as torch
    >>> a = np.zeros(2)
    >>> x = torch.as_tensor(a)
    >>> a[0] = 1
    >>> x.tolist()
    [1.0, 0.0]
    """
    _core.check_device("as_tensor", device)
    if isinstance(data, Tensor):
        return data if dtype is None or data.dtype == dtype else ops.astype(data, dtype)
    shared = _in_memory_of(data) if isinstance(data, np.ndarray) else None
    if shared is not None and (dtype is None or shared.dtype == dtype):
        return shared
    return _core.make(_numbers(data), dtype, False, TORCH)


class _TensorOfBytes(TorchTensor):
    """A tensor of bytes of a file, which nothing else can write to: its view of another dtype is a copy."""

    def view(self: Any, *shape: Any, size: Any = None, dtype: Any = None) -> Any:  # type: ignore[override]
        plain = _core.make(self, None, False, TORCH)
        if dtype is None:
            return plain.view(*shape) if size is None else plain.view(size)
        from ferrograd.torch._functions.copies import view_copy

        return view_copy(plain, dtype)


def asarray(
    obj: Any, *, dtype: Any = None, device: object = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """The object as a tensor. A tensor keeps its graph, and without ``copy`` is returned itself if it has the dtype.

    With ``requires_grad=False`` the result has no graph.

    Raises:
        ValueError: ``copy`` is False and the object has to be copied, as lists have to be.
    """
    made: Any = tensor(obj, dtype=dtype) if copy and isinstance(obj, np.ndarray) else as_tensor(obj, dtype, device)
    if isinstance(obj, BytesOfFile) and made.dtype == "uint8":
        return made.as_subclass(_TensorOfBytes)
    shares = isinstance(obj, np.ndarray) and obj.size > 0 and made.data_ptr() == obj.ctypes.data
    if copy is False and made is not obj and not shares:
        raise ValueError(f"asarray: {type(obj).__name__} has to be copied; take copy=None")
    if copy and made is obj:
        made = ops.clone(obj)
    if requires_grad is False and made.requires_grad:
        return made.detach()
    return _core.require_grad(made, requires_grad) if requires_grad and not made.requires_grad else made


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor in the memory of a NumPy array: what is written to one is seen in the other.

    What a graph has used stays as it was. A read-only array is copied, with a warning.

    Raises:
        DtypeError: an array of a dtype that tensors do not have.
        TypeError: anything but a NumPy array.
        ValueError: an array whose elements lie at distances that are no multiples of their size, or where the processor
            reads no such element, as fields of records may.

    >>> import numpy as np
    >>> import ferrograd.torch as torch
    >>> a = np.zeros((2, 2))
    >>> x = torch.from_numpy(a)
    >>> a[0] = 1
    >>> x[:, 1] = 2
    >>> x.tolist(), a.tolist()
    ([[1.0, 2.0], [0.0, 2.0]], [[1.0, 2.0], [0.0, 2.0]])
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"from_numpy: a NumPy array is wanted, not {type(ndarray).__name__}")
    shared = _in_memory_of(ndarray)
    if shared is not None:
        return shared
    copied: Tensor = _core.make(ndarray, None, False, TORCH)
    if ndarray.size and not ndarray.flags.writeable:
        warn("from_numpy: the NumPy array is not writable, so the tensor has a copy of it; write from_numpy(a.copy())")
    elif ndarray.size and not _core.is_tracing():
        raise ValueError(
            "from_numpy: the elements of the NumPy array lie where no tensor can have its elements (a stride is no "
            "multiple of their size, or an address is none of theirs); write from_numpy(a.copy())"
        )
    return copied


def _in_memory_of(ndarray: Any) -> Any:
    """A tensor in the memory of a NumPy array, or None where none can lie there."""
    return _core.sharing(ndarray, TORCH)


def _constant(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
    _op: Any = None,
) -> Tensor:
    if is_meta(_op.__name__, device):
        return MetaTensor(_shape(sizes, size), dtype, requires_grad)
    return placed(in_format(_op(_shape(sizes, size), dtype_beside(out, dtype)), memory_format), out, requires_grad)


zeros = specialize(
    "zeros", "Zeros of a shape, in the default float dtype unless one is given.", _constant, _op=ops.zeros
)
ones = specialize("ones", "Ones of a shape, in the default float dtype unless one is given.", _constant, _op=ops.ones)
empty = specialize("empty", "A tensor of a shape with unspecified values; they are zeros.", _constant, _op=ops.zeros)


def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of unspecified values, which are zeros, with a shape and strides, counted in elements."""
    _core.check_device("empty_strided", device)
    shape, steps = (_arguments.integers(x, "empty_strided", name) for x, name in ((size, "size"), (stride, "stride")))
    if len(shape) != len(steps):
        raise ShapeError(f"empty_strided: {len(shape)} sizes and {len(steps)} strides are given")
    if min(steps, default=0) < 0:
        raise ArgumentError(f"empty_strided: strides must not be negative, got {list(steps)}")
    last = 0 if 0 in shape else 1 + sum((n - 1) * by for n, by in zip(shape, steps, strict=True))
    return placed(ops.as_strided(ops.zeros([last], dtype), shape, steps), None, requires_grad)


def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of unspecified values, which are zeros, with its axes in an order in memory, the outermost first."""
    _core.check_device("empty_permuted", device)
    shape = _arguments.integers(size, "empty_permuted", "size")
    order = _arguments.integers(physical_layout, "empty_permuted", "physical_layout")
    if sorted(order) != list(builtins.range(len(shape))):
        raise ArgumentError(f"empty_permuted: physical_layout must order the axes 0 to {len(shape) - 1}, got {order}")
    made = ops.zeros([shape[i] for i in order], dtype)
    return placed(ops.permute(made, [order.index(i) for i in builtins.range(len(order))]), None, requires_grad)


def full(
    size: Any,
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of a shape filled with one number."""
    if is_meta("full", device):
        return MetaTensor(_shape((size,), None), ops.full([], fill_value, dtype).dtype, requires_grad)
    return placed(ops.full(size, fill_value, dtype_beside(out, dtype)), out, requires_grad)


def _constant_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
    _op: Any = None,
) -> Tensor:
    if is_meta(_op.__name__, device) or (device is None and isinstance(input, MetaTensor)):
        return MetaTensor(input.shape, input.dtype if dtype is None else dtype, requires_grad)
    return placed(in_format(_op(shape_of(input), dtype), memory_format), None, requires_grad)


zeros_like = specialize(
    "zeros_like", "Zeros with the shape and dtype of ``input``.", _constant_like, _op=ops.zeros_like
)
ones_like = specialize("ones_like", "Ones with the shape and dtype of ``input``.", _constant_like, _op=ops.ones_like)
empty_like = specialize(
    "empty_like",
    "A tensor with unspecified values, which are zeros, and the shape and dtype of ``input``.",
    _constant_like,
    _op=ops.zeros_like,
)


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor filled with one number, with the shape and by default the dtype of another."""
    if is_meta("full_like", device) or (device is None and isinstance(input, MetaTensor)):
        return MetaTensor(input.shape, input.dtype if dtype is None else dtype, requires_grad)
    return placed(in_format(ops.full_like(shape_of(input), fill_value, dtype), memory_format), None, requires_grad)


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The numbers ``start``, ``start + step``, … below ``end``. With one bound they start at 0."""
    _core.check_device("arange", device)
    if not any(isinstance(x, Tensor) for x in (start, end, step)) and step:
        bounds = (0, start) if end is None else (start, end)
        if (bounds[1] - bounds[0]) * step < 0:
            raise ArgumentError("arange: upper bound and lower bound inconsistent with step sign")
        if not all(map(math.isfinite, bounds)):
            raise ArgumentError(f"arange: unsupported range: {bounds[0]} -> {bounds[1]}")
    made = ops.arange(start, end, step, dtype_beside(out, dtype))
    if made.dtype.kind in "iu" and any(isinstance(x, float) for x in (start, end, step)):
        # As many as there are floats, counted from the whole part of the start by the whole part of the step.
        made = ops.arange(0, made.numel(), 1, made.dtype) * int(step) + (0 if end is None else int(start))
    return _in_a_row(made, out, requires_grad)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included."""
    _core.check_device("linspace", device)
    return _in_a_row(_spaced("linspace", start, end, steps, dtype_beside(out, dtype)), out, requires_grad)


def _spaced(name: str, start: Any, end: Any, steps: int, dtype: Any) -> Any:
    """Evenly spaced numbers, complex ones if an end is."""
    if _is_complex(start) or _is_complex(end):
        parts = [
            ops.linspace(from_, to, steps, "float64") for from_, to in zip(_parts(start), _parts(end), strict=True)
        ]
        made = ops.complex(*parts)
        if dtype is None:
            return ops.cast(made, "complex128" if ops.get_default_dtype() == np.float64 else "complex64")
        if ops.zeros([], dtype).dtype.kind != "c":
            raise DtypeError(f"{name}: complex numbers can't be safely cast to {dtype}")
        return ops.cast(made, dtype)
    made = ops.linspace(start, end, steps, dtype)
    if made.dtype.kind in "iu":
        # Casts round towards 0, the core rounds down.
        made = ops.cast(ops.linspace(_whole(start), _whole(end), steps, "float64"), made.dtype)
    return made


def _is_complex(x: Any) -> bool:
    return isinstance(x, complex) or (isinstance(x, Tensor) and x.dtype.kind == "c")


def _parts(x: Any) -> tuple[Any, Any]:
    """The real and the imaginary part of a number."""
    return (x.real, x.imag) if _is_complex(x) else (x, 0.0)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The powers of ``base`` with ``steps`` evenly spaced exponents from ``start`` to ``end``, both included."""
    _core.check_device("logspace", device)
    made = _spaced("logspace", start, end, 1, dtype_beside(out, dtype)).dtype
    if made.kind in "iu":
        start, end = _whole(start), _whole(end)
    exponents = _spaced("logspace", start, end, steps, "complex128" if made.kind == "c" else "float64")
    powers = ops.pow(_core.make(float(base), "float64", False, TORCH), exponents)
    return _in_a_row(ops.astype(powers, made), out, requires_grad)


def _whole(end: Any) -> Any:
    """The end of a range of integers, which torch casts to an integer first."""
    return ops.trunc(end) if isinstance(end, Tensor) else math.trunc(end)


def scalar_tensor(
    s: Any,
    *,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A 0-d tensor of a number, in the default float dtype unless one is given."""
    _core.check_device("scalar_tensor", device)
    return _core.make(s, ops.get_default_dtype() if dtype is None else dtype, requires_grad, TORCH)


def _triangle(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    device: object = None,
    layout: object = None,
    pin_memory: bool = False,
    _part: Any,
) -> Tensor:
    _core.check_device(_part.__name__, device)
    return create.indices(ops, _part, row, col, offset, dtype or "int64")


tril_indices, triu_indices = create.pair(ops, _triangle)


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""
    _core.check_device("eye", device)
    return placed(ops.eye(n, m, 0, dtype_beside(out, dtype)), out, requires_grad)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A tensor of the numbers in a buffer: in its memory if it can be written to, as a ``bytearray``, else with a copy.

    >>> import ferrograd.torch as torch
    >>> torch.frombuffer(b"abc", dtype=torch.uint8).tolist()
    [97, 98, 99]
    """
    numbers = np.frombuffer(buffer, np.dtype(dtype), count, offset)
    shared: Tensor | None = _in_memory_of(numbers)
    if shared is None:
        return _core.make(numbers, dtype, requires_grad, TORCH)
    return _core.require_grad(shared) if requires_grad else shared


def range(
    start: float = 0,
    end: float | None = None,
    step: float = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from ``start`` up to and with ``end``. torch deprecates it: ``arange`` leaves the end out."""
    _core.check_device("range", device)
    if end is None:
        start, end = 0, start
    if step == 0 or not 0 <= (end - start) / step < math.inf:
        raise ArgumentError(f"range: the step {step} does not lead from {start} to {end}")
    count = int((end - start) / step) + 1
    dtype = dtype_beside(out, dtype)
    filled = ops.full([count], start, ops.get_default_dtype() if dtype is None else dtype)
    return _in_a_row(filled + ops.arange(0, count, 1, filled.dtype) * step, out, requires_grad)


def _in_a_row(made: Tensor, out: Tensor | None, requires_grad: bool) -> Tensor:
    """The numbers, or ``out`` with the numbers written to it, which keeps its shape if it has as many elements."""
    if out is not None and out.numel() == made.numel():
        made = ops.reshape(made, out.shape)
    found: Tensor = placed(made, out, requires_grad)
    return found


def real(input: Tensor) -> Tensor:
    """The real parts of complex numbers, or a real tensor itself. A write to them is one to the tensor.

    >>> import ferrograd.torch as torch
    >>> x = torch.tensor([1 + 2j])
    >>> torch.real(x)[0] = 5.0
    >>> x.tolist()
    [(5+2j)]
    """
    return _arguments.tensor(input, "real", "input").real


def imag(input: Tensor) -> Tensor:
    """The imaginary parts of complex numbers. A write to them is one to the tensor."""
    return _arguments.tensor(input, "imag", "input").imag
