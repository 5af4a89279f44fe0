"""NumPy's functions whose arguments or results are not those of one function of the core.

Those in ``__all__`` are functions of ``ferrograd`` too. They take lists and numbers in the place of tensors.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ferrograd import _core, linalg
from ferrograd._core import ArgumentError, FerrogradError, IndexOutOfRange, ShapeError, Tensor, native as ops
from ferrograd._functions.array_api import finfo, meshgrid, result_type, unique_all
from ferrograd._functions.differences import derivatives
from ferrograd._functions.sort import distinct
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import NATIVE

__all__ = [
    "append",
    "argpartition",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "average",
    "bartlett",
    "blackman",
    "delete",
    "diag_indices",
    "digitize",
    "dsplit",
    "flatnonzero",
    "geomspace",
    "gradient",
    "hamming",
    "hanning",
    "hsplit",
    "insert",
    "intersect1d",
    "kaiser",
    "lexsort",
    "logspace",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanstd",
    "nanvar",
    "partition",
    "percentile",
    "polyfit",
    "polyval",
    "ravel_multi_index",
    "setdiff1d",
    "tri",
    "tril_indices",
    "triu_indices",
    "union1d",
    "unique",
    "unravel_index",
    "vsplit",
]


def _named(name: str, text: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the name and the documentation that it has in ``ferrograd``."""
    f.__name__ = f.__qualname__ = name
    f.__doc__ = text
    return f


def _refuse(name: str, options: dict[str, Any]) -> None:
    """Raises for options of a NumPy function that are given and would change the result."""
    for option, value in options.items():
        if value is not None and value is not np._NoValue and value is not False:
            raise TypeError(f"numpy.{name}: {option}= is not taken for Tensors")


def deliver(f: Any, result: Any, out: tuple[Any, ...]) -> Any:
    """The result, written to the targets in ``out`` if there are any."""
    if not out or out[0] is None:
        return result
    results = result if isinstance(result, tuple) else (result,)
    for target, value in zip(out, results, strict=True):
        if isinstance(target, Tensor):
            if isinstance(value, Tensor):
                _core.check_can_take(f"numpy.{f.__name__}", target, value)
            target[...] = value
        elif getattr(value, "requires_grad", False):
            raise TypeError(
                f"numpy.{f.__name__}: a tracked result cannot be written into an ndarray, where its gradient would "
                "be lost; leave out= away, or detach() the inputs"
            )
        else:
            np.copyto(target, value, casting="same_kind")
    return out if len(out) > 1 else out[0]


def holds_tensor(value: Any) -> bool:
    """Whether a value is a tensor or a nested list or tuple with one."""
    if isinstance(value, (list, tuple)):
        return any(map(holds_tensor, value))
    return isinstance(value, Tensor)


def tensor(a: Any) -> Any:
    """An argument as a tensor: numbers and lists of them have the dtype that NumPy gives them."""
    if isinstance(a, Tensor):
        return a
    return _core.make(a if holds_tensor(a) else np.asarray(a), None, False, NATIVE)


def _places(numbers: Any) -> Any:
    """Indices as a tensor, which a compiled function keeps as a constant."""
    return _core.make(numbers.tolist(), "int64", False, NATIVE)


def _plain(value: Any) -> Any:
    """An argument of integers or truth values of NumPy's."""
    return np.asarray(value.detach()) if isinstance(value, Tensor) else value


_CONSTANT: list[str] = []


def _constant(example: str) -> Callable[..., Any]:
    """A function of NumPy's whose results have no derivative, from an example of its documentation."""
    name = example.partition("(")[0]
    compute = getattr(np, name)
    _CONSTANT.append(name)

    def constant(*args: Any, **kwargs: Any) -> Any:
        made = compute(*args, **kwargs)
        return tuple(map(tensor, made)) if isinstance(made, tuple) else tensor(made)

    text = f"What ``numpy.{name}`` computes of these arguments, as tensors without a gradient.\n\n>>> fg.{example}"
    return _named(name, text, constant)


