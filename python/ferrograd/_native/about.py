"""``python -m ferrograd``: the version, the machine, the packages beside it, and a self-test of a second."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np

import ferrograd as fg

_USAGE = """usage: python -m ferrograd                 shows version, machine and packages, and tests itself
       python -m ferrograd demo [folder]   differentiates a sine, trains a network, and draws both, into demo/"""

#: The packages that the library works with where they are installed, and what for.
OPTIONAL = {
    "matplotlib": "plots of tensors, pictures of graphs",
    "scipy": "optimizers and solvers of func.for_numpy",
    "mpi4py": "programs of several processes",
    "einops": "einops on tensors",
    "safetensors": "safe_open beside the functions that are built in",
    "tensorboard": "torch.utils.tensorboard",
    "cloudpickle": "functions sent to workers",
    "scikit-learn": "the digits of the demo",
    "tqdm": "progress in the demo",
}


def main() -> None:
    """Does what the command line says."""
    options = sys.argv[1:]
    if not options:
        print(about())
        sys.exit(0 if self_test() else 1)
    if options[0] == "demo" and len(options) < 3:
        sys.exit(_demo(Path(*options[1:] or ["demo"])))
    print(_USAGE)
    sys.exit(0 if options in (["-h"], ["--help"]) else 2)


def _demo(folder: Path) -> int:
    """Runs the demo; returns the exit status."""
    try:
        from ferrograd._native import demo
    except ModuleNotFoundError as e:
        print(f"the demo needs {e.name}: pip install matplotlib scikit-learn tqdm", file=sys.stderr)
        return 1
    if not demo.main(folder):
        print("less than 97 %", file=sys.stderr)
        return 1
    return 0


def about() -> str:
    """The version, the machine and the packages, as the lines that a report of a fault should have."""
    found = {name: version for name in OPTIONAL if (version := _version(name))}
    threads = fg.get_num_threads()
    rows = {
        "ferrograd": f"{fg.__version__}, in {Path(fg.__file__).parent}",
        "Python": f"{platform.python_version()} ({platform.python_implementation()}), NumPy {np.__version__}",
        "system": platform.platform(),
        "processor": f"{_processor()}, {os.cpu_count()} seen",
        "vectors": fg._core.vectors(),
        "threads": f"{threads}" + (", 1 would give the same bits" if threads > 1 else ""),
        "settings": " ".join(f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith("FERROGRAD_")) or "none",
        "found": ", ".join(f"{name} {version}" for name, version in found.items()) or "none of the optional packages",
    }
    lines = [f"{name:<10} {value}" for name, value in rows.items()]
    lines += [f"{'not found':<10} {name}, for {use}" for name, use in OPTIONAL.items() if name not in found]
    return "\n".join(lines)


def _version(name: str) -> str | None:
    """The version of an installed package, which is not imported."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    """The processor's name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text("utf8", "replace").splitlines():
            if line.startswith("model name"):
                return f"{line.partition(':')[2].strip()} ({platform.machine()})"
    return platform.processor() or platform.machine()


def self_test() -> bool:
    """Runs every check and prints those that fail. Returns whether all passed."""
    start = time.perf_counter()
    failed = []
    for check in CHECKS:
        # Whatever a check raises on a strange machine is what the report should say, and the others still run.
        try:
            reason = None if check() else "a wrong result"
        except Exception as e:
            reason = f"{type(e).__name__}: {e}"
        if reason is not None:
            failed.append(f"{check.__doc__} {reason}")
    seconds = time.perf_counter() - start
    print(f"{'self-test':<10} {len(CHECKS) - len(failed)} of {len(CHECKS)} checks passed in {seconds:.1f} s")
    for line in failed:
        print(f"  failed   {line}")
    if failed:
        print("please report this, with all lines above: https://github.com/ferrograd/ferrograd/issues")
    return not failed


def _numbers(*shape: int) -> fg.Tensor:
    """Numbers that are the same in each run, tracked."""
    return fg.tensor(np.random.default_rng(0).uniform(0.5, 1.5, shape), requires_grad=True)


def _third_derivative() -> bool:
    """Derivatives of sin up to the third:"""
    x = _numbers(1001)
    y = fg.sin(x)
    for _ in range(3):
        y = fg.grad(fg.sum(y), x, create_graph=True)
    return bool(np.allclose(y.numpy(), -np.cos(x.numpy()), rtol=1e-12, atol=1e-14))


def _product() -> bool:
    """A matrix product and its gradient:"""
    a, b = _numbers(65, 33), _numbers(33, 17)
    c = a @ b
    exact = np.allclose(c.numpy(), a.numpy() @ b.numpy(), rtol=1e-12)
    return exact and bool(np.allclose(fg.grad(fg.sum(c), a).numpy(), np.ones((65, 17)) @ b.numpy().T, rtol=1e-12))


def _solution() -> bool:
    """A linear system and its eigenvalues:"""
    a = _numbers(9, 9)
    a = a @ a.T + fg.eye(9, dtype="float64")
    x = fg.linalg.solve(a, fg.ones(9, dtype="float64"))
    values = fg.linalg.eigvalsh(a)
    trace = abs(fg.sum(values).item() - np.trace(a.numpy()))
    return trace < 1e-10 and bool(np.allclose((a @ x).numpy(), 1, rtol=1e-10))


def _fourier() -> bool:
    """A Fourier transform:"""
    x = _numbers(1000)
    return bool(np.allclose(fg.fft.fft(x).numpy(), np.fft.fft(x.numpy()), rtol=1e-10, atol=1e-10))


def _bits() -> bool:
    """The same bits with one thread and with all:"""
    x = _numbers(300_000).detach()
    several = fg.sum(fg.tanh(x) * x).item()
    threads = fg.get_num_threads()
    fg.set_num_threads(1)
    try:
        return bool(several == fg.sum(fg.tanh(x) * x).item())
    finally:
        fg.set_num_threads(threads)


def _program() -> bool:
    """A compiled function, saved and loaded:"""
    x = _numbers(100).detach()
    compiled = fg.compile(lambda x: fg.exp(fg.sin(x) * x) + 1.0)
    expected = compiled(x)
    with tempfile.TemporaryDirectory() as folder:
        compiled.save(path := os.path.join(folder, "program"))
        return bool(np.array_equal(expected.numpy(), fg.load_compiled(path)(x).numpy()))


def _borders() -> bool:
    """Arrays of NumPy, in and out:"""
    a = np.arange(6.0).reshape(2, 3)
    x = fg.from_dlpack(a)
    back = np.from_dlpack(x)
    return np.shares_memory(x.numpy(), x.numpy()) and bool((a == back).all() and (fg.tensor(a.T).numpy() == a.T).all())


def _dialects() -> bool:
    """A gradient in the dialects of PyTorch and Paddle:"""
    w = fg.torch.ones(3, requires_grad=True)
    (w * w).sum().backward()
    v = fg.paddle.ones([3])
    v.stop_gradient = False
    (v * v).sum().backward()
    assert w.grad is not None
    assert v.grad is not None
    return bool(w.grad.tolist() == v.grad.tolist() == [2.0, 2.0, 2.0])


CHECKS: list[Callable[[], bool]] = [
    _third_derivative,
    _product,
    _solution,
    _fourier,
    _bits,
    _program,
    _borders,
    _dialects,
]
