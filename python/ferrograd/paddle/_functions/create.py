"""Paddle's functions that create tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import is_grad_enabled, set_grad_enabled
from ferrograd._core import ArgumentError, PaddleTensor, paddle as ops
from ferrograd._functions import create
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.adapters import accept_synonyms
from ferrograd._kit.dialect import PADDLE
from ferrograd._kit.out import placed
from ferrograd._kit.specialize import specialize
from ferrograd.paddle._base.dtypes import complex64, complex128, int64
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "arange",
    "as_tensor",
    "asarray",
    "assign",
    "empty",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "normal",
    "ones",
    "ones_like",
    "randint",
    "randint_like",
    "range",
    "set_default_dtype",
    "to_dlpack",
    "to_tensor",
    "tril_indices",
    "triu_indices",
    "uniform",
    "zeros",
    "zeros_like",
]


def to_tensor(data: Any, dtype: Any = None, place: object = None, stop_gradient: bool = True) -> Tensor:
    """A tensor with a copy of numbers, nested lists, arrays or tensors.

    Floats get the default float dtype, also arrays of them in a list, whose int32 becomes int64. An array or a tensor
    keeps its dtype, and so do tensors in a list.

    >>> import ferrograd.paddle as paddle
    >>> paddle.to_tensor([[1, 2], [3, 4]], dtype="float32").stop_gradient
    True
    """
    _core.check_device("to_tensor", place)
    made = _core.make(data, dtype, not stop_gradient, PADDLE)
    # Python's own numbers have these dtypes already, which takes no further look at the list.
    if dtype is None and isinstance(data, (list, tuple)):
        found = made.dtype
        if found is not int64 and found is not ops.get_default_dtype():
            wanted = _of_numbers(found)
            if found is not wanted and not isinstance(_first_leaf(data), Tensor):
                return _core.make(data, wanted, not stop_gradient, PADDLE)
    return made


def _of_numbers(dtype: Any) -> Any:
    """The dtype that numbers of a dtype get in a list."""
    default = ops.get_default_dtype()
    if dtype.kind == "c":
        return complex128 if default == "float64" else complex64
    return default if dtype.kind == "f" else int64 if dtype == "int32" else dtype


def _first_leaf(data: Any) -> Any:
    """The first item of nested lists that is no list."""
    while isinstance(data, list | tuple) and data:
        data = data[0]
    return data


def as_tensor(
    data: Any, dtype: Any = None, device: object = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A tensor with a copy of numbers, nested lists, arrays or tensors: see :func:`to_tensor`."""
    return to_tensor(data, dtype, device, not requires_grad)


