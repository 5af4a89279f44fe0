"""Normalization."""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _core
from ferrograd._core import paddle as ops
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._layers import blocks
from ferrograd._layers.reparametrized import as_matrix, power_iteration
from ferrograd.paddle._base.process_groups import found, get_world_size, is_initialized
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn import functional as F
from ferrograd.paddle.nn._functional.pools import takes_batch
from ferrograd.paddle.nn._parameter import ParamAttr
from ferrograd.paddle.nn.initializer import Constant, Normal
from ferrograd.paddle.nn.layer.layers import FunctionLayer, Layer

__all__ = [
    "BatchNorm",
    "BatchNorm1D",
    "BatchNorm2D",
    "BatchNorm3D",
    "GroupNorm",
    "InstanceNorm1D",
    "InstanceNorm2D",
    "InstanceNorm3D",
    "LayerNorm",
    "LocalResponseNorm",
    "SpectralNorm",
    "SyncBatchNorm",
]


class _Scaled(Layer):
    """A normalization with a weight of ones and a bias of zeros, unless their attributes are False."""

    def _scale(
        self, shape: list[int], weight_attr: Any, bias_attr: Any, name: str = "weight", dtype: Any = None
    ) -> None:
        setattr(self, name, self.create_parameter(shape, weight_attr, dtype, default_initializer=Constant(1.0)))
        self.bias = self.create_parameter(shape, bias_attr, dtype, is_bias=True)


class _BatchNormBase(_Scaled):
    """Normalizes each channel over the batch. ``momentum`` is the share of the running statistics that is kept."""

    #: The usual format, and the numbers of axes that an input may have.
    _format: str = "NCHW"
    _fg_ranks: tuple[int, ...] = (4,)

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str | None = None,
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        _arguments.sizes(self, num_features=num_features)
        self._num_features, self._momentum, self._epsilon = num_features, momentum, epsilon
        self._data_format = self._format if data_format is None else data_format
        self._use_global_stats, self._name = use_global_stats, name
        self._scale([num_features], weight_attr, bias_attr)
        for key, first in (("_mean", 0.0), ("_variance", 1.0)):
            attr = ParamAttr(initializer=Constant(first), trainable=False)
            setattr(self, key, self.create_parameter([num_features], attr))

    def _takes_statistics(self) -> bool:
        """Whether the statistics are those of the batch."""
        return self.training

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input. In training the running statistics are updated."""
        if self._fg_ranks and input.ndim not in self._fg_ranks:
            wanted = " or ".join(f"{rank}D" for rank in self._fg_ranks)
            raise ValueError(f"expected {wanted} input (got {input.ndim}D input)")
        rest = (self._takes_statistics(), self._momentum, self._epsilon, self._data_format, self._use_global_stats)
        return F.batch_norm(input, self._mean, self._variance, self.weight, self.bias, *rest)

    def extra_repr(self) -> str:
        """The arguments."""
        shown = f"num_features={self._num_features}, momentum={self._momentum}, epsilon={self._epsilon}"
        shown += "" if self._data_format == "NCHW" else f", data_format={self._data_format}"
        return shown if self._name is None else f"{shown}, name={self._name}"


class BatchNorm(_BatchNormBase):
    """Batch normalization of inputs with any number of axes, with an activation after it."""

    _fg_ranks = ()

    def __init__(
        self,
        num_channels: int,
        act: str | None = None,
        is_test: bool = False,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        param_attr: Any = None,
        bias_attr: Any = None,
        dtype: Any = "float32",
        data_layout: str = "NCHW",
        in_place: bool = False,
        moving_mean_name: str | None = None,
        moving_variance_name: str | None = None,
        do_model_average_for_mean_and_var: bool = True,
        use_global_stats: bool = False,
        trainable_statistics: bool = False,
    ) -> None:
        super().__init__(num_channels, momentum, epsilon, param_attr, bias_attr, data_layout, use_global_stats or None)
        self._act = None if act is None else getattr(F, act)
        self._trainable_statistics = trainable_statistics
        if is_test:
            self.eval()

    def _takes_statistics(self) -> bool:
        return self.training or self._trainable_statistics

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input through the activation. In training the running statistics are updated.

        With ``trainable_statistics`` evaluation does what training does.
        """
        found = super().forward(input)
        return found if self._act is None else self._act(found)

    def extra_repr(self) -> str:
        """Nothing, as in Paddle."""
        return ""


