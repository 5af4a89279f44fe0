"""Functions of Paddle's namespace that the core does not have: values of NumPy, or that Paddle's own wheel gives."""

from __future__ import annotations

import math
from typing import Any

import ferrograd.paddle
import numpy as np
import pytest
from ferrograd import ArgumentError, testing

from tests.dialects import values

# The type checker knows the core's functions, whose arguments are others.
paddle: Any = ferrograd.paddle
F = paddle.nn.functional
A = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


def t(data: Any = A, dtype: Any = None) -> Any:
    return paddle.to_tensor(data, dtype)


def near(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found.detach().numpy()), wanted, rtol=2e-5, atol=1e-6)


def test_arithmetic_with_factors_and_rounding() -> None:
    x, y = t([7, -7]), t([2, 2])
    assert values(paddle.add(x, y, alpha=2)) == [11, -3]
    assert values(x.subtract(y, alpha=2)) == [3, -11]
    assert values(paddle.sub(x, y)) == [5, -9]
    assert values(paddle.divide(x, y, rounding_mode="trunc")) == [3, -3]
    assert values(x.div(y, rounding_mode="floor")) == [3, -4]
    assert values(paddle.floor_mod(x, y)) == [1, 1]
    z = t([1.0, 2.0])
    z.divide_(t([4.0, 1.0]))
    assert values(z) == [0.25, 2]
    assert values(paddle.bitwise_right_shift(t([-8], "int32"), t([1], "int32"), False)) == [2**31 - 4]
    assert values(paddle.bitwise_left_shift(t([-8]), t([1]))) == [-16]
    assert values(paddle.isneginf(t([-math.inf, 1, math.inf]))) == [True, False, False]
    assert values(t([-math.inf, 1, math.inf]).isposinf()) == [False, False, True]


def test_reductions() -> None:
    x = t([[1.0, 2.0, math.nan], [3.0, 4.0, 5.0]])
    assert values(paddle.nansum(x, 1, "float64", True)) == [[3], [12]]
    assert values(paddle.nanmedian(x, axis=1)) == [1.5, 4]
    assert values(paddle.nanmedian(x)) == 3
    assert values(paddle.nanmedian(x, keepdim=True)) == [[3]]
    assert [values(part) for part in x.nanmedian(1, mode="min")] == [[1, 4], [0, 1]]
    near(paddle.nanmedian(t(), axis=[0, 2]), np.median(A, axis=(0, 2)))
    near(paddle.var(t(), 1, correction=0), A.var(1))
    near(paddle.quantile(t(), [0.2, 0.5], axis=[0, 1]), np.quantile(A, [0.2, 0.5], (0, 1)))
    near(paddle.reduce_as(t(), paddle.zeros([3, 1])), A.sum((0, 2))[:, None])
    near(paddle.softmax(t()), np.exp(A) / np.exp(A).sum(0))
    near(t().softmax(), np.exp(A) / np.exp(A).sum(0))
    assert t().softmax(dim=1, dtype="float32").dtype == paddle.float32
    near(paddle.special.softmax(t()), np.exp(A) / np.exp(A).sum(0))
    near(F.softmax_(t(), -1), np.exp(A) / np.exp(A).sum(-1, keepdims=True))
    near(paddle.polygamma(t([1.0]), 1), [math.pi**2 / 6])


def test_shapes() -> None:
    assert [x.shape for x in paddle.atleast_1d(t(1.0), t([2.0, 3.0]))] == [[1], [2]]
    assert paddle.atleast_2d(t(1.0)).shape == [1, 1]
    assert paddle.atleast_3d(t([2.0, 3.0])).shape == [1, 2, 1]
    near(paddle.crop(t(), [1, -1, 2], [1, 1, 0]), A[1:, 1:, :2])
    with pytest.raises(ValueError, match="are not in axis 0"):
        paddle.crop(t(), [3, 1, 1])
    assert [x.shape for x in paddle.hsplit(t(), 3)] == [[2, 1, 4]] * 3
    assert [x.shape for x in t().dsplit([1, 3])] == [[2, 3, 1], [2, 3, 2], [2, 3, 1]]
    assert [x.shape for x in paddle.vsplit(t(), 2)] == [[1, 3, 4]] * 2
    assert isinstance(paddle.tensor_split(t(), 2, axis=2), list)
    near(paddle.reverse(t(), [0, 2]), A[::-1, :, ::-1])
    near(paddle.unfold(t(), 2, 2, 1), np.lib.stride_tricks.sliding_window_view(A, 2, axis=2))
    near(paddle.vander(t([1.0, 2.0, 3.0]), 2, True), np.vander([1, 2, 3], 2, increasing=True))
    near(paddle.swapaxes(t(), [2, 0, 1]), A.transpose(2, 0, 1))
    assert paddle.view(t(), [4, 6]).shape == [4, 6]
    near(paddle.slice_scatter(paddle.zeros([4, 3]), paddle.ones([2, 3]), [0], [1], [4], [2])[:, 0], [0, 1, 0, 1])


def test_slice_scatter_has_gradients_of_both_arguments() -> None:
    x, part = paddle.zeros([3], requires_grad=True), paddle.ones([2], requires_grad=True)
    (paddle.slice_scatter(x, part, [0], [0], [2], [1]) * t([1.0, 2.0, 3.0])).sum().backward()
    assert values(x.grad) == [0, 0, 3]
    assert values(part.grad) == [1, 2]


