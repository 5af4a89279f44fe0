"""``paddle.autograd.jacobian`` and ``hessian``: matrices whose rows are computed on first use."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, IndexOutOfRange, ShapeError, Tensor
from ferrograd._kit.dialect import PADDLE


class Rows:
    """The rows of the Jacobian of outputs ``[M]``, or ``[B, M]`` with a batch, with respect to flattened inputs."""

    def __init__(self, ys: Tensor, xs: Sequence[Tensor], batched: bool) -> None:
        self.ys, self.xs, self.batched = ys, list(xs), batched
        self.widths = [math.prod(x.shape[batched:]) for x in self.xs]
        self._known: dict[range, Tensor] = {}

    @property
    def shape(self) -> tuple[int, ...]:
        """``(M, N)``, or ``(B, M, N)`` with a batch."""
        return (*self.ys.shape, sum(self.widths))

    def __call__(self, which: range) -> Tensor:
        """The rows ``which`` in one pass, ``[len(which), N]`` or ``[B, len(which), N]``. They can be differentiated."""
        if which not in self._known:
            self._known[which] = self._computed(which)
        return self._known[which]

    def _computed(self, which: range) -> Tensor:
        dtype, k = self.ys.dtype, len(which)
        units = np.zeros((k, self.ys.shape[-1]), dtype)
        units[np.arange(k), list(which)] = 1
        seeds = _core.make(units, None, False, PADDLE)
        if self.batched:
            seeds = seeds.reshape([k, 1, -1]).expand([k, *self.ys.shape])
        if self.ys.stop_gradient or not k:
            found: list[Any] = [None] * len(self.xs)
        else:
            found = _core.grad(
                [self.ys], self.xs, [seeds], PADDLE, create_graph=True, retain_graph=True, unused="none", batched=True
            )
        parts = []
        for g, x, width in zip(found, self.xs, self.widths, strict=True):
            batch = [x.shape[0]] if self.batched else []
            if g is None:
                parts.append(
                    _core.native.zeros_like(x).reshape([*batch, -1])[..., None, :width].expand([*batch, k, width])
                )
            else:
                g = g.reshape([k, *batch, width])
                parts.append(_core.native.swapaxes(g, 0, 1) if self.batched else g)
        rows = parts[0] if len(parts) == 1 else _core.native.concat(parts, -1)
        return _core.fresh(rows) if rows.stop_gradient else rows

    def __getitem__(self, index: Any) -> Tensor:
        """``matrix[index]``, computed from the rows that the index selects."""
        index = index if isinstance(index, tuple) else (index,)
        axis = int(self.batched)
        # Only an index of ints and slices selects rows that are known beforehand.
        plain = len(index) > axis and all(isinstance(i, int | slice) for i in index)
        count = self.ys.shape[-1]
        picked = index[axis] if plain else slice(None)
        if isinstance(picked, int):
            if not -count <= picked < count:
                raise IndexOutOfRange(f"jacobian: there is no row {picked} of {count}")
            picked %= count
            return self(range(picked, picked + 1))[(*index[:axis], 0, *index[axis + 1 :])]
        rows = self(range(count)[picked])
        return rows[(*index[:axis], slice(None), *index[axis + 1 :])] if plain else rows[index]


def _forwarded(op: Callable[..., Any], swapped: bool = False) -> Callable[..., Any]:
    def method(self: Jacobian, *other: Any) -> Any:
        values = [x._evaluate_all() if isinstance(x, Jacobian) else x for x in (self, *other)]
        return op(*reversed(values)) if swapped else op(*values)

    return method


class Jacobian:
    """The derivatives of ``ys`` with respect to ``xs``, of shape ``[M, N]``, or ``[B, M, N]`` with a batch.

    An axis that ``ys`` or ``xs`` lacks is left out. Rows are computed when they are first indexed, several in one pass.
    Arithmetic, comparisons and tensor attributes use the whole matrix as a tensor.
    """

    def __init__(self, ys: Tensor, xs: Tensor, is_batched: bool = False) -> None:
        least = 1 if is_batched else 0
        for name, t in (("xs", xs), ("ys", ys)):
            if not isinstance(t, Tensor):
                raise ArgumentError(f"{name} must be a Tensor, not {type(t).__name__}")
            if not least <= len(t.shape) <= least + 1:
                raise ShapeError(
                    f"{name}.ndim should be {least} or {least + 1} when is_batched={is_batched} but got {len(t.shape)}"
                )
        if is_batched and ys.shape[0] != xs.shape[0]:
            raise ShapeError(f"ys has a batch of {ys.shape[0]}, xs one of {xs.shape[0]}")
        flat = ys if len(ys.shape) == least + 1 else ys.reshape([*ys.shape, 1])
        self._rows = Rows(flat, [xs], is_batched)
        # The axes of the matrix that ``ys`` and ``xs`` have.
        batch = list(ys.shape[:least])
        self._shape = [*batch, *ys.shape[least:], *xs.shape[least:]]
        self._own_rows = len(ys.shape) == least + 1
        self._own_columns = len(xs.shape) == least + 1

    @property
    def shape(self) -> list[int]:
        """The shape, as a list."""
        return list(self._shape)

    def _evaluate_all(self) -> Tensor:
        return self._rows[:].reshape(self._shape)

    def __getitem__(self, index: Any) -> Tensor:
        if not self._shape:
            raise IndexOutOfRange("0-D tensor can not be indexed.")
        if self._own_rows and self._own_columns:
            return self._rows[index]
        return self._evaluate_all()[index]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_rows", "_shape", "_own_rows", "_own_columns"):
            raise AttributeError(name)
        return getattr(self._evaluate_all(), name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self._evaluate_all(), dtype)

    def __len__(self) -> int:
        return len(self._evaluate_all())

    def __repr__(self) -> str:
        return repr(self._evaluate_all())

    __add__ = _forwarded(operator.add)
    __radd__ = _forwarded(operator.add, swapped=True)
    __sub__ = _forwarded(operator.sub)
    __rsub__ = _forwarded(operator.sub, swapped=True)
    __mul__ = _forwarded(operator.mul)
    __rmul__ = _forwarded(operator.mul, swapped=True)
    __truediv__ = _forwarded(operator.truediv)
    __rtruediv__ = _forwarded(operator.truediv, swapped=True)
    __floordiv__ = _forwarded(operator.floordiv)
    __rfloordiv__ = _forwarded(operator.floordiv, swapped=True)
    __mod__ = _forwarded(operator.mod)
    __rmod__ = _forwarded(operator.mod, swapped=True)
    __pow__ = _forwarded(operator.pow)
    __rpow__ = _forwarded(operator.pow, swapped=True)
    __matmul__ = _forwarded(operator.matmul)
    __rmatmul__ = _forwarded(operator.matmul, swapped=True)
    __lt__ = _forwarded(operator.lt)
    __le__ = _forwarded(operator.le)
    __gt__ = _forwarded(operator.gt)
    __ge__ = _forwarded(operator.ge)
    __neg__ = _forwarded(operator.neg)
    __abs__ = _forwarded(operator.abs)
    __eq__ = _forwarded(operator.eq)
    __ne__ = _forwarded(operator.ne)
    __hash__ = object.__hash__


class Hessian(Jacobian):
    """The class of what :func:`hessian` returns: the Jacobian of a gradient.

    ``Hessian(ys, xs)`` is the Jacobian of ``ys`` as it is, so ``ys`` must be a gradient already, as in Paddle.
    """


def _checked(op: str, ys: Any, xs: Any) -> None:
    """Raises unless ``ys`` and ``xs`` are tensors or Jacobians."""
    for name, values in [("ys", [ys]), ("xs", xs if isinstance(xs, (list, tuple)) else [xs])]:
        for value in values:
            if not isinstance(value, (Tensor, Jacobian)):
                raise ArgumentError(f"{op}: {name} must be paddle.Tensor, or several, but got {type(value).__name__}")


def jacobian(ys: Any, xs: Any, batch_axis: int | None = None) -> Any:
    """The derivatives of ``ys`` with respect to ``xs``, which it was computed from, as a :class:`Jacobian`.

    Both have the shape ``[N]`` or ``[]``, with ``batch_axis=0`` ``[B, N]`` or ``[B]``. The result is a tuple for
    several ``xs`` or several ``ys``, and a tuple of tuples for several of both. It can be differentiated.

    >>> import ferrograd.paddle as paddle
    >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    >>> paddle.autograd.jacobian(x * x, x)[:].tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    if batch_axis is not None and batch_axis != 0:
        raise ArgumentError(f"batch_axis should be None or 0, but got {batch_axis}.")
    batched = batch_axis is not None
    if isinstance(ys, (list, tuple)):
        return tuple(jacobian(y, xs, batch_axis) for y in ys)
    _checked("jacobian", ys, xs)
    if isinstance(xs, (list, tuple)):
        return tuple(Jacobian(ys, x, batched) for x in xs)
    return Jacobian(ys._evaluate_all() if isinstance(ys, Jacobian) else ys, xs, batched)


