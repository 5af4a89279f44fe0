"""``paddle.incubate.nn.functional``: functions that do the work of several. Here each calls the several."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public
from ferrograd.paddle._functions.products import matmul
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn.functional import dropout, gelu, relu, swiglu

__all__ = ["fused_dropout_add", "fused_linear", "fused_linear_activation", "fused_matmul_bias", "swiglu"]


def fused_matmul_bias(
    x: Tensor,
    y: Tensor,
    bias: Tensor | None = None,
    transpose_x: bool = False,
    transpose_y: bool = False,
    name: str | None = None,
) -> Tensor:
    """``x @ y + bias``.

    >>> import ferrograd.paddle as paddle
    >>> fused_matmul_bias(paddle.ones([1, 2]), paddle.ones([3, 2]), paddle.ones([3]), transpose_y=True).tolist()
    [[3.0, 3.0, 3.0]]
    """
    product = matmul(x, y, transpose_x, transpose_y)
    return product if bias is None else product + bias


def fused_linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, transpose_weight: bool = False, name: str | None = None
) -> Tensor:
    """``x @ weight + bias``."""
    return fused_matmul_bias(x, weight, bias, False, transpose_weight)


def fused_linear_activation(
    x: Tensor,
    y: Tensor,
    bias: Tensor,
    trans_x: bool = False,
    trans_y: bool = False,
    activation: str | None = None,
) -> Tensor:
    """``x @ y + bias``, and of that the ``activation``: "gelu" (by tanh), "relu" or "none".

    Raises ArgumentError for another activation.
    """
    scores = fused_matmul_bias(x, y, bias, trans_x, trans_y)
    if activation in (None, "none"):
        return scores
    if activation not in ("gelu", "relu"):
        raise ArgumentError(f"fused_linear_activation: activation is 'gelu', 'relu' or 'none', not {activation!r}")
    return relu(scores) if activation == "relu" else gelu(scores, True)


def fused_dropout_add(
    x: Tensor,
    y: Tensor,
    p: Any = 0.5,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Tensor:
    """``dropout(x, p) + y``."""
    return dropout(x, p, training=training, mode=mode) + y


__dir__ = _public.names(globals())