def asarray(
    obj: Any, *, dtype: Any = None, device: object = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """A tensor with a copy of numbers, nested lists, arrays or tensors: see :func:`to_tensor`."""
    return to_tensor(obj, dtype, device, not requires_grad)


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor with a copy of a NumPy array."""
    if not isinstance(ndarray, np.ndarray):
        raise ArgumentError(f"from_numpy: a NumPy array is wanted, not {type(ndarray).__name__}")
    return to_tensor(ndarray)


def from_dlpack(dlpack: Any, *, device: object = None, copy: bool | None = None) -> Tensor:
    """A tensor with a copy of the elements of another library's array, or of a capsule."""
    _core.check_device("from_dlpack", device)
    return _core.from_dlpack(dlpack, copy=copy, dialect=PADDLE)


@accept_synonyms  # Here already, because paddle.utils.dlpack has the same function.
def to_dlpack(x: Tensor) -> Any:
    """A DLPack capsule of a tensor."""
    return _arguments.tensor(x, "to_dlpack", "x").__dlpack__()


def _of_dtype(*args: Any, _dtype: str = "") -> Tensor:
    if not args:
        return ops.zeros([0], _dtype)
    if all(isinstance(n, int) for n in args):
        return ops.zeros(list(args), _dtype)
    (data,) = args
    return to_tensor(data, _dtype)


def _class(name: str, dtype: str) -> Any:
    doc = f"A tensor of {dtype} with these numbers, or of zeros with these sizes."
    return specialize(name, doc, _of_dtype, _dtype=dtype)


BFloat16Tensor = _class("BFloat16Tensor", "bfloat16")
BoolTensor = _class("BoolTensor", "bool")
ByteTensor = _class("ByteTensor", "uint8")
CharTensor = _class("CharTensor", "int8")
DoubleTensor = _class("DoubleTensor", "float64")
FloatTensor = _class("FloatTensor", "float32")
HalfTensor = _class("HalfTensor", "float16")
IntTensor = _class("IntTensor", "int32")
LongTensor = _class("LongTensor", "int64")
ShortTensor = _class("ShortTensor", "int16")


def _made(
    cls: Any,
    *args: Any,
    data: Any = None,
    place: object = None,
    device: object = None,
    name: str | None = None,
    persistable: bool = False,
    zero_copy: bool = False,
    stop_gradient: bool = True,
    value: Any = None,
) -> Tensor:
    """The tensor that calling the class makes: zeros from sizes, the default float dtype from numbers, an array's own
    dtype from an array, the same memory from a tensor, and an empty vector without arguments.
    """
    if cls is not PaddleTensor:
        raise TypeError(f"{cls.__name__}: subclasses of paddle.Tensor are made by paddle itself; use a paddle.nn.Layer")
    sizes = [n for n in args if isinstance(n, int | np.integer) and not isinstance(n, bool)]
    if args and len(sizes) == len(args):
        made = ops.zeros(sizes)
    else:
        given = args[0] if args else data if data is not None else value
        _core.check_device("Tensor", place or device or (args[1] if len(args) > 1 else None))
        if isinstance(given, Tensor):
            made = given.detach()
        elif given is None or isinstance(given, list | tuple):
            made = to_tensor(given or [], ops.get_default_dtype())
        elif isinstance(given, np.ndarray):
            made = to_tensor(given)
        else:
            raise ArgumentError(f"Tensor: sizes, a list, an array or a tensor are wanted, not {type(given).__name__}")
    if not stop_gradient:
        made.stop_gradient = False
    if name is not None:
        made.name = name
    if persistable:
        made.persistable = True
    return made


setattr(PaddleTensor, "__new__", staticmethod(_made))  # noqa: B010


def _constant(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    _op: Any = None,
) -> Tensor:
    _core.check_device(_op.__name__, device)
    return placed(_op(shape, dtype), out, requires_grad)


zeros = specialize(
    "zeros", "Zeros of a shape, in the default float dtype unless one is given.", _constant, _op=ops.zeros
)
ones = specialize("ones", "Ones of a shape, in the default float dtype unless one is given.", _constant, _op=ops.ones)
empty = specialize("empty", "A tensor of a shape with unspecified values; they are zeros.", _constant, _op=ops.zeros)


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of a shape filled with one number.

    The dtype is by default the default float, bool for a bool, and complex128 for a complex number.
    """
    _core.check_device("full", device)
    if dtype is None and isinstance(fill_value, complex):
        dtype = "complex128"
    elif dtype is None and not isinstance(fill_value, bool):
        fill_value = fill_value if isinstance(fill_value, Tensor) else float(fill_value)
        dtype = ops.get_default_dtype()
    return placed(ops.full(shape, fill_value, dtype), out, requires_grad)


def _constant_like(
    x: Tensor,
    dtype: Any = None,
    name: str | None = None,
    *,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    _op: Any = None,
) -> Tensor:
    _core.check_device(_op.__name__, device)
    return placed(_op(x, dtype), None, requires_grad)


zeros_like = specialize("zeros_like", "Zeros with the shape and dtype of ``x``.", _constant_like, _op=ops.zeros_like)
ones_like = specialize("ones_like", "Ones with the shape and dtype of ``x``.", _constant_like, _op=ops.ones_like)


def full_like(
    x: Tensor,
    fill_value: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor filled with one number, with the shape and by default the dtype of another."""
    _core.check_device("full_like", device)
    return placed(ops.full_like(x, fill_value, dtype), None, requires_grad)


def arange(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The numbers ``start``, ``start + step``, … below ``end``. With one bound they start at 0.

    Each bound and ``step`` may be a tensor of one element.
    """
    _core.check_device("arange", device)
    start, end, step = (v.item() if isinstance(v, Tensor) else v for v in (start, end, step))
    return placed(ops.arange(start, end, step, dtype), out, requires_grad)


def range(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """The numbers ``start``, ``start + step``, … up to ``end``, which is included. :func:`arange` leaves it out."""
    start, end, step = (v.item() if isinstance(v, Tensor) else v for v in (start, end, step))
    _core.check_device("range", device)
    start, end = (0, start) if end is None else (start, end)
    if step == 0 or not 0 <= (end - start) / step < math.inf:
        raise ArgumentError(f"range: no steps of {step} lead from {start} to {end}")
    steps = ops.arange(0, int((end - start) / step) + 1, 1, "float64")
    found = ops.cast(steps * step + start, ops.get_default_dtype() if dtype is None else dtype)
    return placed(found, out, requires_grad)


def _triangle(row: int, col: int | None = None, offset: int = 0, dtype: Any = "int64", *, _part: Any) -> Tensor:
    return create.indices(ops, _part, row, row if col is None else col, offset, dtype)


tril_indices, triu_indices = create.pair(ops, _triangle)


def linspace(
    start: Any,
    stop: Any,
    num: int,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, both included."""
    _core.check_device("linspace", device)
    return placed(ops.linspace(start, stop, num, dtype), out, requires_grad)


def logspace(start: Any, stop: Any, num: int, base: Any = 10.0, dtype: Any = None, name: str | None = None) -> Tensor:
    """``base ** x`` for ``num`` evenly spaced numbers ``x`` from ``start`` to ``stop``."""
    base = base if isinstance(base, Tensor) else ops.full([], base, "float64")
    like = ops.zeros([], ops.get_default_dtype() if dtype is None else dtype)
    if like.dtype.kind in "iu":
        # The ends of a range of integers are integers.
        start, stop = (ops.trunc(v) if isinstance(v, Tensor) else math.trunc(v) for v in (start, stop))
    return ops.cast(ops.pow(ops.cast(base, "float64"), ops.linspace(start, stop, num, "float64")), like.dtype)


def eye(
    num_rows: int,
    num_columns: int | None = None,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""
    _core.check_device("eye", device)
    return placed(ops.eye(num_rows, num_columns, 0, dtype), out, requires_grad)


def assign(x: Any, output: Tensor | None = None) -> Tensor:
    """A copy through which gradients flow. A number gives a vector. Numbers and lists get the dtype that NumPy gives
    them: float64, int64 or complex128. If ``output`` is given, it gets the values and shape.

    A leaf that gets the values of a constant stays a leaf.
    """
    source = x if isinstance(x, Tensor) else to_tensor(_as_numpy_has_it(x))
    if output is None:
        return ops.clone(source)
    _arguments.tensor(output, "assign", "output")
    reshapes = source.shape != output.shape
    with set_grad_enabled(is_grad_enabled() and not (output.is_leaf and source.stop_gradient)):
        _core.overwrite(output, "assign", reshapes, lambda _: ops.clone(source), (), {})
    return output


def _as_numpy_has_it(x: Any) -> Any:
    """Numbers and lists of numbers as an array with at least one axis; other things as they are."""
    is_number = isinstance(_first_leaf(x), int | float | complex | np.generic | np.ndarray)
    return np.atleast_1d(x) if is_number and not isinstance(x, np.ndarray) else x


def randint(low: int = 0, high: Any = None, shape: Any = (1,), dtype: Any = None, name: str | None = None) -> Tensor:
    """Random integers in [``low``, ``high``). With one bound they start at 0."""
    return ops.randint(low, high, shape, dtype)


def randint_like(x: Tensor, low: int = 0, high: Any = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """Random integers in [``low``, ``high``) with the shape of a tensor. With one bound they start at 0."""
    x = _arguments.tensor(x, "randint_like", "x")
    first, end = (0, low) if high is None else (low, high)
    return ops.cast(ops.randint(first, end, list(x.shape)), x.dtype if dtype is None else dtype)


def normal(mean: Any = 0.0, std: Any = 1.0, shape: Any = None, name: str | None = None) -> Tensor:
    """Random numbers of the normal distribution. If ``mean`` or ``std`` is a tensor, the shape is theirs.

    A complex ``mean`` gives complex numbers, whose real and imaginary parts have the variance ``std ** 2 / 2``.
    """
    if isinstance(mean, complex) or (isinstance(mean, Tensor) and mean.dtype.kind == "c"):
        if isinstance(mean, Tensor) or isinstance(std, Tensor):
            shape = (mean if isinstance(mean, Tensor) else std).shape
        dtype = "complex64" if isinstance(mean, complex) else mean.dtype
        return ops.randn([1] if shape is None else list(shape), dtype) * std + mean
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        return ops.normal(mean, std)
    return ops.normal(mean, std, [1] if shape is None else shape)


def uniform(
    shape: Any, dtype: Any = None, min: float = 0.0, max: float = 1.0, seed: int = 0, name: str | None = None
) -> Tensor:
    """Random numbers of the uniform distribution on [``min``, ``max``). A ``seed`` other than 0 seeds the generator."""
    if seed:
        ops.seed(seed)
    return ops.uniform(min, max, shape, dtype)


def set_default_dtype(d: Any) -> None:
    """Sets the dtype of new tensors of Python floats."""
    ops.set_default_dtype(d)
