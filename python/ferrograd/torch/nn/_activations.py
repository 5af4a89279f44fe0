"""torch's activations, elementwise unless they have ``dim``. With ``inplace`` they overwrite ``input``."""

from __future__ import annotations

from ferrograd import _arguments
from ferrograd._core import torch as ops
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
    """Whether these are integers, of which torch's piecewise linear functions are integers."""
    return isinstance(input, Tensor) and input.dtype.kind in "iu"


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.relu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """
    return _result(input, ops.relu(input), inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.relu6(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """
    return hardtanh(input, 0, 6, inplace) if _is_whole(input) else _result(input, ops.relu6(input), inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` clipped to [``min_val``, ``max_val``].

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.hardtanh(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """
    if _is_whole(input):
        return _result(input, ops.clip(input, int(min_val), int(max_val)), inplace)
    return _result(input, ops.hardtanh(input, min_val, max_val), inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``input / 6 + 1 / 2`` clipped to [0, 1].

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.hardsigmoid(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0.3333, 0.5000, 0.8333])
    """
    return _result(input, ops.hardsigmoid(input), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input`` times its hardsigmoid.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.hardswish(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.3333,  0.0000,  1.6667])
    """
    return _result(input, ops.hardswish(input), inplace)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input``, or 0 where ``|input| <= lambd``.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.hardshrink(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.,  0.,  2.])
    """
    return ops.hardshrink(input, lambd)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``sign(input) * max(|input| - lambd, 0)``.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.softshrink(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])
    """
    return ops.softshrink(input, lambd)


def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.tanhshrink(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2384,  0.0000,  1.0360])
    """
    return ops.tanhshrink(input)


def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.softsign(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.5000,  0.0000,  0.6667])
    """
    return ops.softsign(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, ``alpha * (exp(input) - 1)`` elsewhere.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.elu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])
    """
    return _result(input, ops.elu(input, alpha), inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.celu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])
    """
    return _result(input, ops.celu(input, alpha), inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``elu`` scaled with the constants that preserve mean 0 and variance 1 (Klambauer et al. 2017).

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.selu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.1113,  0.0000,  2.1014])
    """
    return _result(input, ops.selu(input), inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input``, multiplied by ``negative_slope`` where it is negative.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.0100,  0.0000,  2.0000])
    """
    return _result(input, ops.leaky_relu(input, negative_slope), inplace)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """``input``, where negative multiplied by a random slope in [lower, upper) in training, else by their mean."""
    if not training:
        return _result(input, ops.leaky_relu(input, (lower + upper) / 2), inplace)
    input = _arguments.tensor(input, "rrelu", "input")
    slopes = ops.cast(ops.uniform(lower, upper, list(input.shape)), input.dtype)
    return _result(input, ops.where(ops.less(input, 0), ops.multiply(input, slopes), input), inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input`` times its sigmoid.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.silu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2689,  0.0000,  1.7616])
    """
    return _result(input, ops.silu(input), inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.mish(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.3034,  0.0000,  1.9440])
    """
    return _result(input, ops.mish(input), inplace)


def logsigmoid(input: Tensor) -> Tensor:
    """The logarithm of the sigmoid.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.logsigmoid(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.3133, -0.6931, -0.1269])
    """
    return ops.log_sigmoid(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where it is above ``threshold``, else ``value``.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.threshold(torch.tensor([-1.0, 0.0, 2.0]), 0.5, 0.0)
    tensor([0., 0., 2.])
    """
    if _is_whole(input):
        return _result(input, ops.where(ops.greater(input, threshold), input, int(value)), inplace)
    return _result(input, ops.thresholded_relu(input, threshold, value), inplace)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along an axis times the sigmoid of the second.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.glu(torch.ones(1, 4, 6)).shape
    torch.Size([1, 4, 3])
    """
    return ops.glu(input, dim)
