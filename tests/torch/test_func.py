"""``torch.func`` and ``torch.vmap``: torch's arguments, containers and errors."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import torch
from ferrograd.torch import func

from tests.func.tools import same


def sample(*shape: int, seed: int = 0, track: bool = False) -> Any:
    return torch.tensor(np.random.default_rng(seed).normal(size=shape), requires_grad=track)


def test_grad_and_value() -> None:
    x = sample(3)
    n = np.asarray(x)
    same(func.grad(lambda x: (x**3).sum())(x), 3 * n**2)
    slope, value = func.grad_and_value(lambda x: (x**3).sum())(x)
    same(value, (n**3).sum())
    slope, (value, aux) = func.grad_and_value(lambda x: ((x**3).sum(), {"a": x}), has_aux=True)(x)
    same(slope, 3 * n**2)
    same(aux["a"], n)
    slope, aux = func.grad(lambda x: (x.sum(), [2 * x]), has_aux=True)(x)
    same(aux[0], 2 * n)


def test_vjp_jvp_and_linearize() -> None:
    x, y = sample(3), sample(3, seed=1)
    value, pullback = func.vjp(lambda x: x**2, x)
    found = pullback(y)
    assert isinstance(found, tuple)
    same(found[0], 2 * np.asarray(x) * np.asarray(y))
    value, pullback, aux = func.vjp(lambda x, y: (x * y, y), x, y, has_aux=True)
    same(aux, y)
    same(pullback(value)[1], np.asarray(x) ** 2 * np.asarray(y))
    value, moved = func.jvp(lambda x, y: x * y, (x, y), (y, x))
    same(moved, np.asarray(x) ** 2 + np.asarray(y) ** 2)
    value, moved, aux = func.jvp(lambda x: (x**2, x), (x,), (y,), has_aux=True)
    same(aux, x)
    value, along = func.linearize(lambda x: x**2, x)
    same(along(y), 2 * np.asarray(x) * np.asarray(y))


def test_jacobians() -> None:
    x = sample(2, 3)
    n = np.asarray(x)
    want = np.zeros((2, 3, 2, 3))
    for i, j in np.ndindex(2, 3):
        want[i, j, i, j] = 2 * n[i, j]
    same(func.jacrev(lambda x: x**2, chunk_size=4)(x), want)
    same(func.jacfwd(lambda x: x**2, randomness="same")(x), want)
    assert type(func.jacrev(lambda x: x**2, chunk_size=4)(x)) is torch.Tensor
    h = func.hessian(lambda x, y: (x**2 * y).sum(), argnums=(0, 1))(x, x)
    same(h[0][1], want)
    _, aux = func.jacfwd(lambda x: (x, x), has_aux=True)(x)
    same(aux, x)


def test_vmap_with_dims() -> None:
    x, y = sample(3, 4), sample(3, seed=1)
    same(torch.vmap(torch.dot, in_dims=(1, None))(x, y), np.asarray(x).T @ np.asarray(y))
    a, b = func.vmap(lambda x: (x, x.sum()), out_dims=(1, 0), chunk_size=2)(x)
    same(a, np.asarray(x).T)
    same(b, np.asarray(x).sum(1))
    assert type(a) is torch.Tensor


def test_new_tensors_made_from_a_batched_tensor_are_batched() -> None:
    x = sample(3)

    def filled(new: Any) -> Any:
        return torch.vmap(lambda v: new(v).copy_(v))(x)

    made: list[Any] = [lambda v: v.new_zeros(2), lambda v: v.new_empty((2,)), lambda v: v.new_full((2,), 7.0)]
    for new in [*made, lambda v: v.new_ones(2), lambda v: torch.zeros_like(v).reshape(1).repeat(2)]:
        same(filled(new), np.stack([np.asarray(x)] * 2, 1))
    assert torch.vmap(lambda v: v.new_ones(2, dtype=torch.int64))(x).dtype == torch.int64
    with pytest.raises(RuntimeError, match="the same for the whole batch"):
        filled(lambda v: torch.zeros(2))


def test_a_pullback_takes_torchs_arguments() -> None:
    x = sample(3, track=True)
    _, pullback = func.vjp(lambda x: (x, x**2), x)
    a, b = pullback(x, x), pullback((x, x), create_graph=False)
    same(a[0], b[0])
    assert a[0].requires_grad
    assert not b[0].requires_grad
    with torch.no_grad():
        assert pullback(x, x, retain_graph=True, create_graph=True)[0].requires_grad


def test_randomness() -> None:
    x = sample(4)
    torch.manual_seed(0)
    draws: dict[str, Any] = {
        "randn": lambda x: torch.randn(3),
        "rand_like": torch.rand_like,
        "randint": lambda x: torch.randint(0, 1 << 30, (3,)),
        "randperm": lambda x: torch.randperm(9),
        "normal": lambda x: torch.normal(x, 1.0),
        "bernoulli": lambda x: torch.bernoulli(x * 0 + torch.full((64,), 0.5)),
        "dropout": lambda x: torch.nn.functional.dropout(x * 0 + torch.ones(64)),
    }
    for name, draw in draws.items():
        with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
            torch.vmap(draw)(x)
        same_in_all = np.asarray(torch.vmap(draw, randomness="same")(x))
        if name != "normal":
            assert (same_in_all == same_in_all[0]).all(), name
        different = np.asarray(torch.vmap(draw, randomness="different")(x))
        assert different.shape == same_in_all.shape
        assert (different != different[0]).any(), name
    torch.manual_seed(1)
    whole = torch.vmap(lambda x: torch.rand(3), randomness="same")(x)
    torch.manual_seed(1)
    assert torch.equal(torch.vmap(lambda x: torch.rand(3), randomness="same", chunk_size=3)(x), whole)
    noise = np.asarray(torch.vmap(lambda x: torch.normal(x, 1.0), randomness="same")(x)) - np.asarray(x)
    np.testing.assert_allclose(noise, noise[0])
    nested = torch.vmap(
        lambda x: torch.vmap(lambda y: torch.rand(2), randomness="same")(sample(5)), randomness="different"
    )(x)
    n = np.asarray(nested)
    assert (n == n[:, :1]).all()
    assert (n[0] != n[1]).all()
    assert sorted(np.asarray(torch.vmap(lambda x: torch.randperm(9), randomness="different")(x))[2]) == list(range(9))


X = sample(2)
REFUSED: list[tuple[str, Any]] = [
    ("scalar Tensor, got tensor with 1 dims", lambda: func.grad(lambda x: x)(X)),
    ("to return a Tensor, got", lambda: func.grad(lambda x: 2.0)(X)),
    ("Thing passed to transform API must be Tensor", lambda: func.grad(lambda x: x)(2.0)),
    ("floating point and complex dtype can require gradients", lambda: func.grad(torch.sum)(torch.tensor([1, 2]))),
    ("Got argnum=2, but only 1 positional inputs", lambda: func.grad(torch.sum, argnums=2)(X)),
    ("argnums elements must be unique", lambda: func.grad(torch.sum, argnums=(0, 0))(X)),
    ("argnums must be non-empty", lambda: func.grad(torch.sum, argnums=())(X)),
    ("argnums must be int or Tuple", lambda: func.grad(torch.sum, argnums="x")(X)),  # type: ignore[call-overload]
    ("should be a tuple: .output, aux.", lambda: func.grad(torch.sum, has_aux=True)(X)),
    ("should be a tuple: .output, aux.", lambda: func.vjp(torch.sum, X, has_aux=True)),
    ("Expected pytree structure of cotangents", lambda: func.vjp(lambda x: (x, x), X)[1]((X,))),
    ("Mismatch in shape: grad_output.0.", lambda: func.vjp(torch.sin, X)[1](sample(3))),
    (
        "jvp.f, primals, tangents.: output of function f should be a tuple",
        lambda: func.jvp(torch.sin, (X,), (X,), has_aux=True),
    ),
    ("jvp.+: Expected f to be a function that has non-empty output", lambda: func.jacfwd(lambda x: ())(X)),
    ("jvp.+: expected f.+ to return only tensors", lambda: func.jvp(lambda x: 1.0, (X,), (X,))),
    ("at least one Tensor", lambda: func.jvp(torch.sin, (), ())),
    ("Expected primals to only contain Tensors", lambda: func.jvp(torch.sin, (1.0,), (X,))),
    ("Expected tangents to only contain Tensors", lambda: func.jvp(torch.sin, (X,), (1.0,))),
    ("argnums must be int or ints", lambda: func.grad(torch.sum, argnums=("0",))(X)),  # type: ignore[arg-type]
    ("same python structure", lambda: func.jvp(lambda x: x[0], ((X, X),), ((X,),))),
    ("out_dims is not compatible with the structure of `outputs`", lambda: torch.vmap(torch.sin, out_dims=(0, 0))(X)),
    ("`out_dims` must be an int", lambda: torch.vmap(torch.sin, out_dims="x")(X)),
    (
        "Dimension out of range .expected to be in range of .-1, 0., but got 3",
        lambda: torch.vmap(torch.sin, out_dims=3)(X),
    ),
    ("in_dims is not compatible with the structure of `inputs`", lambda: torch.vmap(torch.mul, in_dims=(0,))(X, X)),
    ("item.. on a Tensor", lambda: torch.vmap(lambda x: x.item())(X)),
    ("data-dependent control flow", lambda: torch.vmap(lambda x: x if x > 0 else -x)(X)),
    ("Expected primals to be a tuple", lambda: func.jvp(torch.sin, X, X)),
    ("same python structure", lambda: func.jvp(torch.sin, (X,), (X, X))),
    ("is expected", lambda: func.jvp(torch.sin, (X,), (sample(3),))),
    ("not allowed with strict=True", lambda: func.jvp(lambda x: torch.ones(2), (X,), (X,), strict=True)),
    ("must be floating-point", lambda: func.vjp(lambda x: x > 0, X)),
    ("non-empty output", lambda: func.vjp(lambda x: [], X)),
    ("to return only tensors", lambda: func.jacrev(lambda x: 2.0)(X)),
    ("should be greater than 0", lambda: func.jacrev(torch.sin, chunk_size=0)),
    ("for some input, but that input is a Tensor of dimensionality 1", lambda: torch.vmap(torch.sin, in_dims=3)(X)),
    ("expected `in_dims` to be int or", lambda: torch.vmap(torch.sin, in_dims=None)(X)),
    ("to have the same size in the mapped dimension", lambda: torch.vmap(torch.add)(X, sample(3))),
    ("cannot vmap over non-Tensor arguments", lambda: torch.vmap(torch.add)(X, 3)),
    ("must only return Tensors", lambda: torch.vmap(lambda x: 2)(X)),
    ("out_dims", lambda: torch.vmap(torch.sin, out_dims=None)(X)),
    ("got no inputs", lambda: torch.vmap(lambda: 1)()),
    ("in_dims is not compatible", lambda: torch.vmap(torch.sin, in_dims=(0, 0))(X)),
    ("must be either an integer dimension or None", lambda: torch.vmap(torch.sin, in_dims=("a",))(X)),
    ("at least one Tensor to vmap over", lambda: torch.vmap(torch.add, in_dims=(None, None))(X, X)),
    ("Only allowed values for randomness", lambda: torch.vmap(torch.sin, randomness="some")),
    ("chunk_size should be None or greater than 0", lambda: torch.vmap(torch.sin, chunk_size=0)),
]


@pytest.mark.parametrize(("text", "call"), REFUSED, ids=[t for t, _ in REFUSED])
def test_wrong_arguments_raise(text: str, call: Any) -> None:
    with pytest.raises(fg.FerrogradError, match=text) as caught:
        call()
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, ValueError)


def test_functionalize_gives_the_results_of_the_function() -> None:
    def f(x: Any) -> Any:
        y = x.clone()
        y.view(-1)[0] = 3.0
        return (y * x).sum()

    x = torch.tensor([1.0, 2.0])
    g = torch.func.functionalize(f, remove="mutations_and_views")
    assert g(x).item() == f(x).item()
    assert torch.equal(torch.func.grad(g)(x), torch.func.grad(f)(x))
    with pytest.raises(RuntimeError, match="invalid argument for remove"):
        torch.func.functionalize(f, remove="views")


def test_products_with_complex_outputs() -> None:
    x = torch.tensor([1.0, 2.0])
    value, pull = func.vjp(lambda x: x * x * (1 + 2j), x)
    same(value, np.array([1 + 2j, 4 + 8j]))
    # The gradient of a real input is the real part.
    same(pull(torch.tensor([1 + 1j, 2 - 1j]))[0], [6.0, 0.0])
    for transform in (func.jacrev, func.jacfwd):
        with pytest.raises(RuntimeError, match="Expected all inputs to be real"):
            transform(torch.abs)(torch.tensor([1 + 1j]))
    for name in ("jacrev", "jacfwd"):
        with pytest.raises(RuntimeError, match=f"{name}: Expected all outputs to be real"):
            getattr(func, name)(lambda x: x * 1j)(x)
    same(fg.func.jacfwd(lambda x: x * 1j)(x), 1j * np.eye(2))
    with pytest.raises(RuntimeError, match="must be floating-point or complex Tensors"):
        func.vjp(torch.argmax, x)


def test_single_rows_of_a_jacobian_may_ask_for_values() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return 2 * x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert len(g.nonzero()) == 1
            return 2 * g

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            assert len(t.nonzero()) == 1
            return 2 * t

    x = torch.ones(3)
    same(func.jacrev(Double.apply, chunk_size=1)(x), 2 * np.eye(3))
    same(fg.func.jacfwd(Double.apply, chunk_size=1)(x), 2 * np.eye(3))
    several = fg.func.jacfwd(lambda x: (x.sum(), x), chunk_size=1)(x)
    same(several[0], np.ones(3))
    same(several[1], np.eye(3))


def test_rules_of_functions_take_keywords() -> None:
    told = []

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, *, by: Any = None) -> Any:
            return x * by

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            assert len(inputs) == 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, *, by: Any = None) -> Any:
            told.append((in_dims, tuple(x.shape), by))
            return x * by, 0

    same(Scaled.apply(torch.ones(2), by=torch.full((2,), 3.0)), [3.0, 3.0])
    same(torch.vmap(lambda x: Scaled.apply(x, by=3.0))(torch.ones(3, 2)), np.full((3, 2), 3.0))
    assert told == [((0,), (3, 2), 3.0)]
    with pytest.raises(NotImplementedError, match="kwarg-only Tensor args"):
        torch.vmap(lambda x: Scaled.apply(x, by=torch.ones(2)))(torch.ones(3, 2))


@pytest.mark.parametrize("chunk_size", [None, 1, 2])
def test_a_rule_that_asks_for_a_size_runs_for_each_row(chunk_size: int | None) -> None:
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            assert grad.nonzero().shape == (1, 1)
            return 2 * grad

    found = torch.func.jacrev(Same.apply, chunk_size=chunk_size)(torch.ones(3))
    torch.testing.assert_close(found, 2 * torch.eye(3))
    with pytest.raises(fg.VmapError, match="vmap: We do not support batching operators that can output dynamic shape"):
        torch.func.vmap(torch.nonzero)(torch.ones(2, 3))


def test_functions_of_functorch_warn_of_their_new_names() -> None:
    from ferrograd.torch import functorch
    from ferrograd.torch.functorch import experimental

    x = torch.tensor([1.0, 2.0])
    with pytest.warns(FutureWarning, match="Please use `torch.vmap`"):
        doubled = functorch.vmap(lambda x: x * 2)
    assert doubled(x).tolist() == [2, 4]
    for name in ("grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "functionalize"):
        with pytest.warns(FutureWarning, match=f"functorch.{name} is deprecated. Please use `torch.func.{name}`"):
            getattr(functorch, name)(torch.sin)
    assert experimental.jvp is torch.func.jvp


def test_the_switches_of_a_pullback_by_position() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    _, pullback = torch.func.vjp(torch.square, x)
    g = torch.ones(2)
    assert [p.tolist() for p in pullback(g, True, True)] == [[2, 4]]
    assert not pullback(g, True, False)[0].requires_grad
    _, both = torch.func.vjp(lambda x: (x, 2 * x), x)
    assert both(g, g)[0].tolist() == [3, 3]


def test_primals_and_tangents_are_tuples() -> None:
    x = torch.tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match="to have the same python structure"):
        torch.func.jvp(torch.sin, (x,), [x])


def test_a_functional_module_has_the_module() -> None:
    layer = torch.nn.Linear(2, 1)
    f: Any
    f, parameters = torch.func.make_functional(layer)
    assert type(f.stateless_model) is torch.nn.Linear
    before = f.stateless_model.weight
    f(parameters, torch.ones(3, 2))
    assert f.stateless_model.weight is before


DIFFERENTIATING: dict[str, Any] = {
    "grad": lambda f, x: func.grad(f)(x),
    "grad_and_value": lambda f, x: func.grad_and_value(f)(x),
    "vjp": lambda f, x: func.vjp(f, x),
    "jvp": lambda f, x: func.jvp(f, (x,), (x,)),
    "linearize": lambda f, x: func.linearize(f, x),
    "jacrev": lambda f, x: func.jacrev(f)(x),
    "jacfwd": lambda f, x: func.jacfwd(f)(x),
    "hessian": lambda f, x: func.hessian(f)(x),
}
OTHERS: dict[str, Any] = {
    "vmap": lambda f, x: torch.vmap(f)(x[None]),
    "functionalize": lambda f, x: func.functionalize(f)(x),
}


@pytest.mark.parametrize("transform", DIFFERENTIATING)
def test_a_function_writes_to_no_tensor_that_it_captures(transform: str) -> None:
    run, captured = DIFFERENTIATING[transform], torch.zeros(2)
    writes: list[Any] = [
        lambda x: captured.copy_(x),
        lambda x: captured.add_(1),
        lambda x: captured.view(2).zero_(),
        lambda x: captured.__setitem__(0, x[0]),
        lambda x: torch.ones(2, out=captured),
    ]
    for write in writes:

        def f(x: Any, write: Any = write) -> Any:
            write(x)
            return (x * captured).sum()

        with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
            run(f, torch.ones(2))
    assert captured.tolist() == [0, 0]

    def g(x: Any) -> Any:
        own = torch.zeros(2)
        own.copy_(x)[0] += 1
        y = x.clone()
        y.view(-1).mul_(own)
        captured.detach().add_(1)
        return y.sum()

    run(g, torch.ones(2))
    assert captured.tolist() == [1, 1]
    captured.add_(1)


def test_layers_write_to_their_own_tensors_inside_transforms() -> None:
    x = sample(4, 3).float()
    norm, rows = torch.nn.BatchNorm1d(3), torch.nn.Embedding(4, 3, max_norm=0.5)
    layers: dict[Any, Any] = {
        norm: lambda: norm.running_mean,
        (instance := torch.nn.InstanceNorm1d(4, track_running_stats=True)): lambda: instance.running_mean,
        (hooked := torch.nn.utils.spectral_norm(torch.nn.Linear(3, 3))): lambda: hooked.weight_u,
        (lambda x: rows(torch.arange(4)) * x): lambda: rows.weight,
    }
    counting, norm.num_batches_tracked = torch.nn.BatchNorm1d(3), None
    for layer, state in layers.items():
        before = state().tolist()
        func.grad(lambda x, layer=layer: layer(x).sum())(x)
        assert state().tolist() != before
    # PyTorch counts the batches by a write that its transforms refuse.
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        func.grad(lambda x: counting(x).sum())(x)


def test_inner_functions_write_to_no_tensor_of_outer_ones() -> None:
    def outer(x: Any) -> Any:
        own = torch.zeros(2)

        def inner(y: Any) -> Any:
            own.add_(y)
            return (own * y).sum()

        return func.grad(inner)(x).sum()

    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        func.grad(outer)(torch.ones(2))
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        torch.vmap(outer)(torch.ones(3, 2))


def test_vmap_and_the_native_transforms_write_to_what_is_captured() -> None:
    count = torch.zeros(())

    def f(x: Any) -> Any:
        count.add_(1)
        return (x * count).sum()

    assert torch.vmap(f)(torch.ones(2, 3)).tolist() == [3, 3]
    assert fg.func.grad(f)(torch.ones(2)).tolist() == [2, 2]

    class Counted(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            count.add_(1)
            return x.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    assert func.grad(lambda x: Counted.apply(x).sum())(torch.ones(2)).tolist() == [1, 1]
    assert count.item() == 3


@pytest.mark.parametrize("transform", DIFFERENTIATING | OTHERS)
def test_what_transforms_refuse_inside(transform: str) -> None:
    run = (DIFFERENTIATING | OTHERS)[transform]

    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    refused: list[tuple[str, Any]] = [
        ("must override the setup_context", lambda x: Old.apply(x).sum()),
        (r"Tensor.requires_grad_\(\)", lambda x: (x * torch.ones(2).requires_grad_()).sum()),
        ("torch.autograd.functional.vjp", lambda x: torch.autograd.functional.vjp(torch.sum, x)[0]),
        (r"Tensor.retain_grad\(\)", lambda x: [y := x.sum(), y.retain_grad()][0]),
    ]
    for text, f in refused:
        with pytest.raises(RuntimeError, match=text):
            run(f, torch.ones(2))

    def g(x: Any) -> Any:
        w, v = torch.ones(2, requires_grad=True), torch.ones(2)
        v.requires_grad = True
        return (x * w * v * torch.nn.Parameter(torch.ones(2))).sum()

    run(g, torch.ones(2))
    # Nothing is left of the transforms.
    assert Old.apply(torch.ones(2).requires_grad_()).sum().retain_grad() is None


@pytest.mark.parametrize("transform", DIFFERENTIATING | OTHERS)
def test_hooks_on_saved_tensors_and_reverse_mode_exclude_each_other(transform: str) -> None:
    run, hooks = (DIFFERENTIATING | OTHERS)[transform], torch.autograd.graph.save_on_cpu

    def f(x: Any) -> Any:
        with hooks():
            return (x**2).sum()

    if transform in ("grad", "grad_and_value", "vjp", "jacrev", "hessian"):
        with pytest.raises(RuntimeError, match="saved tensor hooks"):
            run(f, torch.ones(2))
        with hooks(), pytest.raises(RuntimeError, match="saved tensor hooks"):
            run(torch.sum, torch.ones(2))
    else:
        run(f, torch.ones(2))
    f(torch.ones(2))


@pytest.mark.parametrize("aux", [1, "text", None.__class__, [torch.ones(1), 2.0]], ids=str)
def test_auxiliary_values_are_tensors(aux: Any) -> None:
    x = torch.ones(2)
    calls: list[Any] = [
        lambda: func.grad(lambda x: (x.sum(), aux), has_aux=True)(x),
        lambda: func.vjp(lambda x: (x, aux), x, has_aux=True),
        lambda: func.jvp(lambda x: (x, aux), (x,), (x,), has_aux=True),
        lambda: func.jacrev(lambda x: (x, aux), has_aux=True)(x),
        lambda: func.jacfwd(lambda x: (x, aux), has_aux=True)(x),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="Expected tensors, got unsupported type"):
            call()
    assert fg.func.grad(lambda x: (x.sum(), aux), has_aux=True)(x)[1] is not None


@pytest.mark.parametrize("save", ["save_for_backward", "save_for_forward"])
def test_what_is_returned_as_it_is_is_not_saved(save: str) -> None:
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            getattr(ctx, save)(output)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    for x in (torch.ones(2), torch.ones(2, requires_grad=True)):
        with pytest.raises(RuntimeError, match="A input that has been returned as-is"):
            Same.apply(x)


def test_tensors_show_the_transforms_that_they_belong_to() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append([" ".join(repr(t).split()) for t in (x, torch.ones(1), outside)])
        return x.sum()

    outside = torch.tensor(2.0, requires_grad=True)
    func.grad(f)(torch.tensor([1.0]))
    func.grad(func.grad(f))(torch.tensor(1.0))
    torch.vmap(func.grad(f))(torch.tensor([[1.0], [2.0]]))
    func.grad(lambda x: torch.vmap(f)(x).sum())(torch.tensor([[1.0]]))
    torch.vmap(f)(torch.ones(1, 1, requires_grad=True))
    own, other = "GradTrackingTensor(lvl={}, value= {} )", "tensor([1.])"
    batch = "BatchedTensor(lvl={}, bdim=0, value= {} )"
    shown = "tensor(2., requires_grad=True)"
    assert seen == [
        [own.format(1, "tensor([1.])"), own.format(1, other), shown],
        [own.format(2, own.format(1, "tensor(1.)")), own.format(2, own.format(1, other)), shown],
        [own.format(2, batch.format(1, "tensor([[1.], [2.]])")), own.format(2, other), shown],
        [batch.format(2, own.format(1, "tensor([[1.]])")), own.format(1, other), shown],
        [batch.format(1, "tensor([[1.]], grad_fn=<EnterLevelBackward0>)"), other, shown],
    ]
