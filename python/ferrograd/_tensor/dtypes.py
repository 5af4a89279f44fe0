"""Dtypes that are objects of a dialect, and bfloat16 beside NumPy, which does not have it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._kit.dialect import NATIVE, PADDLE, TORCH

try:
    from ml_dtypes import bfloat16 as _bfloat16  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    NUMPY_BFLOAT16: Any = None
else:
    NUMPY_BFLOAT16 = np.dtype(_bfloat16)

_NAMES = (
    *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
#: The kind and the bytes of an element of torch's dtypes that no tensor here has. Programs compare dtypes with them.
_FOREIGN = {
    "complex32": ("c", 4),
    **{f"float8_{form}": ("f", 1) for form in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")},
    "float4_e2m1fn_x2": ("f", 1),
    **{"quint8": ("u", 1), "qint8": ("i", 1), "qint32": ("i", 4), "quint4x2": ("u", 1), "quint2x4": ("u", 1)},
    **{f"{kind}{bits}": (kind[0], 1) for kind in ("int", "uint") for bits in range(1, 8)},
    **{"bits8": ("u", 1), "bits16": ("u", 2), "bits1x8": ("u", 1), "bits2x4": ("u", 1), "bits4x2": ("u", 1)},
}
#: NumPy's dtypes by name, and the kind and the bytes of an element of all dtypes.
_NUMPY = {name: np.dtype(name) for name in _NAMES if name != "bfloat16"} | {"bfloat16": NUMPY_BFLOAT16}
_FORMS = {name: (of.kind, of.itemsize) for name, of in _NUMPY.items() if name != "bfloat16"}
_FORMS |= {"bfloat16": ("f", 2), **_FOREIGN}
_PREFIXES = {TORCH: "torch.", PADDLE: "paddle."}
_COMPLEX = {"float32": "complex64", "float64": "complex128"}


class dtype:
    """A dtype as torch and Paddle show it. It equals NumPy's, hashes like it, and NumPy takes it for its own.

    Attributes that torch's dtypes do not have are looked up in NumPy's.

    >>> import ferrograd.torch as torch
    >>> torch.float32, torch.float32 == np.float32, np.zeros(2, dtype=torch.float32).dtype
    (torch.float32, True, dtype('float32'))
    """

    __slots__ = ("_dialect", "name")

    def __init__(self, name: str, dialect: int) -> None:
        self.name, self._dialect = name, dialect

    def __repr__(self) -> str:
        return _PREFIXES[self._dialect] + self.name if self._dialect in _PREFIXES else f"dtype({self.name})"

    def __str__(self) -> str:
        return repr(self) if self._dialect in _PREFIXES else self.name

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype. That of bfloat16 is in the package ``ml_dtypes``."""
        found: np.dtype[Any] | None = _NUMPY.get(self.name)
        if found is None:
            raise AttributeError(f"NumPy has no {self.name}")
        return found

    @property
    def _is_numpy(self) -> bool:
        """Whether NumPy has this dtype."""
        return _NUMPY.get(self.name) is not None

    @property
    def kind(self) -> str:
        """NumPy's letter for the kind: ``f`` for floats, ``c`` for complex numbers, ``i``, ``u`` and ``b``."""
        return _FORMS[self.name][0]

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return _FORMS[self.name][1]

    @property
    def is_floating_point(self) -> bool:
        """Whether it is a dtype of floats."""
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        """Whether it is a dtype of complex numbers."""
        return self.kind == "c"

    @property
    def is_signed(self) -> bool:
        """Whether it has negative numbers."""
        return self.kind in "fci"

    def to_real(self) -> Any:
        """The dtype of the parts of a complex number; a float dtype itself."""
        parts = {c: real for real, c in _COMPLEX.items()} | {"complex32": "float16"}
        if self.kind not in "fc":
            raise RuntimeError(f"{self} is no dtype of floats or complex numbers")
        return dtype_of(parts.get(self.name, self.name), self._dialect)

    def to_complex(self) -> Any:
        """The dtype of complex numbers whose parts have this dtype."""
        if self.kind == "c":
            return self
        if self.name not in _COMPLEX:
            raise RuntimeError(f"no dtype of complex numbers has parts of {self}")
        return dtype_of(_COMPLEX[self.name], self._dialect)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, dtype):
            return self.name == other.name
        if isinstance(other, str):
            return other in (self.name, repr(self))
        if other is None or not self._is_numpy:
            return False
        try:
            return self.dtype == np.dtype(other)  # type: ignore[call-overload]
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.dtype if self._is_numpy else self.name)

    def __getattr__(self, name: str) -> Any:
        # Python also asks here for what `dtype` itself has refused.
        if name.startswith("__") or name == "dtype":
            raise AttributeError(f"{self} has no attribute {name!r}")
        return getattr(self.dtype, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype_of, (self.name, self._dialect)


_MADE: dict[int, dict[str, Any]] = {
    dialect: {name: dtype(name, dialect) for name in _NAMES} for dialect in (NATIVE, PADDLE, TORCH)
}
_MADE[TORCH].update({name: dtype(name, TORCH) for name in _FOREIGN})


def dtype_of(name: str, dialect: int) -> Any:
    """The one object for a dtype in a dialect. Natively bfloat16 is the one of ``ml_dtypes`` where it is installed."""
    if name == "bfloat16" and dialect not in _PREFIXES and NUMPY_BFLOAT16 is not None:
        return NUMPY_BFLOAT16
    return _MADE[dialect][name]


#: bfloat16 in the native namespace.
bfloat16 = dtype_of("bfloat16", NATIVE)


def kind_of(wanted: Any) -> str:
    """NumPy's letter for the kind of anything that names a dtype."""
    if isinstance(wanted, str) and wanted.rpartition(".")[2] == "bfloat16":
        return "f"
    return str((wanted if isinstance(wanted, (np.dtype, dtype)) else np.dtype(wanted)).kind)


class _SmallInfo:
    """The limits of a float dtype of 8 bits, by the bits of its exponent and of its fraction and its largest number."""

    def __init__(self, name: str, exponent: int, fraction: int, largest: float) -> None:
        self.bits, self.dtype = 8, name
        self.nexp, self.nmant = exponent, fraction
        self.eps, self.resolution = 2.0**-fraction, 1.0
        self.max, self.min = largest, -largest
        bias = 2 ** (exponent - 1) - ("uz" not in name)
        self.tiny = self.smallest_normal = 2.0 ** (1 - bias)
        self.smallest_subnormal = 2.0 ** (1 - bias - fraction)


#: The bits of the exponent and of the fraction, and the largest number, of float dtypes of 8 bits.
_SMALL = {
    "float8_e4m3fn": (4, 3, 448.0),
    "float8_e4m3fnuz": (4, 3, 240.0),
    "float8_e5m2": (5, 2, 57344.0),
    "float8_e5m2fnuz": (5, 2, 57344.0),
}


class _BFloat16Info:
    """The limits of bfloat16."""

    bits, dtype = 16, "bfloat16"
    eps, resolution, nmant, nexp = 2.0**-7, 0.01, 7, 8
    max, min = float.fromhex("0x1.fep127"), -float.fromhex("0x1.fep127")
    tiny = smallest_normal = 2.0**-126
    smallest_subnormal = 2.0**-133


def finfo(of: Any) -> Any:
    """The limits of a float dtype, or of the dtype of a tensor."""
    found = getattr(of, "dtype", of) if not isinstance(of, dtype) else of
    name = str(found).rpartition(".")[2]
    if name in _SMALL:
        return _SmallInfo(name, *_SMALL[name])
    return _BFloat16Info() if name == "bfloat16" else np.finfo(found)


def bits_of_bfloat16(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bits of bfloat16 numbers that are given in float32."""
    return (values.view(np.uint32) >> 16).astype(np.uint16)


def bfloat16_of_bits(bits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """bfloat16 numbers, given by their bits, in float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
