"""``flex_attention`` against its formula: functions of scores and of positions, masks, heads in groups, gradients."""

from __future__ import annotations

from typing import Any

import ferrograd.torch as _torch
import pytest
from ferrograd.torch.nn.attention import bias as _bias, flex_attention as _flex

torch: Any = _torch
flex: Any = _flex
bias: Any = _bias
attend = torch.nn.functional.scaled_dot_product_attention


def causal(b: Any, h: Any, q: Any, k: Any) -> Any:
    return q >= k


def operands(lengths: tuple[int, int] = (6, 6), heads: tuple[int, int] = (4, 4), dtype: Any = None) -> Any:
    torch.manual_seed(1)
    sizes = [(2, heads[i > 0], lengths[i > 0], 3) for i in range(3)]
    return [torch.randn(*size, dtype=dtype or torch.float64, requires_grad=True) for size in sizes]


def test_a_function_of_the_score_and_the_position() -> None:
    q, k, v = operands()
    slopes = torch.randn(4, 6, 6, dtype=torch.float64, requires_grad=True)

    def score_mod(score: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
        return torch.where(i >= j, score + slopes[h, i, j] * (b + 1), -float("inf"))

    found = flex.flex_attention(q, k, v, score_mod=score_mod, scale=0.5)
    rows = torch.arange(6)
    added = slopes * torch.arange(1, 3)[:, None, None, None]
    wanted = attend(q, k, v, torch.where(rows[:, None] >= rows, added, -float("inf")), scale=0.5)
    assert torch.allclose(found, wanted)
    inputs = (q, k, v, slopes)
    pairs = [torch.autograd.grad((y * y).sum(), inputs) for y in (found, wanted)]
    assert all(map(torch.allclose, *pairs))
    assert torch.autograd.gradgradcheck(lambda q, k: flex.flex_attention(q, k, v.detach(), score_mod), (q, k))


@pytest.mark.parametrize("sizes", [(None, None), (2, 4)])
def test_block_masks(sizes: Any) -> None:
    q, k, v = operands()
    mask = flex.create_block_mask(causal, *sizes, 6, 6, device="cpu", BLOCK_SIZE=2)
    assert mask.shape == (sizes[0] or 1, sizes[1] or 1, 6, 6)
    assert mask.seq_lengths == (6, 6)
    assert mask.to_dense()[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert mask.sparsity() == pytest.approx(100 / 3)
    assert mask.numel() == mask.to("cpu").shape[0] * mask.shape[1] * 36
    wanted = attend(q, k, v, is_causal=True)
    assert torch.allclose(flex.flex_attention(q, k, v, block_mask=mask), wanted)
    part = mask[:, :, -1]
    assert torch.allclose(flex.flex_attention(q[:, :, 4:], k, v, block_mask=part), wanted[:, :, 4:])
    part.mask_mod = lambda b, h, i, j: i + 5 >= j
    assert torch.allclose(flex.flex_attention(q[:, :, 5:], k, v, block_mask=part), wanted[:, :, 5:])


def test_masks_of_several_functions() -> None:
    def near(b: Any, h: Any, q: Any, k: Any) -> Any:
        return q - k < 2

    both = flex.create_mask(flex.and_masks(causal, near), None, None, 4, 4)[0, 0]
    assert both.tolist() == torch.ones(4, 4).tril().triu(-1).bool().tolist()
    either = flex.create_mask(flex.or_masks(causal, near, flex.noop_mask), 2, 3, 4, 4)
    assert tuple(either.shape) == (2, 3, 4, 4)
    assert either.all()
    hidden = flex.create_mask(lambda s, b, h, q, k: torch.where(q >= k, s, -float("inf")), None, None, 2, 2)
    assert hidden.tolist() == [[[[True, False], [True, True]]]]


def test_queries_that_see_nothing_get_zeros() -> None:
    q, k, v = operands((3, 5))
    mask = flex.create_block_mask(lambda b, h, q, k: q + k < 0, None, None, 3, 5)
    found, lse = flex.flex_attention(q, k, v, block_mask=mask, return_lse=True)
    assert (found == 0).all()
    assert (lse == -float("inf")).all()
    assert all((g == 0).all() for g in torch.autograd.grad(found.sum(), (q, k, v)))


def test_heads_in_groups_and_half_precision() -> None:
    q, k, v = operands((5, 7), (4, 2), torch.bfloat16)
    found, lse = flex.flex_attention(q, k, v, enable_gqa=True, return_lse=True)
    assert found.dtype == torch.bfloat16
    assert lse.dtype == torch.float32
    wanted = attend(q.float(), k.float(), v.float(), enable_gqa=True)
    assert torch.allclose(found.float(), wanted, atol=0.05)


def test_refusals() -> None:
    q, k, v = operands()
    mask = flex.create_block_mask(causal, None, None, 4, 6)
    cases: list[tuple[Any, Any, str]] = [
        (lambda: flex.flex_attention(q, k, v, block_mask=mask), ValueError, "was created for the sizes"),
        (lambda: flex.flex_attention(q, k[:, :2], v[:, :2]), ValueError, "with enable_gqa=True"),
        (lambda: flex.flex_attention(q, k.float(), v), ValueError, "have one dtype"),
        (lambda: flex.flex_attention(q[0], k, v), ValueError, "has the axes batch, heads, length, size"),
        (lambda: flex.flex_attention(q, k[..., :2], v), ValueError, "do not fit together"),
        (lambda: flex.flex_attention(q, k, v, lambda s, b, h, i, j: v[0, 0]), ValueError, "gives one number"),
        (lambda: flex.create_block_mask(3, None, None, 2, 2), TypeError, "a function is wanted"),
        (lambda: flex.create_block_mask(causal, None, None, 2, 2, "cuda"), ValueError, "the only device is 'cpu'"),
        (
            lambda: flex.flex_attention(q[:, :, :4], k, v, block_mask=changed(mask)),
            ValueError,
            "assign one to mask_mod",
        ),
    ]
    for call, error, text in cases:
        with pytest.raises(error, match=text):
            call()


def changed(mask: Any) -> Any:
    part = mask[0]
    part.mask_mod = mask[1:].mask_mod
    part._made_by = None
    return part


def test_causal_masks_of_two_lengths() -> None:
    q, k, v = operands((2, 6))
    found = attend(q, k, v, bias.causal_lower_right(2, 6))
    assert torch.allclose(found[:, :, 1], attend(q, k, v)[:, :, 1])
    assert bias.causal_upper_left(2, 2).tolist() == bias.causal_lower_right(2, 2).tolist()
    with pytest.raises(TypeError, match="the numbers of queries and of keys"):
        bias.causal_lower_right(2)
