"""PyTorch's forms of dropout."""

from __future__ import annotations

import math

from ferrograd._core import ArgumentError, ShapeError
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.ops import ops
from ferrograd._kit.warning import warn
from ferrograd.torch._tensor import Tensor

__all__ = [
    "alpha_dropout",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
    "feature_dropout",
]

#: The limit of SELU at -inf: what alpha dropout sets elements to.
_LOWEST = -1.7580993408473766


def _checked(p: float) -> None:
    if not 0 <= p <= 1:
        raise ArgumentError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training sets elements to zero with probability ``p`` and divides the others by ``1 - p``."""
    _checked(p)
    input = _arguments.tensor(input, "dropout", "input")
    if not training or p == 0:
        return input
    # A number is dropped as a whole, so the factors of complex numbers are real.
    result = (
        ops.multiply(input, ops.dropout(_ones(input), p, True)) if input.is_complex() else ops.dropout(input, p, True)
    )
    return input.copy_(result) if inplace else result


def _ones(input: Tensor) -> Tensor:
    """Real ones in the shape of the tensor."""
    return ops.ones_like(ops.real(input))


def _channels(input: Tensor, p: float) -> Tensor:
    """Random factors for the channels (axis 1) of each example: 0 with probability ``p``, else ``1 / (1 - p)``."""
    if input.ndim < 2:
        raise ShapeError("Feature dropout requires at least 2 dimensions in the input")
    shape = [*input.shape[:2], *[1] * (input.ndim - 2)]
    return ops.dropout(ops.ones(shape, ops.real(input).dtype), p, True)


def feature_dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training sets whole channels to zero with probability ``p`` and divides the others by ``1 - p``."""
    _checked(p)
    input = _arguments.tensor(input, "feature_dropout", "input")
    if not training or p == 0:
        return input
    result = ops.multiply(input, _channels(input, p))
    return input.copy_(result) if inplace else result


def _unbatched(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """Feature dropout of one example, without a batch."""
    _checked(p)
    if not training:
        return input
    result = ops.squeeze(feature_dropout(ops.expand_dims(input, 0), p, training), 0)
    return input.copy_(result) if inplace else result


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Feature dropout of sequences [batch, channels, length], or of one sequence."""
    rank = _arguments.tensor(input, "dropout1d", "input").ndim
    if rank not in (2, 3):
        raise ShapeError(f"dropout1d: Expected 2D or 3D input, but received a {rank}D input.")
    return (_unbatched if rank == 2 else feature_dropout)(input, p, training, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Feature dropout of images [batch, channels, height, width]. Axis 1 of a 3-D input is its channels too."""
    rank = _arguments.tensor(input, "dropout2d", "input").ndim
    if rank == 3:
        warn(
            "dropout2d: Received a 3-D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
            "desired: axis 1 is taken for its channels. dropout1d says so."
        )
    elif rank != 4:
        warn(f"dropout2d: Received a {rank}-D input to dropout2d; axis 1 is taken for its channels.")
    return feature_dropout(input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Feature dropout of volumes [batch, channels, depth, height, width], or of one volume."""
    rank = _arguments.tensor(input, "dropout3d", "input").ndim
    if rank not in (4, 5):
        warn(f"dropout3d: Received a {rank}-D input to dropout3d; axis 0 is taken for its channels.")
    return (feature_dropout if rank == 5 else _unbatched)(input, p, training, inplace)


def _alpha(input: Tensor, kept: Tensor, p: float, inplace: bool) -> Tensor:
    """The input where ``kept`` is 1, else SELU's limit, scaled to the mean and variance it had."""
    a = 0.0 if p == 1 else 1 / math.sqrt((1 - p) * (1 + p * _LOWEST**2))
    result = ops.add(ops.multiply(input, ops.multiply(kept, a)), (1 - kept) * (a * _LOWEST) - a * _LOWEST * p)
    return input.copy_(result) if inplace else result


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean 0 and variance 1, for networks of SELU (Klambauer et al. 2017)."""
    _checked(p)
    input = _arguments.tensor(input, "alpha_dropout", "input")
    if not training or p == 0:
        return input
    return _alpha(input, ops.sign(ops.dropout(_ones(input), p, True)), p, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """:func:`alpha_dropout` of whole channels."""
    _checked(p)
    input = _arguments.tensor(input, "feature_alpha_dropout", "input")
    if not training or p == 0:
        return input
    return _alpha(input, ops.sign(_channels(input, p)), p, inplace)
