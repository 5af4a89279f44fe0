"""Pools, convolutions and normalisations of ``torch.nn.functional`` against their definitions."""

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import torch
from ferrograd.torch.nn import functional as F


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


IMAGE = normal(3, 4, 6, 7)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_max_pool_indices_name_the_elements(axes: int) -> None:
    x = torch.tensor(normal(2, 3, *(5,) * axes))
    flat = x.reshape((2, 3, -1))
    for name, args in ((f"max_pool{axes}d", (3, 2, 1, 1, True)), (f"adaptive_max_pool{axes}d", (3,))):
        values, positions = getattr(F, name)(x, *args, return_indices=True)
        assert positions.dtype == torch.int64
        again = torch.gather(flat, 2, positions.reshape((2, 3, -1))).reshape(values.shape)
        np.testing.assert_array_equal(again.numpy(), values.numpy())
        np.testing.assert_array_equal(getattr(F, name)(x, *args).numpy(), values.numpy())
        for said in (False, True):
            found = getattr(F, f"{name}_with_indices")(x, *args, return_indices=said)
            np.testing.assert_array_equal(found[0].numpy(), values.numpy())
            np.testing.assert_array_equal(found[1].numpy(), positions.numpy())


def test_none_keeps_a_size() -> None:
    x = torch.tensor(IMAGE)
    want = IMAGE.reshape(3, 4, 2, 3, 7).mean(3)
    np.testing.assert_allclose(F.adaptive_avg_pool2d(x, (2, None)).numpy(), want, rtol=1e-14)
    np.testing.assert_allclose(F.adaptive_max_pool2d(x, None).numpy(), IMAGE)


def test_lp_pools() -> None:
    x = torch.tensor(np.abs(normal(1, 2, 6)))
    want = np.sqrt((x.numpy().reshape(1, 2, 3, 2) ** 2).sum(-1))
    np.testing.assert_allclose(F.lp_pool1d(x, 2.0, 2).numpy(), want, rtol=1e-14)


@pytest.mark.parametrize("instance", [False, True])
def test_normalisations(instance: bool) -> None:
    x = torch.tensor(IMAGE, requires_grad=True)
    mean, var = torch.tensor(normal(4)), torch.tensor(np.abs(normal(4, seed=1)))
    weight, bias = torch.tensor(normal(4, seed=2)), torch.tensor(normal(4, seed=3))
    old = mean.numpy().copy(), var.numpy().copy()
    function = F.instance_norm if instance else F.batch_norm
    axes = (2, 3) if instance else (0, 2, 3)
    y = function(x, mean, var, weight, bias, True, 0.3, 1e-3)
    column = (4, 1, 1)
    centre, spread = IMAGE.mean(axes, keepdims=True), IMAGE.var(axes, keepdims=True)
    want = (IMAGE - centre) / np.sqrt(spread + 1e-3) * weight.numpy().reshape(column) + bias.numpy().reshape(column)
    np.testing.assert_allclose(y.detach().numpy(), want, rtol=1e-12)
    fair = IMAGE.var(axes, keepdims=True, ddof=1)
    np.testing.assert_allclose(mean.numpy(), 0.7 * old[0] + 0.3 * centre.mean(0).ravel(), rtol=1e-12)
    np.testing.assert_allclose(var.numpy(), 0.7 * old[1] + 0.3 * fair.mean(0).ravel(), rtol=1e-12)
    assert not mean.requires_grad
    kept = function(x, mean, var, None, None, False, 0.3, 1e-3).detach().numpy()
    want = (IMAGE - mean.numpy().reshape(column)) / np.sqrt(var.numpy().reshape(column) + 1e-3)
    np.testing.assert_allclose(kept, want, rtol=1e-12)
    small = torch.tensor(IMAGE[:2, :2, :2, :2], requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: function(x, None, None, None, None, True), [small])


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.batch_norm(torch.ones(1, 3), None, None, training=True),
        lambda: F.batch_norm(torch.ones(2, 3), None, None),
        lambda: F.batch_norm(torch.ones(2, 3), torch.ones(2), torch.ones(3)),
        lambda: F.batch_norm(torch.ones(3), torch.ones(3), torch.ones(3)),
        lambda: F.instance_norm(torch.ones(2, 3, 1)),
        lambda: F.adaptive_avg_pool2d(torch.ones(1, 3, 3), (1, 2, 3)),
        lambda: F.adaptive_avg_pool2d(torch.ones(1, 3, 3), -1),
        lambda: F.adaptive_avg_pool2d(torch.ones(1, 0, 3), 2),
        lambda: F.avg_pool2d(torch.ones(1, 3, 3), 2, divisor_override=0),
        lambda: F.avg_pool3d(torch.ones(1, 3, 3), 2),
        lambda: F.conv3d(torch.ones(1, 1, 3, 3, 3), torch.ones(1, 1, 3, 3)),
        lambda: F.conv_transpose1d(torch.ones(1, 2, 3), torch.ones(3, 1, 3)),
    ],
)
def test_wrong_arguments_raise(call: Callable[[], Any]) -> None:
    with pytest.raises(fg.ArgumentError):
        call()


