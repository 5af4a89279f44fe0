"""Writes ``docs/reliability.md``: ``python -m tests.reliability.page``, or ``make reliability``.

The figures are measured by this run. Those of other libraries come from the interpreters that ``FERROGRAD_PEERS``
names, separated by colons: each runs the programs of ``faults.py`` with every library that it has.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ferrograd as fg
import numpy as np

from tests.reliability.faults import PROGRAMS
from tests.reliability.fuzz import CALLERS, TARGETS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reliability.md"
FAULTS = Path(__file__).with_name("faults.py")


def python(*arguments: str, timeout: float = 600, **variables: str) -> str:
    """The output of this interpreter, which must succeed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *(p for p in sys.path if p)]), **variables}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=ROOT, env=environment)
    if done.returncode:
        raise RuntimeError(f"{arguments} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout.strip()


def program(text: str) -> str:
    """The output of a program that begins with what every figure needs."""
    start = "import gc, os, sys, threading, time\nimport numpy as np, ferrograd as fg\n"
    return python("-c", start + textwrap.dedent(text))


def drop() -> str:
    return program("""
        def seconds(n):
            x = fg.tensor(1.0, requires_grad=True)
            y = x
            for _ in range(n):
                y = y + 1.0
            start = time.process_time()
            del y
            return time.process_time() - start
        print(f"a million nodes in {seconds(10**6):.2g} s, ten million in {seconds(10**7):.2g} s")
    """)


def double() -> str:
    return program("""
        x = fg.tensor(0.5, requires_grad=True)
        y, start = x, time.process_time()
        for _ in range(300_000):
            y = fg.sin(y)
        g = fg.grad(y, x, create_graph=True)
        fg.grad(g, x)
        print(f"300 000 nodes, twice differentiated, in {time.process_time() - start:.2g} s")
    """)


def wide() -> str:
    return program("""
        def seconds(n):
            x = fg.tensor(np.ones(16), requires_grad=True)
            best = 9e9
            for _ in range(5):
                start = time.process_time()
                fg.backward(fg.stack([x * 2.0 for _ in range(n)]).sum())
                best = min(best, time.process_time() - start)
            return best
        seconds(1000)
        print(f"twice the uses take {seconds(200_000) / seconds(100_000):.2f} times as long")
    """)


def nested() -> str:
    return program("""
        import contextlib
        def depth(stack):
            deepest = [0]
            def nest(d):
                deepest[0] = d
                x = fg.tensor([1.0], requires_grad=True)
                y = x * x
                def hook(g):
                    with fg.enable_grad():
                        nest(d + 1)
                y.register_hook(hook)
                y.sum().backward()
            def run():
                with contextlib.suppress(RecursionError):
                    nest(0)
            sys.setrecursionlimit(100_000)
            threading.stack_size(stack << 20)
            t = threading.Thread(target=run)
            t.start()
            t.join()
            return deepest[0]
        small, large = depth(1), depth(64)
        print(f"{small} levels in a stack of 1 MiB, {large} in 64 MiB, then RecursionError")
    """)


def endings() -> str:
    found = python(
        "-c",
        textwrap.dedent("""
        from tests.engine.test_threads import run_program
        from tests.reliability.test_processes import ENDINGS
        done = [run_program(text) for text in ENDINGS.values() for _ in range(5)]
        clean = sum((d.returncode, d.stdout, d.stderr) == (0, "", "") for d in done)
        print(f"{clean} of {len(done)} programs end with code 0 and no output")
    """),
    )
    return found


def references() -> str:
    return python(
        "-c",
        textwrap.dedent("""
        import contextlib, gc, sys
        import numpy as np, ferrograd as fg
        from tests.reliability.test_references import CALLS
        x, a, o = fg.tensor([1.0, 2.0], dtype="float64", requires_grad=True), np.ones(2), object()
        def run(call, n):
            for _ in range(n):
                with contextlib.suppress(Exception):
                    call(x, a, o)
            gc.collect()
        worst = 0
        for call in CALLS.values():
            run(call, 2000)
            before = sys.getallocatedblocks(), sys.getrefcount(o)
            run(call, 1000)
            worst = max(worst, (sys.getallocatedblocks() - before[0]) / 1000, sys.getrefcount(o) - before[1])
        print(f"{len(CALLS)} kinds of calls, each 1000 times: at most {worst:.2f} blocks of memory a call")
    """),
    )


def levels() -> str:
    """The largest distance between the results of two sets of vector instructions, in units of the last place."""
    from tests.reliability.test_same_bits import computed

    names = ["avx512", "avx2", "baseline"]
    with tempfile.TemporaryDirectory() as folder:
        found = {name: computed(Path(folder) / f"{name}.npz", name, 1) for name in names}
    worst = {"avx2": 0.0, "baseline": 0.0}
    equal = {"avx2": 0, "baseline": 0}
    for level in worst:
        for name, value in found["avx512"].items():
            other = found[level][name]
            if other.tobytes() == value.tobytes():
                equal[level] += 1
            elif value.dtype.kind == "f":
                # Near zero a sum has lost the digits, so the unit is that of the largest value.
                gap = np.abs(other - value).max() / np.spacing(np.abs(value).max())
                worst[level] = max(worst[level], float(gap))
    n = len(found["avx512"])
    return "; ".join(
        f"{level} against avx512: {equal[level]} of {n} results have the same bits, the others are at most "
        f"{worst[level]:.0f} units of the last place of the largest value apart"
        for level in worst
    )


def cases() -> str:
    from tests import check
    from tests.cases import all_cases

    rows = all_cases()
    differentiated = [c for c in rows if check.differentiated(c)]
    higher = sum(c.order >= 3 for c in differentiated)
    ops = len({c.op for c in differentiated})
    return (
        f"{len(rows)} cases, of which {len(differentiated)} are differentiated, {higher} of them three times; {ops} ops"
    )


def documentation() -> str:
    text = [p.read_text("utf8") for p in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]]
    text += [p.read_text("utf8") for folder in ("python", "src") for p in sorted((ROOT / folder).rglob("*.[pr][ys]"))]
    return f"{sum(len(re.findall(r'>>> ', t)) for t in text)} lines of examples"


