"""Steps that are recorded: ``differentiable=True``."""

from __future__ import annotations

import copy
import json
from typing import Any

import ferrograd as fg
import ferrograd.paddle as _paddle
import ferrograd.torch as _torch
import numpy as np
import pytest
from ferrograd import func
from ferrograd.testing import gradcheck, gradgradcheck

from tests.optim.pytorch_steps import NUMBERS, STEPS, derivatives

torch: Any = _torch
paddle: Any = _paddle
optim: Any = fg.optim
F64 = "float64"
KNOWN = json.loads(NUMBERS.read_text())

TORCH: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("SGD", {"momentum": 0.9, "dampening": 0.2, "maximize": True}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {}),
    ("Adamax", {}),
    ("NAdam", {}),
    ("NAdam", {"decoupled_weight_decay": True}),
    ("RAdam", {}),
    ("RAdam", {"betas": (0.5, 0.6)}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.5, "centered": True}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.2}),
    ("Adadelta", {}),
    ("ASGD", {"lambd": 0.1, "t0": 1}),
    ("Rprop", {}),
    ("Adafactor", {}),
    ("Muon", {}),
    ("SparseAdam", {}),
]
PADDLE: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("Momentum", {"use_nesterov": True}),
    ("ASGD", {"batch_num": 2}),
    ("Rprop", {}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {"lr_ratio": lambda p: 0.5}),
    ("Adamax", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("Lamb", {}),
    ("RMSProp", {"momentum": 0.5, "centered": True}),
    ("Adagrad", {"initial_accumulator_value": 0.2}),
    ("Adadelta", {}),
]


def loss(p: Any, i: int) -> Any:
    return (p.sin() * p).sum() + (p**3).mean() * (i + 1)


def trained(name: str, options: dict[str, Any], p: Any, rate: Any, decay: Any, records: bool = True) -> Any:
    """The parameter after three steps of an optimizer of torch."""
    decays = {} if name in ("Rprop", "SparseAdam") else {"weight_decay": decay}
    optimizer = getattr(torch.optim, name)([p], lr=rate, differentiable=records, **decays, **options)
    for i in range(3):
        (p.grad,) = torch.autograd.grad(loss(p, i), p, create_graph=records)
        optimizer.step()
    return p


def trained_paddle(name: str, options: dict[str, Any], p: Any, rate: Any, decay: Any, records: bool = True) -> Any:
    """The same of an optimizer of Paddle."""
    key = {"Rprop": None, "Lamb": "lamb_weight_decay"}.get(name, "weight_decay")
    decays = {key: decay} if key else {}
    make = getattr(paddle.optimizer, name)
    optimizer = make(learning_rate=rate, parameters=[p], differentiable=records, **decays, **options)
    for i in range(3):
        (p.grad,) = paddle.grad(loss(p, i), p, create_graph=records)
        optimizer.step()
    return p


def leaf(values: Any, make: Any = torch) -> Any:
    if make is paddle:
        return paddle.to_tensor(values, dtype=F64, stop_gradient=False)
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


RUNS = [(trained, torch, *case) for case in TORCH] + [(trained_paddle, paddle, *case) for case in PADDLE]


@pytest.mark.parametrize(("run", "make", "name", "options"), RUNS)
def test_derivatives_by_finite_differences(run: Any, make: Any, name: str, options: dict[str, Any]) -> None:
    inputs = [leaf(v, make) for v in ([[0.3, -0.7], [1.1, 2.0]], 0.05, 0.1)]

    def f(p: Any, rate: Any, decay: Any) -> Any:
        return run(name, options, p.clone(), rate, decay)

    assert gradcheck(f, inputs)
    assert gradgradcheck(f, inputs)
    plain = run(name, options, leaf(inputs[0].tolist(), make), 0.05, 0.1, records=False)
    np.testing.assert_allclose(f(*inputs).tolist(), plain.tolist(), rtol=1e-7 if name in ("NAdam", "ASGD") else 1e-12)
    # Steps by plain numbers are recorded too.
    assert gradcheck(lambda p: run(name, options, p.clone(), 0.05, 0.1), inputs[:1])