def test_outputs_too_large_for_memory() -> None:
    with pytest.raises(MemoryError):
        F.adaptive_avg_pool1d(torch.ones(1, 1, 3), 2**40)


def _attention_of_parts(x: Any) -> Any:
    """multi_head_attention_forward with weights that are made from its inputs."""
    weights = [torch.cat([x[0], x[0], x[0]]), x[0, :1].expand(3, 6).reshape(-1), x[0], x[0, 0]]
    return F.multi_head_attention_forward(
        x, x, x, 6, 2, weights[0], weights[1], None, None, False, 0.0, weights[2], weights[3]
    )


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
        lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=x[:, :, :6]),
        _attention_of_parts,
        lambda x: F.linear_cross_entropy(x[0], x[1], torch.arange(6)),
        lambda x: F.grid_sample(x[None], x[:1, :, :2][None], mode="bicubic", align_corners=False),
        lambda x: F.embedding_bag(torch.tensor([[0, 1], [1, 1]]), x[0], mode="sum", per_sample_weights=x[0, :2, :2]),
        lambda x: F.embedding_bag(torch.tensor([0, 1, 1]), x[0], torch.tensor([0, 2]), mode="mean"),
    ],
)
def test_functions_of_several_ops_round_once(f: Callable[[Any], Any], half: Any) -> None:
    x = torch.tensor(np.random.default_rng(0).normal(size=(2, 6, 6))).to(half)
    inner, wide = x.clone().requires_grad_(True), x.float().requires_grad_(True)
    y, want = (z[0] if isinstance(z, tuple) else z for z in (f(inner), f(wide)))
    assert (y.dtype, want.dtype) == (half, torch.float32)
    assert y.tolist() == want.to(half).tolist()
    (g,), (wanted,) = torch.autograd.grad(y.sum(), inner), torch.autograd.grad(want.sum(), wide)
    assert g.dtype == half
    # What is used in several places gets a sum of rounded cotangents.
    near = 4 * torch.finfo(half).eps * float(wanted.abs().max())
    np.testing.assert_allclose(g.double().numpy(), wanted.double().numpy(), rtol=0, atol=near)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_are_tensors_of_the_dialect(mode: str) -> None:
    weight = torch.tensor([[1.0, -2.0], [3.0, -4.0]], requires_grad=True)
    y = F.embedding_bag(torch.tensor([0, 1, 1]), weight, torch.tensor([0, 3]), mode=mode)
    assert type(y) is torch.Tensor
    values: Any = {"sum": [7, -10], "mean": [7 / 3, -10 / 3], "max": [3, -2]}
    gradients: Any = {"sum": [[1, 1], [2, 2]], "mean": [[1 / 3] * 2, [2 / 3] * 2], "max": [[0, 1], [1, 0]]}
    np.testing.assert_allclose(y.detach().numpy(), [values[mode], [0, 0]], rtol=1e-6)
    (g,) = torch.autograd.grad(y.sum(), weight)
    np.testing.assert_allclose(g.numpy(), gradients[mode], rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("weights", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "name", ["layer_norm", "rms_norm", "group_norm", "batch_norm", "fixed_batch_norm", "instance_norm"]
)
def test_normalizations_keep_the_dtype_of_their_input(name: str, weights: torch.dtype, dtype: torch.dtype) -> None:
    w = torch.ones(4, dtype=weights, requires_grad=True)
    mean, var = torch.zeros(4, dtype=weights), torch.ones(4, dtype=weights)
    norms: dict[str, Callable[[Any], Any]] = {
        "layer_norm": lambda x: F.layer_norm(x.mT, (4,), w, w),
        "rms_norm": lambda x: F.rms_norm(x.mT, (4,), w, 1e-5),
        "group_norm": lambda x: F.group_norm(x, 2, w, w),
        "batch_norm": lambda x: F.batch_norm(x, mean, var, w, w, training=True),
        "fixed_batch_norm": lambda x: F.batch_norm(x, mean, var, w, w),
        "instance_norm": lambda x: F.instance_norm(x, mean, var, w, w),
    }
    x = torch.tensor(normal(3, 4, 2), dtype=dtype, requires_grad=True)
    y = norms[name](x)
    y.sum().backward()
    assert x.grad is not None
    assert w.grad is not None
    assert (y.dtype, x.grad.dtype, w.grad.dtype) == (dtype, dtype, weights)
    wide = norms[name](x.detach().to(weights))
    np.testing.assert_allclose(y.detach().double().numpy(), wide.detach().double().numpy(), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("norm", [F.group_norm, lambda x, _: F.batch_norm(x, None, None, training=True)])
def test_a_group_of_one_value_is_refused(norm: Callable[[Any, int], Any]) -> None:
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        norm(torch.ones(1, 4, 1), 4)
    assert norm(torch.ones(2, 4, 1), 4).shape == (2, 4, 1)


def test_losses_of_unsigned_integers_do_not_wrap() -> None:
    a, b = np.array([[1, 3], [2, 0]]), np.array([[2, 1], [1, 1]])
    for name, numbers in (
        ("soft_margin_loss", (a, b)),
        ("multilabel_soft_margin_loss", (a, b)),
        ("margin_ranking_loss", (a, b, b)),
        ("gaussian_nll_loss", (a, b, b)),
    ):
        loss = getattr(F, name)
        wanted = loss(*(torch.tensor(x, dtype=torch.float64) for x in numbers)).item()
        for dtype in (torch.uint8, torch.uint32, torch.int8):
            given = [torch.tensor(x, dtype=dtype) for x in numbers]
            assert loss(*given).item() == pytest.approx(wanted, rel=1e-6)
            half = loss(given[0].half(), *given[1:])
            # The logarithm of an integer variance is a float32.
            assert half.dtype == (torch.float32 if name == "gaussian_nll_loss" else torch.float16)
            assert half.item() == pytest.approx(wanted, rel=1e-2)


def test_silu_of_complex_numbers() -> None:
    x = torch.tensor([1 + 2j, -0.5j, 3 + 0j], dtype=torch.complex128, requires_grad=True)
    y = torch.nn.functional.silu(x)
    z = x.detach().numpy()
    assert np.allclose(y.detach().numpy(), z / (1 + np.exp(-z)))
    assert torch.autograd.gradcheck(torch.nn.functional.silu, x)


def test_sizes_of_pools_and_unpools() -> None:
    x = torch.ones(1, 3, 2, 2)
    with pytest.raises(RuntimeError, match="max_unpool2d: kernel_size is one number or 2"):
        F.max_unpool2d(x, torch.zeros(x.shape, dtype=torch.int64), [1, 1, 1])
    for place in (-1, 10_000):
        with pytest.raises(RuntimeError, match=f"max_unpool2d: Found an invalid max index: index {place} is out of"):
            F.max_unpool2d(x, torch.full(x.shape, place), 2)
    assert tuple(F.fractional_max_pool2d(torch.ones(2, 3, 8, 8), 2, output_size=(0, 1)).shape) == (2, 3, 0, 1)
    with pytest.raises(RuntimeError, match="Expect _random_samples"):
        F.fractional_max_pool2d(x, 1, output_size=1, _random_samples=torch.ones(0, 3, 2))


def test_embeddings_of_integers_and_their_errors() -> None:
    table = torch.nn.Embedding.from_pretrained(torch.tensor([[1, 2], [3, 4]]))
    assert table(torch.tensor([1])).tolist() == [[3, 4]]
    assert torch.nn.Embedding.from_pretrained(torch.ones(2, 2), freeze=False).weight.requires_grad
    weight = torch.ones(3, 2)
    with pytest.raises(RuntimeError, match="padding_idx must be within the number of embeddings"):
        F.embedding_bag(torch.tensor([[0]]), weight, padding_idx=3)
    with pytest.raises(RuntimeError, match=r"index -1 is out of bounds.*Expected idx >= 0 && idx < num_embeddings"):
        F.embedding_bag(torch.tensor([[-1]]), weight)


def test_losses_keep_the_shape_of_the_target_and_want_integers() -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    assert tuple(F.multi_margin_loss(x, torch.tensor([1]), reduction="none").shape) == (1,)
    assert tuple(F.multi_margin_loss(x, torch.tensor(1), reduction="none").shape) == ()
    scores, targets = torch.zeros(5, 2, 4), torch.tensor([[1, 2], [2, 3]])
    for lengths in ((torch.tensor([5.0, 5.0]), (2, 1)), ((5, 5), (2.5, 1))):
        with pytest.raises(RuntimeError, match="_lengths must be integers"):
            F.ctc_loss(scores, targets, *lengths)
    with pytest.raises(RuntimeError, match="targets must be integers"):
        F.ctc_loss(scores, targets.double(), (5, 5), (2, 1))


def test_gradients_of_convolutions_are_there_under_the_name_of_torch() -> None:
    assert F.grad is torch.nn.grad
    found = F.grad.conv1d_input([1, 1, 3], torch.ones(1, 1, 2), torch.ones(1, 1, 2))
    assert found.tolist() == [[[1, 2, 1]]]


def test_images_and_grids_of_wrong_sizes_are_named() -> None:
    x, grid, theta = torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), torch.ones(1, 2, 3)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: F.grid_sample(x[0], grid), "expected grid to have size 1 in last dimension"),
        (lambda: F.grid_sample(x, grid[..., :1]), "expected grid to have size 2 in last dimension"),
        (lambda: F.grid_sample(x, grid[0]), "same number of dimensions"),
        (lambda: F.grid_sample(x, torch.zeros(2, 1, 1, 2)), "same batch size"),
        (lambda: F.grid_sample(x[:, :, :0], grid), "non-empty spatial dimensions"),
        (lambda: F.affine_grid(theta.int(), [1, 1, 2, 2]), "floating point type"),
        (lambda: F.affine_grid(theta[0], [1, 1, 2, 2]), "2D affine matrices of shape Nx2x3"),
        (lambda: F.fold(torch.ones(1, 12, 12), (4, 5), 2, dilation=8), "array of sliding blocks as"),
        (lambda: torch.nn.LSTM(2, 3)(torch.ones(0, 1, 2)), "sequence length to be larger than 0"),
    ]
    for call, text in cases:
        with pytest.raises((ValueError, RuntimeError), match=text):
            call()
    with pytest.raises(NotImplementedError, match="only supports 4D and 5D sizes"):
        F.affine_grid(theta, [1, 1, 2])
    for size in (2.0, (2.0, 2), torch.tensor(2.0)):
        with pytest.raises(TypeError, match="expected size to be one of int"):
            F.interpolate(x, size=size)
    assert tuple(F.interpolate(x, size=torch.tensor(3)).shape) == (1, 1, 3, 3)
    with pytest.warns(UserWarning, match="See the documentation of affine_grid"):
        F.affine_grid(theta, [1, 1, 2, 1], align_corners=True)


