"""Functions of NumPy that are written here: those that make arrays, and those with other arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._core import Tensor, native as ops
from ferrograd._numpy.functions import SPECIAL
from ferrograd.autograd._values import constant, holds_tensor, plain
from ferrograd.autograd.numpy._wrapped import KNOWN, has_tensor, listed

__all__ = [
    "array",
    "array_from_args",
    "array_split",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asfarray",
    "c_",
    "concatenate_args",
    "cross",
    "dot",
    "dsplit",
    "full",
    "hsplit",
    "int8",
    "int16",
    "int32",
    "int64",
    "integer",
    "make_diagonal",
    "max",
    "metadata",
    "min",
    "r_",
    "real_if_close",
    "rollaxis",
    "select",
    "split",
    "vsplit",
    "where",
]


def array(A: Any, dtype: Any = None, *, copy: Any = True, ndmin: int = 0, **options: Any) -> Any:
    """``numpy.array``, which also takes tensors and nested lists with tensors.

    >>> import ferrograd.autograd.numpy as np
    >>> from ferrograd.autograd import jacobian
    >>> jacobian(lambda x: np.array([x, x**2]))(3.0).tolist()
    [1.0, 6.0]
    """
    if not holds_tensor(A):
        return np.array(A, dtype, copy=copy, ndmin=ndmin, **options)
    made = constant(A)
    made = made if dtype is None else made.astype(np.dtype(dtype))
    return made.reshape((*[1] * (ndmin - made.ndim), *made.shape)) if made.ndim < ndmin else made


def asarray(a: Any, dtype: Any = None, **options: Any) -> Any:
    """``numpy.asarray``, which also takes tensors and nested lists with tensors."""
    return array(a, dtype) if holds_tensor(a) else np.asarray(a, dtype, **options)


asanyarray = ascontiguousarray = asfarray = asarray


def array_from_args(array_args: Any, array_kwargs: Any, *args: Any) -> Any:
    """The array of the arguments."""
    return array(list(args), *array_args, **array_kwargs)


def concatenate_args(axis: int, *args: Any) -> Any:
    """The arguments joined along an axis."""
    return np.concatenate(args, axis)


def full(shape: Any, fill_value: Any, dtype: Any = None, **options: Any) -> Any:
    """``numpy.full``, whose value may be differentiated."""
    shape = plain(shape)
    if not holds_tensor(fill_value):
        return np.full(shape, fill_value, dtype, **options)
    return ops.broadcast_to(array(fill_value, dtype), (shape,) if np.ndim(shape) == 0 else tuple(shape))


class _Joined:
    """``numpy.r_`` or ``numpy.c_``, which also join tensors: by a pattern of places into all their elements."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def __getitem__(self, items: Any) -> Any:
        parts = items if isinstance(items, tuple) else (items,)
        if not has_tensor(parts):
            return self.raw[items]
        flat: list[Any] = []
        places: list[Any] = []
        count = 0
        for part in map(self._part, parts):
            if isinstance(part, (str, slice)):
                places.append(part)
                continue
            x = constant(part)
            places.append(np.arange(count, count + x.numel()).reshape(tuple(x.shape)))
            flat.append(ops.ravel(x))
            count += x.numel()
        return ops.take(ops.concat(flat), constant(self.raw[tuple(places)]))

    def _part(self, part: Any) -> Any:
        return self.raw[part] if isinstance(part, slice) and self.raw is np.r_ else part


r_, c_ = _Joined(np.r_), _Joined(np.c_)


def _is_array(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_array, value))
    return isinstance(value, (np.ndarray, np.generic, Tensor))


def where(condition: Any, *args: Any, **kwargs: Any) -> Any:
    """``numpy.where``, which gives Python's numbers or lists where all arguments are some."""
    if not args and not kwargs:
        return np.where(plain(condition))
    if len(args) + len(kwargs) != 2:
        raise ValueError("either both or neither of x and y should be given")
    x = args[0] if args else kwargs["x"]
    y = args[1] if len(args) > 1 else kwargs["y"]
    if has_tensor((condition, x, y)):
        return ops.where(*(v if type(v) in KNOWN and v is not condition else constant(v) for v in (condition, x, y)))
    found = np.where(condition, x, y)
    return found if _is_array([condition, x, y]) else found.tolist()


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """``numpy.select``."""
    if not holds_tensor([*condlist, *choicelist, default]):
        return np.select(condlist, choicelist, default)
    return SPECIAL[np.select]([constant(c) for c in condlist], [constant(c) for c in choicelist], default)


