"""Options of groups of parameters, and what the attributes of a parameter say to Paddle's optimizers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ferrograd import ArgumentError, paddle as _paddle

paddle: Any = _paddle
P: Any = paddle.optimizer

#: Optimizers with an option of a group, and the name that the constructor gives it.
OWN: list[tuple[str, dict[str, Any]]] = [
    *(
        (name, own)
        for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Lamb")
        for own in ({"beta1": 0.5}, {"beta2": 0.9}, {"epsilon": 0.1})
    ),
    ("NAdam", {"momentum_decay": 0.5}),
    ("Lamb", {"lamb_weight_decay": 0.5}),
    ("Lamb", {"exclude_from_weight_decay_fn": lambda p: True}),
    ("RMSProp", {"rho": 0.5}),
    ("RMSProp", {"epsilon": 0.1, "momentum": 0.9}),
    ("RMSProp", {"centered": True}),
    ("Adagrad", {"epsilon": 0.1, "initial_accumulator_value": 0.5}),
    ("Adadelta", {"rho": 0.5, "epsilon": 0.1}),
    ("Momentum", {"momentum": 0.5, "use_nesterov": True, "rescale_grad": 0.5}),
]


@pytest.mark.parametrize(("name", "own"), OWN)
def test_a_group_has_options_of_its_own(name: str, own: dict[str, Any]) -> None:
    """A group with options steps as an optimizer that has them alone, and its state is loaded with them."""

    def parameters() -> list[Any]:
        return [paddle.to_tensor([1.0, -2.0, 0.5], stop_gradient=False) for _ in range(2)]

    def steps(optimizers: list[Any], ps: list[Any], count: int = 4) -> None:
        for _ in range(count):
            for p in ps:
                (p**3 + p).sum().backward()
            for o in optimizers:
                o.step()
                o.clear_grad()

    make = getattr(P, name)
    (a, b), (c, d) = parameters(), parameters()
    grouped = make(learning_rate=0.1, parameters=[{"params": [a]}, {"params": [b], **own}])
    steps([grouped], [a, b])
    steps([make(learning_rate=0.1, parameters=[c]), make(learning_rate=0.1, parameters=[d], **own)], [c, d])
    assert a.tolist() == c.tolist()
    assert b.tolist() == d.tolist()
    assert a.tolist() != b.tolist() or name == "RAdam"
    # The copy goes on as the optimizer does.
    e, f = a.detach(), b.detach()
    e.stop_gradient = f.stop_gradient = False
    copy = make(learning_rate=0.1, parameters=[{"params": [e]}, {"params": [f], **own}])
    copy.set_state_dict(grouped.state_dict())
    steps([grouped], [a, b])
    steps([copy], [e, f])
    np.testing.assert_allclose(e.numpy(), a.numpy(), rtol=1e-6)
    np.testing.assert_allclose(f.numpy(), b.numpy(), rtol=1e-6)


def test_options_of_groups_are_checked() -> None:
    w = paddle.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(ArgumentError, match="beta1"):
        P.Adam(parameters=[{"params": [w], "beta1": 1.5}])
    with pytest.raises(ArgumentError, match="more than one parameter group"):
        P.SGD(0.1, parameters=[{"params": [w]}, {"params": [w]}])


def test_an_option_of_a_group_has_a_gradient() -> None:
    rho = paddle.to_tensor(0.5, stop_gradient=False)
    v = paddle.to_tensor(2.0, stop_gradient=False).clone()
    optimizer = P.RMSProp(0.1, parameters=[{"params": [v], "rho": rho}], differentiable=True)
    (v.grad,) = paddle.grad(v * v, v, create_graph=True)
    optimizer.step()
    (found,) = paddle.grad(v, rho)
    # The step is 0.1 * 4 / sqrt((1 - rho) * 16).
    assert found.item() == pytest.approx(-0.05 * 0.5**-1.5, rel=1e-4)


def _two_layers() -> Any:
    """A network with a rate, penalties and a gradient that is not clipped in its parameters' attributes."""
    a = paddle.ParamAttr(learning_rate=0.1, regularizer=paddle.regularizer.L1Decay(0.1))
    b = paddle.ParamAttr(need_clip=False)
    c = paddle.ParamAttr(regularizer=paddle.regularizer.L2Decay(0.5))
    net = paddle.nn.Sequential(paddle.nn.Linear(2, 2, a, b), paddle.nn.Linear(2, 1, c, False))
    for p, value in zip(net.parameters(), ([[0.4, -0.2], [0.3, 0.5]], [0.1, -0.1], [[0.7], [-0.6]]), strict=True):
        p.set_value(np.array(value, "float32"))
    return net


