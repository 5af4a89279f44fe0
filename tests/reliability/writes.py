"""Random programs of views and writes, run by the library and by the model of ``shared_memory``.

A program is a list of steps.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np

from tests.reliability.shared_memory import MOVES, SHAPERS, Array, Refused, Step, World


def perform(step: Step, tensors: list[Any]) -> list[Any]:
    """Runs a step on the library's tensors and returns the new tensors."""
    kind, which, what = step
    ts = [tensors[i] for i in which]
    x = ts[0] if ts else None
    y = ts[1] if len(ts) > 1 else what
    if kind in MOVES:
        made = MOVES[kind](x, what)
        return list(made) if isinstance(made, (list, tuple)) else [made]
    if kind == "set":
        if len(ts) > 1:
            ts[0][what] = y
        else:
            ts[0][what[0]] = what[1]
        return []
    if kind == "augment":
        ts[0][what[0]] *= what[1]
        return []
    if kind == "data":
        ts[0].data = y
        return []
    if kind in SHAPERS:
        getattr(x, SHAPERS[kind])(*(what if kind == "swap_" else (what,)))
        return []
    actions: dict[str, Callable[[], Any]] = {
        "constant": lambda: fg.tensor(what),
        "pick": lambda: ts[0][what],
        "add": lambda: ts[0] + y,
        "mul": lambda: ts[0] * y,
        "sin": lambda: fg.sin(ts[0]),
        "detach": lambda: ts[0].detach(),
        "add_": lambda: ts[0].add_(y),
        "mul_": lambda: ts[0].mul_(y),
        "sin_": lambda: ts[0].sin_(),
    }
    made = actions[kind]()
    return [] if kind.endswith("_") else [made]


