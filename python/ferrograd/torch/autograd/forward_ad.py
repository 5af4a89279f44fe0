"""``torch.autograd.forward_ad``: tensors that carry tangents.

A dual tensor is a leaf of the graph. The tangent of a tensor computed from it is propagated through the graph when
:func:`unpack_dual` asks for it.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any, NamedTuple

from ferrograd import _core
from ferrograd._core import ArgumentError, ShapeError, Tensor
from ferrograd._kit import public as _public

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent; the tangent is None if the value depends on no dual tensor."""

    primal: Tensor
    tangent: Tensor | None


class _Dual(NamedTuple):
    tensor: Tensor
    #: The leaf that the tangent belongs to. In-place writes to the dual tensor do not change it.
    place: Tensor
    tangent: Tensor


#: The dual tensors of the current level.
_duals: list[_Dual] = []
_current_level = -1


def enter_dual_level() -> int:
    """Enters the level on which tensors carry tangents, 0; raises if it is entered already."""
    global _current_level
    if _current_level >= 0:
        raise ArgumentError("enter_dual_level: Nested forward mode AD is not supported at the moment")
    _current_level = 0
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Exits the level and drops all tangents."""
    global _current_level
    if _current_level < 0 or level not in (None, _current_level):
        raise ArgumentError(
            "exit_dual_level: Trying to exit a forward AD level that was not the last one that was created. This is "
            "not supported."
        )
    _current_level = -1
    _duals.clear()


def _floating(x: Any, what: str) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"make_dual: the {what} must be a Tensor, not {type(x).__name__}")
    if x.dtype.kind not in "fc":
        raise ArgumentError(f"Expected {what} to be floating point or complex, but got: {x.dtype}")


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tracked tensor with the value of ``tensor`` and a tangent of the same shape, which is cast to its dtype.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor(2.0), torch.tensor(1.0))
    ...     forward_ad.unpack_dual(x**3).tangent.item()
    12.0
    """
    if (_current_level if level is None else level) < 0:
        raise ArgumentError(
            "make_dual: Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    _floating(tensor, "primal")
    _floating(tangent, "tangent")
    if tuple(tangent.shape) != tuple(tensor.shape):
        raise ShapeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    if unpack_dual(tangent).tangent is not None:
        raise ArgumentError(
            "make_dual: the tangent has a forward gradient at the same level, which is not supported. Nest the "
            "transforms of torch.func for tangents of tangents, or detach() it"
        )
    tangent = tangent if tangent.dtype == tensor.dtype else tangent.astype(tensor.dtype)
    before = _core.set_grad_mode(True)
    try:
        place = _core.fresh(tensor)
        dual = _core.fresh(place)
        _duals.append(_Dual(dual, place, tangent))
        return dual
    finally:
        _core.set_grad_mode(before)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a tensor and its tangent on the current level.

    Both can be differentiated with respect to the tensors that the dual tensors were made of.
    """
    if (_current_level if level is None else level) < 0:
        return UnpackedDualTensor(tensor, None)
    for dual in _duals:
        if tensor is dual.tensor and tensor._version == 0:
            return UnpackedDualTensor(tensor.detach(), dual.tangent)
    places, tangents = [d.place for d in _duals], [d.tangent for d in _duals]
    # If the graph has other leaves, both are recorded so that they can be differentiated with respect to these.
    beyond = _core.is_grad_enabled() and _core.reaches_other_leaves([tensor, *tangents], places)
    [moved] = _core.push([tensor], places, tangents, beyond)
    return UnpackedDualTensor(tensor if beyond or moved is None else tensor.detach(), moved)


class dual_level(ContextDecorator):
    """A context in which tensors carry tangents, on one level.

    >>> from ferrograd.torch.autograd import forward_ad
    >>> with forward_ad.dual_level() as level:
    ...     level
    0
    """

    def __enter__(self) -> int:
        """Enters the level."""
        return enter_dual_level()

    def __exit__(self, *_: object) -> None:
        """Exits the level."""
        exit_dual_level()


__dir__ = _public.names(globals())
