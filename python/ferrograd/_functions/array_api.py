"""The functions of the array API standard that are no ops, or other ones in the core, and those that SciPy asks for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import reduce
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor, native
from ferrograd._kit.arguments import typed
from ferrograd._tensor import dtypes
from ferrograd._tensor.device import DEVICES, Device

__all__ = [
    "astype",
    "broadcast_arrays",
    "broadcast_shapes",
    "can_cast",
    "cumulative_prod",
    "cumulative_sum",
    "finfo",
    "iinfo",
    "isdtype",
    "meshgrid",
    "result_type",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_GROUPS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}


class _Info:
    """The result of ``__array_namespace_info__()``."""

    def capabilities(self) -> dict[str, Any]:
        """Optional features: boolean indexing and data-dependent shapes are supported."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """The device of new tensors."""
        return DEVICES[0]

    def devices(self) -> tuple[Device, ...]:
        """All devices."""
        return DEVICES[:1]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of new tensors for which none is given."""
        whole, real = np.dtype("int64"), np.dtype(native.get_default_dtype())
        complex_ = np.result_type(real, np.complex64)
        return {"real floating": real, "complex floating": complex_, "integral": whole, "indexing": whole}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """The supported dtypes by name: of one kind, of a tuple of kinds, or of all."""
        kinds = kind if isinstance(kind, tuple) else tuple(_KINDS) if kind is None else (kind,)
        found: dict[str, np.dtype[Any]] = {}
        for k in kinds:
            if k not in _KINDS and k not in _GROUPS:
                raise ValueError(f"dtypes: {k!r} is no kind of dtype")
            for part in _GROUPS.get(k, (k,)):
                found |= {name: np.dtype(name) for name in _KINDS[part]}
        return found


def __array_namespace_info__() -> _Info:
    """Inspection of the namespace, as the array API standard defines it.

    >>> fg.__array_namespace_info__().capabilities()["boolean indexing"]
    True
    """
    return _Info()


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype of a result computed from these tensors, dtypes and Python numbers.

    >>> fg.result_type(fg.tensor([1, 2]), fg.float32, 2.5)
    dtype('float32')
    """
    if not arrays_and_dtypes:
        raise _core.ArgumentError("result_type: at least one array or dtype is expected")
    numbers = [x for x in arrays_and_dtypes if isinstance(x, (bool, int, float, complex))]
    dtypes = [getattr(x, "dtype", x) for x in arrays_and_dtypes if not isinstance(x, (bool, int, float, complex))]
    empty = [_core.make([], dtype, False, 0) for dtype in dtypes]
    promoted = reduce(_chosen, [*empty, *numbers])
    return _core.make(promoted, None, False, 0).dtype


def _chosen(x: Any, y: Any) -> Any:
    return native.where(_core.make([], "bool", False, 0), x, y)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether a tensor or dtype keeps its values in another dtype, by the rules of promotion.

    >>> fg.can_cast(fg.int32, fg.int64), fg.can_cast(fg.int64, fg.int32)
    (True, False)
    """
    return bool(result_type(from_, to) == np.dtype(to))


#: The letters that NumPy has for the dtypes of a kind.
_LETTERS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind (``"real floating"``, ``"integral"``, …), is a dtype, or one of a tuple of these.

    >>> fg.isdtype(fg.float32, "real floating"), fg.isdtype(fg.int64, ("bool", fg.int32))
    (True, False)
    """
    dtype = np.dtype(dtype)
    # NumPy has this function since version 2.
    for one in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(one, str) and one not in _LETTERS:
            raise ArgumentError(f"isdtype: {one!r} is no kind of dtypes; the kinds are {', '.join(_LETTERS)}")
        if dtype.kind in _LETTERS[one] if isinstance(one, str) else dtype == np.dtype(one):
            return True
    return False


class FloatInfo(NamedTuple):
    """The limits of a float dtype, as Python's numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    smallest_subnormal: float
    tiny: float
    resolution: float
    dtype: Any


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a float dtype, of the parts of a complex one, or of the dtype of a tensor.

    >>> fg.finfo(fg.float32).bits
    32
    """
    found: Any = dtypes.finfo(type)
    limits = {name: float(getattr(found, name)) for name in FloatInfo._fields if name not in ("bits", "dtype")}
    dtype = dtypes.bfloat16 if found.dtype == "bfloat16" else np.dtype(found.dtype)
    return FloatInfo(bits=found.bits, dtype=dtype, **limits)


def iinfo(type: Any, /) -> np.iinfo[Any]:
    """The limits of an integer dtype, or of the dtype of a tensor: ``min``, ``max``, ``bits``.

    >>> fg.iinfo(fg.int8).max
    127
    """
    return np.iinfo(getattr(type, "dtype", type))


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that these shapes broadcast to.

    >>> fg.broadcast_shapes((3, 1), (2,))
    (3, 2)
    """
    return np.broadcast_shapes(*shapes)


