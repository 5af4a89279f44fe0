"""A model of tensors that share memory, for random programs of views and writes.

The model stores the values of each memory and, for each history of it, the first and second derivatives of each
element with respect to the elements of the leaves. A tensor is an array of positions in a memory: where the library
takes a view of the values, NumPy takes the same view of the positions, so the model needs no strides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray
#: A step: the operation, the numbers of the tensors it is applied to, and its arguments.
Step = tuple[str, tuple[int, ...], Any]


@dataclass
class Jet:
    """Values with their first and second derivatives by ``k`` leaf elements, whose axes are last."""

    v: Array
    j: Array
    h: Array
    tracked: bool

    def part(self, key: Any) -> Jet:
        return Jet(self.v[key], self.j[key], self.h[key], self.tracked)

    def broadcast(self, shape: tuple[int, ...]) -> Jet:
        k = self.j.shape[-1]
        lead = (1,) * (len(shape) - self.v.ndim)
        return Jet(
            np.broadcast_to(self.v, shape),
            np.broadcast_to(self.j.reshape(lead + self.j.shape), (*shape, k)),
            np.broadcast_to(self.h.reshape(lead + self.h.shape), (*shape, k, k)),
            self.tracked,
        )


def constant(v: Array, k: int) -> Jet:
    return Jet(v, np.zeros((*v.shape, k)), np.zeros((*v.shape, k, k)), False)


def outer(a: Array, b: Array) -> Array:
    return a[..., :, None] * b[..., None, :]


def add(x: Jet, y: Jet) -> Jet:
    return Jet(x.v + y.v, x.j + y.j, x.h + y.h, x.tracked or y.tracked)


def mul(x: Jet, y: Jet) -> Jet:
    xv, yv = x.v[..., None], y.v[..., None]
    h = xv[..., None] * y.h + yv[..., None] * x.h + outer(x.j, y.j) + outer(y.j, x.j)
    return Jet(x.v * y.v, xv * y.j + yv * x.j, h, x.tracked or y.tracked)


def sin(x: Jet) -> Jet:
    s, c = np.sin(x.v)[..., None], np.cos(x.v)[..., None]
    return Jet(np.sin(x.v), c * x.j, c[..., None] * x.h - s[..., None] * outer(x.j, x.j), x.tracked)


@dataclass
class Memory:
    values: Array
    #: The shape of the tensor that the memory was made for.
    shape: tuple[int, ...]
    positions: Array


@dataclass
class History:
    j: Array
    h: Array
    tracked: bool = False
    leaf: bool = False
    changes: int = 0


@dataclass
class Model:
    """A tensor of the model."""

    memory: Memory
    history: History
    at: Array
    #: Made without recording, or a view of such a view: gradients do not flow to it until the history changes.
    blind: int | None = None
    view: bool = False

    @property
    def is_blind(self) -> bool:
        return self.blind == self.history.changes

    @property
    def tracked(self) -> bool:
        return self.history.tracked and not self.is_blind

    def jet(self, recorded: bool = True) -> Jet:
        v = self.memory.values[self.at]
        if not (self.tracked and recorded):
            return constant(v, self.history.j.shape[-1])
        return Jet(v, self.history.j[self.at], self.history.h[self.at], True)


def own(jet: Jet, leaf: bool = False) -> Model:
    """A tensor with memory of its own."""
    n, k = jet.v.size, jet.j.shape[-1]
    history = History(jet.j.reshape(n, k).copy(), jet.h.reshape(n, k, k).copy(), jet.tracked, leaf)
    memory = Memory(jet.v.reshape(n).copy(), jet.v.shape, np.arange(n))
    return Model(memory, history, memory.positions.reshape(jet.v.shape))


def seen(base: Model, at: Array, recorded: bool) -> Model:
    """The result of an op that moves elements: a view if the positions still are a view."""
    if at.size and not np.may_share_memory(at, base.at):
        jet = base.jet(recorded)
        order = np.searchsorted(base.at.ravel(), at.ravel(), sorter=np.argsort(base.at.ravel(), kind="stable"))
        order = np.argsort(base.at.ravel(), kind="stable")[order]
        k = jet.j.shape[-1]
        v, j, h = jet.v.reshape(-1), jet.j.reshape(-1, k), jet.h.reshape(-1, k, k)
        return own(
            Jet(
                v[order].reshape(at.shape),
                j[order].reshape(*at.shape, k),
                h[order].reshape(*at.shape, k, k),
                jet.tracked,
            )
        )
    blind = base.history.changes if not recorded or base.is_blind else None
    return Model(base.memory, base.history, at, blind, True)


class Refused(Exception):
    """Raised for a step that the library must refuse."""


def write(t: Model, key: Any, jet: Jet, recorded: bool) -> None:
    at = t.at[key]
    if at.size and not isinstance(key, (list, np.ndarray)) and len(np.unique(at)) < at.size:
        raise Refused
    jet = jet.broadcast(at.shape)
    t.memory.values[at] = jet.v
    history = t.history
    if recorded and (history.tracked or jet.tracked):
        history.j[at], history.h[at] = jet.j, jet.h
        history.tracked = True
        history.changes += 1


#: Ops that move elements; each works on positions and on tensors.
MOVES: dict[str, Callable[[Any, Any], Any]] = {
    "index": lambda x, key: x[key if ... in key or not isinstance(x, Array) else (*key, ...)],
    "reshape": lambda x, shape: x.reshape(shape),
    "swap": lambda x, axes: x.swapaxes(*axes),
    "unsqueeze": lambda x, axis: np.expand_dims(x, axis) if isinstance(x, Array) else x.unsqueeze(axis),
    "squeeze": lambda x, axis: x.squeeze(axis),
    "expand": lambda x, shape: np.broadcast_to(x, shape) if isinstance(x, Array) else x.expand(shape),
    "diagonal": lambda x, offset: x.diagonal(offset, 0, 1),
    "unbind": lambda x, axis: rows(x, axis) if isinstance(x, Array) else x.unbind(axis),
    "chunk": lambda x, axis: chunks(x, axis) if isinstance(x, Array) else x.chunk(2, axis),
}
#: In-place methods that change the shape of the tensor.
SHAPERS: dict[str, str] = {
    "swap_": "swapaxes_",
    "unsqueeze_": "unsqueeze_",
    "squeeze_": "squeeze_",
    "reshape_": "reshape_",
}


def rows(x: Array, axis: int) -> list[Array]:
    return [np.moveaxis(x, axis, 0)[i, ...] for i in range(x.shape[axis])]


def chunks(x: Array, axis: int) -> list[Array]:
    n = x.shape[axis]
    length = max(1, -(-n // 2))
    return np.split(x, range(length, n, length), axis) if n else [x, x]


@dataclass
class World:
    """The tensors of a program in the model, computed step by step."""

    k: int
    tensors: list[Model] = field(default_factory=list)
    recorded: bool = True

    def leaf(self, v: Array, first: int) -> None:
        jet = constant(v, self.k)
        jet.j.reshape(-1, self.k)[np.arange(v.size), first + np.arange(v.size)] = 1
        jet.tracked = True
        self.tensors.append(own(jet, leaf=True))

    def begin(self, t: Model) -> None:
        """Prepares a write: refuses a leaf, and makes gradients flow to a blind view again."""
        if self.recorded:
            if t.history.leaf:
                raise Refused
            if t.history.tracked and t.is_blind:
                t.blind = None

    def step(self, step: Step) -> None:
        kind, which, what = step
        ts = [self.tensors[i] for i in which]
        x = ts[0] if ts else None
        new: list[Model] = []
        if kind == "grad":
            self.recorded = what
        elif kind == "constant":
            new = [own(constant(what, self.k))]
        elif x is None:
            raise AssertionError(kind)
        elif kind in MOVES:
            at = MOVES[kind](x.at, what)
            new = [seen(x, a, self.recorded) for a in (at if isinstance(at, list) else [at])]
        elif kind in SHAPERS:
            self.begin(x)
            at = MOVES[kind[:-1]](x.at, what)
            if x.history.leaf:
                raise Refused
            if at.size == 0 or np.may_share_memory(at, x.at):
                x.at = at
            else:
                copy = seen(x, at, True)
                x.memory, x.history, x.at, x.blind, x.view = copy.memory, copy.history, copy.at, None, False
        elif kind == "pick":
            new = [own(x.jet(self.recorded).part(what))]
        elif kind in ("add", "mul", "sin"):
            new = [own(self.compute(kind, ts, what))]
        elif kind == "detach":
            empty = History(np.zeros_like(x.history.j), np.zeros_like(x.history.h))
            new = [Model(x.memory, empty, x.at)]
        elif kind in ("add_", "mul_", "sin_"):
            self.begin(x)
            write(x, ..., self.compute(kind[:-1], ts, what), self.recorded)
        elif kind == "set":
            if len(ts) > 1:
                self.set(x, what, ts[1])
            else:
                self.begin(x)
                key, number = what
                write(x, key, constant(np.asarray(number), self.k), self.recorded)
        elif kind == "augment":
            key, number = what
            part = seen(x, MOVES["index"](x.at, key), self.recorded)
            self.begin(part)
            write(part, ..., mul(part.jet(self.recorded), constant(np.asarray(number), self.k)), self.recorded)
            self.set(x, key, part)
        elif kind == "data":
            self.adopt(*ts)
        self.tensors += new

    def set(self, x: Model, key: Any, y: Model) -> None:
        self.begin(x)
        same = y.history is x.history and not isinstance(key, (list, np.ndarray))
        # Writing a view to its own position changes nothing.
        if not (same and np.array_equal(x.at[key], y.at) and y.tracked == x.history.tracked):
            write(x, key, y.jet(self.recorded), self.recorded)

    def compute(self, kind: str, ts: list[Model], what: Any) -> Jet:
        x = ts[0].jet(self.recorded)
        if kind == "sin":
            return sin(x)
        y = ts[1].jet(self.recorded) if len(ts) > 1 else constant(np.asarray(what), self.k)
        shape = np.broadcast_shapes(x.v.shape, y.v.shape)
        return {"add": add, "mul": mul}[kind](x.broadcast(shape), y.broadcast(shape))

    def adopt(self, x: Model, y: Model) -> None:
        """``x.data = y``: `x` takes the memory of `y` and keeps its own derivatives."""
        if x.memory is y.memory and x.at.shape == y.at.shape and np.array_equal(x.at, y.at):
            return
        jet = x.jet()
        leaf = x.history.leaf and not x.view
        n = y.memory.values.size
        history = History(np.zeros((n, self.k)), np.zeros((n, self.k, self.k)), jet.tracked, leaf)
        history.j[y.at], history.h[y.at] = jet.j, jet.h
        x.memory, x.history, x.at, x.blind, x.view = y.memory, history, y.at, None, False