def test_indices_and_sets() -> None:
    rows = t([[3, 1], [1, 1], [3, 1]])
    assert [values(x) for x in paddle.unique(t([3, 1, 1]), True, True, True)] == [[1, 3], [1, 0], [1, 0, 0], [2, 1]]
    found = paddle.unique(rows, return_counts=True, axis=0, dtype="int32")
    assert [values(x) for x in found] == [[[1, 1], [3, 1]], [1, 2]]
    assert found[1].dtype == "int32"
    assert [values(x) for x in paddle.unique_consecutive(t([1, 1, 2, 1]), True, True)] == [
        [1, 2, 1],
        [0, 0, 1, 2],
        [2, 1, 1],
    ]
    assert values(paddle.take(t([5, 6, 7]), t([-1, 4]), mode="clip")) == [5, 7]
    assert values(paddle.take(t([5, 6, 7]), t([-1, 4]), mode="wrap")) == [7, 6]
    with pytest.raises(IndexError):
        paddle.take(t([5, 6, 7]), t([4]))
    assert values(paddle.searchsorted(t([1.0, 3.0]), t([3.0]), True, True)) == [2]
    assert values(paddle.bucketize(t([3.0]), t([1.0, 3.0]))) == [1]
    assert values(paddle.isin(t([1, 2]), t([2]), invert=True)) == [True, False]
    assert values(paddle.shard_index(t([[16], [1]]), 20, 2, 0)) == [[-1], [1]]
    assert values(paddle.index_add(t([1.0, 2.0]), t([0]), 0, t([5.0]), alpha=2)) == [11, 2]
    assert values(paddle.tril_indices(2, 2)) == [[0, 1, 1], [0, 0, 1]]


def test_histograms() -> None:
    x = t([1.0, 2.0, 1.0])
    assert values(paddle.histogram(x, bins=4, min=0, max=3)) == [0, 2, 1, 0]
    assert values(paddle.histogram(x, 4, 0, 3, weight=x)) == [0, 2, 2, 0]
    near(x.histogram(4, 0, 3, density=True), [0, 2 / 2.25, 1 / 2.25, 0])
    near(paddle.histogram_bin_edges(x, bins=2), [1, 1.5, 2])
    counts, edges = paddle.histogramdd(t([[0.0, 0], [1, 1], [2, 2]]), bins=[2, 2])
    assert values(counts) == [[1, 0], [0, 2]]
    assert [values(edge) for edge in edges] == [[0, 1, 2]] * 2


def test_segments() -> None:
    x = t([[1.0, 2.0], [3.0, 2.0], [5.0, -5.0]])
    x.stop_gradient = False
    ids = t([0, 0, 2])
    assert values(paddle.geometric.segment_sum(x, ids)) == [[4, 4], [0, 0], [5, -5]]
    assert values(paddle.geometric.segment_mean(x, ids)) == [[2, 2], [0, 0], [5, -5]]
    assert values(paddle.incubate.segment_max(x, ids)) == [[3, 2], [0, 0], [5, -5]]
    found = paddle.geometric.segment_min(x, ids)
    assert values(found) == [[1, 2], [0, 0], [5, -5]]
    assert values(paddle.grad(found.sum(), x)[0]) == [[1, 0.5], [0, 0.5], [1, 1]]
    assert paddle.geometric.segment_sum(x[:0], ids[:0]).shape == [0, 2]
    for wrong in (t([0, 0]), t([1, 0, 2]), t([-1, 0, 2]), t([0.0, 0.0, 1.0])):
        with pytest.raises(ValueError, match="segment_sum"):
            paddle.geometric.segment_sum(x, wrong)


def test_creation() -> None:
    assert paddle.FloatTensor([1, 2]).dtype == paddle.float
    assert paddle.LongTensor(2, 3).shape == [2, 3]
    assert values(paddle.range(1, 2, 0.5)) == [1, 1.5, 2]
    assert not paddle.as_tensor([1.0], requires_grad=True).stop_gradient
    assert paddle.from_numpy(A).shape == [2, 3, 4]
    assert values(paddle.from_dlpack(paddle.to_dlpack(t([1, 2])))) == [1, 2]
    assert paddle.broadcast_shapes([2, 1], [3], [1, 1, 1]) == [1, 2, 3]
    assert list(paddle.batch(lambda: iter(range(5)), 2)()) == [[0, 1], [2, 3], [4]]
    assert list(paddle.batch(lambda: iter(range(5)), 2, drop_last=True)()) == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="only device"):
        paddle.CUDAPlace(0)


def test_random_numbers() -> None:
    paddle.seed(0)
    assert values(paddle.multinomial(t([0.0, 3.0, 0.0]), 2, replacement=True)) == [1, 1]
    assert sorted(values(paddle.multinomial(t([1.0, 3.0, 2.0]), 3))) == [0, 1, 2]
    for count, text in ((4, r"n_sample > prob_dist.size\(-1\)"), (3, "fewer weights of a row are above zero")):
        with pytest.raises(ArgumentError, match=text):
            paddle.multinomial(t([1.0, 0.0, 2.0]), count)
    n = 2000
    assert abs(float(paddle.poisson(paddle.full([n], 4.0)).mean()) - 4) < 0.2
    drawn = paddle.binomial(paddle.full([n], 10), paddle.full([n], 0.3))
    assert drawn.dtype == "int64"
    assert abs(float(drawn.mean(dtype="float32")) - 3) < 0.2
    assert abs(float(paddle.standard_gamma(paddle.full([n], 2.0)).mean()) - 2) < 0.2
    assert abs(float(paddle.log(paddle.log_normal(0.5, 1.0, [n])).mean()) - 0.5) < 0.1
    assert set(values(paddle.zeros([50]).bernoulli_(0.5))) == {0, 1}
    assert values(paddle.bernoulli(paddle.zeros([2]), 1.0)) == [1, 1]
    assert abs(float(paddle.zeros([n]).cauchy_(3.0, 0.1).median()) - 3) < 0.05
    assert abs(float(paddle.ceil(paddle.zeros([n]).geometric_(0.5)).mean()) - 2) < 0.2
    assert 0 <= float(paddle.uniform([n]).min()) < 0.1


def test_linear_algebra() -> None:
    square, right = t(A[:, :, :3]), t(A[:, :2, :3])
    near(paddle.linalg.solve(square, right, left=False) @ square, A[:, :2, :3])
    near(
        paddle.linalg.solve(square[:, :2, :2], t(A[:, 0, :2])), np.linalg.solve(A[:, :2, :2], A[:, 0, :2, None])[..., 0]
    )
    near(paddle.linalg.vector_norm(t(), 3, [0, 1]), (np.abs(A) ** 3).sum((0, 1)) ** (1 / 3))
    near(paddle.linalg.matrix_norm(t(), p="nuc"), np.linalg.svd(A, compute_uv=False).sum(-1))
    assert paddle.linalg.norm(t(), dtype="float64").dtype == "float64"
    assert values(paddle.linalg.matrix_rank(t(), tol=t([0.1, 2.0]))) == [3, 1]


