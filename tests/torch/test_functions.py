"""Functions and methods whose order of arguments, defaults or meaning are torch's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ferrograd import torch

from tests.dialects import values

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def t(data: Any = A) -> Any:
    return torch.tensor(data)


def test_creation_takes_sizes_one_by_one() -> None:
    assert tuple(torch.zeros(2, 3).shape) == (2, 3)
    assert tuple(torch.ones([2, 3]).shape) == (2, 3)
    assert tuple(torch.ones(()).shape) == ()
    assert torch.zeros(2, requires_grad=True).requires_grad


def test_split_takes_the_size_of_a_part() -> None:
    assert [tuple(p.shape) for p in torch.split(t(), 3, dim=2)] == [(2, 3, 3), (2, 3, 1)]
    assert [tuple(p.shape) for p in t().split([1, 2], 1)] == [(2, 1, 4), (2, 2, 4)]
    assert isinstance(t().split(1), tuple)


def test_transpose_swaps_two_axes() -> None:
    assert tuple(t().transpose(0, 2).shape) == (4, 3, 2)
    assert tuple(t().permute(2, 0, 1).shape) == (4, 2, 3)
    assert tuple(t(A[0]).t().shape) == (4, 3)


def test_max_min_and_median_along_an_axis_have_indices() -> None:
    assert values(t().max()) == 23
    found = t().max(1)
    assert values(found.values) == A.max(1).tolist()
    assert values(found.indices) == A.argmax(1).tolist()
    low, at = torch.min(t(), dim=-1, keepdim=True)
    assert tuple(low.shape) == tuple(at.shape) == (2, 3, 1)
    assert values(torch.max(t([1.0, 5.0]), t([3.0, 2.0]))) == [3, 5]
    assert values(torch.median(t([4.0, 1.0, 3.0, 2.0]))) == 2
    middle = t([4.0, 1.0, 3.0, 2.0]).median(0)
    assert (values(middle.values), values(middle.indices)) == (2, 3)


def test_sorting() -> None:
    found: Any = t([3.0, 1.0, 2.0]).sort(descending=True)
    assert (values(found.values), values(found.indices)) == ([3, 2, 1], [0, 2, 1])
    top: Any = torch.topk(t([3.0, 1.0, 2.0]), 2)
    assert (values(top.values), values(top.indices)) == ([3, 2], [0, 2])
    running, at = torch.cummax(t([1.0, 3.0, 2.0]), dim=0)
    assert (values(running), values(at)) == ([1, 3, 3], [0, 1, 1])


def test_moments_are_unbiased() -> None:
    np.testing.assert_allclose(np.asarray(t().std()), A.std(ddof=1), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(t().var(1, unbiased=False)), A.var(1), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(torch.var(t(), dim=1, correction=0)), A.var(1), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(t().std(False)), A.std(), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(t().norm()), np.linalg.norm(A), rtol=1e-6)
    with pytest.raises(ValueError, match="give one of them"):
        t().var(0, True, correction=1)


def test_equal_is_one_bool() -> None:
    assert torch.equal(t([1.0]), t([1.0])) is True
    assert torch.equal(t([1.0]), t([2.0])) is False
    assert torch.equal(t([1.0]), t([1.0, 2.0])) is False


def test_positions() -> None:
    assert values(torch.nonzero(t([0.0, 3.0, 4.0]))) == [[1], [2]]
    assert [values(i) for i in t([0.0, 3.0]).nonzero(as_tuple=True)] == [[1]]
    x = t([[1.0, 2.0], [3.0, 4.0]])
    assert values(torch.gather(x, 1, t([[0], [1]]))) == [[1], [4]]
    assert values(x.index_add(0, t([0]), t([[1.0, 1.0]]), alpha=2)) == [[3, 4], [3, 4]]
    a, b = torch.meshgrid(t([1.0, 2.0]), t([3.0, 4.0, 5.0]), indexing="ij")
    assert tuple(a.shape) == tuple(b.shape) == (2, 3)
    assert [values(p) for p in x.unbind(1)] == [[1, 3], [2, 4]]


def test_functional() -> None:
    F = torch.nn.functional
    generator = np.random.default_rng(0)
    x, w, b = generator.normal(size=(4, 3)), generator.normal(size=(5, 3)), generator.normal(size=5)
    np.testing.assert_allclose(np.asarray(F.linear(t(x), t(w), t(b))), x @ w.T + b)
    logits, picked = x @ w.T, np.array([0, 4, 2, 1])
    logp = np.log(np.exp(logits) / np.exp(logits).sum(-1, keepdims=True))
    expected = -logp[np.arange(4), picked]
    np.testing.assert_allclose(np.asarray(F.cross_entropy(t(logits), t(picked))), expected.mean())
    np.testing.assert_allclose(np.asarray(F.nll_loss(t(logp), t(picked), reduction="sum")), expected.sum())
    np.testing.assert_allclose(np.asarray(F.softmax(t(logits), dim=-1)), np.exp(logp))
    np.testing.assert_allclose(np.asarray(F.mse_loss(t(x), t(2 * x), reduce=False)), x * x)
    assert tuple(F.pad(t(), (1, 2, 0, 1)).shape) == (2, 4, 7)
    with pytest.raises(ValueError, match="dim must be given"):
        F.softmax(t(logits))
