"""``paddle.fluid.layers``: no function is here. The error of each name says what replaced it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ferrograd._kit import public as _public
from ferrograd.paddle.fluid._replaced import missing

__all__: list[str] = []

#: Functions whose successors have other names.
_REPLACED = {
    "accuracy": "paddle.metric.accuracy",
    "batch_norm": "paddle.nn.BatchNorm",
    "conv2d": "paddle.nn.Conv2D",
    "conv2d_transpose": "paddle.nn.Conv2DTranspose",
    "conv3d": "paddle.nn.Conv3D",
    "create_global_var": "paddle.full",
    "cross_entropy": "paddle.nn.functional.cross_entropy with use_softmax=False",
    "data": "paddle.to_tensor",
    "dropout": "paddle.nn.functional.dropout",
    **{f"elementwise_{name}": f"paddle.{name}" for name in ("mod", "pow")},
    "elementwise_add": "paddle.add",
    "elementwise_div": "paddle.divide",
    "elementwise_floordiv": "paddle.floor_divide",
    "elementwise_max": "paddle.maximum",
    "elementwise_min": "paddle.minimum",
    "elementwise_mul": "paddle.multiply",
    "elementwise_sub": "paddle.subtract",
    "embedding": "paddle.nn.Embedding",
    "fc": "paddle.nn.Linear",
    "fill_constant": "paddle.full",
    "fill_constant_batch_size_like": "paddle.full",
    "gaussian_random": "paddle.normal",
    "group_norm": "paddle.nn.GroupNorm",
    "hard_sigmoid": "paddle.nn.functional.hardsigmoid",
    "hard_swish": "paddle.nn.functional.hardswish",
    "image_resize": "paddle.nn.functional.interpolate",
    "l2_normalize": "paddle.nn.functional.normalize",
    "layer_norm": "paddle.nn.LayerNorm",
    "lod_reset": "a tensor of the lengths: there are no LoD tensors",
    "mul": "paddle.matmul",
    "pool2d": "paddle.nn.functional.max_pool2d or avg_pool2d",
    "range": "paddle.arange",
    **{f"reduce_{name}": f"paddle.{name}" for name in ("all", "any", "max", "mean", "min", "prod", "sum")},
    "sigmoid_cross_entropy_with_logits": "paddle.nn.functional.binary_cross_entropy_with_logits",
    "size": "paddle.numel",
    "smooth_l1": "paddle.nn.functional.smooth_l1_loss",
    "sums": "paddle.add_n",
    "uniform_random": "paddle.uniform",
    "While": "Python's while",
}

__dir__ = _public.names(globals())

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name, _REPLACED)