def test_losses_of_many_classes() -> None:
    x = t(A[0])
    x.stop_gradient = False
    weight = np.arange(20, dtype=np.float32).reshape(5, 4) / 10
    loss = F.hsigmoid_loss(x, t([0, 3, 5]), 6, t(weight))
    # The path of a label leads through the halves of label + 6; its last turn is the lowest bit.
    wanted = []
    for row, label in zip(A[0].astype(np.float64), (6, 9, 11), strict=True):
        nodes = [(label >> j + 1, label >> j & 1) for j in range(label.bit_length() - 1)]
        wanted.append([sum(np.logaddexp(0, s) - bit * s for n, bit in nodes for s in [row @ weight[n - 1]])])
    near(loss, wanted)
    loss.sum().backward()
    assert x.grad.shape == [3, 4]
    path, code = t([[0, 2, -1], [0, 1, 3], [3, -1, -1]]), t([[0, 1, 0], [1, 0, 1], [1, 0, 0]])
    near(F.hsigmoid_loss(x, t([0, 1, 2]), 3, t(weight[:4]), None, path, code)[1], [2.119417])
    logits = np.tanh(A[0])
    angles = np.arccos(logits)
    moved = np.where(np.arange(4) == np.array([[0], [3], [1]]), np.cos(angles + 0.1) - 0.2, logits) * 8
    softmax = np.exp(moved) / np.exp(moved).sum(-1, keepdims=True)
    loss, soft = F.margin_cross_entropy(t(logits), t([0, 3, 1]), 1.0, 0.1, 0.2, 8.0, None, True, None)
    near(soft, softmax)
    near(loss, -np.log(softmax[[0, 1, 2], [0, 3, 1]])[:, None])


def test_adaptive_softmax() -> None:
    head = t(np.ones((4, 4), np.float32) * np.array([1, 2, 3, 4], np.float32))
    b = A[1].T.copy()
    tails = [[t(b[:, :2]), t(A[0, :2, :2])], [t(b[:, :1]), t(A[0, :1, :3])]]
    output, loss = F.adaptive_log_softmax_with_loss(t(A[0]), t([0, 3, 5]), head, tails, [2, 4, 7])
    inside = [A[0, 1] @ b[:, :2] @ A[0, :2, :2], A[0, 2] @ b[:, :1] @ A[0, :1, :3]]
    scores = [A[0, i].sum() * np.array([1, 2, 3, 4]) for i in range(3)]

    def log_softmax(x: Any) -> Any:
        return x - np.log(np.exp(x).sum())

    first = log_softmax(scores[0])[0]
    second = log_softmax(scores[1])[2] + log_softmax(inside[0])[1]
    third = log_softmax(scores[2])[3] + log_softmax(inside[1])[1]
    near(output, [first, second, third])
    near(loss, -np.mean([first, second, third]))
    one, _ = F.adaptive_log_softmax_with_loss(t(A[0, 1]), t(3), head, tails, [2, 4, 7])
    near(one, second)


def test_beams_and_centers() -> None:
    # The example of Paddle's documentation.
    ids = t([[[2, 2], [6, 1]], [[3, 9], [6, 1]], [[0, 1], [9, 0]]])
    parents = t([[[0, 0], [1, 1]], [[1, 0], [1, 0]], [[0, 0], [0, 1]]])
    assert values(F.gather_tree(ids, parents)) == [[[2, 2], [1, 6]], [[3, 3], [6, 1]], [[0, 1], [9, 0]]]
    places, chosen = F.class_center_sample(t([3, 1, 3]), 5, 4)
    assert len(values(chosen)) == 4
    assert [values(chosen)[i] for i in values(places)] == [3, 1, 3]


def test_pools_and_dropouts() -> None:
    x = t(np.abs(A)[None])
    pooled, mask = F.max_pool2d(x, 2, return_mask=True)
    near(F.max_unpool2d(pooled, mask, 2).sum(), pooled.sum().numpy())
    near(paddle.nn.MaxUnPool2D(2, output_size=[3, 4])(pooled, mask).amax([2, 3]), pooled.amax([2, 3]).numpy())
    windows = np.abs(A).reshape(2, 3, 2, 2)
    near(F.lp_pool1d(x[0], 3.0, 2), (windows**3).sum(-1) ** (1 / 3))
    near(paddle.nn.LPPool2D(2, [1, 2])(x), np.sqrt((windows**2).sum(-1))[None])
    kept = F.dropout1d(paddle.ones([8, 8, 3]), 0.5).numpy()
    assert (kept == kept[..., :1]).all()
    assert set(kept.ravel()) == {0, 2}
    dropped = F.feature_alpha_dropout(paddle.ones([8, 8, 3])).numpy()
    assert (dropped == dropped[..., :1]).all()
    y = paddle.ones([100])
    assert F.dropout(y, 0.5, inplace=True) is y
    assert set(values(y)) == {0, 2}
    near(F.prelu(t(), t([0.2, 0.3, 0.4, 0.5]), "NLC"), np.where(A > 0, A, A * np.array([0.2, 0.3, 0.4, 0.5])))


def test_pads() -> None:
    near(paddle.nn.ConstantPad1D([1, 2], 3.0)(t()), np.pad(A, [(0, 0), (0, 0), (1, 2)], constant_values=3))
    near(paddle.nn.CircularPad2D(1)(t(A[None])), np.pad(A[None], [(0, 0), (0, 0), (1, 1), (1, 1)], "wrap"))
    near(paddle.nn.ReplicationPad1D(1)(t()), np.pad(A, [(0, 0), (0, 0), (1, 1)], "edge"))
    near(paddle.nn.ReflectionPad1D(1)(t()), np.pad(A, [(0, 0), (0, 0), (1, 1)], "reflect"))


