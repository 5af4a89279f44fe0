"""Functions of ``torch.nn.functional`` that the namespace has with more arguments than the core's of the same name."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError
from ferrograd._kit.ops import ops
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional as F
from ferrograd.torch.nn._functional.pools import batch_norm_of_any_eps

__all__ = [
    "batch_norm",
    "binary_cross_entropy_with_logits",
    "group_norm",
    "kl_div",
    "layer_norm",
    "native_batch_norm",
    "native_group_norm",
    "native_layer_norm",
    "rms_norm",
]

rms_norm = F.rms_norm


def named(function: str, parameter: str, names: tuple[str, ...], number: Any) -> str:
    """The name that a number stands for."""
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(names):
        meaning = ", ".join(f"{i} ({name})" for i, name in enumerate(names))
        raise ArgumentError(f"{function}: {parameter} is one of {meaning}, not {number!r}")
    return names[number]


def reduction_of(function: str, number: Any) -> str:
    """The name of a reduction that is given by its number."""
    return named(function, "reduction", ("none", "mean", "sum"), number)


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """:func:`torch.nn.functional.batch_norm`.

    >>> import ferrograd.torch as torch
    >>> torch.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0).tolist()
    [[-1.0], [1.0]]
    """
    return batch_norm_of_any_eps(input, running_mean, running_var, weight, bias, training, momentum, eps)


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Tensor:
    """:func:`torch.nn.functional.layer_norm`.

    >>> import ferrograd.torch as torch
    >>> torch.layer_norm(torch.tensor([1.0, 3.0]), (2,), eps=0.0).tolist()
    [-1.0, 1.0]
    """
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:
    """:func:`torch.nn.functional.group_norm`.

    >>> import ferrograd.torch as torch
    >>> torch.group_norm(torch.tensor([[1.0, 3.0]]), 1, eps=0.0).tolist()
    [[-1.0, 1.0]]
    """
    return F.group_norm(input, num_groups, weight, bias, eps)


def _moments(x: Tensor, axes: Any, eps: float, keepdims: bool) -> tuple[Tensor, Tensor]:
    """The mean and ``1 / sqrt(variance + eps)`` over axes."""
    return ops.mean(x, axes, keepdims), ops.rsqrt(ops.var(x, axes, keepdims=keepdims) + eps)


def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """:func:`layer_norm`, and the mean and ``1 / sqrt(variance + eps)`` of the elements that are standardised together.

    >>> import ferrograd.torch as torch
    >>> [x.tolist() for x in torch.native_layer_norm(torch.tensor([1.0, 3.0]), (2,), None, None, 0.0)]
    [[-1.0, 1.0], [2.0], [1.0]]
    """
    result = F.layer_norm(input, normalized_shape, weight, bias, eps)
    return (result, *_moments(input, list(range(-len(normalized_shape), 0)), eps, True))


def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """:func:`group_norm`, and the mean and ``1 / sqrt(variance + eps)`` of each group.

    >>> import ferrograd.torch as torch
    >>> [x.tolist() for x in torch.native_group_norm(torch.tensor([[1.0, 3.0]]), None, None, 1, 2, 1, 1, 0.0)]
    [[[-1.0, 1.0]], [[2.0]], [[1.0]]]
    """
    result = F.group_norm(input, group, weight, bias, eps)
    return (result, *_moments(ops.reshape(input, [N, group, C // max(group, 1) * HxW]), -1, eps, False))


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """:func:`batch_norm`; in training also the mean and ``1 / sqrt(variance + eps)`` of each channel, or empty ones.

    >>> import ferrograd.torch as torch
    >>> x = torch.tensor([[1.0], [3.0]])
    >>> [x.tolist() for x in torch.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)]
    [[[-1.0], [1.0]], [2.0], [1.0]]
    """
    result = batch_norm_of_any_eps(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return result, ops.zeros([0], input.dtype), ops.zeros([0], input.dtype)
    return (result, *_moments(input, [a for a in range(input.ndim) if a != 1], eps, False))


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: Any = 0
) -> Tensor:
    """The function of ``torch.nn.functional``; the reduction is 0 (none), 1 (mean), 2 (sum) or its name.

    >>> import ferrograd.torch as torch
    >>> round(torch.binary_cross_entropy_with_logits(torch.zeros(1), torch.ones(1)).item(), 4)
    0.6931
    """
    how = reduction if isinstance(reduction, str) else reduction_of("binary_cross_entropy_with_logits", reduction)
    return F.binary_cross_entropy_with_logits(input, target, weight, reduction=how, pos_weight=pos_weight)


def kl_div(input: Tensor, target: Tensor, reduction: Any = 0, *, log_target: bool = False) -> Tensor:
    """:func:`torch.nn.functional.kl_div`; the reduction is 0 (none), 1 (mean), 2 (sum) or its name.

    >>> import ferrograd.torch as torch
    >>> torch.kl_div(torch.zeros(2), torch.ones(2)).tolist()
    [0.0, 0.0]
    """
    how = reduction if isinstance(reduction, str) else reduction_of("kl_div", reduction)
    return F.kl_div(input, target, reduction=how, log_target=log_target)
