"""``grad``, ``vjp``, ``jvp`` and ``linearize`` of ``ferrograd.func``."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func, paddle, torch
from ferrograd.func import grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, value_and_grad, vhp, vjp, vmap

from tests.func.tools import same, sample

Pair = namedtuple("Pair", "a b")


@dataclass(frozen=True)
class Layer:
    weight: Any
    bias: Any


def loss(p: Any) -> Any:
    return (fg.sin(p["w"]) * p["inner"][0]).sum() + p["inner"][1] ** 2


def test_gradient_in_the_structure_of_the_argument() -> None:
    p = {"w": sample(3), "inner": [sample(3, seed=1), fg.tensor(np.float64(3.0))]}
    g = grad(loss)(p)
    assert list(g) == ["w", "inner"]
    assert isinstance(g["inner"], list)
    same(g["w"], np.cos(p["w"]) * np.asarray(p["inner"][0]))
    same(g["inner"][0], np.sin(p["w"]))
    same(g["inner"][1], 6.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda a, b: (a, b),
        lambda a, b: [a, b],
        Pair,
        Layer,
        lambda a, b: OrderedDict(b=b, a=a),
        lambda a, b: {1: [(a, None)], 2: b},
    ],
    ids=["tuple", "list", "namedtuple", "dataclass", "OrderedDict", "nested"],
)
def test_every_container(make: Any) -> None:
    from ferrograd._kit import tree as _tree

    x, y = sample(2), sample(2, seed=1)
    tree = make(x, y)
    g = grad(lambda t: sum(((k + 1.0) * leaf**2).sum() for k, leaf in enumerate(_tree.leaves(t))))(tree)
    assert type(g) is type(tree)
    for k, (leaf, at) in enumerate(zip(_tree.leaves(g), _tree.leaves(tree), strict=True)):
        same(leaf, 2 * (k + 1) * np.asarray(at))


def test_argnums() -> None:
    x, y = sample(3), sample(3, seed=1)

    def f(x: Any, y: Any, scale: float, *, power: int) -> Any:
        return (scale * x**power * y).sum()

    same(grad(f)(x, y, 2.0, power=2), 4 * np.asarray(x) * np.asarray(y))
    same(grad(f, argnums=1)(x, y, 2.0, power=2), 2 * np.asarray(x) ** 2)
    both = grad(f, argnums=(1, 0))(x, y, 2.0, power=2)
    assert isinstance(both, tuple)
    same(both[1], 4 * np.asarray(x) * np.asarray(y))
    same(grad(f, argnums=-1)(x, y, 2.0, power=2), (np.asarray(x) ** 2 * np.asarray(y)).sum(), 1e-6)


def test_numbers_and_arrays_are_arguments() -> None:
    value, slope = value_and_grad(lambda x: x**3)(2.0)
    assert (value.item(), slope.item()) == (8.0, 12.0)
    same(grad(lambda x: (x * x).sum())(np.arange(3.0)), [0, 2, 4])


def test_aux_and_value() -> None:
    x = sample(3)
    g, aux = grad(lambda x: ((x * x).sum(), {"half": x / 2, "n": 3}), has_aux=True)(x)
    same(g, 2 * np.asarray(x))
    same(aux["half"], np.asarray(x) / 2)
    assert aux["n"] == 3
    assert not aux["half"].requires_grad
    (value, aux), g = value_and_grad(lambda x: ((x * x).sum(), "text"), has_aux=True)(x)
    assert aux == "text"
    same(value, (np.asarray(x) ** 2).sum())


def test_a_constant_function_has_gradient_zero() -> None:
    x = sample(3)
    same(grad(lambda x: fg.tensor(1.0))(x), np.zeros(3))
    same(grad(lambda x: 1.0)(x), np.zeros(3))
    same(jvp(lambda x: fg.ones(2), (x,), (x,))[1], np.zeros(2))


def test_results_are_tracked_only_for_the_caller() -> None:
    x, w = sample(3), sample(3, seed=1, track=True)
    value, slope = value_and_grad(lambda x: (x * x).sum())(x)
    assert not value.requires_grad
    assert not slope.requires_grad
    value, slope = value_and_grad(lambda x: (x * x * w).sum())(x)
    assert value.requires_grad
    same(fg.grad(slope.sum(), w, retain_graph=True), 2 * np.asarray(x))
    same(fg.grad(value, w), np.asarray(x) ** 2)
    with fg.no_grad():
        value, slope = value_and_grad(lambda x: (x * x * w).sum())(x)
    assert not value.requires_grad
    assert not slope.requires_grad
    same(slope, 2 * np.asarray(x) * np.asarray(w))


def test_a_tracked_argument_keeps_its_gradient() -> None:
    x = sample(3, track=True)
    g = grad(lambda x: (x**3).sum())(x)
    same(fg.grad(g.sum(), x), 6 * np.asarray(x))
    assert x.grad is None


def test_no_grad_inside_cuts_the_gradient() -> None:
    def f(x: Any) -> Any:
        with fg.no_grad():
            c = x * x
        return (x * c).sum()

    x = sample(3)
    same(grad(f)(x), np.asarray(x) ** 2)


def test_pullback_and_linear_map_many_times() -> None:
    x, y = sample(2, 3), sample(3, 2, seed=1)
    value, pullback = vjp(lambda x, y: {"p": x @ y, "s": x.sum()}, x, y)
    same(value["p"], np.asarray(x) @ np.asarray(y))
    for seed in (2, 3):
        g = sample(2, 2, seed=seed)
        dx, dy = pullback({"s": fg.tensor(1.0, dtype="float64"), "p": g})
        same(dx, np.asarray(g) @ np.asarray(y).T + 1)
        same(dy, np.asarray(x).T @ np.asarray(g))
    value, along = linearize(lambda x, y: x @ y, x, y)
    for seed in (2, 3):
        t = sample(2, 3, seed=seed)
        same(along(t, fg.zeros_like(y)), np.asarray(t) @ np.asarray(y))
    _, moved = jvp(lambda x, y: (x @ y, x), (x, y), (x, y))
    same(moved[0], 2 * np.asarray(x) @ np.asarray(y))
    same(moved[1], x)


def test_vjp_and_jvp_with_aux() -> None:
    x = sample(2)
    value, pullback, aux = vjp(lambda x: (x * x, x), x, has_aux=True)
    same(pullback(value)[0], 2 * np.asarray(x) ** 3)
    same(aux, x)
    value, moved, aux = jvp(lambda x: (x * x, "a"), (x,), (x,), has_aux=True)
    same(moved, 2 * np.asarray(value))
    assert aux == "a"


def test_cotangents_and_tangents_may_be_tracked() -> None:
    x, v = sample(3), sample(3, seed=1, track=True)
    moved = jvp(lambda x: x**2, (x,), (v,))[1]
    same(fg.grad(moved.sum(), v), 2 * np.asarray(x))
    (g,) = vjp(lambda x: x**2, x)[1](v)
    same(fg.grad(g.sum(), v), 2 * np.asarray(x))


@pytest.mark.parametrize("module", [torch, paddle])
def test_results_have_the_class_of_the_dialect(module: Any) -> None:
    x = torch.tensor([1.0, 2.0]) if module is torch else paddle.to_tensor([1.0, 2.0])
    for f in (lambda x: (x * x).sum(), lambda x: fg.tensor(1.0)):
        assert type(grad(f)(x)) is module.Tensor
    assert type(jvp(lambda x: x * x, (x,), (x,))[1]) is module.Tensor
    assert type(fg.func.jacfwd(lambda x: x * x)(x)) is module.Tensor
    assert type(fg.func.hessian(lambda x: (x * x).sum())(x)) is module.Tensor


@dataclass
class Net:
    """A structure with fields that are not tensors."""

    w: Any
    b: Any
    name: str = "layer"
    size: int = 3
    act: Any = fg.tanh


def test_fields_that_are_not_tensors_are_part_of_the_structure() -> None:
    def loss(p: Net) -> Any:
        return (p.act(p.w) * p.b * p.size).sum()

    p = Net(sample(3), sample(3, seed=1), "first", 2)
    g = grad(loss)(p)
    assert (g.name, g.size, g.act) == ("first", 2, fg.tanh)
    same(g.b, 2 * np.tanh(np.asarray(p.w)))
    value, moved = jvp(lambda p: Net(p.w * p.b, p.w, p.name), (p,), (p,))
    same(moved.w, 2 * np.asarray(p.w) * np.asarray(p.b))
    assert moved.name == value.name == "first"
    w, b = sample(3, track=True), sample(3, seed=1, track=True)
    same(fg.grad(loss(Net(w, b)), Net(w, b)).b, 3 * np.tanh(np.asarray(w)))
    each = vmap(loss, in_axes=(Net(0, None),))(Net(sample(4, 3), sample(3, seed=1)))
    assert each.shape == (4,)


@pytest.mark.parametrize("argnums", [1.5, None, "0", (0, "1"), [None]])
def test_argnums_are_ints(argnums: Any) -> None:
    with pytest.raises(fg.ArgumentError, match="argnums must be int or ints"):
        grad(lambda x, y: (x * y).sum(), argnums=argnums)(sample(3), sample(3))


def test_a_single_argument_needs_no_tuple() -> None:
    x = sample(3)
    same(jvp(lambda x, y: x * y, iter((x, x)), iter((x, x)))[1], 2 * np.asarray(x) ** 2)
    n = np.asarray(x)
    same(jvp(lambda x: x**2, x, x)[1], 2 * n**2)
    same(jvp(lambda p: p["a"] ** 2, {"a": x}, {"a": x})[1], 2 * n**2)
    for product in (hvp, vhp):
        same(product(lambda x: (x**3).sum(), x, x)[1], 6 * n**2)
        same(product(lambda p: (p["a"] ** 3).sum(), {"a": x}, {"a": x})[1]["a"], 6 * n**2)


@pytest.mark.parametrize("of", [lambda f, x, v: jvp(f, (x,), (v,))[1], lambda f, x, v: linearize(f, x)[1](v)])
def test_forward_mode_allows_writes_to_arguments(of: Any) -> None:
    def f(x: Any) -> Any:
        x[0] = x[1] * x[2]
        return (x.mul_(2.0) ** 2).sum()

    at = np.array([1.0, 2.0, 3.0])
    x = fg.tensor(at)
    # 4 ((bc)^2 + b^2 + c^2), which does not depend on a.
    same(of(f, x, fg.tensor(at)), 4 * (2 * 36 + 2 * 36 + 2 * 4 + 2 * 9))
    same(x, [12.0, 4.0, 6.0])


def test_no_write_to_an_argument_makes_a_gradient_wrong() -> None:
    def f(x: Any) -> Any:
        return (x.mul_(2.0) ** 2).sum()

    for of in (grad(f), jacrev(f), value_and_grad(f), jacrev(jacfwd(f))):
        with pytest.raises(fg.LeafInplaceError):
            of(fg.tensor([1.0, 2.0]))
    for of in (hessian(f), jacfwd(jacfwd(f))):
        same(of(fg.tensor([1.0, 2.0])), [[8.0, 0.0], [0.0, 8.0]])
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(fg.LeafInplaceError):
        grad(f)(x)


def test_a_pullback_is_tracked_where_it_is_called() -> None:
    x = fg.tensor(3.0, requires_grad=True)
    with fg.no_grad():
        y, pullback = vjp(lambda x: x**2, x)
    (g,) = pullback(fg.tensor(1.0))
    assert not y.requires_grad
    assert g.requires_grad
    assert fg.grad(g, x).item() == 2.0


def test_wrong_arguments_raise() -> None:
    x = sample(3)
    with pytest.raises(fg.ShapeError, match=r"grad: the function returns one element, not a tensor of shape \(3,\)"):
        grad(lambda x: x)(x)
    with pytest.raises(fg.DtypeError, match="floating point and complex dtype can require gradients, not int64"):
        grad(lambda x: x.sum())(fg.tensor([1, 2]))
    with pytest.raises(fg.ArgumentError, match="not str"):
        grad(lambda x: x.sum())("x")
    with pytest.raises(fg.ArgumentError, match="Got argnum=3, but only 1 positional inputs"):
        grad(lambda x: x.sum(), argnums=3)(x)
    with pytest.raises(fg.ArgumentError, match="must be unique"):
        grad(lambda x, y: x.sum(), argnums=(0, -2))(x, x)
    with pytest.raises(fg.ArgumentError, match="has_aux"):
        grad(lambda x: x.sum(), has_aux=True)(x)
    with pytest.raises(fg.ArgumentError, match="one tensor, not tuple"):
        grad(lambda x: (x.sum(), 1))(x)
    with pytest.raises(fg.ArgumentError, match="one tensor, not NoneType"):
        grad(lambda x: None)(x)
    with pytest.raises(fg.ShapeError, match=r"tangents: element 0 has shape \(2,\), \(3,\) is expected"):
        jvp(lambda x: x, (x,), (sample(2),))
    with pytest.raises(fg.ArgumentError, match="does not have the structure"):
        jvp(lambda x: x, (x,), (x, x))
    with pytest.raises(fg.ArgumentError, match=r"cotangent\['a'\]: one value is expected"):
        vjp(lambda x: {"a": x}, x)[1]({"a": [x]})


def test_exceptions_of_the_function_arrive_unchanged() -> None:
    def f(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        grad(f)(sample(2))
    assert fg.is_grad_enabled()


def test_constant_slopes_of_inner_transforms_are_not_leaves() -> None:
    def slope(x: Any) -> Any:
        return grad(lambda x: (2 * x).sum())(x)

    x = fg.tensor([1.0, 2.0])
    value, moved = jvp(slope, (x,), (x,))
    assert not value.requires_grad
    assert moved.tolist() == [0, 0]
    assert not vjp(slope, x)[0].requires_grad
    assert not grad(lambda x: slope(x).sum())(x).requires_grad
    w = fg.tensor([1.0, 3.0], requires_grad=True)
    value, moved = jvp(lambda x: grad(lambda x: (w * x).sum())(x), (x,), (x,))
    assert value.requires_grad


def test_complex_results_have_no_gradient() -> None:
    def f(x: Any) -> Any:
        return x * (1 + 0.2j)

    x, z = fg.tensor(1.0), fg.tensor(1.0 + 1.0j)
    refused: list[Any] = [
        lambda: func.grad(f)(1.0),
        lambda: func.grad(f)(z),
        lambda: func.value_and_grad(f)(x),
        lambda: func.hvp(f, x, x),
        lambda: func.vhp(f, x, x),
        lambda: func.hessian_diagonal(f)(x),
        lambda: func.jacrev(f)(x),
        lambda: func.jacobian(f, mode="reverse")(x),
        lambda: func.hessian(f)(x),
        lambda: func.vmap(func.grad(f))(fg.ones(2)),
        lambda: fg.compile(func.grad(f))(x),
        lambda: torch.func.grad(f)(torch.tensor(1.0)),
        lambda: torch.autograd.functional.jacobian(f, torch.tensor(1.0)),
        lambda: torch.autograd.functional.hessian(f, torch.tensor(1.0)),
        lambda: torch.autograd.functional.hvp(f, torch.tensor(1.0), torch.tensor(1.0)),
        lambda: torch.autograd.functional.vhp(f, torch.tensor(1.0), torch.tensor(1.0)),
    ]
    for call in refused:
        with pytest.raises(fg.ArgumentError, match=r"complex64"):
            pytest.fail(str(call()))
    assert func.jacfwd(f)(x).item() == pytest.approx(1 + 0.2j)
    assert func.grad(lambda z: fg.abs(f(z)))(fg.tensor(3.0 + 4.0j)).dtype == fg.complex64
    assert func.jacrev(f)(z).dtype == fg.complex64