def test_cosine_losses_of_two_dtypes_are_as_exact_as_the_wider_one() -> None:
    a, b = np.array([[2.0, 3, 4], [6, 2, 4]]), np.array([[2.0, 3, 5], [3, 2, 1]])
    target = torch.tensor([1, -1])
    want = F.cosine_embedding_loss(torch.tensor(a), torch.tensor(b), target).item()
    for other in (torch.float32, torch.float16, torch.int32):
        found = F.cosine_embedding_loss(torch.tensor(a).bfloat16(), torch.tensor(b).to(other), target)
        assert found.dtype == torch.float32
        assert found.item() == pytest.approx(want, abs=1e-6)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_images_without_elements_are_not_padded(mode: str) -> None:
    for axes in (1, 2, 3):
        widths, shape = (1,) * 2 * axes, (4,) * axes
        assert F.pad(torch.ones(0, 3, *shape), widths, mode).shape == (0, 3, *(6,) * axes)
        for wrong in ((3, 0, *shape), (0, *shape), (2, 3, *shape[1:], 0)):
            with pytest.raises(RuntimeError, match=f"Expected {axes + 1}D or {axes + 2}D"):
                F.pad(torch.ones(wrong), widths, mode)
    assert F.unfold(torch.ones(0, 3, 3, 4), 2).shape == (0, 12, 6)
    for wrong in ((3, 0, 3, 4), (0, 3, 4)):
        with pytest.raises(RuntimeError, match="Expected 3D or 4D"):
            F.unfold(torch.ones(wrong), 2)


