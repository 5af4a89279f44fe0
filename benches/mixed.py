"""Times forward passes and training steps in bfloat16 autocast and in float32, in turns, and prints the ratios.

``python benches/mixed.py`` prints the table. ``--pairs N`` sets how many times each of the two is measured; the ratio
is the median of theirs. A ratio below 1 says that autocast takes less time.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from ferrograd import torch as _torch

torch: Any = _torch
nn, F = torch.nn, torch.nn.functional

#: How long a measurement takes at least, in seconds.
LEAST = 0.01


def mlp(width: int) -> tuple[Any, Any]:
    """A perceptron of three layers, and a batch of 64."""
    hidden = [nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*hidden, nn.Linear(width, 10)), torch.randn(64, width)


def convolutions() -> tuple[Any, Any]:
    """Two convolutions with pools, and a batch of 16 images."""
    blocks = [nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    blocks += [nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*blocks, nn.Flatten(), nn.Linear(64 * 8 * 8, 10)), torch.randn(16, 3, 32, 32)


class Pooled(torch.nn.Module):  # type: ignore[misc]
    """An encoder of two layers, whose outputs are averaged and classified."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, 2), nn.Linear(128, 10)

    def forward(self, x: Any) -> Any:
        """The scores of each class."""
        return self.head(self.encoder(x).mean(1))


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "MLP, 256 wide, batch 64": lambda: mlp(256),
    "MLP, 512 wide, batch 64": lambda: mlp(512),
    "two convolutions, batch 16": convolutions,
    "transformer encoder, 128 wide, 16 x 32": lambda: (Pooled(), torch.randn(16, 32, 128)),
}


def call(make: Callable[[], tuple[Any, Any]], casts: bool, trains: bool) -> Callable[[], Any]:
    """A training step of a model, or its forward pass alone."""
    torch.manual_seed(0)
    model, x = make()
    labels = torch.arange(x.shape[0]) % 10
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=casts):
            loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()

    def forward() -> None:
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=casts):
            model(x)

    return step if trains else forward


def timed(f: Callable[[], Any], count: int) -> float:
    """The seconds that a call takes."""
    start = time.perf_counter()
    for _ in range(count):
        f()
    return (time.perf_counter() - start) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=31, help="measurements of each")
    pairs = parser.parse_args().pairs
    print(f"{'':48}{'float32':>12}{'bfloat16':>12}{'ratio':>8}")
    for name, make in MODELS.items():
        for trains in (False, True):
            both = [call(make, casts, trains) for casts in (False, True)]
            count = max(1, int(LEAST / min(timed(f, 3) for f in both for _ in range(2))))
            times: list[list[float]] = [[], []]
            for i in range(pairs):
                for k in (0, 1) if i % 2 else (1, 0):
                    times[k].append(timed(both[k], count))
            plain, cast = (statistics.median(own) * 1e6 for own in times)
            ratio = statistics.median(b / a for a, b in zip(*times, strict=True))
            what = name + (", a step" if trains else ", forward")
            print(f"{what:48}{plain:9.0f} µs{cast:9.0f} µs{ratio:8.2f}", flush=True)


if __name__ == "__main__":
    main()
