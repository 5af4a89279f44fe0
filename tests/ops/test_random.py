"""Random numbers: distributions, seeds and errors."""

import ast
import os
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import paddle, torch
from scipy import stats

N = 40_000


@pytest.fixture(autouse=True)
def seeded() -> None:
    fg.manual_seed(1234)


def numbers(t: object) -> np.ndarray:
    return np.asarray(t).astype(np.float64).ravel()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("draw", "law"),
    [
        (lambda d: fg.rand((N,), dtype=d), stats.uniform()),
        (lambda d: fg.randn((N,), dtype=d), stats.norm()),
        (lambda d: fg.uniform(-2.0, 3.0, (N,), dtype=d), stats.uniform(-2, 5)),
        (lambda d: fg.normal(5.0, 2.0, (N,), dtype=d), stats.norm(5, 2)),
        (lambda d: fg.rand_like(fg.zeros((N,), dtype=d)), stats.uniform()),
        (lambda d: fg.randn_like(fg.zeros((N,), dtype=d)), stats.norm()),
    ],
    ids=["rand", "randn", "uniform", "normal", "rand_like", "randn_like"],
)
def test_distribution(draw: Callable[..., Any], law: Any, dtype: str) -> None:
    t = draw(dtype)
    assert t.dtype == np.dtype(dtype)
    x = numbers(t)
    assert stats.kstest(x, law.cdf).pvalue > 1e-3
    assert abs(x.mean() - law.mean()) < 5 * law.std() / np.sqrt(N)
    assert abs(x.var() / law.var() - 1) < 0.05
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 5 / np.sqrt(N)


def test_integers_are_equally_likely() -> None:
    x = numbers(fg.randint(-3, 7, (N,)))
    counts = np.unique(x, return_counts=True)
    assert counts[0].tolist() == list(range(-3, 7))
    assert stats.chisquare(counts[1]).pvalue > 1e-3
    assert set(numbers(fg.randint(2, shape=(100,)))) == {0, 1}
    wide = np.asarray(fg.randint(-(2**63), 2**63 - 1, (N,)))
    assert wide.min() < -(2**62) < 2**62 < wide.max()
    assert np.asarray(fg.randint(0, 256, (N,), dtype="uint8")).max() == 255


def test_permutations_are_equally_likely() -> None:
    seen = {tuple(np.asarray(fg.randperm(3))) for _ in range(200)}
    assert len(seen) == 6
    assert sorted(np.asarray(fg.randperm(1000))) == list(range(1000))
    assert fg.randperm(0).shape == (0,)
    assert fg.randperm(5, dtype="int32").dtype == np.int32


def test_bernoulli_has_the_probability_asked_for() -> None:
    p = np.repeat([0.1, 0.7], N)
    x = numbers(fg.bernoulli(fg.tensor(p)))
    assert set(x) == {0, 1}
    assert abs(x[:N].mean() - 0.1) < 0.01
    assert abs(x[N:].mean() - 0.7) < 0.02
    assert numbers(fg.bernoulli(fg.tensor([0.0] * 50 + [1.0] * 50))).tolist() == [0] * 50 + [1] * 50


def test_a_seed_repeats_the_stream() -> Any:
    def draws() -> Any:
        return [numbers(d) for d in (fg.rand((5,)), fg.randn((7,)), fg.randint(0, 9, (4,)), fg.randperm(6))]

    fg.manual_seed(5)
    first, state = draws(), fg.get_rng_state()
    second = draws()
    fg.manual_seed(5)
    for a, b, c in zip(first, draws(), second, strict=True):
        assert a.tolist() == b.tolist()
        assert a.tolist() != c.tolist()
    fg.set_rng_state(state)
    for a, b in zip(second, draws(), strict=True):
        assert a.tolist() == b.tolist()


def test_a_large_draw_begins_with_the_small_one() -> None:
    """A number depends only on its position, so splitting a draw over threads does not change it."""
    fg.manual_seed(9)
    large = numbers(fg.randn((1 << 18,), dtype="float64"))
    fg.manual_seed(9)
    small = np.concatenate([numbers(fg.randn((1 << 10,), dtype="float64")) for _ in range(1 << 8)])
    assert (large == small).all()


