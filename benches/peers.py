"""Times every row of the table for ferrograd and the installed peers, each in its own process.

``python benches/peers.py`` prints the table. ``--only WORD`` selects the rows with that word, ``--functions`` those of
single functions, and ``--frameworks A,B`` selects columns. ``--rounds N`` sets the rounds of each row, ``--threads N``
the threads of each framework. In a round the frameworks run in turns; the table shows the best round.
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
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from frameworks import FRAMEWORKS
from functions import FUNCTIONS
from programs import PROGRAMS
from rows import ALONE, ROWS

THREADS = 2
COUNTS = ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "FERROGRAD_NUM_THREADS"]
ENVIRONMENT = {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}


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
    # Slow calls are repeated for a second only, but nine times at least.
    for _ in range(min(batches, max(9, int(1 / spent))) - 1):
        start = time.perf_counter()
        for _ in range(count):
            call()
        times.append(time.perf_counter() - start)
    return min(times) / count * 1e6


def peak() -> float:
    """The peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def answer(f: Any, name: str) -> dict[str, Any]:
    """The time (and memory) of a row in this process, or the reason why it has none."""
    try:
        call = ({**ALONE, **PROGRAMS, **ROWS, **FUNCTIONS}[name])(f)
        if name not in ALONE:

            def run() -> None:
                f.done(call())

            run()
            # Short batches, since one of them is more likely to run undisturbed.
            return {"us": best(run, 90, 0.003) if name in FUNCTIONS else best(run)}
        before = peak()
        start = time.perf_counter()
        f.done(call())
        return {"us": (time.perf_counter() - start) * 1e6, "mb": peak() - before}
    except Exception as e:
        return {"why": f"{type(e).__name__}: {e}"}


def child(framework: str) -> None:
    """Reads the name of a row from each line and answers with a line of JSON."""
    f: Any = None
    why = ""
    try:
        f = FRAMEWORKS[framework][0]()
    except Exception as e:
        why = f"{type(e).__name__}: {e}"
    for line in sys.stdin:
        print("\n" + json.dumps({"why": why} if why else answer(f, line.strip())), flush=True)


class Process:
    """A framework in its own process, which runs one row after another."""

    def __init__(self, framework: str, threads: int = THREADS) -> None:
        environment = {**os.environ, **ENVIRONMENT, **dict.fromkeys(COUNTS, str(threads))}
        command = [sys.executable, __file__, "--child", framework]
        # Messages that a library prints to stderr are dropped.
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, row: str, patience: float = 300) -> dict[str, Any]:
        """The answer to a row. A process that crashes or takes too long gives no more answers."""
        assert self.process.stdin
        assert self.process.stdout
        # Threads of the previous process may still be spinning for work.
        time.sleep(0.1)
        late = threading.Timer(patience, self.process.kill)
        late.start()
        try:
            self.process.stdin.write(row + "\n")
            self.process.stdin.flush()
            line = next((line for line in self.process.stdout if line.startswith("{")), None)
        except BrokenPipeError:
            line = None
        finally:
            late.cancel()
        return json.loads(line) if line else {"why": f"the process ended ({self.process.wait()})"}

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe
            # Closing the pipe fails if a dead process left a line unread in it.
            with suppress(BrokenPipeError):
                pipe.close()


def least(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """The best time and the largest memory of several answers, or the first answer without figures."""
    for failed in (a for a in answers if "us" not in a):
        return failed
    return {"us": min(a["us"] for a in answers), "mb": max(a.get("mb", 0) for a in answers)}


def in_turn(
    frameworks: list[str], names: list[str], rounds: int, threads: int = THREADS
) -> dict[str, dict[str, dict[str, Any]]]:
    """The best of several rounds of each row. The frameworks take turns, so that a slow minute hits all of them."""
    with ExitStack() as stack:
        processes = {n: stack.enter_context(Process(n, threads)) for n in frameworks}
        table: dict[str, dict[str, dict[str, Any]]] = {n: {} for n in frameworks}
        for row in names:
            answers = [{n: processes[n].ask(row) for n in frameworks} for _ in range(rounds)]
            for n in frameworks:
                table[n][row] = least([a[n] for a in answers])
        return table


def fresh(framework: str, row: str, threads: int = THREADS) -> dict[str, Any]:
    """The best time of a row in three fresh processes, and the most memory."""
    answers = []
    for _ in range(3):
        with Process(framework, threads) as process:
            answers.append(process.ask(row))
    return least(answers)


def imported(module: str) -> float:
    """The time in milliseconds to import a module in a fresh interpreter, without the time to start it."""

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
    """The other time divided by ours."""
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
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--functions", action="store_true")
    parser.add_argument("--child")
    options = parser.parse_args()
    if options.child:
        child(options.child)
        return
    there = [n for n in options.frameworks.split(",") if importlib.util.find_spec(FRAMEWORKS[n][1])]
    names = [n for n in (FUNCTIONS if options.functions else {**ROWS, **FUNCTIONS}) if options.only in n]
    alone = [n for n in ALONE if options.only in n and not options.functions]
    table = in_turn(there, names, options.rounds, options.threads)
    for n in there:
        table[n] |= {row: fresh(n, row, options.threads) for row in alone if n in ("ferrograd", "torch", "paddle")}
    print(f"{processor()}, {os.cpu_count()} processors, {options.threads} threads, Python {platform.python_version()}")
    print("microseconds, best of several; a ratio is the time of the other divided by ours\n")
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
                print(f"{row}, {n}: {table[n][row]['mb']:,.0f} MB of additional memory")
    if "ferrograd" in there and not options.functions:
        alone_on_one(names)
        size_and_import(there)
    for n in there:
        for row, answer in table[n].items():
            if "why" in answer and n != "numpy":
                print(f"no figure: {n}, {row}: {answer['why']}", file=sys.stderr)


def alone_on_one(names: list[str]) -> None:
    """Prints the rows that measure the second thread, with one thread and with two."""
    for row in (n for n in names if "branches" in n):
        one, two = fresh("ferrograd", row, 1), fresh("ferrograd", row)
        if "us" in one and "us" in two:
            print(f"{row}: {shown(one['us'])} with one thread, {ratio(two['us'], one['us'])} faster with two")


def size_and_import(there: list[str]) -> None:
    """Prints the size of the installed package and the time to import it."""
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
