"""Linear layers, tables, dropout, padding and images."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import paddle as ops
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn import functional as F
from ferrograd.paddle.nn._parameter import ParamAttr, attribute
from ferrograd.paddle.nn.initializer import Assign
from ferrograd.paddle.nn.layer.layers import FunctionLayer, Layer

__all__ = [
    "AlphaDropout",
    "Bilinear",
    "ChannelShuffle",
    "CircularPad1D",
    "CircularPad2D",
    "CircularPad3D",
    "ConstantPad1D",
    "ConstantPad2D",
    "ConstantPad3D",
    "CosineSimilarity",
    "Dropout",
    "Dropout2D",
    "Dropout3D",
    "Embedding",
    "FeatureAlphaDropout",
    "Flatten",
    "Fold",
    "Identity",
    "Linear",
    "Pad1D",
    "Pad2D",
    "Pad3D",
    "PairwiseDistance",
    "PixelShuffle",
    "PixelUnshuffle",
    "ReflectionPad1D",
    "ReflectionPad2D",
    "ReflectionPad3D",
    "ReplicationPad1D",
    "ReplicationPad2D",
    "ReplicationPad3D",
    "Unflatten",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2D",
    "UpsamplingNearest2D",
    "ZeroPad1D",
    "ZeroPad2D",
    "ZeroPad3D",
]


class Identity(Layer):
    """A layer that returns its input. It takes any arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


class Linear(Layer):
    """``input @ weight + bias``. The weight has the shape [in, out].

    >>> import ferrograd.paddle as paddle
    >>> layer = paddle.nn.Linear(3, 2)
    >>> list(layer(paddle.ones([5, 3])).shape), list(layer.weight.shape)
    ([5, 2], [3, 2])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        _arguments.sizes(self, in_features=in_features, out_features=out_features)
        self._dtype = ops.get_default_dtype().name
        self.weight = self.create_parameter([in_features, out_features], weight_attr, self._dtype)
        self.bias = self.create_parameter([out_features], bias_attr, self._dtype, is_bias=True)
        self.name = name

    def forward(self, input: Tensor) -> Tensor:
        """The product plus the bias."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes and the dtype."""
        inside, outside = self.weight.shape
        name = f", name={self.name}" if self.name else ""
        return f"in_features={inside}, out_features={outside}, dtype={self._dtype}{name}"


class Bilinear(Layer):
    """``y[o] = x1 @ weight[o] @ x2 + bias[o]`` for rows of two matrices."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._in1_features, self._in2_features, self._out_features = in1_features, in2_features, out_features
        self._name, self._dtype = name, ops.get_default_dtype().name
        self.weight = self.create_parameter([out_features, in1_features, in2_features], weight_attr, self._dtype)
        self.bias = self.create_parameter([1, out_features], bias_attr, self._dtype, is_bias=True)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The bilinear form of two inputs."""
        return F.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes and the dtype."""
        sizes = f"in1_features={self._in1_features}, in2_features={self._in2_features}"
        name = f", name={self._name}" if self._name else ""
        return f"{sizes}, out_features={self._out_features}, dtype={self._dtype}{name}"


class Embedding(Layer):
    """The rows of a table at given indices. The index ``padding_idx`` gives zeros."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        *,
        sparse: bool = False,
        scale_grad_by_freq: bool = False,
        weight_attr: Any = None,
        name: str | None = None,
        dtype: Any = None,
        device: object = None,
        _weight: Tensor | None = None,
        _freeze: bool = False,
    ) -> None:
        _core.check_device("Embedding", device)
        super().__init__()
        _arguments.sizes(self, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        if num_embeddings <= 0:
            raise ValueError("num_embeddings must be gather than 0")
        if embedding_dim <= 0:
            raise ValueError("embedding_dim must be gather than 0")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(f"padding_idx must be within [-{num_embeddings}, {num_embeddings})")
        self._num_embeddings, self._embedding_dim, self._padding_idx = num_embeddings, embedding_dim, padding_idx
        self._sparse, self._name = sparse, name
        self._max_norm, self._norm_type, self._scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        if _weight is not None and list(_weight.shape) != [num_embeddings, embedding_dim]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        attr = attribute(weight_attr) if _weight is None else ParamAttr(initializer=Assign(_weight))
        self.weight = self.create_parameter([num_embeddings, embedding_dim], attr, dtype)
        if _freeze:
            self.weight.stop_gradient = True
        if padding_idx is not None:
            with no_grad():
                self.weight[padding_idx] = 0.0

    def forward(self, x: Tensor) -> Tensor:
        """The rows."""
        rest = (self._max_norm, self._norm_type, self._sparse, self._scale_grad_by_freq)
        return F.embedding(x, self.weight, self._padding_idx, *rest)

    def extra_repr(self) -> str:
        """The sizes and the arguments."""
        shown = f"{self._num_embeddings}, {self._embedding_dim}"
        shown += "" if self._padding_idx is None else f", padding_idx={self._padding_idx}"
        shown += f", sparse={self._sparse}, scale_grad_by_freq=False"
        return shown if self._name is None else f"{shown}, name={self._name}"


class Dropout(
    FunctionLayer,
    function=F.dropout,
    parameters=("p", "inplace", "axis", "mode", "name"),
    shown="p={p}, axis={axis}, mode={mode}, inplace={inplace}",
):
    """In training sets elements to zero with probability ``p``; see :func:`paddle.nn.functional.dropout`."""


class Dropout2D(FunctionLayer, function=F.dropout2d, shown="p={p}, data_format={data_format}"):
    """Dropout of whole channels of images."""


class Dropout3D(FunctionLayer, function=F.dropout3d, shown="p={p}, data_format={data_format}"):
    """Dropout of whole channels of volumes."""


class AlphaDropout(FunctionLayer, function=F.alpha_dropout, shown="p={p}"):
    """Dropout that keeps mean 0 and variance 1, for networks of SELU."""


class FeatureAlphaDropout(FunctionLayer, function=F.feature_alpha_dropout, shown="p={p}"):
    """:class:`AlphaDropout` of whole channels."""


class Flatten(Layer):
    """Joins the axes from ``start_axis`` to ``stop_axis``, by default all but the first."""

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, input: Tensor) -> Tensor:
        """The input with fewer axes."""
        return ops.flatten(input, self.start_axis, self.stop_axis)


