"""Optimizers of both dialects: steps against the formulas, states and errors."""

from __future__ import annotations

import copy
import importlib
import pickle
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import numpy as np
import pytest

Array = np.ndarray[Any, np.dtype[Any]]
START = np.array([[1.0, -2.0, 3.0], [0.5, 0.0, -1.5]])


def loss(w: Any) -> Any:
    return (w * w * w).sum() + (w.exp()).sum()


def gradient(w: Array) -> Array:
    return 3 * w**2 + np.exp(w)


def by_torch(make: Callable[[Any], Any], steps: int = 5, start: Array = START) -> tuple[Any, Any]:
    w = torch.tensor(start, requires_grad=True)
    optimizer = make([w])
    for _ in range(steps):
        optimizer.zero_grad()
        loss(w).backward()
        optimizer.step()
    return w, optimizer


def by_paddle(make: Callable[[Any], Any], steps: int = 5, start: Array = START) -> tuple[Any, Any]:
    w = paddle.to_tensor(start, stop_gradient=False)
    optimizer = make([w])
    for _ in range(steps):
        loss(w).backward()
        optimizer.step()
        optimizer.clear_grad()
    return w, optimizer


def descend(rate: float, momentum: float, dampening: float, nesterov: bool, decay: float, steps: int = 5) -> Array:
    w, b = START.copy(), None
    for _ in range(steps):
        g = gradient(w) + decay * w
        b = g if b is None else momentum * b + (1 - dampening) * g
        w = w - rate * (g + momentum * b if nesterov else b if momentum else g)
    return w


def adam(rate: float, decay: float, decoupled: bool, largest: bool = False, steps: int = 5) -> Array:
    w, zero = START.copy(), np.zeros_like(START)
    m, v, top = zero, zero, zero
    for t in range(1, steps + 1):
        g = gradient(w) + (0 if decoupled else decay * w)
        w = w * (1 - rate * decay if decoupled else 1)
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        top = np.maximum(top, v)
        w = w - rate * (m / (1 - 0.9**t)) / (np.sqrt((top if largest else v) / (1 - 0.99**t)) + 1e-8)
    return w


