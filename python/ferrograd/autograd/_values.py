"""What goes into a derivative and what comes out of it: arrays and numbers of NumPy become tensors, and these become
arrays again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._kit import tree as _tree
from ferrograd._kit.dialect import NATIVE
from ferrograd._numpy.functions import holds_tensor as holds_tensor

FLOAT, COMPLEX = np.dtype("float64"), np.dtype("complex128")
#: The dtype that stands for one that tensors do not have. Integers are differentiated as floats.
_NEAREST = {"f": FLOAT, "c": COMPLEX, "i": FLOAT, "u": FLOAT, "b": FLOAT}


def array(value: Any) -> np.ndarray[Any, Any]:
    """A number or an array of NumPy's as an array of a dtype that tensors have."""
    found = np.asarray(value)
    if found.dtype.kind not in _NEAREST:
        raise TypeError(f"Can't differentiate w.r.t. an array of dtype {found.dtype}")
    wide = found.dtype.itemsize > (16 if found.dtype.kind == "c" else 8)
    return found.astype(_NEAREST[found.dtype.kind]) if wide else found


def constant(value: Any) -> Tensor:
    """A tensor, a number, an array, or a list of these as a tensor: Python's floats are of float64."""
    if isinstance(value, Tensor):
        return value
    made: Tensor = _core.make(value if holds_tensor(value) else array(value), None, False, NATIVE)
    return made


def leaf(value: Any) -> Tensor:
    """The tensor that stands for a value inside of a derivative.

    Raises:
        TypeError: nothing is differentiated with respect to values of this type, such as an ``int``.
    """
    kind = type(value)
    if kind is float or kind is complex:
        made: Tensor = _core.make(value, FLOAT if kind is float else COMPLEX, True, NATIVE)
        return made
    if isinstance(value, Tensor):
        made = _core.fresh(value if value.dtype.kind in "fc" else value.astype(FLOAT))
        return made
    if not isinstance(value, (np.ndarray, np.inexact, complex, float)):
        raise TypeError(f"Can't differentiate w.r.t. type {kind}")
    found = array(value)
    made = _core.make(found if found.dtype.kind in "fc" else found.astype(FLOAT), None, True, NATIVE)
    return made


def is_tracked(value: Any) -> bool:
    """Whether a value depends on what is differentiated, or is a structure with a part that does."""
    if isinstance(value, Tensor):
        return value.requires_grad
    if isinstance(value, (list, tuple)):
        return any(map(is_tracked, value))
    return isinstance(value, dict) and any(map(is_tracked, value.values()))


def numbers(x: Tensor) -> Any:
    """The numbers of a tensor as NumPy has them: an array that may be written to, or one of NumPy's scalars."""
    found = x.detach().numpy()
    return found.copy() if found.ndim else found[()]


def plain(value: Any) -> Any:
    """A value, or a structure of values, with NumPy's numbers in the place of tensors."""
    if isinstance(value, Tensor):
        return numbers(value)
    if isinstance(value, (list, tuple, dict)):
        return _tree.mapped(lambda x: numbers(x) if isinstance(x, Tensor) else x, value)
    return value


def untracked(value: Any) -> Any:
    """A value with NumPy's numbers in the place of tensors that depend on nothing that is differentiated.

    They stay tensors under ``func.vmap``, where each stands for many, and while a program is being made of a function.
    """

    def settle(x: Any) -> Any:
        if not isinstance(x, Tensor) or x.requires_grad:
            return x
        return x if _core.is_tracing() or _core.batches([x]) else numbers(x)

    return settle(value) if isinstance(value, Tensor) else _tree.mapped(settle, value)
