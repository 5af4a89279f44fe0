"""Training, Jacobians, threads and errors for a time: ``python -m tests.reliability.soak SECONDS``.

It prints how many rounds ran and what became of memory and open files, and fails if a round gives other numbers than
the first.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

import ferrograd as fg
import ferrograd.torch
import numpy as np
from ferrograd import func

#: The type checker does not know the layers.
torch: Any = ferrograd.torch


def used() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def training() -> bytes:
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.Tanh(), torch.nn.Linear(30, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.tensor(np.random.default_rng(0).normal(size=(50, 20)).astype(np.float32))
    for _ in range(5):
        optimizer.zero_grad()
        (model(x) ** 2).mean().backward()
        optimizer.step()
    return b"".join(np.asarray(p.detach()).tobytes() for p in model.parameters())


def derivatives() -> bytes:
    x = fg.tensor(np.linspace(0.1, 1, 20))
    found = func.jacrev(lambda x: fg.sin(x) * fg.cumsum(x, axis=0))(x), func.hessian(lambda x: fg.prod(x))(x)
    return b"".join(np.asarray(f).tobytes() for f in found)


def in_threads() -> bytes:
    x = fg.tensor(np.ones(20_000), requires_grad=True)

    def run() -> None:
        for _ in range(3):
            fg.backward((fg.exp(x) * x).sum())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return np.asarray(x.grad).tobytes()


def errors() -> bytes:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.register_hook(lambda g: 1 / 0)
    bad: list[Any] = [
        lambda: y.sum().backward(),
        lambda: x @ fg.ones((3, 3)),
        lambda: x[5],
        lambda: torch.sum(x, no=1),
    ]
    for call in bad:
        with contextlib.suppress(ZeroDivisionError, fg.FerrogradError, TypeError):
            call()
    return np.asarray(fg.grad((x * x).sum(), x)).tobytes()


def soak(seconds: float) -> dict[str, float]:
    """Rounds, and the growth of memory (in percent) and of open files after the first tenth of the time."""
    parts = (training, derivatives, in_threads, errors)
    want, rounds, start, before, files = [f() for f in parts], 0, time.monotonic(), 0, 0
    while (passed := time.monotonic() - start) < seconds:
        assert [f() for f in parts] == want, "a round gives other numbers"
        rounds += 1
        if not before and passed > seconds / 10:
            before, files = used(), len(os.listdir("/proc/self/fd"))
    return {
        "rounds": rounds,
        "memory": round(100 * (used() / before - 1), 2),
        "files": len(os.listdir("/proc/self/fd")) - files,
    }


if __name__ == "__main__":
    print(json.dumps(soak(float(sys.argv[1]) if len(sys.argv) > 1 else 3600)))
