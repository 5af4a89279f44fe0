"""Jacobians of a function at a point: by finite differences, in reverse mode and in forward mode."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import enable_grad
from ferrograd._core import ArgumentError, PaddleTensor, Tensor, TorchTensor
from ferrograd._kit import tree as _tree
from ferrograd._kit.dialect import NATIVE, PADDLE, TORCH
from ferrograd.testing._compare import Matrix

#: Central differences of orders 2 and 4: ``weights[k]`` is the weight of ``f(x + k h) - f(x - k h)``.
CENTRAL = {1: 1 / 2}
WIDE = {1: 2 / 3, 2: -1 / 12}


def dialect(x: Tensor) -> int:
    """The number of a tensor's dialect."""
    return TORCH if isinstance(x, TorchTensor) else PADDLE if isinstance(x, PaddleTensor) else NATIVE


def leaf(x: Tensor, array: Matrix) -> Tensor:
    """A tracked leaf of the class of ``x`` with the values of an array."""
    made = _core.make(array, None, True, dialect(x))
    if type(x) is type(made):
        return made
    like: Tensor = copy.copy(x)
    like.data = made
    return like


def tracked(inputs: Sequence[Any]) -> list[int]:
    """The positions of the tracked tensors among some inputs."""
    return [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]


class InReals:
    """A function as one of real numbers: complex inputs and outputs are pairs of their parts along a new last axis."""

    def __init__(self, f: Callable[..., Any], pairs: Sequence[int]) -> None:
        self.f, self.pairs = f, pairs
        #: By output of the last call: whether it is complex.
        self.complex_outputs: list[bool] = []

    def __call__(self, *args: Any) -> list[Any]:
        given = list(args)
        for i in self.pairs:
            given[i] = _core.native.view_as_complex(args[i])
        outputs = _tree.leaves(self.f(*given))
        self.complex_outputs = [y.dtype.kind == "c" for y in outputs if isinstance(y, Tensor)]
        return [real_pairs(y) for y in outputs]


def in_reals(f: Callable[..., Any], inputs: Sequence[Any]) -> tuple[InReals, list[Any]]:
    """``f`` as a function of real numbers, and its inputs."""
    pairs = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.dtype.kind == "c"]
    parts = list(inputs)
    for i in pairs:
        x = inputs[i]
        parts[i] = _core.make(np.array(_core.native.view_as_real(x.detach())), None, x.requires_grad, dialect(x))
    return InReals(f, pairs), parts


def _difference(x: Matrix, y: Matrix, of_infinity: Any) -> Matrix:
    """``x - y``, or ``of_infinity`` where both are the same infinity."""
    same = np.isinf(x) & (x == y)
    return np.where(same, of_infinity, np.subtract(x, y, out=np.zeros(x.shape), where=~same))


def real_pairs(y: Any) -> Any:
    """A complex tensor as pairs of its parts, anything else as it is."""
    return _core.native.view_as_real(y) if isinstance(y, Tensor) and y.dtype.kind == "c" else y


class FunctionAtPoint:
    """``f`` at the point ``inputs``. Those at the positions ``which`` are differentiated; ``at`` are their values."""

    def __init__(self, f: Callable[..., Any], inputs: Sequence[Any], which: Sequence[int]) -> None:
        self.f, self.inputs, self.which = f, list(inputs), list(which)
        self.at = [np.array(inputs[i].detach()) for i in which]
        #: Shapes and dtypes of the outputs, known after the first call.
        self._kinds: list[tuple[tuple[int, ...], Any]] = []

    def places(self, arrays: Sequence[Matrix]) -> list[Tensor]:
        """Tracked leaves with these values. That of a parameter is a parameter."""
        return [leaf(self.inputs[i], a) for i, a in zip(self.which, arrays, strict=True)]

    def call(self, places: Sequence[Tensor]) -> list[Tensor]:
        """The outputs with these tensors as the differentiated inputs."""
        args = list(self.inputs)
        for i, x in zip(self.which, places, strict=True):
            args[i] = x
        with enable_grad():
            return [y for y in _tree.leaves(self.f(*args)) if isinstance(y, Tensor)]

    def values(self, arrays: Sequence[Matrix]) -> list[Matrix]:
        """The outputs as float64 vectors; raises if their shapes or dtypes differ from an earlier call."""
        outputs = self.call(self.places(arrays))
        kinds = [(tuple(y.shape), y.dtype) for y in outputs]
        self._kinds = self._kinds or kinds
        for i, (known, new) in enumerate(zip(self._kinds, kinds, strict=True)):
            for what, a, b in zip(("shape", "dtype"), known, new, strict=True):
                if a != b:
                    raise ArgumentError(
                        f"Expected `func` to return outputs with the same {what} when inputs are perturbed, but output "
                        f"{i} has {what}s {a} and {b}."
                    )
        return [np.array(y.detach(), np.float64).ravel() for y in outputs]

    def along(self, direction: Sequence[Matrix], step: float, scheme: dict[int, float]) -> list[Matrix]:
        """The derivatives of the outputs along a direction by differences, as vectors."""

        def moved(k: int) -> tuple[list[Matrix], float]:
            arrays = [(a + k * step * d).astype(a.dtype) for a, d in zip(self.at, direction, strict=True)]
            # The step after rounding is the one to divide by. Nothing moves infinity.
            steps = (_difference(b, a, k * step * d) for a, b, d in zip(self.at, arrays, direction, strict=True))
            taken = sum(float(np.vdot(s, d)) for s, d in zip(steps, direction, strict=True))
            return arrays, taken / sum(float(np.vdot(d, d)) for d in direction)

        total: list[Matrix] = []
        for k, weight in scheme.items():
            (up, above), (down, below) = moved(k), moved(-k)
            spread = (above - below) / (2 * k)
            values = zip(self.values(up), self.values(down), strict=True)
            parts = [weight * _difference(u, d, math.nan) / spread for u, d in values]
            total = [t + p for t, p in zip(total, parts, strict=True)] if total else parts
        return total

    def units(self) -> Iterator[tuple[int, int, list[Matrix]]]:
        """For each element of each input: (input, element, the unit direction of that element)."""
        for j, a in enumerate(self.at):
            for k in range(a.size):
                direction = [np.zeros(b.shape) for b in self.at]
                direction[j].flat[k] = 1.0
                yield j, k, direction

    def numerical(self, step: float, scheme: dict[int, float]) -> list[list[Matrix]]:
        """For each output and input, the Jacobian ``[output elements, input elements]`` by differences."""
        sizes = [v.size for v in self.values(self.at)]
        found = [[np.zeros((m, a.size)) for a in self.at] for m in sizes]
        for j, k, direction in self.units():
            for row, values in zip(found, self.along(direction, step, scheme), strict=True):
                row[j][:, k] = values
        return found


