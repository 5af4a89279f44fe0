"""torch's functions that create tensors."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._core import torch as ops
from ferrograd._dialects.numbers import TORCH
from ferrograd._dialects.out_argument import placed
from ferrograd._dialects.specialize import specialize
from ferrograd.torch._generator import Generator, drawing

__all__ = [
    "arange",
    "as_tensor",
    "bernoulli",
    "empty",
    "eye",
    "from_numpy",
    "full",
    "full_like",
    "linspace",
    "normal",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "tensor",
    "zeros",
    "zeros_like",
]


def _shape(sizes: tuple[Any, ...], size: Any) -> Any:
    """The shape from sizes given one by one, as one sequence, or by name."""
    if size is not None:
        if sizes:
            raise TypeError("the sizes are given twice, by place and as `size`")
        return size
    return sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of numbers, nested lists, arrays or tensors.

    Python floats get the default float dtype. Arrays and tensors keep their dtype.

    >>> import ferrograd.torch as torch
    >>> torch.tensor([[1, 2], [3, 4]], dtype=torch.float64).requires_grad
    False
    """
    _core.check_device("tensor", device)
    return _core.make(data, dtype, requires_grad, TORCH)


def as_tensor(data: Any, dtype: Any = None, device: object = None) -> Tensor:
    """The object as a tensor. A tensor of that dtype is returned itself."""
    _core.check_device("as_tensor", device)
    if isinstance(data, Tensor):
        return data if dtype is None or data.dtype == dtype else ops.astype(data, dtype)
    return _core.make(data, dtype, False, TORCH)


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor with a copy of a NumPy array."""
    return _core.make(ndarray, None, False, TORCH)


def _constant(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    _op: Any = None,
) -> Tensor:
    _core.check_device("device", device)
    return placed(_op(_shape(sizes, size), dtype), out, requires_grad)


zeros = specialize(
    "zeros", "Zeros of a shape, in the default float dtype unless one is given.", _constant, _op=ops.zeros
)
ones = specialize("ones", "Ones of a shape, in the default float dtype unless one is given.", _constant, _op=ops.ones)
empty = specialize("empty", "A tensor of a shape with unspecified values; they are zeros.", _constant, _op=ops.zeros)


def full(
    size: Any,
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of a shape filled with one number."""
    _core.check_device("full", device)
    return placed(ops.full(size, fill_value, dtype), out, requires_grad)


def _constant_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
    _op: Any = None,
) -> Tensor:
    _core.check_device("constant_like", device)
    return placed(_op(input, dtype), None, requires_grad)


zeros_like = specialize(
    "zeros_like", "Zeros with the shape and dtype of ``input``.", _constant_like, _op=ops.zeros_like
)
ones_like = specialize("ones_like", "Ones with the shape and dtype of ``input``.", _constant_like, _op=ops.ones_like)


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor filled with one number, with the shape and by default the dtype of another."""
    _core.check_device("full_like", device)
    return placed(ops.full_like(input, fill_value, dtype), None, requires_grad)


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """The numbers ``start``, ``start + step``, … below ``end``. With one bound they start at 0."""
    _core.check_device("arange", device)
    return placed(ops.arange(start, end, step, dtype), out, requires_grad)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included."""
    _core.check_device("linspace", device)
    return placed(ops.linspace(start, end, steps, dtype), out, requires_grad)


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""
    _core.check_device("eye", device)
    return placed(ops.eye(n, m, 0, dtype), out, requires_grad)


def _random(
    *sizes: Any,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    _op: Any = None,
) -> Tensor:
    _core.check_device("random", device)
    with drawing(generator, _op.__name__):
        drawn = _op(_shape(sizes, size), dtype)
    return placed(drawn, out, requires_grad)


rand = specialize("rand", "Random numbers of the uniform distribution on [0, 1).", _random, _op=ops.rand)
randn = specialize("randn", "Random numbers of the standard normal distribution.", _random, _op=ops.randn)


def randint(
    low: int = 0,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random integers in [``low``, ``high``). With one bound they start at 0."""
    _core.check_device("randint", device)
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    with drawing(generator, "randint"):
        drawn = ops.randint(low, high, size, dtype)
    return placed(drawn, out, requires_grad)


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The integers below ``n`` in random order, every order as likely."""
    _core.check_device("randperm", device)
    with drawing(generator, "randperm"):
        drawn = ops.randperm(n, dtype)
    return placed(drawn, out, requires_grad)


def _random_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
    _op: Any = None,
) -> Tensor:
    _core.check_device("random_like", device)
    with drawing(generator, _op.__name__):
        drawn = _op(input, dtype)
    return placed(drawn, None, requires_grad)


rand_like = specialize(
    "rand_like",
    "Random numbers of the uniform distribution on [0, 1), with the shape and dtype of ``input``.",
    _random_like,
    _op=ops.rand_like,
)
randn_like = specialize(
    "randn_like",
    "Random numbers of the standard normal distribution, with the shape and dtype of ``input``.",
    _random_like,
    _op=ops.randn_like,
)


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random numbers of the normal distribution. The shape is ``size``, or that of ``mean`` and ``std``."""
    _core.check_device("normal", device)
    with drawing(generator, "normal"):
        drawn = ops.normal(mean, std, size, dtype)
    return placed(drawn, out, requires_grad)


def bernoulli(input: Tensor, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Ones with the probabilities ``input``, and zeros."""
    with drawing(generator, "bernoulli"):
        drawn = ops.bernoulli(input)
    return placed(drawn, out, False)
