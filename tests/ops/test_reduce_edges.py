"""Reductions, scans and sorts with ties, zeros, NaN, infinities and empty inputs."""

from __future__ import annotations

import warnings
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

from tests.check import run

INF, NAN = np.inf, np.nan


def gradient(f: Any, x: Any) -> list[float]:
    """The gradient of the sum of a function."""
    t = fg.tensor(np.array(x, float), requires_grad=True)
    (g,) = run([f(t).sum()], [t])
    return np.asarray(g).tolist()


def hessian(f: Any, x: Any) -> np.ndarray:
    """The Hessian of the sum of a function."""
    t = fg.tensor(np.array(x, float), requires_grad=True)
    (g,) = run([f(t).sum()], [t], create_graph=True)
    rows = [run([(g * fg.tensor(row)).sum()], [t], create_graph=True)[0] for row in np.eye(len(x))]
    return np.stack([np.asarray(r) for r in rows])


def along(f: Any, x: Any, order: int) -> list[np.ndarray]:
    """The derivatives along (1, 1, …), up to an order."""
    t = fg.tensor(np.array(x, float), requires_grad=True)
    s, found = f(t).sum(), []
    for _ in range(order):
        (g,) = run([s], [t], create_graph=True)
        found.append(np.asarray(g))
        s = g.sum()
    return found


TIES = [2.0, 2.0, 1.0, 2.0]
THIRD = 1 / 3


@pytest.mark.parametrize(
    ("f", "x", "want"),
    [
        (fg.max, TIES, [THIRD, THIRD, 0, THIRD]),
        (fg.min, [1.0, 2.0, 1.0], [0.5, 0, 0.5]),
        (lambda x: fg.max(x, axis=0), TIES, [THIRD, THIRD, 0, THIRD]),
        (lambda x: fg.amax(x, axis=0, keepdims=True), TIES, [THIRD, THIRD, 0, THIRD]),
        (lambda x: fg.min(x, axis=0), [1.0, 2.0, 1.0], [0.5, 0, 0.5]),
        (fg.median, TIES, [THIRD, THIRD, 0, THIRD]),
        (fg.median, [1.0, 2.0, 3.0, 10.0], [0, 0.5, 0.5, 0]),
        (fg.median, [1.0, 2.0, 2.0, 3.0, 3.0, 9.0], [0, 0.25, 0.25, 0.25, 0.25, 0]),
        (lambda x: fg.max_with_index(x, 0)[0], TIES, [1, 0, 0, 0]),
        (lambda x: fg.min_with_index(x, 0)[0], TIES, [0, 0, 1, 0]),
        (lambda x: fg.median_with_index(x, 0)[0], TIES, [1, 0, 0, 0]),
        (lambda x: fg.cummax(x)[0], TIES, [1, 2, 0, 1]),
        (lambda x: fg.cummin(x)[0], TIES, [1, 1, 2, 0]),
        (fg.prod, [0.0, 2.0, 3.0], [6, 0, 0]),
        (fg.prod, [0.0, 2.0, 0.0], [0, 0, 0]),
        (fg.prod, [2.0, 3.0, 0.0, 0.0], [0, 0, 0, 0]),
        (fg.cumprod, [2.0, 0.0, 3.0, 0.0], [1, 8, 0, 0]),
        (fg.max, [NAN, 1.0], [1, 0]),
        (fg.min, [1.0, NAN, NAN], [0, 0.5, 0.5]),
        (fg.median, [1.0, NAN, 0.0], [0, 1, 0]),
        (fg.norm, [0.0, 0.0], [0, 0]),
        (fg.std, [3.0, 3.0, 3.0], [0, 0, 0]),
        (fg.logsumexp, [INF, 0.0], [1, 0]),
        (fg.logsumexp, [-INF, -INF], [0, 0]),
        (fg.logsumexp, [-INF, 2.0], [0, 1]),
        (fg.logsumexp, [800.0, -800.0], [1, 0]),
        (fg.logsumexp, [1000.0, 1000.0], [0.5, 0.5]),
        (lambda x: fg.softmax(x) * fg.tensor([1.0, 2.0]), [1000.0, -1000.0], [0, 0]),
    ],
)
def test_first_derivatives(f: Any, x: Any, want: Any) -> None:
    np.testing.assert_allclose(gradient(f, x), want, atol=1e-15)


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, INF, -INF, "fro"])
def test_a_norm_has_zero_derivatives_at_zero(p: Any) -> None:
    for g in along(lambda x: fg.norm(x, p), [0.0, 0.0, 0.0], 4):
        assert g.tolist() == [0, 0, 0]


