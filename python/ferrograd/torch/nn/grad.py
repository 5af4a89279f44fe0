"""``torch.nn.grad``: the gradients of convolutions as functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import enable_grad
from ferrograd._core import Tensor
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.ops import ops

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

Gradient = Callable[..., Tensor]


def _gradient(result: Tensor, x: Tensor, other: Tensor, grad_output: Tensor) -> Tensor:
    tracks = _core.is_grad_enabled() and (other.requires_grad or grad_output.requires_grad)
    found: Tensor = _core.grad([result], [x], [grad_output], TORCH, create_graph=tracks)[0]
    return found


def _of_input(convolution: Callable[..., Tensor], name: str) -> Gradient:
    def gradient(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        weight = _arguments.tensor(weight, name, "weight")
        # A convolution is linear, so its gradient is the same at every input.
        x = _core.require_grad(ops.zeros(list(input_size), weight.dtype))
        with enable_grad():
            result = convolution(x, weight, None, stride, padding, dilation, groups)
        return _gradient(result, x, weight, grad_output)

    return _named(
        gradient, name, f"The gradient of :func:`{convolution.__name__}` by an input of shape ``input_size``."
    )


def _of_weight(convolution: Callable[..., Tensor], name: str) -> Gradient:
    def gradient(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        input = _arguments.tensor(input, name, "input")
        w = _core.require_grad(ops.zeros(list(weight_size), input.dtype))
        with enable_grad():
            result = convolution(input, w, None, stride, padding, dilation, groups)
        return _gradient(result, w, input, grad_output)

    return _named(
        gradient, name, f"The gradient of :func:`{convolution.__name__}` by a weight of shape ``weight_size``."
    )


def _named(function: Gradient, name: str, doc: str) -> Gradient:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


conv1d_input, conv1d_weight = _of_input(ops.conv1d, "conv1d_input"), _of_weight(ops.conv1d, "conv1d_weight")
conv2d_input, conv2d_weight = _of_input(ops.conv2d, "conv2d_input"), _of_weight(ops.conv2d, "conv2d_weight")
conv3d_input, conv3d_weight = _of_input(ops.conv3d, "conv3d_input"), _of_weight(ops.conv3d, "conv3d_weight")

__dir__ = _public.names(globals())
