"""The convolution of any number of axes, transposed or not, and its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import enable_grad
from ferrograd._core import ShapeError
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.ops import ops
from ferrograd.torch._tensor import Tensor

__all__ = ["convolution", "convolution_backward"]


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Tensor:
    """The convolution of a batch, or with ``transposed`` its transpose, over as many axes as the weight has."""
    x, w = _arguments.tensor(input, "convolution", "input"), _arguments.tensor(weight, "convolution", "weight")
    axes = w.ndim - 2
    if axes not in (1, 2, 3) or x.ndim != w.ndim:
        raise ShapeError(f"convolution: a batch and a weight of 3 to 5 axes are wanted, not {x.ndim} and {w.ndim}")
    if transposed:
        transpose = getattr(ops, f"conv_transpose{axes}d")
        found: Tensor = transpose(x, w, bias, stride, padding, output_padding, groups, dilation)
    else:
        found = getattr(ops, f"conv{axes}d")(x, w, bias, stride, padding, dilation, groups)
    return found


def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of :func:`convolution` by its input, weight and bias; None for those that the mask leaves out."""
    g = _arguments.tensor(grad_output, "convolution_backward", "grad_output")
    options = (stride, padding, dilation, transposed, output_padding, groups)
    tracks = _core.is_grad_enabled()

    def gradient(at: int) -> Tensor:
        # The result is linear in each of the two, so its gradient is the same at every value.
        given = [input, weight]
        place = given[at] = _core.require_grad(ops.zeros_like(given[at].detach()))
        with enable_grad():
            result = convolution(given[0], given[1], None, *options)
        create = tracks and (g.requires_grad or given[1 - at].requires_grad)
        found: Tensor = _core.grad([result], [place], [g], TORCH, create_graph=create)[0]
        return found

    by_input, by_weight, by_bias = output_mask
    others = [axis for axis in range(g.ndim) if axis != 1]
    return (
        gradient(0) if by_input else None,
        gradient(1) if by_weight else None,
        ops.sum(g, others) if by_bias else None,
    )
