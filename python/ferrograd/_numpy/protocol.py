"""NumPy's functions on tensors: its universal functions and most others are this library's, and so differentiable."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, cast

import numpy as np

import ferrograd as fg
from ferrograd import _core
from ferrograd._numpy.table import ACCUMULATE, FUNCTIONS, NO_DERIVATIVE, REDUCE, RENAMED, SAME, SIGNATURES


@cache
def _native(path: str) -> Callable[..., Any] | None:
    """The function of that name here."""
    place: Any = fg
    for part in path.split("."):
        place = getattr(place, part, None)
    return place if callable(place) else None


def _tensor_in(o: Any) -> bool:
    """Whether there is a tensor among nested arguments."""
    if isinstance(o, (list, tuple)):
        return any(map(_tensor_in, o))
    return isinstance(o, fg.Tensor)


def _tracked_in(o: Any) -> bool:
    return any(map(_tracked_in, o)) if isinstance(o, (list, tuple)) else getattr(o, "requires_grad", False)


# Universal functions


def ufunc(f: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """What `__array_ufunc__` answers."""
    out = options.pop("out", ())
    for o in (*inputs, *out):
        if type(o) not in _KNOWN and not isinstance(o, (fg.Tensor, np.ndarray)) and hasattr(type(o), "__array_ufunc__"):
            return NotImplemented
    if method == "__call__" and not options and not out and f in _PLAIN:
        return _PLAIN[f](*inputs)
    compute = _METHODS.get(method)
    if compute is None:
        raise TypeError(f"numpy.{f.__name__}.{method} has no counterpart for Tensors")
    result = compute(f, *(_operand(o) for o in inputs), **options)
    return _deliver(f, result, out)


# Types that need no look at their attributes, and the functions of ufuncs that were called with nothing but tensors,
# arrays and numbers: the short way.
_KNOWN = {fg.Tensor, _core.PaddleTensor, _core.TorchTensor, np.ndarray, float, int, bool, np.float64, np.float32}
_PLAIN: dict[np.ufunc, Callable[..., Any]] = {}


def _operand(o: Any) -> Any:
    """Lists become arrays; numbers stay weak."""
    return np.asarray(o) if isinstance(o, (list, tuple)) else o


def _of(f: np.ufunc, names: dict[str, str], what: str) -> Callable[..., Any]:
    found = _native(names[f.__name__]) if f.__name__ in names else None
    if found is None:
        raise TypeError(
            f"{what} has no counterpart for Tensors; {what}(numpy.asarray(x)) computes on the values, "
            "without a gradient"
        )
    return found


def _call(f: np.ufunc, *inputs: Any, where: Any = True, dtype: Any = None, **options: Any) -> Any:
    if where is not True:
        raise TypeError(f"numpy.{f.__name__}: where= is not taken for Tensors; write where(mask, x, y)")
    _no_more(f, options)
    if dtype is not None:
        inputs = tuple(o.astype(dtype) if hasattr(o, "astype") else o for o in inputs)
    if f.__name__ == "divmod":
        return _call(np.floor_divide, *inputs), _call(np.remainder, *inputs)
    names = RENAMED if f.__name__ in RENAMED else {name: name for name in SAME & {f.__name__}}
    native = _of(f, names, f"numpy.{f.__name__}")
    _PLAIN[f] = lambda *inputs: native(*map(_operand, inputs))
    return native(*inputs)


def _reduce(f: np.ufunc, x: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False, **options: Any) -> Any:
    _no_more(f, options)
    g = _of(f, REDUCE, f"numpy.{f.__name__}.reduce")
    return g(x if dtype is None else x.astype(dtype), axis=axis, keepdims=keepdims)


def _accumulate(f: np.ufunc, x: Any, axis: int = 0, dtype: Any = None, **options: Any) -> Any:
    _no_more(f, options)
    g = _of(f, ACCUMULATE, f"numpy.{f.__name__}.accumulate")
    return g(x if dtype is None else x.astype(dtype), axis=axis)


def _outer(f: np.ufunc, x: Any, y: Any, **options: Any) -> Any:
    rank = np.ndim(y)
    if isinstance(x, (fg.Tensor, np.ndarray)) and rank:
        x = x.reshape((*x.shape, *[1] * rank))
    return _call(f, x, y, **options)


_METHODS: dict[str, Callable[..., Any]] = {
    "__call__": _call,
    "reduce": _reduce,
    "accumulate": _accumulate,
    "outer": _outer,
}


def _no_more(f: np.ufunc, options: dict[str, Any]) -> None:
    """Refuses options that would change the result and are not taken."""
    neutral: dict[str, Any] = {"casting": "same_kind", "order": "K", "subok": True, "where": True}
    for name, value in options.items():
        if not _same(value, neutral.get(name)):
            raise TypeError(f"numpy.{f.__name__}: {name}= is not taken for Tensors")


def _same(value: Any, neutral: Any) -> bool:
    """Whether an option was left as it is: arrays are never."""
    if value is None or value is np._NoValue or value is neutral:
        return True
    return isinstance(value, (bool, int, float, str)) and bool(value == neutral)


def _deliver(f: Any, result: Any, out: tuple[Any, ...]) -> Any:
    """Puts a result where `out=` asks for it."""
    if not out or out[0] is None:
        return result
    results = result if isinstance(result, tuple) else (result,)
    for target, value in zip(out, results, strict=True):
        if isinstance(target, fg.Tensor):
            cast(Any, target)[...] = value
        elif getattr(value, "requires_grad", False):
            raise TypeError(
                f"numpy.{f.__name__}: a tracked result cannot be written into an ndarray, where its gradient would "
                "be lost; leave out= away, or detach() the inputs"
            )
        else:
            np.copyto(target, value, casting="same_kind")
    return out if len(out) > 1 else out[0]


# The other functions


def function(f: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answers `__array_function__`.

    A function that this library has too is called here and keeps the graph. NumPy computes the others on read-only
    views of the values. That would lose a gradient without a word, so it raises `TypeError` where a tensor is tracked
    and the result could have a derivative.
    """
    for t in types:
        if not issubclass(t, (fg.Tensor, np.ndarray)):
            return NotImplemented
    special = _SPECIAL.get(f)
    if special is not None:
        return special(*args, **kwargs)
    name = _name(f)
    if name in FUNCTIONS:
        target, _, parameters = FUNCTIONS[name].partition(": ")
        native = _native(target)
        if native is not None:
            return _translated(f, name, native, parameters, args, kwargs)
    if name not in NO_DERIVATIVE and _core.is_grad_enabled() and _tracked_in([*args, *kwargs.values()]):
        raise TypeError(
            f"numpy.{name} has no gradient for Tensors; detach() the tensors that require one "
            f"(numpy.{name}(x.detach())) to compute on the values alone"
        )
    return f(*_values(args), **{k: _values(v) for k, v in kwargs.items()})