def tests() -> str:
    # One line for each file: its name, a colon and how many tests it has.
    out = python("-m", "pytest", "--collect-only", "-q", "tests")
    counts = re.findall(r"^tests/\S+\.py: (\d+)$", out, re.MULTILINE)
    if not counts:
        raise RuntimeError(out[-500:])
    return f"{sum(map(int, counts))} Python tests"


def random_programs() -> str:
    start = time.perf_counter()
    python("-m", "tests.reliability.writes", "3000")
    return f"3000 programs in {time.perf_counter() - start:.0f} s, no mismatch"


def fuzzed() -> str:
    out = python("-m", "tests.reliability.fuzz", "1.5")
    counts = {d["target"]: d["inputs"] for d in map(json.loads, re.findall(r"^\{.*\}$", out, re.MULTILINE))}
    if set(counts) != {*TARGETS, *CALLERS} or not all(counts.values()):
        raise RuntimeError(f"not every target had its inputs: {counts}")
    text = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())
    seed = re.search(r"seed (\d+)", out)
    return f"90 seconds from seed {seed[1] if seed else '?'}: {text}; nothing found"


def soaked() -> str:
    found = json.loads(python("-m", "tests.reliability.soak", "30"))
    grown = f"memory {found['memory']:+g} %, open files {found['files']:+d}"
    return f"{found['rounds']} rounds in 30 seconds, {grown}, no error"


def big() -> str:
    available = re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())
    if available and int(available[1]) < 15 << 20:
        return "not run: this machine has too little memory free"
    return python("-m", "tests.reliability.big")


def memcheck() -> str:
    if not shutil.which("valgrind"):
        return "not run: valgrind is not installed"
    # The module of the source tree has the names of its functions, by which reports are told apart.
    path = os.pathsep.join([str(ROOT / "python"), str(ROOT), *(p for p in sys.path if p)])
    return python("-m", "tests.reliability.memcheck", timeout=1800, PYTHONPATH=path).splitlines()[-1]


def accuracy() -> str:
    from tests.ops.test_accuracy import FUNCTIONS, SPECIAL, sample, worst

    def largest(x: Any, names: Any, wider: Any) -> str:
        found = {name: worst(name, x, wider) for name in names}
        return f"{max(found.values()):.2f} in {x.dtype} ({max(found, key=lambda name: found[name])})"

    single, double = sample(np.float32, 64), sample(np.float64, 8)
    of_single, of_double = (
        largest(single, [*FUNCTIONS, *SPECIAL], np.float64),
        largest(double, FUNCTIONS, np.longdouble),
    )
    return f"{len(single)} and {len(double)} numbers of all exponents: at most {of_single}, {of_double}"


