"""The contexts in which the transforms of torch run the functions that they are given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ferrograd import _core
from ferrograd._core import Tensor

__all__ = ["forward", "other", "reverse"]

#: The context of a transform that does not differentiate.
other = _core.Transforming(False)

_NO_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks: enter them around "
    "the backward pass of torch.autograd, or call checkpoint"
)


@contextmanager
def forward(given: list[Tensor]) -> Iterator[None]:
    """The context of a transform of forward mode. Its function may write to these tensors, which it is given.

    Tangents pass through ``no_grad`` there, and gradients do not.
    """
    before = _core.pass_tangents(True)
    try:
        with _core.Transforming(True, given):
            yield
    finally:
        _core.pass_tangents(before)


def reverse(given: list[Tensor]) -> _core.Transforming:
    """The context of a transform of reverse mode, in which there are no hooks on saved tensors; see :func:`forward`."""
    return _core.Transforming(True, given, _NO_HOOKS)
