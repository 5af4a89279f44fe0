"""torch's activations, elementwise unless they have ``dim``. With ``inplace`` they overwrite ``input``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError
from ferrograd._core.torch import mersenne
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.ops import ops
from ferrograd._kit.out import with_out
from ferrograd.torch._tensor import Tensor

__all__ = [
    "celu",
    "elu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "logsigmoid",
    "mish",
    "relu",
    "relu6",
    "rrelu",
    "selu",
    "silu",
    "softshrink",
    "softsign",
    "tanhshrink",
    "threshold",
]


def _result(input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    return input.copy_(result) if inplace else result


def _is_whole(input: object) -> bool:
    """Whether these are integers. torch's piecewise linear functions of integers are integers."""
    return isinstance(input, Tensor) and input.dtype.kind in "iu"


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``."""
    return _result(input, ops.relu(input), inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``."""
    return hardtanh(input, 0, 6, inplace) if _is_whole(input) else _result(input, ops.relu6(input), inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` clipped to [``min_val``, ``max_val``]."""
    if _is_whole(input):
        return _result(input, ops.clip(input, int(min_val), int(max_val)), inplace)
    return _result(input, ops.hardtanh(input, min_val, max_val), inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``input / 6 + 1 / 2`` clipped to [0, 1]."""
    return _result(input, ops.hardsigmoid(input), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input`` times its hardsigmoid."""
    return _result(input, ops.hardswish(input), inplace)


@with_out
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input``, or 0 where ``|input| <= lambd``."""
    return ops.hardshrink(input, lambd)


@with_out
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``sign(input) * max(|input| - lambd, 0)``."""
    return ops.softshrink(input, lambd)


def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``."""
    return ops.tanhshrink(input)


def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``."""
    return ops.softsign(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, ``alpha * (exp(input) - 1)`` elsewhere."""
    return _result(input, ops.elu(input, alpha), inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere."""
    return _result(input, ops.celu(input, alpha), inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``elu`` scaled with the constants that preserve mean 0 and variance 1 (Klambauer et al. 2017)."""
    return _result(input, ops.selu(input), inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input``, multiplied by ``negative_slope`` where it is negative."""
    return _result(input, ops.leaky_relu(input, negative_slope), inplace)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """``input``, where negative multiplied by a random slope in [lower, upper) in training, else by their mean."""
    if not lower <= upper:
        raise ArgumentError(f"rrelu: lower {lower} should be less than or equal to upper {upper}")
    if not training:
        return _result(input, ops.leaky_relu(input, (lower + upper) / 2), inplace)
    input = _arguments.tensor(input, "rrelu", "input")
    if _core.batches([input]):
        # Examples have different numbers of slopes, so each draws one for every element.
        slopes = ops.where(ops.less_equal(input, 0), ops.uniform(lower, upper, list(input.shape)), 1.0)
    else:
        slopes = _core.call_at_replay(lambda given: [_slopes(given[0], lower, upper)], [input.detach()])[0]
    return _result(input, ops.cast(ops.multiply(input, slopes), input.dtype), inplace)


def _slopes(x: Any, lower: float, upper: float) -> Any:
    """Ones where numbers are positive, and random slopes elsewhere. The stream gives one number for each slope."""
    is_positive = ~(ops.less_equal(x, 0).numpy())
    dtype = np.float64 if x.dtype.name == "float64" else np.float32
    low, high = float(dtype(lower)), float(dtype(upper))
    found = np.ones(x.shape)
    drawn = mersenne.draw("uniform", [x.numel() - int(is_positive.sum())], np.dtype("float64")).numpy()
    found[~is_positive] = drawn * (high - low) + low
    return _core.make(found, dtype, False, TORCH)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input`` times its sigmoid."""
    is_complex = _arguments.tensor(input, "silu", "input").is_complex()
    return _result(input, ops.multiply(input, ops.sigmoid(input)) if is_complex else ops.silu(input), inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``."""
    return _result(input, ops.mish(input), inplace)


@with_out
def logsigmoid(input: Tensor) -> Tensor:
    """The logarithm of the sigmoid."""
    return ops.log_sigmoid(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where it is above ``threshold``, else ``value``."""
    if _is_whole(input):
        return _result(input, ops.where(ops.greater(input, threshold), input, int(value)), inplace)
    return _result(input, ops.thresholded_relu(input, threshold, value), inplace)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along an axis times the sigmoid of the second."""
    return ops.glu(input, dim)
