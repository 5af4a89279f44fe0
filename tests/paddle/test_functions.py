"""Functions and methods whose order of arguments, defaults or meaning are Paddle's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ferrograd import paddle, torch

from tests.dialects import values

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def t(data: Any = A) -> Any:
    return paddle.to_tensor(data)


def test_split() -> None:
    assert [tuple(p.shape) for p in paddle.split(t(), 2, axis=2)] == [(2, 3, 2)] * 2
    assert [tuple(p.shape) for p in t().split([1, -1], axis=1)] == [(2, 1, 4), (2, 2, 4)]
    assert isinstance(t().split(2), list)


def test_unsqueeze_inserts_axes_one_after_another() -> None:
    assert paddle.unsqueeze(t(), [2, 1, 0]).shape == [1, 2, 1, 3, 1, 4]
    assert t().unsqueeze([-1, -1]).shape == [2, 3, 4, 1, 1]
    assert t().unsqueeze(axis=paddle.to_tensor([1, 0])).shape == [1, 2, 1, 3, 4]
    x = t()
    assert x.unsqueeze_((1, 0)).shape == x.shape == [1, 2, 1, 3, 4]
    view = t().unsqueeze([0, 0])
    view[0, 0, 1] = 7.0
    assert view.sum().item() == A[0].sum() + 12 * 7
    with pytest.raises(IndexError, match="unsqueeze"):
        t().unsqueeze([0, 9])


def test_dtypes_of_functions_of_integers() -> None:
    i = paddle.to_tensor([1, -2])
    assert paddle.atan2(i, i).dtype == paddle.float64
    assert paddle.atan2(i, i).tolist() == np.arctan2([1, -2], [1, -2]).tolist()
    assert paddle.atan2(i, i.astype("float32")).dtype == paddle.float32
    assert paddle.frac(i).dtype == paddle.int64
    assert paddle.frac(i).tolist() == [0, 0]
    assert paddle.frac(paddle.to_tensor([1.5, -2.25])).tolist() == [0.5, -0.25]


def test_one_row_is_one_variable() -> None:
    x = t([[1.0, 2.0, 3.0]])
    assert paddle.linalg.cov(x, rowvar=False).item() == 1
    assert paddle.linalg.corrcoef(x, rowvar=False).item() == 1


def test_sizes_by_keyword() -> None:
    x = t()
    assert x.new_ones(size=[2, 1]).tolist() == [[1], [1]]
    assert x.new_zeros(size=3).shape == x.new_empty(3).shape == [3]
    assert x.repeat(repeats=[2, 1, 1]).shape == x.repeat(2, 1, 1).shape == [4, 3, 4]
    assert t([1.0]).repeat(repeats=2).tolist() == [1, 1]


def test_transpose_takes_the_whole_order() -> None:
    assert tuple(t().transpose([2, 0, 1]).shape) == (4, 2, 3)
    assert tuple(paddle.transpose(t(), perm=[1, 0, 2]).shape) == (3, 2, 4)


def test_reshape_keeps_sizes_named_zero() -> None:
    assert tuple(t().reshape([0, -1]).shape) == (2, 12)
    assert tuple(t().reshape([-1, 0, 2]).shape) == (4, 3, 2)


def test_gather_and_scatter_rows() -> None:
    x = t([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert values(paddle.gather(x, t([2, 0]))) == [[5, 6], [1, 2]]
    assert values(x.gather(t([1]), axis=1)) == [[2], [4], [6]]
    index, updates = t([0, 0]), t([[1.0, 1.0], [2.0, 2.0]])
    assert values(paddle.scatter(x, t([1]), t([[9.0, 9.0]]))) == [[1, 2], [9, 9], [5, 6]]
    assert values(paddle.scatter(x, index, updates, overwrite=False)) == [[3, 3], [3, 4], [5, 6]]


def test_index_functions_take_the_index_before_the_axis() -> None:
    x = t([[1.0, 2.0], [3.0, 4.0]])
    assert values(paddle.index_select(x, t([1]), 1)) == [[2], [4]]
    assert values(x.index_add(t([0]), 0, t([[1.0, 1.0]]))) == [[2, 3], [3, 4]]
    assert values(paddle.index_fill(x, t([0]), 0, 7.0)) == [[7, 7], [3, 4]]


def test_reductions() -> None:
    assert values(paddle.max(t(), axis=1)) == A.max(1).tolist()
    assert values(t().min(axis=0, keepdim=True)) == A.min(0, keepdims=True).tolist()
    np.testing.assert_allclose(np.asarray(t().std()), A.std(ddof=1), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(paddle.var(t(), 1, False)), A.var(1), rtol=1e-6)
    assert values(paddle.sum(t(), 1, None, True)) == A.sum(1, keepdims=True).tolist()
    np.testing.assert_allclose(np.asarray(paddle.norm(t())), np.linalg.norm(A), rtol=1e-6)
    assert paddle.argmax(t(), axis=1, dtype="int32").dtype == "int32"


def test_median() -> None:
    x = t([4.0, 1.0, 3.0, 2.0])
    assert values(paddle.median(x)) == 2.5
    assert values(paddle.median(x, mode="min")) == 2
    found = paddle.median(x, axis=0, mode="min")
    assert isinstance(found, tuple)
    assert [values(f) for f in found] == [2, 3]
    with pytest.raises(ValueError, match="mode"):
        paddle.median(x, mode="max")
    medians: list[Any] = [paddle.median, paddle.nanmedian]
    for median in medians:
        none = paddle.zeros([0, 3])
        none.stop_gradient = False
        found = median(none, axis=0, keepdim=True)
        assert found.shape == [1, 3]
        assert paddle.isnan(found).all()
        found.sum().backward()
        assert none.grad.shape == [0, 3]
        assert str(median(none.astype("int64")).numpy()) == "nan"
        assert median(none, axis=1).shape == [0]


def test_sorting() -> None:
    x = t([3.0, 1.0, 2.0])
    assert values(paddle.sort(x, descending=True)) == [3, 2, 1]
    top, where = paddle.topk(x, 2)
    assert (values(top), values(where)) == ([3, 2], [0, 2])
    running, at = paddle.cummax(x, 0)
    assert (values(running), values(at)) == ([3, 3, 3], [0, 0, 0])


def test_matmul_transposes() -> None:
    x, y = t(A[0]), t(A[1])
    np.testing.assert_allclose(np.asarray(paddle.matmul(x, y, transpose_y=True)), A[0] @ A[1].T)
    np.testing.assert_allclose(np.asarray(x.matmul(y, True)), A[0].T @ A[1])


def test_joining() -> None:
    x = t([1.0, 2.0])
    assert values(paddle.concat([x, x])) == [1, 2, 1, 2]
    assert values(paddle.concat(x=[x, x], axis=0)) == [1, 2, 1, 2]
    assert values(paddle.stack([x, x], axis=1)) == [[1, 1], [2, 2]]
    assert [values(p) for p in paddle.unstack(paddle.stack([x, 2 * x]))] == [[1, 2], [2, 4]]


def test_meshgrid_runs_along_the_first_axis() -> None:
    a, b = paddle.meshgrid(t([1.0, 2.0]), t([3.0, 4.0, 5.0]))
    assert tuple(a.shape) == (2, 3)
    assert values(a) == [[1, 1, 1], [2, 2, 2]]
    assert values(b) == [[3, 4, 5], [3, 4, 5]]


def test_equal_all_and_nonzero() -> None:
    assert values(paddle.equal_all(t([1.0]), t([1.0]))) is True
    assert values(paddle.equal_all(t([1.0]), t([1.0, 2.0]))) is False
    assert values(paddle.nonzero(t([0.0, 3.0, 4.0]))) == [[1], [2]]
    assert [values(i) for i in paddle.nonzero(t([0.0, 3.0, 4.0]), as_tuple=True)] == [[1, 2]]


def test_functional() -> None:
    F: Any = paddle.nn.functional
    generator = np.random.default_rng(0)
    x, w, b = generator.normal(size=(4, 3)), generator.normal(size=(3, 5)), generator.normal(size=5)
    np.testing.assert_allclose(np.asarray(F.linear(t(x), t(w), t(b))), x @ w + b)
    logits = t(x @ w)
    picked = np.array([0, 4, 2, 1])
    logp = np.log(np.exp(x @ w) / np.exp(x @ w).sum(-1, keepdims=True))
    expected = -logp[np.arange(4), picked]
    np.testing.assert_allclose(np.asarray(F.cross_entropy(logits, t(picked))), expected.mean())
    loss = F.cross_entropy(logits, t(picked[:, None]), reduction="none")
    np.testing.assert_allclose(np.asarray(loss), expected[:, None])
    smoothed = F.cross_entropy(logits, t(picked), reduction="none", label_smoothing=0.2)
    np.testing.assert_allclose(np.asarray(smoothed), 0.8 * expected[:, None] - 0.2 * logp.mean(-1, keepdims=True))
    np.testing.assert_allclose(
        np.asarray(F.cross_entropy(F.softmax(logits), t(picked), use_softmax=False)), expected.mean()
    )
    # Examples have weights by their probabilities, which are those of the smoothed labels.
    weight = np.array([0.2, 0.3, 0.5, 1.0, 2.0])
    hard = np.eye(5)[picked]
    p = 0.6 * hard + 0.4 / 5
    losses, of_example = -(p * logp).sum(-1), p @ weight
    for label in (t(picked), t(hard), t(hard.astype("int64"))):
        for scores, softmax in ((logits, True), (F.softmax(logits), False)):
            smooth: Any = {"label_smoothing": 0.4, "use_softmax": softmax}
            found = F.cross_entropy(scores, label, t(weight), **smooth)
            np.testing.assert_allclose(np.asarray(found), (losses * of_example).sum() / of_example.sum())
            found = F.cross_entropy(scores, label, t(weight), reduction="none", **smooth)
            np.testing.assert_allclose(np.asarray(found), (losses * of_example)[:, None])
            np.testing.assert_allclose(np.asarray(F.cross_entropy(scores, label, **smooth)), losses.mean())
    images = F.cross_entropy(t((x @ w).T[None]), t(p.T[None]), t(weight), soft_label=True, axis=1, reduction="sum")
    np.testing.assert_allclose(np.asarray(images), (losses * of_example).sum())
    with pytest.raises(ValueError, match="reduction"):
        F.cross_entropy(logits, t(hard), t(weight), soft_label=True, reduction="max")
    assert F.one_hot(t([1, 0]), 3).dtype == "float32"
    np.testing.assert_allclose(np.asarray(F.mse_loss(input=t(x), label=t(2 * x))), np.mean(x * x))
    assert tuple(F.pad(t(), [1, 2]).shape) == (2, 3, 7)
    assert tuple(F.pad(t(), [1, 0, 0, 0, 0, 2]).shape) == (3, 3, 6)


def test_gradients_flow_through_methods() -> None:
    x = paddle.to_tensor([3.0, 1.0, 2.0], stop_gradient=False)
    first, _ = x.split([2, 1])
    assert isinstance(first, paddle.Tensor)
    first.sum().backward()
    assert x.gradient().tolist() == [1, 1, 0]


def test_assign_lets_gradients_flow_and_keeps_leaves() -> None:
    x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    for start in ([0.0, 0.0, 0.0], [[0.0]]):
        output = t(start)
        assert paddle.assign(x * 2, output) is output
        (dx,) = paddle.grad((output * output).sum(), x)
        assert values(dx) == [8, 16, 24]
    leaf = paddle.to_tensor([0.0], stop_gradient=False)
    paddle.assign(np.array([1.0, 2.0]), leaf)
    assert leaf.is_leaf
    assert not leaf.stop_gradient
    assert values(leaf) == [1, 2]
    (leaf * leaf).backward()
    assert leaf.gradient().tolist() == [2, 4]
    with pytest.raises(ValueError, match="can't use inplace strategy"):
        paddle.assign(x, leaf)
    inner = x * 2
    paddle.assign(np.ones(3, np.float32), inner)
    assert values(paddle.grad((inner + x).sum(), x)[0]) == [1, 1, 1]


def test_functions_that_change_nothing_return_the_tensor_itself() -> None:
    x: Any = t([1.0, 2.0])
    P: Any = paddle
    assert x.float() is x.type_as(x) is +x is P.positive(x) is x


def test_diagonals_written_to() -> None:
    x: Any = paddle.zeros([5, 2])
    want = np.zeros((5, 2))
    np.fill_diagonal(want, 3, wrap=True)
    assert x.fill_diagonal_(3, wrap=True) is x
    assert x.numpy().tolist() == want.tolist()
    x = paddle.zeros([2, 3])
    assert x.fill_diagonal_(1, offset=1).numpy().tolist() == [[0, 1, 0], [0, 0, 1]]
    x = t(np.zeros((2, 2, 3), np.float32))
    x.fill_diagonal_(1)
    assert paddle.argwhere(x).tolist() == [[0, 0, 0], [1, 1, 1]]
    assert paddle.argwhere((x * 0).fill_diagonal_(1, offset=2)).tolist() == [[0, 0, 2]]
    # A wrong argument is found before anything is written.
    x, y = paddle.zeros([7, 2]), torch.zeros(7, 2)
    wrong: Any = torch.ones(2)
    with pytest.raises(ValueError, match="ambiguous"):
        x.fill_diagonal_(1, wrap=t([1.0, 2.0]))
    with pytest.raises(ValueError, match="ambiguous"):
        y.fill_diagonal_(1, wrong)
    assert not x.any()
    assert not y.any()


def test_a_diagonal_of_tensors_written_to() -> None:
    x, row = t(np.zeros((2, 3, 2), np.float32)), t([[1.0, 2.0], [3.0, 4.0]])
    x.stop_gradient = row.stop_gradient = False
    y = x.fill_diagonal_tensor(row)
    assert y.numpy().tolist() == [[[1, 3], [0, 0], [0, 0]], [[0, 0], [2, 4], [0, 0]]]
    along = (x * 1).fill_diagonal_tensor_(t(np.ones((3, 2), np.float32)), 0, 0, 2)
    assert along.numpy()[0].tolist() == [[1, 0]] * 3
    dx, drow = paddle.grad((y * y + y).sum(), [x, row])
    assert values(drow) == [[3, 5], [7, 9]]
    assert values(dx) == [[[0, 0], [1, 1], [1, 1]], [[1, 1], [0, 0], [1, 1]]]


def test_running_sums_of_all_elements_make_a_vector_of_the_tensor() -> None:
    x = t([[1.0, 2.0], [3.0, 4.0]])
    x.stop_gradient = False
    y = x * 1
    assert y.cumsum_() is y
    assert values(y) == [1, 3, 6, 10]
    assert values(paddle.grad((y * y).sum(), x)[0]) == [[40, 38], [32, 20]]
    assert values((x * 1).cumsum_(axis=0)) == [[1, 2], [4, 6]]


def test_functions_that_write_take_their_arguments_by_name() -> None:
    P: Any = paddle
    x, ones = paddle.zeros([2, 2]), paddle.ones([2, 2])
    assert P.addmm_(x, x=ones, y=ones) is x
    assert values(x) == [[2, 2], [2, 2]]
    assert values(P.exp_(x=paddle.zeros([1]))) == [1]
    assert values(t(np.ones((1, 2, 2), np.float32)).baddbmm_(x=ones[None], y=ones[None], beta=0.5)) == [[[2.5] * 2] * 2]
    y = paddle.zeros([2, 2])
    assert P.where_(t([True, False]), x, y) is x
    assert values(x) == [[2, 0], [2, 0]]


def test_arguments_that_are_0d_tensors() -> None:
    four: Any = t(4)
    assert paddle.arange(four).tolist() == [0, 1, 2, 3]
    assert paddle.arange(four).dtype == "int64"
    assert paddle.arange(t(1.0), four, t([1.0])).tolist() == [1.0, 2.0, 3.0]
    x = t(np.zeros((3, 3, 3), np.float32))
    for at in (t(2), (t(2), t(0)), (t(2), slice(1, 3))):
        before = values(x.sum())
        x[at][0] = 1.0 + before
        assert values(x.sum()) > before
    assert x[:0].is_empty()
    assert not x.is_empty()


def test_a_range_as_index() -> None:
    x = paddle.arange(12).reshape([3, 4])
    assert x[range(0, 3, 2), 1].tolist() == [1, 9]
    x[:, range(2)] = 0
    assert x.tolist() == [[0, 0, 2, 3], [0, 0, 6, 7], [0, 0, 10, 11]]


def test_slogdet_is_one_tensor() -> None:
    x = t([[2.0, 0.0], [0.0, -3.0]])
    x.stop_gradient = False
    found = paddle.linalg.slogdet(x)
    assert values(found) == pytest.approx([-1, np.log(6)])
    assert values(x.slogdet()) == values(found)
    assert values(paddle.grad(found[1], x)[0]) == [[0.5, 0], [0, pytest.approx(-1 / 3)]]


def test_put_along_axis_reduces() -> None:
    P: Any = paddle
    x, at = t([[1.0, 2.0, 3.0]]), t([[0, 0]])
    for reduce, with_self, want in (
        ("mul", True, 15.0),
        ("multiply", False, 15.0),
        ("mean", True, 3.0),
        ("mean", False, 4.0),
        ("amax", True, 5.0),
        ("amin", False, 3.0),
        ("add", True, 9.0),
    ):
        found = P.put_along_axis(x, at, t([[3.0, 5.0]]), 1, reduce, with_self, broadcast=False)
        assert found.numpy().tolist() == [[want, 2, 3]]
    assert P.put_along_axis(x, at, t([[3.0, 5.0]]), 1, broadcast=False).numpy().tolist() == [[5, 2, 3]]
    for a, b in (([2, 2], [2, 2]), ([1, 2, 2], [2, 2, 2])):
        with pytest.raises(ValueError, match="bmm"):
            P.bmm(paddle.ones(a), paddle.ones(b))


def test_index_tensors_of_shape_n_1_and_0d() -> None:
    x = paddle.arange(12, dtype="float32").reshape([4, 3])
    x.stop_gradient = False
    column, number = paddle.to_tensor([[2], [0]]), paddle.to_tensor(1)
    rows = paddle.ones([2, 3])
    assert paddle.gather(x, column).numpy().tolist() == [[6, 7, 8], [0, 1, 2]]
    assert paddle.gather(x, column, axis=1).numpy().tolist() == [[2, 0], [5, 3], [8, 6], [11, 9]]
    assert paddle.gather(x, number).numpy().tolist() == [3, 4, 5]
    assert paddle.gather(x, number, axis=1).numpy().tolist() == [1, 4, 7, 10]
    assert paddle.index_select(x, column).numpy().tolist() == [[6, 7, 8], [0, 1, 2]]
    for overwrite in (True, False):
        y = paddle.scatter(x, column, rows, overwrite=overwrite)
        assert y.numpy().tolist() == [[1, 1, 1], [3, 4, 5], [1, 1, 1], [9, 10, 11]]
        assert paddle.grad([y], [x])[0].numpy()[:, 0].tolist() == [0, 1, 0, 1]
    with pytest.raises(ValueError, match="the index is a vector or a column"):
        paddle.gather(x, paddle.to_tensor([[1, 2]]))


@pytest.mark.parametrize("mean", [1 + 2j, "tensor"])
@pytest.mark.parametrize("std", [2.0, "tensor"])
def test_normal_numbers_with_a_complex_mean(mean: Any, std: Any) -> None:
    shape = [400, 50]
    mean = paddle.full(shape, 1 + 2j, "complex128") if mean == "tensor" else mean
    std = paddle.full(shape, 2.0) if std == "tensor" else std
    x = paddle.normal(mean, std, shape if isinstance(mean, complex) and isinstance(std, float) else None)
    assert list(x.shape) == shape
    assert x.dtype == ("complex64" if isinstance(mean, complex) else "complex128")
    values = x.numpy()
    np.testing.assert_allclose(values.mean(), 1 + 2j, atol=0.1)
    np.testing.assert_allclose([values.real.var(), values.imag.var()], 2.0, rtol=0.1)


def test_functions_that_are_methods_too() -> None:
    x, y = t([1.0, 2.0, 4.0]), t([3.0, 5.0, 7.0])
    assert x.trapezoid().item() == paddle.trapezoid(x).item() == 4.5
    assert x.trapezoid(x=y).item() == 9.0
    assert x.cumulative_trapezoid(dx=2.0).tolist() == [3.0, 9.0]
    np.testing.assert_allclose(x.polar(y).numpy(), x.numpy() * np.exp(1j * y.numpy()), rtol=1e-6)
    assert (x > 1.5).where(x, y).tolist() == [3.0, 2.0, 4.0]
    assert (x > 1.5).where_(x, y) is x
    assert x.tolist() == [3.0, 2.0, 4.0]
    assert t([[1], [0]]).scatter_nd(t([5.0, 6.0]), [3]).tolist() == [6.0, 5.0, 0.0]
    assert x.add_n().tolist() == x.tolist()
    assert [list(f().shape) for f in (x.block_diag, x.atleast_1d, x.atleast_2d, x.atleast_3d)] == [
        *([1, 3], [3], [1, 3], [1, 3, 1])
    ]
    assert x.is_tensor()


def test_means_of_integers_are_whole() -> None:
    x = t([1, 2, 4, -9])
    assert paddle.mean(x).tolist() == 0
    assert x.mean().dtype == paddle.int64
    assert t([[1, 2], [4, 5]]).mean(1).tolist() == [1, 4]
    assert t([True, False]).mean().item() is True
    assert t([1.0, 4.0]).mean(dtype="int32").tolist() == 2
    assert x.mean(dtype="float32").tolist() == -0.5
    assert t([-1, -2]).mean(axis=[0], keepdim=True).tolist() == [-1]


def test_softmax_in_a_dtype_of_integers_is_refused() -> None:
    for softmax in (paddle.softmax, paddle.nn.functional.softmax, paddle.nn.functional.log_softmax):
        with pytest.raises(ValueError, match="floating point or complex"):
            softmax(t([1.0, 2.0]), 0, dtype="int64")