def test_embeddings_and_attention() -> None:
    table = t(A[0])
    rows = F.embedding(t([0, 1]), table, max_norm=1.0)
    near(rows, np.stack([A[0, 0], A[0, 1] / np.linalg.norm(A[0, 1])]))
    near(table[1], rows[1].numpy())
    q, kv = t(A[:, :, None].repeat(4, 2)), t(A[:, :, None].repeat(2, 2))
    few = F.scaled_dot_product_attention(q, kv, kv)
    near(few, F.scaled_dot_product_attention(q, q, q).numpy())
    near(
        F.scaled_dot_product_attention(q[0], kv[0], kv[0], is_causal=True),
        F.scaled_dot_product_attention(q, kv, kv, is_causal=True)[0].numpy(),
    )


def test_hinge_embedding_loss_leaves_out_other_labels() -> None:
    x = t([2.0, 0.25, 3.0, 4.0])
    x.stop_gradient = False
    loss = F.hinge_embedding_loss(x, t([1.0, -1.0, 0.0, 0.5]), reduction="none")
    near(loss, [2, 0.75, 0, 0])
    loss.sum().backward()
    near(x.grad, [1, -1, 0, 0])


def test_least_squares_of_full_rank_take_no_bound() -> None:
    a, b = np.diag([1.0, 0.1]), np.ones((2, 1))
    near(paddle.linalg.lstsq(t(a), t(b), 0.5, "gels")[0], [[1], [10]])
    near(paddle.linalg.lstsq(t(a), t(b), 0.5, "gelsd")[0], [[1], [0]])


def test_transposed_convolutions_take_groups_where_paddle_does() -> None:
    x, weight = paddle.ones([1, 2, 2, 2, 2]), paddle.ones([2, 1, 2, 2, 2])
    assert F.conv3d_transpose(x, weight, None, 1, 0, 0, 2, 1).shape == [1, 2, 3, 3, 3]
    assert F.conv2d_transpose(x[:, :, 0], weight[:, :, 0], None, 1, 0, 0, 2, 1).shape == [1, 1, 4, 4]


def test_printing_and_autocast() -> None:
    paddle.set_printoptions(precision=2)
    try:
        assert "0.33" in repr(t([1 / 3]))
        assert "0.333" not in repr(t([1 / 3]))
    finally:
        paddle.set_printoptions(precision=8)
    with paddle.autocast("cpu", dtype="bfloat16"):
        assert paddle.is_autocast_enabled()
        assert paddle.get_autocast_cpu_dtype() == "bfloat16"
    with paddle.autocast("cpu", enabled=False):
        assert not paddle.is_autocast_enabled()


def test_functions_that_are_methods() -> None:
    x = t([[4.0, 1.0], [1.0, 3.0]])
    near(x.eigvalsh(), np.linalg.eigvalsh(x.numpy()))
    near(x.cond(), np.linalg.cond(x.numpy()))
    assert values(t([[0, 1], [0, 0]]).argwhere()) == [[0, 1]]
    assert values(t([1, 2, 3]).combinations()) == [[1, 2], [1, 3], [2, 3]]
    assert values(t([1, 2], "int32").new_full([2], 3)) == [3, 3]
    assert t([1, 2], "int32").new_zeros([2]).dtype == "int32"
    assert x.new_ones([1], dtype="float64").dtype == "float64"
    assert x.new_empty([2, 0]).shape == [2, 0]
    near(t([1.0]).polygamma_(1), [math.pi**2 / 6])
    assert values(t([7, -7]).floor_mod_(t([3, 3]))) == [1, 2]
    index = np.array([[[0], [2], [1]]])
    near(paddle.take_along_dim(t(), t(index), axis=2), np.take_along_axis(A, np.repeat(index, 2, 0), 2))


def test_axes_may_be_tensors_and_keepdim_none() -> None:
    x = paddle.ones([1, 2, 3, 1])
    assert list(paddle.squeeze(x, axis=paddle.to_tensor([0, 3])).shape) == [2, 3]
    assert list(paddle.squeeze(x, axis=paddle.to_tensor(0)).shape) == [2, 3, 1]
    assert list(paddle.argmax(x, axis=1, keepdim=None).shape) == [1, 3, 1]


def test_cosine_similarity_bounds_the_product_of_the_norms() -> None:
    x, y = t([[0.1, 0.2], [3.0, 4.0]], "float64"), t([[0.3, 0.1]], "float64")
    similarity = paddle.nn.functional.cosine_similarity
    near(similarity(x, y, eps=0.5), [0.05 / 0.5, 1.3 / (5 * math.sqrt(0.1))])
    testing.check(lambda x, y: similarity(x, y, axis=0), (x, t([[1.0, 2.0], [0.5, -1.0]], "float64")))


def test_parts_of_complex_numbers_are_methods() -> None:
    z = paddle.to_tensor([1 + 2j, -3j], stop_gradient=False)
    assert (z.real().tolist(), z.imag().tolist()) == ([1, 0], [2, -3])
    (g,) = paddle.grad([(z.real() * z.imag()).sum()], [z])
    assert g.tolist() == [2 + 1j, -3 + 0j]
    assert paddle.ones([2]).real().tolist() == [1, 1]


def test_where_results_are_written_and_placed() -> None:
    cases: list[tuple[Any, list[int], str]] = [
        (lambda **kw: paddle.eye(2, 3, **kw), [2, 3], "float32"),
        (lambda **kw: paddle.arange(3, dtype="float32", **kw), [3], "float32"),
        (lambda **kw: paddle.range(0, 2, **kw), [3], "float32"),
        (lambda **kw: paddle.linspace(0, 1, 3, **kw), [3], "float32"),
        (lambda **kw: paddle.nn.functional.softmax(paddle.ones([2, 2]), **kw), [2, 2], "float32"),
        (lambda **kw: paddle.softmax(paddle.ones([2, 2]), **kw), [2, 2], "float32"),
        (lambda **kw: paddle.searchsorted(paddle.arange(3.0), paddle.ones([2]), **kw), [2], "int64"),
    ]
    for made, shape, dtype in cases:
        out = paddle.zeros(shape, dtype)
        assert made(out=out) is out
        assert out.tolist() == made().tolist() != paddle.zeros(shape).tolist()
    assert paddle.ones_like(paddle.full([1], 2.0, pin_memory=False), device="cpu", pin_memory=False).tolist() == [1]
    for made in (paddle.eye, paddle.arange):
        assert not made(2, dtype="float32", requires_grad=True).stop_gradient
        with pytest.raises(ferrograd.ArgumentError, match=f"{made.__name__}.*cuda"):
            made(2, device="cuda")


