"""Python's containers and questions about types. Containers are Python's own inside of a derivative too."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ferrograd._core import Tensor
from ferrograd._kit import public as _public
from ferrograd.autograd._spaces import ContainerVSpace

__all__ = ["DictVSpace", "ListVSpace", "TupleVSpace", "dict", "isinstance", "list", "tuple", "type"]

isinstance_, type_ = builtins.isinstance, builtins.type
dict, list, tuple = builtins.dict, builtins.list, builtins.tuple
dict_, list_, tuple_ = dict, list, tuple
ListVSpace = TupleVSpace = DictVSpace = SequenceVSpace = NamedTupleVSpace = ContainerVSpace
#: The containers that differentiated functions get.
SequenceBox, DictBox = (list, tuple), dict


def isinstance(x: Any, classes: Any) -> bool:
    """``isinstance``, for which a tensor inside of a derivative is an array or a number of NumPy's."""
    if isinstance_(x, classes) or not isinstance_(x, Tensor):
        return isinstance_(x, classes)
    return issubclass(type(x), classes)


def type(x: Any) -> Any:
    """``type``, which is NumPy's for a tensor inside of a derivative."""
    if not isinstance_(x, Tensor):
        return type_(x)
    return np.ndarray if x.ndim else x.dtype.type


__dir__ = _public.names(globals())
