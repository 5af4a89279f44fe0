"""``torch.autograd.forward_ad``: tensors that carry tangents.

A dual tensor is a function of its primal, of its tangent, and of the root of the level, a leaf. The tangent of a tensor
computed from it is propagated through the graph, from the root on, when :func:`unpack_dual` asks for it.
"""

from __future__ import annotations

import weakref
from contextlib import ContextDecorator
from typing import Any, NamedTuple

from ferrograd import _core
from ferrograd._core import ArgumentError, FreedGraphError, ShapeError, Tensor, torch as ops
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import TORCH
from ferrograd.torch._tensor_str import _add_suffixes
from ferrograd.torch.autograd.function import Function

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent; the tangent is None if the value depends on no dual tensor."""

    primal: Tensor
    tangent: Tensor | None


class MakeDual(Function):
    """A dual tensor. It has the memory of its primal, unless that is tracked."""

    @classmethod
    def _check_transformed(cls, split: bool, kwargs: dict[str, Any]) -> None:
        """Nothing: transforms know this function."""

    @staticmethod
    def forward(ctx: Any, root: Tensor, primal: Tensor, tangent: Tensor) -> Tensor:
        """The value of the primal."""
        ctx.save_for_forward(tangent)
        return primal if primal.requires_grad else primal.detach()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        """The gradient, which is that of the primal."""
        return None, g, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Any:
        """The tangent that the tensor was made with."""
        (own,) = ctx.saved_tensors
        return own

    @classmethod
    def _check_tangents(cls, ctx: Any, given: Any, versions: list[int], found: Any) -> None:
        """Nothing: the tangent is no view of another, unlike the tensor."""


class _Own(NamedTuple):
    """A dual tensor as it was made."""

    dual: weakref.ref[Tensor]
    node: Any
    tangent: Tensor


#: The dual tensors that are alive, by their ids.
_own: dict[int, _Own] = {}
#: The leaf that the dual tensors of the current level depend on.
_root: Tensor | None = None
#: Whether tangents passed through ``no_grad`` before the level was entered.
_passed_before = False
_current_level = -1
#: Whether tensors that are made dual get tangents.
_is_enabled = True


def enter_dual_level() -> int:
    """Enters the level on which tensors carry tangents, 0; raises if it is entered already.

    Tangents pass through ``no_grad``, inside of the level and around it, and gradients do not.
    """
    global _current_level, _root, _passed_before
    if _current_level >= 0:
        raise ArgumentError("enter_dual_level: Nested forward mode AD is not supported at the moment")
    _passed_before = _pass_tangents(True)
    _current_level, _root = 0, _core.fresh(_core.make(1.0, None, False, TORCH))
    Function._zero_tangents = _zero_tangents
    setattr(_core.TorchTensor, "__repr__", _shown)  # noqa: B010
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Exits the level and drops all tangents."""
    global _current_level, _root
    if _current_level < 0 or level not in (None, _current_level):
        raise ArgumentError(
            "exit_dual_level: Trying to exit a forward AD level that was not the last one that was created. This is "
            "not supported."
        )
    _pass_tangents(_passed_before)
    _current_level, _root = -1, None
    _own.clear()
    Function._zero_tangents = None
    delattr(_core.TorchTensor, "__repr__")


def _pass_tangents(on: bool) -> bool:
    """Sets whether tangents pass through ``no_grad``, also through one that is on; returns what it was."""
    before = _core.pass_tangents(on)
    if not _core.is_grad_enabled():
        _core.set_grad_mode(True)
        _core.set_grad_mode(False)
    return before


def _depends(x: Tensor) -> bool:
    """Whether a tensor is computed from a dual tensor of the level."""
    if not _core.may_have_tangent(x):
        return False
    found, seen = [x.grad_fn], set()
    while found:
        node: Any = found.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if getattr(node, "variable", None) is _root:
            return True
        found += [before for before, _ in node.next_functions]
    return False