class Unflatten(Layer):
    """Splits an axis into several."""

    def __init__(self, axis: int, shape: Any, name: str | None = None) -> None:
        super().__init__()
        self.axis, self.shape, self.name = axis, shape, name

    def forward(self, input: Tensor) -> Tensor:
        """The input with more axes."""
        return ops.unflatten(input, self.axis, self.shape)

    def extra_repr(self) -> str:
        """The axis and the sizes."""
        return f"axis={self.axis}, shape={self.shape}" + (f", name={self.name}" if self.name else "")


class Upsample(
    FunctionLayer,
    function=F.interpolate,
):
    """Images of another size: the one given, or ``scale_factor`` times the present one."""

    def extra_repr(self) -> str:
        """The factor or the size, and the other arguments."""
        shown = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        rest = f"mode={self.mode}, align_corners={self.align_corners}, align_mode={self.align_mode}"
        return f"{shown}, {rest}, data_format={self.data_format}" + (f", name={self.name}" if self.name else "")


class UpsamplingNearest2D(Layer):
    """Images of another size, whose pixels are those nearest."""

    _fg_mode, _aligned = "nearest", False

    def __init__(
        self, size: Any = None, scale_factor: Any = None, data_format: str = "NCHW", name: str | None = None
    ) -> None:
        super().__init__()
        self.size, self.scale_factor, self.data_format, self.name = size, scale_factor, data_format, name

    def forward(self, x: Tensor) -> Tensor:
        """The images of the other size."""
        return F.interpolate(x, self.size, self.scale_factor, self._fg_mode, self._aligned, 0, self.data_format)

    def extra_repr(self) -> str:
        """The factor or the size, and the format."""
        shown = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{shown}, data_format={self.data_format}" + (f", name={self.name}" if self.name else "")


class UpsamplingBilinear2D(UpsamplingNearest2D):
    """Images of another size by bilinear interpolation, with aligned corners."""

    _fg_mode, _aligned = "bilinear", True


class _Pad(Layer):
    """Pads the spatial axes: by one number everywhere, or a pair for each axis, from the last on."""

    _fg_axes: int
    _format: str

    def __init__(
        self,
        padding: Any,
        mode: str = "constant",
        value: float = 0.0,
        data_format: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._pad = [padding] * (2 * self._fg_axes) if isinstance(padding, int) else padding
        self._fg_mode, self._value, self._name = mode, value, name
        self._data_format = self._format if data_format is None else data_format

    def forward(self, x: Tensor) -> Tensor:
        """The padded input."""
        return F.pad(x, self._pad, self._fg_mode, self._value, self._data_format)

    def extra_repr(self) -> str:
        """The arguments."""
        shown = f"padding={self._pad}, mode={self._fg_mode}, value={self._value}, data_format={self._data_format}"
        return shown + (f", name={self._name}" if self._name else "")


class Pad1D(_Pad):
    """Pads sequences."""

    _fg_axes, _format = 1, "NCL"


class Pad2D(_Pad):
    """Pads images."""

    _fg_axes, _format = 2, "NCHW"


class Pad3D(_Pad):
    """Pads volumes."""

    _fg_axes, _format = 3, "NCDHW"


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float, data_format: str | None = None, name: str | None = None) -> None:
        super().__init__(padding, "constant", value, data_format, name)


class _ModePad(_Pad):
    _own_mode: str

    def __init__(self, padding: Any, data_format: str | None = None, name: str | None = None) -> None:
        super().__init__(padding, self._own_mode, 0.0, data_format, name)


class ConstantPad1D(_ConstantPad):
    """Pads sequences with a number."""

    _fg_axes, _format = 1, "NCL"