argpartition = _constant("argpartition(fg.tensor([3, 1, 2]), 0)[0].item()\n1")
bartlett = _constant("bartlett(5).tolist()\n[0.0, 0.5, 1.0, 0.5, 0.0]")
blackman = _constant("blackman(3)[1].item()\n0.99...")
diag_indices = _constant("diag_indices(2)[0].tolist()\n[0, 1]")
flatnonzero = _constant("flatnonzero(fg.tensor([[0, 2], [3, 0]])).tolist()\n[1, 2]")
geomspace = _constant("geomspace(1.0, 8.0, 4).tolist()\n[1.0, 2.0, 4.0, 8.0]")
hamming = _constant("hamming(3)[1].item()\n1.0")
hanning = _constant("hanning(3).tolist()\n[0.0, 1.0, 0.0]")
kaiser = _constant("kaiser(3, 0.0).tolist()\n[1.0, 1.0, 1.0]")
nanargmax = _constant("nanargmax(fg.tensor([2.0, fg.nan, 3.0])).item()\n2")
nanargmin = _constant("nanargmin(fg.tensor([2.0, fg.nan, 3.0])).item()\n0")
ravel_multi_index = _constant("ravel_multi_index(([0, 1], [1, 2]), (2, 3)).tolist()\n[1, 5]")
tri = _constant("tri(2).tolist()\n[[1.0, 0.0], [1.0, 1.0]]")
tril_indices = _constant("tril_indices(2)[1].tolist()\n[0, 0, 1]")
triu_indices = _constant("triu_indices(2)[1].tolist()\n[0, 1, 1]")
unravel_index = _constant("unravel_index(fg.tensor([1, 5]), (2, 3))[1].tolist()\n[1, 2]")


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The number of the bin that each element lies in (int64): how many edges of a rising vector are not above it.

    With ``right`` those that are equal do not count. In a falling vector, the edges above the element count. Any other
    order of edges raises a ValueError.

    >>> fg.digitize(fg.tensor([0.5, 1.0, 9.0]), [0.0, 1.0, 2.0]).tolist()
    [1, 2, 3]
    """
    edges = np.asarray(_plain(bins))
    np.digitize((), edges)
    x, rises = tensor(x), len(edges) < 2 or edges[-1] >= edges[0]
    # Made of numbers, the edges are a constant of a compiled function.
    rising = _core.make((edges if rises else edges[::-1]).tolist(), edges.dtype, False, NATIVE)
    found = ops.searchsorted(rising, x, right=not right)
    return found if rises else len(edges) - found


def lexsort(keys: Any, axis: int = -1) -> Any:
    """The indices (int64) that sort by the last key, elements that agree in it by the one before, and so on.

    ``keys`` is a sequence of tensors of one shape, or a tensor of them. Keys of several shapes are an error, and so are
    no keys.

    >>> fg.lexsort([fg.tensor([2, 1, 0]), fg.tensor([1, 1, 0])]).tolist()
    [2, 1, 0]
    """
    keys = [tensor(key) for key in keys]
    if not keys or any(key.shape != keys[0].shape for key in keys):
        raise ShapeError(f"lexsort: takes keys of one shape, not of {[list(key.shape) for key in keys]}")
    # Complex numbers are sorted by their real parts first.
    keys = [part for key in keys for part in ((key.imag, key.real) if key.dtype.kind == "c" else (key,))]
    order = ops.argsort(keys[0], axis)
    for key in keys[1:]:
        order = ops.take_along_axis(order, ops.argsort(ops.take_along_axis(key, order, axis), axis), axis)
    return order


# Shapes


def _reshape(a: Any, shape: Any = None, order: Any = "C", *, newshape: Any = None, copy: Any = None) -> Any:
    """``numpy.reshape``, with the elements in C order or, as those of the transpose are, in Fortran's."""
    shape = newshape if shape is None else shape
    if _is_in_c_order("reshape", order):
        return ops.reshape(a, shape, copy=copy)
    sizes = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    return ops.reshape(a.T, sizes[::-1], copy=copy).T


def _ravel(a: Any, order: Any = "C") -> Any:
    return ops.ravel(a if _is_in_c_order("ravel", order) else a.T)