def _zero_tangents(inputs: list[Any]) -> list[Any] | None:
    """Zeros for those of the tensors that have tangents on the level; None if none has, or in ``vmap``."""
    tracked = [x for x in inputs if x.requires_grad]
    if not tracked or _core.batches(inputs):
        return None
    zeros = [_core.native.zeros_like(x) if x.requires_grad and _depends(x) else None for x in inputs]
    return zeros if any(zero is not None for zero in zeros) else None


def _shown(tensor: Tensor) -> str:
    """The ``repr`` of a tensor while the level is entered: with its tangent, unless that went with a freed graph."""
    try:
        primal, tangent = unpack_dual(tensor)
    except FreedGraphError:
        primal, tangent = tensor, None
    text = Tensor.__repr__(primal)
    if tangent is None:
        return text
    # A tangent that can be differentiated depends on the level, too.
    shown = Tensor.__repr__(tangent) if tangent.ndim else f"{tangent}"
    return _add_suffixes(text[:-1], [f"tangent={shown}"], len("tensor("), False)


def _floating(x: Any, what: str) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"make_dual: the {what} must be a Tensor, not {type(x).__name__}")
    if x.dtype.kind not in "fc":
        raise ArgumentError(f"Expected {what} to be floating point or complex, but got: {x.dtype}")


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tracked tensor with the value of ``tensor`` and a tangent of the same shape, which is cast to its dtype.

    It has the memory of ``tensor``, unless that is tracked.

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
    if not _is_enabled:
        return tensor.view_as(tensor)
    tangent = tangent if tangent.dtype == tensor.dtype else tangent.astype(tensor.dtype)
    before = _core.set_grad_mode(True)
    try:
        dual: Tensor = MakeDual.apply(_root, tensor, tangent)
    finally:
        _core.set_grad_mode(before)
    key = id(dual)
    _own[key] = _Own(weakref.ref(dual, lambda _: _own.pop(key, None)), dual.grad_fn, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a tensor and its tangent on the current level.

    Both can be differentiated with respect to the tensors that the dual tensors were made of.
    """
    if (_current_level if level is None else level) < 0:
        return UnpackedDualTensor(tensor, None)
    # If the graph has other leaves, both are recorded so that they can be differentiated with respect to these.
    beyond = _core.is_grad_enabled() and _core.reaches_other_leaves([tensor], [_root])
    own = _own.get(id(tensor))
    if own is not None and own.node is tensor.grad_fn:
        return UnpackedDualTensor(tensor if beyond else tensor.detach(), own.tangent)
    [moved] = _core.push([tensor], [_root], [_core.make(1.0, None, False, TORCH)], beyond)
    # What depends on dual tensors by steps or draws alone has a tangent of zeros.
    if moved is None and _depends(tensor):
        moved = ops.zeros_like(tensor.detach())
    return UnpackedDualTensor(tensor if beyond or moved is None else tensor.detach(), moved)


def _is_fwd_grad_enabled() -> bool:
    """Whether tensors that are made dual get tangents."""
    return _is_enabled


def _switch(mode: bool) -> None:
    """Switches forward mode on or off, which a level that is entered does not allow: its graph has the tangents."""
    global _is_enabled
    if _current_level >= 0 and _is_enabled != bool(mode):
        raise ArgumentError(
            "_set_fwd_grad_enabled: forward mode cannot be switched inside a level here. Switch it before the level is "
            "entered, and detach() what shall have no tangent"
        )
    _is_enabled = bool(mode)


class _set_fwd_grad_enabled(ContextDecorator):
    """Switches forward mode on or off at once. As a context manager it restores the previous mode at the end.

    While it is off, tensors that are made dual have no tangents.
    """

    def __init__(self, mode: bool) -> None:
        self._before = _is_enabled
        _switch(mode)

    def __enter__(self) -> None:
        """Does nothing: the constructor has set the mode."""

    def __exit__(self, *_: object) -> None:
        """Restores the previous mode."""
        _switch(self._before)


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