def test_reflected_padding_is_less_than_the_image() -> None:
    x = torch.arange(3.0)[None, None]
    assert F.pad(x, (2, 2), "reflect").tolist() == [[[2, 1, 0, 1, 2, 1, 0]]]
    for widths in ((3, 0), (0, 4)):
        with pytest.raises(RuntimeError, match="Padding size should be less than the corresponding input dimension"):
            F.pad(x, widths, "reflect")


def test_circular_padding_goes_around_once() -> None:
    x = torch.arange(4.0)[None, None]
    assert F.pad(x, (4, 4), "circular").tolist() == [[[0, 1, 2, 3] * 3]]
    assert F.pad(x, (-4, 0), "circular").shape == (1, 1, 0)
    for widths in ((5, 4), (3, 6), (0, 5)):
        with pytest.raises(RuntimeError, match="wrapping around more than once"):
            F.pad(x, widths, "circular")
    with pytest.raises(RuntimeError, match="resulting in an empty dimension"):
        F.pad(x, (-3, -2), "circular")


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_pools_refuse_images_without_elements(axes: int) -> None:
    windows: list[Any] = [getattr(F, f"{name}_pool{axes}d") for name in ("max", "avg")]
    windows.append(lambda x, k: getattr(F, f"lp_pool{axes}d")(x, 2.0, k))
    shape = (5,) * axes
    for pool in windows:
        assert pool(torch.ones(0, 3, *shape), 2).shape == (0, 3, *(2,) * axes)
        for wrong in ((3, 0, *shape), (0, *shape), (2, 3, *shape[1:], 0)):
            with pytest.raises(RuntimeError, match=f"Expected {axes + 1}D or {axes + 2}D"):
                pool(torch.ones(wrong), 2)
    parts: list[Any] = [getattr(F, f"adaptive_max_pool{axes}d")]
    if axes > 1:
        parts.append(lambda x, k: getattr(F, f"fractional_max_pool{axes}d")(x, 2, output_size=k))
    for pool in parts:
        assert pool(torch.ones(0, 3, *shape), 2).shape == (0, 3, *(2,) * axes)
        with pytest.raises(RuntimeError, match="Expected input to have non-zero size for non-batch dimensions"):
            pool(torch.ones(3, 0, *shape), 2)


