"""Stand-ins for the classes that pickles of unknown origin name.

They can be called, but cannot be changed, and cannot make NumPy crash.
"""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

_TEXT = re.compile(r"b1|[iu][1248]|f(2|4|8|16)|c(8|16|32)|[SU][0-9]{1,9}")


class Locked:
    """A function or class of the library in a pickle, which could else set attributes of it for the whole program."""

    __slots__ = ("real",)

    def __init__(self, real: Callable[..., Any]) -> None:
        self.real = real

    def __call__(self, *args: Any) -> Any:
        return self.real(*args)

    def __setstate__(self, state: object) -> NoReturn:
        raise pickle.UnpicklingError("the file changes a function or a class that it names")


class _Dtype:
    """A dtype of NumPy. Its state gives the order of its bytes; NumPy would also believe sizes and flags in it."""

    __slots__ = ("dtype",)

    def __init__(self, text: Any, align: object = False, copy: object = False) -> None:
        if not isinstance(text, str) or not _TEXT.fullmatch(text):
            raise pickle.UnpicklingError(f"the file has an array of the dtype {text!r:.40}")
        self.dtype: np.dtype[Any] = np.dtype(text)

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise pickle.UnpicklingError("the file has a dtype without an order of bytes")
        self.dtype = self.dtype.newbyteorder(state[1])


class _Array:
    """An array of NumPy, once its state is known."""

    __slots__ = ("array",)

    def __init__(self, *args: object) -> None:
        self.array: np.ndarray[Any, Any] | None = None

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, is_fortran, data = state
        self.array = _array(data, dtype, shape, "F" if is_fortran else "C")


def _array(data: Any, dtype: Any, shape: Any, order: Any) -> np.ndarray[Any, Any]:
    if isinstance(data, str):
        # Python 2 wrote bytes as text.
        data = data.encode("latin1")
    if not isinstance(dtype, _Dtype) or not isinstance(data, bytes | bytearray) or not isinstance(shape, tuple):
        raise pickle.UnpicklingError("the file has an array without a dtype, a shape or bytes")
    if not all(type(n) is int and n >= 0 for n in shape) or len(data) != math.prod(shape) * dtype.dtype.itemsize:
        raise pickle.UnpicklingError(f"the file has {len(data)} bytes for an array of shape {shape!r:.80}")
    return np.ndarray(shape, dtype.dtype, data, order="F" if order == "F" else "C").copy()


def _scalar(dtype: Any, data: Any) -> Any:
    return _array(data, dtype, (), "C")[()]


#: What stands for the names of NumPy in a pickle of arrays. The results go through :func:`finished`.
NUMPY: dict[tuple[str, str], Locked] = {
    ("numpy", "dtype"): Locked(_Dtype),
    ("numpy", "ndarray"): Locked(_Array),
    ("numpy._core.multiarray", "_reconstruct"): Locked(_Array),
    ("numpy._core.multiarray", "scalar"): Locked(_scalar),
    ("numpy._core.numeric", "_frombuffer"): Locked(_array),
}


def finished(value: Any) -> Any:
    """The array or dtype that a stand-in has become; another value as it is."""
    if isinstance(value, _Array):
        if value.array is None:
            raise pickle.UnpicklingError("the file has an array without elements and shape")
        return value.array
    return value.dtype if isinstance(value, _Dtype) else value
