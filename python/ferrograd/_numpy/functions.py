"""NumPy's functions whose arguments or results are not those of one function here."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import ferrograd as fg
from ferrograd import _arguments


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
        if isinstance(target, fg.Tensor):
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
    return isinstance(value, fg.Tensor)


def tensor(a: Any) -> Any:
    """An argument as a tensor: numbers and lists of them have the dtype that NumPy gives them."""
    if isinstance(a, fg.Tensor):
        return a
    return fg.tensor(a if holds_tensor(a) else np.asarray(a))


# Shapes


def _transpose(a: Any, axes: Any = None) -> Any:
    return a.T if axes is None else fg.permute_dims(a, axes)


def _broadcast_arrays(*arrays: Any, subok: bool = False) -> tuple[Any, ...]:
    """``numpy.broadcast_arrays``: tensors stay tensors, and anything else (text, too) becomes NumPy's array."""
    shape = np.broadcast_shapes(*map(np.shape, arrays))
    return tuple(
        fg.broadcast_to(a, shape) if isinstance(a, fg.Tensor) else np.broadcast_to(a, shape, subok) for a in arrays
    )


def _atleast(rank: int) -> Callable[..., Any]:
    def atleast(*arrays: Any) -> Any:
        made = []
        for a in map(tensor, arrays):
            shape = tuple(a.shape)
            before = max(min(rank, 2) - a.ndim, 0)
            shape = (1,) * before + shape
            made.append(a.reshape(shape + (1,) * (rank - len(shape))))
        return made[0] if len(made) == 1 else tuple(made)

    return atleast


def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        return fg.concat([fg.ravel(tensor(arr)), fg.ravel(tensor(values))])
    return fg.concat([tensor(arr), tensor(values)], axis)


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
            return fg.concat([joined(p, level - 1) for p in a], -level)
        a = tensor(a)
        return a.reshape((1,) * (most - a.ndim) + tuple(a.shape))

    return joined(arrays, levels)


def _hsplit(ary: Any, indices_or_sections: Any) -> Any:
    return fg.split(ary, indices_or_sections, axis=min(ary.ndim - 1, 1))


def _meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    _refuse("meshgrid", {"sparse": sparse})
    return fg.meshgrid(*map(tensor, xi), indexing=indexing)


