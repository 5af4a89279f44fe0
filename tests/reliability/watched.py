"""The fuzzers and the tests with a module that is watched: ``python -m tests.reliability.watched HOW MODULE MINUTES``.

``make asan`` and ``make careful`` build such modules. ``address`` runs the fuzzers and what touches memory by addresses
under AddressSanitizer; ``assertions`` runs the fuzzers and all tests with a module that checks its own assumptions.
Generated code is not watched, so the fuzzers run once with it and once without.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Tests of views, indexes, copies, files, capsules, and kernels at their edges.
TESTS = [
    "tests/compile/test_sequences.py",
    "tests/interop/test_dlpack.py",
    "tests/interop/test_numpy.py",
    "tests/ops/test_conv.py",
    "tests/ops/test_index.py",
    "tests/ops/test_layouts.py",
    "tests/ops/test_linalg_edges.py",
    "tests/ops/test_matmul_sizes.py",
    "tests/ops/test_recurrent.py",
    "tests/ops/test_reduce_shapes.py",
    "tests/ops/test_softmax.py",
    "tests/reliability/test_damaged_files.py",
    "tests/reliability/test_writes_and_views.py",
]
#: What AddressSanitizer is told: a report ends the process, an array that is too large is a MemoryError, and variables
#: stay on the stack, whose depth the library measures.
OPTIONS = (
    "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096:abort_on_error=1"
    ":detect_stack_use_after_return=0"
)


def runtime(folder: Path) -> Path:
    """The sanitizer's runtime as a shared library, made of the one that Rust links into programs."""
    sysroot = subprocess.run(["rustc", "+nightly", "--print", "sysroot"], capture_output=True, text=True, check=True)
    archive = next(Path(sysroot.stdout.strip()).glob("lib/rustlib/*/lib/librustc-nightly_rt.asan.a"))
    copy, made = folder / "asan.a", folder / "asan_runtime.so"
    shutil.copy(archive, copy)
    # This object starts the sanitizer before a program does, which no shared library can.
    subprocess.run(["ar", "d", copy, "asan_preinit.cpp.o"], check=True)
    whole = ["-Wl,--whole-archive", str(copy), "-Wl,--no-whole-archive"]
    subprocess.run(["cc", "-shared", "-o", made, *whole, "-lpthread", "-ldl", "-lm", "-lrt"], check=True)
    return made


def package(library: Path, folder: Path) -> Path:
    """The Python package with this module in it; the folder that holds it."""
    shutil.copytree(ROOT / "python", folder / "python", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy(library, folder / "python" / "ferrograd" / "_core.abi3.so")
    return folder / "python"


def commands(minutes: float, tests: list[str]) -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """What is run: a name, the arguments of Python, and variables of the environment."""
    fuzz = ["-m", "tests.reliability.fuzz", str(minutes / 2)]
    yield "fuzzers", fuzz, {}
    yield "fuzzers without generated code", fuzz, {"FERROGRAD_CPU": "baseline"}
    yield "lying programs", ["-m", "tests.reliability.lying_programs", "1", "2000", "64"], {}
    yield "tests", ["-m", "pytest", "-q", "-p", "no:cacheprovider", *tests], {}


def main() -> None:
    how, library, minutes = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        watched = {"PYTHONPATH": str(package(library, folder))}
        if how == "address":
            watched |= {"LD_PRELOAD": str(runtime(folder)), "ASAN_OPTIONS": OPTIONS, "PYTHONMALLOC": "malloc"}
        for what, arguments, more in commands(minutes, TESTS if how == "address" else []):
            print(f"{what}:", flush=True)
            environment = {**os.environ, **watched, **more}
            done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, check=False)
            failed |= done.returncode != 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