def counted(row: Row) -> str:
    """How many tests hold a promise, for one that has no other figure."""
    files = [where for where in row.held if where.endswith(".py") and (ROOT / where).name.startswith("test_")]
    if not files:
        return ""
    out = python("-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider", *files)
    found = re.findall(r"^\S+\.py: (\d+)$", out, re.MULTILINE)
    if len(found) != len(files):
        raise RuntimeError(f"not every file of {files} has tests: {out[-500:]}")
    return f"{sum(map(int, found))} tests"


def out_of_memory() -> str:
    from tests.reliability.test_out_of_memory import WORK

    return f"{len(WORK)} workloads, 18 limits each"


def endless(name: str) -> Callable[[], str]:
    """A figure of the table of libraries."""
    return lambda: run_fault(sys.executable, "ferrograd", name)


@dataclass(frozen=True)
class Row:
    """A promise, where it is held (tests, commands), what else there is to say, and how its figure is measured."""

    promise: str
    held: tuple[str, ...]
    figure: Callable[[], str] | None = None
    note: str = ""


T = "tests/reliability/"
ROWS: dict[str, Row] = {
    "R1": Row(
        "A graph of a million nodes is recorded and differentiated, also in a thread with a stack of 256 KiB.",
        (T + "test_deep_and_wide.py", "tests/engine/test_memory.py"),
        endless("chain of 1 000 000"),
    ),
    "R2": Row(
        "It is freed without recursion: by `del`, in another thread, during an exception, by the collector, at exit.",
        (T + "test_deep_and_wide.py",),
        drop,
    ),
    "R3": Row("Deep graphs are differentiated twice.", ("tests/engine/test_memory.py",), double),
    "R4": Row(
        "A value with a million uses, and a sum of a million values, take time in proportion.",
        (T + "test_deep_and_wide.py",),
        wide,
    ),
    "R5": Row(
        "`repr`, `deepcopy`, `pickle`, drawings and walks over a graph of a million nodes work.",
        (T + "test_deep_and_wide.py",),
    ),
    "R6": Row(
        "A backward pass within a hook ends in RecursionError before the stack does.", (T + "test_stack.py",), nested
    ),
    "R7": Row(
        "A forked child computes, also a child of a child, and one forked while other threads compute.",
        (T + "test_processes.py", "tests/engine/test_threads.py"),
        endless("fork"),
    ),
    "R8": Row(
        "Tensors go through pools of processes (fork, spawn, forkserver, joblib). Importing starts no thread.",
        (T + "test_processes.py", "tests/project/test_package.py"),
    ),
    "R9": Row(
        "Ctrl-C ends a backward pass between nodes, and a long kernel; afterwards the same call works. "
        "The factorisation of a large matrix and the Fourier transform of a long line cannot be stopped: the call "
        "ends, and a thread computes on to their end. A write into a tensor is not interrupted, and neither is a "
        "single call of NumPy's.",
        (T + "test_interrupts.py", "tests/engine/test_threads.py"),
        endless("interrupt"),
    ),
    "R10": Row("After an exception in a pass every `.grad` is as it was.", (T + "test_failing_backward.py",)),
    "R11": Row(
        "Every exception of Python that a hook or a function of the user's raises comes out as the same object.",
        (T + "test_exceptions.py",),
        endless("exception"),
    ),
    "R12": Row(
        "A panic in a kernel or a worker thread is an InternalError, and the pool goes on.",
        ("tests/scheduler.rs", "src/base/kernel/par.rs"),
        note="There are no fail points in single kernels; panics are raised in pieces of parallel work.",
    ),
    "R13": Row(
        "The build unwinds, targets every processor of its kind, and ships its types.",
        ("tests/project/test_package.py",),
    ),
    "R14": Row(
        "A shape whose size overflows is an error.",
        (T + "test_hostile_objects.py", T + "test_bad_arguments.py"),
        endless("overflow"),
    ),
    "R15": Row(
        "Memory that runs out is a MemoryError, inputs stay as they were, and the call works afterwards.",
        (T + "test_out_of_memory.py", "tests/memory.rs"),
        out_of_memory,
        "The limits are on the address space. In `tests/memory.rs` the allocator is full from the n-th request on. "
        "Where a thread of the user's makes its first call into the library and no memory at all is left, glibc ends "
        "the process: it takes the memory of a module's thread-local variables, here 848 bytes, when a thread first "
        "uses one, and has no way to refuse.",
    ),
    "R16": Row("Arrays of more than 2³¹ elements and 4 GiB are exact.", ("python -m tests.reliability.big",), big),
    "R17": Row("Memory does not grow with the number of calls.", (T + "test_references.py",), endless("leak")),
    "R18": Row("Cycles through hooks, gradients and views are collected.", ("tests/engine/test_garbage.py",)),
    "R19": Row("No call keeps a reference, also none that fails.", (T + "test_references.py",), references),
    "R20": Row(
        "A write after a value was used never changes its gradient.",
        (T + "test_writes_and_views.py", "tests/native/test_writes_dialects.py"),
        endless("overwrite"),
    ),
    "R21": Row(
        "Random programs of views and writes have the values and two derivatives of a model.",
        (T + "test_writes_and_views.py", "make fuzz"),
        random_programs,
    ),
    "R22": Row(
        "Memory goes out read-only or as a copy, and memory that comes in is copied; in the torch dialect NumPy may "
        "write to memory of tensors, and to none that a graph holds.",
        ("tests/interop/test_dlpack.py", "tests/interop/test_numpy.py", "tests/interop/test_shared_memory.py"),
        endless("alias"),
    ),
    "R23": Row(
        "Values and gradients of every op agree with NumPy and with differences.", ("tests/ops/test_cases.py",), cases
    ),
    "R24": Row(
        "So do derivatives of the third order, and the first of every order for series.",
        ("tests/ops/test_cases.py", "tests/ops/test_power_series.py"),
    ),
    "R25": Row(
        "Elementary functions are within one or two units of the last place.",
        ("tests/ops/test_accuracy.py",),
        accuracy,
    ),
    "R26": Row(
        "Derivatives at special points are those of docs/special-points.md.",
        ("tests/ops/test_special_points.py", "tests/ops/test_special_points_dialects.py"),
    ),
    "R27": Row(
        "SciPy's functions for the array API run on tensors.",
        ("tests/interop/test_scipy.py",),
        note="The suite of the array API standard is not part of this repository.",
    ),
    "R28": Row("Dtypes are promoted by one table.", ("tests/ops/test_promotion.py",)),
    "R29": Row(
        "Results have the same bits for any number of threads, and sums also for any vectors.",
        (T + "test_same_bits.py",),
        levels,
    ),
    "R30": Row(
        "Many threads differentiate into one leaf, and the sum is exact.",
        ("tests/engine/test_threads.py",),
        endless("hammer"),
    ),
    "R31": Row(
        "Hooks in one thread and parallel work in others do not wait for each other for ever.", (T + "test_locks.py",)
    ),
    "R32": Row(
        "The pool has no deadlock and no race.",
        ("make models", "tests/scheduler.rs", T + "test_locks.py"),
        note="The models, with loom, are of the queue of a pass, the sums of cotangents, teams of threads and threads "
        "that spin. The locks of a tensor, its history and its storage are taken in this order, and so is the one of "
        "the table of call sites, last; nothing waits and no code of the user's runs while one is held, so a model "
        "would only try the standard library's lock. Pieces of kernels go through rayon, which has tests of its own.",
    ),
    "R33": Row(
        "No undefined behaviour.",
        ("make miri", "make careful", "make memcheck"),
        note="Miri interprets the tests of arrays, shapes, memory, stored values and kernels, with strict provenance. "
        "It has no vectors wider than the baseline's, no generated code and no calls of Python. In November 2026 the "
        "fuzzers and all tests of Python ran with the assertions of debug builds. They found three overflows (a "
        "diagonal and a number of decimals of -2^63, and betaln at a pole beyond 32 bits, which was infinite), a None"
        " that NumPy was asked about as a dtype, and a thread that began without the memory that it needs at its end.",
    ),
    "R34": Row(
        "No address is wrong.",
        ("make asan", "make memcheck"),
        note="AddressSanitizer watches the fuzzers and the tests of what touches memory by addresses, in a build in "
        "which each array is a block of its own, with generated code and without. In November 2026 it saw 2000 "
        "programs, 3200 views and writes, 3200 indexes, 4000 formulas, 4800 files, 800 saved programs, 800 lying ones, "
        "3600 capsules and 8687 calls in five minutes, and found nothing.",
    ),
    "R35": Row(
        "No data race.",
        ("make tsan", "tests/engine/test_threads.py", T + "test_locks.py"),
        note="ThreadSanitizer watches the tests of the scheduler, of hooks and of levels, and reports nothing but the "
        "fence of triomphe's Arc, which it cannot see.",
    ),
    "R36": Row("Memcheck finds nothing in a smoke test.", ("make memcheck",), memcheck),
    "R37": Row("Random inputs of every kind find nothing.", ("make fuzz", T + "test_properties.py"), fuzzed),
    "R38": Row(
        "An index out of bounds is an error.",
        ("tests/ops/test_index.py", T + "test_bad_arguments.py"),
        endless("hostile"),
    ),
    "R39": Row(
        "A file runs no code, and a damaged one is one documented error.",
        (T + "test_damaged_files.py", "tests/torch/test_files.py"),
        endless("damaged files"),
    ),
    "R40": Row(
        "Copies and pickles of every kind of tensor, with every protocol, are equal.",
        ("tests/interop/test_copy.py", "tests/interop/test_copies_of_all_kinds.py"),
        note="There is no release yet whose files must still load.",
    ),
    "R41": Row(
        "A program that ends while threads compute ends with code 0 and no output.", (T + "test_processes.py",), endings
    ),
    "R42": Row(
        "Warnings as errors, `-OO`, reloads and trace functions change nothing; a subinterpreter is refused.",
        (T + "test_interpreter.py",),
    ),
    "R43": Row(
        "The first value that is not finite is named with its op and line.",
        ("tests/native/test_watch.py", T + "test_pain_points.py"),
    ),
    "R44": Row(
        "Every set of vector instructions gives results that are stated above.",
        (T + "test_same_bits.py",),
        note="The wheel asks the processor. `FERROGRAD_CPU=baseline` runs the code for old processors.",
    ),
    "R45": Row(
        "The wheel works with each CPython and NumPy that it supports.",
        ("tests/project/test_package.py", ".github/workflows/wheels.yml"),
        note="Runs in CI; docs/policy.md has the versions. With NumPy 1.26 and SciPy 1.11 those tests in `native`, "
        "`interop` and `ops` fail whose references these versions lack or compute otherwise, among them DLPack before "
        "its version 1.0, which copies.",
    ),
    "R46": Row(
        "A wrong rule fails a test.",
        ("tests/testing/test_check.py",),
        note="Tools that change the code at random are not run: one run takes days here.",
    ),
    "R47": Row(
        "Every op has a case.",
        ("tests/project/test_registry.py",),
        tests,
        "Line coverage of the Rust code needs tools of the nightly compiler's component llvm-tools.",
    ),
    "R48": Row(
        "One-pass forms, serial runs and scalar code give what the plain forms give.",
        ("tests/ops/test_one_pass.py", T + "test_same_bits.py"),
    ),
    "R49": Row(
        "Every example of the documentation prints what it shows.",
        ("tests/project/test_documentation.py",),
        documentation,
    ),
    "R50": Row("Hours of mixed work change nothing.", ("python -m tests.reliability.soak 3600",), soaked),
    "R51": Row(
        "The stubs are those of the module, and types are complete.",
        ("make check", "tests/project/stubs.py"),
        note="stubtest, mypy and pyright find nothing.",
    ),
    "R52": Row(
        "What safety costs is part of every figure of docs/speed.md.",
        ("python benches/peers.py",),
        note="Checks, sites and signals cannot be switched off, so there is nothing to compare with.",
    ),
}

