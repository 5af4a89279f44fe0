"""How requests from several threads are answered: requests a second of small models with 1, 2 and 4 client threads.

``python benches/clients.py`` prints a table. ``--torch PYTHON`` names an interpreter with torch, which then runs the
same models, in turns. ``--seconds`` is how long each figure is measured in each turn, ``--turns`` how many turns there
are. Kernels run on one thread each, because the clients are parallel already. The best turn counts, and the median of
all is in brackets.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

CLIENTS = (1, 2, 4)
ONE_THREAD = dict.fromkeys(["OMP_NUM_THREADS", "MKL_NUM_THREADS", "FERROGRAD_NUM_THREADS"], "1")


def models(torch: Any) -> dict[str, tuple[Any, Any]]:
    """By name: a model, and the tensor of a request."""
    nn = torch.nn

    class Attention(nn.Module):  # type: ignore[misc, name-defined]
        """A block of a transformer."""

        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads, self.norm, self.last = heads, nn.LayerNorm(width), nn.LayerNorm(width)
            self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            b, n, w = x.shape
            q, k, v = self.mix(self.norm(x)).reshape(b, n, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
            y = nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + self.out(y.permute(0, 2, 1, 3).reshape(b, n, w))
            return x + self.narrow(nn.functional.gelu(self.wide(self.last(x))))

    convolutions = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 16 * 16, 10),
    )  # fmt: skip
    attention = nn.Sequential(Attention(128, 4), Attention(128, 4))
    tanh = nn.Tanh()
    return {
        "CNN, 1 × 3 × 64 × 64": (convolutions.eval(), torch.randn(1, 3, 64, 64)),
        "transformer, 1 × 64 × 128": (attention.eval(), torch.randn(1, 64, 128)),
        "tanh of 100 000": (tanh, torch.randn(100_000)),
    }


def rate(call: Callable[[], Any], clients: int, seconds: float) -> float:
    """The calls that this many threads make in a second."""
    end = time.perf_counter() + seconds
    counts = [0] * clients

    def client(i: int) -> None:
        while time.perf_counter() < end:
            call()
            counts[i] += 1

    threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - begin)


def measured(which: str, seconds: float) -> dict[str, float]:
    """Requests a second by model, way and number of clients."""
    if which == "torch":
        import torch
    else:
        import ferrograd.torch as torch
    torch.set_num_threads(1)
    torch.manual_seed(0)
    found = {}
    for name, (model, x) in models(torch).items():
        ways = {"eager": model}
        if which != "torch":
            ways["compiled"] = torch.compile(model)
        for way, function in ways.items():

            def call(function: Any = function, x: Any = x) -> Any:
                with torch.no_grad():
                    return function(x)

            for _ in range(5):
                call()
            for clients in CLIENTS:
                found[f"{name}|{way}|{clients}"] = rate(call, clients, seconds)
    return found


def main() -> None:
    """Prints the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--torch", metavar="PYTHON")
    options.add_argument("--seconds", type=float, default=1.0)
    options.add_argument("--turns", type=int, default=5)
    options.add_argument("--measure", choices=["ferrograd", "torch"], help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.measure:
        print(json.dumps(measured(given.measure, given.seconds)))
        return
    turns: dict[str, list[dict[str, float]]] = {"ferrograd": []}
    if given.torch:
        turns["torch"] = []
    for _ in range(given.turns):
        for which, all_found in turns.items():
            python = given.torch if which == "torch" else sys.executable
            command = [python, __file__, "--measure", which, "--seconds", str(given.seconds)]
            done = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, check=True)
            all_found.append(json.loads(done.stdout))
    print("| model | | " + " | ".join(f"{n} client{'s' * (n > 1)}" for n in CLIENTS) + " |")
    print("| --- | --- |" + " ---: |" * len(CLIENTS))
    for name in dict.fromkeys(key.split("|")[0] for key in turns["ferrograd"][0]):
        for which, all_found in turns.items():
            for way in ("eager", "compiled"):
                keys = [f"{name}|{way}|{n}" for n in CLIENTS]
                if keys[0] not in all_found[0]:
                    continue
                rates = [[found[key] for found in all_found] for key in keys]
                cells = [f"{max(one):,.0f} ({statistics.median(one):,.0f})" for one in rates]
                print(f"| {name} | {which}, {way} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
