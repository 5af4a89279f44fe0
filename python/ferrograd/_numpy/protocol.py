"""``__array_ufunc__`` and ``__array_function__`` of tensors: NumPy's functions, computed by this library's own.

Results are tensors and differentiable. A NumPy function without a counterpart here runs on read-only arrays of the
values and returns what NumPy returns, unless that would drop a gradient.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, cast

import numpy as np

import ferrograd as fg
from ferrograd import _core
from ferrograd._numpy.functions import SPECIAL, deliver, holds_tensor, tensor
from ferrograd._numpy.table import (
    ACCUMULATE,
    ARRAYS,
    FILES,
    FUNCTIONS,
    NO_DERIVATIVE,
    REDUCE,
    RENAMED,
    SAME,
    SEQUENCES,
    SIGNATURES,
)


@cache
def native(path: str) -> Callable[..., Any]:
    """The function of this library with a dotted name below ``ferrograd``."""
    found: Any = fg
    for part in path.split("."):
        found = getattr(found, part)
    return cast(Callable[..., Any], found)


def _is_tracked(value: Any) -> bool:
    """Whether a value is a tensor that requires a gradient or a nested list or tuple with one."""
    if isinstance(value, (list, tuple)):
        return any(map(_is_tracked, value))
    return getattr(value, "requires_grad", False)


# Universal functions


def ufunc(f: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """``__array_ufunc__``: ``f(*inputs)`` or one of its methods ``reduce``, ``accumulate`` and ``outer``.

    Raises:
        TypeError: the ufunc, its method or one of its options has no counterpart for tensors.
    """
    out = options.pop("out", ())
    for o in (*inputs, *out):
        if type(o) not in _KNOWN and not isinstance(o, (fg.Tensor, np.ndarray)) and hasattr(type(o), "__array_ufunc__"):
            # Columns of pandas leave what they do with a tensor to the tensor.
            if not hasattr(type(o), "__pandas_priority__"):
                return NotImplemented
            inputs = tuple(np.asarray(x) if x is o else x for x in inputs)
    if method == "__call__" and not options and not out and f in _PLAIN:
        return _PLAIN[f](*inputs)
    compute = _METHODS.get(method)
    if compute is None:
        raise TypeError(f"numpy.{f.__name__}.{method} has no counterpart for Tensors")
    result = compute(f, *(_operand(o) for o in inputs), **options)
    return deliver(f, result, out)


# Types whose attributes need no look-up, and the functions of ufuncs called before without options: the fast path.
_KNOWN = {fg.Tensor, _core.PaddleTensor, _core.TorchTensor, np.ndarray, float, int, bool, complex}
_KNOWN |= {np.float64, np.float32}
_PLAIN: dict[np.ufunc, Callable[..., Any]] = {}


def _operand(value: Any) -> Any:
    """An operand of a ufunc: lists become arrays; Python numbers keep their weak dtype."""
    return np.asarray(value) if isinstance(value, (list, tuple)) else value


def _counterpart(f: np.ufunc, names: dict[str, str], what: str) -> Callable[..., Any]:
    """The function here that ``names`` has for a ufunc; ``what`` is NumPy's call in the error."""
    if f.__name__ not in names:
        if not hasattr(np, f.__name__):
            what = f"scipy.special.{f.__name__}"
        raise TypeError(
            f"{what} has no counterpart for Tensors; {what}(numpy.asarray(x.detach())) computes on the "
            "values, without a gradient"
        )
    return native(names[f.__name__])


def _call(f: np.ufunc, *inputs: Any, where: Any = True, dtype: Any = None, **options: Any) -> Any:
    if where is not True:
        raise TypeError(f"numpy.{f.__name__}: where= is not taken for Tensors; write where(mask, x, y)")
    _refuse_options(f, options)
    if dtype is not None:
        _check_kind(f, inputs, dtype)
        inputs = tuple(o.astype(dtype) if hasattr(o, "astype") else o for o in inputs)
    if f.__name__ == "divmod":
        return _call(np.floor_divide, *inputs), _call(np.remainder, *inputs)
    names = RENAMED if f.__name__ in RENAMED else {name: name for name in SAME & {f.__name__}}
    compute = _counterpart(f, names, f"numpy.{f.__name__}")
    _PLAIN[f] = lambda *inputs: compute(*map(_operand, inputs))
    result = compute(*inputs)
    if dtype is not None and str(result.dtype) != np.dtype(dtype).name:
        raise TypeError(f"numpy.{f.__name__}: dtype={np.dtype(dtype).name} is no dtype of its results")
    return result


def _reduce(f: np.ufunc, x: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False, **options: Any) -> Any:
    _refuse_options(f, options)
    compute = _counterpart(f, REDUCE, f"numpy.{f.__name__}.reduce")
    return compute(x if dtype is None else x.astype(dtype), axis=axis, keepdims=keepdims)


def _accumulate(f: np.ufunc, x: Any, axis: int = 0, dtype: Any = None, **options: Any) -> Any:
    _refuse_options(f, options)
    compute = _counterpart(f, ACCUMULATE, f"numpy.{f.__name__}.accumulate")
    made = compute(x if dtype is None else x.astype(dtype), axis=axis)
    # Scans for an extremum give its places, too.
    return made[0] if isinstance(made, tuple) else made


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


