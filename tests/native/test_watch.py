"""``detect_anomaly``, ``debug_nans``, ``safe_gradients`` and ``profile``."""

from __future__ import annotations

import threading
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import paddle, torch
from ferrograd._autograd.profiling import Profile
from ferrograd.func import hessian, jacfwd, jvp


def leaf(values: object) -> fg.Tensor:
    return fg.tensor(np.asarray(values, dtype=np.float64), requires_grad=True)


def test_an_anomaly_names_the_rule_and_the_first_value_that_is_not_finite() -> None:
    x = leaf([0.0, 1.0])
    with fg.detect_anomaly():
        y = fg.log(x)
        z = fg.exp(y * 0.0 + 1.0)
        with pytest.raises(RuntimeError, match=r"returned nan values in its 1th output") as caught:
            fg.grad((z * y).sum(), x)
    text = str(caught.value)
    assert "by log at " in text
    assert "test_watch.py:" in text
    assert isinstance(caught.value, fg.NotFiniteError)


def test_an_anomaly_leaves_gradients_and_graph_as_they_were() -> None:
    x = leaf([0.0])
    y = fg.sqrt(x) * 0.0
    with fg.detect_anomaly(), pytest.raises(fg.NotFiniteError):
        fg.backward(y.sum(), retain_graph=True)
    assert x.grad is None
    fg.backward(y.sum())
    assert x.grad is not None
    assert np.isnan(x.grad.item())


def test_finite_values_and_infinite_gradients_are_no_anomaly() -> None:
    x = leaf([0.0])
    with fg.detect_anomaly():
        assert fg.grad(fg.sqrt(x).sum(), x).item() == np.inf
    with fg.detect_anomaly(check_nan=False):
        assert np.isnan(fg.grad((fg.sqrt(x) * 0.0).sum(), x).item())


def test_an_anomaly_names_the_first_gradient_that_is_not_finite() -> None:
    x = leaf([0.0, 1.0])
    with fg.detect_anomaly():
        y = fg.sqrt(x)
        with pytest.raises(fg.NotFiniteError, match="Function 'multiply' returned nan") as caught:
            fg.grad(fg.sqrt(x * 0.0 + x).sum() + y.sum(), x)
    assert "The first gradient that is not finite was made by sqrt, recorded at " in str(caught.value)


LAYOUTS: list[Any] = [
    lambda a: a,
    lambda a: a.T,
    lambda a: a[::2, ::3],
    lambda a: a[:, ::-1],
    lambda a: a[:, :1],
    lambda a: np.broadcast_to(a[3], (5, *a[3].shape)),
    lambda a: np.broadcast_to(a[:1, :, None], (4, a.shape[1], 3)),
    lambda a: np.lib.stride_tricks.sliding_window_view(a[3], 4),
    lambda a: a[3, 4],
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [8, 700])
def test_a_value_is_found_at_any_position(size: int, dtype: str) -> None:
    whole = np.ones((size, size), dtype)
    for at in [(3, 4), (0, 0), (size - 1, size - 1), (3, size - 1), (2, 3), None]:
        for value in (np.nan, np.inf):
            a = whole.copy()
            if at:
                a[at] = value
            for view in LAYOUTS:
                # Expanding gives a view with the layout of its input.
                with fg.debug_nans():
                    try:
                        fg.expand_dims(fg.asarray(view(a)), 0)
                        found = False
                    except fg.NotFiniteError:
                        found = True
                assert found == bool(np.isnan(view(a)).any()), (at, value)


def test_debug_nans_raises_in_the_call_and_in_rules() -> None:
    x = leaf([-1.0])
    with fg.debug_nans(), pytest.raises(fg.NotFiniteError, match="sqrt: the result holds NaN"):
        fg.sqrt(x)
    with fg.debug_nans():
        x = leaf([0.0])
        y = (fg.sqrt(x) * 0.0).sum()
        with pytest.raises(fg.NotFiniteError):
            fg.grad(y, x)
    assert np.isnan(fg.sqrt(leaf([-1.0])).item())