class Writer:
    """Generates random programs; the model tells the shapes."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.world = World(k=6)
        self.world.leaf(self.rng.uniform(-1, 1, (2, 2)), 0)
        self.world.leaf(self.rng.uniform(-1, 1, (2,)), 4)

    def choose(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def number(self) -> float:
        return round(float(self.rng.uniform(-1.5, 1.5)), 2)

    def slice(self, n: int) -> slice:
        step = int(self.choose([1, 1, 1, 2, -1, -2]))
        ends = [None, *range(-n, n + 1)]
        return slice(self.choose(ends), self.choose(ends), step)

    def key(self, shape: tuple[int, ...]) -> Any:
        """A basic index."""
        key: list[Any] = []
        for n in shape[: int(self.rng.integers(len(shape) + 1))]:
            if self.rng.random() < 0.15:
                key.append(None)
            key.append(int(self.rng.integers(-n, n)) if n and self.rng.random() < 0.5 else self.slice(n))
        if self.rng.random() < 0.2:
            key.append(...)
        return tuple(key)

    def wide(self, shape: tuple[int, ...]) -> Any:
        """An index array for the first axis, or a mask."""
        if self.rng.random() < 0.4:
            return self.rng.random(shape) < 0.5
        n = shape[0]
        return [int(i) for i in self.rng.integers(-n, n, size=int(self.rng.integers(1, 4)))]

    def like(self, shape: tuple[int, ...]) -> int | None:
        """A tensor that broadcasts to a shape."""
        fits = []
        for i, t in enumerate(self.world.tensors):
            own = t.at.shape
            if len(own) <= len(shape) and all(a in (1, b) for a, b in zip(own[::-1], shape[::-1], strict=False)):
                fits.append(i)
        return self.choose(fits) if fits else None

    def movement(self, shape: tuple[int, ...]) -> tuple[str, Any] | None:
        rank = len(shape)
        axis = int(self.rng.integers(rank)) if rank else 0
        kind = self.choose(
            [
                "index",
                "index",
                "index",
                "reshape",
                "swap",
                "unsqueeze",
                "squeeze",
                "expand",
                "diagonal",
                "unbind",
                "chunk",
            ]
        )
        size = int(np.prod(shape))
        if kind == "index":
            return kind, self.key(shape)
        if kind == "reshape":
            shapes = [(size,), shape, (1, *shape), *((d, size // d) for d in range(1, size + 1) if size % d == 0)]
            return kind, self.choose(shapes)
        if kind == "unsqueeze":
            return kind, int(self.rng.integers(rank + 1))
        if kind == "squeeze":
            ones = [a for a in range(rank) if shape[a] == 1]
            return (kind, self.choose(ones)) if ones else None
        if kind == "expand":
            grown = tuple(2 if n == 1 else n for n in shape)
            return kind, (grown if self.rng.random() < 0.5 else (2, *grown))
        if kind == "swap":
            return (kind, (axis, int(self.rng.integers(rank)))) if rank else None
        if kind == "diagonal":
            return (kind, int(self.rng.integers(-1, 2))) if rank >= 2 else None
        return (kind, axis) if rank else None

    def step(self) -> Step | None:
        i = int(self.rng.integers(len(self.world.tensors)))
        t = self.world.tensors[i]
        shape = t.at.shape
        kind = self.choose(
            ["move"] * 8
            + ["set"] * 4
            + ["inplace"] * 3
            + ["compute"] * 2
            + ["augment", "wide", "pick", "detach", "grad", "constant", "shaper", "data"]
        )
        if kind == "grad":
            return "grad", (), bool(self.rng.random() < (0.3 if self.world.recorded else 0.9))
        if kind == "constant":
            dims = self.choose([(4,), (2, 3), (2, 2, 2), (3, 1), ()])
            return "constant", (), self.rng.uniform(-1, 1, dims)
        if kind == "move":
            move = self.movement(shape)
            return (move[0], (i,), move[1]) if move else None
        if kind == "shaper":
            move = self.movement(shape)
            if not move or move[0] + "_" not in SHAPERS or t.history.leaf:
                return None
            return move[0] + "_", (i,), move[1]
        if kind == "set":
            key = self.key(shape)
            other = self.like(t.at[key].shape)
            if other is None or self.rng.random() < 0.3:
                return "set", (i,), (key, self.number())
            return "set", (i, other), key
        if kind == "augment":
            return "augment", (i,), (self.key(shape), self.number())
        if kind in ("wide", "pick") and (not shape or shape[0] == 0):
            return None
        if kind == "wide":
            if len(np.unique(t.at)) < t.at.size:
                return None
            key = self.wide(shape)
            other = self.like(t.at[key].shape)
            return ("set", (i,), (key, self.number())) if other is None else ("set", (i, other), key)
        if kind == "pick":
            return "pick", (i,), self.wide(shape)
        if kind == "detach":
            return "detach", (i,), None
        if kind == "data":
            same = [
                n for n, o in enumerate(self.world.tensors) if o.at.shape == shape and np.unique(o.at).size == o.at.size
            ]
            return ("data", (i, self.choose(same)), None) if same else None
        op = self.choose(["add", "mul", "sin"])
        tail = "_" if kind == "inplace" else ""
        other = self.like(shape)
        if op == "sin":
            return op + tail, (i,), None
        if other is None or self.rng.random() < 0.3:
            return op + tail, (i,), self.number()
        return op + tail, (i, other), None


def close(got: Any, want: Array, what: str) -> None:
    got = np.asarray(got)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, not {want.shape}"
    scale = max(1.0, float(np.max(np.abs(want), initial=0)))
    assert np.max(np.abs(got - want), initial=0) <= 1e-9 * scale, f"{what}:\n{got}\nbut the model has\n{want}"


def derivatives(world: World, tensors: list[Any], rng: np.random.Generator) -> None:
    """First and second derivatives of a random linear combination of all tensors."""
    leaves = tensors[:2]
    j, h, total = np.zeros(world.k), np.zeros((world.k, world.k)), 0.0
    out: Any = None
    for t, m in zip(tensors, world.tensors, strict=True):
        if m.tracked and m.at.size:
            w = rng.uniform(-1, 1, m.at.shape)
            jet = m.jet()
            j += np.tensordot(w, jet.j, m.at.ndim)
            h += np.tensordot(w, jet.h, m.at.ndim)
            total += float((w * jet.v).sum())
            part = (t * fg.tensor(w)).sum()
            out = part if out is None else out + part
    close(out.detach(), np.asarray(total), "the sum")

    def split(flat: Array) -> list[Array]:
        return [flat[:4].reshape(2, 2), flat[4:]]

    def grads(of: Any, record: bool) -> list[Any]:
        found = fg.grad(of, leaves, create_graph=record, allow_unused=True)
        return [fg.zeros(x.shape, dtype=x.dtype) if g is None else g for g, x in zip(found, leaves, strict=True)]

    first = grads(out, True)
    for i, (g, want) in enumerate(zip(first, split(j), strict=True)):
        close(g.detach(), want, f"the gradient of leaf {i}")
    u = rng.uniform(-1, 1, world.k)
    along = sum((g * fg.tensor(d)).sum() for g, d in zip(first, split(u), strict=True))
    second = grads(along, False) if getattr(along, "requires_grad", False) else [fg.zeros((2, 2)), fg.zeros((2,))]
    for i, (g, want) in enumerate(zip(second, split(h @ u), strict=True)):
        close(g, want, f"the second derivative of leaf {i}")


def run(seed: int, length: int = 14) -> list[Step]:
    """Generates a program, runs it in the library and in the model, and compares. The error shows the program."""
    writer = Writer(seed)
    world = writer.world
    tensors: list[Any] = [fg.tensor(t.memory.values[t.at], requires_grad=True) for t in world.tensors]
    program: list[Step] = []
    try:
        for _ in range(length):
            step = writer.step()
            if step is None:
                continue
            program.append(step)
            go(step, world, tensors)
            if any(np.max(np.abs(t.memory.values), initial=0) > 1e3 for t in world.tensors):
                break
        world.recorded = True
        for i, (t, m) in enumerate(zip(tensors, world.tensors, strict=True)):
            close(t.detach(), m.memory.values[m.at], f"tensor {i}")
            assert t.requires_grad == m.tracked, f"tensor {i} is tracked: {t.requires_grad}, the model says {m.tracked}"
            assert t._is_view() == m.view, f"tensor {i} is a view: {t._is_view()}"
        derivatives(world, tensors, writer.rng)
    except Exception as error:
        lines = "\n".join(f"  {step}" for step in program)
        error.add_note(f"seed {seed}:\n{lines}")
        raise
    return program


def go(step: Step, world: World, tensors: list[Any]) -> None:
    """Runs one step in the library and in the model."""
    recorded = world.recorded
    try:
        world.step(step)
    except Refused:
        with fg.set_grad_enabled(recorded):
            try:
                perform(step, tensors)
            except RuntimeError:
                return
        raise AssertionError(f"{step} is to be refused") from None
    if step[0] != "grad":
        with fg.set_grad_enabled(recorded):
            tensors += perform(step, tensors)


def main() -> None:
    """Runs the number of programs given on the command line, from an optional seed."""
    n = int(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int.from_bytes(os.urandom(4)) * 10**6
    print(f"{n} programs from seed {seed}", flush=True)
    for i in range(n):
        run(seed + i, length=10 + i % 30)
    print("all as the model says")


if __name__ == "__main__":
    main()