def _check_kind(f: np.ufunc, inputs: tuple[Any, ...], dtype: Any) -> None:
    """Raises where a cast to ``dtype`` would lose the fraction, the imaginary part or the sign of an input."""
    kinds = "buifc"
    for o in inputs:
        kind = o.dtype.kind if isinstance(o, fg.Tensor) else np.result_type(o).kind
        if kinds.find(kind) > kinds.find(np.dtype(dtype).kind):
            raise TypeError(f"numpy.{f.__name__}: an input cannot be cast to dtype={np.dtype(dtype).name}")


def _refuse_options(f: np.ufunc, options: dict[str, Any]) -> None:
    """Raises for an option of a ufunc that would change the result."""
    neutral: dict[str, Any] = {"casting": "same_kind", "order": "K", "subok": True, "where": True}
    for name, value in options.items():
        if not _is_default(value, neutral.get(name)):
            raise TypeError(f"numpy.{f.__name__}: {name}= is not taken for Tensors")


def _is_default(value: Any, default: Any) -> bool:
    """Whether an option has its default value. An array never has."""
    if value is None or value is np._NoValue or value is default:
        return True
    return isinstance(value, (bool, int, float, str)) and bool(value == default)


# The other functions


def function(f: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``__array_function__``: the function here that answers for ``f``, or ``f`` itself on arrays of the values.

    Raises:
        TypeError: the function here lacks an argument; or there is none, a tensor requires a gradient, and the result
            could have a derivative, which would be lost.
    """
    for t in types:
        if not issubclass(t, (fg.Tensor, np.ndarray)):
            return NotImplemented
    special = SPECIAL.get(f)
    if special is not None:
        return special(*args, **kwargs)
    name = _name(f)
    if name in FUNCTIONS:
        target, _, parameters = FUNCTIONS[name].partition(": ")
        return _translated(f, name, native(target), parameters, args, kwargs)
    if name not in NO_DERIVATIVE and _core.is_grad_enabled() and _is_tracked([*args, *kwargs.values()]):
        raise TypeError(
            f"numpy.{name} has no gradient for Tensors; detach() the tensors that require one "
            f"(numpy.{name}(x.detach())) to compute on the values alone"
        )
    values = _numbers if name in FILES else _constants
    return f(*values(args), **{k: values(v) for k, v in kwargs.items()})


def _name(f: Callable[..., Any]) -> str:
    """The name of a NumPy function below ``numpy``: ``linalg.inv``."""
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
def _parameters(row: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The parameters in a row of ``FUNCTIONS``: those passed by position, and pairs (theirs, ours) passed by name."""
    first, _, rest = row.partition("|")
    named = [p.partition(">") for p in rest.split()]
    return first.split(), [(theirs, ours or theirs) for theirs, _, ours in named]


def _translated(
    f: Callable[..., Any],
    name: str,
    compute: Callable[..., Any],
    row: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """A call of NumPy's ``f`` as a call of ``compute``, which takes the parameters in ``row``."""
    defaults = _defaults(f, name)
    # NumPy has checked the arguments against its signature before it calls the protocol.
    given = dict(zip(defaults, args, strict=False)) | kwargs
    first, named = _parameters(row)
    if name in SEQUENCES and isinstance(given[first[0]], fg.Tensor):
        given[first[0]] = list(given[first[0]])
    if name in ("cov", "corrcoef"):
        given[first[0]] = _variables(given[first[0]], given.pop("y", None), given.pop("rowvar", True))
    positional = [_argument(name, p, given.pop(p)) for p in first if p in given]
    keywords = {}
    for theirs, ours in named:
        if theirs in given:
            value = _argument(name, theirs, given.pop(theirs))
            if value is not np._NoValue and not (value is None and theirs != "axis"):
                keywords[ours] = value
    out = given.pop("out", None)
    for p, value in given.items():
        if not _is_default(value, defaults[p]):
            raise TypeError(f"numpy.{name}: {p}= is not taken for Tensors")
    return deliver(f, compute(*positional, **keywords), () if out is None else (out,))


def _variables(x: Any, y: Any, rowvar: Any) -> Any:
    """The variables of ``cov``, one a row: those of ``x``, and of ``y`` if it is given."""
    parts = [part if rowvar or part.ndim < 2 else part.T for part in map(tensor, [x] if y is None else [x, y])]
    return parts[0] if y is None else fg.concat([part.reshape((-1, part.shape[-1])) for part in parts])


def _argument(name: str, parameter: str, value: Any) -> Any:
    """An argument of a function here: lists in the place of arrays become tensors, and so do numbers and arrays beside
    tensors in a list of arrays."""
    if parameter in ARRAYS:
        a_number_too = name == "interp" or parameter == "condition"
        return tensor(value) if a_number_too or isinstance(value, (list, tuple)) else value
    if isinstance(value, (list, tuple)) and holds_tensor(value):
        return list(map(tensor, value))
    return value


def _numbers(value: Any, array: Callable[[Any], Any] = np.asarray) -> Any:
    """An argument of a NumPy function: tensors become arrays of their values."""
    if isinstance(value, fg.Tensor):
        return array(value)
    if isinstance(value, (list, tuple)) and holds_tensor(value):
        parts = [_numbers(p, array) for p in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _constants(value: Any) -> Any:
    """An argument of a NumPy function through which no gradient flows."""
    return _numbers(value, lambda x: np.asarray(x.detach()))