@pytest.mark.parametrize("p", [0.5, 1, 2, 3])
def test_a_norm_with_a_zero_element_has_finite_derivatives(p: float) -> None:
    for g in along(lambda x: fg.norm(x, p), [0.0, 1.0, -2.0], 4):
        assert np.isfinite(g).all()


def test_std_of_equal_elements_has_zero_derivatives() -> None:
    for g in along(fg.std, [3.0, 3.0, 3.0], 3):
        assert g.tolist() == [0, 0, 0]


def test_second_derivatives_of_products_with_zeros() -> None:
    others = [[0, 3, 2], [3, 0, 0], [2, 0, 0]]
    assert hessian(fg.prod, [0.0, 2.0, 3.0]).tolist() == others
    assert hessian(fg.prod, [0.0, 2.0, 0.0]).tolist() == [[0, 0, 2], [0, 0, 0], [2, 0, 0]]
    # The mixed derivatives of each partial product: 2 + 2·0 + 2·0·3 + 2·0·3·0.
    want = [[0, 4, 0, 0], [4, 0, 2, 6], [0, 2, 0, 0], [0, 6, 0, 0]]
    assert hessian(fg.cumprod, [2.0, 0.0, 3.0, 0.0]).tolist() == want
    assert along(fg.cumprod, [2.0, 0.0, 3.0, 0.0], 2)[1].tolist() == [4, 12, 2, 6]


def test_third_derivative_of_a_product_of_zeros() -> None:
    assert along(fg.prod, [0.0, 0.0, 0.0], 3)[2].tolist() == [2, 2, 2]


@pytest.mark.parametrize("f", [fg.logsumexp, fg.max, fg.median])
@pytest.mark.parametrize("x", [[INF, 0.0], [-INF, -INF], [1.0, 1.0]])
def test_second_derivatives_are_numbers(f: Any, x: Any) -> None:
    if not (f is fg.median and INF in x):
        assert np.isfinite(hessian(f, x)).all()


def test_nan_propagates() -> None:
    x = fg.tensor([1.0, NAN, 3.0])
    assert np.isnan(fg.max(x).item())
    assert np.isnan(fg.min(x).item())
    assert np.isnan(fg.median(x).item())
    assert (fg.argmax(x).item(), fg.argmin(x).item()) == (1, 1)
    values, indices = fg.cummax(x)
    np.testing.assert_array_equal(np.asarray(values), [1, NAN, NAN])
    assert np.asarray(indices).tolist() == [0, 1, 1]
    values, indices = fg.topk(x, 2)
    np.testing.assert_array_equal(np.asarray(values), [NAN, 3])
    assert np.asarray(indices).tolist() == [1, 2]


def test_infinities() -> None:
    assert fg.logsumexp(fg.tensor([-INF, -INF])).item() == -INF
    assert fg.logsumexp(fg.tensor([INF, -INF])).item() == INF
    assert np.isnan(np.asarray(fg.softmax(fg.tensor([-INF, -INF])))).all()
    assert np.asarray(fg.softmax(fg.tensor([-INF, 0.0]))).tolist() == [0, 1]
    assert np.asarray(fg.softmax(fg.tensor([1000.0, -1000.0]))).tolist() == [1, 0]
    assert np.asarray(fg.log_softmax(fg.tensor([1000.0, -1000.0]))).tolist() == [0, -2000]
    assert fg.max(fg.tensor([-INF, -INF])).item() == -INF