def _is_in_c_order(name: str, order: Any) -> bool:
    if order not in ("C", "F", None):
        raise TypeError(f"numpy.{name}: order is 'C' or 'F' for Tensors, not {order!r:.20}")
    return order != "F"


def _transpose(a: Any, axes: Any = None) -> Any:
    return a.T if axes is None else ops.permute_dims(a, axes)


def _triangle(part: Callable[[Any, int], Any]) -> Callable[..., Any]:
    """``numpy.tril`` or ``triu``: a vector stands for the rows of a square matrix."""

    def triangle(m: Any, k: int = 0) -> Any:
        return part(m if m.ndim != 1 else ops.broadcast_to(m, (m.shape[0], m.shape[0])), k)

    return triangle


def _sorting(compute: Callable[[Any, int], Any]) -> Callable[..., Any]:
    """``numpy.sort`` or ``argsort``, which are stable; without an axis, of all elements."""

    def sorting(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
        if order is not None:
            raise TypeError(f"numpy.{compute.__name__}: order= is not taken for Tensors")
        return compute(*_along(a, axis))

    return sorting


def _broadcast_arrays(*arrays: Any, subok: bool = False) -> tuple[Any, ...]:
    """``numpy.broadcast_arrays``: tensors stay tensors, and anything else (text, too) becomes NumPy's array."""
    shape = np.broadcast_shapes(*map(np.shape, arrays))
    return tuple(
        ops.broadcast_to(a, shape) if isinstance(a, Tensor) else np.broadcast_to(a, shape, subok) for a in arrays
    )


def _atleast(rank: int, text: str) -> Callable[..., Any]:
    def atleast(*arrays: Any) -> Any:
        made = []
        for a in map(tensor, arrays):
            shape = tuple(a.shape)
            before = max(min(rank, 2) - a.ndim, 0)
            shape = (1,) * before + shape
            made.append(a.reshape(shape + (1,) * (rank - len(shape))))
        return made[0] if len(made) == 1 else tuple(made)

    return _named(f"atleast_{rank}d", text, atleast)


atleast_1d = _atleast(
    1,
    """The tensor, or a vector of one element for a number; of several arguments a tuple of them.

    >>> fg.atleast_1d(2.5).shape
    (1,)
    """,
)
atleast_2d = _atleast(
    2,
    """The tensor with axes of size 1 in front, so that there are two; of several arguments a tuple of them.

    >>> fg.atleast_2d(fg.ones([3])).shape
    (1, 3)
    """,
)
atleast_3d = _atleast(
    3,
    """The tensor with axes of size 1 on both sides, so that there are three; of several arguments a tuple of them.

    >>> fg.atleast_3d(fg.ones([3])).shape
    (1, 3, 1)
    """,
)


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """Two tensors joined along an axis; without one, all elements of the first and then those of the second.

    >>> fg.append(fg.tensor([1, 2]), 3).tolist()
    [1, 2, 3]
    """
    if axis is None:
        return ops.concat([ops.ravel(tensor(arr)), ops.ravel(tensor(values))])
    return ops.concat([tensor(arr), tensor(values)], axis)


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """The tensor with values before the places ``obj`` of an axis: a place, a slice, or several places.

    >>> fg.insert(fg.tensor([1, 2, 3]), [1, 3], 0).tolist()
    [1, 0, 2, 3, 0]
    """
    arr, axis = _along(arr, axis)
    axis = _arguments.axis(axis, "insert", arr.ndim)
    if not isinstance(obj, slice):
        obj = np.asarray(_plain(obj))
        obj = obj if obj.size else obj.astype(np.intp)
    size, values = arr.shape[axis], tensor(values).astype(arr.dtype)
    values = values.reshape((1,) * (arr.ndim - values.ndim) + tuple(values.shape))
    shape = list(arr.shape)
    if not isinstance(obj, slice) and np.ndim(obj) == 0:
        # NumPy reads the first axis as the one of the values that belong to one place.
        values = ops.moveaxis(values, 0, axis)
        shape[axis] = values.shape[axis]
    else:
        shape[axis] = len(np.insert(np.arange(size), obj, 0)) - size
    order = np.insert(np.arange(size), obj, np.arange(size, size + shape[axis]))
    return ops.take(ops.concat([arr, ops.broadcast_to(values, shape)], axis), _places(order), axis=axis)


def _block(arrays: Any) -> Any:
    """``numpy.block``: the innermost lists are joined along the last axis, those around them along the one before."""

    def depth(a: Any) -> int:
        return 1 + max(map(depth, a)) if isinstance(a, list) and a else 0

    def rank(a: Any) -> int:
        return max(map(rank, a)) if isinstance(a, list) else np.ndim(a)

    levels = depth(arrays)
    most = max(rank(arrays), levels)

    def joined(a: Any, level: int) -> Any:
        if level:
            if not isinstance(a, list) or not a:
                raise ValueError("numpy.block: the lists must have one depth, and none may be empty")
            return ops.concat([joined(p, level - 1) for p in a], -level)
        a = tensor(a)
        return a.reshape((1,) * (most - a.ndim) + tuple(a.shape))

    return joined(arrays, levels)


def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Parts along the second axis, or of a vector: equal ones, or those between places.

    >>> [part.tolist() for part in fg.hsplit(fg.tensor([1, 2, 3]), [1])]
    [[1], [2, 3]]
    """
    ary = tensor(ary)
    return ops.split(ary, indices_or_sections, axis=min(ary.ndim - 1, 1))


def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Parts along the first axis: equal ones, or those between places.

    >>> [part.shape for part in fg.vsplit(fg.ones([4, 3]), 2)]
    [(2, 3), (2, 3)]
    """
    return ops.split(tensor(ary), indices_or_sections)


def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Parts along the third axis: equal ones, or those between places.

    >>> [part.shape for part in fg.dsplit(fg.ones([1, 2, 4]), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return ops.split(tensor(ary), indices_or_sections, axis=2)


def _meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    _refuse("meshgrid", {"sparse": sparse})
    return meshgrid(*map(tensor, xi), indexing=indexing)


def _pad(array: Any, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    value = options.pop("constant_values", 0)
    _refuse("pad", {name: None if given == "even" else given for name, given in options.items()})
    if np.ndim(value):
        raise TypeError("numpy.pad: constant_values= is one number for Tensors")
    return ops.pad(array, pad_width, mode, value)


# Selection


def _along(a: Any, axis: Any) -> tuple[Any, int]:
    """A tensor and the axis that is meant: of all elements in C order if there is none."""
    return (ops.ravel(tensor(a)), 0) if axis is None else (tensor(a), axis)


def _compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    a, axis = _along(a, axis)
    return deliver(np.compress, ops.take(a, tensor(np.flatnonzero(condition)), axis=axis), (out,))


def _extract(condition: Any, arr: Any) -> Any:
    return _compress(np.ravel(condition), arr)


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """The tensor without a place of an axis, a slice or several places; without an axis, of all elements in order.

    >>> fg.delete(fg.tensor([1, 2, 3]), 1).tolist()
    [1, 3]
    """
    arr, axis = _along(arr, axis)
    return ops.take(arr, _places(np.delete(np.arange(arr.shape[axis]), _plain(obj))), axis=axis)


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("numpy.select: there must be as many conditions as choices")
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        default = ops.where(tensor(condition), choice if np.ndim(choice) == 0 else tensor(choice), default)
    return default


def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    x = tensor(x)
    conditions: Any = np.asarray([np.asarray(c) for c in condlist] if isinstance(condlist, list) else condlist, bool)
    if conditions.ndim == x.ndim:
        conditions = conditions[None]
    if len(funclist) == len(conditions) + 1:
        conditions = np.concatenate([conditions, ~conditions.any(0)[None]])
    elif len(funclist) != len(conditions):
        raise ValueError("numpy.piecewise: there must be as many functions as conditions, or one more")
    made: Any = ops.zeros_like(x)
    for condition, f in zip(conditions, funclist, strict=True):
        made[condition] = f(x[condition], *args, **kw) if callable(f) else f
    return made


def partition(a: Any, kth: Any, axis: Any = -1) -> Any:
    """The elements with the one of rank ``kth`` in its place, smaller ones before it: here all of them are sorted.

    >>> fg.partition(fg.tensor([3, 1, 2]), 1)[1].item()
    2
    """
    a, axis = _along(a, axis)
    axis = _arguments.axis(axis, "partition", a.ndim)
    for k in np.ravel(_plain(kth)):
        if not -a.shape[axis] <= operator.index(k) < a.shape[axis]:
            raise ValueError(f"partition: kth={k} is out of bounds for an axis of size {a.shape[axis]}")
    return ops.sort(a, axis=axis)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The distinct elements, or the distinct slices along an axis, in rising order.

    If asked for, a tuple of them, where each is first, which of them each element is, and how often each is there.

    >>> [part.tolist() for part in fg.unique(fg.tensor([3.0, 1.0, 3.0]), return_counts=True)]
    [[1.0, 3.0], [1, 2]]
    """
    ar = tensor(ar)
    parts = unique_all(ar, equal_nan=equal_nan) if axis is None else distinct(ar, axis, "unique")
    asked = (return_index, return_inverse, return_counts)
    made = (parts[0], *(part for part, wanted in zip(parts[1:], asked, strict=True) if wanted))
    return made if len(made) > 1 else made[0]


def union1d(ar1: Any, ar2: Any) -> Any:
    """The distinct elements of both tensors, in rising order.

    >>> fg.union1d(fg.tensor([3, 1]), fg.tensor([1, 2])).tolist()
    [1, 2, 3]
    """
    return unique(append(ar1, ar2))


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The distinct elements of the first tensor that the second has too, in rising order.

    >>> fg.intersect1d(fg.tensor([3, 1, 2]), fg.tensor([2, 3])).tolist()
    [2, 3]
    """
    _refuse("intersect1d", {"return_indices": return_indices})
    values = unique(ar1)
    return values[ops.isin(values, tensor(ar2))]


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The distinct elements of the first tensor that the second has not, in rising order.

    With ``assume_unique`` the elements are taken as they are.

    >>> fg.setdiff1d(fg.tensor([3, 1, 2]), fg.tensor([2])).tolist()
    [1, 3]
    """
    values = ops.ravel(tensor(ar1)) if assume_unique else unique(ar1)
    return values[~ops.isin(values, tensor(ar2))]


# Numbers


def _linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    **options: Any,
) -> Any:
    _refuse("linspace", {"dtype": dtype, **options})
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    parts = num - 1 if endpoint else num
    # A number takes the dtype of a tensor beside it.
    start = start if type(start) in (int, float, complex) and np.ndim(stop) else tensor(start)
    stop = stop if type(stop) in (int, float, complex) else tensor(stop)
    rank = max(np.ndim(start), np.ndim(stop))
    at = tensor(np.arange(num) / max(parts, 1)).astype(result_type(start, stop, 1.0)).reshape((num, *[1] * rank))
    made = ops.moveaxis(start * (1 - at) + stop * at, 0, axis)
    return (made, (stop - start) / (parts or math.nan)) if retstep else made


def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """The powers of ``base`` with exponents that are evenly spaced from ``start`` to ``stop``.

    >>> fg.logspace(0.0, 2.0, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    return ops.power(base, _linspace(start, stop, num, endpoint, dtype=dtype, axis=axis))


def _vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    made = linalg.vander(x, N)
    return made if increasing else ops.flip(made, axis=-1)


def polyval(p: Any, x: Any) -> Any:
    """A polynomial at each element of ``x``; its coefficients begin with that of the highest power.

    >>> fg.polyval([1.0, 0.0, -2.0], fg.tensor([1.0, 3.0])).tolist()
    [-1.0, 7.0]
    """
    x = tensor(x)
    value: Any = ops.zeros_like(x)
    for coefficient in p:
        value = value * x + coefficient
    return value


def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: bool = False) -> Any:
    """The coefficients, highest power first, of the polynomial that fits points best in the sense of least squares.

    ``y`` has a value for each element of ``x``, or a row of them. ``w`` are weights of the errors. The coefficients
    have the promoted dtype of ``x`` and ``y``, and so float32 of float32, where NumPy computes in float64.

    >>> fg.polyfit(fg.tensor([0.0, 1.0, 2.0]), fg.tensor([1.0, 3.0, 5.0]), 1).round(4).tolist()
    [2.0, 1.0]
    """
    _refuse("polyfit", {"full": full, "cov": cov})
    x, y, deg = tensor(x), tensor(y), operator.index(deg)
    if deg < 0 or x.ndim != 1 or not len(x) or y.ndim not in (1, 2) or len(y) != len(x):
        raise ArgumentError(
            f"polyfit: a degree from 0 and as many points as values are wanted, not {deg}, {tuple(x.shape)} and "
            f"{tuple(y.shape)}"
        )
    dtype = result_type(x, y, 1.0)
    powers, values = _vander(x.astype(dtype), deg + 1), y.astype(dtype)
    if w is not None:
        weights = tensor(w)[:, None]
        powers, values = powers * weights, values * (weights if y.ndim == 2 else weights[:, 0])
    scale = ops.sqrt(ops.sum(powers * powers, axis=0))
    limit = len(x) * finfo(dtype).eps if rcond is None else rcond
    found = linalg.lstsq(powers / scale, values, rcond=limit)[0]
    return found / (scale if y.ndim == 1 else scale[:, None])


def _convolve(a: Any, v: Any, mode: str = "full") -> Any:
    return ops.convolve(tensor(a), tensor(v), mode)


def _correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    return ops.correlate(tensor(a), tensor(v), mode)


def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Any:
    """``numpy.diff``: a number to prepend or append stands for a slice of it."""

    def part(o: Any) -> Any:
        if o is np._NoValue or np.ndim(o):
            return None if o is np._NoValue else o
        shape = list(a.shape)
        shape[axis] = 1
        return ops.broadcast_to(tensor(o).astype(a.dtype), shape)

    return ops.diff(a, n, axis, part(prepend), part(append))


def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    ary = ops.ravel(tensor(ary))
    parts = [to_begin, ops.diff(ary), to_end]
    return ops.concat([ops.ravel(tensor(p).astype(ary.dtype)) for p in parts if p is not None])


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Derivatives along the axes by central differences: one tensor, or a tuple with one for each of several axes.

    The distances are one number, one for each axis, or the places along each axis.

    >>> fg.gradient(fg.tensor([1.0, 2.0, 4.0, 7.0])).tolist()
    [1.0, 1.5, 2.5, 3.0]
    """
    f = tensor(f)
    axes = tuple(range(f.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    steps = [tensor(v) if np.ndim(v) else v for v in (varargs or (1.0,))]
    spacing = steps * len(axes) if len(steps) == 1 else steps
    made = derivatives(f, spacing, axes, edge_order, "gradient")
    return made[0] if len(made) == 1 else made


# Statistics


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    """The mean with weights, which have the shape of the tensor or are a vector along the axis.

    If ``returned``, a tuple of it and the sum of the weights.

    >>> fg.average(fg.tensor([1.0, 4.0]), weights=[2.0, 1.0]).item()
    2.0
    """
    a, keep = tensor(a), keepdims is not np._NoValue and bool(keepdims)
    if weights is None:
        weights = ops.ones_like(a)
    weights = tensor(weights)
    if weights.shape != a.shape:
        if axis is None or weights.ndim != 1 or a.shape[axis] != weights.shape[0]:
            raise ValueError("numpy.average: weights have the shape of a, or are a vector along axis")
        weights = weights.reshape((-1, *[1] * (a.ndim - 1 - axis % a.ndim)))
    total = ops.sum(ops.broadcast_to(weights, a.shape), axis=axis, keepdims=keep)
    made = ops.sum(a * weights, axis=axis, keepdims=keep) / total
    return (made, ops.broadcast_to(total, made.shape)) if returned else made


def percentile(a: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
    """The values below which ``q`` per cent of the elements lie: ``quantile`` of ``q / 100``, as NumPy's has it.

    >>> fg.percentile(fg.tensor([1.0, 2.0, 4.0]), 75).item()
    3.0
    """
    return np.quantile(tensor(a), np.true_divide(q, 100), *args, **kwargs)


def nanpercentile(a: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
    """:func:`percentile` without the NaNs.

    >>> fg.nanpercentile(fg.tensor([1.0, fg.nan, 2.0, 4.0]), 75).item()
    3.0
    """
    return np.nanquantile(tensor(a), np.true_divide(q, 100), *args, **kwargs)


def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """The median without the NaNs: of an even number of elements the mean of both in the middle.

    >>> fg.nanmedian(fg.tensor([1.0, fg.nan, 3.0])).item()
    2.0
    """
    return deliver(np.nanmedian, ops.nanquantile(tensor(a), 0.5, axis, keepdims is True), (out,))


def _without_nans(name: str, compute: Callable[..., Any], instead: float, text: str) -> Callable[..., Any]:
    """A reduction or a scan for which ``instead`` stands in the place of each NaN."""

    def reduced(a: Any, axis: Any = None, *, out: Any = None, keepdims: Any = None, **options: Any) -> Any:
        _refuse(name, options)
        a = tensor(a)
        if a.dtype.kind in "fc":
            a = ops.where(ops.isnan(a), instead, a)
        keep = {} if keepdims is None else {"keepdims": keepdims}
        return deliver(compute, compute(a, axis=axis, **keep), (out,))

    return _named(name, text, reduced)


nancumprod = _without_nans(
    "nancumprod",
    ops.cumprod,
    1.0,
    """The products of the elements up to each one along an axis, or of all in order; NaN counts as 1.

    >>> fg.nancumprod(fg.tensor([2.0, fg.nan, 3.0])).tolist()
    [2.0, 2.0, 6.0]
    """,
)
nancumsum = _without_nans(
    "nancumsum",
    ops.cumsum,
    0.0,
    """The sums of the elements up to each one along an axis, or of all in order; NaN counts as 0.

    >>> fg.nancumsum(fg.tensor([2.0, fg.nan, 3.0])).tolist()
    [2.0, 2.0, 5.0]
    """,
)
nanprod = _without_nans(
    "nanprod",
    ops.prod,
    1.0,
    """The product of the elements along axes; NaN counts as 1.

    >>> fg.nanprod(fg.tensor([2.0, fg.nan, 3.0])).item()
    6.0
    """,
)


def _best(name: str, compute: Callable[..., Any], worst: float, text: str) -> Callable[..., Any]:
    """``numpy.nanmax`` or ``numpy.nanmin``: NaN where there is nothing else."""
    reduce = _without_nans(name, compute, worst, text)

    def reduced(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **options: Any) -> Any:
        a = tensor(a)
        made = reduce(a, axis, keepdims=keepdims, **options)
        if a.dtype.kind == "f":
            made = ops.where(ops.all(ops.isnan(a), axis=axis, keepdims=keepdims is True), math.nan, made)
        return deliver(reduced, made, (out,))

    return _named(name, text, reduced)


nanmax = _best(
    "nanmax",
    ops.max,
    -math.inf,
    """The largest element along axes that is not NaN; NaN where there is none.

    >>> fg.nanmax(fg.tensor([2.0, fg.nan, 3.0])).item()
    3.0
    """,
)
nanmin = _best(
    "nanmin",
    ops.min,
    math.inf,
    """The smallest element along axes that is not NaN; NaN where there is none.

    >>> fg.nanmin(fg.tensor([2.0, fg.nan, 3.0])).item()
    2.0
    """,
)


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    **options: Any,
) -> Any:
    """The variance along axes without the NaNs: the sum of squares divided by the number of elements less ``ddof``.

    >>> fg.nanvar(fg.tensor([2.0, fg.nan, 4.0])).item()
    1.0
    """
    a = tensor(a)
    ddof = ddof if (correction := options.pop("correction", np._NoValue)) is np._NoValue else correction
    _refuse("nanvar", {"dtype": dtype, **options})
    known = ~ops.isnan(a)
    count = ops.sum(known, axis=axis, keepdims=True)
    clean = ops.where(known, a, 0.0)
    away = ops.where(known, clean - ops.sum(clean, axis=axis, keepdims=True) / count, 0.0)
    squares = ops.real(away * ops.conj(away)) if a.dtype.kind == "c" else away**2
    made = ops.sum(squares, axis=axis, keepdims=True) / (count - ddof)
    made = ops.where(count > ddof, made, math.nan)
    return deliver(np.nanvar, made if keepdims is True else ops.squeeze(made, axis=axis), (out,))


def nanstd(*args: Any, out: Any = None, **kwargs: Any) -> Any:
    """The root of :func:`nanvar`.

    >>> fg.nanstd(fg.tensor([2.0, fg.nan, 4.0])).item()
    1.0
    """
    return deliver(np.nanstd, ops.sqrt(nanvar(*args, **kwargs)), (out,))


# Linear algebra


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    """``numpy.dot``: the matrix product up to two axes; else a sum over the last axis of ``a``, the next-to-last of
    ``b``."""
    a, b = tensor(a), tensor(b)
    rank = a.ndim, b.ndim
    if 0 in rank:
        result = ops.multiply(a, b)
    elif max(rank) <= 2:
        result = ops.matmul(a, b)
    else:
        result = ops.tensordot(a, b, axes=([-1], [max(-2, -rank[1])]))
    return deliver(np.dot, result, (out,))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """``numpy.linalg.norm``: of vectors, or with an order and two axes of matrices."""
    rank = np.ndim(x)
    axes = (axis,) if isinstance(axis, int) else tuple(range(rank)) if axis is None else tuple(axis)
    if ord is None or len(axes) == 1:
        return ops.norm(x, 2.0 if ord is None else ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    return linalg.matrix_norm(x, ord, axes, keepdims)


def _einsum(*operands: Any, out: Any = None, optimize: Any = False, **options: Any) -> Any:
    if options:
        raise TypeError(f"numpy.einsum: {', '.join(options)} not taken for Tensors")
    return deliver(np.einsum, ops.einsum(*_arguments.formula(operands)), (out,))


def _apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    arr = tensor(arr)
    rows = ops.moveaxis(arr, axis, -1)
    outer = tuple(rows.shape[:-1])
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made = ops.stack([tensor(func1d(rows[at], *args, **kwargs)) for at in np.ndindex(outer)])
    rank = made.ndim - 1
    made = made.reshape(outer + tuple(made.shape[1:]))
    at = axis % arr.ndim
    return ops.moveaxis(made, tuple(range(-rank, 0)), tuple(range(at, at + rank)))


def _called(name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose errors name it in the place of the functions of the core that it calls."""

    @wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except FerrogradError as error:
            head, colon, text = str(error.args[0]).partition(": ")
            if not colon or not hasattr(ops, head):
                raise
            raise type(error)(f"{name}: {text}") from error
        except IndexError as error:
            raise IndexOutOfRange(f"{name}: {error}") from error

    return call


globals().update({name: _called(name, globals()[name]) for name in __all__})
#: NumPy's functions and their counterparts here: those of ``__all__``, except what NumPy computes itself.
SPECIAL: dict[Callable[..., Any], Callable[..., Any]] = {
    **{getattr(np, name): globals()[name] for name in __all__ if name not in _CONSTANT},
    np.apply_along_axis: _apply_along_axis,
    np.block: _block,
    np.compress: _compress,
    np.convolve: _convolve,
    np.correlate: _correlate,
    np.ediff1d: _ediff1d,
    np.extract: _extract,
    np.piecewise: _piecewise,
    np.argsort: _sorting(ops.argsort),
    np.sort: _sorting(ops.sort),
    np.ravel: _ravel,
    np.reshape: _reshape,
    np.tril: _triangle(ops.tril),
    np.triu: _triangle(ops.triu),
    np.broadcast_arrays: _broadcast_arrays,
    np.diff: _diff,
    np.dot: _dot,
    np.einsum: _einsum,
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.isrealobj: lambda x: x.dtype.kind != "c",
    np.linspace: _linspace,
    np.meshgrid: _meshgrid,
    np.ndim: lambda a: a.ndim,
    np.pad: _pad,
    np.select: _select,
    np.shape: lambda a: tuple(a.shape),
    np.transpose: _transpose,
    np.vander: _vander,
    np.linalg.norm: _norm,
}
