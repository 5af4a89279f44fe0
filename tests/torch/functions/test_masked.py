"""torch.masked: functions of the elements where a mask is true."""

from typing import Any

import numpy as np
import pytest
import scipy.special
from ferrograd import torch
from ferrograd._core import ArgumentError, ShapeError

T: Any = torch
M: Any = torch.masked
X = np.random.default_rng(0).normal(size=(3, 4))
#: The last row shows no element.
MASK = np.array([[1, 0, 1, 1], [0, 1, 0, 0], [0, 0, 0, 0]], bool)
#: What the functions are of no elements.
EMPTY = {"sum": 0, "prod": 1, "amax": -np.inf, "amin": np.inf, "logsumexp": -np.inf, "norm": 0}
EMPTY |= {name: np.nan for name in ("mean", "median", "var", "std")}


def lower_median(x: np.ndarray) -> Any:
    return np.sort(x)[(len(x) - 1) // 2]


#: The same functions of the elements that are seen, with NumPy.
OF_SEEN = {
    "sum": np.sum,
    "prod": np.prod,
    "amax": np.max,
    "amin": np.min,
    "logsumexp": scipy.special.logsumexp,
    "norm": np.linalg.norm,
    "mean": np.mean,
    "median": lower_median,
    "var": lambda x: np.var(x, ddof=1) if len(x) > 1 else np.nan,
    "std": lambda x: np.std(x, ddof=1) if len(x) > 1 else np.nan,
}


@pytest.mark.parametrize("name", OF_SEEN)
def test_reductions_see_what_the_mask_shows(name: str) -> None:
    want = [OF_SEEN[name](x[m]) if m.any() else EMPTY[name] for x, m in zip(X, MASK, strict=True)]
    found = getattr(M, name)(T.tensor(X), dim=1, mask=T.tensor(MASK))
    np.testing.assert_allclose(found.numpy(), want, rtol=1e-12)
    kept = getattr(M, name)(T.tensor(X), dim=1, keepdim=True, mask=T.tensor(MASK))
    np.testing.assert_array_equal(kept.numpy()[:, 0], found.numpy())
    if name != "median":
        np.testing.assert_allclose(
            getattr(M, name)(T.tensor(X), mask=T.tensor(MASK)).item(), OF_SEEN[name](X[MASK]), rtol=1e-12
        )
        np.testing.assert_allclose(getattr(M, name)(T.tensor(X), dim=()).item(), OF_SEEN[name](X.ravel()), rtol=1e-12)


@pytest.mark.parametrize("name", OF_SEEN)
def test_hidden_elements_have_no_gradient(name: str) -> None:
    x = T.tensor(X[:1], requires_grad=True)
    mask = T.tensor(MASK[:1])

    def f(x: Any) -> Any:
        return getattr(M, name)(x, dim=1, mask=mask)

    (g,) = T.autograd.grad(f(x).sum(), x, create_graph=True)
    assert g[0, 1].item() == 0
    assert T.autograd.gradcheck(f, (x,))
    assert T.autograd.gradgradcheck(f, (x,))
    one_by_one = [f(T.tensor(row)).item() for row in (X[:1], 2 * X[:1])]
    assert T.func.vmap(f)(T.tensor(np.stack([X[:1], 2 * X[:1]]))).numpy().ravel().tolist() == one_by_one


def test_normalizations_and_scans() -> None:
    x, mask = T.tensor(X), T.tensor(MASK)
    seen = np.where(MASK, np.exp(X), 0)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(M.softmax(x, 1, mask=mask).numpy(), seen / seen.sum(1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(
        M.log_softmax(x, 0, mask=mask).numpy()[MASK], np.log((seen / seen.sum(0))[MASK]), rtol=1e-10, atol=1e-14
    )
    np.testing.assert_allclose(M.softmin(-x, 0, mask=mask).numpy(), M.softmax(x, 0, mask=mask).numpy(), rtol=1e-12)
    np.testing.assert_allclose(M.cumsum(x, 1, mask=mask).numpy(), np.cumsum(np.where(MASK, X, 0), 1))
    np.testing.assert_allclose(M.cumprod(x, 0, mask=mask).numpy(), np.cumprod(np.where(MASK, X, 1), 0))
    size = np.linalg.norm(np.where(MASK, X, 0), axis=1, keepdims=True)
    np.testing.assert_allclose(
        M.normalize(x, 2.0, 1, mask=mask).numpy(), np.where(MASK, X, 0) / np.maximum(size, 1e-12), rtol=1e-12
    )


def test_arguments() -> None:
    whole = T.tensor([[5, -7, 9]], dtype=T.int8)
    mask = T.tensor([True, True, False])
    assert (M.amax(whole, 1, mask=mask).tolist(), M.amin(whole, 1, mask=mask).tolist()) == ([5], [-7])
    assert M.amax(whole, mask=T.tensor(False)).item() == -128
    assert M.sum(whole, mask=mask).dtype == T.int64
    assert M.mean(whole, mask=mask, dtype=T.float64).item() == -1
    assert (M.argmax(whole, 1, mask=mask).item(), M.argmin(whole, mask=mask).item()) == (0, 1)
    assert M.median(whole, mask=mask).tolist() == [-7]
    assert M.var(whole, unbiased=False).item() == pytest.approx(np.var([5, -7, 9]))
    assert M.norm(T.tensor([3.0, 4.0]), -np.inf, mask=T.tensor([False, False])).item() == np.inf
    logs = M.logaddexp(T.zeros(2), T.ones(2), input_mask=T.tensor([True, False]), other_mask=T.tensor([False, False]))
    assert logs.tolist() == [0, -np.inf]
    # A mask of numbers shows where they are not zero, and broadcasts.
    assert M.sum(T.ones(2, 3), 0, mask=T.tensor([0.5, 0.0, 2.0])).tolist() == [2, 0, 2]
    z = T.tensor([1 + 2j, 3j])
    assert M.var(z, mask=T.tensor([True, True])).item() == pytest.approx(np.var([1 + 2j, 3j], ddof=1))
    for name in ("sum", "amax", "mean", "softmax", "cumsum", "norm"):
        with pytest.raises(ShapeError, match=f"masked.{name}: the mask of shape \\[2, 3\\] has more axes"):
            getattr(M, name)(T.ones(3), dim=0, mask=T.ones(2, 3))
        with pytest.raises(ArgumentError, match=f"masked.{name}: input must be a Tensor"):
            getattr(M, name)([1.0], dim=0)
    with pytest.raises(ArgumentError, match="only one of"):
        M.std(T.ones(3), unbiased=True, correction=1)
    with pytest.raises(ArgumentError, match="floating or complex"):
        M.mean(whole)
    with pytest.raises(ArgumentError, match="not an integer"):
        M.median(whole, mask=T.tensor(False))
