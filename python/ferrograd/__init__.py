"""Automatic differentiation to any order."""

from . import _core

Tensor = _core.Tensor
globals().update(_core.native)


def tensor(data, dtype=None, requires_grad=False):
    return _core.make(data, dtype, requires_grad, 0)