def _name(f: Callable[..., Any]) -> str:
    module = getattr(f, "__module__", None) or "numpy"
    prefix = module.removeprefix("numpy").lstrip(".")
    return f"{prefix}.{f.__name__}" if prefix in ("linalg", "fft") else f.__name__


@cache
def _defaults(f: Callable[..., Any], name: str) -> dict[str, Any]:
    """The parameters of a NumPy function in order, with their defaults."""
    if name in SIGNATURES:
        return dict.fromkeys(SIGNATURES[name].split())
    return {p.name: p.default for p in inspect.signature(f).parameters.values()}


@cache
def _shared(parameters: str) -> tuple[list[str], list[tuple[str, str]]]:
    """A row's parameters: those given by position, and (theirs, ours) of those given by name."""
    first, _, rest = parameters.partition("|")
    named = [p.partition(">") for p in rest.split()]
    return first.split(), [(theirs, ours or theirs) for theirs, _, ours in named]


def _translated(
    f: Callable[..., Any],
    name: str,
    native: Callable[..., Any],
    parameters: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """The call with NumPy's arguments as a call of ours."""
    defaults = _defaults(f, name)
    # NumPy has checked the arguments against its signature before it asks us.
    given = dict(zip(defaults, args, strict=False)) | kwargs
    first, named = _shared(parameters)
    positional = [_argument(given.pop(p)) for p in first if p in given]
    keywords = {}
    for theirs, ours in named:
        if theirs in given:
            value = given.pop(theirs)
            if value is not np._NoValue and not (value is None and theirs != "axis"):
                keywords[ours] = value
    out = given.pop("out", None)
    for p, value in given.items():
        if not _same(value, defaults[p]):
            raise TypeError(f"numpy.{name}: {p}= is not taken for Tensors")
    return _deliver(f, native(*positional, **keywords), () if out is None else (out,))


def _argument(o: Any) -> Any:
    """Numbers and arrays among the tensors of a list become tensors."""
    if isinstance(o, (list, tuple)) and _tensor_in(o):
        return [p if isinstance(p, fg.Tensor) else fg.tensor(p) for p in o]
    return o


def _values(o: Any) -> Any:
    """NumPy arrays in place of tensors."""
    if isinstance(o, fg.Tensor):
        return np.asarray(o)
    if isinstance(o, (list, tuple)) and _tensor_in(o):
        parts = [_values(p) for p in o]
        return type(o)(*parts) if hasattr(o, "_fields") else type(o)(parts)
    return o


def _transpose(a: Any, axes: Any = None) -> Any:
    return a.T if axes is None else fg.permute_dims(a, axes)


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    """NumPy's product: of vectors and matrices the matrix product, of more axes a last with a second-to-last one."""
    rank = np.ndim(a), np.ndim(b)
    if 0 in rank:
        result = fg.multiply(a, b)
    elif max(rank) <= 2:
        result = fg.matmul(a, b)
    else:
        result = fg.tensordot(a, b, axes=([-1], [max(-2, -rank[1])]))
    return _deliver(np.dot, result, () if out is None else (out,))


def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Any:
    """NumPy's differences: a number prepended or appended stands for a slice."""

    def part(o: Any) -> Any:
        if o is np._NoValue or np.ndim(o):
            return None if o is np._NoValue else o
        shape = list(a.shape)
        shape[axis] = 1
        return fg.broadcast_to(fg.tensor(o, dtype=a.dtype), shape)

    return fg.diff(a, n, axis, part(prepend), part(append))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """NumPy's norm: of vectors, or (with an order, along two axes) of matrices."""
    rank = np.ndim(x)
    axes = (axis,) if isinstance(axis, int) else tuple(range(rank)) if axis is None else tuple(axis)
    if ord is None or len(axes) == 1:
        return fg.norm(x, 2.0 if ord is None else ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if ord in ("fro", "f"):
        return fg.norm(x, 2.0, axes, keepdims)
    x = fg.moveaxis(x, axes, (-2, -1))
    best = fg.max if ord == "nuc" or ord > 0 else fg.min
    if ord in (1, -1):
        result = best(fg.sum(fg.abs(x), -2), -1)
    elif ord in (np.inf, -np.inf):
        result = best(fg.sum(fg.abs(x), -1), -1)
    elif ord in (2, -2):
        result = best(fg.linalg.svdvals(x), -1)
    elif ord == "nuc":
        result = fg.sum(fg.linalg.svdvals(x), -1)
    else:
        raise ValueError("Invalid norm order for matrices.")
    return fg.expand_dims(result, axes) if keepdims else result


def _einsum(*operands: Any, out: Any = None, optimize: Any = False, **options: Any) -> Any:
    if options:
        raise TypeError(f"numpy.einsum: {', '.join(options)} not taken for Tensors")
    native = _native("einsum")
    if native is None:
        return np.einsum(*_values(operands), optimize=optimize)
    return _deliver(np.einsum, native(*operands), () if out is None else (out,))


_SPECIAL: dict[Callable[..., Any], Callable[..., Any]] = {
    np.transpose: _transpose,
    np.dot: _dot,
    np.einsum: _einsum,
    np.linalg.norm: _norm,
    np.diff: _diff,
    np.shape: lambda a: tuple(a.shape),
    np.ndim: lambda a: a.ndim,
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.isrealobj: lambda x: x.dtype.kind != "c",
}
