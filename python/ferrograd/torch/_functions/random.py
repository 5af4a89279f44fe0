"""torch's functions that draw random numbers."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._core import torch as ops
from ferrograd._core.torch import mersenne
from ferrograd._functions import random
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.out import dtype_beside, placed
from ferrograd._kit.specialize import specialize
from ferrograd.torch._base.formats import in_format
from ferrograd.torch._base.generator import Generator, drawing
from ferrograd.torch._base.meta import MetaTensor, is_meta, shape_of
from ferrograd.torch._functions.create import _shape
from ferrograd.torch._tensor import Tensor

__all__ = [
    "bernoulli",
    "binomial",
    "multinomial",
    "normal",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
]


def _of(drawn: Tensor, *parameters: Any) -> Tensor:
    """The draws as a value that depends on the tracked ones of the parameters, with derivatives of zero."""
    tracked = [x for x in parameters if isinstance(x, Tensor) and x.requires_grad]
    if not tracked:
        return drawn
    return ops.where(ops.full((), False, "bool"), sum(tracked[1:], tracked[0]), drawn)


def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Random numbers of successes in ``count`` trials, each with the probability ``prob``."""
    n, p = (_arguments.tensor(x, "binomial", name) for x, name in ((count, "count"), (prob, "prob")))
    with drawing(generator, "binomial"):
        return random.binomial(n, p)


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Random numbers of events, one for each rate. Gradients and tangents are zero."""
    rates = _arguments.tensor(input, "poisson", "input")
    with drawing(generator, "poisson"):
        return _of(random.poisson(rates), rates)


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
    if is_meta(_op.__name__, device):
        return MetaTensor(_shape(sizes, size), dtype, requires_grad)
    with drawing(generator, _op.__name__):
        drawn = _op(_shape(sizes, size), dtype_beside(out, dtype))
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
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Random integers in [``low``, ``high``). With one bound they start at 0."""
    _core.check_device("randint", device)
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    with drawing(generator, "randint"):
        drawn = ops.randint(low, high, size, dtype_beside(out, dtype))
    return placed(drawn, out, requires_grad)


def randint_like(
    input: Tensor,
    low: int = 0,
    high: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Random integers in [``low``, ``high``), with the shape and dtype of ``input``. With one bound they start at 0."""
    _core.check_device("randint_like", device)
    input = _arguments.tensor(input, "randint_like", "input")
    low, high = (0, low) if high is None else (low, high)
    with drawing(generator, "randint_like"):
        drawn = ops.astype(ops.randint(low, high, input.shape), input.dtype if dtype is None else dtype)
    if not input.is_contiguous():
        drawn = drawn._laid_out_like(input)
    return placed(in_format(drawn, memory_format), None, requires_grad)


def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Random indices into a vector of weights, or into each row of a matrix of them, by their shares of the sum.

    Without ``replacement`` no index is drawn twice, so at least ``num_samples`` weights of each row are not zero.

    >>> import ferrograd.torch as torch
    >>> torch.multinomial(torch.tensor([0.0, 3.0, 0.0]), 2, replacement=True).tolist()
    [1, 1]
    """
    weights = _arguments.tensor(input, "multinomial", "input")
    with drawing(generator, "multinomial"):
        drawn = random.multinomial(weights, num_samples, replacement)
    return placed(drawn, out, False)


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
        drawn = ops.randperm(n, dtype_beside(out, dtype))
    return placed(drawn, out, requires_grad)


def _random_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
    _op: Any = None,
) -> Tensor:
    if is_meta(_op.__name__, device) or (device is None and isinstance(input, MetaTensor)):
        return MetaTensor(input.shape, input.dtype if dtype is None else dtype, requires_grad)
    with drawing(generator, _op.__name__):
        drawn = _op(shape_of(input), dtype)
    return placed(in_format(drawn, memory_format), None, requires_grad)


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
    """Random numbers of the normal distribution. The shape is ``size``, or that of ``mean`` and ``std``.

    The gradients of ``mean`` and ``std`` are zero: ``distributions.Normal(mean, std).rsample()`` has others.
    """
    _core.check_device("normal", device)
    parameters, dtype = (mean, std), dtype_beside(out, dtype)
    mean, std = (x.detach() if isinstance(x, Tensor) else x for x in parameters)
    with drawing(generator, "normal"):
        if size is None or isinstance(mean, Tensor) or isinstance(std, Tensor):
            drawn = ops.normal(mean, std, size, dtype)
        else:
            drawn = mersenne.draw("normal", size, ops.get_default_dtype() if dtype is None else dtype, mean, std)
    return placed(_of(drawn, *parameters), out, requires_grad)


def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None, out: Tensor | None = None) -> Tensor:
    """Ones with the probabilities ``input``, or all with the probability ``p``, and zeros.

    The gradients and tangents of the probabilities are zero.
    """
    with drawing(generator, "bernoulli"):
        drawn = _of(ops.bernoulli(input), input) if p is None else mersenne.draw("coin", input.shape, input.dtype, p)
    return placed(drawn if out is None else ops.cast(drawn, out.dtype), out, False)