@pytest.mark.parametrize(("run", "make", "name", "options"), [run for run in RUNS if run[2] != "SparseAdam"])
def test_compiled_loops_have_the_same_bits(run: Any, make: Any, name: str, options: dict[str, Any]) -> None:
    def meta(p: Any, rate: Any, decay: Any) -> Any:
        y = (run(name, options, p.clone(), rate, decay) ** 2).sum()
        by_p, by_rate = (
            make.autograd.grad(y, [p, rate], create_graph=True)
            if make is torch
            else make.grad(y, [p, rate], create_graph=True)
        )
        return y, by_p, by_rate

    compiled = fg.compile(meta)
    for scale in (1.0, 0.5, 2.0):
        inputs = [leaf(v, make) for v in (np.array([[0.3, -0.7], [1.1, 2.0]]) * scale, 0.05 * scale, 0.1)]
        for found, wanted in zip(compiled(*inputs), meta(*inputs), strict=True):
            assert found.tolist() == wanted.tolist()
    assert "uncompiled" not in str(compiled.explain())


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step[1]} {step[0]}")
def test_derivatives_are_those_of_pytorch(step: Any) -> None:
    for found, wanted in zip(derivatives(step, torch), KNOWN[f"{step[1]} {step[0]}"], strict=True):
        assert (found is None) == (wanted is None)
        if found is not None and wanted is not None:
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


def test_momentum_of_the_first_step_has_a_history() -> None:
    """PyTorch cuts it there: the buffer is a detached copy of the first gradient."""
    inputs = [leaf([0.3, -0.7]), leaf(0.05), leaf(0.9)]

    def f(p: Any, rate: Any, momentum: Any) -> Any:
        return trained("SGD", {"momentum": momentum}, p.clone(), rate, 0.0)

    assert gradcheck(f, inputs)
    assert gradgradcheck(f, inputs)
    compiled = fg.compile(lambda *x: f(*x).sum())
    for _ in range(3):
        assert compiled(*inputs).item() == f(*inputs).sum().item()


def test_betas_and_other_options_are_tensors() -> None:
    def f(p: Any, betas: Any, eps: Any) -> Any:
        return trained("Adam", {"betas": (betas[0], betas[1]), "eps": eps}, p.clone(), 0.05, 0.0)

    assert gradcheck(f, [leaf([0.3, -0.7]), leaf([0.8, 0.9]), leaf(0.1)])

    def g(p: Any, smoothing: Any, momentum: Any) -> Any:
        return trained("RMSprop", {"alpha": smoothing, "momentum": momentum}, p.clone(), 0.05, 0.0)

    assert gradcheck(g, [leaf([0.3, -0.7]), leaf(0.8), leaf(0.5)])

    def h(p: Any, beta1: Any, beta2: Any, epsilon: Any) -> Any:
        options = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}
        return trained_paddle("Adam", options, p.clone(), 0.05, 0.0)

    assert gradcheck(h, [leaf(v, paddle) for v in ([0.3, -0.7], 0.8, 0.9, 0.1)])


@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad"])
def test_elements_whose_gradient_is_always_zero(name: str) -> None:
    """PyTorch gives NaN there, as the root of a mean of squares that is 0 has no slope."""
    p, rate = leaf([1.0, 2.0]), leaf(0.1)
    y = trained(name, {}, torch.stack([p[0], p[1]]), rate, 0.0).sum()
    alive = torch.autograd.grad(y, [p, rate])
    assert all(torch.isfinite(x).all() for x in alive)

    q = p.clone()
    optimizer = getattr(torch.optim, name)([q], lr=rate, weight_decay=0, differentiable=True)
    for _ in range(3):
        (q.grad,) = torch.autograd.grad((torch.relu(q - 1.5) ** 2).sum(), q, create_graph=True)
        optimizer.step()
    by_p, by_rate = torch.autograd.grad((q * q).sum(), [p, rate], create_graph=True)
    assert by_p[0].item() == 2.0
    second = torch.autograd.grad(by_p.sum() + by_rate, [p, rate])
    assert all(torch.isfinite(x).all() for x in second)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "complex64"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad", "NAdam", "RMSprop"])
