"""How cost grows: time per element for 1 to 10 million elements, time per node for a hundred to a million nodes, and
time per step of a chain of ten to ten thousand steps with a gradient in each.

``python benches/growth.py`` prints them for ferrograd, and for torch if it is installed. It draws them into
``target/growth.png``.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from frameworks import FRAMEWORKS
from peers import best

mpl.use("agg")
import matplotlib.pyplot as plt

PICTURE = Path("target/growth.png")
ELEMENTS = [10**k for k in range(8)]
NODES = [10**k for k in range(2, 7)]
STEPS = [10**k for k in range(1, 5)]


def elements(f: Any, n: int) -> Callable[[], Any]:
    """The sum of tanh of n elements, forward and backward."""
    call: Callable[[], Any] = f.gradients(lambda x: f.total(f.tanh(x)), np.linspace(-3, 3, n, dtype=np.float32))
    return call


def nodes(f: Any, n: int) -> Callable[[], Any]:
    """A chain of n multiplications, forward, backward and dropped."""
    x = f.leaf(np.full(1, 0.999, np.float32))

    def run() -> Any:
        y = x
        for _ in range(n):
            y = y * x
        return f.grad(f.total(y), [x])

    return run


def steps(f: Any, n: int) -> Callable[[], Any]:
    """A chain of n steps, each with a gradient by the last value, whose history grows."""
    x = f.leaf(np.full(1, 0.999, np.float32))

    def run() -> Any:
        y = x
        for _ in range(n):
            (g,) = f.grad(f.total(f.tanh(y)), [y])
            y = y * x + g
        return y

    return run


def curve(f: Any, make: Callable[[Any, int], Callable[[], Any]], sizes: list[int]) -> list[float]:
    """Nanoseconds per element or node, for each size."""
    times = []
    for n in sizes:
        call = make(f, n)
        call()
        times.append(best(call, batches=3) * 1e3 / n)
    return times


def main() -> None:
    there = [n for n in ("ferrograd", "torch") if importlib.util.find_spec(FRAMEWORKS[n][1])]
    figure, axes = plt.subplots(1, 3, figsize=(15, 4), layout="constrained")
    for axis, make, sizes in ((axes[0], elements, ELEMENTS), (axes[1], nodes, NODES), (axes[2], steps, STEPS)):
        word = make.__name__
        for name in there:
            # torch takes a quarter of a minute for a million nodes.
            mine = sizes if name == "ferrograd" or make is not nodes else sizes[:-1]
            times = curve(FRAMEWORKS[name][0](), make, mine)
            axis.loglog(mine, times, marker="o", label=name)
            for n, t in zip(mine, times, strict=True):
                print(f"{name}: {n} {word}: {t:,.2f} ns each")
        axis.set(xlabel=word, ylabel=f"ns per {word[:-1]}", title=(make.__doc__ or "").split(",")[0])
        if make is nodes:
            axis.set_ylim(1e2, 1e5)
        axis.grid(True, which="major", alpha=0.3)
        axis.legend()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)
    print(f"drawn: {PICTURE}")


if __name__ == "__main__":
    main()
