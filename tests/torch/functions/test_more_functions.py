"""torch's functions with arguments of their own: values that torch's documentation gives, or NumPy."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.paddle
import ferrograd.torch
import numpy as np
import pytest
from ferrograd import ArgumentError, LinAlgError
from ferrograd._core.native import unique_all

# The type checker knows the core's functions, whose arguments are others.
paddle: Any = ferrograd.paddle
torch: Any = ferrograd.torch
F = torch.nn.functional


def numbers(x: Any) -> np.ndarray:
    found: np.ndarray = x.detach().numpy()
    return found


def test_division_rounds_as_the_mode_says() -> None:
    x, y = torch.tensor([7, -7, 7, -7]), torch.tensor([2, 2, -2, -2])
    assert torch.div(x, y, rounding_mode="trunc").tolist() == [3, -3, -3, 3]
    assert x.div(y, rounding_mode="floor").tolist() == [3, -4, -4, 3]
    assert torch.div(x, y).tolist() == [3.5, -3.5, -3.5, 3.5]
    assert torch.div(torch.tensor([7.5]), -2.0, rounding_mode="trunc").tolist() == [-3.0]
    with pytest.raises(RuntimeError, match="'up'"):
        torch.div(x, y, rounding_mode="up")


def test_powers_of_integers() -> None:
    with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allowed"):
        torch.tensor([2]) ** -1
    assert (torch.tensor([2.0]) ** -1).tolist() == [0.5]


def test_losses_of_predictions_outside_of_the_unit_interval() -> None:
    for p in (-0.1, 1.5, math.nan):
        with pytest.raises(RuntimeError, match="between 0 and 1"):
            F.binary_cross_entropy(torch.tensor([p]), torch.tensor([1.0]))


def test_softmax_in_another_dtype() -> None:
    x = torch.tensor([0.0, math.log(3)])
    assert torch.softmax(x, 0, dtype=torch.float64).dtype == torch.float64
    assert torch.log_softmax(x, dim=0, dtype=torch.float64).dtype == torch.float64


def test_gradient_of_samples() -> None:
    x = np.random.default_rng(0).normal(size=(4, 5))
    for found, wanted in zip(torch.gradient(torch.tensor(x)), np.gradient(x), strict=True):
        np.testing.assert_allclose(numbers(found), wanted)
    places = np.array([0.0, 0.5, 2.0, 3.0])
    (found,) = torch.gradient(torch.tensor(x), spacing=(torch.tensor(places),), dim=0, edge_order=2)
    np.testing.assert_allclose(numbers(found), np.gradient(x, places, axis=0, edge_order=2))


def test_selections_name_their_parts() -> None:
    x = torch.tensor([3.0, 1.0, 3.0, 2.0])
    assert (x.kthvalue(2).values.item(), torch.mode(x).indices.item()) == (2.0, 2)
    assert (torch.aminmax(x).min.item(), x.aminmax(dim=0).max.item()) == (1.0, 3.0)
    assert torch.searchsorted(torch.tensor([1.0, 3.0]), x, out_int32=True).dtype == torch.int32


def test_distinct_elements() -> None:
    x = torch.tensor([[2, 1, 2], [2, 1, 1]])
    assert torch.unique(x).tolist() == [1, 2]
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2], [[1, 0, 1], [1, 0, 0]], [3, 3])
    assert x.unique(dim=1).tolist() == [[1, 2, 2], [1, 1, 2]]
    runs, which, counts = torch.unique_consecutive(
        torch.tensor([1, 1, 2, 2, 3, 1]), return_inverse=True, return_counts=True
    )
    assert (runs.tolist(), which.tolist(), counts.tolist()) == ([1, 2, 3, 1], [0, 0, 1, 1, 2, 3], [2, 2, 1, 1])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_distinct_integers_are_those_of_numpy(dtype: str) -> None:
    bounds = np.iinfo(dtype)
    rows = [
        np.random.default_rng(0).integers(-3 if bounds.min else 0, 9, (4, 5)),
        np.arange(bounds.max - 40, bounds.max + 1, 2, dtype=dtype),
        np.array([bounds.max, bounds.min, bounds.max], dtype),
        np.array([bounds.min, bounds.min + 3, bounds.min + 1, bounds.min], dtype),
        np.zeros((0, 3)),
    ]
    for row in rows:
        x = row.astype(dtype)
        values, first, inverse, counts = np.unique(x, True, True, True)
        found = torch.unique(torch.tensor(x), return_inverse=True, return_counts=True)
        assert [numbers(part).dtype for part in found] == [np.dtype(dtype), np.dtype("int64"), np.dtype("int64")]
        for ours, wanted in zip(found, (values, inverse, counts), strict=True):
            np.testing.assert_array_equal(numbers(ours), wanted)
        places = paddle.unique(paddle.to_tensor(x), return_index=True)[1]
        np.testing.assert_array_equal(places.numpy(), first)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("many", [3, 1000, 1 << 17])
def test_distinct_elements_of_long_vectors(many: int, dtype: str) -> None:
    """Few of them are found by a table, and many by a sort."""
    random = np.random.default_rng(0)
    x = random.integers(-(many // 2), many, 100_000).astype(dtype)
    if dtype[0] == "f":
        x = x / np.asarray(8, dtype)
        x[:4] = np.inf, -np.inf, 0.0, -0.0
    values, first, inverse, counts = np.unique(x, True, True, True)
    found = fg.unique_all(fg.tensor(x))
    assert found.values.numpy().dtype == x.dtype
    for ours, wanted in zip(found, (values, first, inverse, counts), strict=True):
        np.testing.assert_array_equal(ours.numpy(), wanted)


def test_distinct_elements_that_are_not_numbers() -> None:
    x = np.tile([1.0, np.nan, 2.0, 1.0], 300)
    for equal in (False, True):
        values, first, inverse, counts = np.unique(x, True, True, True, equal_nan=equal)
        found = unique_all(fg.tensor(x), equal)
        for ours, wanted in zip(found, (values, first, inverse, counts), strict=True):
            np.testing.assert_array_equal(ours.numpy(), wanted)


def test_distinct_keys_that_meet_in_a_table() -> None:
    """Numbers whose hashes are equal in their first bits are sorted in the time of others."""
    inverse = pow(0x9E3779B97F4A7C15, -1, 1 << 64)
    x = np.array([k * inverse % (1 << 64) for k in range(20_000)] * 5, np.uint64)
    found = fg.unique_all(fg.tensor(x))
    np.testing.assert_array_equal(found.values.numpy(), np.unique(x))
    np.testing.assert_array_equal(found.counts.numpy(), np.full(20_000, 5))


def test_parts_of_an_axis_without_elements() -> None:
    assert [part.shape for part in torch.empty(2, 0).chunk(3, 1)] == [(2, 0)] * 3


def test_shifts_and_axes_of_roll_align() -> None:
    x = torch.arange(4).reshape(2, 2)
    assert x.roll(1).tolist() == torch.roll(x, (1,), ()).tolist() == [[3, 0], [1, 2]]
    assert torch.roll(x, (1, 1), (0, 1)).tolist() == [[3, 2], [1, 0]]
    for shifts, axes in (((), ()), ((), (0,)), ((1, 2), ()), ((1, 2), 0), (1, (0, 1))):
        with pytest.raises(fg.ArgumentError, match=r"roll: .*shifts"):
            torch.roll(x, shifts, axes)


def test_a_condition_alone_gives_indices() -> None:
    (found,) = torch.where(torch.tensor([0, 3, 4]) > 1)
    assert found.tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="boolean tensor"):
        torch.where(torch.tensor([0.5, 0.0]), 1.0, 2.0)


@pytest.mark.parametrize("p", [None, 2, -2])
def test_the_condition_number_of_an_empty_matrix_is_zero(p: Any) -> None:
    assert torch.linalg.cond(torch.zeros(0, 0), p).item() == 0
    x = torch.zeros(2, 0, 3, dtype=torch.complex128, requires_grad=True)
    found = torch.linalg.cond(x, p=p)
    assert (found.tolist(), found.dtype) == ([0, 0], torch.float64)
    found.sum().backward()
    assert x.grad.shape == (2, 0, 3)
    assert torch.linalg.cond(torch.tensor([[2.0, 0.0], [0.0, 1.0]]), p).item() == (0.5 if p == -2 else 2)
    with pytest.raises(ArgumentError, match="not the shape of a matrix"):
        torch.linalg.cond(torch.zeros(0), p)


def test_factorizations_as_torch_returns_them() -> None:
    a = torch.tensor(np.random.default_rng(1).normal(size=(3, 3)), requires_grad=True)
    u, s, v = torch.svd(a)
    np.testing.assert_allclose(numbers(u @ torch.diag(s) @ v.T), numbers(a))
    p, low, high = torch.lu_unpack(*torch.linalg.lu_factor(a))
    np.testing.assert_allclose(numbers(p @ low @ high), numbers(a))
    b = torch.ones(3, dtype=torch.float64)
    np.testing.assert_allclose(numbers(a @ torch.linalg.solve(a, b)), numbers(b))
    np.testing.assert_allclose(numbers(torch.linalg.solve(a, torch.eye(3), left=False)), np.linalg.inv(numbers(a)))
    np.testing.assert_allclose(
        numbers(torch.linalg.lstsq(a, b[:, None]).solution[:, 0]), np.linalg.solve(numbers(a), b)
    )
    assert torch.linalg.inv_ex(torch.zeros(2, 1, 1)).info.tolist() == [1, 1]
    # What LAPACK says: the first pivot that is zero, or the order of the first leading minor that is not positive.
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[[1.0, 2], [2, 1]], [[0, 0], [0, 1]], [[1, 0], [0, nan]], [[nan, 0], [0, 1]], [[1, 2], [2, 4]]])
    assert torch.linalg.cholesky_ex(x).info.tolist() == [2, 1, 2, 1, 2]
    assert torch.linalg.cholesky_ex(x, upper=True).info.tolist() == [2, 1, 2, 1, 2]
    assert torch.linalg.inv_ex(x).info.tolist() == [0, 1, 0, 0, 2]
    assert torch.linalg.solve_ex(x, torch.ones(5, 2)).info.tolist() == [0, 1, 0, 0, 2]
    assert torch.vmap(lambda x: torch.linalg.cholesky_ex(x).info)(x).tolist() == [2, 1, 2, 1, 2]
    assert torch.linalg.cholesky_ex(torch.tensor([[1.0, inf], [0.0, 1.0]])).info.item() == 0
    large = torch.eye(150, dtype=torch.complex64)
    large[120, 120] = -1
    assert torch.linalg.cholesky_ex(large).info.item() == 121
    large[120, 120] = 0
    assert torch.linalg.inv_ex(large).info.item() == 121
    assert torch.linalg.cholesky_ex(torch.zeros(3, 0, 0)).info.tolist() == [0, 0, 0]
    with pytest.raises(LinAlgError):
        torch.linalg.inv_ex(torch.zeros(2, 1, 1), check_errors=True)
    assert torch.linalg.lu_factor_ex(torch.zeros(1, 1)).info.item() == 1
    x, same = torch.triangular_solve(b[:, None], a)
    np.testing.assert_allclose(numbers(torch.triu(same) @ x)[:, 0], numbers(b))


def test_special_functions_have_torch_names() -> None:
    x = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    for name in torch.special.__all__:
        assert callable(getattr(torch.special, name)), name
    (slope,) = torch.autograd.grad(torch.special.gammaln(x), [x])
    assert slope.item() == pytest.approx(torch.special.psi(x).item())


def test_memory_formats_are_accepted() -> None:
    x = torch.ones(1, 2, 3, 4)
    assert x.to(memory_format=torch.channels_last).shape == x.shape
    assert x.contiguous(memory_format=torch.channels_last).double(memory_format=torch.preserve_format).shape == x.shape
    assert x.clone(memory_format=torch.preserve_format).tolist() == x.tolist()
    assert repr(torch.channels_last) == "torch.channels_last"


def test_grids_of_the_identity_read_the_image() -> None:
    image = torch.tensor(np.random.default_rng(2).normal(size=(1, 2, 3, 4)), requires_grad=True)
    theta = torch.tensor([[[1.0, 0, 0], [0, 1, 0]]], dtype=torch.float64)
    for aligned in (False, True):
        grid = F.affine_grid(theta, [1, 2, 3, 4], align_corners=aligned)
        for mode in ("bilinear", "nearest", "bicubic"):
            for padding in ("zeros", "border", "reflection"):
                read = F.grid_sample(image, grid, mode, padding, aligned)
                np.testing.assert_allclose(numbers(read), numbers(image), atol=1e-12)
    half = F.grid_sample(image, torch.tensor([[[[1 / 3 - 1, -1.0]]]], dtype=torch.float64), align_corners=True)
    np.testing.assert_allclose(numbers(half).ravel(), numbers(image)[0, :, 0, :2].mean(1))
    assert F.grid_sample(image, torch.full((1, 1, 1, 2), 9.0, dtype=torch.float64)).tolist() == [[[[0.0]], [[0.0]]]]
    grid = torch.tensor(np.random.default_rng(3).uniform(-1.2, 1.2, (1, 2, 2, 2)), requires_grad=True)
    for mode in ("bilinear", "bicubic"):
        assert torch.autograd.gradgradcheck(lambda x, g, m=mode: F.grid_sample(x, g, m), (image, grid))
    volume = torch.tensor(np.random.default_rng(2).normal(size=(1, 1, 3, 4, 5)))
    grid = F.affine_grid(torch.eye(3, 4, dtype=torch.float64)[None], [1, 1, 3, 4, 5], align_corners=True)
    np.testing.assert_allclose(numbers(F.grid_sample(volume, grid, "bicubic", align_corners=True)), numbers(volume))


def test_the_nearest_element_has_a_derivative_of_0_by_the_place() -> None:
    grid = torch.tensor([[[[0.1, 0.2], [9.0, 0.0]]]], requires_grad=True)
    read = F.grid_sample(torch.arange(4.0).reshape(1, 1, 2, 2), grid, "nearest", align_corners=True)
    assert read.tolist() == [[[[3, 0]]]]
    read.sum().backward()
    assert not grid.grad.any()
    one = F.grid_sample(torch.ones(1, 1, 1, 1), grid, padding_mode="reflection", align_corners=True)
    assert one.requires_grad
    assert one.tolist() == [[[[1, 1]]]]


def test_a_number_has_no_axis_to_pad() -> None:
    with pytest.raises(RuntimeError, match="two times the input dimension but got padding length 2 and input of dim"):
        F.pad(torch.tensor(0.0), (1, 1))
    assert F.pad(torch.ones(1), (1, 0)).tolist() == [0, 1]


def brute_force(probabilities: np.ndarray, target: list[int]) -> float:
    """The probability of all paths that become the target when repetitions and blanks (0) are left out."""
    steps, classes = probabilities.shape
    total = 0.0
    for path in np.ndindex(*[classes] * steps):
        kept = [c for i, c in enumerate(path) if c and (i == 0 or path[i - 1] != c)]
        if kept == target:
            total += float(np.prod(probabilities[np.arange(steps), path]))
    return total


def test_ctc_sums_over_all_paths() -> None:
    generator = np.random.default_rng(4)
    logits = torch.tensor(generator.normal(size=(4, 3, 3)), requires_grad=True)
    scores = torch.log_softmax(logits, 2)
    targets = [[1, 2], [1, 1], []]
    padded = torch.tensor([[1, 2], [1, 1], [0, 0]])
    losses = F.ctc_loss(scores, padded, torch.tensor([4, 4, 3]), torch.tensor([2, 2, 0]), reduction="none")
    p = np.exp(numbers(scores))
    wanted = [-math.log(brute_force(p[:n, i], t)) for i, (n, t) in enumerate(zip((4, 4, 3), targets, strict=True))]
    np.testing.assert_allclose(numbers(losses), wanted)
    flat = F.ctc_loss(scores, torch.tensor([1, 2, 1, 1]), (4, 4, 3), (2, 2, 0), reduction="none")
    np.testing.assert_allclose(numbers(flat), wanted)
    mean = F.ctc_loss(scores, padded, (4, 4, 3), (2, 2, 0))
    assert mean.item() == pytest.approx(np.mean(np.array(wanted) / [2, 2, 1]))
    assert torch.autograd.gradgradcheck(
        lambda x: F.ctc_loss(torch.log_softmax(x, 2), padded, (4, 4, 3), (2, 2, 0)), (logits,)
    )


def test_ctc_of_an_impossible_target() -> None:
    scores = torch.zeros(1, 1, 3, requires_grad=True)
    assert F.ctc_loss(scores, torch.tensor([[1, 2]]), (1,), (2,)).item() == math.inf
    none = F.ctc_loss(scores, torch.tensor([[1, 2]]), (1,), (2,), zero_infinity=True)
    none.backward()
    assert none.item() == 0
    assert scores.grad is not None
    assert not scores.grad.any()


def test_grids_are_tensors_of_the_dialect() -> None:
    grid = F.affine_grid(torch.ones(2, 2, 3), [2, 1, 4, 5])
    assert type(grid) is torch.Tensor
    assert type(F.grid_sample(torch.ones(2, 1, 3, 3), grid)) is torch.Tensor


def test_factorisations_have_names() -> None:
    a = torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.float64, requires_grad=True)
    values, vectors = pair = torch.linalg.eigh(a)
    assert pair.eigenvalues is values
    assert pair.eigenvectors is vectors
    assert torch.allclose(torch.linalg.eig(A=a).eigenvalues.real.sort().values, values)
    q_r = torch.linalg.qr(A=a, mode="complete")
    assert torch.allclose(q_r.Q @ q_r.R, a)
    u, s, vh = factors = torch.linalg.svd(a, full_matrices=False)
    assert torch.allclose(u @ torch.diag(factors.S) @ factors.Vh, a)
    assert vh is factors.Vh
    assert torch.equal(torch.linalg.svdvals(A=a), s)
    for found in (torch.linalg.slogdet(A=a), torch.slogdet(input=a), a.slogdet()):
        assert (found.sign * found.logabsdet.exp()).item() == pytest.approx(5.0)
    (g,) = torch.autograd.grad(torch.slogdet(a).logabsdet, a)
    assert torch.allclose(g, torch.linalg.inv(a).T)
    with pytest.raises(RuntimeError, match="only supported on CUDA"):
        torch.linalg.svdvals(a, driver="gesvd")
    assert torch.linalg.matrix_norm(A=a).item() == pytest.approx(15**0.5)


def test_the_loss_of_a_linear_map_is_that_of_its_logits() -> None:
    rng = np.random.default_rng(5)
    x, weight = (torch.tensor(rng.normal(size=size), requires_grad=True) for size in ((4, 3), (5, 2, 3)))
    target, bias = torch.tensor(rng.integers(0, 5, (4, 2))), torch.tensor(rng.normal(size=(5, 2)))
    logits = torch.einsum("bi,cki->bck", x, weight) + bias
    loss = F.linear_cross_entropy(x, weight, target, linear_bias=bias, label_smoothing=0.1)
    np.testing.assert_allclose(loss.item(), F.cross_entropy(logits, target, label_smoothing=0.1).item())
    assert torch.autograd.gradgradcheck(lambda x, w: F.linear_cross_entropy(x, w, target), (x, weight))
    with pytest.raises(ValueError, match="ignore_index is for class indices"):
        F.linear_cross_entropy(x, weight, logits, ignore_index=0)
    with pytest.raises(ValueError, match=r"got \[4, 3\] and \[5\]"):
        F.linear_cross_entropy(x, torch.ones(5), target)


def test_quantiles_have_a_derivative_by_their_part() -> None:
    x, q = torch.tensor([3.0, 1.0, 2.0, 7.0]), torch.tensor([0.1, 0.9], requires_grad=True)
    torch.quantile(x, q).sum().backward()
    np.testing.assert_allclose(numbers(q.grad), [3.0, 12.0])
    assert torch.quantile(torch.tensor(2.0), q, dim=0, keepdim=True).shape == (2,)


def test_shapes_of_one_row_none_and_nothing() -> None:
    assert torch.cov(torch.ones(1, 3)).shape == ()
    assert torch.diff(torch.ones(2), 0, prepend=torch.ones(3)).shape == (2,)
    assert F.batch_norm(torch.ones(0), torch.ones(0), torch.ones(0), training=True).shape == (0,)
    a, b = torch.eye(5, 2), torch.ones(5, 3)
    assert torch.linalg.lstsq(a, b).residuals.shape == (0,)
    assert torch.linalg.lstsq(a, b, driver="gelsd").residuals.shape == (3,)
    small = torch.tensor([[1.0, 0.0], [0.0, 0.125]])
    for driver, last in (("gels", 8.0), ("gelsd", 0.0)):
        found = torch.linalg.lstsq(small, torch.ones(2, 1), 0.5, driver=driver).solution
        np.testing.assert_allclose(numbers(found), [[1.0], [last]], atol=1e-6)


def test_maxima_of_sequences_and_their_indices() -> None:
    x = torch.tensor([[1.0, 3.0, 2.0, 0.0]])
    assert [y.tolist() for y in torch.adaptive_max_pool1d(x, 2)] == [[[3.0, 2.0]], [[1, 2]]]
    assert F.adaptive_max_pool1d(x, 2).tolist() == [[3.0, 2.0]]


def test_windows_are_those_of_numpy() -> None:
    pairs = [
        (torch.hann_window, np.hanning),
        (torch.hamming_window, np.hamming),
        (torch.blackman_window, np.blackman),
        (torch.bartlett_window, np.bartlett),
        (torch.kaiser_window, lambda n: np.kaiser(n, 12.0)),
    ]
    for window, wanted in pairs:
        for n in (0, 1, 2, 7):
            np.testing.assert_allclose(numbers(window(n, False, dtype=torch.float64)), wanted(n), atol=1e-15)
        np.testing.assert_allclose(numbers(window(6, dtype=torch.float64)), wanted(7)[:-1], atol=1e-15)
    assert torch.hann_window(3, requires_grad=True).requires_grad
    with pytest.raises(ValueError, match="kaiser_window requires non-negative"):
        torch.kaiser_window(-1)


def test_places_in_matrices() -> None:
    for ours, wanted in ((torch.tril_indices, np.tril_indices), (torch.triu_indices, np.triu_indices)):
        np.testing.assert_array_equal(numbers(ours(3, 4, 1)), np.array(wanted(3, 1, 4)))
    places = torch.tensor([5, 2])
    assert [i.tolist() for i in torch.unravel_index(places, (2, 3))] == [[1, 0], [2, 2]]
    with pytest.raises(ValueError, match="no element"):
        torch.unravel_index(places, (2, 2))


def test_names_beside_those_of_the_core() -> None:
    x = torch.tensor([-math.inf, 1.0, math.inf])
    assert torch.isneginf(x).tolist() == [True, False, False]
    assert x.isposinf().tolist() == [False, False, True]
    assert torch.histc(torch.tensor([2.0, 2.0]), bins=3).tolist() == [0, 2, 0]
    assert torch.vander(torch.tensor([1, 2, 3])).tolist() == np.vander([1, 2, 3]).tolist()
    assert torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 1)).tolist() == [[3], [3]]
    a = torch.tensor([[1.0, 2, 3], [3, 2, 1]], requires_grad=True)
    assert torch.linalg.cross(a[0], a[1]).tolist() == [-4, 8, -4]
    assert torch.linalg.vecdot(a, a, dim=0).tolist() == [10, 8, 10]
    assert torch.linalg.diagonal(a[None], offset=1).tolist() == [[2, 1]]
    assert torch.equal(torch.linalg.matmul(a, a.T), a @ a.T)


def test_asarray_keeps_the_graph() -> None:
    x = torch.ones(2, requires_grad=True)
    assert torch.asarray(x) is x
    assert torch.asarray(x * 2, dtype=torch.float64).requires_grad
    assert torch.asarray(x, copy=True) is not x
    assert torch.asarray([1, 2], dtype=torch.float32, requires_grad=True).is_leaf
    with pytest.raises(ValueError, match="has to be copied"):
        torch.asarray([1.0, 2.0], copy=False)
    assert torch.from_dlpack(np.ones(2)).tolist() == [1, 1]


def test_bounds_of_singular_values_for_each_matrix() -> None:
    a = np.random.default_rng(0).standard_normal((3, 4, 2))
    bounds = np.array([0.1, 0.9, 0.5])
    wanted = np.linalg.pinv(a, rcond=bounds)
    np.testing.assert_allclose(numbers(fg.linalg.pinv(fg.tensor(a), rtol=fg.tensor(bounds))), wanted, atol=1e-14)
    x = torch.tensor(a, requires_grad=True)
    found = torch.linalg.pinv(x, rtol=torch.tensor(bounds))
    np.testing.assert_allclose(numbers(found), wanted, atol=1e-14)
    found[1].sum().backward()
    y = torch.tensor(a[1], requires_grad=True)
    torch.linalg.pinv(y, rtol=torch.tensor(0.9)).sum().backward()
    np.testing.assert_array_equal(numbers(x.grad), [0 * a[0], numbers(y.grad), 0 * a[0]])
    ranks = torch.linalg.matrix_rank(torch.tensor(a[:1]), atol=torch.tensor([0.0, 100.0]))
    assert ranks.tolist() == [2, 0]
    assert torch.linalg.pinv(torch.ones(0, 2, 3), rtol=torch.ones(0)).shape == (0, 3, 2)
    with pytest.raises(ValueError, match="broadcast"):
        torch.linalg.pinv(x, rtol=torch.ones(2))


def test_the_rank_of_a_hermitian_matrix_is_that_of_its_lower_triangle() -> None:
    for module in (torch, paddle):
        low, up = (
            getattr(module, "to_tensor", torch.tensor)(x) for x in ([[0.0, 0.0], [5.0, 0.0]], [[0.0, 5.0], [0.0, 0.0]])
        )
        assert module.linalg.matrix_rank(low).item() == module.linalg.matrix_rank(up).item() == 1
        assert module.linalg.matrix_rank(low, hermitian=True).item() == 2
        assert module.linalg.matrix_rank(up, hermitian=True).item() == 0
        assert module.linalg.matrix_rank(low, hermitian=True, atol=6.0).item() == 0
        with pytest.raises(ValueError, match="square"):
            module.linalg.matrix_rank(module.ones([1, 3]), hermitian=True)
    z = np.array([[2.0, np.nan], [2.0j, 2.0]])
    assert torch.linalg.matrix_rank(torch.tensor(z), hermitian=True).item() == 1
    z[0, 1] = np.inf
    found = torch.linalg.pinv(torch.tensor(z), hermitian=True)
    np.testing.assert_allclose(numbers(found), np.linalg.pinv([[2, -2j], [2j, 2]]), atol=1e-14)
    assert torch.linalg.matrix_rank(torch.tensor(z[None]), tol=torch.tensor([5.0]), hermitian=True).tolist() == [0]


def test_indices_of_what_is_not_zero() -> None:
    assert torch.nonzero(torch.tensor(5.0)).shape == (1, 0)
    assert torch.tensor(0).argwhere().shape == (0, 0)
    assert torch.nonzero(torch.tensor(3), as_tuple=True)[0].tolist() == [0]
    x = torch.tensor([[1, 0], [0, 2]])
    assert torch.nonzero_static(x, size=3).tolist() == [[0, 0], [1, 1], [-1, -1]]
    assert x.nonzero_static(size=1, fill_value=7).tolist() == [[0, 0]]
    found = torch.bucketize(torch.tensor([1.0, 5.0]), torch.tensor([1.0, 3.0]), out_int32=True, right=True)
    assert found.tolist() == [1, 2]
    assert found.dtype == torch.int32
    assert torch.bucketize(2.0, torch.tensor([1.0, 3.0])).item() == 1


def test_scatter_adds_and_multiplies() -> None:
    z, twice = torch.ones(3, requires_grad=True), torch.tensor([0, 0])
    y = torch.scatter(z, 0, twice, torch.tensor([3.0, 2.0]), reduce="multiply")
    assert y.tolist() == [6, 1, 1]
    y.sum().backward()
    assert z.grad.tolist() == [6, 1, 1]
    assert torch.zeros(3).scatter_(0, twice, 4, reduce="add").tolist() == [8, 0, 0]
    assert torch.scatter(torch.zeros(3), 0, twice, value=4).tolist() == [4, 0, 0]
    with pytest.raises(ValueError, match="either add or multiply"):
        torch.scatter(z, 0, twice, 4, reduce="mean")
    with pytest.raises(ValueError, match="src or value"):
        torch.scatter(z, 0, twice)


def test_strides_and_shapes_of_empty_tensors() -> None:
    x = torch.empty_strided((2, 3), (1, 2), dtype=torch.int32)
    assert (x.shape, x.stride(), x.dtype) == ((2, 3), (1, 2), torch.int32)
    assert x.new_empty_strided((0, 2), (5, 1)).shape == (0, 2)
    assert torch.empty_permuted((2, 3, 5), (1, 2, 0)).stride() == (1, 10, 2)
    with pytest.raises(ValueError, match="strides must not be negative"):
        torch.empty_strided((2,), (-1,))
    with pytest.raises(ValueError, match="must order the axes"):
        torch.empty_permuted((2,), (1,))
    y = torch.arange(6).reshape(2, 3)
    assert y.resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    assert y.resize_as_(torch.ones(5)).tolist() == [0, 1, 2, 3, 0]
    with pytest.raises(ValueError, match="cannot resize"):
        torch.ones(2, requires_grad=True).resize_(1)
    with torch.inference_mode():
        assert torch.ones(2, requires_grad=True).resize_(1).requires_grad


def test_resize_is_reshape_of_as_many_elements() -> None:
    x = torch.arange(4.0).requires_grad_()
    y = x.resize(2, 2)
    assert y.tolist() == x.resize_as(torch.ones(2, 2)).tolist() == [[0, 1], [2, 3]]
    (y * y).sum().backward()
    assert x.grad.tolist() == [0, 2, 4, 6]
    with pytest.raises(RuntimeError, match=r"resize: the shape .* is not one of 4 elements"):
        x.resize(3)


def test_integers_stay_integers() -> None:
    x = torch.tensor([7, -1])
    assert F.relu6(x).tolist() == [6, 0]
    assert F.relu6(x).dtype == torch.int64
    assert F.hardtanh(x).tolist() == [1, -1]
    assert F.threshold(x, 2, 9).tolist() == [7, 9]
    assert torch.arange(0.5, 5, 1.5, dtype=torch.int64).tolist() == [0, 1, 2]
    assert torch.linspace(-2, -3, 5, dtype=torch.int64).tolist() == [-2, -2, -2, -2, -3]
    assert torch.linspace(4.9, torch.tensor(-1.9), 6, dtype=torch.int32).tolist() == [4, 3, 2, 1, 0, -1]
    assert torch.logspace(0.5, 2.9, 3, dtype=torch.int32).tolist() == [1, 10, 100]
    (slopes,) = torch.gradient(torch.tensor([1, 2, 4]), spacing=0.5)
    assert slopes.tolist() == [2, 3, 4]


def test_results_of_small_integers_are_wide_enough() -> None:
    x = torch.tensor([0, 200], dtype=torch.uint8)
    assert torch.special.shifted_chebyshev_polynomial_t(x, 1).tolist() == [-1.0, 399.0]
    powers = torch.linalg.vander(x, N=3)
    assert (powers.dtype, powers[1].tolist()) == (torch.int64, [1, 200, 40000])
    assert torch.vander(x, 3)[1].tolist() == [40000, 200, 1]
    assert torch.trace(torch.full((2, 2), 200, dtype=torch.uint8)).dtype == torch.int64
    assert all(i.dtype == torch.int64 for i in torch.unravel_index(x[:1], (2, 3)))


def test_norms_and_means_in_another_dtype() -> None:
    x = torch.tensor([[3.0, 4.0], [0.0, float("nan")]])
    norms = [torch.linalg.norm, torch.linalg.vector_norm, torch.linalg.matrix_norm]
    for norm in norms:
        y = norm(x[:1], dtype=torch.float64)
        assert (y.dtype, y.item()) == (torch.float64, 5.0)
    assert torch.linalg.vector_norm(x, dim=0, keepdim=True, dtype=torch.float64)[0, 0].item() == 3.0
    y = x.nanmean(0, dtype=torch.float64)
    assert (y.dtype, y.tolist()) == (torch.float64, [1.5, 4.0])
    for f in (torch.nanmean, *norms):
        with pytest.raises(ferrograd.ArgumentError, match="floating point or complex"):
            f(x, dtype=torch.int64)


def test_arguments_that_torch_refuses() -> None:
    x = torch.ones(2, 4)
    calls: list[tuple[str, Any]] = [
        ("inconsistent with step sign", lambda: torch.arange(0, -3, 2)),
        ("unsupported range", lambda: torch.arange(0.0, float("inf"))),
        ("multiple times", lambda: torch.gradient(x, dim=(1, -1))),
        ("must match self tensor shape", lambda: x.index_add(0, torch.tensor([0]), torch.ones(4))),
        ("must match self tensor shape", lambda: x.index_add(0, torch.tensor([0]), torch.ones(1, 1))),
        ("must be 2-D", lambda: F.embedding(torch.tensor([0]), torch.ones(3))),
        ("indices of shape", lambda: F.max_unpool1d(x, torch.zeros(2, 3, dtype=torch.int64), 2)),
    ]
    for message, call in calls:
        with pytest.raises((ferrograd.ArgumentError, ferrograd.ShapeError), match=message):
            call()


def test_segments_that_follow_each_other() -> None:
    x = torch.tensor([1.0, 4.0, 4.0, 2.0], requires_grad=True)
    lengths = torch.tensor([3, 0, 1])
    wanted = {
        "sum": [9.0, 0.0, 2.0],
        "mean": [3.0, math.nan, 2.0],
        "prod": [16.0, 1.0, 2.0],
        "max": [4.0, -math.inf, 2.0],
        "min": [1.0, math.inf, 2.0],
    }
    for kind, values in wanted.items():
        np.testing.assert_array_equal(numbers(torch.segment_reduce(x, kind, lengths=lengths)), values)
    (shared,) = torch.autograd.grad(torch.segment_reduce(x, "max", lengths=lengths)[0], x)
    assert shared.tolist() == [0.0, 0.5, 0.5, 0.0]
    assert torch.segment_reduce(x, "mean", offsets=torch.tensor([0, 1, 4]), initial=2.0).tolist() == [3.0, 4.0]
    rows = torch.arange(12.0).reshape(2, 3, 2)
    found = torch.segment_reduce(rows, "sum", lengths=torch.tensor([[1, 2], [3, 0]]), axis=1)
    assert found.tolist() == [[[0.0, 1.0], [6.0, 8.0]], [[24.0, 27.0], [0.0, 0.0]]]
    for wrong in ({}, {"lengths": torch.tensor([1])}, {"offsets": torch.tensor([1, 4])}):
        with pytest.raises(RuntimeError, match="segment_reduce"):
            torch.segment_reduce(x, "sum", **wrong)


def test_segments_without_elements_are_tracked() -> None:
    x = torch.empty(0, 2, requires_grad=True)
    for kind in ("sum", "mean", "prod", "max", "min"):
        found = torch.segment_reduce(x, kind, lengths=torch.tensor([0, 0]))
        assert found.requires_grad
        assert torch.autograd.grad(found.sum(), x)[0].shape == (0, 2)


def test_histograms_of_points() -> None:
    points, weights = np.random.default_rng(0).normal(size=(2, 20, 2))
    found = torch.tensor(points).histogramdd([3, 4], range=[-1.0, 1.0, -2.0, 2.0], weight=torch.tensor(weights[:, 0]))
    wanted, edges = np.histogramdd(points, [3, 4], [(-1, 1), (-2, 2)], weights=weights[:, 0])
    np.testing.assert_allclose(numbers(found.hist), wanted)
    np.testing.assert_allclose(numbers(found.bin_edges[1]), edges[1])
    ends = [torch.tensor(e) for e in edges]
    np.testing.assert_array_equal(numbers(torch.histogramdd(torch.tensor(points), ends).bin_edges[0]), edges[0])


def test_factors_of_reflections() -> None:
    x = torch.tensor([[3.0, 1.0], [4.0, 2.0]])
    found = x.geqrf()
    np.testing.assert_allclose(
        numbers(torch.linalg.householder_product(found.a, found.tau) @ found.a.triu()), numbers(x)
    )


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("batch_first", [False, True])
def test_recurrent_networks_with_their_weights_as_arguments(kind: str, batch_first: bool) -> None:
    options: dict[str, Any] = {"num_layers": 2, "bidirectional": True, "batch_first": batch_first}
    if kind.startswith("rnn"):
        options["nonlinearity"] = kind[4:]
    layers = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}.get(kind, torch.nn.RNN)(3, 4, **options)
    weights = [p for part in layers.all_weights for p in part]
    x, h = torch.randn(2, 2, 3), torch.randn(4, 2, 4)
    state = (h, h * 2) if kind == "lstm" else h
    wanted, end = layers(x, state)
    found = getattr(torch, kind)(x, state, weights, True, 2, 0.0, False, True, batch_first)
    for got, want in zip(found, [wanted, *(end if kind == "lstm" else [end])], strict=True):
        np.testing.assert_array_equal(numbers(got), numbers(want))
    if not batch_first:
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, [2, 1])
        wanted, _ = layers(packed, state)
        found = getattr(torch, kind)(packed.data, packed.batch_sizes, state, weights, True, 2, 0.0, False, True)
        np.testing.assert_array_equal(numbers(found[0]), numbers(wanted.data))
    with pytest.raises(RuntimeError, match="parameters"):
        getattr(torch, kind)(x, state, weights[:-1], True, 2, 0.0, False, True, batch_first)


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_cells_with_their_weights_as_arguments(kind: str) -> None:
    options = {"nonlinearity": kind[4:]} if kind.startswith("rnn") else {}
    cell = {"lstm": torch.nn.LSTMCell, "gru": torch.nn.GRUCell}.get(kind, torch.nn.RNNCell)(3, 4, **options)
    x, h = torch.randn(2, 3), torch.randn(2, 4)
    state = (h, h * 2) if kind == "lstm" else h
    found = getattr(torch, f"{kind}_cell")(x, state, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    wanted = cell(x, state)
    for got, want in zip(*((f if kind == "lstm" else [f]) for f in (found, wanted)), strict=True):
        np.testing.assert_array_equal(numbers(got), numbers(want))


def test_polynomials_by_their_names_in_special() -> None:
    x, n = torch.tensor([[0.3], [-1.0]]), torch.tensor([0, 1, 3])
    family = torch.special
    t = family.chebyshev_polynomial_t(x, n)
    np.testing.assert_allclose(numbers(t), np.cos(numbers(n) * np.arccos(numbers(x))), atol=1e-6)
    shifted = family.shifted_chebyshev_polynomial_u(0.5 * (x + 1), n)
    np.testing.assert_allclose(numbers(shifted), numbers(family.chebyshev_polynomial_u(x, n)), rtol=1e-5)
    assert family.hermite_polynomial_he(2.0, n).tolist() == [1.0, 2.0, 2.0]
    out = torch.empty(0)
    assert family.laguerre_polynomial_l(x, 2, out=out) is out
    assert out.shape == (2, 1)


def test_a_leaf_that_is_a_view_reads_past_its_elements() -> None:
    base = torch.tensor([1.0, 2.0, 3.0, 4.0])
    leaf = base[1:3].requires_grad_(True)
    windows = torch.as_strided(leaf, (2, 2), (1, 1), 0)
    assert windows.tolist() == [[1.0, 2.0], [2.0, 3.0]]
    assert torch.autograd.grad(windows.sum(), leaf)[0].tolist() == [2.0, 1.0]


def test_the_size_of_repeated_elements_is_checked() -> None:
    x, counts = torch.tensor([5, 6]), torch.tensor([1, 2])
    assert torch.repeat_interleave(x, counts, output_size=3).tolist() == [5, 6, 6]
    assert torch.repeat_interleave(torch.ones(2, 2), 2, dim=-1, output_size=4).shape == (2, 4)
    assert torch.repeat_interleave(counts, output_size=3).tolist() == [0, 1, 1]
    for arguments in ((x, counts), (x, 2, 0), (counts,)):
        with pytest.raises(fg.ShapeError, match=r"Invalid output_size, expected \d but got 9"):
            torch.repeat_interleave(*arguments, output_size=9)


def test_gradients_are_those_of_the_function_where_those_of_torch_are_not() -> None:
    x = torch.tensor(np.random.default_rng(0).normal(size=(1, 1, 4)), requires_grad=True)
    twice = torch.tensor([[[1, 1, 0, 5]]])
    assert torch.autograd.gradcheck(lambda x: F.max_unpool1d(x, twice, 2, output_size=[1, 1, 8]), (x,))
    part = torch.tensor([0.5, 0.25], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, y: torch.as_strided_scatter(x, y, (2,), (2,), 1), (x, part))
    rows, weight = (torch.tensor(np.random.default_rng(i).normal(size=(3, 2)), requires_grad=True) for i in (1, 2))
    assert torch.autograd.gradgradcheck(
        lambda x, w: F.linear_cross_entropy(x, w, torch.tensor([0, 2, 1])), (rows, weight)
    )
    at = torch.tensor([-1.0, 0.5, 2.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(F.hardsigmoid(at).sum(), at)
    assert g.tolist() == [1 / 6] * 3


def test_conditions_are_truth_values() -> None:
    x = torch.ones(2)
    for condition in (torch.tensor([1.5, 0.0]), torch.tensor([2, 0])):
        with pytest.raises(RuntimeError, match="boolean tensor"):
            torch.where(condition, x, 0.0)
        with pytest.raises(RuntimeError, match="boolean tensor"):
            x.where(condition, 0.0)
    assert x.where(torch.tensor([True, False]), 0.0).tolist() == [1, 0]


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.bool_])
@pytest.mark.parametrize(("shape", "axis"), [((2000, 3), 0), ((4, 500, 2), 1), ((7, 100), 1), ((90, 1), 0)])
def test_unique_slices_of_large_tensors_are_numpys(
    shape: tuple[int, ...], axis: int, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(0).integers(0, 3, shape).astype(dtype)
    monkeypatch.setattr("ferrograd._functions.sort.LARGE", 1)
    found = torch.unique(torch.tensor(values), return_inverse=True, return_counts=True, dim=axis)
    wanted = np.unique(values, return_inverse=True, return_counts=True, axis=axis)
    for own, numpys in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(own.numpy(), numpys.reshape(own.shape))


def test_truth_values_are_added_up_and_multiplied() -> None:
    b, at = torch.tensor([True, False]), torch.tensor([1, 1])
    assert b.scatter_add(0, at, torch.tensor([False, True])).tolist() == [True, True]
    assert b.index_add(0, at, torch.tensor([False, True])).tolist() == [True, True]
    assert torch.zeros(1, dtype=torch.bool).scatter_add(0, torch.zeros(256, dtype=int), torch.ones(256) > 0).item()
    assert b.scatter_reduce(0, torch.tensor([0, 0]), torch.tensor([True, False]), "prod").tolist() == [False, False]
    assert b.put(torch.tensor([1]), torch.tensor([True]), accumulate=True).tolist() == [True, True]
    assert torch.sum(torch.tensor([0.5, 0.0]), dtype=torch.bool).item() is True
    assert torch.prod(torch.tensor([0.5, 0.0]), dtype=torch.bool).item() is False
    assert torch.cumsum(torch.tensor([0.0, 0.5]), 0, dtype=torch.bool).tolist() == [False, True]
    assert torch.cumprod(torch.tensor([0.5, 0.0]), 0, dtype=torch.bool).tolist() == [True, False]
    assert b.clamp(min=torch.tensor([False, True])).tolist() == [True, True]
    assert torch.sign(b).tolist() == torch.sgn(b).tolist() == [True, False]
    assert torch.square(b).dtype == torch.int64
    copied = torch.sign(b)
    copied[0] = False
    assert b.tolist() == [True, False]


@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_a_dtype_of_integers_is_refused_where_floats_are_computed(dtype: str) -> None:
    x, wanted = torch.tensor([1.0, 2.0]), getattr(torch, dtype)
    for softmax in (torch.softmax, torch.log_softmax, F.softmax, F.log_softmax):
        with pytest.raises(RuntimeError, match="floating point or complex"):
            softmax(x, 0, dtype=wanted)
    for f in (torch.mean, torch.norm, torch.linalg.vector_norm):
        with pytest.raises(RuntimeError, match="floating point or complex"):
            f(x, dtype=wanted)


def test_means_of_windows_of_integers_are_integers() -> None:
    x = torch.tensor([[-3, -2, 1, 2]])
    assert F.avg_pool1d(x, 2).tolist() == [[-2, 1]]
    assert F.avg_pool2d(torch.arange(16).reshape(1, 4, 4), 2).tolist() == [[[2, 4], [10, 12]]]


def test_sums_to_a_size_are_wide() -> None:
    x = torch.full((4,), 100, dtype=torch.int8)
    assert x.sum_to_size(1).tolist() == [400]
    assert x.sum_to_size(4).dtype == torch.int8
    assert torch.sum_to_size(x, size=(1,)).dtype == torch.int64


def test_values_written_over_views_are_cast() -> None:
    x = torch.zeros(3, dtype=torch.float16)
    assert x.select_scatter(torch.tensor(1.5), 0, 1).dtype == torch.float16
    assert torch.slice_scatter(x, src=torch.ones(2), dim=0, start=0, end=2).tolist() == [1, 1, 0]
    assert torch.diagonal_scatter(torch.zeros(2, 2, dtype=torch.bfloat16), torch.ones(2)).dtype == torch.bfloat16


def test_hashes_of_bits() -> None:
    x = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    bits = np.array([1.0, 2.0, 3.0]).view(np.uint64)
    assert torch.hash_tensor(x, 1).tolist() == [int(bits[0] ^ bits[1] ^ bits[2])] * 2
    assert torch.hash_tensor(torch.tensor([-4, 5]), keepdim=True).tolist() == [2**64 - 4 ^ 5]
    assert torch.hash_tensor(x).item() == 0
    assert torch.hash_tensor(torch.tensor(3), 0, keepdim=True).item() == 3


def test_out_of_a_range_takes_its_size() -> None:
    out = torch.empty(0)
    assert torch.arange(3, out=out) is out
    assert out.tolist() == [0, 1, 2]


def test_medians_of_nothing_are_nan() -> None:
    assert math.isnan(torch.median(torch.empty(0)).item())
    assert math.isnan(torch.empty(0, 3).nanmedian().item())


def test_images_of_no_batch() -> None:
    x, at = torch.empty(0, 2, 2, 2), torch.empty(0, 2, 2, 2, dtype=torch.int64)
    assert F.max_unpool2d(x, at, 2).shape == (0, 2, 4, 4)
    assert F.local_response_norm(torch.empty(2, 3, 0), 2).shape == (2, 3, 0)
    assert F.instance_norm(torch.empty(0, 2, 3)).shape == (0, 2, 3)
    none = torch.empty(0, 3, 2)
    assert F.scaled_dot_product_attention(none, none, none, enable_gqa=True).shape == (0, 3, 2)


def test_arguments_under_their_other_names() -> None:
    x = torch.arange(4)
    for split in (torch.hsplit, torch.tensor_split):
        assert [part.tolist() for part in split(x, sections=2)] == [[0, 1], [2, 3]]
        assert [part.tolist() for part in split(x, indices=[1])] == [[0], [1, 2, 3]]
    assert torch.max(x, other=torch.tensor(2)).tolist() == [2, 2, 2, 3]
    assert x.min(other=torch.tensor(2)).tolist() == [0, 1, 2, 2]
    assert torch.linalg.matrix_rank(input=torch.eye(2)).item() == 2
    assert torch.cholesky_solve(torch.ones(2, 1), input2=torch.eye(2)).tolist() == [[1], [1]]
    assert x.new_ones(size=(2,), pin_memory=False, layout=torch.strided).tolist() == [1, 1]
    assert torch.arange(2, pin_memory=False).tolist() == [0, 1]
    assert x.bernoulli(1.0).tolist() == [1, 1, 1, 1]
    assert torch.rsub(x, 1, 2).tolist() == [1, -1, -3, -5]
    y = torch.tensor([0.5])
    assert y.polygamma_(1) is y
    assert y.item() == pytest.approx(math.pi**2 / 2)
    a, kernel = torch.arange(4.0).reshape(4, 1, 1), torch.ones(2, 1, 1)
    assert F.conv_tbc(a, kernel, torch.zeros(1)).flatten().tolist() == [1, 3, 5]


def test_bytes_of_a_resized_image_are_rounded_after_each_axis() -> None:
    x = torch.tensor([[[[0, 5]]]], dtype=torch.uint8)
    assert F.interpolate(x, size=(1, 3), mode="bilinear").tolist() == [[[[0, 3, 5]]]]
    x = torch.tensor([[[[0, 255, 30], [255, 0, 90], [7, 200, 100]]]], dtype=torch.uint8)
    wanted = [[0, 112, 255, 143, 1], [191, 144, 70, 60, 67], [191, 132, 44, 68, 106], [0, 85, 214, 161, 89]]
    assert F.interpolate(x, size=(4, 5), mode="bicubic").tolist() == [[wanted]]


def test_more_arguments_under_their_other_names() -> None:
    x = torch.arange(4).reshape(2, 2)
    assert torch.subtract(x, x, alpha=2).tolist() == (-x).tolist()
    assert x.swapaxes(axis0=0, axis1=1).tolist() == torch.swapdims(x, dim0=0, dim1=1).tolist() == [[0, 2], [1, 3]]
    assert F.one_hot(tensor=torch.tensor([1]), num_classes=2).tolist() == [[0, 1]]
    same = (torch.special.legendre_polynomial_p(x=x, n=1), torch.special.legendre_polynomial_p(input=x, n=1))
    assert same[0].tolist() == same[1].tolist() == x.tolist()
    assert x.new_tensor([1], layout=torch.strided, pin_memory=False).tolist() == [1]
    assert torch.from_dlpack(np.ones(2), device="cpu", copy=True).tolist() == [1, 1]
    with pytest.raises(ValueError, match="copied"):
        torch.from_dlpack(np.ones(2), copy=False)
    assert torch.nan_to_num(torch.tensor([math.nan]), nan=None).tolist() == [0]
    assert torch.msort(torch.tensor(3)).item() == 3


def test_truth_values_are_drawn() -> None:
    out = torch.empty(0, dtype=torch.bool)
    assert torch.bernoulli(torch.ones(2), out=out) is out
    assert out.tolist() == [True, True]


def test_tests_of_bytes_are_bytes() -> None:
    x = torch.tensor([[1, 0], [2, 3]], dtype=torch.uint8)
    assert x.all().dtype == torch.any(x, 1).dtype == torch.uint8
    assert torch.all(x, dim=1).tolist() == [0, 1]
    assert x.to(torch.int8).all().dtype == torch.bool


def test_bfloat16_where_numpy_computes() -> None:
    x = torch.tensor([[2, 1], [1, 0], [2, 1]], dtype=torch.bfloat16)
    values, inverse = torch.unique(x, dim=0, return_inverse=True)
    assert values.dtype == torch.bfloat16
    assert (values.tolist(), inverse.tolist()) == ([[1, 0], [2, 1]], [1, 0, 1])
    drawn = torch.full((1, 1, 2), 0.5, dtype=torch.bfloat16)
    image = torch.arange(16.0).reshape(1, 1, 4, 4).to(torch.bfloat16)
    found = F.fractional_max_pool2d(image, 2, output_size=2, _random_samples=drawn)
    assert (
        found.tolist()
        == F.fractional_max_pool2d(image.float(), 2, output_size=2, _random_samples=drawn.float()).tolist()
    )


def test_infinities_of_half_floats_become_their_largest_numbers() -> None:
    inf = float("inf")
    for dtype, largest in ((torch.float16, 65504.0), (torch.bfloat16, 3.3895313892515355e38)):
        x = torch.tensor([float("nan"), inf, -inf, 1.0], dtype=dtype, requires_grad=True)
        y = torch.nan_to_num(x)
        assert (y.dtype, y.tolist()) == (dtype, [0.0, largest, -largest, 1.0])
        y.sum().backward()
        assert x.grad.tolist() == [0, 0, 0, 1]
        assert torch.nan_to_num(x, 2.0, 3.0, 4.0).tolist() == [2, 3, 4, 1]


def test_numbers_in_a_row_are_written_to_out_in_its_shape() -> None:
    f: Any
    for f, want in (
        (lambda out: torch.range(0, 3, out=out), [[0, 1], [2, 3]]),
        (lambda out: torch.arange(4.0, out=out), [[0, 1], [2, 3]]),
        (lambda out: torch.linspace(0, 3, 4, out=out), [[0, 1], [2, 3]]),
        (lambda out: torch.logspace(0, 3, 4, 2, out=out), [[1, 2], [4, 8]]),
    ):
        whole = torch.zeros(2, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            f(whole[:, 1:])
        assert whole.tolist() == [[0, *row] for row in want]


def test_rows_of_complex_numbers() -> None:
    row = torch.linspace(1j, 2 + 3j, 3)
    assert (row.dtype, row.tolist()) == (torch.complex64, [1j, 1 + 2j, 2 + 3j])
    assert torch.linspace(torch.tensor(0j), 2, 3, dtype=torch.complex128).tolist() == [0, 1, 2]
    want = 10 ** np.linspace(0, 1 + 1j, 3)
    np.testing.assert_allclose(torch.logspace(0, 1 + 1j, 3, dtype=torch.complex128).numpy(), want)
    with pytest.raises(TypeError, match="can't be safely cast"):
        torch.linspace(0, 1j, 3, dtype=torch.float32)


def test_clamp_needs_a_bound() -> None:
    x = torch.tensor([-1.0, 2.0])
    calls: tuple[Callable[[], Any], ...] = (
        lambda: torch.clamp(x),
        lambda: x.clamp(min=None),
        lambda: x.clip(None, None),
        lambda: x.clamp_(),
        lambda: torch.clip(x, out=torch.ones(2)),
        lambda: torch.func.vmap(torch.clamp)(x),
        lambda: torch.compile(torch.clamp)(x),
    )
    for call in calls:
        with pytest.raises(RuntimeError, match="one of min and max is given"):
            call()
    assert x.clamp(max=torch.tensor(1.0)).tolist() == [-1, 1]


def test_block_diag_of_nothing() -> None:
    found = torch.block_diag()
    assert (type(found), found.shape, found.dtype) == (torch.Tensor, (1, 0), torch.float32)


@pytest.mark.parametrize("x", [torch.tensor([1, 2]), torch.tensor([True]), torch.tensor([1j])])
def test_frexp_is_of_floats(x: Any) -> None:
    with pytest.raises(RuntimeError, match="floating-point dtypes"):
        torch.frexp(x)
