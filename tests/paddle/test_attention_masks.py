"""Masks of attention: what sequences that lie one after the other give is what each gives alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ferrograd.paddle as _paddle
import numpy as np
import pytest

from tests.dialects import values

paddle: Any = _paddle
F: Any = paddle.nn.functional
nn: Any = paddle.incubate.nn
M: Any = nn.attn_bias

SHAPES = [(2, 3), (1, 5), (3, 1)]


def heads(*shape: int) -> Any:
    return paddle.to_tensor(np.random.default_rng(sum(shape)).standard_normal((*shape, 2, 4)), stop_gradient=False)


@pytest.mark.parametrize("causal", [False, True])
def test_sequences_in_one_tensor_attend_to_themselves(causal: bool) -> None:
    queries, keys = [heads(*shape) for shape in SHAPES], [heads(b, n + 2) for b, n in SHAPES]
    mask, q, k, v = M.BlockDiagonalMask.from_tensor_lists_qkv(queries, keys, [2 * x for x in keys])
    mask = mask.make_causal() if causal else mask
    out = nn.memory_efficient_attention(q, k, v, mask)
    for part, x, y in zip(mask.split_queries(out), queries, keys, strict=True):
        alone = M.LowerTriangularMask() if causal else None
        wanted = nn.memory_efficient_attention(x, y, 2 * y, alone)
        np.testing.assert_allclose(part.numpy(), wanted.numpy(), rtol=1e-12)
        of_part, of_alone = (paddle.grad((z * z).sum(), y)[0] for z in (part, wanted))
        np.testing.assert_allclose(of_part.numpy(), of_alone.numpy(), atol=1e-12)
    for part, y in zip(mask.split_kv(k), keys, strict=True):
        assert values(part) == values(y)


def test_batches_are_split_again() -> None:
    batches = [heads(*shape) for shape in SHAPES]
    mask, x = M.BlockDiagonalCausalMask.from_tensor_list(batches)
    assert [values(part) for part in mask.split(x)] == [values(batch) for batch in batches]
    assert mask.q_seqinfo.seqstart.tolist() == [0, 3, 6, 11, 12, 13, 14]
    assert (mask.q_seqinfo.max_seqlen, mask.k_seqinfo) == (5, mask.q_seqinfo)


def test_padded_keys_are_hidden_and_a_diagonal_is_moved() -> None:
    offsets = paddle.to_tensor([1, 0], dtype="int32")
    mask = M.BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens([2, 1], 3, [2, 3], offsets)
    seen = mask.materialize([2, 3, 6], "float64") == 0
    assert values(seen[1]) == values(seen[0])
    assert values(seen[0].astype("int64")) == [[1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0]]
    plain = M.BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens([2, 1], 3, [2, 3])
    assert values((plain.materialize([3, 6]) == 0).astype("int64"))[0] == [1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_bias_is_added(dtype: str) -> None:
    bias = paddle.ones([3, 2, 2], dtype)
    found = M.LowerTriangularMask().add_bias(bias).materialize([3, 2, 2], dtype)
    assert found.dtype == bias.dtype
    assert found.astype("float64").tolist() == [[[1, -math.inf], [1, 1]]] * 3


def test_what_does_not_fit_is_refused() -> None:
    mask = M.BlockDiagonalMask.from_seqlens([1, 2], [2, 2])
    refused: list[Callable[[], Any]] = [
        lambda: mask.materialize([3, 3]),
        lambda: mask.materialize([3, 4], "int64"),
        lambda: mask.split(paddle.ones([1, 3])),
        lambda: mask.split_queries(paddle.ones([1, 4])),
        lambda: mask.q_seqinfo.split(paddle.ones([1, 3]), [1]),
        lambda: M.BlockDiagonalMask.from_seqlens([1], [1, 2]),
        lambda: M.BlockDiagonalMask.from_tensor_lists_qkv([heads(1, 2)], [heads(2, 2)]),
        lambda: M.PaddedSeqLenInfo.from_seqlens_padded([4], 3),
        lambda: nn.memory_efficient_attention(heads(1, 2), heads(1, 2), heads(1, 2), 1.0),
    ]
    for call in refused:
        with pytest.raises((ValueError, TypeError)):
            call()
    padded = M.PaddedSeqLenInfo.from_seqlens_padded([1], 2)
    absent: list[Callable[[], Any]] = [
        lambda: M.PaddedSeqLenInfo.from_seqlens([1]),
        lambda: padded.split(paddle.ones([1, 2])),
    ]
    for call in absent:
        with pytest.raises(NotImplementedError):
            call()
