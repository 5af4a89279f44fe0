"""Times every function of two builds on the same operands, and prints where the second one is slower.

``python benches/every_op.py OLD NEW`` takes the folders of two installed packages, such as ``site-packages`` of two
environments. Each function is called with one to three operands, with numbers, and below ``grad``; what raises is left
out. ``--dtype NAME`` chooses the operands, ``--worse N`` the ratio from which a call is printed.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

SIZE = 256
ROUNDS = 2
#: A call that takes longer is timed once, and one that takes more memory is left out.
SLOW, BYTES = 0.3, 6 << 30
#: What has lasting effects, or waits.
SKIPPED = {"seed", "set_num_threads", "set_default_dtype", "install_as", "save", "load", "show", "compile"}


def calls(f: Callable[..., Any], x: Any, grad: Callable[..., Any], total: Callable[..., Any]) -> dict[str, Any]:
    """Calls of a function by their names."""
    row = x.reshape(-1)
    found: dict[str, Callable[[], Any]] = {
        "(x)": lambda: f(row),
        "(x, x)": lambda: f(row, row),
        "(x, x, x)": lambda: f(row, row, row),
        "(x, 0.3)": lambda: f(row, 0.3),
        "(x, 0.3, 0.8)": lambda: f(row, 0.3, 0.8),
        "(m)": lambda: f(x),
        "(m, m)": lambda: f(x, x),
        "(m, 0)": lambda: f(x, 0),
        "(m, 1)": lambda: f(x, 1),
    }
    if np.issubdtype(x.numpy().dtype, np.floating):
        found["grad (x)"] = lambda: grad(lambda a: total(f(a)))(row)
        found["grad (x, x)"] = lambda: grad(lambda a: total(f(a, a)))(row)
        found["grad (x, 0.3)"] = lambda: grad(lambda a: total(f(a, 0.3)))(row)
        found["grad (m, 1)"] = lambda: grad(lambda a: total(f(a, 1)))(x)
    return found


def best(call: Callable[[], Any]) -> float | None:
    """The shortest time of a call in seconds. None if it raises."""
    start = time.perf_counter()
    try:
        call()
    except Exception:
        return None
    found = time.perf_counter() - start
    end = time.perf_counter() + 0.01
    while found < SLOW and time.perf_counter() < end:
        start = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - start)
    return found


def child(dtype: str) -> None:
    """Prints the times of this process's build as JSON."""
    import ferrograd as fg

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    fg.set_num_threads(1)
    numbers = (np.random.default_rng(0).standard_normal((SIZE, SIZE)) * 0.4 + 0.55).clip(0.05, 0.95)
    x = fg.tensor((numbers * 50 if np.dtype(dtype).kind in "iu" else numbers).astype(dtype))
    times: dict[str, float] = {}
    for name in sorted(set(dir(fg)) - SKIPPED):
        f = getattr(fg, name)
        if name.startswith("_") or not callable(f) or inspect.isclass(f):
            continue
        for form, call in calls(f, x, fg.grad, fg.sum).items():
            if (found := best(call)) is not None:
                times[name + form if form.startswith("(") else f"{name}: {form}"] = found
    print(json.dumps(times))


def main() -> None:
    """Runs both builds in turns, and prints the calls that take longer in the second one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--worse", type=float, default=1.3)
    parser.add_argument("--child", action="store_true")
    options = parser.parse_args()
    if options.child:
        child(options.dtype)
        return
    old, new = options.folders
    times: dict[str, dict[str, float]] = {old: {}, new: {}}
    for _ in range(ROUNDS):
        for folder, known in times.items():
            command = [sys.executable, os.path.abspath(__file__), "--child", "--dtype", options.dtype]
            environment = os.environ | {"PYTHONPATH": folder}
            done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, cwd="/")
            for name, found in json.loads(done.stdout.splitlines()[-1]).items():
                known[name] = min(found, known.get(name, math.inf))
    ratios = {name: times[new][name] / before for name, before in times[old].items() if name in times[new]}
    middle = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    print(f"{len(ratios)} calls, geometric mean {middle:.3f}")
    for name, ratio in sorted(ratios.items(), key=lambda item: -item[1]):
        if ratio >= options.worse:
            print(f"{ratio:8.2f} {name}: {times[old][name] * 1e6:.1f} -> {times[new][name] * 1e6:.1f} us")


if __name__ == "__main__":
    main()
