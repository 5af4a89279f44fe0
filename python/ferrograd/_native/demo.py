"""``python -m ferrograd demo``: differentiates a sine three times, then trains a network to read digits.

ferrograd computes every op and every gradient. The demo saves ``sin.png`` and ``loss.png``. It fails if the network
reads less than 97 % of the held-out digits.
"""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import ferrograd as fg
from ferrograd import paddle

EPOCHS, BATCH, HIDDEN, RATE, MOMENTUM, DECAY = 30, 32, 256, 0.1, 0.9, 1e-3


def sine(folder: Path) -> None:
    """Plots sin and its first three derivatives. Each derivative is the gradient of the previous one."""
    x = paddle.to_tensor(np.arange(-5, 5, 0.01), dtype="float32", stop_gradient=False)
    y = paddle.sin(x)
    curves = [y]
    for _ in range(3):
        curves.append(paddle.grad(curves[-1], x, create_graph=True)[0])
    paddle.autograd.backward(y)
    assert np.array_equal(x.grad.numpy(), curves[1].numpy())

    figure, (first, rest) = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
    first.plot(x, y, label="f(x) = sin x")
    first.plot(x, x.grad, label="f'(x), by backward")
    rest.plot(x, curves[2], label="f''(x)")
    rest.plot(x, curves[3], label="f'''(x)")
    for axes in (first, rest):
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)
        axes.grid(alpha=0.3)
    figure.savefig(folder / "sin.png", dpi=120)
    plt.close(figure)
    print(f"sin of {len(x)} points and its first three derivatives: {folder}/sin.png")
    off = np.abs(curves[2].numpy() + y.numpy()).max()
    print(f"the second derivative differs from -sin by at most {off:.1e}")


def network(weights: list[fg.Tensor], x: fg.Tensor) -> fg.Tensor:
    """The scores of the ten digits, from three layers."""
    w1, b1, w2, b2, w3, b3 = weights
    return fg.relu(fg.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3


def digits(folder: Path) -> float:
    """Trains on two thirds of the digits, plots the loss, and returns the accuracy on the last third."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    train_x, test_x, train_y, test_y = (
        fg.tensor(a) for a in train_test_split(images, labels, test_size=1 / 3, random_state=0)
    )
    rng = np.random.default_rng(0)
    sizes = [64, HIDDEN, HIDDEN, 10]
    weights = []
    for fan_in, fan_out in pairwise(sizes):
        spread = np.sqrt(2 / fan_in)
        weights.append(fg.tensor(rng.normal(0, spread, (fan_in, fan_out)).astype(np.float32), requires_grad=True))
        weights.append(fg.zeros([fan_out], dtype="float32"))
        weights[-1].requires_grad = True
    print(f"digits: {len(train_x)} for training, {len(test_x)} held out, {sum(w.size for w in weights):,} weights")

    speeds = [fg.zeros(w.shape, dtype="float32") for w in weights]
    losses = []
    start = time.perf_counter()
    bar = tqdm(range(EPOCHS), desc="training", unit="epoch", mininterval=0.5)
    for epoch in bar:
        rate = RATE * (1 + np.cos(np.pi * epoch / EPOCHS)) / 2
        order = rng.permutation(len(train_x))
        for i in range(0, len(order), BATCH):
            batch = order[i : i + BATCH]
            loss = fg.cross_entropy(network(weights, train_x[batch]), train_y[batch])
            gradients = fg.grad(loss, weights)
            with fg.no_grad():
                speeds = [MOMENTUM * v + g + DECAY * w for v, g, w in zip(speeds, gradients, weights, strict=True)]
                weights = [w - float(rate) * v for w, v in zip(weights, speeds, strict=True)]
            for w in weights:
                w.requires_grad = True
            losses.append(loss.item())
        bar.set_postfix(loss=f"{losses[-1]:.4f}", refresh=False)
    seconds = time.perf_counter() - start
    print(f"{len(losses)} steps of momentum in {seconds:.1f} s ({1e6 * seconds / len(losses):.0f} µs a step)")
    print(f"loss: {losses[0]:.3f} in the first step, {np.mean(losses[-38:]):.4f} on average in the last pass")

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.semilogy(losses, alpha=0.35, label="each batch")
    axes.semilogy(np.convolve(losses, np.ones(38) / 38, "valid"), label="mean of one pass")
    axes.set(xlabel="step", ylabel="cross entropy")
    axes.legend()
    figure.savefig(folder / "loss.png", dpi=120)
    plt.close(figure)
    print(f"loss curve: {folder}/loss.png")
    with fg.no_grad():
        read = fg.argmax(network(weights, test_x), axis=1)
        return float(fg.mean(fg.astype(read == test_y, "float64")).item())


def main(folder: Path) -> bool:
    """Runs both parts, and says whether the network reads well enough."""
    plt.switch_backend("agg")
    folder.mkdir(parents=True, exist_ok=True)
    sine(folder)
    accuracy = digits(folder)
    print(f"accuracy on the held-out third: {accuracy:.2%}")
    return accuracy >= 0.97