def test_other_dtypes(name: str, dtype: str) -> None:
    p = torch.tensor([1.0, 2.0], dtype=getattr(torch, dtype), requires_grad=True)
    rate = torch.tensor([0.01], requires_grad=True)
    q, r = p.clone(), p.detach().clone()
    recorded = getattr(torch.optim, name)([q], lr=rate, differentiable=True)
    plain = getattr(torch.optim, name)([r], lr=0.01)
    for _ in range(2):
        q.grad, r.grad = q * 2, r * 2
        recorded.step()
        plain.step()
    assert q.dtype == p.dtype
    np.testing.assert_allclose((q - r).detach().abs().float().numpy(), 0, atol=0.02 if p.dtype.itemsize == 2 else 1e-6)
    slopes = torch.autograd.grad((q.abs() ** 2).sum(), [p, rate])
    assert [x.dtype for x in slopes] == [p.dtype, rate.dtype]
    assert slopes[1].item() < 0


def test_half_parameters_of_paddle() -> None:
    p = paddle.to_tensor([1.0, 2.0], dtype="float16", stop_gradient=False)
    rate = paddle.to_tensor(0.1, stop_gradient=False)
    q = p.clone()
    adam = paddle.optimizer.Adam(rate, parameters=[q], differentiable=True)
    for _ in range(2):
        q.grad = q * 2
        adam.step()
    by_p, by_rate = paddle.grad(q.astype("float32").sum(), [p, rate])
    assert (q.dtype, by_p.dtype, by_rate.dtype) == (paddle.float16, paddle.float16, paddle.float32)
    np.testing.assert_allclose(by_rate.item(), -4, rtol=0.01)


def test_native_tensors() -> None:
    p, rate = fg.tensor([1.0, 2.0], requires_grad=True), fg.tensor(0.1, dtype=F64, requires_grad=True)
    for name in ("SGD", "Adam", "Adagrad"):
        q = p.clone()
        optimizer = getattr(optim, name)([q], lr=rate, differentiable=True)
        for _ in range(2):
            q.grad = fg.grad(fg.sum(q**3), q, create_graph=True)
            optimizer.step()
        by_p, by_rate = fg.grad(fg.sum(q**2), [p, rate])
        assert [str(x.dtype) for x in (q, by_p, by_rate)] == ["float32", "float32", F64]


def test_gradients_of_backward_and_of_models() -> None:
    """MAML: the weights of a model are tensors with a history."""
    model = torch.nn.Linear(2, 1).double()
    rate = leaf(0.1)
    x, y = torch.randn(5, 2, dtype=torch.float64), torch.randn(5, 1, dtype=torch.float64)

    def outer(weight: Any, bias: Any, rate: Any) -> Any:
        fast = {"weight": weight.clone(), "bias": bias.clone()}
        adam = torch.optim.Adam(fast.values(), lr=rate, differentiable=True)
        for _ in range(2):
            adam.zero_grad()
            inner = ((torch.func.functional_call(model, fast, (x,)) - y) ** 2).mean()
            inner.backward(inputs=list(fast.values()), create_graph=True)
            adam.step()
        return ((torch.func.functional_call(model, fast, (x,)) - y) ** 2).mean()

    assert gradcheck(outer, [model.weight, model.bias, rate])
    assert gradgradcheck(outer, [model.weight, model.bias, rate])


def test_rates_in_a_batch() -> None:
    def f(rate: Any) -> Any:
        p = torch.tensor([1.0, 2.0], dtype=torch.float64) + 0 * rate
        sgd = torch.optim.SGD([p], lr=rate, momentum=0.9, differentiable=True)
        for _ in range(2):
            p.grad = func.grad(lambda p: (p**3).sum())(p)
            sgd.step()
        return (p**2).sum()

    rates = leaf([0.05, 0.1])
    values, slopes = func.vmap(f)(rates), func.vmap(func.grad(f))(rates)
    for i in range(2):
        assert values[i].item() == pytest.approx(f(rates[i]).item())
        assert slopes[i].item() == pytest.approx(func.grad(f)(rates[i]).item())


def test_rates_of_groups_and_schedules() -> None:
    p = leaf([1.0, 2.0])
    a, b = p[:1] * 1, p[1:] * 1
    rate = leaf(0.1)
    sgd = torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": rate}], lr=0.5, differentiable=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(sgd, [lambda e: 0.5**e, lambda e: 1.0])
    for _ in range(2):
        a.grad, b.grad = a * 1, b * 1
        sgd.step()
        schedule.step()
    by_p, by_rate = torch.autograd.grad(a.sum() + b.sum(), [p, rate])
    np.testing.assert_allclose(by_p.tolist(), [0.5 * 0.75, 0.81])
    np.testing.assert_allclose(by_rate.item(), -2 * 2 * 0.9)