def test_empty_inputs() -> None:
    none = fg.zeros((0, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(fg.mean(none).item())
        assert np.isnan(np.asarray(fg.mean(none, axis=0))).all()
        assert np.isnan(fg.var(none).item())
    assert fg.sum(none).item() == 0
    assert np.asarray(fg.prod(none, axis=0)).tolist() == [1, 1, 1]
    assert (fg.any(none).item(), fg.all(none).item(), fg.count_nonzero(none).item()) == (False, True, 0)
    assert fg.logsumexp(none).item() == -INF
    assert fg.norm(none).item() == 0
    assert fg.norm(none, INF).item() == 0
    for f in (fg.max, fg.min, fg.median, fg.argmax, fg.argmin):
        with pytest.raises(fg.ArgumentError):
            f(none)
    for f in (fg.max, fg.median):
        with pytest.raises(fg.ArgumentError, match=r"\[0, 3\]"):
            f(none, axis=0)
        assert f(none, axis=1).shape == (0,)
    for g in (fg.sort, fg.argsort, fg.cumsum, fg.cumprod, fg.softmax):
        assert 0 in g(none).shape


def test_scalars() -> None:
    x = fg.tensor(np.array(-2.0))
    for f in (fg.sum, fg.mean, fg.prod, fg.max, fg.min, fg.median, fg.logsumexp):
        assert f(x).item() == -2
    assert fg.argmax(x).item() == 0
    assert np.asarray(fg.cumsum(x)).tolist() == [-2]
    assert fg.var(x).item() == 0
    with pytest.raises(fg.IndexOutOfRange):
        fg.sum(x, axis=0)


def test_wrong_arguments() -> None:
    x = fg.tensor([[1.0, 2.0]])
    with pytest.raises(fg.IndexOutOfRange):
        fg.max(x, axis=2)
    with pytest.raises(fg.ArgumentError, match="appears multiple times"):
        fg.sum(x, axis=(0, -2))
    for k in (-1, 3, 2**62):
        with pytest.raises(fg.ArgumentError, match="topk"):
            fg.topk(x, k)
    with pytest.raises(fg.ArgumentError, match="nuc"):
        fg.norm(x, "nuc")
    with pytest.raises(fg.ArgumentError):
        fg.norm(x, NAN)
    with pytest.raises(fg.ArgumentError, match="reduction"):
        fg.mse_loss(x, x, reduction="avg")
    with pytest.raises(fg.ShapeError):
        fg.layer_norm(x, [3])


def test_targets_are_checked() -> None:
    x = fg.tensor(np.zeros((2, 3)))
    for bad in (3, -1, 2**40):
        with pytest.raises(fg.IndexOutOfRange, match=f"target {bad} is not one of the 3 classes"):
            fg.cross_entropy(x, fg.tensor(np.array([0, bad])))
    with pytest.raises(fg.ShapeError):
        fg.cross_entropy(x, fg.tensor(np.array([0, 1, 2])))
    with pytest.raises(fg.ShapeError):
        fg.cross_entropy(x, fg.tensor(np.array([0, 1])), weight=fg.tensor([1.0, 2.0]))
    with pytest.raises(fg.DtypeError):
        fg.cross_entropy(x, fg.tensor(np.array([True, False])))
    with pytest.raises(fg.ArgumentError):
        fg.cross_entropy(x, fg.tensor(np.array([0, 1])), label_smoothing=1.5)


def test_ignored_samples_do_not_count() -> None:
    logits = np.array([[1.0, 2.0], [INF, NAN], [0.5, 0.0]])
    x = fg.tensor(logits, requires_grad=True)
    loss = fg.cross_entropy(x, fg.tensor(np.array([0, -100, 1])))
    (g,) = run([loss], [x])
    kept = fg.cross_entropy(fg.tensor(logits[[0, 2]]), fg.tensor(np.array([0, 1])))
    assert loss.item() == kept.item()
    assert np.asarray(g)[1].tolist() == [0, 0]
    everything = fg.cross_entropy(x, fg.tensor(np.array([-100, -100, -100])))
    assert np.isnan(everything.item())


def test_cross_entropy_of_extreme_logits() -> None:
    x = fg.tensor(np.array([[1000.0, -1000.0], [-1000.0, 1000.0]]), requires_grad=True)
    loss = fg.cross_entropy(x, fg.tensor(np.array([0, 0])), reduction="none")
    assert np.asarray(loss).tolist() == [0, 2000]
    (g,) = run([loss.sum()], [x])
    assert np.asarray(g).tolist() == [[0, 0], [-1, 1]]


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"])
def test_whole_numbers(name: str) -> None:
    a = np.array([[3, 0, 5], [1, 1, 7]]).astype(name)
    x = fg.tensor(a)
    for op in ("sum", "prod", "cumsum", "cumprod", "max", "min", "any", "all", "argmax", "argmin", "sort", "argsort"):
        for axis in (0, 1):
            more = {"kind": "stable"} if "sort" in op else {}
            want = getattr(np, op)(a, axis=axis, **more)
            got = np.asarray(getattr(fg, op)(x, axis=axis))
            assert got.dtype == want.dtype, op
            np.testing.assert_array_equal(got, want, err_msg=op)
    for op in ("mean", "var", "std", "median"):
        got = np.asarray(getattr(fg, op)(x, axis=1))
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, getattr(np, op)(a.astype(float), axis=1), rtol=1e-6)


def test_reductions_of_views() -> None:
    a = np.random.default_rng(0).normal(size=(3, 4, 5))
    x = fg.permute_dims(fg.tensor(a), (2, 0, 1))
    b = np.transpose(a, (2, 0, 1))
    for axis in (None, 0, 1, 2, (0, 1), (0, 2), (1, 2)):
        for op in ("sum", "max", "prod", "var"):
            got, want = getattr(fg, op)(x, axis=axis), getattr(np, op)(b, axis=axis)
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12)


