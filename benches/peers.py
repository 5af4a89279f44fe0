"""Every row of the table for ferrograd and whichever peers are installed, best of several, each in its own process.

``python benches/peers.py`` prints the table; ``--only WORD`` takes the rows with that word, ``--frameworks A,B`` the
columns.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from frameworks import FRAMEWORKS
from rows import ALONE, ROWS

THREADS = 2
ENVIRONMENT = {
    **dict.fromkeys(
        ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "FERROGRAD_NUM_THREADS"], str(THREADS)
    ),
    "JAX_PLATFORMS": "cpu",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


def best(call: Callable[[], Any], batches: int = 9, seconds: float = 0.03) -> float:
    """The time of one call in microseconds: the best of several batches, each long enough for the clock."""
    count, spent = 1, 0.0
    while True:
        start = time.perf_counter()
        for _ in range(count):
            call()
        spent = time.perf_counter() - start
        if spent >= seconds:
            break
        count = max(count * 2, math.ceil(count * seconds / max(spent, 1e-9) * 0.9))
    times = [spent]
    for _ in range(batches - 1):
        start = time.perf_counter()
        for _ in range(count):
            call()
        times.append(time.perf_counter() - start)
    return min(times) / count * 1e6


def peak() -> float:
    """The largest memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(framework: str, names: list[str]) -> None:
    """Runs rows for one framework and prints a line of JSON for each."""
    f: Any = FRAMEWORKS[framework][0]()
    for name in names:
        try:
            call = (ROWS.get(name) or ALONE[name])(f)
            if name in ROWS:

                def run(call: Callable[[], Any] = call) -> None:
                    f.done(call())

                run()
                answer: dict[str, Any] = {"us": best(run)}
            else:
                before = peak()
                start = time.perf_counter()
                f.done(call())
                answer = {"us": (time.perf_counter() - start) * 1e6, "mb": peak() - before}
        except Exception as e:
            answer = {"why": f"{type(e).__name__}: {e}"}
        print(json.dumps({"row": name, **answer}), flush=True)


def measure(framework: str, names: list[str], threads: int = THREADS) -> dict[str, dict[str, Any]]:
    """The answers of a process of its own; rows that it did not reach say so."""
    environment = {**os.environ, **ENVIRONMENT}
    if threads != THREADS:
        environment["FERROGRAD_NUM_THREADS"] = str(threads)
    command = [sys.executable, __file__, "--child", framework, *names]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
        lines, why = done.stdout.splitlines(), f"exit {done.returncode}: {done.stderr.strip()[-200:]}"
    except subprocess.TimeoutExpired as e:
        lines, why = (e.stdout or b"").decode().splitlines(), "took more than 900 s"
    found = {a["row"]: a for a in map(json.loads, (line for line in lines if line.startswith("{")))}
    return {n: found.get(n, {"why": why}) for n in names}


def thrice(framework: str, row: str, threads: int = THREADS) -> dict[str, Any]:
    """The best time of a row in three fresh processes, and the most memory."""
    runs = [measure(framework, [row], threads)[row] for _ in range(3)]
    for failed in (r for r in runs if "us" not in r):
        return failed
    return {"us": min(r["us"] for r in runs), "mb": max(r.get("mb", 0) for r in runs)}


def imported(module: str) -> float:
    """The milliseconds that a fresh interpreter takes to import a module, less what it takes to start."""

    def run(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    run(f"import {module}")
    return 1e3 * (min(run(f"import {module}") for _ in range(9)) - min(run("pass") for _ in range(9)))


def shown(us: float | None) -> str:
    if us is None:
        return "–"
    digits = 2 if us < 10 else 1 if us < 100 else 0
    return f"{us:,.{digits}f}".replace(",", " ")


def ratio(ours: float | None, other: float | None) -> str:
    """How many times longer the other takes."""
    return f"{other / ours:.1f}x" if ours and other else "–"


def processor() -> str:
    try:
        info = Path("/proc/cpuinfo").read_text()
        return next(line.split(": ")[1] for line in info.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--frameworks", default=",".join(FRAMEWORKS))
    parser.add_argument("--child", nargs="+")
    options = parser.parse_args()
    if options.child:
        child(options.child[0], options.child[1:])
        return
    there = [n for n in options.frameworks.split(",") if importlib.util.find_spec(FRAMEWORKS[n][1])]
    names = [n for n in ROWS if options.only in n]
    alone = [n for n in ALONE if options.only in n]
    table = {n: measure(n, names) for n in there}
    for n in there:
        table[n] |= {row: thrice(n, row) for row in alone if n in ("ferrograd", "torch", "paddle")}
    print(f"{processor()}, {os.cpu_count()} processors, {THREADS} threads, Python {platform.python_version()}")
    print("microseconds, best of several; a ratio says how many times longer the other takes\n")
    others = [n for n in there if n not in ("ferrograd", "torch")]
    head = ["work", *there, "torch / ours", "best other / ours"]
    lines = [head]
    for row in [*names, *alone]:
        us = {n: table[n].get(row, {}).get("us") for n in there}
        rest = [u for n in others if (u := us[n])]
        ours = us.get("ferrograd")
        lines.append(
            [row, *(shown(us[n]) for n in there), ratio(ours, us.get("torch")), ratio(ours, min(rest, default=None))]
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        print(
            "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True)))
        )
    print()
    for row in alone:
        for n in there:
            if "mb" in table[n].get(row, {}):
                print(f"{row}, {n}: {table[n][row]['mb']:,.0f} MB above what stood before")
    if "ferrograd" in there:
        alone_on_one(names)
        size_and_import(there)
    for n in there:
        for row, answer in table[n].items():
            if "why" in answer and n != "numpy":
                print(f"no figure: {n}, {row}: {answer['why']}", file=sys.stderr)


def alone_on_one(names: list[str]) -> None:
    """The rows whose point is the second thread, with one."""
    for row in (n for n in names if "branches" in n):
        one, two = thrice("ferrograd", row, 1), thrice("ferrograd", row)
        if "us" in one and "us" in two:
            print(f"{row}: {shown(one['us'])} with one thread, {ratio(two['us'], one['us'])} faster with two")


def size_and_import(there: list[str]) -> None:
    """What the package weighs on disk and at import."""
    found = importlib.util.find_spec("ferrograd")
    folder = Path((found and found.origin) or "").parent
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    print(f"installed size: {size / 1e6:.1f} MB")
    base = imported("numpy")
    print(f"import: numpy {base:.0f} ms, ferrograd {imported('ferrograd') - base:.1f} ms more than that")
    for n in (n for n in ("torch", "paddle", "jax") if n in there):
        print(f"import: {n} {imported(n):.0f} ms")


if __name__ == "__main__":
    main()