def hessian(ys: Tensor, xs: Any, batch_axis: int | None = None) -> Any:
    """The second derivatives of ``ys`` with respect to ``xs``, as a :class:`Hessian`; a tuple of tuples for several.

    ``ys`` has one element, with ``batch_axis=0`` one per example. See :func:`jacobian`.

    >>> import ferrograd.paddle as paddle
    >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    >>> paddle.autograd.hessian((x**3).sum(), x)[:].tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    _checked("hessian", ys, xs)
    size = math.prod(ys.shape)
    if batch_axis is None:
        if size > 1:
            raise ShapeError(f"Only support ys.numel()({size})==1 when batch_axis is None.")
        ys = ys.reshape([])
    elif isinstance(batch_axis, int):
        if math.prod(ys.shape[1:]) > 1:
            raise ShapeError(f"Only support ys[0].numel()({math.prod(ys.shape[1:])})==1 when batch_axis is int")
        if batch_axis != 0:
            raise ArgumentError("Only support batch_axis=0 yet.")
        ys = ys.reshape([-1])
    else:
        raise ArgumentError(f"batch_axis should be None or int, but got {type(batch_axis)}.")
    batched = batch_axis is not None
    several = isinstance(xs, (list, tuple))
    gradients = [Jacobian(ys, x, batched)._evaluate_all() for x in (xs if several else [xs])]
    if not several:
        return Hessian(gradients[0], xs, batched)
    return tuple(tuple(Hessian(g, x, batched) for x in xs) for g in gradients)


__all__ = ["Hessian", "Jacobian", "hessian", "jacobian"]
