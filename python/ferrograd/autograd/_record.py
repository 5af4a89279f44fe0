"""A function recorded at a fresh argument, and the products with its Jacobian that are computed from the graph."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import LeafInplaceError, Tensor, VmapError, native as ops
from ferrograd._kit import tree as _tree
from ferrograd._kit.dialect import NATIVE
from ferrograd._kit.warning import warn
from ferrograd.autograd._boxes import Box
from ferrograd.autograd._spaces import vspace
from ferrograd.autograd._values import constant, leaf, untracked
from ferrograd.func._jacobians import basis

#: The types of most arguments, which are no structures.
_SINGLE = frozenset((float, complex, np.ndarray, np.float64, Tensor))

SCALAR = "{} only applies to real scalar-output functions. Try jacobian, elementwise_grad or holomorphic_grad."


def _conjugated(x: Tensor) -> Tensor:
    """The number that stands for a gradient in the other convention: here a gradient is the plain product with the
    derivative, and in the graph its conjugate."""
    return x.conj() if x.dtype.kind == "c" else x


def _boxed(value: Any) -> Box | None:
    """The box of an object of a class that the program has registered. A tensor stands for it in the graph."""
    if type(value) not in Box.type_mappings:
        return None
    return Box.type_mappings[type(value)](value, -1, leaf(0.0))


class Recording:
    """One call of ``fun`` with ``x``, a number, an array, or a structure of them.

    * ``inside``: the leaves that stand for the parts of ``x``.
    * ``result``: what ``fun`` returned; ``outputs``: its tensors that depend on something differentiated.
    """

    def __init__(self, fun: Callable[[Any], Any], x: Any) -> None:
        __tracebackhide__ = True
        self.argument, self.is_single = x, type(x) in _SINGLE
        mode = _core.is_grad_enabled()
        _core.set_grad_mode(True)
        try:
            given = [leaf(x)] if self.is_single else [_boxed(part) or leaf(part) for part in _tree.leaves(x)]
            self.boxes = {i: part for i, part in enumerate(given) if isinstance(part, Box)}
            self.inside = [part._node if isinstance(part, Box) else part for part in given]
            with _core.Differentiating(self.inside, "autograd"):
                self.result = fun(self.as_argument(given))
        except LeafInplaceError as error:
            raise TypeError("An argument of a differentiated function does not support item assignment") from error
        finally:
            _core.set_grad_mode(mode)
        results = [self.result] if isinstance(self.result, Tensor) else _tree.leaves(self.result)
        self.outputs: list[Tensor] = [y for y in results if isinstance(y, Tensor) and y.requires_grad]
        self._beyond: bool | None = None
        if not self.outputs:
            warn("Output seems independent of input.")

    def as_argument(self, values: Sequence[Any]) -> Any:
        """One value for each part of the argument, in its structure."""
        if self.is_single:
            return values[0]
        return _tree.rebuilt(self.argument, iter(values))

    def is_recorded(self, others: Sequence[Tensor] = ()) -> bool:
        """Whether somebody may differentiate the derivative: by ``others``, or by what ``fun`` closes over."""
        if not _core.is_grad_enabled():
            return False
        if self._beyond is None:
            self._beyond = _core.reaches_other_leaves(self.outputs, self.inside)
        return self._beyond or any(x.requires_grad for x in others)

    def settled(self, values: Any) -> Any:
        """What the caller gets: NumPy's arrays, or tensors that depend on what is differentiated around it."""
        if self.outputs and self.is_recorded():
            return untracked(values)
        if isinstance(values, Tensor):
            return untracked(values.detach())
        return untracked(_tree.mapped(lambda y: y.detach() if isinstance(y, Tensor) else y, values))

    @property
    def value(self) -> Any:
        """The result for the caller."""
        return self.settled(self.result)

    def scalar(self, what: str) -> None:
        """Raises unless the result is one real number."""
        y = self.result
        is_scalar = y.dtype.kind == "f" and y.size == 1 if isinstance(y, Tensor) else vspace(y).size == 1
        if not is_scalar:
            raise TypeError(SCALAR.format(what))

    def seeds(self, g: Any) -> list[Tensor]:
        """The cotangents of the outputs, from one for each part of the result."""
        if isinstance(self.result, Tensor):
            pairs = [(self.result, g)]
        else:
            given = _tree.matched(g, self.result, "The cotangent")
            pairs = list(zip(_tree.leaves(self.result), given, strict=True))
        found = []
        for y, seed in pairs:
            if isinstance(y, Tensor) and y.requires_grad:
                seed = constant(seed)
                found.append(seed if seed.dtype == y.dtype else seed.astype(y.dtype))
        return found

    def pull(self, seeds: Sequence[Tensor], *, retain: bool = True, batched: bool = False) -> list[Tensor]:
        """The gradients of the parts of the argument, with a leading axis for each row of ``seeds`` if ``batched``."""
        if not self.outputs:
            lead = [seeds[0].shape[0]] if batched else []
            return [ops.zeros([*lead, *x.shape], dtype=x.dtype) for x in self.inside]
        record = self.is_recorded(seeds)
        found = _core.grad(
            self.outputs,
            self.inside,
            [_conjugated(g) for g in seeds],
            NATIVE,
            retain_graph=retain or record,
            create_graph=record,
            unused="zeros",
            batched=batched,
            stops=True,
        )
        found = [_conjugated(g) for g in found]
        # A recorded gradient that depends on nothing is a leaf, which is no result of a function.
        is_constant = record and not any(g.requires_grad for g in seeds)
        return [g.detach() if g.is_leaf else g for g in found] if is_constant else found

    def gradient(self, retain: bool = False) -> Any:
        """The gradient of the sum of the outputs."""
        return self.vjp_of([ops.ones_like(y) for y in self.outputs], retain)

    def vjp_of(self, seeds: Sequence[Tensor], retain: bool = True) -> Any:
        """The product of cotangents of the outputs with the Jacobian, in the structure of the argument."""
        for box in self.boxes.values():
            box._slopes.clear()
        found: list[Any] = self.pull(seeds, retain=retain)
        for i, box in self.boxes.items():
            found[i] = functools.reduce(vspace(box._value).add, box._slopes or [vspace(box._value).zeros()])
        return untracked(self.as_argument(found))

    def vjp(self, g: Any) -> Any:
        """The product of a cotangent in the structure of the result with the Jacobian."""
        return self.vjp_of(self.seeds(g))

    def jvp(self, v: Any) -> Any:
        """The product of the Jacobian with a tangent in the structure of the argument."""
        tangents = [constant(t) for t in _tree.matched(v, self.argument, "The tangent")]
        tangents = [t if t.dtype == x.dtype else t.astype(x.dtype) for t, x in zip(tangents, self.inside, strict=True)]
        record = self.is_recorded(tangents)
        moved = iter(_core.push(self.outputs, self.inside, tangents, record) if self.outputs else [])

        def along(y: Any) -> Any:
            t = next(moved) if isinstance(y, Tensor) and y.requires_grad else None
            return ops.zeros_like(constant(y)) if t is None else t

        return untracked(_tree.mapped(along, self.result))

    def rows(self) -> list[Tensor]:
        """For each part of the argument the Jacobian of the result, with the axes of the result first."""
        y = constant(self.result)
        if y.dtype.kind == "c":
            raise TypeError("jacobian only applies to real-output functions: take the real and the imaginary part")
        seeds = basis(y, 0, y.numel())
        try:
            found = self.pull([seeds], batched=True)
        except VmapError:
            # A rule that computes with NumPy takes one row at a time.
            parts = [self.pull([row]) for row in seeds]
            found = [ops.stack(list(column)) for column in zip(*parts, strict=True)]
        return [g.reshape([*y.shape, *x.shape]) for g, x in zip(found, self.inside, strict=True)]
