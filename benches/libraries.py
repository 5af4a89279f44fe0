"""Runs suites of libraries that stand on PyTorch, on PyTorch and on ferrograd in its place, and prints a table.

``python benches/libraries.py FOLDER --torch PYTHON`` takes a folder of clones of the libraries, which have the names of
their repositories: ``git clone https://github.com/skorch-dev/skorch FOLDER/skorch``. Libraries that are not there are
left out. PYTHON is an interpreter with PyTorch; this one has ferrograd. Both need pytest, pytest-timeout, and what the
libraries import beside PyTorch; ``--site FOLDER`` names a folder of such packages for both.

``--libraries skorch,timm`` selects some. A library runs first on PyTorch, its tests in an order that looks random,
until ``--seconds`` are over; those that pass then run on ferrograd, and on PyTorch once more, each on one thread. The
table has how many pass, and the seconds that the processor spent on those that pass on both, imports left out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Library(NamedTuple):
    """A library: the folder that its tests start in, what goes on the path, the tests, and options of pytest."""

    start: str
    paths: str
    tests: str
    options: str = ""


LIBRARIES = {
    "gpytorch": Library("gpytorch", "gpytorch linear_operator", "test", "--ignore=test/examples"),
    "linear_operator": Library("linear_operator", "linear_operator", "test"),
    "pyro": Library(
        "pyro",
        "pyro",
        "tests/distributions tests/infer tests/poutine tests/nn tests/ops tests/optim tests/params tests/contrib/gp",
        "-Wignore::ImportWarning -Wignore::UserWarning",
    ),
    "torchmetrics": Library(
        "torchmetrics/tests", "torchmetrics/src torchmetrics/tests", "unittests/regression unittests/classification"
    ),
    "skorch": Library("skorch", "skorch gpytorch linear_operator", "skorch/tests"),
    "ignite": Library("ignite", "ignite", "tests/ignite/engine tests/ignite/handlers tests/ignite/metrics"),
    "captum": Library("captum", "captum", "tests"),
    "kornia": Library("kornia", "kornia", "tests"),
    "e3nn": Library("e3nn", "e3nn", "tests"),
    "opacus": Library("opacus", "opacus", "opacus/tests"),
    "backpack": Library("backpack", "backpack", "test"),
    "xitorch": Library("xitorch", "xitorch", "xitorch/_tests"),
    "PINA": Library("PINA", "PINA pytorch_geometric", "tests"),
    "pytorch_optimizer": Library("pytorch_optimizer", "pytorch_optimizer", "tests"),
    "ptwt": Library("PyTorch-Wavelet-Toolbox", "PyTorch-Wavelet-Toolbox/src", "tests"),
    "torch_geometric": Library(
        "pytorch_geometric", "pytorch_geometric", "test/nn test/utils test/data test/transforms"
    ),
    "lightning": Library(
        "pytorch-lightning/tests",
        "pytorch-lightning/src pytorch-lightning/tests",
        "tests_pytorch/trainer tests_pytorch/callbacks tests_pytorch/core",
    ),
    "timm": Library(
        "pytorch-image-models",
        "pytorch-image-models",
        "tests/test_layers.py tests/test_layers_drop.py tests/test_layers_pool.py tests/test_optim.py",
    ),
    "MONAI": Library("MONAI", "MONAI", "tests/losses tests/networks tests/metrics tests/transforms"),
    "diffusers": Library("diffusers", "diffusers/src diffusers", "tests/schedulers"),
}
#: The file of records that a process of pytest writes to, the tests that it runs (all without it), and its seconds.
OUT, ONLY, SECONDS = "LIBRARIES_OUT", "LIBRARIES_ONLY", "LIBRARIES_SECONDS"


def name_of(item: Any) -> str:
    """The name of a test, without addresses."""
    return re.sub(r"0x[0-9a-f]+", "0x", item.nodeid)


# Hooks of pytest. The process that runs the tests loads this file as a plugin.


def pytest_configure(config: Any) -> None:
    """Names the cases of a test as with PyTorch, whose dtypes and devices have no ``__name__``."""
    import torch
    from _pytest.python import IdMaker

    plain = IdMaker._idval

    def named(self: Any, value: Any, name: str, index: int) -> str:
        if isinstance(value, (torch.dtype, torch.device)) and self.idfn is None:
            return str(self._idval_from_argname(name, index))
        return "Size" if value is torch.Size else plain(self, value, name, index)

    setattr(IdMaker, "_idval", named)  # noqa: B010


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Selects and orders the tests."""
    if ONLY in os.environ:
        wanted = set(Path(os.environ[ONLY]).read_text().splitlines())
        items[:] = [item for item in items if name_of(item) in wanted]
    items.sort(key=lambda item: zlib.crc32(name_of(item).encode()))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: Any) -> Iterator[Any]:
    """Notes how a test ends, and the seconds of the processor that it took."""
    begin = vars(item.session).setdefault("begin", time.monotonic())
    _outcomes.clear()
    start = time.process_time()
    result = yield
    row = [name_of(item), _outcomes == {"passed"}, time.process_time() - start]
    with open(os.environ[OUT], "a") as file:
        file.write(json.dumps(row) + "\n")
    if time.monotonic() - begin > float(os.environ.get(SECONDS, "inf")):
        item.session.shouldstop = "time"
    return result


