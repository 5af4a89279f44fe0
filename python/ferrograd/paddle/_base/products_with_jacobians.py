"""``paddle.incubate.autograd``: products with the Jacobian of a function, and its Jacobian and Hessian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import enable_grad
from ferrograd._core import ArgumentError, ShapeError, Tensor
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._base.jacobian import Rows

Function = Callable[..., Any]


def _checked(func: Any, xs: Any, v: Any = None) -> None:
    """Raises unless ``func`` is callable and ``xs`` and ``v`` are tensors or sequences of tensors."""
    if not callable(func):
        raise ArgumentError(f"Expected 'fun' is Callable, but got {type(func)}.")
    for name, value, none in (("xs", xs, ""), ("v", v, "|None")):
        if value is None and none:
            continue
        if not isinstance(value, Tensor | Sequence):
            raise ArgumentError(f"Expected '{name}' is Tensor|Sequence[Tensor]{none}, but got {type(value)}.")
        if isinstance(value, Sequence) and not all(isinstance(x, Tensor) for x in value):
            raise ArgumentError(f"All elements of '{name}' should be Tensor.")


def _listed(value: Any) -> list[Tensor]:
    return list(value) if isinstance(value, Sequence) else [value]


def _recorded(what: str, func: Function, xs: Any) -> tuple[list[Tensor], Any]:
    """The function recorded at fresh leaves, for the transform ``what``: (leaves, outputs)."""
    places = [_core.fresh(x) for x in _listed(xs)]
    with enable_grad(), _core.Differentiating(places, what):
        return places, func(*places)


def _like(v: Any, refs: list[Tensor]) -> list[Tensor]:
    """The tensors of ``v``, which must have the shapes of ``refs``; ones if it is None."""
    if v is None:
        return [_core.native.ones_like(r) for r in refs]
    found = _listed(v)
    if len(found) != len(refs):
        raise ArgumentError(f"The argument v is a tuple of invalid length:should be {len(refs)} but got {len(found)}.")
    for i, (t, r) in enumerate(zip(found, refs, strict=True)):
        if list(t.shape) != list(r.shape):
            raise ShapeError(f"The v[{i}] has invalid shape: should be {list(r.shape)} but got {list(t.shape)}.")
    return found


def vjp(func: Function, xs: Any, v: Any = None) -> tuple[Any, Any]:
    """The outputs of ``func(*xs)`` and the product of ``v`` with its Jacobian: ``(outputs, product)``.

    ``xs`` is a tensor or a sequence of tensors; the product is a tensor or a tuple. ``v`` has the shapes of the outputs
    and is ones by default. Both results can be differentiated again.

    >>> import ferrograd.paddle as paddle
    >>> paddle.incubate.autograd.vjp(lambda x: x * x, paddle.to_tensor([1.0, 2.0]))[1].tolist()
    [2.0, 4.0]
    """
    _checked(func, xs, v)
    places, ys = _recorded("vjp", func, xs)
    outs = _listed(ys)
    seeds = _like(v, outs)
    pairs = [(y, g) for y, g in zip(outs, seeds, strict=True) if not y.stop_gradient]
    if pairs:
        tracked, starts = (list(p) for p in zip(*pairs, strict=True))
        found = _core.grad(tracked, places, starts, PADDLE, create_graph=True, unused="zeros")
    else:
        found = [_core.native.zeros_like(x) for x in places]
    return ys, tuple(found) if isinstance(xs, Sequence) else found[0]


def jvp(func: Function, xs: Any, v: Any = None) -> tuple[Any, Any]:
    """The outputs of ``func(*xs)`` and the product of its Jacobian with ``v``, in forward mode: ``(outputs, product)``.

    ``v`` has the shapes of ``xs`` and is ones by default. Both results can be differentiated again.

    >>> import ferrograd.paddle as paddle
    >>> paddle.incubate.autograd.jvp(lambda x: x * x, paddle.to_tensor([1.0, 2.0]))[1].tolist()
    [2.0, 4.0]
    """
    _checked(func, xs, v)
    places, ys = _recorded("jvp", func, xs)
    outs = _listed(ys)
    moved = _core.push(outs, places, _like(v, places), True)
    found = [_core.native.zeros_like(y) if t is None else t for y, t in zip(outs, moved, strict=True)]
    return ys, tuple(found) if isinstance(ys, Sequence) else found[0]


def _flat(values: list[Tensor], batched: bool) -> Tensor:
    """Tensors flattened and concatenated to one vector, or one per example of the batch."""
    parts = [t.reshape([t.shape[0], -1] if batched else [-1]) for t in values]
    return parts[0] if len(parts) == 1 else _core.native.concat(parts, -1)


class Jacobian:
    """The Jacobian of ``func`` at ``xs``, of shape ``(M, N)``, or ``(B, M, N)`` with a batch.

    All outputs count as one flat vector, and so do all inputs. Rows are computed when they are first indexed.

    >>> import ferrograd.paddle as paddle
    >>> j = paddle.incubate.autograd.Jacobian(lambda x: x * x, paddle.to_tensor([1.0, 2.0]))
    >>> j.shape, j[1].tolist()
    ((2, 2), [0.0, 4.0])
    """

    def __init__(self, func: Function, xs: Any, is_batched: bool = False) -> None:
        _checked(func, xs)
        places, ys = _recorded("Jacobian", func, xs)
        self._rows = Rows(_flat(_listed(ys), is_batched), places, is_batched)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._rows.shape

    def __getitem__(self, index: Any) -> Tensor:
        return self._rows[index]


class Hessian:
    """The Hessian of ``func`` at ``xs``: the Jacobian of its gradient.

    ``func`` returns one element, or one per example of the batch.

    >>> import ferrograd.paddle as paddle
    >>> h = paddle.incubate.autograd.Hessian(lambda x: (x**3).sum(), paddle.to_tensor([1.0, 2.0]))
    >>> h[:].tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """

    def __init__(self, func: Function, xs: Any, is_batched: bool = False) -> None:
        def gradient(*xs: Tensor) -> Tensor:
            jacobian = Jacobian(func, xs, is_batched)
            if jacobian.shape[-2] != 1:
                raise ShapeError(
                    "The function given to Hessian should return as single element Tensor or batched single element "
                    "Tensor."
                )
            return jacobian[:, 0, :] if is_batched else jacobian[0, :]

        self.symbolic = Jacobian(gradient, xs, is_batched)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self.symbolic.shape

    def __getitem__(self, index: Any) -> Tensor:
        return self.symbolic[index]


__all__ = ["Hessian", "Jacobian", "jvp", "vjp"]