def test_modes_belong_to_their_thread() -> None:
    found: list[bool] = []
    with fg.debug_nans():
        thread = threading.Thread(target=lambda: found.append(bool(np.isnan(fg.sqrt(leaf([-1.0])).item()))))
        thread.start()
        thread.join()
    assert found == [True]


@pytest.mark.parametrize("threads", [1, 2])
def test_safe_gradients_drops_the_other_branch_of_where(threads: int) -> None:
    before = fg.get_num_threads()
    fg.set_num_threads(threads)
    try:
        for f, at, bad in [
            (fg.sqrt, 0.0, 0.0),
            (fg.log, 0.0, 0.0),
            (lambda x: 1.0 / x, 0.0, 0.0),
            (lambda x: x**0.5, 0.0, 0.0),
            (fg.asin, 1.0, 1.0),
            (lambda x: fg.atan2(x, x), 0.0, 0.0),
        ]:
            x = leaf([at, 0.25])
            y = fg.where(x != bad, f(x), 7.0).sum()
            plain = fg.grad(y, x, retain_graph=True)
            with fg.safe_gradients():
                g = fg.grad(y, x, create_graph=True)
                second = fg.grad(g.sum(), x)
            assert [g[0].item(), second[0].item()] == [0, 0], f
            assert g[1].item() == plain[1].item()
            assert np.isfinite(second[1].item())
    finally:
        fg.set_num_threads(before)