def test_scales_are_differentiable() -> None:
    fg.manual_seed(3)
    mean, std = fg.tensor([1.0, 2.0], requires_grad=True), fg.tensor(0.5, requires_grad=True)
    z = fg.normal(mean, std, (3, 2))
    gm, gs = fg.grad(z.sum(), [mean, std])
    assert np.asarray(gm).tolist() == [3, 3]
    noise = (np.asarray(z) - np.asarray(mean)) / 0.5
    np.testing.assert_allclose(np.asarray(gs), noise.sum(), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dropout_of_integers_has_the_default_dtype(dtype: str) -> None:
    fg.set_default_dtype(dtype)
    try:
        y = fg.dropout(fg.full(1000, 3, dtype="uint8"), 0.5)
    finally:
        fg.set_default_dtype("float32")
    assert y.dtype == getattr(fg, dtype)
    assert {0.0, 6.0} == set(fg.cast(y, "float64").tolist())


def test_dropout_drops_the_gradient_with_the_value() -> None:
    x = fg.tensor(np.arange(1.0, N + 1), requires_grad=True)
    y = fg.dropout(x, 0.25)
    kept = np.asarray(y) != 0
    assert abs(kept.mean() - 0.75) < 0.02
    np.testing.assert_allclose(np.asarray(y)[kept], np.asarray(x)[kept] / 0.75)
    (g,) = fg.grad((y * y).sum(), [x], create_graph=True)
    (h,) = fg.grad(g.sum(), [x])
    np.testing.assert_allclose(np.asarray(g), np.where(kept, 2 * np.asarray(x) / 0.75**2, 0))
    np.testing.assert_allclose(np.asarray(h), np.where(kept, 2 / 0.75**2, 0))
    assert np.isfinite(np.asarray(fg.dropout(fg.tensor([np.inf, np.nan]), 1.0))).all()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: fg.dropout(fg.ones((2,)), 1.5),
        lambda: fg.dropout(fg.ones((2,)), float("nan")),
        lambda: fg.bernoulli(fg.tensor([1.5])),
        lambda: fg.bernoulli(fg.tensor([float("nan")])),
        lambda: fg.normal(0.0, -1.0, (2,)),
        lambda: fg.randint(3, 3, (2,)),
        lambda: fg.randint(0, 300, (2,), dtype="uint8"),
        lambda: fg.rand((2,), dtype="int32"),
        lambda: fg.rand((-2,)),
        lambda: fg.randperm(-1),
        lambda: fg.randperm(300, dtype="uint8"),
        lambda: fg.uniform(fg.ones((3,)), 2.0, (2,)),
        lambda: fg.set_rng_state(fg.ones((2,))),
    ],
)
def test_wrong_arguments_raise(wrong: Callable[[], Any]) -> None:
    with pytest.raises(fg.ArgumentError):
        wrong()


@pytest.mark.parametrize("draw", [fg.rand, fg.randn, lambda shape: fg.randint(5, shape=shape)])
def test_too_large(draw: Callable[..., Any]) -> None:
    with pytest.raises(MemoryError):
        draw((2**62, 8))


DRAWS: dict[str, Callable[[int], Any]] = {
    "rand": lambda n: fg.rand((n,)),
    "rand64": lambda n: fg.rand((n,), dtype="float64"),
    "randn": lambda n: fg.randn((n,)),
    "normal": lambda n: fg.normal(1.0, 2.0, (n,), dtype="float64"),
    "randint": lambda n: fg.randint(0, 1000, (n,)),
    "randperm": lambda n: fg.randperm(n),
    "bernoulli": lambda n: fg.bernoulli(fg.full((n,), 0.3)),
    "dropout": lambda n: fg.dropout(fg.ones((n,)), 0.4),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_number_of_threads_changes_nothing(name: str) -> None:
    n, before = 300_001, fg._core.num_threads()
    drawn = []
    try:
        for threads in (1, 2, 4):
            fg._core.set_num_threads(threads)
            fg.manual_seed(3)
            drawn.append((numbers(DRAWS[name](n)), numbers(fg.rand((3,)))))
    finally:
        fg._core.set_num_threads(before)
    for values, following in drawn[1:]:
        np.testing.assert_array_equal(values, drawn[0][0])
        np.testing.assert_array_equal(following, drawn[0][1])


def drawn_in_child(draw: Callable[[], Any]) -> list[float]:
    """What a forked child draws."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(theirs, repr(draw()).encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as file:
        text = file.read()
    assert os.waitpid(child, 0)[1] == 0
    found: list[float] = ast.literal_eval(text)
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.parametrize(
    "draw",
    [
        lambda: fg.rand(2).tolist(),
        lambda: torch.randn(2).tolist(),
        lambda: paddle.rand([2]).tolist(),
        lambda: drawn_in_child(lambda: fg.rand(2).tolist()),
    ],
)
def test_each_child_of_a_fork_has_a_stream_of_its_own(draw: Callable[[], Any]) -> None:
    def run() -> list[list[float]]:
        fg.manual_seed(7)
        first = [drawn_in_child(draw) for _ in range(3)]
        own = fg.rand(2).tolist()
        return [*first, own, drawn_in_child(draw)]

    streams = run()
    assert len({tuple(stream) for stream in streams}) == 5
    # They follow from the seed of the parent, which its children do not change.
    assert run() == streams
    fg.manual_seed(7)
    assert fg.rand(2).tolist() == streams[3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_child_may_seed() -> None:
    def seeded() -> list[float]:
        fg.manual_seed(3)
        found: list[float] = fg.rand(2).tolist()
        return found

    assert drawn_in_child(seeded) == drawn_in_child(seeded) == seeded()