HEADINGS: dict[str, str] = {
    "chain of 100 000": "a chain of 100 000 products: record, differentiate, drop",
    "chain of 1 000 000": "of a million",
    "fork": "100 forks after parallel work, each child differentiates",
    "interrupt": "Ctrl-C in a backward pass of 300 products of matrices",
    "ending": "the program ends while a daemon thread is in a backward pass, 5 times",
    "overflow": "`ones((2**62, 4))`, `ones((2**32, 2**32))`, `ones(10**13)`",
    "leak": "hooks that close over their tensors, 1000 rounds after a warm-up",
    "recorded leak": "backward with `create_graph`, the collector off, 1000 rounds",
    "alias": "an array that was read is overwritten before backward",
    "overwrite": "a value that backward needs is overwritten through a view",
    "exception": "a hook raises ZeroDivisionError",
    "out of memory": "10 limits on memory, 40 000 nodes of 4 kB each",
    "evil file": "the library's own `load` of a pickle that runs code",
    "damaged files": "saved files with changed bytes",
    "hammer": "16 threads, 200 passes each, into one leaf",
    "nested": "backward within a hook, 1000 levels, stack of 1 MiB",
    "hostile": "2000 calls of 40 functions with random arguments",
}


def run_fault(interpreter: str, library: str, name: str) -> str:
    """The outcome of a program in a library."""
    _, _, limit = PROGRAMS[name]
    path = os.pathsep.join(p for p in sys.path if p) if interpreter == sys.executable else ""
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    outcomes = []
    for _ in range(5 if name == "ending" else 1):
        command = [interpreter, str(FAULTS), library, name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment)
        except subprocess.TimeoutExpired:
            return f"not done in {limit} s"
        if done.returncode < 0:
            outcomes.append(f"ends with signal {-done.returncode}")
        elif done.returncode:
            outcomes.append(f"fails: {done.stderr.strip().splitlines()[-1][:60]}")
        else:
            outcomes.append(str(json.loads(done.stdout.splitlines()[-1])))
    if name == "ending":
        counts = {o: outcomes.count(o) for o in dict.fromkeys(outcomes)}
        return ", ".join(f"{n} times {o}" for o, n in counts.items())
    return outcomes[0]