def pytest_runtest_logreport(report: Any) -> None:
    """Notes how a part of a test ends."""
    _outcomes.add("xfail" if hasattr(report, "wasxfail") else report.outcome)


#: How the parts of the test ended that runs.
_outcomes: set[str] = set()


# The table.


def run(library: Library, command: list[str], args: Any, only: Path | None) -> dict[str, tuple[bool, float]]:
    """Whether the tests of a library passed, and their seconds."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        out.touch()
        here = Path(__file__).parent.resolve()
        paths = [str(here), *(str(args.folder / path) for path in library.paths.split()), *args.site]
        env = {key: value for key, value in os.environ.items() if key not in (ONLY, SECONDS)}
        env |= {OUT: str(out), "PYTHONPATH": os.pathsep.join(paths)}
        env |= dict.fromkeys(
            ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "FERROGRAD_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
        )
        env |= {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "MPLBACKEND": "agg", "CI": "1"}
        env |= {ONLY: str(only)} if only else {SECONDS: str(args.seconds)}
        options = ["-p", Path(__file__).stem, "-p", "no:cacheprovider", "-o", "addopts=", "-q", "--timeout=120"]
        options += ["--continue-on-collection-errors", *library.options.split(), *library.tests.split()]
        with open(Path(folder, "log"), "w") as log:
            start = args.folder / library.start
            subprocess.run([*command, "-m", "pytest", *options], cwd=start, env=env, stdout=log, stderr=log)
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        if not rows:
            print(Path(folder, "log").read_text()[-3000:], file=sys.stderr)
        return {name: (passed, spent) for name, passed, spent in rows}


def main() -> None:
    """Prints a row for each library."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--torch", required=True, help="an interpreter with PyTorch")
    parser.add_argument("--site", action="append", default=[])
    parser.add_argument("--libraries", default="")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("-v", action="store_true", help="prints the tests that fail, and the slowest ones")
    args = parser.parse_args()
    args.folder = args.folder.resolve()
    names = args.libraries.split(",") if args.libraries else LIBRARIES
    total = [0, 0, 0.0, 0.0]
    print("| library | pass | ferrograd, s | PyTorch, s | ratio |\n| --- | --- | --- | --- | --- |")
    for name in names:
        library = LIBRARIES[name]
        if not (args.folder / library.start).is_dir():
            continue
        first = run(library, [args.torch], args, None)
        counted = [test for test, (passed, _) in first.items() if passed]
        with tempfile.TemporaryDirectory() as folder:
            only = Path(folder, "only")
            only.write_text("\n".join(counted))
            own = run(library, [sys.executable, "-m", "ferrograd.torch"], args, only)
            again = run(library, [args.torch], args, only)
        both = [test for test in counted if own.get(test, (False,))[0] and again.get(test, (False,))[0]]
        seconds = [sum(found[test][1] for test in both) for found in (own, again)]
        passed = sum(own.get(test, (False,))[0] for test in counted)
        total = [a + b for a, b in zip(total, [passed, len(counted), *seconds], strict=True)]
        show(name, passed, len(counted), *seconds)
        if args.v:
            for test in sorted(set(counted) - {test for test, (passed, _) in own.items() if passed}):
                print(f"  fails: {test}")
            for test in sorted(both, key=lambda test: again[test][1] - own[test][1])[:5]:
                print(f"  {own[test][1]:.2f} s for {again[test][1]:.2f} s: {test}")
    show("all", *total)


def show(name: str, passed: float, counted: float, own: float, peer: float) -> None:
    """Prints a row."""
    print(f"| {name} | {passed} of {counted} | {own:.1f} | {peer:.1f} | {own / max(peer, 1e-9):.2f} |", flush=True)


if __name__ == "__main__":
    main()
