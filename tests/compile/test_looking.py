"""Ops that look at numbers, to refuse them or to decide by them, do so in each run of a program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd import linalg

from tests.compile.test_closed_door import agree, bits
from tests.compile.test_programs import array

#: By name: a function, numbers that it takes, and numbers that it refuses.
REFUSALS: dict[str, tuple[Callable[..., Any], list[Any], list[Any]]] = {
    "binary_cross_entropy": (
        lambda x: fg.binary_cross_entropy(x, fg.tensor([1.0, 0.0])),
        [fg.tensor([0.5, 1.0])],
        [fg.tensor([0.5, 1.5])],
    ),
    "binary_cross_entropy of NaN": (
        lambda x: fg.binary_cross_entropy(x * 1.0, fg.tensor([1.0, 0.0])),
        [fg.tensor([0.5, 1.0])],
        [fg.tensor([0.5, fg.nan])],
    ),
    "bernoulli": (lambda x: fg.bernoulli(x), [fg.tensor([0.0, 1.0])], [fg.tensor([0.0, -1.0])]),
    "normal": (lambda x: fg.normal(0.0, x), [fg.tensor([0.0, 1.0])], [fg.tensor([0.0, -1.0])]),
    "pow": (fg.pow, [fg.tensor([2, 3]), fg.tensor([0, 3])], [fg.tensor([2, 3]), fg.tensor([0, -3])]),
    "quantile": (
        fg.quantile,
        [fg.tensor([2.0, 3.0]), fg.tensor([0.0, 0.5])],
        [fg.tensor([2.0, 3.0]), fg.tensor([0.0, 1.5])],
    ),
    "histogram": (
        lambda x: fg.histogram(x, 3)[0],
        [fg.tensor([2.0, 3.0, 5.0])],
        [fg.tensor([2.0, fg.inf, 5.0])],
    ),
    "masked_scatter": (
        lambda mask, source: fg.masked_scatter(fg.zeros(3), mask, source),
        [fg.tensor([True, False, False]), fg.tensor([7.0])],
        [fg.tensor([True, False, True]), fg.tensor([7.0])],
    ),
    "istft": (
        lambda window: fg.istft(fg.ones((3, 5), dtype=fg.complex64), 4, window=window),
        [fg.tensor([1.0, 1.0, 1.0, 1.0])],
        [fg.tensor([0.0, 0.0, 0.0, 0.0])],
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_program_refuses_what_the_function_refuses(name: str, tmp_path: Path) -> None:
    f, taken, refused = REFUSALS[name]
    compiled = agree(f, taken, refused)
    assert compiled.cache_info().currsize == 1
    compiled.save(tmp_path / "program", *taken)
    loaded = fg.load_compiled(tmp_path / "program")
    loaded(*taken)
    with pytest.raises(fg.FerrogradError) as wanted:
        f(*refused)
    with pytest.raises(type(wanted.value)) as found:
        loaded(*refused)
    assert str(found.value) == str(wanted.value)


def test_the_error_of_a_check_names_its_line() -> None:
    @fg.compile
    def f(x: Any) -> Any:
        return fg.binary_cross_entropy(x, x)

    f(fg.ones(2))
    with pytest.raises(fg.ArgumentError, match="between 0 and 1") as error:
        f(fg.ones(2) * 2)
    assert f"test_looking.py:{f.__wrapped__.__code__.co_firstlineno + 2}" in error.value.__notes__[0]


def test_numbers_drawn_before_and_after_a_check_keep_their_order() -> None:
    def f(x: Any) -> Any:
        p = x * fg.uniform(0.0, 1.0, (100,))
        return p + fg.bernoulli(p) * fg.uniform(0.0, 1.0, (100,))

    assert agree(f, [fg.ones(100)], [fg.ones(100) * 0.5]).cache_info().currsize == 1


def test_numbers_drawn_before_and_after_a_value_is_printed(capsys: Any) -> None:
    def f(x: Any) -> Any:
        p = x * fg.uniform(0.0, 1.0, (3,))
        fg.debug_print("{}", p)
        return p + fg.uniform(0.0, 1.0, (3,))

    assert agree(f, [fg.ones(3)], [fg.ones(3) * 2]).cache_info().currsize == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[::2] == lines[1::2]


def gradients(f: Callable[..., Any], order: int = 2) -> Callable[..., Any]:
    """The results of ``f`` and its gradients by all arguments that are floats."""

    def all_of_them(*args: Any) -> Any:
        xs = [x.detach().requires_grad_() if x.dtype == fg.float64 else x for x in args]
        leaves = [x for x in xs if x.requires_grad]
        found = [f(*xs)]
        for k in range(order):
            found += fg.grad([(x * x).sum() for x in found[-len(leaves) :]], leaves, create_graph=k + 1 < order)
        return [x.detach() for x in found]

    return all_of_them


def test_the_exponential_of_matrices_of_any_size() -> None:
    x, f = array(4, 4).astype("float64"), gradients(linalg.matrix_exp)
    compiled = fg.compile(f)
    for k in (0.1, 100.0, 3.0, 9.0, 0.1):
        assert bits(compiled(fg.tensor(x * k))) == bits(f(fg.tensor(x * k)))
    assert compiled.cache_info()[:3] == (4, 1, 0)


def test_derivatives_of_the_exponential_of_large_matrices() -> None:
    x = fg.tensor(np.array([[3.0, -20.0], [20.0, 1.0]]) / 2, requires_grad=True)
    w = np.array([[1.0, 2.0], [-1.0, 0.5]])

    def derivative(order: int, at: np.ndarray) -> float:
        """That of a sum of elements along a direction."""
        y = fg.tensor(at, requires_grad=True)
        s = (linalg.matrix_exp(y) * fg.tensor(w)).sum()
        for _ in range(order):
            (g,) = fg.grad(s, [y], create_graph=True)
            s = (g * fg.tensor(w)).sum()
        return float(s.item())

    h = 1e-5
    for order in range(3):
        exact = derivative(order + 1, x.detach().numpy())
        near = [derivative(order, x.detach().numpy() + k * h * w) for k in (1, -1)]
        assert exact == pytest.approx((near[0] - near[1]) / (2 * h), rel=1e-6)


def test_determinants_that_become_singular_have_two_programs() -> None:
    f = gradients(linalg.det)
    regular = fg.tensor(np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]]))
    singular = fg.tensor(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 4.0]]))
    compiled = fg.compile(f)
    for x in (regular, regular * 2, singular, regular, singular * 2):
        assert bits(compiled(x)) == bits(f(x))
    assert compiled.cache_info()[:3] == (3, 2, 0)


def test_a_program_for_other_numbers_draws_none() -> None:
    def f(x: Any) -> Any:
        x = (x + fg.uniform(0.0, 1.0, (3, 3), dtype=fg.float64)).requires_grad_()
        (g,) = fg.grad(linalg.det(x * fg.where(x > 5.0, 1.0, 0.0)), [x])
        return g.detach(), fg.uniform(0.0, 1.0, (3,))

    regular = fg.tensor(np.eye(3) * 5 + 5)
    assert agree(f, [regular], [fg.zeros((3, 3), dtype=fg.float64)]).cache_info().currsize == 2


def test_residuals_where_the_rank_falls_have_two_programs() -> None:
    def f(x: Any, y: Any) -> Any:
        return linalg.lstsq(x, y)[:2]

    full, y = array(4, 2).astype("float64"), fg.tensor(array(4, 3).astype("float64"))
    compiled = fg.compile(f)
    for x in map(fg.tensor, (full, full * 2, full[:, [0, 0]], full, full[:, [1, 1]])):
        assert bits(compiled(x, y)) == bits(f(x, y))
    assert f(x, y)[1].shape == (0,)
    assert compiled.cache_info()[:3] == (3, 2, 0)


#: By name: a function and two lists of arguments.
OTHERS: dict[str, tuple[Callable[..., Any], list[Any], list[Any]]] = {
    "the last of values written to one place": (
        gradients(lambda x, i, v: fg.put_along_axis(x, i, v, 0)),
        [fg.tensor(np.arange(4.0)), fg.tensor([1, 2, 3]), fg.tensor(np.arange(3.0))],
        [fg.tensor(np.arange(4.0)), fg.tensor([1, 2, 1]), fg.tensor(np.arange(3.0))],
    ),
    "the gradient of a power of one element": (
        gradients(lambda x, k: x**k),
        [fg.tensor(np.array([0.0, 2.0, 3.0])), fg.tensor(2)],
        [fg.tensor(np.array([0.0, 2.0, 3.0])), fg.tensor(3)],
    ),
    "elements of a source": (
        gradients(fg.masked_scatter),
        [fg.tensor(array(2, 3).astype("float64")), fg.tensor([True, False, True]), fg.tensor(np.arange(5.0))],
        [fg.tensor(array(2, 3).astype("float64")), fg.tensor([False, False, True]), fg.tensor(np.arange(5.0))],
    ),
    "quantiles": (
        gradients(lambda x, q: fg.quantile(x, q, axis=0)),
        [fg.tensor(array(5, 3).astype("float64")), fg.tensor(np.array([0.1, 0.5]))],
        [fg.tensor(array(5, 3).astype("float64")), fg.tensor(np.array([0.9, 0.25]))],
    ),
    "bins": (lambda x: fg.histogram(x, 3), [fg.tensor([1.0, 2.0, 4.0])], [fg.tensor([0.0, 2.0, 9.0])]),
    "complex numbers among others": (
        lambda x, y: fg.isin(x, y),
        [fg.tensor([1j, 2.0, 3.0]), fg.tensor([2.0 + 0j, 1j])],
        [fg.tensor([1j, 2.0, 3.0]), fg.tensor([2.0 + 1j, 3.0])],
    ),
    "two views of one array": (
        lambda x: fg.median(x, axis=0),
        [fg.tensor(array(4, 3))],
        [fg.tensor(array(4, 3, seed=1))],
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_program_decides_as_the_function_does(name: str) -> None:
    f, first, second = OTHERS[name]
    assert agree(f, first, second).cache_info().currsize == 1


def test_the_gradient_of_a_power_whose_exponent_differs_from_call_to_call() -> None:
    def f(x: Any, k: Any) -> Any:
        return x**k

    compiled = fg.compile(f)
    for k in (2.0, 3.0, 0.5, 0.0, 1.0, -1.0):
        found = []
        for g in (f, compiled):
            x = fg.tensor(array(5)).abs().requires_grad_()
            found.append(bits(fg.grad(g(x, fg.tensor(k)).sum(), [x])))
        assert found[0] == found[1]
    assert compiled.cache_info()[:3] == (5, 1, 0)


def test_masks_of_a_batch_take_elements_each_for_itself() -> None:
    x, source = fg.zeros(3), fg.tensor([1.0, 2.0, 3.0])
    masks = fg.tensor([[True, False, True], [False, True, False]])
    found = fg.func.vmap(lambda mask: fg.masked_scatter(x, mask, source))(masks)
    assert found.tolist() == [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]


def test_a_large_array_of_numpy_is_the_reason() -> None:
    table = np.arange(600_000.0)
    f = fg.compile(lambda x: x + table[0])
    with pytest.warns(UserWarning, match="looks up a NumPy array"):
        f(fg.ones(2))
    assert f.explain() == (
        "not compiled: it looks up a NumPy array of more than 4 MiB, whose numbers may change; "
        "make a tensor of it first"
    )


def test_the_exponential_of_no_matrices() -> None:
    assert fg.func.vmap(linalg.matrix_exp)(fg.zeros((0, 2, 2))).shape == (0, 2, 2)


@pytest.mark.parametrize("validate", [None, True, False])
def test_distributions_are_compiled_with_their_checks(validate: bool | None) -> None:
    def f(loc: Any, scale: Any) -> Any:
        q = torch.distributions.Normal(loc, scale, validate_args=validate)
        x = q.rsample()
        p = torch.distributions.Normal(torch.zeros(3), torch.ones(3))
        return q.log_prob(x).sum() + torch.distributions.kl_divergence(q, p).sum()

    compiled: Any = torch.compile(f)
    loc, scale = torch.tensor(array(3)), torch.tensor(array(3)).abs() + 0.1
    for k in (1.0, 2.0, 3.0):
        found = []
        for g in (f, compiled):
            torch.manual_seed(3)
            found.append(bits(g(loc * k, scale * k)))
        assert found[0] == found[1]
    assert compiled.cache_info()[:3] == (2, 1, 0)
    if validate is not False:
        with pytest.raises(ValueError, match=r"parameter scale .* invalid values"):
            compiled(loc, -scale)
        compiled(loc, scale)
        assert compiled.cache_info().hits == 3


def test_a_variance_that_becomes_negative_is_refused() -> None:
    def loss(x: Any, var: Any) -> Any:
        return torch.nn.functional.gaussian_nll_loss(x, x * 2.0, var)

    x = torch.ones(3)
    compiled: Any = torch.compile(loss)
    for k in (1.0, 2.0):
        assert bits(compiled(x, x * k)) == bits(loss(x, x * k))
    assert compiled.cache_info()[:3] == (1, 1, 0)
    with pytest.raises(ValueError, match="negative"):
        compiled(x, -x)
    assert bits(compiled(x, x * 3.0)) == bits(loss(x, x * 3.0))
    assert compiled.cache_info().hits == 2