#: What Paddle 3.3.1 makes of the parameters of that network in three steps with an optimizer and clipping.
WITH_ATTRIBUTES: dict[str, list[float]] = {
    "SGD": [
        0.397638,
        -0.197759,
        0.298094,
        0.498849,
        0.0297072,
        -0.0395373,
        0.640869,
        -0.555242,
        0.3868,
        -0.19187,
        0.291261,
        0.490585,
        0.0604842,
        -0.0657584,
        0.680331,
        -0.586103,
    ],
    "Momentum": [
        0.395586,
        -0.195811,
        0.296434,
        0.497849,
        -0.0344651,
        0.0155823,
        0.589007,
        -0.51595,
        0.375306,
        -0.184796,
        0.283631,
        0.482382,
        0.0252533,
        -0.0352537,
        0.663161,
        -0.573975,
    ],
    "Adam": [
        0.384995,
        -0.184998,
        0.285002,
        0.484996,
        -0.0455485,
        0.0452997,
        0.550442,
        -0.450767,
        0.32506,
        -0.125132,
        0.225409,
        0.425078,
        0.0262714,
        -0.026321,
        0.625121,
        -0.525103,
    ],
    "AdamW": [
        0.384936,
        -0.184969,
        0.284958,
        0.484921,
        -0.0456135,
        0.0453665,
        0.549471,
        -0.449948,
        0.31658,
        -0.121055,
        0.218968,
        0.414304,
        0.0247609,
        -0.0248111,
        0.610067,
        -0.512299,
    ],
    "RMSProp": [
        0.351672,
        -0.151508,
        0.250331,
        0.446198,
        -0.152501,
        0.149592,
        0.268222,
        -0.188875,
        0.172578,
        0.00149409,
        0.133122,
        0.250515,
        -0.042608,
        0.0404848,
        0.470499,
        -0.359242,
    ],
    "Adagrad": [
        0.388539,
        -0.18856,
        0.288593,
        0.48854,
        0.000609452,
        -0.00116022,
        0.588584,
        -0.490062,
        0.34337,
        -0.143846,
        0.245069,
        0.443541,
        0.0480208,
        -0.0481585,
        0.643731,
        -0.543664,
    ],
    "Adamax": [
        0.385067,
        -0.18503,
        0.285014,
        0.485068,
        -0.0280943,
        0.0274685,
        0.555016,
        -0.457498,
        0.325845,
        -0.126717,
        0.228786,
        0.426172,
        0.0331023,
        -0.0332816,
        0.62651,
        -0.526395,
    ],
    "Lamb": [
        0.394513,
        -0.194524,
        0.294517,
        0.494506,
        0.0857336,
        -0.0857414,
        0.606917,
        -0.507093,
        0.373072,
        -0.173136,
        0.273118,
        0.473047,
        0.0926853,
        -0.0926866,
        0.652286,
        -0.552343,
    ],
    "Adadelta": [
        0.399932,
        -0.199932,
        0.299932,
        0.499932,
        0.0993221,
        -0.0993221,
        0.699322,
        -0.599322,
        0.399661,
        -0.199661,
        0.299661,
        0.499661,
        0.099661,
        -0.099661,
        0.699661,
        -0.599661,
    ],
    "NAdam": [
        0.387095,
        -0.187119,
        0.287155,
        0.487096,
        -0.0118558,
        0.0112293,
        0.574513,
        -0.476186,
        0.336216,
        -0.136744,
        0.238178,
        0.436382,
        0.0414772,
        -0.0416337,
        0.636634,
        -0.536538,
    ],
    "RAdam": [
        0.397646,
        -0.197766,
        0.298086,
        0.498855,
        0.0248546,
        -0.0354644,
        0.640095,
        -0.554643,
        0.386788,
        -0.191873,
        0.291203,
        0.490574,
        0.0590295,
        -0.0645342,
        0.680223,
        -0.586042,
    ],
    "ASGD": [
        0.397638,
        -0.197759,
        0.298094,
        0.498849,
        0.0297072,
        -0.0395373,
        0.640869,
        -0.555242,
        0.3868,
        -0.19187,
        0.291261,
        0.490585,
        0.0604842,
        -0.0657584,
        0.680331,
        -0.586103,
    ],
}