def test_large_arrays_and_threads() -> None:
    a = np.random.default_rng(0).normal(size=(1500, 1000)).astype(np.float32)
    bits = set()
    for threads in (1, 2, 3):
        fg._core.set_num_threads(threads)
        x = fg.tensor(a)
        parts = [fg.sum(x), fg.sum(x, axis=0), fg.sum(x, axis=1), fg.softmax(x), fg.cumsum(x, axis=1), fg.sort(x)]
        bits.add(b"".join(np.asarray(p).tobytes() for p in parts))
    assert len(bits) == 1
    assert abs(fg.sum(x).item() - a.sum(dtype=float)) < 1e-2
    np.testing.assert_array_equal(np.asarray(fg.max(x, axis=0)), a.max(axis=0))
    np.testing.assert_array_equal(np.asarray(fg.argmax(x, axis=0)), a.argmax(axis=0))
    np.testing.assert_array_equal(np.asarray(fg.sort(x, axis=0)), np.sort(a, axis=0))


@pytest.mark.parametrize("norm", [fg.layer_norm, fg.rms_norm])
def test_norms_of_the_last_axes_check_shapes(norm: Any) -> None:
    x = fg.ones((2, 3))
    for shape in ([], [2], [3, 3], [2, 2, 3]):
        with pytest.raises(ValueError, match="does not end in normalized_shape"):
            norm(x, shape)
    for weight in (fg.ones((1,)), fg.ones((2, 3))):
        with pytest.raises(ValueError, match=r"weight has shape .*, not \[3\]"):
            norm(x, [3], weight)


def test_layer_norm_differentiates_its_weight_and_bias() -> None:
    a = np.random.default_rng(0).normal(size=(4, 3))
    w = fg.tensor(np.array([0.5, 1.0, 2.0]), requires_grad=True)
    b = fg.tensor(np.zeros(3), requires_grad=True)
    seed = np.random.default_rng(1).normal(size=(4, 3))
    y = fg.layer_norm(fg.tensor(a), [3], w, b)
    dw, db = run([(y * fg.tensor(seed)).sum()], [w, b])
    plain = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(np.asarray(dw), (seed * plain).sum(0), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(db), seed.sum(0), rtol=1e-12)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("kind", ["even", "even float32", "integers", "uneven", "repeated", "constant", "one"])
def test_places_in_even_and_uneven_rows(kind: str, right: bool) -> None:
    rng = np.random.default_rng(0)
    edges: Any = {
        "even": np.linspace(-3, 4, 71),
        "even float32": np.linspace(-3, 4, 71, dtype=np.float32),
        "integers": np.arange(-9, 200, 3),
        "uneven": np.sort(rng.normal(size=50)),
        "repeated": np.repeat(np.linspace(0, 1, 40), 2),
        "constant": np.ones(9),
        "one": np.ones(1),
    }[kind]
    x = rng.normal(size=200) * 4
    if kind == "integers":
        values = rng.integers(-20, 220, 300)
    else:
        # The edges themselves and the numbers on both sides of them are where a computed place may be off.
        ends = np.array([np.nan, np.inf, -np.inf, 1e300, -1e300])
        beside = [np.nextafter(edges, edges.dtype.type(to)) for to in (-np.inf, np.inf)]
        with np.errstate(over="ignore"):
            values = np.concatenate([edges, *beside, x, ends]).astype(edges.dtype)
    found = fg.searchsorted(fg.tensor(edges), fg.tensor(values), right).numpy()
    np.testing.assert_array_equal(found, np.searchsorted(edges, values, "right" if right else "left"))