def test_safe_gradients_change_nothing_where_no_cotangent_is_zero() -> None:
    x, y = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([0.5, 2.0])
    loss = (fg.tanh(x * y) @ fg.exp(x)).sum()
    plain = fg.grad(loss, [x, y], retain_graph=True)
    with fg.safe_gradients():
        safe = fg.grad(loss, [x, y])
    for a, b in zip(plain, safe, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    x = leaf([0.0])
    with fg.safe_gradients():
        assert fg.grad(fg.sqrt(x).sum(), x).item() == np.inf


def test_a_profile_counts_ops_and_rules() -> None:
    x = leaf(np.ones(1000))
    with fg.profile() as p:
        y = fg.sin(x) * fg.cos(x)
        fg.backward(y.sum())
    assert {n: c.calls for n, c in p.forward.items()} == {"sin": 1, "cos": 1, "multiply": 1, "sum": 1}
    assert set(p.backward) == {"sin", "cos", "multiply", "sum"}
    assert p.forward["sin"].bytes == 8000
    assert p.backward["multiply"].bytes == 16000
    assert all(c.seconds > 0 for c in [*p.forward.values(), *p.backward.values()])
    lines = p.table().splitlines()
    assert len(lines) == 7
    assert lines[-1].startswith("total")
    with fg.profile() as q:
        pass
    assert not q.forward
    assert not q.backward


def test_the_table_of_a_profile_begins_with_the_most_expensive() -> None:
    x = leaf(np.ones(200_000))
    with fg.profile() as p:
        fg.backward((fg.sin(x) * 2.0).sum())
    rows = p.table().splitlines()[2:]
    times = {row.split()[0]: float(row.split()[3]) + float(row.split()[7]) for row in rows}
    total = times.pop("total")
    assert list(times.values()) == sorted(times.values(), reverse=True)
    assert total == pytest.approx(sum(times.values()), abs=0.01)
    assert p.table(limit=1).splitlines()[-2:] == ["... and 2 more", rows[-1]]
    assert str(p) == p.table()
    with pytest.raises(fg.ArgumentError, match="limit must be"):
        p.table(0)
    assert len(Profile().table().splitlines()) == 3


def test_a_profile_by_the_lines_of_the_program() -> None:
    x = leaf([1.0, 2.0])
    with fg.profile(sites=True) as p:
        y = fg.sin(x)
        for _ in range(3):
            y = fg.sin(y)
        fg.backward(y.sum())
    found = {(op, f.calls, b.calls) for (op, _), (f, b) in p.sites.items()}
    assert found == {("sin", 1, 1), ("sin", 3, 3), ("sum", 1, 1)}
    assert {site.rpartition(":")[0] for _, site in p.sites} == {__file__}
    assert p.forward["sin"].calls == p.backward["sin"].calls == 4
    assert sum("sin test_watch.py:" in line for line in p.table().splitlines()) == 2
    with fg.profile() as q:
        fg.sin(x)
    assert not q.sites


def test_sites_count_every_call_of_one_line() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    # Two calls in one line, and the same line in code objects of its own, as notebooks have.
    cell = "y = x * x + x * x"
    with fg.profile(sites=True) as p:
        for _ in range(3):
            exec(compile(cell, "cell", "exec"), {"x": x})
        y = x * x * x * x
        fg.backward(y.sum())
    calls = {at: (f.calls, b.calls) for at, (f, b) in p.sites.items()}
    assert calls["multiply", "cell:1"] == (6, 0)
    assert calls["add", "cell:1"] == (3, 0)
    for kind, whole in enumerate((p.forward, p.backward)):
        for op, cost in whole.items():
            found = [costs[kind] for (name, _), costs in p.sites.items() if name == op]
            assert sum(c.calls for c in found) == cost.calls, op
            assert sum(c.bytes for c in found) == cost.bytes, op


def test_set_detect_anomaly() -> None:
    fg.set_detect_anomaly(True)
    try:
        assert fg.is_anomaly_enabled()
        with fg.set_detect_anomaly(False):
            assert not fg.is_anomaly_enabled()
        assert fg.is_anomaly_enabled()
    finally:
        fg.set_detect_anomaly(False)
    with pytest.raises(fg.ArgumentError, match="nothing that is watched"):
        fg._core.watching("clouds")


def test_the_rule_is_named_as_the_namespace_names_it() -> None:
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * float("nan")

    x: Any = torch.zeros(2, requires_grad=True)
    with torch.autograd.detect_anomaly():
        with pytest.raises(RuntimeError, match=r"Function 'SqrtBackward0' returned nan values in its 0th output\."):
            (torch.sqrt(x) * 0).sum().backward()
        with pytest.raises(RuntimeError, match=r"Function 'BadBackward' returned nan values in its 0th output\."):
            torch.autograd.grad(Bad.apply(x).sum(), x)
    p: Any = paddle.zeros([2])
    p.stop_gradient = False
    with fg.detect_anomaly(), pytest.raises(RuntimeError, match=r"Function 'SqrtGradNode' returned nan"):
        (p.sqrt() * 0).sum().backward()


def test_a_tangent_of_zero_stays_zero_too() -> None:
    x = fg.tensor(np.array([0.0, 4.0]))
    with fg.safe_gradients():
        for f, slope in ((fg.sqrt, 0.25), (fg.log, 0.25), (lambda x: x * (1.0 / x) / x, -1 / 16)):
            assert jacfwd(f)(x).tolist()[0][1] == 0.0
            np.testing.assert_allclose(jacfwd(f)(x).tolist()[1], [0.0, slope])
            np.testing.assert_array_equal(jvp(f, (x,), (fg.zeros_like(x),))[1].tolist(), [0.0, 0.0])
            masked = hessian(lambda x, f=f: fg.where(x > 0, f(x), 0.0).sum())(x)
            assert np.isfinite(np.asarray(masked)).all()
            assert masked[1, 1].item() != 0
    assert np.isnan(jacfwd(fg.sqrt)(x).tolist()[0][1])


def test_an_op_that_no_gradient_reaches_is_skipped() -> None:
    x = leaf([1.0, 2.0])
    functions: list[Any] = [
        lambda x: fg.softmax(x - np.inf, -1),
        lambda x: fg.std(x * 0),
        lambda x: fg.norm(x - np.inf),
    ]
    for f in functions:
        with np.errstate(all="ignore"), fg.safe_gradients():
            assert fg.grad(fg.where(fg.tensor(False), f(x).sum(), x.sum()), x).tolist() == [1.0, 1.0]