def peers() -> dict[str, tuple[str, str]]:
    """By library and version: its interpreter and its name."""
    found = {f"ferrograd {fg.__version__}": (sys.executable, "ferrograd")}
    for interpreter in filter(None, os.environ.get("FERROGRAD_PEERS", "").split(":")):
        ask = "import importlib.metadata as m\nfor n in ('torch', 'paddlepaddle', 'jax'):\n"
        ask += "    try: print(n, m.version(n))\n    except m.PackageNotFoundError: pass"
        for line in subprocess.run([interpreter, "-c", ask], capture_output=True, text=True).stdout.splitlines():
            name, version = line.split()
            found[f"{name} {version}"] = interpreter, name.removesuffix("paddle") or name
    return found


def side_by_side() -> str:
    """The table of loads and faults in several libraries."""
    libraries = peers()
    lines = ["| load or fault | " + " | ".join(libraries) + " |", "| --- |" + " --- |" * len(libraries)]
    for name, heading in HEADINGS.items():
        cells = []
        for interpreter, library in libraries.values():
            if library == "jax" and name != "chain of 100 000":
                cells.append("–")
            else:
                cells.append(run_fault(interpreter, library, name))
            print(f"{name}: {library}: {cells[-1]}", file=sys.stderr, flush=True)
        lines.append(f"| {heading} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def held(row: Row) -> str:
    return ", ".join(f"`{where}`" for where in row.held)


def rows() -> str:
    """The table of promises."""
    lines = ["| promise | held by | figure |", "| --- | --- | --- |"]
    for name, row in ROWS.items():
        start = time.perf_counter()
        figure = row.figure() if row.figure else "" if row.note else counted(row)
        print(f"{name}: {figure} ({time.perf_counter() - start:.0f} s)", file=sys.stderr, flush=True)
        lines.append(f"| {row.promise} | {held(row)} | {'. '.join(filter(None, (figure, row.note)))} |")
    return "\n".join(lines)


#: By the beginning of a path below `src/`: the tests that reach its unsafe code.
UNSAFE: dict[str, str] = {
    "c/": "src/c/tests/program.rs",
    "base/memory.rs": T + "test_out_of_memory.py",
    "base/dtype.rs": "tests/ops/test_promotion.py",
    "base/fork.rs": T + "test_processes.py",
    "base/array/": "tests/ops/test_layouts.py",
    "base/kernel/par.rs": "tests/scheduler.rs",
    "base/kernel/conv/": "tests/ops/test_conv.py",
    "base/kernel/copy/": "tests/ops/test_layouts.py",
    "base/kernel/fast/": "tests/ops/test_accuracy.py",
    "base/kernel/fft/": "tests/ops/test_fft.py",
    "base/kernel/index/": "tests/ops/test_index.py",
    "linalg/": "tests/ops/test_linalg_edges.py",
    "base/kernel/matmul/": "tests/ops/test_matmul_sizes.py",
    "base/kernel/norm/": T + "test_same_bits.py",
    "base/kernel/optimizer.rs": "tests/optim/test_rules.py",
    "base/kernel/output.rs": "tests/ops/test_layouts.py",
    "base/kernel/pointwise/": "tests/ops/test_elementwise_large.py",
    "base/kernel/random.rs": "tests/ops/test_random.py",
    "base/kernel/recurrent.rs": "tests/ops/test_recurrent.py",
    "base/kernel/reduce/": "tests/ops/test_reduce_shapes.py",
    "base/kernel/sequence/": "tests/compile/test_sequences.py",
    "base/kernel/simd/": T + "test_same_bits.py",
    "base/kernel/softmax/": "tests/ops/test_softmax.py",
    "base/kernel/team.rs": "tests/scheduler.rs",
    "bind/call/": T + "test_bad_arguments.py",
    "bind/convert/dlpack.rs": "tests/interop/test_dlpack.py",
    "bind/convert/numpy.rs": "tests/interop/test_numpy.py",
    "bind/python/capi.rs": "tests/engine/test_garbage.py",
    "bind/python/site.rs": T + "test_hostile_objects.py",
    "bind/python/stack.rs": T + "test_stack.py",
    "bind/tensor/buffer.rs": "tests/interop/test_conversion.py",
}


def unsafe() -> str:
    """The table of unsafe code: how many blocks, functions and impls each part has, and the tests that reach them."""
    counts: dict[str, int] = {}
    for path in sorted((ROOT / "src").rglob("*.rs")):
        text = re.sub(r"//.*", "", path.read_text("utf8"))
        found = len(re.findall(r"\bunsafe\s*(?:\{|impl\b|fn\b|extern\b)", text))
        if found:
            name = path.relative_to(ROOT / "src").as_posix()
            part = max((p for p in UNSAFE if name.startswith(p)), key=len, default="")
            if not part:
                raise RuntimeError(f"src/{name} has unsafe code, and no test is named for it in {__name__}.UNSAFE")
            counts[part] = counts.get(part, 0) + found
    lines = ["| below `src/` | unsafe blocks, functions and impls | reached by |", "| --- | --- | --- |"]
    lines += [f"| `{part}` | {n} | `{UNSAFE[part]}` |" for part, n in counts.items()]
    return "\n".join(lines)


def machine() -> str:
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return (
        f"{os.cpu_count()} cores of {model[1] if model else platform.machine()}, {platform.system()}, CPython "
        f"{platform.python_version()}, NumPy {np.__version__}, ferrograd {fg.__version__}"
    )


HEAD = """# Reliability

Nothing that a Python program says ends the process or hangs it, and no number is wrong without a word. This page says
what that means promise by promise, which test holds each, and the figure that it reaches.

`make reliability` writes this page and measures each figure on it. Machine: {machine}. The two
tables are measured at the same time, and other programs may have run too. Times are those of the processor, except
where something is waited for.

## Loads and faults in several libraries

The same program for each library (`tests/reliability/faults.py`), each in a process of its own.

{side_by_side}

## Promises

{rows}

## Other libraries and our memory

Outside of the torch dialect `memoryview(x)`, `np.asarray(x)` and DLPack give memory that is marked read-only, or that
nobody else holds; in it, a graph holds no memory that NumPy has. PyTorch
ignores the mark after a warning: `torch.asarray(x)` and `torch.frombuffer(x)` let it write into memory that a graph may
hold. No library can prevent that of a consumer which ignores the buffer protocol. `torch.from_dlpack(x)` and
`torch.tensor(x)` are safe.

## Unsafe code

Each block of unsafe Rust has a line that states why it is sound, and lies in one of the files that
`tests/house/layers.rs` allows.

{unsafe}
"""


def main() -> None:
    """Measures everything and writes the page."""
    with ThreadPoolExecutor() as both:
        beside, promises = both.submit(side_by_side), both.submit(rows)
    parts = {"machine": machine(), "side_by_side": beside.result(), "rows": promises.result(), "unsafe": unsafe()}
    PAGE.write_text(HEAD.format(**parts), "utf8")


if __name__ == "__main__":
    main()