@pytest.mark.parametrize("name", WITH_ATTRIBUTES)
@pytest.mark.parametrize("grouped", [False, True])
def test_attributes_of_parameters_change_the_step(name: str, grouped: bool) -> None:
    net = _two_layers()
    given: Any = net.parameters()
    if grouped:
        given = [{"params": given, "learning_rate": 0.5, "weight_decay": 0.3}]
    decay = {} if name in ("Lamb", "Rprop") else {"weight_decay": 0.01}
    clip = paddle.nn.ClipGradByGlobalNorm(0.1)
    optimizer = getattr(P, name)(learning_rate=0.05, parameters=given, grad_clip=clip, **decay)
    for _ in range(3):
        (net(paddle.to_tensor([[1.0, 2.0], [0.5, -1.0]])) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    found = np.concatenate([p.numpy().ravel() for p in net.parameters()])
    np.testing.assert_allclose(found, WITH_ATTRIBUTES[name][8 * grouped :][:8], rtol=2e-4, atol=1e-6)


def test_gradients_that_are_not_clipped() -> None:
    g = paddle.to_tensor([3.0, 4.0])
    kept, other = paddle.create_parameter([2], attr=paddle.ParamAttr(need_clip=False)), paddle.create_parameter([2])
    pairs = [(kept, g), (other, g)]
    for clip in (paddle.nn.ClipGradByNorm(1.0), paddle.nn.ClipGradByGlobalNorm(1.0), paddle.nn.ClipGradByValue(0.5)):
        (_, a), (_, b) = clip(pairs)
        assert a.tolist() == [3.0, 4.0]
        wanted = [0.5, 0.5] if isinstance(clip, paddle.nn.ClipGradByValue) else [0.6, 0.8]
        np.testing.assert_allclose(b.numpy(), wanted, rtol=1e-6)
        assert clip([(kept, g)])[0][1].tolist() == [3.0, 4.0]


def test_the_rate_of_a_parameter_may_change() -> None:
    w = paddle.create_parameter(
        [1], attr=paddle.ParamAttr(learning_rate=0.5, initializer=paddle.nn.initializer.Constant(4.0))
    )
    sgd = P.SGD(1.0, parameters=[w])
    for wanted in (3.5, 1.5):
        w.sum().backward()
        sgd.step()
        sgd.clear_grad()
        assert w.item() == wanted
        w.optimize_attr["learning_rate"] = 2.0


def test_minimize_steps_with_the_parameters_that_are_given() -> None:
    a, b = (paddle.to_tensor([3.0], stop_gradient=False) for _ in range(2))
    sgd = P.SGD(0.5, parameters=[a, b], grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0))
    loss = (a * 3 + b * 4).sum()
    loss.backward()
    _, pairs = sgd.minimize(loss, parameters=[a])
    assert [(p is a, g.tolist()) for p, g in pairs] == [(True, [3.0])]
    # The gradient of `b` takes no part in the norm.
    assert (a.item(), b.item()) == (2.5, 3.0)
    assert b.grad.tolist() == [4.0]


def test_a_compiled_step_follows_the_attributes() -> None:
    """Shares of the rate, penalties and clipping may change between the calls of a compiled step."""

    def train(compiled: bool) -> Any:
        attr = paddle.ParamAttr(learning_rate=0.5, regularizer=paddle.regularizer.L1Decay(0.1))
        w, v = (paddle.create_parameter([2], attr=a) for a in (attr, paddle.ParamAttr(need_clip=False)))
        for p in (w, v):
            p.set_value(np.array([1.0, -2.0], "float32"))
        adam = P.Adam(0.1, parameters=[w, v], grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0))

        def step(x: Any) -> None:
            ((w * x) ** 2 + v**3).sum().backward()
            adam.step()
            adam.clear_grad()

        run = paddle.jit.to_static(step) if compiled else step
        for i in range(7):
            if i == 2:
                w.optimize_attr["learning_rate"] = 2.0
            if i == 4:
                w.regularizer = None
            if i == 5:
                w.need_clip = False
            run(paddle.full([2], 1.0 + i))
        return np.concatenate([w.numpy(), v.numpy()])

    np.testing.assert_allclose(train(True), train(False), rtol=1e-6)
