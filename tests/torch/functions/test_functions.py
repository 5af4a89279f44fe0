"""Functions and methods whose order of arguments, defaults or meaning are torch's own."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import ArgumentError, torch

from tests.dialects import values

#: Typed as Any: some functions are added at run time.
T: Any = torch

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def t(data: Any = A, requires_grad: bool = False) -> Any:
    return torch.tensor(data, requires_grad=requires_grad)


def test_creation_takes_sizes_one_by_one() -> None:
    assert tuple(torch.zeros(2, 3).shape) == (2, 3)
    assert tuple(torch.ones([2, 3]).shape) == (2, 3)
    assert tuple(torch.ones(()).shape) == ()
    assert torch.zeros(2, requires_grad=True).requires_grad


def test_split_takes_the_size_of_a_part() -> None:
    assert [tuple(p.shape) for p in torch.split(t(), 3, dim=2)] == [(2, 3, 3), (2, 3, 1)]
    assert [tuple(p.shape) for p in t().split([1, 2], 1)] == [(2, 1, 4), (2, 2, 4)]
    assert isinstance(t().split(1), tuple)
    assert [tuple(p.shape) for p in T.Tensor.split(t(), split_size=[1, 2], dim=1)] == [(2, 1, 4), (2, 2, 4)]
    for size in (T.tensor(3), np.int64(3)):
        assert [tuple(p.shape) for p in torch.split(t(), size, dim=2)] == [(2, 3, 3), (2, 3, 1)]
    with pytest.raises(TypeError, match="float"):
        torch.split(t(), 1.5)


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
    np.testing.assert_allclose(np.asarray(torch.native_norm(t(), 2)), np.linalg.norm(A), rtol=1e-6)
    with pytest.raises(ValueError, match="give one of them"):
        t().var(0, True, correction=1)


def test_equal_is_one_bool() -> None:
    assert torch.equal(t([1.0]), t([1.0])) is True
    assert torch.equal(t([1.0]), t([2.0])) is False
    assert torch.equal(t([1.0]), t([1.0, 2.0])) is False


def test_nonzero_gather_and_index_add() -> None:
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


def test_var_mean_and_std_mean() -> None:
    x = np.array([[1.0, 2.0, 4.0], [0.0, 3.0, 3.0]])
    for spread, both, f in ((torch.var, torch.var_mean, np.var), (torch.std, torch.std_mean, np.std)):
        first, mean = both(t(x), 1)
        np.testing.assert_allclose(first.numpy(), f(x, axis=1, ddof=1))
        np.testing.assert_allclose(mean.numpy(), x.mean(1))
        first, mean = both(t(x), unbiased=False)
        np.testing.assert_allclose([first.item(), mean.item()], [f(x), x.mean()])
        assert values(both(t(x), False)[0]) == values(spread(t(x), False))
        assert tuple(both(t(x), dim=0, keepdim=True, correction=0)[1].shape) == (1, 3)


def test_integers_keep_their_dtype_in_nanmedian() -> None:
    x = torch.tensor([[3, 1, 2], [9, 7, 8]])
    T: Any = torch
    assert (T.nanmedian(x).item(), T.nanmedian(x).dtype) == (3, torch.int64)
    found = T.nanmedian(x, 1)
    assert (found.values.tolist(), found.values.dtype) == ([2, 8], torch.int64)


def test_truth_values_are_drawn_as_integers() -> None:
    T: Any = torch
    drawn = T.randint(2, (1000,), dtype=torch.bool)
    assert drawn.dtype == torch.bool
    assert 400 < int(drawn.sum()) < 600
    T.manual_seed(3)
    truth = T.randint(0, 2, (9,), dtype=torch.bool)
    T.manual_seed(3)
    assert truth.tolist() == T.randint(0, 2, (9,)).bool().tolist()
    assert T.randint(1, 2, (3,), dtype=torch.bool).all()
    for low, high in ((0, 3), (-1, 1)):
        with pytest.raises(TypeError, match="bool does not hold"):
            T.randint(low, high, (3,), dtype=torch.bool)


def test_places_that_are_no_integers_are_refused() -> None:
    T: Any = torch
    with pytest.raises(TypeError, match="integer dtype"):
        T.unravel_index(torch.tensor([1.5]), (2, 2))
    with pytest.raises(TypeError, match="'shape' to be an int or ints"):
        T.unravel_index(torch.tensor([1]), (2, 2.5))


def test_copies_of_views_are_in_c_order() -> None:
    T: Any = torch
    x = torch.arange(6.0).reshape(2, 3)
    for copy in (T.t_copy(x), T.transpose_copy(x, 0, 1), T.slice_copy(x, 1, 0, 2), *T.unbind_copy(x, 1)):
        assert copy.is_contiguous()
    assert T.t_copy(x).tolist() == x.t().tolist()


def test_nanmedian() -> None:
    nan = float("nan")
    x = np.array([[4.0, nan, 1.0, 3.0, 2.0], [nan, nan, 7.0, nan, nan], [nan] * 5])
    found = torch.nanmedian(t(x), 1)
    np.testing.assert_array_equal(found.values.numpy(), [2, 7, nan])
    assert values(found.indices[:2]) == [4, 2]
    assert tuple(t(x).nanmedian(0, keepdim=True).values.shape) == (1, 5)
    assert values(torch.nanmedian(t(x))) == 3
    assert np.isnan(torch.nanmedian(t(x[2])).item())
    assert np.isnan(torch.median(t(x)).item())
    assert values(torch.nanmedian(t([3, 1, 2]))) == 2


@pytest.mark.parametrize("f", [torch.median, torch.nanmedian])
def test_equal_elements_share_the_gradient_of_the_median(f: Any) -> None:
    x = torch.tensor([2.0, 5.0, 2.0, 1.0, 9.0, 2.0], requires_grad=True)
    f(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), [1 / 3, 0, 1 / 3, 0, 0, 1 / 3], rtol=1e-6)
    x = torch.tensor([float("nan"), 2.0], requires_grad=True)
    f(x).backward()
    assert values(x.grad) == ([1, 0] if f is torch.median else [0, 1])


def test_isin() -> None:
    x = torch.tensor([[1, 2], [3, 4]])
    assert values(torch.isin(x, torch.tensor([4, 1]))) == [[1, 0], [0, 1]]
    assert values(torch.isin(x, torch.tensor([4, 1]), invert=True)) == [[0, 1], [1, 0]]
    assert values(torch.isin(x, 3)) == [[0, 0], [1, 0]]
    assert values(torch.isin(2, x)) == 1
    assert values(torch.isin(x, torch.tensor([], dtype=torch.int64))) == [[0, 0], [0, 0]]


def test_gather_is_dense() -> None:
    x: Any = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x.gather(1, torch.tensor([[1], [0]]), sparse_grad=True)
    y.sum().backward()
    assert values(x.grad) == [[0, 1], [1, 0]]


def test_unsafe_split_and_chunk() -> None:
    x: Any = torch.arange(5)
    assert [values(p) for p in x.unsafe_split(2)] == [[0, 1], [2, 3], [4]]
    assert [values(p) for p in torch.unsafe_chunk(x, 2)] == [[0, 1, 2], [3, 4]]


def test_atleast_1d_2d_and_3d() -> None:
    for f, g in (
        (torch.atleast_1d, np.atleast_1d),
        (torch.atleast_2d, np.atleast_2d),
        (torch.atleast_3d, np.atleast_3d),
    ):
        for rank in range(5):
            x = np.arange(2.0**rank).reshape([2] * rank)
            np.testing.assert_array_equal(f(t(x)).numpy(), g(x))
        several = f(t(1.0), t([1.0]))
        assert isinstance(several, tuple)
        assert [y.ndim for y in several] == [y.ndim for y in f([t(1.0), t([1.0])])]
    with pytest.raises(TypeError):
        torch.atleast_1d(1.0)


def test_shapes_broadcast() -> None:
    assert torch.broadcast_shapes((2, 1), (3,), ()) == torch.Size([2, 3])
    assert isinstance(torch.broadcast_shapes(2), torch.Size)
    assert torch.broadcast_shapes() == torch.Size([])
    assert torch.broadcast_shapes([0], (4, 1)) == torch.Size([4, 0])
    text = r"Shape mismatch: .* a dimension of length 3 at -1! Mismatching argument at index 1 had \(3,\)"
    with pytest.raises(RuntimeError, match=text):
        torch.broadcast_shapes((2,), (3,))
    with pytest.raises(RuntimeError, match="negative length"):
        torch.broadcast_shapes((-1,))
    with pytest.raises(TypeError, match="iterable of 'int'"):
        torch.broadcast_shapes((1.5,))


def test_splits_by_axis() -> None:
    for f, g in ((torch.hsplit, np.hsplit), (torch.vsplit, np.vsplit), (torch.dsplit, np.dsplit)):
        for parts in (1, [1]):
            for ours, theirs in zip(f(t(), parts), g(A, parts), strict=True):
                np.testing.assert_array_equal(ours.numpy(), theirs)
        with pytest.raises(RuntimeError, match="is not divisible by the split_size 5"):
            f(t(), 5)
    assert [values(p) for p in torch.hsplit(t([1.0, 2.0]), 2)] == [[1], [2]]
    with pytest.raises(RuntimeError, match="vsplit requires a tensor with at least 2"):
        torch.vsplit(t([1.0]), 1)
    with pytest.raises(RuntimeError, match="divisible"):
        t().vsplit(0)


def test_take_along_dim() -> None:
    at = t()[0].argsort(0, descending=True)
    assert values(torch.take_along_dim(t()[0], at, 0)) == np.sort(A[0], 0)[::-1].tolist()
    assert values(t().take_along_dim(torch.tensor([23, 0]))) == [23, 0]


@pytest.mark.parametrize(("axis", "size", "step"), [(0, 1, 1), (1, 2, 1), (-1, 2, 2), (2, 4, 9), (2, 0, 1), (1, 3, 1)])
def test_unfold(axis: int, size: int, step: int) -> None:
    x: Any = torch.tensor(A, requires_grad=True)
    y = x.unfold(axis, size, step)
    starts = range(0, A.shape[axis] - size + 1, step)
    windows = [np.moveaxis(A.take(range(i, i + size), axis), axis, -1) for i in starts]
    np.testing.assert_array_equal(y.detach().numpy(), np.stack(windows, axis % 3))
    y.sum().backward()
    count = np.zeros(A.shape[axis])
    for i in starts:
        count[i : i + size] += 1
    along = count.reshape([-1 if a == axis % 3 else 1 for a in range(3)])
    np.testing.assert_array_equal(x.grad.numpy(), np.broadcast_to(along, A.shape))


def test_unfold_returns_views_and_checks_its_arguments() -> None:
    x = t(np.zeros(4))
    x.unfold(0, 2, 2)[1] = 1
    assert values(x) == [0, 0, 1, 1]
    assert values(t(3.0).unfold(0, 1, 1)) == [3]
    for wrong in ((0, 5, 1), (0, 2, 0), (0, -1, 1)):
        with pytest.raises(RuntimeError):
            x.unfold(*wrong)
    with pytest.raises(IndexError):
        x.unfold(1, 1, 1)


PARTS = [
    lambda x: x.t(),
    lambda x: x[1:5, ::2],
    lambda x: x[2:6, 1:5].t().detach(),
    lambda x: x.unfold(0, 3, 1)[:, 1],
    lambda x: x[0].expand(4, 8),
    lambda x: x.reshape(4, 2, 8)[:, 1],
]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(("axis", "size", "step"), [(0, 2, 1), (1, 2, 1), (1, 3, 2), (0, 1, 1)])
def test_windows_of_any_view_are_views(part: Any, axis: int, size: int, step: int) -> None:
    numbers = np.arange(64.0).reshape(8, 8)
    x: Any = torch.tensor(numbers, requires_grad=True)
    whole: Any = x * 1
    y = part(whole).unfold(axis, size, step)
    twice = y.unfold(0, 1, 1)
    assert values(y) == values(part(torch.tensor(numbers)).clone().unfold(axis, size, step))
    whole[:] = whole * 10
    assert values(y) == values(part(torch.tensor(numbers * 10)).clone().unfold(axis, size, step))
    assert values(twice) == values(y.clone().unfold(0, 1, 1))
    if y.requires_grad:
        (g,) = torch.autograd.grad(y.sum(), x)
        z: Any = torch.tensor(numbers, requires_grad=True)
        (want,) = torch.autograd.grad(part(z * 10).clone().unfold(axis, size, step).sum(), z)
        assert values(g) == values(want)


def test_broadcast_tensors_are_views() -> None:
    x, y = torch.zeros(2, 1, requires_grad=True), torch.zeros(2, 3)
    wide: Any = x * 1
    a, b = torch.broadcast_tensors(wide, y)
    assert b is y
    wide += 1
    assert values(a) == [[1, 1, 1]] * 2
    assert values(torch.autograd.grad(a.sum(), x)[0]) == [[3], [3]]
    assert [tuple(one.shape) for one in torch.broadcast_tensors([x, y])] == [(2, 3), (2, 3)]
    with pytest.raises(RuntimeError, match="must match the size"):
        torch.broadcast_tensors(torch.ones(2), torch.ones(3))


def test_real_numbers_are_their_own_conjugates() -> None:
    x = t(A[0])
    assert x.conj() is x
    turned = x.t()
    assert turned.resolve_conj() is torch.resolve_neg(turned) is turned
    y = torch.zeros(2, 3)
    views = [y.H, y.mH, y.adjoint()]
    y[1] = 1
    assert all(values(view) == [[0, 1]] * 3 for view in views)
    assert values(x.H) == values(x.mH) == values(x.adjoint()) == A[0].T.tolist()


def test_mm_bmm_and_mv_take_exact_ranks() -> None:
    assert values(T.mm(t([[1.0, 2]]), t([[1.0], [2]]))) == [[5]]
    with pytest.raises(RuntimeError, match="mm: mat2 must be a matrix, got 1-D tensor"):
        T.mm(t([[1.0, 2]]), t([1.0, 2]))
    with pytest.raises(RuntimeError, match=r"bmm: tensors of 3 and 3 axes are wanted"):
        T.bmm(t([[1.0]]), t([[1.0]]))
    with pytest.raises(RuntimeError, match=r"batches of 1 and 2"):
        T.bmm(T.ones(1, 2, 2), T.ones(2, 2, 2))
    with pytest.raises(RuntimeError, match=r"mv: tensors of 2 and 1 axes"):
        T.mv(t([[1.0]]), t([[1.0]]))


def test_signs_are_not_tracked() -> None:
    x = t([1.0], True)
    assert not T.signbit(x).requires_grad


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint64"])
@pytest.mark.parametrize("reduce", ["amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_extremes_of_groups(reduce: str, include_self: bool, dtype: str) -> None:
    """Those of NumPy, tracked or not, of one row and of rows of a batch."""
    generator = np.random.default_rng(3)
    x, src = generator.integers(0, 50, (3, 40)).astype(dtype), generator.integers(0, 50, (3, 300)).astype(dtype)
    at = generator.integers(0, 30, (3, 300))
    if dtype.startswith("f"):
        src[0, 5], src[1, 7], src[1, 8], x[2, 1] = np.nan, np.inf, -np.inf, np.nan
    ufunc = np.maximum if reduce == "amax" else np.minimum
    expected = x.copy()
    for row, places, given in zip(expected, at, src, strict=True):
        if not include_self:
            row[places] = given
        with np.errstate(invalid="ignore"):
            ufunc.at(row, places, given)

    def f(x: Any, at: Any, src: Any) -> Any:
        return T.scatter_reduce(x, x.ndim - 1, at, src, reduce, include_self=include_self)

    a, i, v = T.tensor(x), T.tensor(at), T.tensor(src)
    np.testing.assert_array_equal(f(a, i, v).numpy(), expected)
    np.testing.assert_array_equal(T.vmap(f)(a, i, v).numpy(), expected)
    np.testing.assert_array_equal(T.compile(f)(a, i, v).numpy(), expected)
    shared = T.vmap(f, in_dims=(0, None, None))(a, i[0], v[0]).numpy()
    np.testing.assert_array_equal(shared[0], expected[0])
    if dtype.startswith("f"):
        tracked = f(a.requires_grad_(), i, v)
        np.testing.assert_array_equal(tracked.detach().numpy(), expected)
    assert f(a.detach(), i[:, :0], v[:, :0]).tolist()[0] == x[0].tolist()


def test_scatter_reduce_and_index_reduce_with_ties_and_nan() -> None:
    x = t([1.0, 5.0, 2.0], True)
    src = t([5.0, np.nan, 0.0, 5.0, np.inf], True)
    at = T.tensor([1, 0, 0, 1, 2])
    y = T.scatter_reduce(x, 0, at, src, "amax")
    assert str(values(y)) == "[nan, 5.0, inf]"
    dx, ds = T.autograd.grad(y[1], [x, src])
    third = np.float32(1 / 3)
    np.testing.assert_array_equal(np.asarray(dx), np.asarray([0, third, 0], np.float32))
    np.testing.assert_array_equal(np.asarray(ds), np.asarray([third, 0, 0, third, 0], np.float32))
    y = T.scatter_reduce(x, 0, at[:1], src[:1], "amin", include_self=False)
    assert values(y) == [1, 5, 2]
    assert values(T.autograd.grad(y.sum(), x)[0]) == [1, 0, 1]
    whole = T.tensor([5, 1])
    assert values(T.scatter_reduce(whole, 0, T.tensor([0, 0]), T.tensor([2, 4]), "mean")) == [3, 1]
    assert values(T.index_reduce(whole, 0, T.tensor([0]), T.tensor([9]), "amin")) == [5, 1]
    assert values(whole.scatter_reduce_(0, T.tensor([1, 1]), T.tensor([2, 3]), "prod")) == [5, 6]
    with pytest.raises(RuntimeError, match="reduce is 'sum', 'prod', 'mean', 'amax' or 'amin', not 'assign'"):
        T.scatter_reduce(whole, 0, T.tensor([0]), T.tensor([9]), "assign")
    with pytest.raises(RuntimeError, match="want a source of shape"):
        T.index_reduce(whole, 0, T.tensor([0]), T.tensor([9, 1]), "amin")
    with pytest.raises(IndexError):
        T.index_reduce(whole, 0, T.tensor([7]), T.tensor([9]), "prod")


def test_losses_and_rows() -> None:
    F: Any = torch.nn.functional
    x, y = t([0.0, 3.0]), t([1.0, 1.0])
    assert values(F.smooth_l1_loss(x, y, beta=0.5)) == (0.75 + 1.75) / 2
    assert values(F.huber_loss(x, y, "sum", 1.0)) == 0.5 + 1.5
    assert values(F.huber_loss(x, y, weight=t([1.0, 3.0]))) == (0.5 + 4.5) / 2
    assert values(F.kl_div(x, y, size_average=False)) == -3
    p = t([0.5, 0.5])
    assert values(F.binary_cross_entropy(p, y, reduce=False)) == pytest.approx([np.log(2)] * 2)
    assert values(F.binary_cross_entropy_with_logits(t([0.0]), t([1.0]), pos_weight=t([2.0]))) == pytest.approx(
        2 * np.log(2)
    )
    weight = t([[1.0], [2.0], [3.0]], True)
    rows = F.embedding(torch.tensor([[0, 2], [2, 1]]), weight, padding_idx=-1)
    assert values(rows) == [[[1], [3]], [[3], [2]]]
    rows.sum().backward()
    assert values(weight.grad) == [[1], [1], [0]]
    assert values(F.rms_norm(t([3.0, 3.0]), [2])) == pytest.approx([1, 1])
    assert values(F.group_norm(t([[1.0, 3.0]]), num_groups=1, eps=1e-12)) == [[-1, 1]]
    np.testing.assert_allclose(values(F.normalize(t([[3.0, 4.0]]))), [[0.6, 0.8]], rtol=1e-6)
    several = t([[[1.0], [2.0]], [[3.0], [4.0]]])
    for axes in ((0, 1), [0, -2], ()):
        np.testing.assert_allclose(values(F.normalize(several, 1, axes)), np.asarray(several) / 10, rtol=1e-6)
    assert values(F.normalize(torch.zeros(1, 2), dim=(0, 1))) == [[0, 0]]


def test_tensor_split_takes_a_tensor() -> None:
    x = torch.arange(7.0)
    assert [values(p) for p in T.tensor_split(x, torch.tensor(3))] == [[0, 1, 2], [3, 4], [5, 6]]
    assert [values(p) for p in x.tensor_split(torch.tensor([1, 4]))] == [[0], [1, 2, 3], [4, 5, 6]]
    assert [tuple(p.shape) for p in torch.tensor_split(torch.ones(2, 4), 2, dim=1)] == [(2, 2), (2, 2)]
    for wrong in (torch.tensor(3.0), torch.tensor([[1]])):
        with pytest.raises(RuntimeError, match="zero-dimensional or one-dimensional tensor of dtype int64"):
            T.tensor_split(x, wrong)


def test_tensors_of_one_element_in_lists_are_numbers() -> None:
    one, two = torch.tensor([1.0]), torch.tensor([[2.0]])
    assert torch.tensor([[one], [two]]).tolist() == [[1.0], [2.0]]
    assert torch.tensor([one, 3.0]).tolist() == [1.0, 3.0]
    assert torch.as_tensor([one, two]).shape == (2,)


@pytest.mark.parametrize(
    ("name", "shape", "first", "second", "product"),
    [
        ("addmm", (2, 4), (2, 3), (3, 4), lambda a, b: a @ b),
        ("addmv", (2,), (2, 3), (3,), lambda a, b: a @ b),
        ("addr", (2, 3), (2,), (3,), np.outer),
        ("baddbmm", (5, 2, 4), (5, 2, 3), (5, 3, 4), lambda a, b: a @ b),
        ("addbmm", (2, 4), (5, 2, 3), (5, 3, 4), lambda a, b: (a @ b).sum(0)),
    ],
)
def test_factors_of_sums_of_products(name: str, shape: Any, first: Any, second: Any, product: Any) -> None:
    rng = np.random.default_rng(0)
    x, a, b = (rng.standard_normal(s) for s in (shape, first, second))
    tensors = t(x), t(a), t(b)
    function, method, written = getattr(T, name), getattr(T.Tensor, name), getattr(T.Tensor, f"{name}_")
    forms: list[tuple[float, float, Any]] = [
        (1.0, 1.0, lambda f: f(*tensors)),
        (0.5, 2.0, lambda f: f(*tensors, beta=0.5, alpha=2)),
        (0.5, 2.0, lambda f: f(tensors[0], 0.5, 2, *tensors[1:])),
        (0.5, 1.0, lambda f: f(tensors[0], 0.5, *tensors[1:])),
    ]
    for beta, alpha, call in forms:
        for f in (method, lambda x, *args, **options: written(x.clone(), *args, **options)):
            np.testing.assert_allclose(call(f).numpy(), beta * x + alpha * product(a, b), rtol=1e-12)
    np.testing.assert_allclose(function(0.5, tensors[0], 2, *tensors[1:]), 0.5 * x + 2 * product(a, b), rtol=1e-12)
    np.testing.assert_allclose(function(0.5, *tensors), 0.5 * x + product(a, b), rtol=1e-12)
    leaves = [v.clone().requires_grad_() for v in tensors]
    assert T.autograd.gradcheck(lambda x, a, b: written(x * 1, 0.3, 0.7, a, b), leaves)
    for wrong in ((tensors[0], 1, 2, 3, *tensors[1:]), (*tensors, 2), (tensors[0], "1", *tensors[1:])):
        with pytest.raises(ArgumentError, match=f"{name}: three tensors are wanted"):
            function(*wrong)
    with pytest.raises(TypeError, match="by place and by keyword"):
        function(0.5, *tensors, beta=2)
    with pytest.raises(TypeError, match="takes 3 tensors"):
        function(*tensors, tensors[0])


def test_parameters_have_the_names_of_torch() -> None:
    x, y = t([1.0, -0.25]), t([2.0, 3.0])
    assert values(torch.tile(x, dims=[2])) == [1, -0.25, 1, -0.25]
    assert values(T.heaviside(x, values=y)) == [1, 0]
    assert values(T.tensordot(a=x, b=y, dims=1)) == 1.25
    assert values(T.nn.functional.hardshrink(x, lambd=0.5)) == [1, 0]
    assert values(T.dropout(x, 0.5, train=False)) == [1, -0.25]
    assert values(T.select_scatter(t([[1.0], [2.0]]), src=t([5.0]), dim=0, index=1)) == [[1], [5]]
    assert [values(part) for part in T.split_with_sizes(x, split_sizes=[1, 1])] == [[1], [-0.25]]
    assert values(T.linalg.solve_triangular(t([[2.0]]), B=t([[4.0]]), upper=True)) == [[2]]


def test_out_takes_no_result_of_a_higher_kind() -> None:
    lib: Any = torch
    whole = lib.zeros(2, dtype=lib.int64)
    refused = "result type float32 can't be cast to the desired output type int64"
    for f in (lib.exp, lib.sin, lib.neg):
        with pytest.raises(RuntimeError, match=refused):
            f(lib.ones(2), out=whole)
    with pytest.raises(RuntimeError, match=refused):
        lib.cat([lib.ones(1), lib.ones(1)], out=whole)
    with pytest.raises(RuntimeError, match=refused):
        lib.mean(lib.ones(2), out=lib.tensor(0))
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type int64"):
        lib.linalg.inv(1.5 * lib.eye(2), out=lib.zeros(2, 2, dtype=lib.int64))
    with pytest.raises(RuntimeError, match="int64 can't be cast to the desired output type bool"):
        lib.neg(lib.tensor([1, 2]), out=lib.zeros(2, dtype=lib.bool))
    with pytest.raises(RuntimeError, match="complex64 can't be cast to the desired output type float32"):
        lib.exp(lib.tensor([1j]), out=lib.zeros(1))
    assert whole.tolist() == [0, 0]
    with pytest.raises(fg.DtypeError, match="can't be cast to the desired output type int64"):
        np.exp(fg.ones(2), out=fg.zeros(2, dtype="int64"))  # type: ignore[call-overload]
    narrow = lib.zeros(2, dtype=lib.float16)
    lib.exp(lib.zeros(2, dtype=lib.float64), out=narrow)
    assert narrow.tolist() == [1.0, 1.0]
    wide = lib.zeros(2)
    lib.neg(lib.tensor([1, 2]), out=wide)
    assert wide.tolist() == [-1.0, -2.0]
