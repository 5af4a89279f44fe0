"""``torch.nn.init``: functions that overwrite a tensor with initial values and return it. Nothing is recorded.

>>> import ferrograd.torch as torch
>>> torch.nn.init.constant_(torch.empty(2), 0.5).tolist()
[0.5, 0.5]
"""

from __future__ import annotations

import math
from typing import Any

from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError, TorchTensor
from ferrograd._core.torch import mersenne
from ferrograd._kit import public as _public
from ferrograd._kit.arguments import typed
from ferrograd._kit.ops import ops
from ferrograd._kit.warning import warn
from ferrograd._layers import initializers as _initializers
from ferrograd.torch._base.generator import drawing

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The recommended gain before a nonlinearity; ``param`` is the negative slope of ``leaky_relu``.

    >>> import ferrograd.torch as torch
    >>> torch.nn.init.calculate_gain("relu") ** 2
    2.0000000000000004
    """
    return _initializers.gain(nonlinearity, param)


@no_grad()
@typed(tensor=TorchTensor)
def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Random numbers of the uniform distribution on [``a``, ``b``)."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
@typed(tensor=TorchTensor)
def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Random numbers of the normal distribution."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
@typed(tensor=TorchTensor)
def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Any:
    """Random numbers of the normal distribution, drawn again where they are outside of [``a``, ``b``]."""
    if not std > 0:
        raise ArgumentError(f"trunc_normal_: std must be positive, not {std}")
    if not a < b:
        raise ArgumentError(f"trunc_normal_: a is below b, unlike {a} and {b}")
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect."
        )
    with drawing(generator, "trunc_normal_"):
        drawn = _initializers.truncated_normal(tensor.shape, mean, std, a, b, tensor.dtype, mersenne.draw)
    return tensor.copy_(drawn)


@no_grad()
@typed(tensor=TorchTensor)
def constant_(tensor: Any, val: float) -> Any:
    """One number."""
    return tensor.fill_(val)


@typed(tensor=TorchTensor)
def ones_(tensor: Any) -> Any:
    """Ones."""
    return constant_(tensor, 1.0)


@typed(tensor=TorchTensor)
def zeros_(tensor: Any) -> Any:
    """Zeros."""
    return constant_(tensor, 0.0)


@no_grad()
@typed(tensor=TorchTensor)
def eye_(tensor: Any) -> Any:
    """The identity matrix, with as many ones as fit."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(ops.eye(*tensor.shape))


@no_grad()
@typed(tensor=TorchTensor)
def dirac_(tensor: Any, groups: int = 1) -> Any:
    """The filters of a convolution that passes on its input channels, in each group."""
    return tensor.copy_(_initializers.dirac(tensor.shape, groups, tensor.dtype))


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    return _initializers.fans(tensor.shape)


def _calculate_correct_fan(tensor: Any, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _initializers.fans(tensor.shape)[mode == "fan_out"]


def _xavier_std(tensor: Any, gain: float) -> float:
    return gain * math.sqrt(2.0 / float(sum(_initializers.fans(tensor.shape))))


@typed(tensor=TorchTensor)
def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Uniform numbers of variance ``2 gain**2 / (fan_in + fan_out)`` (Glorot, Bengio 2010)."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


@typed(tensor=TorchTensor)
def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Normal numbers of variance ``2 gain**2 / (fan_in + fan_out)`` (Glorot, Bengio 2010)."""
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _kaiming_std(tensor: Any, a: float, mode: str, nonlinearity: str) -> float | None:
    """The standard deviation; None for a tensor without elements."""
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return None
    return _initializers.gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


@typed(tensor=TorchTensor, mode=str, nonlinearity=str)
def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Uniform numbers of variance ``gain**2 / fan`` (He et al. 2015). ``a`` is the negative slope of ``leaky_relu``."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


@typed(tensor=TorchTensor, mode=str, nonlinearity=str)
def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Normal numbers of variance ``gain**2 / fan`` (He et al. 2015). ``a`` is the negative slope of ``leaky_relu``."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


@no_grad()
@typed(tensor=TorchTensor)
def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """A random matrix with orthonormal rows or columns, whichever are fewer, times ``gain``. Later axes are joined."""
    with drawing(generator, "orthogonal_"):
        drawn = _initializers.orthogonal(tensor.shape, gain, tensor.dtype, mersenne.draw)
    return tensor.copy_(drawn)


@no_grad()
@typed(tensor=TorchTensor)
def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Normal numbers; a share ``sparsity`` of each column is zero."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    with drawing(generator, "sparse_"):
        for column in range(columns):
            tensor[ops.randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(name: str) -> Any:
    def old(*args: Any, **kwargs: Any) -> Any:
        warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning)
        return globals()[f"{name}_"](*args, **kwargs)

    old.__name__, old.__doc__ = name, f"The same as ``{name}_``, which replaces it."
    return old


#: The names without an underscore, which torch deprecated.
uniform, normal, constant, eye, dirac = map(_deprecated, ("uniform", "normal", "constant", "eye", "dirac"))
xavier_uniform, xavier_normal = map(_deprecated, ("xavier_uniform", "xavier_normal"))
kaiming_uniform, kaiming_normal = map(_deprecated, ("kaiming_uniform", "kaiming_normal"))
orthogonal, sparse = map(_deprecated, ("orthogonal", "sparse"))


def _no_grad_uniform_(tensor: Any, a: float, b: float, generator: Any = None) -> Any:
    return uniform_(tensor, a, b, generator)


def _no_grad_normal_(tensor: Any, mean: float, std: float, generator: Any = None) -> Any:
    return normal_(tensor, mean, std, generator)


def _no_grad_fill_(tensor: Any, val: float) -> Any:
    return constant_(tensor, val)


def _no_grad_zero_(tensor: Any) -> Any:
    return zeros_(tensor)


__dir__ = _public.names(globals())