def _pad(array: Any, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    value = options.pop("constant_values", 0)
    _refuse("pad", {name: None if given == "even" else given for name, given in options.items()})
    if np.ndim(value):
        raise TypeError("numpy.pad: constant_values= is one number for Tensors")
    return fg.pad(array, pad_width, mode, value)


# Selection


def _along(a: Any, axis: Any) -> tuple[Any, int]:
    """A tensor and the axis that is meant: of all elements in C order if there is none."""
    return (fg.ravel(tensor(a)), 0) if axis is None else (tensor(a), axis)


def _compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    a, axis = _along(a, axis)
    return deliver(np.compress, fg.take(a, fg.tensor(np.flatnonzero(condition)), axis=axis), (out,))


def _extract(condition: Any, arr: Any) -> Any:
    return _compress(np.ravel(condition), arr)


def _delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    arr, axis = _along(arr, axis)
    return fg.take(arr, fg.tensor(np.delete(np.arange(arr.shape[axis]), obj)), axis=axis)


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("numpy.select: there must be as many conditions as choices")
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        default = fg.where(tensor(condition), choice if np.ndim(choice) == 0 else tensor(choice), default)
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
    made: Any = fg.zeros_like(x)
    for condition, f in zip(conditions, funclist, strict=True):
        made[condition] = f(x[condition], *args, **kw) if callable(f) else f
    return made


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
    start, stop = tensor(start), tensor(stop)
    rank = max(start.ndim, stop.ndim)
    at = fg.tensor(np.arange(num) / max(parts, 1), dtype=fg.result_type(start, stop, 1.0)).reshape((num, *[1] * rank))
    made = fg.moveaxis(start * (1 - at) + stop * at, 0, axis)
    return (made, (stop - start) / (parts or math.nan)) if retstep else made


def _logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    return fg.power(base, _linspace(start, stop, num, endpoint, dtype=dtype, axis=axis))


def _vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    made = fg.linalg.vander(x, N)
    return made if increasing else fg.flip(made, axis=-1)


def _polyval(p: Any, x: Any) -> Any:
    x = tensor(x)
    value: Any = fg.zeros_like(x)
    for coefficient in p:
        value = value * x + coefficient
    return value


def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Any:
    """``numpy.diff``: a number to prepend or append stands for a slice of it."""

    def part(o: Any) -> Any:
        if o is np._NoValue or np.ndim(o):
            return None if o is np._NoValue else o
        shape = list(a.shape)
        shape[axis] = 1
        return fg.broadcast_to(fg.tensor(o, dtype=a.dtype), shape)

    return fg.diff(a, n, axis, part(prepend), part(append))


def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    ary = fg.ravel(tensor(ary))
    parts = [to_begin, fg.diff(ary), to_end]
    return fg.concat([fg.ravel(fg.asarray(p, dtype=ary.dtype)) for p in parts if p is not None])


def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    f = tensor(f)
    axes = tuple(range(f.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    steps = [tensor(v) if np.ndim(v) else v for v in (varargs or (1.0,))]
    spacing = steps * len(axes) if len(steps) == 1 else steps
    made = fg.torch.gradient(f, spacing=spacing, dim=axes, edge_order=edge_order)
    return made[0] if len(made) == 1 else made


# Statistics


def _average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = np._NoValue
) -> Any:
    a, keep = tensor(a), keepdims is not np._NoValue and bool(keepdims)
    if weights is None:
        weights = fg.ones_like(a)
    weights = tensor(weights)
    if weights.shape != a.shape:
        if axis is None or weights.ndim != 1 or a.shape[axis] != weights.shape[0]:
            raise ValueError("numpy.average: weights have the shape of a, or are a vector along axis")
        weights = weights.reshape((-1, *[1] * (a.ndim - 1 - axis % a.ndim)))
    total = fg.sum(fg.broadcast_to(weights, a.shape), axis=axis, keepdims=keep)
    made = fg.sum(a * weights, axis=axis, keepdims=keep) / total
    return (made, fg.broadcast_to(total, made.shape)) if returned else made


def _percentile(a: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
    return np.quantile(a, np.true_divide(q, 100), *args, **kwargs)


def _nanpercentile(a: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
    return np.nanquantile(a, np.true_divide(q, 100), *args, **kwargs)


def _nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    return deliver(np.nanmedian, fg.nanquantile(a, 0.5, axis, keepdims is True), (out,))


def _without_nans(name: str, compute: Callable[..., Any], instead: float) -> Callable[..., Any]:
    """A reduction or a scan for which ``instead`` stands in the place of each NaN."""

    def reduced(a: Any, axis: Any = None, *, out: Any = None, keepdims: Any = np._NoValue, **options: Any) -> Any:
        _refuse(name, options)
        if a.dtype.kind in "fc":
            a = fg.where(fg.isnan(a), instead, a)
        keep = {} if keepdims is np._NoValue else {"keepdims": keepdims}
        return deliver(compute, compute(a, axis=axis, **keep), (out,))

    return reduced


def _best(name: str, compute: Callable[..., Any], worst: float) -> Callable[..., Any]:
    """``numpy.nanmax`` or ``numpy.nanmin``: NaN where there is nothing else."""
    reduce = _without_nans(name, compute, worst)

    def reduced(a: Any, axis: Any = None, out: Any = None, keepdims: Any = np._NoValue, **options: Any) -> Any:
        made = reduce(a, axis, keepdims=keepdims, **options)
        if a.dtype.kind == "f":
            made = fg.where(fg.all(fg.isnan(a), axis=axis, keepdims=keepdims is True), math.nan, made)
        return deliver(compute, made, (out,))

    return reduced


def _nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = np._NoValue,
    **options: Any,
) -> Any:
    ddof = ddof if (correction := options.pop("correction", np._NoValue)) is np._NoValue else correction
    _refuse("nanvar", {"dtype": dtype, **options})
    known = ~fg.isnan(a)
    count = fg.sum(known, axis=axis, keepdims=True)
    clean = fg.where(known, a, 0.0)
    away = fg.where(known, clean - fg.sum(clean, axis=axis, keepdims=True) / count, 0.0)
    squares = fg.real(away * fg.conj(away)) if a.dtype.kind == "c" else away**2
    made = fg.sum(squares, axis=axis, keepdims=True) / (count - ddof)
    made = fg.where(count > ddof, made, math.nan)
    return deliver(np.nanvar, made if keepdims is True else fg.squeeze(made, axis=axis), (out,))


def _nanstd(*args: Any, out: Any = None, **kwargs: Any) -> Any:
    return deliver(np.nanstd, fg.sqrt(_nanvar(*args, **kwargs)), (out,))


# Linear algebra


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    """``numpy.dot``: the matrix product up to two axes; else a sum over the last axis of ``a``, the next-to-last of
    ``b``."""
    a, b = tensor(a), tensor(b)
    rank = a.ndim, b.ndim
    if 0 in rank:
        result = fg.multiply(a, b)
    elif max(rank) <= 2:
        result = fg.matmul(a, b)
    else:
        result = fg.tensordot(a, b, axes=([-1], [max(-2, -rank[1])]))
    return deliver(np.dot, result, (out,))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """``numpy.linalg.norm``: of vectors, or with an order and two axes of matrices."""
    rank = np.ndim(x)
    axes = (axis,) if isinstance(axis, int) else tuple(range(rank)) if axis is None else tuple(axis)
    if ord is None or len(axes) == 1:
        return fg.norm(x, 2.0 if ord is None else ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    return fg.linalg.matrix_norm(x, ord, axes, keepdims)


def _einsum(*operands: Any, out: Any = None, optimize: Any = False, **options: Any) -> Any:
    if options:
        raise TypeError(f"numpy.einsum: {', '.join(options)} not taken for Tensors")
    return deliver(np.einsum, fg.einsum(*_arguments.formula(operands)), (out,))


def _apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    rows = fg.moveaxis(arr, axis, -1)
    outer = tuple(rows.shape[:-1])
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made = fg.stack([tensor(func1d(rows[at], *args, **kwargs)) for at in np.ndindex(outer)])
    rank = made.ndim - 1
    made = made.reshape(outer + tuple(made.shape[1:]))
    at = axis % arr.ndim
    return fg.moveaxis(made, tuple(range(-rank, 0)), tuple(range(at, at + rank)))


SPECIAL: dict[Callable[..., Any], Callable[..., Any]] = {
    np.append: _append,
    np.apply_along_axis: _apply_along_axis,
    np.atleast_1d: _atleast(1),
    np.atleast_2d: _atleast(2),
    np.atleast_3d: _atleast(3),
    np.average: _average,
    np.block: _block,
    np.broadcast_arrays: _broadcast_arrays,
    np.compress: _compress,
    np.delete: _delete,
    np.diff: _diff,
    np.dot: _dot,
    np.dsplit: lambda ary, indices_or_sections: fg.split(ary, indices_or_sections, axis=2),
    np.ediff1d: _ediff1d,
    np.einsum: _einsum,
    np.extract: _extract,
    np.gradient: _gradient,
    np.hsplit: _hsplit,
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.isrealobj: lambda x: x.dtype.kind != "c",
    np.linspace: _linspace,
    np.logspace: _logspace,
    np.meshgrid: _meshgrid,
    np.nancumprod: _without_nans("nancumprod", fg.cumprod, 1.0),
    np.nancumsum: _without_nans("nancumsum", fg.cumsum, 0.0),
    np.nanmax: _best("nanmax", fg.max, -math.inf),
    np.nanmedian: _nanmedian,
    np.nanmin: _best("nanmin", fg.min, math.inf),
    np.nanpercentile: _nanpercentile,
    np.nanprod: _without_nans("nanprod", fg.prod, 1.0),
    np.nanstd: _nanstd,
    np.nanvar: _nanvar,
    np.ndim: lambda a: a.ndim,
    np.pad: _pad,
    np.percentile: _percentile,
    np.piecewise: _piecewise,
    np.polyval: _polyval,
    np.select: _select,
    np.shape: lambda a: tuple(a.shape),
    np.transpose: _transpose,
    np.vander: _vander,
    np.linalg.norm: _norm,
}