class SpectralNorm(Layer):
    """Divides a weight by its largest singular value, which each call estimates better from ``weight_u`` and ``_v``."""

    def __init__(
        self, weight_shape: Any, dim: int = 0, power_iters: int = 1, epsilon: float = 1e-12, dtype: Any = "float32"
    ) -> None:
        super().__init__()
        shape = [int(n) for n in weight_shape]
        if not 0 <= dim < len(shape) or 0 in shape:
            raise ValueError(f"SpectralNorm: dim={dim} is no axis of {shape}, or a size is zero")
        self._dim, self._power_iters, self._epsilon = dim, power_iters, epsilon
        for end, n in (("u", shape[dim]), ("v", math.prod(shape) // shape[dim])):
            attr = ParamAttr(initializer=Normal(0.0, 1.0), trainable=False)
            setattr(self, f"weight_{end}", self.create_parameter([n], attr, dtype))

    def forward(self, x: Tensor) -> Any:
        """The divided weight."""
        matrix = as_matrix(x, self._dim)
        power_iteration(matrix, self.weight_u, self.weight_v, self._power_iters, self._epsilon)
        u, v = self.weight_u.detach().clone(), self.weight_v.detach().clone()
        return x / ops.sum(u * ops.matmul(matrix, v))


class BatchNorm1D(_BatchNormBase):
    """Batch normalization of vectors [batch, channels] or sequences."""

    _format, _fg_ranks = "NCL", (2, 3)


class BatchNorm2D(_BatchNormBase):
    """Batch normalization of images."""


class BatchNorm3D(_BatchNormBase):
    """Batch normalization of volumes."""

    _format, _fg_ranks = "NCDHW", (5,)


class SyncBatchNorm(_BatchNormBase):
    """Batch normalization of inputs with any number of axes, by the statistics of the batches of all processes.

    Before ``paddle.distributed.init_parallel_env()``, in one process and in evaluation it is the ordinary one.
    """

    _fg_ranks = ()

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, None, name)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input. In training the running statistics are updated."""
        fresh = takes_batch(self.training, self._use_global_stats)
        together = blocks.current() if fresh else None
        if not fresh or (together is None and (not is_initialized() or get_world_size() == 1)):
            return super().forward(input)
        from ferrograd.distributed._batch_norm import normalize

        axis = 1 if self._data_format.startswith("NC") else input.ndim - 1
        running, scale = (self._mean, self._variance), (self.weight, self.bias)
        comm, share = together or found(None).communicator, 1 - self._momentum
        return normalize(input, axis, comm, running, scale, share, self._epsilon, unbiased=False)

    @classmethod
    def convert_sync_batchnorm(cls, layer: Layer) -> Layer:
        """The layer with a :class:`SyncBatchNorm` in place of each other batch normalization in it.

        Parameters and buffers stay the same objects.
        """
        if isinstance(layer, _BatchNormBase) and not isinstance(layer, SyncBatchNorm):
            options = (layer._num_features, layer._momentum, layer._epsilon)
            made = cls(*options, data_format=layer._data_format, name=layer._name)
            made._use_global_stats = layer._use_global_stats
            made._parameters.update(layer._parameters)
            made._buffers.update(layer._buffers)
            made.training = layer.training
            return made
        for name, child in layer.named_children():
            setattr(layer, name, cls.convert_sync_batchnorm(child))
        return layer


class _InstanceNormBase(_Scaled):
    """Normalizes each channel of each example."""

    _format: str = "NCHW"
    _fg_ranks: tuple[int, ...] = (4,)

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if (weight_attr is False) != (bias_attr is False):
            raise AssertionError("weight_attr and bias_attr must be set to False at the same time in InstanceNorm")
        _arguments.sizes(self, num_features=num_features)
        self._num_features, self._epsilon, self._momentum = num_features, epsilon, momentum
        self._data_format = self._format if data_format is None else data_format
        self._scale([num_features], weight_attr, bias_attr, "scale")

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        if input.ndim not in self._fg_ranks:
            wanted = " or ".join(f"{rank}D" for rank in self._fg_ranks)
            raise ValueError(f"expected {wanted} input (got {input.ndim}D input)")
        rest = (True, self._momentum, self._epsilon, self._data_format)
        return F.instance_norm(input, None, None, self.scale, self.bias, *rest)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"num_features={self._num_features}, epsilon={self._epsilon}"


class InstanceNorm1D(_InstanceNormBase):
    """Instance normalization of sequences."""

    _format, _fg_ranks = "NCL", (2, 3)


class InstanceNorm2D(_InstanceNormBase):
    """Instance normalization of images."""


class InstanceNorm3D(_InstanceNormBase):
    """Instance normalization of volumes."""

    _format, _fg_ranks = "NCDHW", (5,)


class LayerNorm(_Scaled):
    """Normalizes over the last axes, which have ``normalized_shape``, to mean 0 and variance 1; scales and shifts."""

    def __init__(
        self,
        normalized_shape: Any,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
        *,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: object = None,
        dtype: Any = None,
    ) -> None:
        _core.check_device("LayerNorm", device)
        super().__init__()
        one = isinstance(normalized_shape, int | str)
        self._normalized_shape = [normalized_shape] if one else list(normalized_shape)
        for size in self._normalized_shape:
            _arguments.sizes(self, normalized_shape=size)
        self._epsilon = epsilon
        weight_attr = weight_attr if elementwise_affine else False
        bias_attr = bias_attr if elementwise_affine and bias else False
        self._scale([math.prod(self._normalized_shape)], weight_attr, bias_attr, dtype=dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        return F.layer_norm(input, self._normalized_shape, self.weight, self.bias, self._epsilon)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


class GroupNorm(_Scaled):
    """Normalizes each of ``num_groups`` groups of channels to mean 0 and variance 1; scales and shifts channels."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
        *,
        affine: bool = True,
        device: object = None,
        dtype: Any = None,
    ) -> None:
        _core.check_device("GroupNorm", device)
        super().__init__()
        _arguments.sizes(self, num_groups=num_groups, num_channels=num_channels)
        self._num_groups, self._num_channels, self._epsilon = num_groups, num_channels, epsilon
        self._data_format = data_format
        attrs = (weight_attr, bias_attr) if affine else (False, False)
        self._scale([num_channels], attrs[0], attrs[1], dtype=dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        rest = (self._epsilon, self.weight, self.bias, self._data_format)
        return F.group_norm(input, self._num_groups, *rest)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"num_groups={self._num_groups}, num_channels={self._num_channels}, epsilon={self._epsilon}"


class LocalResponseNorm(
    FunctionLayer, function=F.local_response_norm, shown="size={size}, alpha={alpha}, beta={beta}, k={k}"
):
    """Divides each channel by a power of the mean square of ``size`` neighbouring channels."""


__dir__ = _public.names(globals())