class ConstantPad2D(_ConstantPad):
    """Pads images with a number."""

    _fg_axes, _format = 2, "NCHW"


class ConstantPad3D(_ConstantPad):
    """Pads volumes with a number."""

    _fg_axes, _format = 3, "NCDHW"


class CircularPad1D(_ModePad):
    """Pads sequences by repeating them."""

    _fg_axes, _format = 1, "NCL"
    _own_mode = "circular"


class CircularPad2D(_ModePad):
    """Pads images by repeating them."""

    _fg_axes, _format = 2, "NCHW"
    _own_mode = "circular"


class CircularPad3D(_ModePad):
    """Pads volumes by repeating them."""

    _fg_axes, _format = 3, "NCDHW"
    _own_mode = "circular"


class ReplicationPad1D(_ModePad):
    """Pads sequences with their first and last elements."""

    _fg_axes, _format = 1, "NCL"
    _own_mode = "replicate"


class ReplicationPad2D(_ModePad):
    """Pads images with their first and last elements."""

    _fg_axes, _format = 2, "NCHW"
    _own_mode = "replicate"


class ReplicationPad3D(_ModePad):
    """Pads volumes with their first and last elements."""

    _fg_axes, _format = 3, "NCDHW"
    _own_mode = "replicate"


class ReflectionPad1D(_ModePad):
    """Pads sequences with their mirror image."""

    _fg_axes, _format = 1, "NCL"
    _own_mode = "reflect"


class ReflectionPad2D(_ModePad):
    """Pads images with their mirror image."""

    _fg_axes, _format = 2, "NCHW"
    _own_mode = "reflect"


class ReflectionPad3D(_ModePad):
    """Pads volumes with their mirror image."""

    _fg_axes, _format = 3, "NCDHW"
    _own_mode = "reflect"


class _ZeroPad(_Pad):
    def __init__(self, padding: Any, data_format: str | None = None, name: str | None = None) -> None:
        super().__init__(padding, "constant", 0.0, data_format, name)


class ZeroPad1D(_ZeroPad):
    """Pads sequences with zeros."""

    _fg_axes, _format = 1, "NCL"


class ZeroPad2D(_ZeroPad):
    """Pads images with zeros."""

    _fg_axes, _format = 2, "NCHW"


class ZeroPad3D(_ZeroPad):
    """Pads volumes with zeros."""

    _fg_axes, _format = 3, "NCDHW"


class CosineSimilarity(Layer):
    """The cosine of the angle between vectors along an axis."""

    def __init__(self, axis: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self._fg_axis, self._eps = axis, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The cosines."""
        return F.cosine_similarity(x1, x2, self._fg_axis, self._eps)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"axis={self._fg_axis}, eps={self._eps}"


class PairwiseDistance(Layer):
    """The ``p``-norm of the difference of vectors along the last axis."""

    def __init__(self, p: float = 2.0, epsilon: float = 1e-6, keepdim: bool = False, name: str | None = None) -> None:
        super().__init__()
        self.p, self.epsilon, self.keepdim, self.name = p, epsilon, keepdim, name

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """The distances."""
        return F.pairwise_distance(x, y, self.p, self.epsilon, self.keepdim)

    def extra_repr(self) -> str:
        """The arguments that are not the default."""
        shown = f"p={self.p}"
        shown += f", epsilon={self.epsilon}" if self.epsilon != 1e-6 else ""
        shown += f", keepdim={self.keepdim}" if self.keepdim else ""
        return shown if self.name is None else f"{shown}, name={self.name}"


class _Shuffle(FunctionLayer):
    def extra_repr(self) -> str:
        """The factor or the number of groups, and the format if it is not the usual one."""
        shown = super().extra_repr()
        return shown if self.data_format == "NCHW" else f"{shown}, data_format={self.data_format}"


class PixelShuffle(_Shuffle, function=F.pixel_shuffle, shown="upscale_factor={upscale_factor}"):
    """[N, C * r**2, H, W] as [N, C, H * r, W * r] with the factor r."""


class PixelUnshuffle(_Shuffle, function=F.pixel_unshuffle, shown="downscale_factor={downscale_factor}"):
    """[N, C, H * r, W * r] as [N, C * r**2, H, W] with the factor r."""


class ChannelShuffle(_Shuffle, function=F.channel_shuffle, shown="groups={groups}"):
    """The channels as a matrix with a row for each group, read by columns."""


_WINDOWS = "kernel_size={kernel_sizes}, dilation={dilations}, padding={paddings}, stride={strides}"


class Unfold(
    FunctionLayer,
    function=F.unfold,
    parameters=("kernel_sizes", "dilations", "paddings", "strides", "name"),
    shown=_WINDOWS,
):
    """The windows of images as columns."""


class Fold(
    FunctionLayer,
    function=F.fold,
    parameters=("output_sizes", "kernel_sizes", "dilations", "paddings", "strides", "name"),
    shown=_WINDOWS,
):
    """The sum of columns, each put back to the window of an image that it comes from."""


__dir__ = _public.names(globals())