@pytest.mark.parametrize(
    ("shape", "size", "mode"),
    [([1, 1, 4], [7], "linear"), ([2, 1, 3, 4], [6, 5], "bilinear"), ([1, 1, 2, 3, 2], [3, 3, 5], "trilinear")],
)
def test_samples_may_stand_for_the_starts_of_cells(shape: list[int], size: list[int], mode: str) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    y = paddle.nn.functional.interpolate(
        paddle.to_tensor(x), size, mode=mode, align_mode=1, data_format=f"NC{'DHW'[-len(size) :]}"
    )
    want = x
    for axis, (n, m) in enumerate(zip(shape[2:], size, strict=True), 2):
        at = np.minimum(np.arange(m) * n / m, n - 1)
        low = np.floor(at).astype(int)
        part = (at - low).reshape([-1] + [1] * (x.ndim - 1 - axis))
        want = (1 - part) * np.take(want, low, axis) + part * np.take(want, np.minimum(low + 1, n - 1), axis)
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-12, atol=1e-12)
    with pytest.raises(ferrograd.ArgumentError, match="align_mode is 0 or 1"):
        paddle.nn.functional.interpolate(paddle.to_tensor(x), size, mode=mode, align_mode=2)


FROM_ZERO: dict[str, Any] = {
    "embedding": lambda x, i: paddle.nn.functional.embedding(i, x),
    "embedding with a norm": lambda x, i: paddle.nn.functional.embedding(i, x, max_norm=1.0),
    "one_hot": lambda x, i: paddle.nn.functional.one_hot(i, 3),
    "index_sample": lambda x, i: paddle.index_sample(x, i[:, None]),
    "multiplex": lambda x, i: paddle.multiplex([x, x], i[:, None]),
    "multi_margin_loss": lambda x, i: paddle.nn.functional.multi_margin_loss(x, i),
    "send_u_recv": lambda x, i: paddle.geometric.send_u_recv(x, i, paddle.to_tensor([0, 1])),
    "send_uv": lambda x, i: paddle.geometric.send_uv(x, x, paddle.to_tensor([0, 1]), i),
}


@pytest.mark.parametrize("name", FROM_ZERO)
def test_functions_that_count_indices_from_zero(name: str) -> None:
    x = paddle.ones([2, 3])
    with pytest.raises(IndexError, match="index -1 is out of bounds"):
        FROM_ZERO[name](x, paddle.to_tensor([-1, 0]))
    assert values(x) == [[1] * 3] * 2
    # Paddle's other functions count negative indices from the end.
    assert values(paddle.gather(paddle.arange(3), paddle.to_tensor([-1, 0]))) == [2, 0]
    assert values(paddle.index_select(paddle.arange(3), paddle.to_tensor([-1, 0]))) == [2, 0]


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_conditions_are_truth_values(dtype: str) -> None:
    with pytest.raises(ValueError, match="boolean"):
        paddle.where(paddle.to_tensor([2, 0]).astype(dtype), paddle.ones([2]), paddle.zeros([2]))


def test_a_layer_loads_all_of_a_state_or_nothing() -> None:
    layer = paddle.nn.Linear(2, 3)
    kept = values(layer.weight)
    for state in (5, {"weight": paddle.ones([2, 3]), "bias": "x"}):
        with pytest.raises(ArgumentError, match="set_state_dict: "):
            layer.set_state_dict(state)
    assert values(layer.weight) == kept


def test_trapezoids_take_none_for_what_is_not_given() -> None:
    y, x = t([[1.0, 2.0, 4.0]]), t([0.0, 1.0, 3.0])
    for found in (paddle.trapezoid(y, None, None), paddle.trapezoid(y=y, dx=None), y.trapezoid()):
        assert values(found) == [4.5]
    assert values(paddle.trapezoid(y, x)) == [7.5]
    assert values(paddle.trapezoid(y, dx=2.0, mode="cumsum")) == [[3, 9]]
    assert values(paddle.cumulative_trapezoid(y, dx=None)) == values(y.cumulative_trapezoid()) == [[1.5, 4.5]]
    with pytest.raises(ValueError, match="not both"):
        paddle.trapezoid(y, x, 2.0)
    with pytest.raises(ValueError, match="mode must be 'sum' or 'cumsum'"):
        paddle.trapezoid(y, mode="mean")


def test_nanmedian_of_one_number_along_its_only_axis() -> None:
    assert paddle.nanmedian(t(2.0), axis=0).item() == 2
    assert paddle.nanmedian(t(2.0), axis=-1, mode="min").item() == 2
    with pytest.raises(ValueError, match="axis"):
        paddle.nanmedian(t(2.0), axis=1)


def test_losses_refuse_margins_and_epsilons_below_zero() -> None:
    x = t([[1.0, 2.0]])
    for loss in (F.triplet_margin_loss, F.triplet_margin_with_distance_loss):
        assert loss(x, x, x, margin=0.0).item() == 0
        with pytest.raises(ValueError, match=r"margin is not negative, -0\.5 is"):
            loss(x, x, x, margin=-0.5)
    with pytest.raises(ValueError, match="epsilon is positive, 0 is not"):
        F.poisson_nll_loss(x, x, epsilon=0)


def test_cosine_embedding_loss_of_two_vectors_for_all_labels() -> None:
    x, labels = t([1.0, 0.0]), t([1.0, -1.0, 1.0])
    near(
        F.cosine_embedding_loss(x, t([1.0, 1.0]), labels, margin=0.2, reduction="none"),
        [1 - 0.5**0.5, 0.5**0.5 - 0.2, 1 - 0.5**0.5],
    )


