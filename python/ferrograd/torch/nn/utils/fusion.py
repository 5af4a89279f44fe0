"""A linear map and the batch normalization after it as one linear map, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

from ferrograd._kit import public as _public
from ferrograd._kit.arguments import typed
from ferrograd._kit.ops import ops
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

_OPTIONAL: Any = (Tensor, type(None))
_NORM: dict[str, Any] = {"bn_rm": Tensor, "bn_rv": Tensor, "bn_eps": (float, int), "bn_w": _OPTIONAL, "bn_b": _OPTIONAL}


@typed(
    conv_w=Tensor,
    conv_b=_OPTIONAL,
    bn_rm=Tensor,
    bn_rv=Tensor,
    bn_eps=(float, int),
    bn_w=_OPTIONAL,
    bn_b=_OPTIONAL,
    transpose=bool,
)
def fuse_conv_bn_weights(
    conv_w: Any,
    conv_b: Any,
    bn_rm: Any,
    bn_rv: Any,
    bn_eps: float,
    bn_w: Any,
    bn_b: Any,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of a convolution whose output is normalized with these means and variances."""
    factor = ops.rsqrt(bn_rv + bn_eps) * (1 if bn_w is None else bn_w)
    axes = [1] * conv_w.ndim
    axes[int(transpose)] = -1
    shift = -bn_rm if conv_b is None else conv_b - bn_rm
    weight, bias = conv_w * ops.reshape(factor, axes), shift * factor + (0 if bn_b is None else bn_b)
    return (
        Parameter(weight.detach().to(conv_w.dtype), conv_w.requires_grad),
        Parameter(bias.detach().to(conv_w.dtype), conv_b is not None and conv_b.requires_grad),
    )


def _fused(layer: Any, bn: Any, transpose: bool) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise ValueError("fusion needs running statistics: the normalization has track_running_stats=False")
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        layer.weight, layer.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


@typed(conv=Module, bn=Module)
def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that computes ``bn(conv(x))``. Both are in evaluation mode."""
    return _fused(conv, bn, transpose)


@typed(
    linear_w=Tensor, linear_b=_OPTIONAL, bn_rm=Tensor, bn_rv=Tensor, bn_eps=(float, int), bn_w=_OPTIONAL, bn_b=_OPTIONAL
)
def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of a linear layer whose output is normalized with these means and variances."""
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


@typed(linear=Module, bn=Module)
def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that computes ``bn(linear(x))``. Both are in evaluation mode."""
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    return _fused(linear, bn, False)


__dir__ = _public.names(globals())