class RecordedFunction:
    """The recorded outputs of a function at a point and their derivatives in reverse and forward mode."""

    def __init__(self, problem: FunctionAtPoint) -> None:
        self.places = problem.places(problem.at)
        self.outputs = problem.call(self.places)

    def pulled(self, outputs: Sequence[Tensor], seeds: Sequence[Tensor], *, batched: bool = False) -> list[Any]:
        """The gradients of the inputs; None for an input that does not contribute."""
        tracked = [(y, g) for y, g in zip(outputs, seeds, strict=True) if y.requires_grad]
        if not tracked:
            return [None] * len(self.places)
        outs, starts = zip(*tracked, strict=True)
        return _core.grad(
            list(outs), self.places, list(starts), NATIVE, retain_graph=True, unused="none", batched=batched
        )

    def rows(self, i: int) -> list[Matrix]:
        """The Jacobians of output ``i`` with respect to all inputs, one backward pass per row."""
        y = self.outputs[i]
        n = int(np.prod(y.shape))
        found = [np.zeros((n, int(np.prod(x.shape)))) for x in self.places]
        for k in range(n):
            for matrix, g in zip(found, self.pulled([y], [unit(y, k)]), strict=True):
                if g is not None:
                    matrix[k] = np.asarray(g).ravel()
        return found

    def batched_rows(self, i: int) -> list[Matrix]:
        """:meth:`rows` in one batched pass."""
        y = self.outputs[i]
        n = int(np.prod(y.shape))
        seeds = _core.make(np.eye(n, dtype=y.dtype).reshape(n, *y.shape), None, False, 0)
        found = self.pulled([y], [seeds], batched=True)
        shapes = [(n, int(np.prod(x.shape))) for x in self.places]
        return [
            np.zeros(shape) if g is None else np.asarray(g, np.float64).reshape(shape)
            for shape, g in zip(shapes, found, strict=True)
        ]

    def pushed(self, direction: Sequence[Matrix | None]) -> list[Matrix]:
        """The tangents of the outputs along a direction, as vectors. Where it is None, an input has no tangent."""
        return [
            np.zeros(int(np.prod(y.shape))) if t is None else np.asarray(t, np.float64).ravel()
            for y, t in zip(self.outputs, self.tangents(direction), strict=True)
        ]

    def tangents(self, direction: Sequence[Matrix | None]) -> list[Any]:
        """The tangents of the outputs along a direction; None for a constant output."""
        moving = [(x, d) for x, d in zip(self.places, direction, strict=True) if d is not None]
        moves = [_core.make(d.astype(x.dtype), None, False, 0) for x, d in moving]
        return _core.push(self.outputs, [x for x, _ in moving], moves, False)

    def columns(self, problem: FunctionAtPoint) -> list[list[Matrix]]:
        """For each output and input, the Jacobian in forward mode, one pass per column."""
        found = [[np.zeros((int(np.prod(y.shape)), a.size)) for a in problem.at] for y in self.outputs]
        for j, k, direction in problem.units():
            for row, t in zip(found, self.pushed(direction), strict=True):
                row[j][:, k] = t
        return found

    def batched_pushed(self, j: int, directions: Matrix, randomness: str | None = None) -> list[Matrix]:
        """For each output ``[directions, elements]``: its tangents along directions of input ``j``, in one pass."""
        x, n = self.places[j], len(directions)
        with _core.Level(n, randomness) as level:
            given = _core.make(directions.astype(x.dtype), None, False, 0)
            found = _core.push(self.outputs, [x], [level.enter(given, 0)], False)
            moved = [t if t is None else np.asarray(level.leave(t, 0), np.float64) for t in found]
        sizes = [int(np.prod(y.shape)) for y in self.outputs]
        return [np.zeros((n, m)) if t is None else t.reshape(n, m) for m, t in zip(sizes, moved, strict=True)]

    def batched_columns(self, j: int) -> list[Matrix]:
        """The Jacobians of all outputs with respect to input ``j``, in one batched forward pass."""
        x = self.places[j]
        n = int(np.prod(x.shape))
        return [rows.T for rows in self.batched_pushed(j, np.eye(n).reshape(n, *x.shape))]


def unit(y: Tensor, k: int) -> Tensor:
    """The unit vector of element ``k`` in the shape of a tensor."""
    seed = np.zeros(tuple(y.shape), y.dtype)
    seed.flat[k] = 1
    return _core.make(seed, None, False, 0)
