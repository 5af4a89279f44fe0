"""The contexts in which the transforms of torch run the functions that they are given."""

from __future__ import annotations

from ferrograd import _core
from ferrograd._autograd.saved_tensors import disable_saved_tensors_hooks
from ferrograd._core import Tensor

__all__ = ["Reverse", "forward", "other"]

#: The context of a transform that does not differentiate.
other = _core.Transforming(False)


def forward(given: list[Tensor]) -> _core.Transforming:
    """The context of a transform of forward mode, whose function was given these tensors."""
    return _core.Transforming(True, given)


class Reverse:
    """The context of a transform of reverse mode, in which there are no hooks on saved tensors."""

    def __init__(self, given: list[Tensor]) -> None:
        self._function = forward(given)
        self._hooks = disable_saved_tensors_hooks(
            "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks: enter them around the "
            "backward pass of torch.autograd, or call checkpoint"
        )

    def __enter__(self) -> None:
        self._hooks.__enter__()
        self._function.__enter__()

    def __exit__(self, *error: object) -> None:
        self._function.__exit__(*error)
        self._hooks.__exit__(*error)