def test_sparse_tensors_are_dense() -> None:
    values = paddle.to_tensor([3.0, 4.0, 5.0], stop_gradient=False)
    s = paddle.sparse.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], values, [2, 3])
    assert s.to_dense().tolist() == [[0.0, 0.0, 3.0], [9.0, 0.0, 0.0]]
    paddle.sparse.matmul(s, paddle.to_tensor([[1.0], [2.0], [3.0]])).sum().backward()
    assert values.grad.tolist() == [3.0, 1.0, 1.0]
    assert s.coalesce() is s.to_sparse_coo(2) is s.to_sparse_csr() is paddle.sparse.coalesce(s) is s
    assert (s.is_sparse(), s.is_sparse_coo(), s.is_sparse_csr()) == (False, False, False)
    assert (s.indices().tolist(), s.values().tolist()) == ([[0, 1], [2, 0]], [3.0, 9.0])
    leaf = paddle.sparse.sparse_coo_tensor([[0], [1]], [2.0], [1, 2], stop_gradient=False)
    assert leaf.is_leaf
    assert not leaf.stop_gradient
    again = paddle.sparse.sparse_csr_tensor([0, 1, 2], [2, 0], [3.0, 9.0], [2, 3], dtype="float64")
    assert again.tolist() == s.tolist()
    assert again.dtype == paddle.float64
    mask = paddle.to_tensor([[0.0, 1.0], [1.0, 0.0]])
    assert paddle.sparse.masked_matmul(paddle.ones([2, 2]), paddle.ones([2, 2]), mask).tolist() == [[0, 2], [2, 0]]
    assert paddle.sparse.is_same_shape(s, again)
    assert all(callable(getattr(paddle.sparse, name)) for name in paddle.sparse._SAME)
    for crows, cols in (([0, 3], [0, 1]), ([[0, 1]], [0])):
        with pytest.raises(ValueError, match="sparse_csr_tensor"):
            paddle.sparse.sparse_csr_tensor(crows, cols, [1.0, 2.0], [1, 2])
    with pytest.raises(AttributeError, match="all tensors are dense"):
        paddle.sparse.divide  # noqa: B018


def test_boxes_that_overlap_are_dropped() -> None:
    nms = paddle.vision.ops.nms
    boxes = t([[0.0, 0, 2, 2], [0, 0, 2, 3], [5, 5, 6, 6], [0, 0, 2, 2.5]])
    scores = t([0.5, 0.9, 0.1, 0.7])
    assert nms(boxes, 0.5).tolist() == [0, 2]
    assert nms(boxes, 0.5, scores).tolist() == [1, 2]
    assert nms(boxes, 0.7, scores).tolist() == [1, 0, 2]
    kinds = t([0, 1, 0, 0])
    assert nms(boxes, 0.5, scores, kinds, [0, 1]).tolist() == [1, 3, 2]
    assert nms(boxes, 0.5, scores, kinds, [0, 1], 2).tolist() == [1, 3]
    with pytest.raises(ValueError, match=r"boxes has the shape \[count, 4\]"):
        nms(scores)


def test_parts_of_images_in_boxes() -> None:
    x = paddle.arange(16.0).reshape([1, 1, 4, 4])
    x.stop_gradient = False
    align = paddle.vision.ops.roi_align
    boxes, count = t([[0.0, 0, 4, 4], [1, 1, 3, 3], [3, 3, 1, 1]]), t([3])
    found = align(x, boxes, count, 2)
    assert found.reshape([3, 4]).tolist() == [[2.5, 4.5, 10.5, 12.5], [5, 6, 9, 10], [0, 0, 0, 0]]
    assert align(x, boxes, count, (1, 2), 0.5, 2, aligned=False).shape == [3, 1, 1, 2]
    found.sum().backward()
    assert x.grad.sum().item() == pytest.approx(8)
    with pytest.raises(ValueError, match="boxes"):
        align(x, boxes, t([2]), 2)


def test_the_largest_elements_in_parts_of_boxes() -> None:
    pool = paddle.vision.ops.roi_pool
    images = np.random.default_rng(1).permutation(2 * 3 * 5 * 6).reshape(2, 3, 5, 6).astype(float)
    boxes = np.array([[0.5, 1, 2.5, 4], [-2, -2, 1, 0], [1, 1, 9, 9], [3, 3, 1, 1], [-9, -9, -8, -8]])
    count = t([2, 3], "int32")
    for scale in (1.0, 0.5):
        wanted = np.zeros((5, 3, 2, 3))
        for at in np.ndindex(5, 2, 3):
            x1, y1, x2, y2 = np.trunc(boxes[at[0]] * scale + np.copysign(0.5, boxes[at[0]]))
            spans = []
            for part, parts, first, last, n in ((at[1], 2, y1, y2, 5), (at[2], 3, x1, x2, 6)):
                size = max(last - first + 1, 1) / parts
                ends = first + np.floor(part * size), first + np.ceil((part + 1) * size)
                spans.append(slice(*(int(min(max(end, 0), n)) for end in ends)))
            found = images[int(at[0] > 1)][:, spans[0], spans[1]]
            wanted[at[0], :, at[1], at[2]] = found.max((1, 2)) if found.size else 0
        near(pool(t(images), t(boxes), count, (2, 3), scale), wanted)
    x = paddle.to_tensor(images, stop_gradient=False)
    assert testing.gradcheck(lambda x: pool(x, t(boxes), count, 2), (x,))
    assert pool(x, t(boxes[:0]), t([0, 0]), 2).shape == [0, 3, 2, 2]
    with pytest.raises(ValueError, match=r"roi_pool: .* boxes"):
        pool(x, t(boxes), t([2, 2]), 2)
    with pytest.raises(ValueError, match="output_size is an integer or two"):
        pool(x, t(boxes), count, (1, 2, 3))


