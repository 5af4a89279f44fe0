"""Initial values of parameters: gains, fans and the draws that are more than one op."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ferrograd._core import native as ops

#: The layers and functions whose gain is 1.
_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
_GAINS = {**dict.fromkeys((*_LINEAR, "sigmoid"), 1.0), "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}


def gain(nonlinearity: str, slope: Any = None) -> float:
    """The factor by which weights before a nonlinearity are larger, to keep the variance of the outputs.

    ``slope`` is the negative slope of ``leaky_relu``, by default 0.01.
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if slope is None else slope
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {slope} not a valid number")
        return math.sqrt(2 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """How many inputs an output of a filter [out, in, …] has, and how many outputs an input has."""
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _draw(law: str, shape: Sequence[int], dtype: Any, a: float = 0, b: float = 1) -> Any:
    """Random numbers: "normal" with mean ``a`` and deviation ``b``, or "uniform" from ``a`` to ``b``."""
    return ops.randn(shape, dtype) * b + a if law == "normal" else ops.rand(shape, dtype) * (b - a) + a


def truncated_normal(
    shape: Sequence[int],
    mean: float,
    std: float,
    low: float,
    high: float,
    dtype: Any,
    draw: Callable[..., Any] = _draw,
) -> Any:
    """Normal random numbers; those outside of [``low``, ``high``] are drawn again until none is left."""

    def inside(value: float) -> float:
        return (1 + math.erf((value - mean) / std / math.sqrt(2))) / 2

    if inside(high) - inside(low) > 0.3:
        found = draw("normal", shape, dtype, mean, std)
        while bool(ops.any(out := ops.logical_or(found < low, found > high))):
            found = ops.where(out, draw("normal", shape, dtype, mean, std), found)
        return found
    # Few normal numbers would be inside: uniform ones are kept with a probability in proportion to the density.
    peak = max(low, min(mean, high))
    top = ((peak - mean) / std) ** 2 / 2

    def drawn() -> tuple[Any, Any]:
        value = draw("uniform", shape, dtype, low, high)
        density = top - ops.square((value - mean) / std) / 2
        return value, ops.log(draw("uniform", shape, dtype)) > density

    found, refused = drawn()
    while bool(ops.any(refused)):
        value, again = drawn()
        found = ops.where(refused, value, found)
        refused = ops.logical_and(refused, again)
    return found


def orthonormal(matrices: Any) -> Any:
    """The orthonormal columns that Gram and Schmidt make of those of each matrix."""
    q, r = ops.linalg.qr(matrices)
    return q * ops.expand_dims(ops.sign(ops.diagonal(r, 0, -2, -1)), -2)


def orthogonal(shape: Sequence[int], scale: float, dtype: Any, draw: Callable[..., Any] = _draw) -> Any:
    """A random matrix with orthonormal rows or columns, whichever are fewer, times ``scale``; later axes are joined."""
    if len(shape) < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if 0 in shape:
        return ops.zeros(list(shape), dtype)
    rows, columns = shape[0], math.prod(shape[1:])
    drawn = draw("normal", [rows, columns], dtype)
    # The signs make the distribution uniform.
    q = orthonormal(drawn if rows >= columns else ops.matrix_transpose(drawn))
    return ops.reshape(q if rows >= columns else ops.matrix_transpose(q), list(shape)) * scale


def dirac(shape: Sequence[int], groups: int, dtype: Any) -> Any:
    """The filters of a convolution that passes on as many input channels as it can, in each group."""
    if len(shape) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    many = shape[0] // groups
    filters = ops.zeros(list(shape), dtype)
    middle = tuple(n // 2 for n in shape[2:])
    for group in range(groups):
        for i in range(min(many, shape[1])):
            filters[(group * many + i, i, *middle)] = 1
    return filters
