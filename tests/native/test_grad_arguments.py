"""The native ``grad`` and ``backward``: nested containers, seeds, and the arguments of both dialects."""

from __future__ import annotations

from typing import NamedTuple

import ferrograd as fg
import numpy as np
import pytest

from tests.dialects import values


class Pair(NamedTuple):
    a: fg.Tensor
    b: fg.Tensor


def leaf(data: object) -> fg.Tensor:
    return fg.tensor(data, requires_grad=True)


def test_results_have_the_structure_of_the_inputs() -> None:
    x, y = leaf(2.0), leaf(5.0)

    def z() -> fg.Tensor:
        return x * y

    assert values(fg.grad(z(), x)) == 5
    assert [values(g) for g in fg.grad(z(), [x, y])] == [5, 2]
    assert isinstance(fg.grad(z(), (x,)), tuple)
    nested = fg.grad(z(), {"a": x, "b": [y, (x,)]})
    assert values(nested["a"]) == 5
    assert values(nested["b"][0]) == 2  # type: ignore[index]
    pair = fg.grad(z(), Pair(x, y))
    assert isinstance(pair, Pair)
    assert values(pair.b) == 2


def test_only_scalar_outputs_have_an_implied_seed() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"grad can be implicitly created only for scalar outputs.*ones"):
        fg.grad(x * x, x)
    with pytest.raises(RuntimeError, match=r"has shape \[2\]"):
        (x * x).backward()
    assert values(fg.grad(x * x, x, fg.ones(2))) == [2, 4]


def test_untracked_outputs_are_errors() -> None:
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        fg.tensor(1.0).backward()


def test_only_inputs_false_adds_to_the_other_leaves() -> None:
    x, w = leaf(2.0), leaf(3.0)
    assert values(fg.grad(x * w, x, only_inputs=False)) == 3
    assert x.grad is None
    assert values(w.grad) == 2


def test_no_grad_vars_in_any_container() -> None:
    x = leaf(2.0)
    a = x * 2
    for blocked in (a, [a], (a,), {a}):
        assert values(fg.grad(a * x, x, no_grad_vars=blocked, retain_graph=True)) == 4


def test_errors_say_why_an_input_is_unused() -> None:
    x, z = leaf(2.0), leaf(1.0)
    with pytest.raises(fg.UnusedInputError, match=r"index 1.*no output depends on it"):
        fg.grad(x * x, [x, z])
    with pytest.raises(fg.UnusedInputError, match=r"index 0.*not tracked"):
        fg.grad(x * x, fg.tensor(1.0))
    with pytest.raises(fg.UnusedInputError, match=r"index 0.*no_grad_vars"):
        fg.grad(x * x, x, no_grad_vars=x)


def test_materialize_grads() -> None:
    x, z = leaf(2.0), leaf([[1.0, 2.0]])
    dx, dz = fg.grad(x * x, (x, z), materialize_grads=True)
    assert values(dx) == 4
    assert values(dz) == [[0, 0]]
    assert dz.dtype == np.float32


def test_materialize_grads_of_batched_seeds() -> None:
    x, z = leaf([1.0, 2.0]), leaf([3.0, 4.0, 5.0])
    eye = fg.tensor(np.eye(2, dtype=np.float32))
    dx, dz = fg.grad(x * x, (x, z), eye, is_grads_batched=True, materialize_grads=True)
    assert values(dx) == [[2, 0], [0, 4]]
    assert values(dz) == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("bad", [None, 1, "x", [1], [None], object()])
def test_arguments_of_wrong_types_raise(bad: object) -> None:
    x = leaf(2.0)
    with pytest.raises(fg.ArgumentError):
        fg.grad(bad, x)  # type: ignore[arg-type]
    with pytest.raises(fg.ArgumentError):
        fg.grad(x * x, bad)
    if bad not in (None, [None]):
        with pytest.raises(fg.ArgumentError):
            fg.grad(x * x, x, bad)  # type: ignore[arg-type]
        with pytest.raises(fg.ArgumentError):
            fg.grad(x * x, x, no_grad_vars=bad)  # type: ignore[arg-type]


def test_no_inputs_or_outputs() -> None:
    x = leaf(2.0)
    with pytest.raises(fg.ArgumentError, match="inputs cannot be empty"):
        fg.grad(x * x, [])
    with pytest.raises(fg.ArgumentError, match="outputs cannot be empty"):
        fg.grad([], x)


def test_outputs_and_inputs_may_repeat() -> None:
    x = leaf(3.0)
    y = x * x
    assert [values(g) for g in fg.grad([y, y], [x, x])] == [12, 12]


def test_gradient_edges_stand_for_tensors() -> None:
    x = leaf(3.0)
    y = x * x
    edge = fg.get_gradient_edge(y)
    z = 2 * y
    assert values(fg.grad(z, edge, retain_graph=True)) == 2
    assert values(fg.grad(edge, x)) == 6


def test_backward_into_some_inputs_only() -> None:
    x, w = leaf(2.0), leaf(3.0)
    fg.backward(x * w, inputs=[x])
    assert values(x.grad) == 3
    assert w.grad is None


def test_import_starts_nothing_heavy() -> None:
    import subprocess
    import sys

    program = (
        "import sys, numpy; before = set(sys.modules); import ferrograd, threading\n"
        "new = {m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)\n"
        "assert new == {'ferrograd'}, new\n"
        "assert 'ferrograd.paddle' not in sys.modules and 'ferrograd.torch' not in sys.modules\n"
        "assert threading.active_count() == 1"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
