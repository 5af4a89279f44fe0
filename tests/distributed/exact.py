"""A program of several processes: trains on blocks of samples and prints the bits of what came out."""

from __future__ import annotations

import json
from typing import Any

import ferrograd as fg
import numpy as np
from ferrograd import func

world = fg.distributed.world()
rng = np.random.default_rng(0)
X = rng.normal(size=(50, 4)).astype(np.float32)
Y = np.sin(X.sum(1)).astype(np.float32)


def loss(w: Any, x: Any, y: Any) -> Any:
    return fg.sum((fg.tanh(x @ w["in"] + w["bias"]) @ w["out"] - y) ** 2)


def start() -> dict[str, Any]:
    drawn = np.random.default_rng(1)
    shapes = {"in": (4, 8), "bias": (8,), "out": (8,)}
    return {name: fg.tensor(drawn.normal(size=shape).astype(np.float32)) for name, shape in shapes.items()}


def descend(w: Any, slope: Any) -> dict[str, Any]:
    return {name: w[name] - 0.002 * slope[name] for name in w}


def main() -> None:
    in_blocks = func.value_and_grad(loss, batch_argnums=(1, 2), blocks=7, executor=world)
    w, losses = start(), []
    for _ in range(5):
        value, slope = in_blocks(w, X, Y)
        w = descend(w, slope)
        losses.append(value.item())
    # The same to rounding: each process has its samples, and MPI sums in the order that it likes.
    mine = slice(50 * world.rank // world.size, 50 * (world.rank + 1) // world.size)
    v = start()
    for step in range(5):
        value, slope = func.value_and_grad(loss)(v, fg.tensor(X[mine]), fg.tensor(Y[mine]))
        np.testing.assert_allclose(world.allreduce(value.detach()).item(), losses[step], rtol=1e-5)
        v = descend(v, {name: world.allreduce(g.detach()) for name, g in slope.items()})
    for name in w:
        np.testing.assert_allclose(np.asarray(v[name]), np.asarray(w[name]), rtol=1e-4, atol=1e-5)
    bits = {name: np.asarray(x).tobytes().hex() for name, x in w.items()}
    assert world.allgather_object(bits) == [bits] * world.size
    if world.rank == 0:
        print(json.dumps([losses, bits]))


if __name__ == "__main__":
    main()