def dot(a: Any, b: Any) -> Any:
    """``numpy.dot``."""
    if not has_tensor((a, b)):
        return np.dot(a, b)
    if type(a) in KNOWN and type(b) in KNOWN and 1 <= np.ndim(a) <= 2 and 1 <= np.ndim(b) <= 2:
        return ops.matmul(a, b)
    return SPECIAL[np.dot](a, b)


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """``numpy.cross``: the product of vectors of three elements, or of two, which have one."""
    if not has_tensor((a, b)):
        return np.cross(a, b, axisa, axisb, axisc, axis)
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    a, b = (ops.moveaxis(constant(v), at, -1) for v, at in ((a, axisa), (b, axisb)))
    if a.shape[-1] == b.shape[-1] == 2:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    parts = [_component(a, b, i, (i + 1) % 3, (i + 2) % 3) for i in range(3)]
    return ops.stack(ops.broadcast_arrays(parts), axisc)


def _component(a: Any, b: Any, at: int, j: int, k: int) -> Any:
    """One component of the product; a vector of two elements has a third of 0."""
    first = a[..., j] * b[..., k] if a.shape[-1] > j and b.shape[-1] > k else 0.0
    second = a[..., k] * b[..., j] if a.shape[-1] > k and b.shape[-1] > j else 0.0
    return first - second


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """``numpy.rollaxis``: the axis moves to the place before ``start``."""
    if not has_tensor((a,)):
        return np.rollaxis(np.asarray(a), axis, start)
    a = constant(a)
    axis, start = axis % a.ndim, start + a.ndim * (start < 0)
    return ops.moveaxis(a, axis, start - (axis < start))


def real_if_close(a: Any, tol: float = 100) -> Any:
    """``numpy.real_if_close``."""
    if not has_tensor((a,)):
        return np.real_if_close(a, tol)
    a = constant(a)
    return ops.real(a) if a.dtype.kind == "c" and np.isrealobj(np.real_if_close(plain(a), tol)) else a


def _parts(name: str) -> Any:
    """A function that splits arrays, which gives a list."""
    f = getattr(np, name)

    def split(ary: Any, *args: Any, **kwargs: Any) -> list[Any]:
        return list(f(listed(ary), *args, **kwargs))

    split.__name__, split.__doc__ = name, f"``numpy.{name}``."
    return split


array_split, dsplit, hsplit, split, vsplit = map(_parts, ("array_split", "dsplit", "hsplit", "split", "vsplit"))


def _integers(kind: Any) -> Any:
    """A type of integers, which takes tensors too: its numbers carry no derivative."""

    def make(cls: Any, *args: Any) -> Any:
        return kind(*map(plain, args))

    return type(kind.__name__, (kind,), {"__new__": make, "__module__": "numpy"})


int8, int16, int32, int64, integer = map(_integers, (np.int8, np.int16, np.int32, np.int64, np.integer))


def _extreme(f: Any, compute: Any) -> Any:
    def extreme(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **options: Any) -> Any:
        if not has_tensor((a,)):
            return f(a, axis, out, keepdims, **options)
        a = constant(a)
        if a.dtype.kind != "c" or options:
            return f(a, axis=axis, out=out, keepdims=keepdims, **options)
        # Complex numbers are compared by their real parts first. All that are equal to the extreme one share.
        best = constant(f(plain(a), axis=axis, keepdims=True))
        equal = ops.equal(a.detach(), best)
        found = ops.sum(ops.where(equal, a, 0.0), axis=axis, keepdims=keepdims)
        return found / ops.sum(equal, axis=axis, keepdims=keepdims)

    extreme.__name__, extreme.__doc__ = f.__name__, f"``numpy.{f.__name__}``."
    return extreme


max, min = _extreme(np.max, ops.max), _extreme(np.min, ops.min)


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Matrices with the last axis of ``D`` on their diagonals. The only axes are ``axis1=-1, axis2=-2``."""
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal has offset=0, axis1=-1, axis2=-2 only")
    found = constant(D)
    made = ops.diag_embed(found, 0, -2, -1)
    return made if has_tensor((D,)) else plain(made)


def metadata(A: Any) -> tuple[Any, int, Any, bool]:
    """The shape, the number of axes, the dtype of an array, and whether that is complex."""
    dtype = A.dtype if isinstance(A, Tensor) else np.result_type(A)
    return tuple(np.shape(A)), np.ndim(A), dtype, dtype.kind == "c"