@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize(("momentum", "dampening", "nesterov"), [(0, 0, False), (0.9, 0.5, False), (0.9, 0, True)])
def test_gradient_descent(momentum: float, dampening: float, nesterov: bool, decay: float) -> None:
    wanted = descend(0.01, momentum, dampening, nesterov, decay)
    options: dict[str, Any] = {"momentum": momentum, "dampening": dampening, "nesterov": nesterov}
    w, _ = by_torch(lambda p: torch.optim.SGD(p, lr=0.01, weight_decay=decay, **options))
    np.testing.assert_allclose(w.detach().numpy(), wanted, rtol=1e-12)
    if not momentum:
        w, _ = by_paddle(lambda p: paddle.optimizer.SGD(0.01, p, decay))
    elif not dampening:
        w, _ = by_paddle(lambda p: paddle.optimizer.Momentum(0.01, momentum, p, nesterov, decay))
    np.testing.assert_allclose(w.detach().numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_adam(decay: float, decoupled: bool, largest: bool) -> None:
    wanted = adam(0.1, decay, decoupled, largest)
    kind = "AdamW" if decoupled else "Adam"
    of_torch, of_paddle = getattr(torch.optim, kind), getattr(paddle.optimizer, kind)
    w, _ = by_torch(lambda p: of_torch(p, 0.1, (0.9, 0.99), weight_decay=decay, amsgrad=largest))
    np.testing.assert_allclose(w.detach().numpy(), wanted, rtol=1e-12)
    w, _ = by_paddle(lambda p: of_paddle(0.1, 0.9, 0.99, parameters=p, weight_decay=decay, amsgrad=largest))
    np.testing.assert_allclose(w.numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_parameters_take_the_same_step(dtype: Any, threads: int) -> None:
    before = fg.get_num_threads()
    fg.set_num_threads(threads)
    try:
        start = np.tile(START.astype(dtype), (60_000, 1))
        w, _ = by_torch(lambda p: torch.optim.Adam(p, 0.1, (0.9, 0.99)), start=start)
        small, _ = by_torch(lambda p: torch.optim.Adam(p, 0.1, (0.9, 0.99)), start=START.astype(dtype))
        assert (w.detach().numpy().reshape(-1, 2, 3) == small.detach().numpy()).all()
    finally:
        fg.set_num_threads(before)


def rosenbrock(x: Any) -> Any:
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_finds_the_minimum(search: str | None) -> None:
    x = torch.tensor(np.array([-1.2, 1.0]), requires_grad=True)
    optimizer = torch.optim.LBFGS([x], lr=1.0 if search else 0.1, max_iter=200, line_search_fn=search)

    def closure() -> Any:
        optimizer.zero_grad()
        y = rosenbrock(x)
        y.backward()
        return y

    first = optimizer.step(closure)
    assert first.item() == pytest.approx(24.2)
    for _ in range(4):
        optimizer.step(closure)
    np.testing.assert_allclose(x.detach().numpy(), [1, 1], atol=1e-4 if search else 2e-4)
    y = paddle.to_tensor(np.array([-1.2, 1.0]), stop_gradient=False)
    other = paddle.optimizer.LBFGS(1.0, max_iter=200, line_search_fn="strong_wolfe", parameters=[y])

    def evaluate() -> Any:
        other.clear_grad()
        value = rosenbrock(y)
        value.backward()
        return value

    other.step(evaluate)
    np.testing.assert_allclose(y.numpy(), [1, 1], atol=1e-4)


def test_a_step_is_in_place_and_leaves_recorded_values_alone() -> None:
    w = torch.tensor(np.array([1.0, 2.0]), requires_grad=True)
    optimizer = torch.optim.Adam([w], lr=0.5)
    y = (w**3).sum()
    y.backward(retain_graph=True)
    seen, version = w.detach(), w._version
    optimizer.step()
    assert w.is_leaf
    assert w.requires_grad
    assert w._version > version
    assert seen.tolist() == w.tolist() != [1.0, 2.0]
    w.grad = None
    y.backward()
    assert w.grad.tolist() == [3.0, 12.0]


def test_a_parameter_without_a_gradient_does_not_change() -> None:
    for dialect in ("torch", "paddle"):
        w = (
            torch.ones(2, requires_grad=True)
            if dialect == "torch"
            else paddle.to_tensor([1.0, 1.0], stop_gradient=False)
        )
        optimizer = torch.optim.AdamW([w]) if dialect == "torch" else paddle.optimizer.AdamW(parameters=[w])
        optimizer.step()
        assert w.tolist() == [1.0, 1.0]


def test_states_can_be_saved_and_loaded() -> None:
    w, optimizer = by_torch(lambda p: torch.optim.Adam(p, 0.1), 3)
    kept, value = optimizer.state_dict(), w.detach().numpy().copy()
    other = torch.tensor(value, requires_grad=True)
    resumed = torch.optim.Adam([other], 0.7)
    resumed.load_state_dict(kept)
    for p, o in ((w, optimizer), (other, resumed)):
        o.zero_grad()
        loss(p).backward()
        o.step()
    assert w.tolist() == other.tolist()
    u, by = by_paddle(lambda p: paddle.optimizer.Momentum(0.01, parameters=p), 3)
    v = paddle.to_tensor(u.numpy(), stop_gradient=False)
    again = paddle.optimizer.Momentum(0.01, parameters=[v])
    again.set_state_dict(by.state_dict())
    for p, o in ((u, by), (v, again)):
        loss(p).backward()
        o.step()
    assert u.tolist() == v.tolist()


def test_an_option_may_be_required_of_each_group() -> None:
    required = importlib.import_module("ferrograd.torch.optim.optimizer").required
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="required optimization parameter lr"):
        torch.optim.Optimizer([w], {"lr": required})
    assert torch.optim.Optimizer([{"params": [w], "lr": 0.5}], {"lr": required}).param_groups[0]["lr"] == 0.5


def test_groups_and_closures() -> None:
    a, b = (torch.tensor([1.0], requires_grad=True) for _ in range(2))
    groups: list[dict[str, Any]] = [{"params": [a]}, {"params": b, "lr": 0.5}]
    optimizer = torch.optim.SGD(groups, lr=0.1, maximize=True)

    def closure() -> Any:
        y = 2 * a.sum() + 3 * b.sum()
        y.backward()
        return y

    with torch.no_grad():
        assert optimizer.step(closure).item() == 5
    assert a.item() == pytest.approx(1.2)
    assert b.item() == 2.5
    assert "lr: 0.5" in repr(optimizer)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Rprop", "ASGD"])
def test_complex_parameters_are_pairs_of_real_ones(name: str) -> None:
    z = torch.tensor([1 + 2j, -1 + 0.5j], dtype=torch.complex128, requires_grad=True)
    pairs = torch.view_as_real(z.detach()).clone().requires_grad_()
    options = {} if name == "Rprop" else {"lr": 0.1, "weight_decay": 0.1}
    first, second = (getattr(torch.optim, name)([p], **options) for p in (z, pairs))
    for _ in range(4):
        first.zero_grad()
        second.zero_grad()
        (z.abs() ** 4).sum().backward()
        ((pairs**2).sum(-1) ** 2).sum().backward()
        first.step()
        second.step()
    torch.testing.assert_close(torch.view_as_real(z), pairs)
    for key, value in second.state.get(pairs, {}).items():
        mine = first.state[z][key]
        if value.ndim:
            assert mine.dtype == torch.complex128
            torch.testing.assert_close(torch.view_as_real(mine), value)
        else:
            assert mine == value
    with pytest.raises(ValueError, match="Adafactor does not support complex parameters"):
        torch.optim.Adafactor([z]).step()


def test_gradient_clipping() -> None:
    def leaves(make: Callable[[Any], Any]) -> list[Any]:
        found = [make([3.0, 0.0]), make([0.0, 4.0])]
        for w in found:
            (w * w / 2).sum().backward()
        return found

    makers: list[tuple[Callable[[Any], Any], Any]] = [
        (lambda v: torch.tensor(v, requires_grad=True), torch.nn.utils),
        (lambda v: paddle.to_tensor(v, stop_gradient=False), paddle.nn.utils),
    ]
    for make, utils in makers:
        ws = leaves(make)
        assert utils.clip_grad_norm_(ws, 1.0).item() == 5.0
        np.testing.assert_allclose(ws[1].grad.numpy(), [0, 0.8], rtol=1e-5)
        ws = leaves(make)
        assert utils.clip_grad_norm_(ws, 10.0, float("inf")).item() == 4.0
        assert ws[0].grad.tolist() == [3.0, 0.0]
        utils.clip_grad_value_(ws, 3.5)
        assert ws[1].grad.tolist() == [0.0, 3.5]
        ws[0].grad = make([np.inf, 0.0]).detach()
        with pytest.raises(RuntimeError, match="non-finite"):
            utils.clip_grad_norm_(ws, 1.0, error_if_nonfinite=True)
    nn = paddle.nn
    for clip, wanted in (
        (nn.ClipGradByValue(2.0), [2.0, 2.0]),
        (nn.ClipGradByNorm(2.0), [2.0, 2.0]),
        (nn.ClipGradByGlobalNorm(2.5), [1.5, 2.0]),
    ):
        assert f"={getattr(clip, 'clip_norm', 2.0):f}" in str(clip)
        a, b = leaves(lambda v: paddle.to_tensor(v, stop_gradient=False))
        paddle.optimizer.SGD(1.0, [a, b], grad_clip=clip).step()
        assert [3.0 - a.tolist()[0], 4.0 - b.tolist()[1]] == pytest.approx(wanted)


def test_set_learning_rate_and_decay_by_parameter_name() -> None:
    w = paddle.to_tensor([1.0], stop_gradient=False)
    optimizer = paddle.optimizer.SGD(0.1, [w])
    optimizer.set_lr(0.5)
    assert optimizer.get_lr() == 0.5
    assert optimizer.backward(w.sum()) == []
    w.sum().backward()
    ((parameter, gradient),) = optimizer.backward(w.sum())
    assert (parameter is w, gradient.tolist(), w.item()) == (True, [1], 1)
    _, pairs = optimizer.minimize(w.sum())
    assert pairs[0][0] is w
    assert w.item() == 0.5
    w.name = "bias"
    optimizer.clear_grad()
    paddle.optimizer.AdamW(0.1, parameters=[w], apply_decay_param_fun=lambda name: name != "bias").step()
    assert w.item() == 0.5
    paddle.optimizer.AdamW(0.1, parameters=[w], weight_decay=0.5, lr_ratio=lambda p: 0.5).step()
    assert w.item() == pytest.approx(0.5 * (1 - 0.05 * 0.5))


def test_wrong_arguments_raise() -> None:
    w = torch.ones(2, requires_grad=True)
    v = paddle.to_tensor([1.0], stop_gradient=False)
    wrong: Any = 3
    for call, text in (
        (lambda: torch.optim.SGD([w], lr=-1), "Invalid learning rate: -1"),
        (lambda: torch.optim.SGD([w], lr=1, nesterov=True), "Nesterov momentum requires a momentum"),
        (lambda: torch.optim.Adam([w], betas=(1.0, 0.9)), "Invalid beta parameter at index 0: 1.0"),
        (lambda: torch.optim.Adam([w], betas=wrong), "betas must be a pair"),
        (lambda: torch.optim.Adam(0.1, iter([w])), r"the parameters come first: Adam\(model"),  # type: ignore[arg-type]
        (lambda: torch.optim.SGD([w], lr=[wrong]), "learning rate must be a number, not list"),  # type: ignore[arg-type]
        (lambda: torch.optim.SGD([w]).load_state_dict(wrong), "must be a dict with 'state'"),
        (lambda: torch.optim.Adam([]), "empty parameter list"),
        (lambda: torch.optim.Adam(w), "should be an iterable of Tensors or dicts"),
        (lambda: torch.optim.Adam([w * 1]), "non-leaf"),
        (lambda: paddle.optimizer.SGD(0.1, [v, v]), "twice"),
        (lambda: torch.optim.Adam([wrong]), "can only optimize Tensors"),
        (lambda: torch.optim.LBFGS([w], line_search_fn="armijo"), "strong_wolfe"),
        (lambda: torch.optim.LBFGS([w]).step(), "closure"),
        (lambda: paddle.optimizer.SGD(0.1), "should not be None in dygraph mode"),
        (lambda: paddle.optimizer.SGD(0.1, v), "iterable of paddle Tensors"),
        (lambda: paddle.optimizer.Adam(beta1=1.5, parameters=[v]), "Invalid beta1: 1.5"),
        (lambda: paddle.optimizer.LBFGS(parameters=[v]).step(), "closure"),
        (lambda: fg._core.sgd_step(w, fg.ones(3), None, 0.1, 0.0, 1.0, False, 0.0), "one shape"),
        (lambda: fg._core.adam_step(w, w, w, w, None, 0.1, 1.0, 1.0, (0.9, 0.9), 0.1, 0.0), "given twice"),
    ):
        with pytest.raises(fg.ArgumentError, match=text):
            call()
    assert w.tolist() == [1.0, 1.0]


def test_hooks_of_an_optimizer() -> None:
    w = torch.tensor([1.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)
    seen: list[Any] = []
    from ferrograd.torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    before = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("before", args)))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(("after", w.item())))
    with register_optimizer_step_pre_hook(lambda *_: seen.append("all before")):
        w.sum().backward()
        optimizer.step()
        assert seen == ["all before", ("before", ()), ("after", 0.5)]
    del seen[:]
    before.remove()
    handle = register_optimizer_step_post_hook(lambda *_: seen.append("all after"))
    optimizer.step()
    handle.remove()
    assert seen == [("after", 0.0), "all after"]

    def closure() -> Any:
        return torch.tensor(3.0)

    changing = optimizer.register_step_pre_hook(lambda o, args, kwargs: ((closure,), {}))
    assert optimizer.step().item() == 3
    changing.remove()
    bad = optimizer.register_step_pre_hook(lambda *_: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()
    bad.remove()
    del seen[:]
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("save"))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("second"))
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("first"), prepend=True)
    optimizer.register_load_state_dict_pre_hook(lambda o, state: {**state, "state": {}})
    state = optimizer.state_dict()
    assert state["more"] == 1
    optimizer.load_state_dict(state)
    assert seen == ["save", "first", "second"]