def test_means_in_parts_of_boxes_with_channels_of_their_own() -> None:
    pool = paddle.vision.ops.psroi_pool
    images = np.random.default_rng(2).standard_normal((2, 12, 5, 6))
    boxes = np.array([[0.5, 1, 2.4, 4], [-2, -2, 1, 0], [1, 1, 9, 9], [3, 3, 1, 1], [-9, -9, -8, -8]])
    count = t([2, 3], "int32")
    for scale in (1.0, 0.5):
        wanted = np.zeros((5, 2, 2, 3))
        for at in np.ndindex(wanted.shape):
            x1, y1, x2, y2 = (np.trunc(boxes[at[0]] + np.copysign(0.5, boxes[at[0]])) + np.array([0, 0, 1, 1])) * scale
            spans = []
            for part, parts, first, last, n in ((at[2], 2, y1, y2, 5), (at[3], 3, x1, x2, 6)):
                size = max(last - first, 0.1) / parts
                ends = np.floor(first + part * size), np.ceil(first + (part + 1) * size)
                spans.append(slice(*(int(min(max(end, 0), n)) for end in ends)))
            found = images[int(at[0] > 1), 6 * at[1] + 3 * at[2] + at[3]][spans[0], spans[1]]
            wanted[at] = found.mean() if found.size else 0
        near(pool(t(images), t(boxes), count, (2, 3), scale), wanted)
        near(paddle.vision.ops.PSRoIPool((2, 3), scale)(t(images), t(boxes), count), wanted)
    x = paddle.to_tensor(images, stop_gradient=False)
    assert testing.gradcheck(lambda x: pool(x, t(boxes), count, 2), (x,))
    for wrong in (0, 5, (1, 2, 3)):
        with pytest.raises(ValueError, match="psroi_pool"):
            pool(x, t(boxes), count, wrong)


@pytest.mark.parametrize("normalized", [True, False])
def test_boxes_as_offsets_from_prior_boxes(normalized: bool) -> None:
    code = paddle.vision.ops.box_coder
    rng = np.random.default_rng(2)
    prior, boxes = (np.concatenate([a, a + 1 + rng.random((n, 2))], 1) for n in (4, 3) for a in [rng.random((n, 2))])
    spread, more = rng.random((4, 4)) + 0.1, 0 if normalized else 1
    sizes = [b[:, 2:] - b[:, :2] + more for b in (prior, boxes)]
    apart = (boxes[:, None, :2] + boxes[:, None, 2:]) / 2 - (prior[:, :2] + sizes[0] / 2)
    wanted = np.concatenate([apart / sizes[0], np.log(sizes[1][:, None] / sizes[0])], -1)
    near(code(t(prior), t(spread), t(boxes), box_normalized=normalized), wanted / spread)
    near(code(t(prior), None, t(boxes), box_normalized=normalized), wanted)
    near(code(t(prior), [0.1, 0.2, 0.3, 0.4], t(boxes), box_normalized=normalized), wanted / [0.1, 0.2, 0.3, 0.4])
    # Decoded boxes reach half of their size from the middle of the corners to both sides, but for the last pixel.
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    again = np.concatenate([middle - sizes[1] / 2, middle + sizes[1] / 2 - more], 1)
    for axis, order in ((0, (0, 1, 2)), (1, (1, 0, 2))):
        back = code(t(prior), t(spread), t((wanted / spread).transpose(order)), "decode_center_size", normalized, axis)
        near(back, np.repeat(again[:, None], 4, 1).transpose(order))
    inputs = [paddle.to_tensor(a, stop_gradient=False) for a in (prior, spread, boxes)]
    assert testing.gradcheck(lambda *ins: code(*ins, "encode_center_size", normalized), inputs)
    inputs[2] = paddle.to_tensor(wanted, stop_gradient=False)
    assert testing.gradcheck(lambda *ins: code(*ins, "decode_center_size", normalized), inputs)
    with pytest.raises(ValueError, match="code_type is not 'other'"):
        code(t(prior), None, t(boxes), "other")
    with pytest.raises(ValueError, match="are not the shapes of prior boxes"):
        code(t(prior), None, t(boxes), "decode_center_size")
    with pytest.raises(ValueError, match="4 prior boxes for offsets"):
        code(t(prior), None, t(wanted), "decode_center_size", axis=1)


@pytest.mark.parametrize("aware", [True, False])
def test_boxes_of_grids(aware: bool) -> None:
    yolo = paddle.vision.ops.yolo_box
    x = np.random.default_rng(3).standard_normal((2, 2 * (7 + aware), 2, 3))
    anchors, sizes = [10, 13, 16, 30], np.array([[64, 100], [50, 60]])

    def sigmoid(v: Any) -> Any:
        return 1 / (1 + np.exp(-v))

    overlap, values = sigmoid(x[:, :2]), x[:, 2 * aware :].reshape(2, 2, 7, 2, 3)
    for clips in (True, False):
        boxes, scores = np.zeros((2, 12, 4)), np.zeros((2, 12, 2))
        for row, (i, a, r, c) in enumerate(np.ndindex(2, 2, 2, 3)):
            v, (height, width) = values[i, a, :, r, c], sizes[i]
            trust = sigmoid(v[4]) ** 0.7 * overlap[i, a, r, c] ** 0.3 if aware else sigmoid(v[4])
            if trust < 0.4:
                continue
            x0 = (c + sigmoid(v[0]) * 1.2 - 0.1) * width / 3
            y0 = (r + sigmoid(v[1]) * 1.2 - 0.1) * height / 2
            w = np.exp(v[2]) * anchors[2 * a] * width / 24 / 2
            h = np.exp(v[3]) * anchors[2 * a + 1] * height / 16 / 2
            box = [x0 - w, y0 - h, x0 + w, y0 + h]
            if clips:
                box = [max(box[0], 0), max(box[1], 0), min(box[2], width - 1), min(box[3], height - 1)]
            boxes[i, row % 12], scores[i, row % 12] = box, trust * sigmoid(v[5:])
        options = {"clip_bbox": clips, "scale_x_y": 1.2, "iou_aware": aware, "iou_aware_factor": 0.3}

        def call(x: Any, options: Any = options) -> Any:
            return yolo(x, t(sizes, "int32"), anchors, 2, 0.4, 8, **options)

        found = call(t(x))
        near(found[0], boxes)
        near(found[1], scores)
        assert testing.gradcheck(call, (paddle.to_tensor(x, stop_gradient=False),))
    with pytest.raises(ValueError, match="yolo_box: x is"):
        yolo(t(x), t(sizes), anchors, 4, 0.4, 8)