def test_weights_of_samples_have_the_dtype_of_the_rows() -> None:
    index, starts = torch.tensor([0, 1]), torch.tensor([0])
    with pytest.raises(RuntimeError, match="to have the same type as per_sample_weights"):
        F.embedding_bag(index, torch.ones(2, 3), starts, mode="sum", per_sample_weights=torch.ones(2).double())


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_convolutions_say_what_does_not_fit(axes: int) -> None:
    conv: Any = getattr(F, f"conv{axes}d")
    x, w = torch.ones(1, 2, *(4,) * axes), torch.ones(3, 2, *(3,) * axes)
    sizes, kernel = (r"\(" + " x ".join([n] * axes) + r"\)" for n in ("6", "9"))
    refused: list[tuple[str, Any]] = [
        (
            f"input size per channel: {sizes}. Kernel size: {kernel}. Kernel size can't be greater than actual input",
            lambda: conv(x, w, padding=1, dilation=4),
        ),
        ("non-positive stride is not supported", lambda: conv(x, w, stride=0)),
        (
            rf"Expected {axes + 1}D \(unbatched\) or {axes + 2}D \(batched\) input to conv{axes}d, but got input of",
            lambda: conv(x[None], w),
        ),
        ("output size is too small", lambda: getattr(F, f"max_pool{axes}d")(x, 5)),
        ("stride must be greater than zero", lambda: getattr(F, f"max_pool{axes}d")(x, 2, stride=0)),
    ]
    for text, call in refused:
        with pytest.raises(RuntimeError, match=text):
            call()