@pytest.mark.parametrize("parts", [1, 3, 12])
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles_of_few_and_many_parts(name: str, parts: int) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 6, size=(5, 23)).astype(float)
    x[1, 4] = x[2, :] = np.nan
    q = rng.random(parts)
    for method in ("linear", "lower", "higher", "nearest", "midpoint"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            want: Any = getattr(np, name)(x, q, 1, method=method)
        t = fg.tensor(x, requires_grad=True)
        np.testing.assert_allclose(getattr(fg, name)(t, q, 1, interpolation=method).numpy(), want, rtol=1e-12)
        # A part of each row in turn, so with another number of parts at once and in batches of vmap.
        of = lambda q, t=t, m=method: getattr(fg, name)(t, q, 1, interpolation=m)  # noqa: E731
        each = fg.func.vmap(of)(fg.tensor(q))
        np.testing.assert_allclose(each.numpy(), want, rtol=1e-12)


FOLDS_ALL_IN_BOTH = ("sum", "mean", "amax", "amin", "std", "var", "nansum", "nanmean", "norm")


@pytest.mark.parametrize("none", [(), []], ids=["tuple", "list"])
@pytest.mark.parametrize("name", [*FOLDS_ALL_IN_BOTH, "count_nonzero"])
def test_an_empty_list_of_axes_is_all_axes_in_torch(name: str, none: Any) -> None:
    x: Any = fg.torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    want = getattr(fg.torch, name)(x)
    assert want.shape == ()
    assert getattr(fg.torch, name)(x, dim=none).tolist() == want.tolist()
    assert getattr(x, name)(dim=none).tolist() == want.tolist()
    if name in ("sum", "mean", "amax", "std"):
        assert getattr(x, name)(dim=none, keepdim=True).shape == (1, 1)


def test_all_axes_of_pairs_and_vector_norms() -> None:
    x: Any = fg.torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    for pair in (fg.torch.std_mean, fg.torch.var_mean):
        assert [t.tolist() for t in pair(x, dim=())] == [t.tolist() for t in pair(x)]
    assert fg.torch.linalg.vector_norm(x, dim=()).tolist() == fg.torch.linalg.vector_norm(x).tolist()
    assert fg.torch.all(x, dim=()).tolist() == [[True, True], [True, True]]
    assert fg.torch.any(x, dim=()).shape == (2, 2)


@pytest.mark.parametrize("name", [*FOLDS_ALL_IN_BOTH, "max", "min", "prod", "all", "any", "logsumexp"])
def test_an_empty_list_of_axes_is_all_axes_in_paddle(name: str) -> None:
    x: Any = fg.paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    x = x.astype("bool") if name in ("all", "any") else x
    want = getattr(fg.paddle, name)(x).tolist()
    assert getattr(fg.paddle, name)(x, axis=[]).tolist() == want
    assert getattr(x, name)(axis=[]).tolist() == want


def test_an_empty_list_of_axes_is_no_axis_natively() -> None:
    x = fg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert fg.sum(x, ()).tolist() == x.sum([]).tolist() == x.tolist()
    # The namespace decides, not the tensor.
    assert fg.sum(fg.torch.ones(2, 2), ()).shape == (2, 2)
    assert np.sum(fg.torch.ones(2, 2), axis=()).shape == (2, 2)
    assert fg.torch.roll(fg.torch.ones(2), 1, ()).shape == (2,)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers_are_rounded_to_tens(dtype: str) -> None:
    least = max(int(np.iinfo(dtype).min), -1000)
    x = np.arange(least // 10 * 10 + 10, min(int(np.iinfo(dtype).max) - 60, 1000), dtype=dtype)
    for places in (1, 2):
        found = fg.round(fg.tensor(x), -places)
        want = np.round(x.astype(float), -places).astype(np.int64)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.numpy().astype(np.int64), want)
    assert fg.round(fg.tensor(x), 3).tolist() == x.tolist()
    with pytest.raises(fg.ArgumentError, match="beyond the range of"):
        fg.round(fg.tensor(x), -20)


def test_large_integers_are_rounded_exactly() -> None:
    x = [123456789, 2**62 + 5, -(2**62) - 5, 9007199254740993]
    want = [123456790, 4611686018427387910, -4611686018427387910, 9007199254740990]
    assert fg.round(fg.tensor(x), -1).tolist() == want
    assert np.round(fg.tensor(x), -1).tolist() == want
    assert fg.torch.round(fg.torch.tensor(x), decimals=-1).tolist() == want
    assert fg.round(fg.tensor(10**18 * 7, dtype="int64"), -18).item() == 7 * 10**18


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint16", "int64", "uint64"])
def test_losses_and_distances_of_integers_do_not_wrap_around(dtype: str) -> None:
    a, b = np.array([1, 100, 3], dtype), np.array([2, 5, 120], dtype)
    if dtype == "int8":
        a = -a
    x, y = fg.tensor(a), fg.tensor(b)
    d = a.astype(float) - b.astype(float)
    near = np.minimum(abs(d), 1)
    for name, each in [
        ("mse_loss", d**2),
        ("l1_loss", abs(d)),
        ("smooth_l1_loss", near * (abs(d) - near / 2)),
        ("huber_loss", near * (abs(d) - near / 2)),
    ]:
        np.testing.assert_allclose(getattr(fg, name)(x, y).item(), each.mean(), rtol=1e-6)
        np.testing.assert_allclose(
            getattr(fg, name)(x, 2).item(), getattr(fg, name)(a.astype(float), 2).item(), rtol=1e-6
        )
    np.testing.assert_allclose(fg.dist(x, y).item(), np.linalg.norm(d), rtol=1e-6)
    np.testing.assert_allclose(fg.pairwise_distance(x, y, eps=0.0).item(), np.linalg.norm(d), rtol=1e-6)


def test_differences_of_large_integers_are_exact() -> None:
    x, y = fg.tensor([2**53 + 1]), fg.tensor([2**53])
    assert fg.mse_loss(x, y).item() == fg.dist(x, y).item() == 1
    assert fg.l1_loss(fg.tensor([2**63 + 1], dtype="uint64"), fg.tensor([2**63], dtype="uint64")).item() == 1


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod", "nansum"])
def test_sums_of_unsigned_integers_are_signed_in_the_dialects(name: str, dtype: str) -> None:
    given = np.array([1, 1, 0], dtype)
    axis = {"axis": 0} if name.startswith("cum") else {}
    dim = {"dim": 0} if axis else {}
    x: Any = fg.torch.tensor(given)
    for found in (getattr(fg.torch, name)(x, **dim), getattr(x, name)(**dim)):
        assert found.dtype == fg.torch.int64
        assert (found - 5).sum().item() < 0
    y: Any = fg.paddle.to_tensor(given)
    for found in (getattr(fg.paddle, name)(y, **axis), getattr(y, name)(**axis)):
        assert found.dtype == fg.paddle.int64
    assert getattr(fg, name)(fg.tensor(given), **axis).dtype == "uint64"
    if name != "cumprod":
        assert getattr(fg.torch, name)(x, dtype=fg.torch.uint8, **dim).dtype == fg.torch.uint8


# Lines beside each other, few columns, columns that are one tile, and columns that are two.
@pytest.mark.parametrize(
    ("shape", "axis"), [((30_000,), 0), ((11, 3000), 1), ((3000, 3), 0), ((2, 500, 40), 1), ((400, 530), 0)]
)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_running_results_are_rounded_once(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    rng = np.random.default_rng(0)
    wide = "float64" if dtype == "float32" else "complex128"
    a = rng.uniform(0.2, 1.0, shape).astype(dtype)
    if dtype == "complex64":
        a += 1j * rng.uniform(0.2, 1.0, shape).astype("float32")
    near = (a / np.abs(a)) * np.exp(rng.normal(0, 1e-3, shape)).astype("float32")
    x = fg.tensor(a, requires_grad=True)
    sums = fg.cumsum(x, axis)
    rounding = 2.0**-24
    assert np.abs(sums.numpy() - np.cumsum(a.astype(wide), axis)).max() <= 2 * rounding * np.abs(sums.numpy()).max()
    # The gradient of a running sum is one from the other end.
    (g,) = run([(sums * sums.detach().conj()).real.sum()], [x])
    wanted = np.flip(np.cumsum(np.flip(sums.numpy().astype(wide), axis), axis), axis)
    assert np.abs(g.numpy() - wanted).max() <= 3 * rounding * np.abs(wanted).max()
    products = fg.cumprod(fg.tensor(near), axis).numpy()
    wanted = np.cumprod(near.astype(wide), axis)
    assert (np.abs(products - wanted) / np.abs(wanted)).max() <= 2 * rounding
    if dtype == "float32":
        logs = fg.logcumsumexp(x, axis).numpy()
        wanted = np.logaddexp.accumulate(a.astype(wide), axis)
        assert np.abs(logs - wanted).max() <= 2 * rounding * np.abs(wanted).max()


def test_a_running_product_may_leave_the_range_of_the_dtype() -> None:
    x = fg.tensor([1e30, 1e30, 1e-30], dtype="float32")
    assert fg.cumprod(x, 0).tolist() == [float(np.float32(1e30)), INF, pytest.approx(1e30)]
