"""Messages link to the page of errors by a short name, and notebooks show the lines of the user."""

from __future__ import annotations

import copy
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import ferrograd as fg
import pytest
from ferrograd import func

PAGE = Path(__file__).parents[2] / "docs/errors.md"
SECTIONS = re.findall(r"^###? (.*)$", PAGE.read_text("utf8"), re.MULTILINE)


def tracked() -> fg.Tensor:
    return fg.tensor([1.0, 2.0], requires_grad=True)


class Once(fg.Function):
    @staticmethod
    def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
        return x * x

    @staticmethod
    @fg.once_differentiable
    def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
        return g


def freed() -> None:
    y = fg.sum(fg.sin(tracked()))
    fg.backward(y)
    fg.backward(y)


def checkpoint() -> None:
    sizes = iter([2, 3])
    fg.sum(fg.checkpoint(lambda x: x * fg.ones((next(sizes), 2)), tracked())).backward()


def compiled() -> None:
    fg.compile(lambda x: x if x.sum() > 0 else -x, fullgraph=True)(tracked())


def twice() -> None:
    x = tracked()
    slope = fg.grad(fg.sum(Once.apply(x)), x, create_graph=True)
    fg.grad(fg.sum(slope), x)


def not_finite() -> None:
    with fg.debug_nans():
        fg.log(tracked() - 3.0)


def write() -> None:
    tracked()[0] = 3.0


def duplicate() -> None:
    import ferrograd.paddle as paddle

    a = paddle.to_tensor([1.0], stop_gradient=False)
    paddle.grad((a * a).sum(), [a, a])


def raised(kind: type[Exception]) -> Callable[[], None]:
    """For classes that no call raises: the root, and those that stand for a defect or for another process."""

    def fail() -> None:
        raise kind("text")

    return fail


#: By short name: a call that raises the error.
CALLS: dict[str, Callable[[], Any]] = {
    "argumenterror": lambda: fg.concat([]),
    "no-record": lambda: fg.grad(fg.sum(fg.ones(2)), tracked()),
    "not-scalar": lambda: fg.grad(fg.sin(tracked()), tracked()),
    "checkpointerror": checkpoint,
    "compileerror": compiled,
    "conversionerror": lambda: func.grad(lambda x: fg.sum(x) * float(x[0]))(tracked()),
    "distributederror": raised(import_module("ferrograd.distributed").DistributedError),
    "dtypeerror": lambda: fg.bitwise_and(fg.ones(2), fg.ones(2)),
    "duplicatetensorerror": duplicate,
    "ferrograderror": raised(fg.FerrogradError),
    "freedgrapherror": freed,
    "gradcheckerror": lambda: fg.testing.check(lambda x: x * x.detach(), [fg.ones(2, dtype="float64")]),
    "indexoutofrange": lambda: fg.sum(tracked(), axis=3),
    "internalerror": raised(fg.InternalError),
    "leafinplaceerror": write,
    "linalgerror": lambda: fg.linalg.inv(fg.zeros((2, 2))),
    "notdifferentiableerror": twice,
    "notfiniteerror": not_finite,
    "programfileerror": lambda: fg.load_compiled(__file__),
    "shapeerror": lambda: fg.ones(3) + fg.ones(4),
    "unusedinputerror": lambda: fg.grad(fg.sum(tracked()), tracked()),
    "vmaperror": lambda: func.vmap(lambda row: bool(row.sum() > 0))(fg.ones((2, 3))),
}
#: The sections whose errors say all there is to say.
PLAIN = {
    "argumenterror",
    "dtypeerror",
    "duplicatetensorerror",
    "ferrograderror",
    "gradcheckerror",
    "indexoutofrange",
    "linalgerror",
    "shapeerror",
}


def test_every_section_has_a_call_that_leads_to_it() -> None:
    assert SECTIONS[-1] == "Errors that are not the library's"
    assert sorted(CALLS) == sorted(section.lower() for section in SECTIONS[:-1])


@pytest.mark.parametrize("name", CALLS)
def test_an_error_knows_its_section(name: str) -> None:
    with pytest.raises(fg.FerrogradError) as caught:
        CALLS[name]()
    error = caught.value
    assert error.short_name == name
    assert error.url == f"https://ferrograd.github.io/ferrograd/errors.html#{name}"
    message, *more = str(error).split("\nSee ")
    assert message == error.args[0]
    assert more == ([] if name in PLAIN else [error.url])


