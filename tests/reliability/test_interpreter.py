"""Unusual ways to run Python: warnings as errors, no docstrings, a second import, subinterpreters."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.engine.test_threads import run_program

SMOKE = """
import ferrograd.torch as torch, ferrograd.paddle as paddle
from ferrograd import func, testing
x = fg.tensor([1.0, 2.0], requires_grad=True)
y = (fg.exp(x) * x).sum()
dx = fg.grad(y, x, create_graph=True)
dx.sum().backward()
assert x.grad.shape == (2,)
fg.graph(y).to_svg()
model = torch.nn.Linear(2, 2)
model(torch.ones(1, 2)).sum().backward()
paddle.nn.Linear(2, 2)(paddle.ones([1, 2])).sum().backward()
func.hessian(lambda x: (x**3).sum())(x)
func.vmap(fg.sin)(x)
"""


def clean(done: subprocess.CompletedProcess[str]) -> None:
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "options",
    [("-X", "dev", "-W", "error"), ("-OO",), ("-I",), ("-X", "frozen_modules=off"), ("-X", "tracemalloc"), ("-bb",)],
    ids=" ".join,
)
def test_options_of_the_interpreter(options: tuple[str, ...]) -> None:
    program = SMOKE
    if "-I" in options:
        # Without the environment the path of the package is not known.
        program = f"import sys; sys.path[:] = {sys.path!r}\n"
        program += f"import numpy as np, ferrograd as fg{SMOKE}"
        clean(subprocess.run([sys.executable, *options, "-c", program], capture_output=True, text=True))
    else:
        clean(run_program(program, *options))


def test_modules_may_be_reloaded() -> None:
    clean(
        run_program("""
        import importlib
        kept = fg.tensor([1.0, 2.0], requires_grad=True)
        y = kept * kept
        for name in sorted(m for m in sys.modules if m.startswith("ferrograd") and "_core" not in m):
            importlib.reload(sys.modules[name])
        importlib.reload(sys.modules["ferrograd._core"])
        y.sum().backward()
        assert kept.grad.tolist() == [2.0, 4.0]
        x = fg.tensor([3.0], requires_grad=True)
        assert isinstance(x, type(kept))
        assert fg.grad(x * x, x).item() == 6.0
    """)
    )


def test_the_package_is_imported_anew_after_it_was_removed() -> None:
    """As IPython and test runners do."""
    clean(
        run_program("""
        for name in [m for m in sys.modules if m.startswith("ferrograd") and "_core" not in m]:
            del sys.modules[name]
        import ferrograd as again
        x = again.tensor([3.0], requires_grad=True)
        assert again.grad(x * x, x).item() == 6.0
        import ferrograd.torch as torch
        w = torch.ones(2, requires_grad=True)
        (w * w).sum().backward()
        assert w.grad.tolist() == [2.0, 2.0]
    """)
    )


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the private module of subinterpreters has another name")
def test_a_subinterpreter_refuses_the_module() -> None:
    """NumPy, too, can be loaded once in a process. What must not happen is a crash."""
    done = run_program("""
        import _xxsubinterpreters as interpreters
        x = fg.tensor([1.0], requires_grad=True)
        other = interpreters.create()
        try:
            interpreters.run_string(other, "import ferrograd")
        except interpreters.RunFailedError as e:
            assert "ImportError" in str(e), e
        else:
            raise AssertionError("a second interpreter shares the module's state")
        interpreters.destroy(other)
        assert fg.grad(x * x, x).item() == 2.0
    """)
    assert done.returncode == 0, done.stderr


def test_tracing_and_profiling_functions_see_calls_and_change_nothing() -> None:
    clean(
        run_program("""
        seen = []
        def trace(frame, event, what):
            seen.append(event)
            return trace
        x = fg.tensor([3.0], requires_grad=True)
        x.register_hook(lambda g: g * 1)
        sys.settrace(trace)
        sys.setprofile(lambda *a: seen.append(a[1]))
        g = fg.grad(x * x, x)
        sys.setprofile(None)
        sys.settrace(None)
        assert g.item() == 6.0 and seen
        # An error of a trace function comes out of the call.
        def fail(frame, event, what):
            raise KeyError("trace")
        sys.settrace(fail)
        try:
            (x * x).backward()
        except KeyError:
            pass
        finally:
            sys.settrace(None)
        x.grad = None
        (x * x).backward()
        assert x.grad.item() == 6.0
    """)
    )
