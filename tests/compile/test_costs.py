"""A call goes the way that costs less: the program, or the function itself where a program gains nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import ferrograd as fg
import pytest
from ferrograd import func

X = fg.tensor([3.0, -1.0])
W = fg.tensor([2.0, 5.0])
ITSELF, PROGRAM = "a call runs the function itself: about", "a call runs the program: about"


def called(f: Any, *args: Any, **options: Any) -> Any:
    """The compiled function, after some calls that agree with the function."""
    compiled = fg.compile(f, **options)
    for _ in range(20):
        assert compiled(*args).tolist() == f(*args).tolist()
    return compiled


def chain(x: Any) -> Any:
    for _ in range(10):
        x = fg.sin(x) * 2
    return x


SHORT = {
    "an operator": lambda x: x * W,
    "a function": lambda x: fg.sin(x),
    "a method": lambda x: x.sum(),
    "a product": lambda x: fg.matmul(x, W),
    "a helper": lambda x: helper(x),
    "builtins": lambda x: x * float(len([1, 2, 3])),
}


def helper(x: Any) -> Any:
    return x * W


@pytest.mark.parametrize("name", SHORT)
def test_one_op_runs_as_the_function_itself(name: str) -> None:
    compiled = called(SHORT[name], X)
    assert ITSELF in compiled.explain()
    # The choice is found like a program is.
    assert compiled.cache_info()[:3] == (19, 1, 0)
    y = X.clone().requires_grad_()
    assert fg.grad(compiled(y).sum(), y).tolist() == fg.grad(SHORT[name](y).sum(), y).tolist()


def test_many_ops_run_as_a_program() -> None:
    compiled = called(chain, X)
    assert PROGRAM in compiled.explain()
    assert ITSELF not in compiled.explain()


def test_a_product_of_much_work_gains_nothing_and_a_formula_does() -> None:
    a = fg.ones((700, 700))
    assert ITSELF in called(lambda a: a @ a @ a, a).explain()
    assert PROGRAM in called(lambda a: fg.sin(a) * 2 + 1, a).explain()


def test_the_choice_is_one_for_each_kind_of_tensors() -> None:
    def f(x: Any) -> Any:
        return chain(x) if x.ndim == 1 else x * 2

    compiled = called(f, X)
    assert compiled(fg.ones((2, 2))).tolist() == [[2.0, 2.0]] * 2
    assert ITSELF in compiled.explain()
    assert PROGRAM in compiled.explain()


LOG: list[int] = []


def with_effects() -> dict[str, Any]:
    def printing(x: Any) -> Any:
        print("called")
        return x * W

    def writing(x: Any) -> Any:
        sys.stdout.write("called\n")
        return x * W

    return {"print": printing, "write": writing}


@pytest.mark.parametrize("name", with_effects())
def test_code_with_effects_runs_while_it_is_traced_and_not_again(name: str, capsys: Any) -> None:
    compiled = fg.compile(with_effects()[name])
    for _ in range(5):
        compiled(X)
    assert capsys.readouterr().out == "called\n"
    assert PROGRAM in compiled.explain()


def test_what_the_function_looks_up_is_read_in_each_call() -> None:
    state = {"w": W}
    inner = helper

    def f(x: Any) -> Any:
        return inner(x) * state["w"]

    inner = fg.sin
    compiled = called(f, X)
    for w in (W * 2, fg.ones((3, 1)), 4.0):
        state["w"] = w  # type: ignore[assignment]
        assert compiled(X).tolist() == f(X).tolist()
    # After a while calls are compared again, and take a program.
    inner = chain
    for _ in range(40):
        assert compiled(X).tolist() == f(X).tolist()
    assert PROGRAM in compiled.explain()


def test_numbers_that_the_function_looks_up_are_compared_in_each_call() -> None:
    held = {"k": 2.0}
    compiled = called(lambda x: x * held["k"], X)
    assert PROGRAM in compiled.explain()
    held["k"] = 3.0
    assert compiled(X).tolist() == (X * 3).tolist()
    assert compiled.cache_info().misses == 2


def test_with_fullgraph_and_with_floats_that_vary_it_is_the_program() -> None:
    assert PROGRAM in called(SHORT["an operator"], X, fullgraph=True).explain()
    f = fg.compile(lambda x, k: x * k)
    assert [f(X, k / 7).tolist() for k in range(5)] == [(X * (k / 7)).tolist() for k in range(5)]


def test_the_function_itself_inside_of_transforms_and_other_modes() -> None:
    compiled = called(SHORT["an operator"], X)
    assert func.vmap(compiled)(fg.stack([X, X])).tolist() == (fg.stack([X, X]) * W).tolist()
    assert func.jvp(compiled, (X,), (X,))[1].tolist() == (X * W).tolist()
    assert fg.compile(lambda x: chain(compiled(x)))(X).tolist() == chain(X * W).tolist()
    with fg.no_grad():
        assert not compiled(X.clone().requires_grad_()).requires_grad


CHOICES = """
import ferrograd as fg
fs = [lambda x: x * 2, lambda x: x * 2 + 1, lambda x: fg.sin(fg.sin(x * 2)) + 1, lambda x: x @ x @ x]
for f in fs:
    c = fg.compile(f)
    c(fg.ones((300, 300)))
    print(c.explain().splitlines()[-1])
"""


def test_the_choice_is_the_same_in_every_process() -> None:
    runs = [subprocess.run([sys.executable, "-c", CHOICES], capture_output=True, text=True, check=True) for _ in "ab"]
    assert runs[0].stdout == runs[1].stdout
    assert runs[0].stdout.count("about") == 4