def test_states_are_saved_and_loaded() -> None:
    p = leaf([1.0, 2.0])
    q, r = p.clone(), p.clone()
    adam = torch.optim.Adam([q], lr=0.1, differentiable=True)
    plain = torch.optim.Adam([leaf([1.0, 2.0])], lr=0.1)
    for _ in range(2):
        q.grad = q * 2
        adam.step()
    saved = copy.deepcopy(adam.state_dict())
    assert saved["state"][0]["step"].item() == 2
    plain.load_state_dict({**saved, "param_groups": plain.state_dict()["param_groups"]})
    other = torch.optim.Adam([r], lr=0.1, differentiable=True)
    other.load_state_dict(adam.state_dict())
    with torch.no_grad():
        r.copy_(q)
    q.grad, r.grad = q * 2, r * 2
    adam.step()
    other.step()
    assert q.tolist() == r.tolist()
    assert other.state[r]["step"].item() == 3
    assert gradcheck(lambda p: trained("Adam", {}, p.clone(), 0.1, 0.0), [p])

    v = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    w = v.clone()
    first = paddle.optimizer.NAdam(0.1, parameters=[w], differentiable=True)
    for _ in range(2):
        w.grad = w * 2
        first.step()
    state = first.state_dict()
    second = paddle.optimizer.NAdam(0.1, parameters=[v])
    second.set_state_dict(state)
    v.grad = v * 2
    second.step()
    assert second.state_dict()[f"{v.name}_beta2_pow_0"].tolist() == pytest.approx([0.999**3] * 2)


def test_an_optimizer_outside_of_a_compiled_function() -> None:
    def run(compiles: bool) -> Any:
        p = leaf([1.0, 2.0])
        q = p.clone()
        adam = torch.optim.Adam([q], lr=0.1, differentiable=True)

        def step(x: Any) -> Any:
            (q.grad,) = torch.autograd.grad((q * q * x).sum(), q, create_graph=True)
            adam.step()
            return q.sum()

        taken = fg.compile(step) if compiles else step
        values = []
        for i in range(5):
            if i == 3:
                adam.param_groups[0]["lr"] = 0.5
            values.append(taken(torch.tensor([1.0, i + 1.0], dtype=torch.float64)))
        return [*map(float, values), *torch.autograd.grad(values[-1], p)[0].tolist()]

    with pytest.warns(UserWarning, match="runs uncompiled"):
        found = run(True)
    assert found == run(False)


def test_what_is_refused() -> None:
    p = leaf([1.0, 2.0])
    sgd = torch.optim.SGD([p], lr=0.1, differentiable=True)
    sgd.step()
    p.grad = p.detach()
    with pytest.raises(RuntimeError, match=r"a leaf Variable that requires grad .* p = p.clone\(\)"):
        sgd.step()
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        torch.optim.Adam([p], fused=True, differentiable=True)
    with pytest.raises(fg.ArgumentError, match="non-leaf"):
        torch.optim.Adam([p * 1])
    q = p * 1
    q.retain_grad()
    torch.optim.Adam([q])
    adam = torch.optim.Adam([q], differentiable=True)
    q.grad = q * 1
    adam.state[q].update(step=leaf(1.0), exp_avg=q * 0, exp_avg_sq=q * 0)
    with pytest.raises(RuntimeError, match="`requires_grad` is not supported for `step`"):
        adam.step()
    v = leaf([1.0], paddle)
    v.grad = v.detach()
    with pytest.raises(RuntimeError, match=r"a leaf Tensor .* p = p.clone\(\)"):
        paddle.optimizer.SGD(0.1, parameters=[v], differentiable=True).step()
    with pytest.raises(TypeError, match="with differentiable=True it may be a Tensor"):
        paddle.optimizer.SGD(leaf(0.1, paddle), parameters=[v])
    # Steps without a record are not changed by tensors with histories.
    w = leaf([1.0, 2.0])
    w.grad = w * 2
    torch.optim.SGD([w], lr=leaf(0.1)).step()
    assert w.is_leaf
    assert w.tolist() == [0.8, 1.6]
