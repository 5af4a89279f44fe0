"""A program of several processes: trains on blocks of samples and prints the bits of what came out."""

from __future__ import annotations

import json
from typing import Any

import ferrograd as fg
import numpy as np
from ferrograd import func, paddle as _paddle, torch as _torch

torch: Any = _torch
paddle: Any = _paddle
nn = torch.nn

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


def torch_network() -> tuple[Any, Any]:
    """A network with normalizations of 4 and of 2 axes, and its loss by its parameters."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(2, 5, 3), nn.BatchNorm2d(5), nn.ReLU(), nn.Flatten(), nn.Linear(80, 7))
    net = nn.Sequential(net, nn.BatchNorm1d(7), nn.Tanh(), nn.Linear(7, 3))
    net = nn.SyncBatchNorm.convert_sync_batchnorm(net)

    def loss(w: Any, x: Any, y: Any) -> Any:
        return nn.functional.cross_entropy(torch.func.functional_call(net, w, (x,)), y, reduction="sum")

    return net, loss


def paddle_network() -> tuple[Any, Any]:
    """A network with a normalization of the last axis, and its loss by its parameters."""
    paddle.seed(0)
    norm = paddle.nn.BatchNorm1D(7, data_format="NLC")
    parts = [paddle.nn.Flatten(2), paddle.nn.Linear(36, 7), norm, paddle.nn.Flatten(), paddle.nn.Linear(14, 3)]
    net = paddle.nn.SyncBatchNorm.convert_sync_batchnorm(paddle.nn.Sequential(*parts))
    owners = {id(p): (layer, name) for layer in net.sublayers() for name, p in layer._parameters.items()}
    places = {name: owners[id(p)] for name, p in net.named_parameters()}

    def loss(w: Any, x: Any, y: Any) -> Any:
        before = dict(net.named_parameters())
        for name, (layer, own) in places.items():
            if not before[name].stop_gradient:
                layer._parameters[own] = w[name]
        try:
            return paddle.nn.functional.cross_entropy(net(x), y, reduction="sum")
        finally:
            for name, (layer, own) in places.items():
                layer._parameters[own] = before[name]

    return net, loss


def normalized() -> list[str]:
    """The bits of losses, parameters and running statistics after some steps with synchronized batch normalization."""
    drawn = np.random.default_rng(2)
    x, y = drawn.normal(size=(48, 2, 6, 6)).astype(np.float32), drawn.integers(0, 3, 48)
    found = []
    for make in (torch_network, paddle_network):
        net, loss = make()
        tensor = torch.tensor if make is torch_network else paddle.to_tensor
        w = {name: p.detach() for name, p in net.named_parameters() if p.requires_grad}
        for blocks in (12, 4, 12):
            step = func.value_and_grad(loss, batch_argnums=(1, 2), blocks=blocks, executor=world)
            value, slope = step(w, tensor(x), tensor(y))
            if world.size > 1:
                rounded = func.value_and_grad(
                    loss, batch_argnums=(1, 2), blocks=blocks, executor=world, deterministic=False
                )
                kept = [b.detach().clone() for b in statistics(net)]
                np.testing.assert_allclose(rounded(w, tensor(x), tensor(y))[0].item(), value.item(), rtol=1e-4)
                for b, old in zip(statistics(net), kept, strict=True):
                    b.detach().copy_(old)
            w = {name: w[name] - 0.01 * slope[name] for name in w}
            found.append(np.asarray(value).tobytes().hex())
        found += [np.asarray(p.detach()).tobytes().hex() for p in (*w.values(), *statistics(net))]
    return found


def statistics(net: Any) -> list[Any]:
    """The tensors of a network that are not differentiated."""
    return [*(p for _, p in net.named_parameters() if not p.requires_grad), *(b for _, b in net.named_buffers())]


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
    more = normalized()
    assert world.allgather_object((bits, more)) == [(bits, more)] * world.size
    if world.rank == 0:
        print(json.dumps([losses, bits, more]))


if __name__ == "__main__":
    main()