def astype(x: Tensor, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """The elements converted to another dtype. With ``copy=False`` a tensor of that dtype is returned as it is.

    >>> fg.astype(fg.tensor([1.5, -1.5]), fg.int64).tolist()
    [1, -1]
    """
    if device is not None:
        _core.check_device("astype", device)
    found = native.astype(x, dtype)
    if not isinstance(x, Tensor) or found.dtype != x.dtype:
        return found
    return x.clone() if copy else x


def broadcast_arrays(*arrays: Any) -> tuple[Tensor, ...]:
    """The tensors broadcast to their common shape, as views.

    >>> [x.shape for x in fg.broadcast_arrays(fg.ones((2, 1)), fg.ones((3,)))]
    [(2, 3), (2, 3)]
    """
    return tuple(native.broadcast_arrays(_listed(arrays)))


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """The coordinates of a grid, one tensor for each axis, as views.

    ``indexing`` is 'xy' (the first two axes swapped, as on a plot) or 'ij'.

    >>> [t.shape for t in fg.meshgrid(fg.ones((2,)), fg.ones((3,)), indexing="ij")]
    [(2, 3), (2, 3)]
    """
    return tuple(native.meshgrid(_listed(arrays), indexing))


def _listed(arrays: tuple[Any, ...]) -> list[Any]:
    """The tensors, which may have been given as one list."""
    return list(arrays[0] if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) else arrays)


class UniqueAll(NamedTuple):
    """What `unique_all` finds."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` finds."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` finds."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /, *, equal_nan: bool = False) -> UniqueAll:
    """The distinct elements in rising order, where each first occurs, which of them each element is, and how often.

    NaNs are one element each, or one together if ``equal_nan``. The values have gradients.

    >>> [part.tolist() for part in fg.unique_all(fg.tensor([3.0, 1.0, 3.0]))]
    [[1.0, 3.0], [1, 0], [1, 0, 1], [1, 2]]
    """
    return UniqueAll(*native.unique_all(x, equal_nan))


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct elements in rising order, and how often each occurs.

    >>> fg.unique_counts(fg.tensor([3, 1, 3])).counts.tolist()
    [1, 2]
    """
    values, _, _, counts = native.unique_all(x)
    return UniqueCounts(values, counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct elements in rising order, and which of them each element is.

    >>> fg.unique_inverse(fg.tensor([3, 1, 3])).inverse_indices.tolist()
    [1, 0, 1]
    """
    values, _, inverse, _ = native.unique_all(x)
    return UniqueInverse(values, inverse)


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct elements in rising order.

    >>> fg.unique_values(fg.tensor([3, 1, 3])).tolist()
    [1, 3]
    """
    return native.unique_all(x)[0]


@typed(x=Tensor)
def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The sums of the elements up to each one along an axis, which may be left out for one axis.

    With ``include_initial`` the first result is 0.

    >>> fg.cumulative_sum(fg.tensor([1.0, 2.0, 3.0]), include_initial=True).tolist()
    [0.0, 1.0, 3.0, 6.0]
    """
    return _cumulative(native.cumsum, native.zeros_like, x, axis, dtype, include_initial)


@typed(x=Tensor)
def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The products of the elements up to each one along an axis, which may be left out for one axis.

    With ``include_initial`` the first result is 1.

    >>> fg.cumulative_prod(fg.tensor([1.0, 2.0, 3.0])).tolist()
    [1.0, 2.0, 6.0]
    """
    return _cumulative(native.cumprod, native.ones_like, x, axis, dtype, include_initial)


def _cumulative(
    scan: Callable[..., Any], first: Callable[..., Any], x: Tensor, axis: int | None, dtype: Any, include_initial: bool
) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise _core.ArgumentError(f"cumulative: axis is needed for a tensor of {x.ndim} axes")
        axis = 0
    found: Tensor = scan(x, axis=axis, dtype=dtype)
    if not include_initial:
        return found
    shape = list(found.shape)
    shape[axis] = 1
    start = native.cast(first(found.sum()), found.dtype)
    return native.concat([native.broadcast_to(start, shape), found], axis)


_SAME = [
    "airy_ai",
    "betainc",
    "betaln",
    "cbrt",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "gammainc",
    "gammaincc",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "log_ndtr",
    "logit",
    "multigammaln",
    "ndtr",
    "ndtri",
    "psi",
    "sinc",
    "xlog1py",
    "xlogy",
]
_OTHERS = {
    "expit": "sigmoid",
    "j0": "bessel_j0",
    "j1": "bessel_j1",
    "k0": "modified_bessel_k0",
    "k0e": "scaled_modified_bessel_k0",
    "k1": "modified_bessel_k1",
    "k1e": "scaled_modified_bessel_k1",
    "log_expit": "log_sigmoid",
    "y0": "bessel_y0",
    "y1": "bessel_y1",
}


def _stdtrit(df: Any, p: Any) -> Any:
    """SciPy's own, of numbers. Its function for other arrays searches for a root, whose gradient would be wrong."""
    stdtrit = importlib.import_module("scipy.special").stdtrit
    return _core.make(stdtrit(np.asarray(df), np.asarray(p)), None, False, 0)


_NAMES = _OTHERS | {name: name for name in _SAME}
#: The functions of ``scipy.special`` that this library has. SciPy looks here where ``SCIPY_ARRAY_API`` is set.
special = SimpleNamespace(**{name: getattr(native, own) for name, own in _NAMES.items()}, stdtrit=_stdtrit)
