"""``paddle.nn``."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.paddle.nn import functional, initializer, layer, quant, utils
from ferrograd.paddle.nn._parameter import ParamAttr, Parameter
from ferrograd.paddle.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from ferrograd.paddle.nn.decode import BeamSearchDecoder, Decoder, dynamic_decode
from ferrograd.paddle.nn.layer import *
from ferrograd.paddle.nn.utils import spectral_norm

__all__ = [
    "BeamSearchDecoder",
    "ClipGradByGlobalNorm",
    "ClipGradByNorm",
    "ClipGradByValue",
    "Decoder",
    "ParamAttr",
    "Parameter",
    "dynamic_decode",
    "functional",
    "initializer",
    "layer",
    "quant",
    "spectral_norm",
    "utils",
]
__all__ += layer.__all__  # type: ignore[attr-defined]

# Paddle offers some layers under the names that PyTorch gives them, too.
loss = layer.loss
Module, ModuleDict, ModuleList = Layer, LayerDict, LayerList
Conv1d, Conv2d, Conv3d = Conv1D, Conv2D, Conv3D
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = AdaptiveMaxPool1D, AdaptiveMaxPool2D, AdaptiveMaxPool3D
LPPool1d, LPPool2d = LPPool1D, LPPool2D
CircularPad1d, CircularPad2d, CircularPad3d = CircularPad1D, CircularPad2D, CircularPad3D
ConstantPad1d, ConstantPad2d, ConstantPad3d = ConstantPad1D, ConstantPad2D, ConstantPad3D
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = ReflectionPad1D, ReflectionPad2D, ReflectionPad3D
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = ReplicationPad1D, ReplicationPad2D, ReplicationPad3D
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = AdaptiveAvgPool1D, AdaptiveAvgPool2D, AdaptiveAvgPool3D
MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = MaxUnPool1D, MaxUnPool2D, MaxUnPool3D
ZeroPad1d, ZeroPad2d, ZeroPad3d = ZeroPad1D, ZeroPad2D, ZeroPad3D
HuberLoss, UpsamplingBilinear2d, UpsamplingNearest2d = SmoothL1Loss, UpsamplingBilinear2D, UpsamplingNearest2D
__all__ += ["HuberLoss", "UpsamplingBilinear2d", "UpsamplingNearest2d"]
__all__ += [f"{name}{axes}d" for name in ("AdaptiveAvgPool", "MaxUnpool", "ZeroPad") for axes in (1, 2, 3)]
__all__ += ["LPPool1d", "LPPool2d", "Module", "ModuleDict", "ModuleList"]
__all__ += [
    f"{name}{axes}d"
    for name in ("Conv", "AdaptiveMaxPool", "CircularPad", "ConstantPad", "ReflectionPad", "ReplicationPad")
    for axes in (1, 2, 3)
]

__dir__ = _public.names(globals())