def test_convolutions_at_places_that_are_moved() -> None:
    deform = paddle.vision.ops.deform_conv2d
    rng = np.random.default_rng(4)
    x, weight, bias = (rng.standard_normal(shape) for shape in ((2, 4, 5, 6), (6, 2, 3, 2), 6))
    options = {"stride": 2, "padding": 1, "dilation": (1, 2), "groups": 2}
    still = np.zeros((2, 24, 3, 3))
    wanted = F.conv2d(t(x), t(weight), t(bias), **options)
    near(deform(t(x), t(still), t(weight), t(bias), deformable_groups=2, **options), wanted.numpy())
    mask = np.full((2, 12, 3, 3), 0.5)
    near(
        deform(t(x), t(still), t(weight), None, deformable_groups=2, mask=t(mask), **options),
        0.5 * (wanted.numpy() - bias[:, None, None]),
    )
    # The second half of the channels is moved one down and half a column to the right.
    moved = still.reshape(2, 2, 6, 2, 3, 3).copy()
    moved[:, 1] += np.array([1, 0.5])[:, None, None]
    other = np.pad(x, [(0, 0), (0, 0), (0, 1), (0, 1)])[:, :, 1:]
    other = np.concatenate([x[:, :2], (other[:, 2:, :, :-1] + other[:, 2:, :, 1:]) / 2], 1)
    inner = deform(t(x), t(moved.reshape(still.shape)), t(weight), deformable_groups=2, **options)
    near(inner[:, :, 1:, 1:], F.conv2d(t(other), t(weight), None, **options)[:, :, 1:, 1:].numpy())
    shapes = ((1, 2, 3, 3), (1, 8, 2, 2), (1, 2, 2, 2), (1,), (1, 4, 2, 2))
    inputs = [paddle.to_tensor(rng.standard_normal(shape), stop_gradient=False) for shape in shapes]
    assert testing.gradcheck(lambda x, o, w, b, m: deform(x, o, w, b, mask=m), inputs)
    with pytest.raises(ValueError, match="offset is"):
        deform(t(x), t(still), t(weight), **options)
    with pytest.raises(ValueError, match="a weight of"):
        deform(t(x), t(still), t(weight))
    with pytest.raises(ValueError, match="mask is"):
        deform(t(x), t(still), t(weight), deformable_groups=2, mask=t(mask[:1]), **options)


def test_a_cast_in_place() -> None:
    x = t([1.5, 2.0])
    assert x.cast_("int64") is x
    assert x.dtype == paddle.int64
    assert x.tolist() == [1, 2]
    x = t([1.5])
    x.stop_gradient = False
    with pytest.raises(ValueError, match="cast_: Leaf Var that doesn't stop gradient"):
        x.cast_("float64")
    y = x * 2
    y.cast_("float64")
    assert y.dtype == paddle.float64
    (y * y).backward()
    assert x.grad.tolist() == [12.0]
    assert x.grad.dtype == paddle.float32


def test_layers_made_lazily_have_their_parameters() -> None:
    with paddle.LazyGuard():
        layer = paddle.nn.Linear(2, 3)
    assert layer.weight.initialize() is layer.weight
    assert layer(t([[1.0, 2.0]])).shape == [1, 3]


def test_names_of_pytorch_for_arguments() -> None:
    x = t([[1.0, 2.0], [3.0, 5.0]])
    assert F.softmax(input=x, dim=0).shape == [2, 2]
    assert F.cross_entropy(x, target=t([0, 1])).item() == pytest.approx(0.7200949)
    assert F.one_hot(input=t([1]), num_classes=2).tolist() == [[0, 1]]
    assert paddle.linspace(0, 1, steps=3).tolist() == paddle.linspace(start=0, end=1, num=3).tolist() == [0, 0.5, 1]
    assert [part.tolist() for part in paddle.tensor_split(t([1, 2, 3]), indices=[1])] == [[1], [2, 3]]
    assert paddle.isin(elements=t([1, 2]), test_elements=t([2])).tolist() == [False, True]
    assert paddle.bucketize(t([1.5]), boundaries=t([1.0, 2.0])).tolist() == [1]
    assert paddle.zeros(size=[2]).tolist() == [0, 0]
    assert paddle.concat(tensors=[x, x]).shape == [4, 2]
    assert paddle.linalg.solve(A=x, B=x).shape == [2, 2]


def test_scaled_integers_stay_integers() -> None:
    x = t([1, 2])
    assert x.scale(2.0, bias=1).dtype == paddle.int64
    assert paddle.scale(x).tolist() == [1, 2]
    assert paddle.scale(x, 0.5).tolist() == [0.5, 1.0]


def test_a_module_that_makes_tensors() -> None:
    x = paddle.tensor([1.0], dtype="float64", requires_grad=True)
    assert x.dtype == paddle.float64
    assert not x.stop_gradient
    assert paddle.tensor.add is paddle.add


def test_dtypes_of_norms_and_medians() -> None:
    assert paddle.norm(t([3.0, 4.0]), dtype="float64").dtype == paddle.float64
    assert paddle.median(t([1.0, 2.0], "float16")).dtype == paddle.float32
    assert paddle.eigvalsh(paddle.eye(2)).tolist() == [1, 1]


def test_there_are_no_devices() -> None:
    for name in ("cinn", "cuda", "distribute", "ipu", "rocm", "xpu"):
        assert getattr(paddle, f"is_compiled_with_{name}")() is False
    assert paddle.is_compiled_with_custom_device("npu") is False
    assert paddle.get_cudnn_version() is None
