"""Flags, modes and ``.grad`` of Paddle's tensors."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from ferrograd import paddle
from ferrograd._autograd import untracked

from tests.dialects import values


def leaf(data: Any, dtype: Any = None) -> Any:
    return paddle.to_tensor(data, dtype, stop_gradient=False)


def test_defaults_of_the_flags() -> None:
    x = paddle.to_tensor([1.0])
    assert (x.stop_gradient, x.is_leaf, x.grad) == (True, True, None)
    y = x * x
    assert (y.stop_gradient, y.is_leaf) == (True, True)
    z = leaf([1.0]) * x
    assert (z.stop_gradient, z.is_leaf) == (False, False)


def test_a_tensor_stopped_before_its_use() -> None:
    w, v = leaf([2.0]), leaf([3.0])
    b = w * 2
    b.stop_gradient = True
    (b * v).backward()
    assert w.grad is None
    assert values(v.grad) == [4]


def test_a_stopped_root() -> None:
    w = leaf([2.0])
    out = w * 2
    out.stop_gradient = True
    with pytest.warns(UserWarning, match=r"no effect.*: it was made untracked"):
        out.backward()
    assert w.grad is None


def test_stop_gradient_changed_after_use() -> None:
    x = leaf(3.0)
    y = x * x
    x.stop_gradient = True
    y.backward()
    assert values(x.grad) == 6

    x = leaf(2.0)
    y = x * 2
    z = y * y * 0.75 * x
    y.stop_gradient = True
    z.backward()
    assert values(x.grad) == 36

    x = paddle.to_tensor(3.0)
    y = x * leaf(1.0)
    x.stop_gradient = False
    y.backward()
    assert x.grad is None


def test_stop_gradient_set_and_unset_before_grad() -> None:
    x = leaf(3.0)
    y = x * x
    x.stop_gradient = True
    x.stop_gradient = False
    assert values(paddle.grad(y, x)[0]) == 6


def test_an_inner_tensor_may_be_stopped() -> None:
    y = leaf(3.0) * 2
    y.stop_gradient = True
    assert y.stop_gradient


def test_gradient_is_a_numpy_array() -> None:
    x = leaf(3.0)
    assert x.gradient() is None
    (x * x).backward()
    assert isinstance(x.gradient(), np.ndarray)
    assert x.gradient().shape == ()


def test_augmented_assignment_rebinds() -> None:
    x = leaf([[1.0]])
    y = x
    y += 1
    assert y is not x
    assert values(y) == [[2]]
    assert values(x) == [[1]]


def test_set_value() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    x.set_value(np.array([5.0, 6.0]))
    assert values(x) == [5, 6]
    assert not x.stop_gradient
    y.backward()
    assert values(x.grad) == [2, 4]
    with pytest.raises(ValueError, match="shape"):
        x.set_value(np.ones(3))


@pytest.fixture
def checking() -> Any:
    paddle.set_flags({"FLAGS_check_nan_inf": True})
    yield
    paddle.set_flags({"FLAGS_check_nan_inf": False})


@pytest.mark.usefixtures("checking")
def test_infinities_raise_where_they_are_made() -> None:
    made: list[tuple[str, Any]] = [
        ("divide", lambda: paddle.ones([2]) / paddle.zeros([2])),
        ("log", lambda: paddle.log(paddle.zeros([1]))),
        ("exp", lambda: paddle.exp(paddle.full([1], 1000.0))),
        ("multiply", lambda: paddle.full([1], 3e38) * 10),
        ("log", lambda: paddle.zeros([1]) * paddle.log(paddle.zeros([1]))),
        ("sqrt", lambda: paddle.sqrt(paddle.full([1], -1.0))),
    ]
    for op, f in made:
        with pytest.raises(RuntimeError, match=f"^{op}: "):
            f()
    x = leaf([0.0])
    y = paddle.sqrt(x)
    with pytest.raises(RuntimeError, match=r"infinity.* in the gradient of Sqrt"):
        y.backward()


@pytest.mark.usefixtures("checking")
def test_an_infinity_that_was_given_is_none_that_was_made() -> None:
    x = paddle.full([2], float("inf"))
    assert values(x * 2) == [np.inf, np.inf]
    assert values(paddle.maximum(x, paddle.zeros([2]))) == [np.inf, np.inf]
    assert values(paddle.nn.functional.softmax(paddle.to_tensor([0.0, -np.inf]))) == [1, 0]
    assert values(paddle.nn.functional.max_pool1d(paddle.ones([1, 1, 3]), 2, padding=1)) == [[[1, 1]]]


def stopped(x: Any) -> Any:
    with paddle.no_grad():
        return x.sum()


WITHOUT_EFFECT: list[tuple[str, Any]] = [
    ("nothing below it was made with stop_gradient=False", lambda w: (w.detach() * 0).numpy().sum()),
    (r"recording was off \(no_grad since .*test_flags.py", stopped),
    ("nothing below it was made with stop_gradient=False", lambda w: w.sum().item()),
    (r"detach\(\).* at .*test_flags.py:\d+ cut it off", lambda w: w.data.sum()),
    (r"integers and booleans have no derivative, and such were made at .*test_flags.py", lambda w: w.argmax().sum()),
]


@pytest.mark.parametrize(("why", "loss"), WITHOUT_EFFECT)
def test_a_backward_without_effect_warns_once(why: str, loss: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untracked, "_given", set())
    w = leaf([1.0, 2.0])
    found = loss(w)
    found = found if isinstance(found, paddle.Tensor) else paddle.to_tensor(found)

    def thrice() -> None:
        for _ in range(3):
            found.backward()

    with pytest.warns(UserWarning, match=rf"has no effect, and every \.grad stays as it is: .*{why}") as met:
        thrice()
    assert w.grad is None
    assert len(met) == 1
    assert (met[0].filename, met[0].lineno > 0) == (__file__, True)


def test_the_warning_of_a_backward_without_effect_can_be_switched_off() -> None:
    flag = "FLAGS_warn_untracked_backward"
    assert paddle.get_flags(flag) == {flag: True}
    paddle.set_flags({flag: False})
    try:
        paddle.ones([2]).backward()
        paddle.autograd.backward([paddle.ones([2])])
        assert paddle.get_flags([flag]) == {flag: False}
    finally:
        paddle.set_flags({flag: True})
    with pytest.warns(UserWarning, match="no effect"):
        paddle.autograd.backward([paddle.ones([2])])


def test_flags_of_the_environment_count_from_the_import_on() -> None:
    program = "import ferrograd.paddle as p; print(p.get_flags([%r, %r])); p.log(p.zeros([1]))"
    names = ("FLAGS_check_nan_inf", "FLAGS_paddle_num_threads")
    env = {**os.environ, "FLAGS_check_nan_inf": "1", "FLAGS_paddle_num_threads": "3"}
    done = subprocess.run([sys.executable, "-c", program % names], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "{'FLAGS_check_nan_inf': True, 'FLAGS_paddle_num_threads': 3}"
    assert "log: the result holds an infinity" in done.stderr
    done = subprocess.run(
        [sys.executable, "-c", "import ferrograd.paddle"],
        env={**os.environ, "FLAGS_paddle_num_threads": "some"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "the environment variable FLAGS_paddle_num_threads is 'some'" in done.stderr


def test_a_level_of_the_check_that_only_prints_is_refused() -> None:
    level = "FLAGS_check_nan_inf_level"
    paddle.set_flags({level: 0})
    assert paddle.get_flags(level) == {level: 0}
    with pytest.raises(ValueError, match="is 0 here, which raises"):
        paddle.set_flags({level: 1})