def test_every_class_has_a_section() -> None:
    def below(kind: type) -> Iterator[str]:
        sub: type
        for sub in kind.__subclasses__():
            if sub.__module__.partition(".")[0] == "ferrograd" and "._" not in sub.__module__:
                yield sub.__name__.lower()
            yield from below(sub)

    assert len({*below(fg.FerrogradError)}) == 19
    assert {*below(fg.FerrogradError)} <= {section.lower() for section in SECTIONS}


def test_a_class_of_the_user_leads_to_the_section_of_its_base() -> None:
    class Mine(fg.VmapError):
        pass

    assert Mine("text").short_name == "vmaperror"


def test_a_copied_error_has_one_link() -> None:
    with pytest.raises(fg.FreedGraphError) as caught:
        freed()
    for error in (copy.copy(caught.value), pickle.loads(pickle.dumps(caught.value))):
        assert str(error) == str(caught.value)
        assert str(error).count("See ") == 1


NOTEBOOK = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
for cell in sys.stdin.read().split("# next cell\\n"):
    print("=====")
    shell.run_cell(cell, store_history=True)
"""
SETUP = """
import numpy as np
import ferrograd as fg, ferrograd.paddle as paddle, ferrograd.torch as torch
from ferrograd import func
x = fg.tensor([1.0, 2.0], requires_grad=True)
def f(v):
    return fg.sum(v) * float(v[0])
class Bad(fg.Function):
    @staticmethod
    def forward(ctx, v):
        return v * 2
    @staticmethod
    def backward(ctx, g):
        raise KeyError("mine")
class Layer(torch.nn.Module):
    def forward(self, v):
        raise KeyError("mine")
"""
#: Calls, each with the lines that its traceback shows.
TRACEBACKS = {
    "fg.grad(fg.sin(x), x)": 1,
    "fg.sin(x).backward()": 1,
    "fg.backward(fg.sin(x))": 1,
    "torch.autograd.backward(torch.ones(2, requires_grad=True) * 2)": 1,
    "paddle.grad(paddle.ones([2]), paddle.ones([2]))": 1,
    "func.grad(f)(x)": 2,
    "func.hessian(f)(x)": 2,
    "func.vmap(f)(fg.ones((2, 3)))": 2,
    "torch.func.grad(lambda v: v.sum() * float(v[0]))(torch.ones(2))": 2,
    "fg.checkpoint(lambda v: v + fg.ones(3), x)": 2,
    "func.scan(lambda c, a: (c + fg.ones(3), c), x, fg.ones((4, 2)))": 2,
    "fg.grad(fg.sum(Bad.apply(x)), x)": 2,
    "fg.sum(Bad.apply(x)).backward()": 2,
    "torch.nn.Linear(3, 4)(torch.ones(5))": 1,
    "paddle.nn.Linear(3, 4)(paddle.ones([5]))": 1,
    "Layer()(torch.ones(5))": 2,
    "torch.optim.SGD([torch.ones(2)], lr=-1)": 1,
    "torch.optim.SGD([torch.ones(2)], lr=0.1).step(lambda: 1 / 0)": 2,
    "fg.testing.check(lambda v: fg.sum(v * v.detach()), x)": 1,
    "np.concatenate([x, fg.ones((2, 2))])": 1,
}


def test_a_notebook_shows_the_lines_of_the_user(tmp_path: Path) -> None:
    pytest.importorskip("IPython", reason="IPython is not installed")
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK],
        input="# next cell\n".join([SETUP, *TRACEBACKS]),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "IPYTHONDIR": str(tmp_path)},
    )
    assert not done.stderr
    folder = str(Path(fg.__file__).parent)
    first, *outputs = done.stdout.split("=====\n")[1:]
    assert not first
    for number, (call, lines, output) in enumerate(zip(TRACEBACKS, TRACEBACKS.values(), outputs, strict=True), 2):
        assert folder not in output, output
        assert f"Cell In[{number}], line 1\n----> 1 {call}" in output
        assert len(re.findall(r"^-+> \d", output, re.MULTILINE)) == lines, output