def test_a_step_of_the_user_has_hooks_once() -> None:
    class Twice(torch.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            super().step()
            return super().step(closure)

    w = torch.tensor([1.0], requires_grad=True)
    optimizer = Twice([w], lr=0.25)
    seen: list[float] = []
    optimizer.register_step_post_hook(lambda *_: seen.append(w.item()))
    w.sum().backward()
    optimizer.step()
    assert seen == [0.5]


def test_a_loaded_state_is_a_copy() -> None:
    w = torch.ones(2, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([w])
    w.sum().backward()
    optimizer.step()
    kept = optimizer.state_dict()
    kept["state"][0]["nested"] = {"list": [torch.ones(2), [1, 2]], "pair": (1, {"a": 2})}
    kept["param_groups"][0]["more"] = [1, [2]]
    other = torch.optim.Adam([torch.ones(2, requires_grad=True)])
    other.load_state_dict(kept)
    (p,) = other.param_groups[0]["params"]
    mine = other.state[p]
    assert mine["exp_avg"].dtype == torch.float32
    assert mine["nested"] is not kept["state"][0]["nested"]
    mine["nested"]["list"][1].append(3)
    mine["nested"]["list"][0].add_(1)
    mine["exp_avg"].add_(1)
    other.param_groups[0]["more"][1].append(3)
    assert kept["state"][0]["nested"]["list"][1] == [1, 2]
    assert kept["state"][0]["nested"]["list"][0].tolist() == [1, 1]
    assert kept["state"][0]["exp_avg"].tolist() == pytest.approx([0.1, 0.1])
    assert kept["param_groups"][0]["more"] == [1, [2]]
    assert mine["nested"]["pair"] == (1, {"a": 2})
    kept["state"][7] = {}
    with pytest.raises(fg.ArgumentError, match="there is state for 7, which is no parameter"):
        other.load_state_dict(kept)


def test_parameters_may_have_names() -> None:
    a, b = (torch.ones(1, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.SGD([("a", a), ("b", b)])
    assert optimizer.param_groups[0]["params"] == [a, b]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
    for wrong, text in (
        ([("a", a), b], "Some param names are missing"),
        ([{"params": [("a", a)]}, {"params": [b]}], "cannot add param group without names"),
    ):
        with pytest.raises(fg.ArgumentError, match=text):
            torch.optim.SGD(wrong)
    with pytest.raises(TypeError, match="ordered collections"):
        torch.optim.SGD([{"params": {a, b}}])


def test_an_optimizer_can_be_copied_and_pickled() -> None:
    w, optimizer = by_torch(lambda p: torch.optim.Adam(p, 0.1), 2)
    optimizer.register_step_pre_hook(lambda *_: 1 / 0)
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        (p,) = other.param_groups[0]["params"]
        assert p is not w
        other.zero_grad()
        loss(p).backward()
        other.step()
        assert p.tolist() == by_torch(lambda q: torch.optim.Adam(q, 0.1), 3)[0].tolist()


def test_a_parameter_given_twice_changes_twice() -> None:
    p = torch.tensor([1.0], requires_grad=True)
    q = torch.tensor([2.0], requires_grad=True)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        o = torch.optim.SGD([p, p, q], lr=0.1)
    (p + q).sum().backward()
    o.step()
    assert p.tolist() == pytest.approx([0.8])
    assert q.tolist() == pytest.approx([1.9])
    # Numbers of parameters count each once.
    assert o.state_dict()["param_groups"][0]["params"] == [0, 0, 1]


def test_state_of_the_users_own_is_saved_and_loaded() -> None:
    o = torch.optim.SGD([torch.tensor([1.0], requires_grad=True)], lr=0.1)
    o.state["epoch"] = {"count": [3]}
    saved = o.state_dict()
    assert saved["state"] == {"epoch": {"count": [3]}}
    other = torch.optim.SGD([torch.tensor([1.0], requires_grad=True)], lr=0.1)
    other.load_state_dict(saved)
    o.state["epoch"]["count"].append(4)
    assert other.state["epoch"] == {"count": [3]}


def test_numbers_of_a_users_optimizer_stay_numbers() -> None:
    class Counting(torch.optim.Optimizer):
        def step(self, closure: Any = None) -> None:
            for p in self.param_groups[0]["params"]:
                self.state[p]["step"] = self.state[p].get("step", 0) + 1

    p = torch.tensor([1.0], requires_grad=True)
    o, other = Counting([p], {}), Counting([p], {})
    o.step()
    assert o.state_dict()["state"] == {0: {"step": 1}}
    other.load_state_dict(o.state_dict())
    other.step()
    assert other.state[p] == {"step": 2}
    assert type(other.state[p]["step"]) is int


def test_an_optimizer_with_a_step_around_that_of_adam_saves_what_adam_saves() -> None:
    class Logged(torch.optim.Adam):
        def step(self, closure: Any = None) -> Any:
            return super().step(closure)

    p = torch.tensor([1.0], requires_grad=True)
    p.sum().backward()
    saved = []
    for o in (torch.optim.Adam([p]), Logged([p])):
        o.step()
        saved.append(o.state_dict()["state"][0]["step"])
        o.load_state_dict(o.state_dict())
        o.step()
        assert o.state[p]["step"] == 2
    assert [(type(step), step.item()) for step in saved] == [(torch.Tensor, 1.0)] * 2


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_of_complex_parameters_is_that_of_their_parts(search: str | None) -> None:
    start, target = np.array([1.0 + 2.0j, -0.5j]), np.array([0.3 - 1.0j, 2.0 + 1.0j])

    def losses(real: bool) -> list[float]:
        p = torch.tensor(start.view(np.float64).reshape(2, 2) if real else start, requires_grad=True)
        o, found = torch.optim.LBFGS([p], lr=0.5, max_iter=4, line_search_fn=search), []

        def closure() -> Any:
            o.zero_grad()
            z = torch.view_as_complex(p) if real else p
            error = z - torch.tensor(target)
            loss = ((error * error.conj()).real ** 2).sum()
            loss.backward()
            found.append(loss.item())
            return loss

        for _ in range(3):
            o.step(closure)
        return found

    assert losses(False) == pytest.approx(losses(True), rel=1e-9)
    assert losses(False)[-1] < losses(False)[0] / 100


def two_parameters(make: Callable[[Any], Any]) -> tuple[list[Any], Any]:
    params = [torch.ones(n, requires_grad=True) for n in (2, 3)]
    for p in params:
        p.grad = torch.ones_like(p)
    return params, make(params)


@pytest.mark.parametrize(
    "kind", ["Adadelta", "Adagrad", "Adam", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"]
)
@pytest.mark.parametrize("wrong", [torch.ones(4), None, 3.0, "x"])
def test_a_state_that_fits_no_step_is_refused_before_anything_is_loaded(kind: str, wrong: Any) -> None:
    _, o = two_parameters(getattr(torch.optim, kind))
    o.step()
    kept = copy.deepcopy(o.state_dict())
    tensors = [key for key, x in kept["state"][1].items() if isinstance(x, torch.Tensor) and x.ndim]
    assert tensors
    for key in tensors if isinstance(wrong, float) else [*tensors, "step"]:
        state = copy.deepcopy(kept)
        state["param_groups"][0]["lr"] = 7.0
        state["state"][1][key] = wrong
        with pytest.raises(fg.ArgumentError, match=rf"the state of parameter 1: '{key}' must be"):
            o.load_state_dict(state)
        del state["state"][1][key]
        with pytest.raises(fg.ArgumentError, match=rf"the state of parameter 1 has no '{key}', which {kind} keeps"):
            o.load_state_dict(state)
        assert repr(o.state_dict()) == repr(kept)
    o.load_state_dict(kept)
    o.step()


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"state": 5, "param_groups": [{"params": [0, 1]}]}, "'state' must be a dict, not int"),
        ({"state": {0: 5}, "param_groups": [{"params": [0, 1]}]}, "parameter 0 must be a dict, not int"),
        ({"state": {}, "param_groups": 5}, "'param_groups' must be a list of dicts"),
        ({"state": {}, "param_groups": [5]}, "'param_groups' must be a list of dicts"),
        ({"state": {}, "param_groups": [{"params": 5}]}, "'param_groups' must be a list of dicts"),
        ({"state": {}, "param_groups": [{"params": [0, 1], "lr": "a"}]}, "lr must be a number, not 'a'"),
        ({"state": {}, "param_groups": [{"params": [0, 1], "betas": 5}]}, "betas must be 2 numbers, not 5"),
        ({"state": {}, "param_groups": [{"params": [0, 1], "betas": ("a", 0.9)}]}, "betas must be 2 numbers"),
    ],
)
def test_states_of_no_optimizer_are_refused_and_nothing_is_loaded(state: Any, text: str) -> None:
    _, o = two_parameters(torch.optim.Adam)
    o.step()
    kept = repr(o.state_dict())
    with pytest.raises(fg.ArgumentError, match=text):
        o.load_state_dict(state)
    assert repr(o.state_dict()) == kept


def test_an_option_that_is_no_number_is_refused_before_the_first_group_changes() -> None:
    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    a.grad, b.grad = torch.ones(2), torch.ones(2)
    o = torch.optim.SGD([{"params": [a]}, {"params": [b]}], lr=0.1)
    o.param_groups[1]["weight_decay"] = None
    with pytest.raises(fg.ArgumentError, match=r"SGD.step: weight_decay must be a number, not None"):
        o.step()
    assert a.tolist() == b.tolist() == [1.0, 1.0]

    def clip(pairs: Any) -> Any:
        raise RuntimeError("of the user's")

    v, w = (paddle.to_tensor([1.0], stop_gradient=False) for _ in range(2))
    (v + w).backward()
    groups: Any = [{"params": [v]}, {"params": [w], "grad_clip": clip}]
    with pytest.raises(RuntimeError, match="of the user's"):
        paddle.optimizer.SGD(0.5, groups).step()
    assert v.item() == w.item() == 1.0


def test_a_momentum_that_is_none_begins_with_the_next_gradient() -> None:
    # PyTorch saves None for what SGD without momentum does not keep.
    p = torch.tensor([1.0], requires_grad=True)
    o = torch.optim.SGD([p], lr=1.0, momentum=0.5)
    o.load_state_dict({"state": {0: {"momentum_buffer": None}}, "param_groups": [{"params": [0]}]})
    for wanted in (0.0, -1.5):
        p.grad = torch.ones(1)
        o.step()
        assert p.item() == wanted


def test_amsgrad_may_be_switched_on_later() -> None:
    p = torch.tensor([1.0], requires_grad=True)
    o = torch.optim.Adam([p], lr=0.1)
    for largest in (False, True, True):
        o.param_groups[0]["amsgrad"] = largest
        p.grad = torch.ones(1) if not largest else torch.zeros(1)
        before = p.item()
        o.step()
    top, now = o.state[p]["max_exp_avg_sq"].item(), o.state[p]["exp_avg_sq"].item()
    assert (top, now) == pytest.approx((0.001 * 0.999, 0.001 * 0.999**2))
    mean = 0.1 * 0.9**2 / (1 - 0.9**3)
    assert before - p.item() == pytest.approx(0.1 * mean / (top / (1 - 0.999**3)) ** 0.5, rel=1e-4)


@pytest.mark.parametrize("wrong", [5, None, "moment", "shape", "power", "name", "key", "masters", "schedule"])
def test_what_paddle_cannot_load_changes_nothing(wrong: Any) -> None:
    params = [paddle.to_tensor([1.0] * n, stop_gradient=False) for n in (2, 3)]
    (params[0].sum() + params[1].sum()).backward()
    o = paddle.optimizer.Adam(paddle.optimizer.lr.StepDecay(0.1, 2), parameters=params)
    o.step()
    state: Any = {**o.state_dict(), "LR_Scheduler": {"last_epoch": 7, "last_lr": 5.0}}
    kept = repr(o.state_dict())
    moment, power = ([key for key in state if part in key][-1] for part in ("moment1", "beta2_pow"))
    change: dict[Any, dict[Any, Any]] = {
        "moment": {moment: 5},
        "shape": {moment: paddle.ones([7])},
        "power": {power: "x"},
        "name": {"other": paddle.ones([1])},
        "key": {5: paddle.ones([1])},
        "masters": {"master_weights": 5},
        "schedule": {"LR_Scheduler": 5},
    }
    with pytest.raises(fg.ArgumentError, match="set_state_dict: "):
        o.set_state_dict({**state, **change[wrong]} if wrong in change else wrong)
    assert repr(o.state_dict()) == kept
    o.set_state_dict(state)
    assert o.get_lr() == 5.0


def test_a_wrapper_that_does_not_call_init() -> None:
    """Packages wrap an optimizer in a subclass with tables of hooks of its own, by torch's names."""

    class Slow(torch.optim.Optimizer):
        def __init__(self, inner: torch.optim.Optimizer) -> None:
            self.inner = inner
            self._optimizer_step_pre_hooks: dict[int, Any] = {}

        def step(self, closure: Any = None) -> Any:
            return self.inner.step(closure)

    p = torch.ones(1, requires_grad=True)
    slow, seen = Slow(torch.optim.SGD([p], lr=1.0)), []
    slow.register_step_pre_hook(lambda *_: seen.append("before"))
    slow.register_step_post_hook(lambda *_: seen.append("after"))
    p.sum().backward()
    slow.step()
    assert p.item() == 0
    assert seen == ["before", "after"]
    assert len(slow._optimizer_step_pre_hooks) == 1


def test_the_state_of_adagrad_begins_with_the_optimizer() -> None:
    p = torch.ones(2, requires_grad=True)
    o = torch.optim.Adagrad([p], lr=0.1, initial_accumulator_value=0.5)
    assert o.state[p]["step"] == 0
    assert o.state[p]["sum"].tolist() == [0.5, 0.5]
    assert o.state_dict()["state"][0]["sum"].tolist() == [0.5, 0.5]


def test_complex_parameters_of_adagrad_step_as_their_parts() -> None:
    z = torch.tensor([1.0 + 2.0j, 0.5 - 1.0j], requires_grad=True)
    parts = torch.view_as_real(z.detach()).clone().requires_grad_()
    optimizers = [torch.optim.Adagrad([p], lr=0.1, initial_accumulator_value=0.5) for p in (z, parts)]
    for _ in range(2):
        for o, x in zip(optimizers, (torch.view_as_real(z), parts), strict=True):
            o.zero_grad()
            (x**2).sum().backward()
            o.step()
    assert torch.equal(torch.view_as_real(z), parts)


def test_a_rate_is_one_number() -> None:
    kinds: list[Any] = [torch.optim.SGD, torch.optim.Adam, torch.optim.LBFGS]
    for kind in kinds:
        with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
            kind([torch.ones(1, requires_grad=True)], lr=torch.tensor([0.1, 0.2]))


def test_the_norm_of_no_gradients_belongs_to_the_namespace() -> None:
    found = torch.nn.utils.clip_grad_norm_([torch.ones(2, requires_grad=True)], 1.0)
    assert type(found) is torch.Tensor
    assert type(torch.nn.utils.get_total_norm([])) is torch.Tensor
    none = paddle.nn.utils.clip_grad_norm_([paddle.ones([2])], 1.0)
    assert type(none) is paddle.Tensor
    assert found.item() == none.item() == 0


@pytest.mark.parametrize("name", ["Adam", "AdamW", "NAdam", "RAdam", "ASGD", "Rprop", "Adagrad", "RMSprop"])
def test_loaded_counts_of_steps_stay_tensors(name: str) -> None:
    def stepped(o: Any, p: Any) -> Any:
        p.grad = torch.full([2], 0.5)
        o.step()
        return p.detach().clone()

    p, q = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    first, second = (getattr(torch.optim, name)([x], lr=0.1) for x in (p, q))
    q.data.copy_(stepped(first, p))
    second.load_state_dict(first.state_dict())
    assert isinstance(second.state[q]["step"], torch.Tensor)
    assert second.state[q]["step"].item() == 1
    again = copy.deepcopy(second)
    assert torch.equal(stepped(first, p), stepped(second, q))
    assert second.state_dict()["state"][0]["step"].item() == 2
    assert isinstance(again.state_dict()["state"][0]["step"], torch.Tensor)
    second.load_state_dict(first.state_dict())
    second.state[q]["step"].fill_(7)
    stepped(second, q)
    assert second.state_dict()["state"][0]["step"].item() == 8


def test_a_loaded_optimizer_makes_compiled_steps() -> None:
    p, q = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    first, second = (torch.optim.Adam([x], lr=0.1) for x in (p, q))
    p.grad = torch.full([2], 0.5)
    first.step()
    q.data.copy_(p.detach())
    second.load_state_dict(first.state_dict())

    def train(o: Any, x: Any) -> Any:
        o.zero_grad()
        loss = (x**2).sum()
        loss.backward()
        o.step()
        return loss

    compiled = fg.compile(train, fullgraph=True)
    for _ in range(4):
        assert torch.allclose(train(first, p), compiled(second, q))
    assert torch.allclose(p, q)
