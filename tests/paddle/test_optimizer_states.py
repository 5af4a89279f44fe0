"""States of Paddle's optimizers: Paddle's names and values, and files of other programs."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ferrograd import ArgumentError, paddle as _paddle

paddle: Any = _paddle
P: Any = paddle.optimizer

#: Makers of optimizers, and what Paddle 3.3 keeps after two steps with the gradient 1.
KEPT: dict[str, tuple[Any, dict[str, float]]] = {
    "SGD": (lambda p: P.SGD(0.1, p), {}),
    "Momentum": (lambda p: P.Momentum(0.1, parameters=p), {"velocity": 1.9}),
    "Adam": (
        lambda p: P.Adam(0.1, parameters=p),
        {"moment1": 0.19, "moment2": 0.001999, "beta1_pow_acc": 0.729, "beta2_pow_acc": 0.997003},
    ),
    "Adam amsgrad": (
        lambda p: P.Adam(0.1, parameters=p, amsgrad=True),
        {
            "moment1": 0.19,
            "moment2": 0.001999,
            "moment2_max": 0.001999,
            "beta1_pow_acc": 0.729,
            "beta2_pow_acc": 0.997003,
        },
    ),
    "Adamax": (lambda p: P.Adamax(0.1, parameters=p), {"moment": 0.19, "inf_norm": 1.0, "beta1_pow_acc": 0.729}),
    "Adagrad": (lambda p: P.Adagrad(0.1, parameters=p), {"moment": 2.0}),
    "Adadelta": (
        lambda p: P.Adadelta(0.1, parameters=p),
        {"_avg_squared_grad": 0.0975, "_avg_squared_update": 1.975586e-06},
    ),
    "RMSProp": (
        lambda p: P.RMSProp(0.1, momentum=0.5, parameters=p),
        {"momentum": 0.5438566, "mean_square": 0.0975, "mean_grad": 0.0},
    ),
    "Lamb": (
        lambda p: P.Lamb(0.1, parameters=p),
        {"moment1": 0.19, "moment2": 0.001999, "beta1_pow_acc": 0.729, "beta2_pow_acc": 0.997003},
    ),
    "NAdam": (
        lambda p: P.NAdam(0.1, parameters=p),
        {
            "momentum_decay_pow": 0.9216,
            "beta2_pow": 0.998001,
            "mu_product": 0.20259918,
            "moment1": 0.19,
            "moment2": 0.001999,
        },
    ),
    "RAdam": (
        lambda p: P.RAdam(0.1, parameters=p),
        {"beta1_pow": 0.81, "beta2_pow": 0.998001, "rho": 998.5, "moment1": 0.19, "moment2": 0.001999},
    ),
    "Rprop": (lambda p: P.Rprop(0.1, parameters=p), {"prevs": 1.0, "learning_rates": 0.12}),
    "ASGD": (lambda p: P.ASGD(0.1, 3, p), {"d": 2.0, "y": 1.0, "m": 2.0}),
}


def step(parameters: list[Any], optimizer: Any, value: float = 1.0) -> None:
    for p in parameters:
        p.grad = paddle.full(p.shape, value)
    optimizer.step()


def named(*names: str) -> list[Any]:
    found = [paddle.create_parameter([2, 3], "float32", name=name) for name in names]
    for i, p in enumerate(found):
        p.set_value(np.full([2, 3], 1.0 + i, "float32"))
    return found


@pytest.mark.parametrize("name", KEPT)
def test_states_have_the_names_and_values_of_paddle(name: str) -> None:
    make, wanted = KEPT[name]
    parameters = named("w", "b")
    optimizer = make(parameters)
    for _ in range(2):
        step(parameters, optimizer)
    state = optimizer.state_dict()
    assert sorted(state) == sorted(f"{p}_{kind}_0" for p in "wb" for kind in wanted)
    for kind, value in wanted.items():
        x = state[f"w_{kind}_0"]
        assert x.name == f"w_{kind}_0"
        numbers = x.numpy()
        if kind == "y":
            assert numbers.shape == (3, 2, 3)
            assert numbers[2].tolist() == [[0.0] * 3] * 2
            numbers = numbers[:2]
        assert numbers.shape == ((1,) if kind.endswith("_acc") or kind == "m" else (2, 2, 3) if kind == "y" else (2, 3))
        np.testing.assert_allclose(numbers, value, rtol=2e-5)


@pytest.mark.parametrize("names", [("w", "b"), ("linear_7.w_0", "linear_7.b_0")])
@pytest.mark.parametrize("name", KEPT)
def test_a_file_goes_on_where_it_was_written(name: str, names: tuple[str, ...], tmp_path: Path) -> None:
    make, _ = KEPT[name]
    parameters, others = named("w", "b"), named(*names)
    optimizer, other = make(parameters), make(others)
    for t in range(4):
        step(parameters, optimizer, 1.0 + t)
    paddle.save(optimizer.state_dict(), str(tmp_path / "x.pdopt"))
    for p, q in zip(parameters, others, strict=True):
        q.set_value(p)
    other.set_state_dict(paddle.load(str(tmp_path / "x.pdopt")))
    for t in range(3):
        step(parameters, optimizer, 0.5 - t)
        step(others, other, 0.5 - t)
    assert [p.tolist() for p in parameters] == [q.tolist() for q in others]


def adam_state(*names: str, steps: int = 7) -> dict[str, Any]:
    """What a program with Paddle writes for Adam."""
    state: dict[str, Any] = {}
    for name in names:
        state[f"{name}_moment1_0"] = np.full([2, 3], 0.5, "float32")
        state[f"{name}_moment2_0"] = np.full([2, 3], 0.25, "float32")
        state[f"{name}_beta1_pow_acc_0"] = np.array([np.float32(0.9) ** (steps + 1)], "float32")
        state[f"{name}_beta2_pow_acc_0"] = np.array([np.float32(0.999) ** (steps + 1)], "float32")
    return state


@pytest.mark.parametrize("steps", [1, 7, 900, 20_000])
def test_steps_are_read_from_powers(steps: int) -> None:
    (p,) = parameters = named("w")
    optimizer = P.Adam(0.1, parameters=parameters)
    optimizer.set_state_dict(adam_state("w", steps=steps))
    step(parameters, optimizer, 0.0)
    wanted = 1.0 - 0.1 * (0.45 / (1 - 0.9 ** (steps + 1))) / np.sqrt(0.24975 / (1 - 0.999 ** (steps + 1)))
    np.testing.assert_allclose(p.numpy(), wanted, rtol=1e-6)


def test_names_in_states() -> None:
    parameters = named("w", "w_1")
    optimizer = P.Adam(0.1, parameters=parameters, name="mine")
    step(parameters, optimizer)
    assert set(optimizer.state_dict()) == {
        f"{p}_mine_{kind}_0" for p in ("w", "w_1") for kind in ("moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc")
    }
    # A name of the optimizer's does not matter, and neither do further parameters.
    with pytest.warns(UserWarning, match="'other' is no parameter of the optimizer"):
        optimizer.set_state_dict(adam_state("w_1_yours", "w", "other"))
    assert optimizer.state_dict()["w_1_mine_moment1_0"].tolist() == [[0.5] * 3] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.set_state_dict({})
    assert optimizer.state_dict() == {}


def test_what_is_no_state_is_refused() -> None:
    parameters = named("w", "b")
    adam = P.Adam(0.1, parameters=parameters)
    step(parameters, adam)
    before = {key: x.tolist() for key, x in adam.state_dict().items()}
    moments = adam_state("w")
    for wrong, text in (
        ({"w_velocity_0": np.zeros([2, 3])}, "'w_velocity_0' is no state of Adam"),
        ({"0.exp_avg": np.zeros([2, 3])}, "'0.exp_avg' is no state of Adam"),
        (adam_state("x"), "of 1 parameters such as 'x', the optimizer has 2 such as 'w'"),
        ({**moments, "w_moment1_0": np.zeros([3, 2])}, r"has shape \[3, 2\] where \[2, 3\] is wanted"),
        ({**moments, "w_moment1_0": [1.0]}, "tensors are wanted, not list"),
        ({**moments, "w_moment1_1": np.zeros([2, 3])}, "'w_moment1_1' is given twice for 'w'"),
        (
            {**moments, "w_beta2_pow_acc_0": np.array([np.nan])},
            "beta2_pow_acc of 'w' is nan",
        ),
        ({"w_moment1_0": np.zeros([2, 3])}, "the state of 'w' has no beta2_pow_acc"),
    ):
        with pytest.raises(ArgumentError, match=text):
            adam.set_state_dict(wrong)
        assert {key: x.tolist() for key, x in adam.state_dict().items()} == before
    parameters[1].name = "w"
    with pytest.raises(ArgumentError, match="two parameters have the same name"):
        adam.state_dict()


def test_half_parameters_have_copies_in_the_state() -> None:
    def make(name: str) -> tuple[list[Any], Any]:
        (p,) = named(name)
        half = paddle.nn.Linear(2, 3).bfloat16()
        half.weight.set_value(p.astype("bfloat16"))
        half.weight.name = name
        return [half.weight], P.AdamW(1e-3, parameters=[half.weight], multi_precision=True)

    parameters, optimizer = make("w")
    for _ in range(3):
        parameters[0].grad = paddle.ones([2, 3], "bfloat16")
        optimizer.step()
    file = io.BytesIO()
    paddle.save(optimizer.state_dict(), file)
    file.seek(0)
    state = paddle.load(file)
    assert (list(state["master_weights"]), state["master_weights"]["w"].dtype) == (["w"], paddle.float32)
    assert "w_fp32_master_0_moment1_0" in state
    for name in ("w", "other"):
        others, other = make(name)
        others[0].set_value(parameters[0])
        other.set_state_dict(state)
        key = f"{name}_fp32_master_0_moment1_0"
        assert other.state_dict()[key].tolist() == state["w_fp32_master_0_moment1_0"].tolist()
        assert other.state_dict()["master_weights"][name].tolist() == state["master_weights"]["w"].tolist()


def test_lbfgs_has_the_names_of_paddle() -> None:
    (p,) = parameters = named("w")
    optimizer = P.LBFGS(max_iter=3, parameters=parameters)

    def closure() -> Any:
        optimizer.clear_grad()
        loss = (p**4).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    state = optimizer.state_dict()["state"]
    assert {"alpha", "old_yk", "old_sk", "ro", "H_diag", "d", "prev_flat_grad", "n_iter"} <= state.keys()
    value = p.numpy().copy()
    optimizer.step(closure)
    wanted = p.tolist()
    p.set_value(value)
    again = P.LBFGS(max_iter=3, parameters=parameters)
    again.set_state_dict({"state": {**state, "al": [None]}})
    again.step(closure)
    assert p.tolist() == wanted
