"""Random numbers that the core does not draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, DtypeError, ShapeError, Tensor, native as ops, torch as torch_ops
from ferrograd._core.native import mersenne
from ferrograd._kit.dialect import TORCH, dialect_of


def generator(dialect: int) -> np.random.Generator:
    """NumPy's generator, seeded from the stream that the ``seed`` of a dialect sets."""
    source = torch_ops if dialect == TORCH else ops
    return np.random.default_rng(int(source.randint(0, 2**62, [1]).item()))


def gammas(concentration: Tensor) -> Any:
    """Gamma variables of rate 1, one for each concentration, as a float64 array."""
    shapes, dialect = ops.astype(concentration, "float64").numpy(), dialect_of(concentration)
    if dialect == TORCH:
        return mersenne.draw_each("gamma", _core.make(shapes, None, False, TORCH)).numpy()
    return in_parts(generator(dialect).standard_gamma, shapes)


def log_gammas(concentration: Tensor) -> Any:
    """The logarithms of gamma variables of rate 1. Those of small concentrations are finite."""
    shapes, dialect = ops.astype(concentration, "float64").numpy(), dialect_of(concentration)
    if dialect == TORCH:
        return mersenne.draw_each("log_gamma", _core.make(shapes, None, False, TORCH)).numpy()
    source = generator(dialect)
    with np.errstate(divide="ignore"):
        return np.log(in_parts(source.standard_gamma, shapes + 1)) + np.log1p(-source.random(shapes.shape)) / shapes


def drawn(values: Any, like: Tensor) -> Any:
    """An array of NumPy's generator as a tensor with the class and the dtype of ``like``."""
    return _core.make(np.asarray(values, order="C"), like.dtype, False, dialect_of(like))


def by_numpy(draw: Callable[..., Any], shape: Sequence[int], *parameters: Tensor, like: Tensor) -> Any:
    """What ``draw`` makes of NumPy's generator and of parameters, as a tensor with the class and the dtype of ``like``.

    It gets the parameters as float64 arrays of this shape. A program calls it at its place, so it holds no tensor.
    """
    shape, dtype, dialect = tuple(shape), like.dtype, dialect_of(like)

    def call(given: list[Tensor]) -> list[Tensor]:
        arrays = (np.broadcast_to(ops.astype(x, "float64").numpy(), shape) for x in given)
        return [_core.make(np.asarray(draw(generator(dialect), *arrays), order="C"), dtype, False, dialect)]

    return _core.call_at_replay(call, [x.detach() for x in parameters])[0]


def in_parts(draw: Callable[..., Any], *parameters: Any, row: int = 0) -> Any:
    """What ``draw`` makes of arrays of one shape, drawn part by part: NumPy hears Ctrl-C between its calls only.

    The last ``row`` axes are not cut.
    """
    shape, part = parameters[0].shape, 1 << 18
    if parameters[0].size <= part:
        return draw(*parameters)
    cut = len(shape) - row
    flat = [x.reshape(-1, *shape[cut:]) for x in parameters]
    step = max(1, part // math.prod(shape[cut:]))
    first = draw(*(x[:step] for x in flat))
    found = np.empty(flat[0].shape, first.dtype)
    found[:step] = first
    for start in range(step, len(found), step):
        found[start : start + step] = draw(*(x[start : start + step] for x in flat))
    return found.reshape(shape)


def poisson(rates: Tensor) -> Any:
    """Random numbers of events, one for each rate."""
    if dialect_of(rates) == TORCH:
        return _core.call_at_replay(lambda given: [mersenne.draw_each("poisson", given[0])], [rates.detach()])[0]

    def draw(source: np.random.Generator, values: Any) -> Any:
        if not (values >= 0).all():
            raise ArgumentError("poisson: rates must not be negative or NaN")
        return in_parts(source.poisson, values)

    return by_numpy(draw, rates.shape, rates, like=rates)


def negative_binomial(count: Tensor, odds: Tensor) -> Any:
    """Random numbers of successes before ``count`` failures: of events at a rate that is a gamma variable."""
    if dialect_of(count) == TORCH:

        def call(given: list[Tensor]) -> list[Tensor]:
            n, o = given
            return [mersenne.draw_each("poisson", mersenne.draw_each("gamma", n) * o)]

        return _core.call_at_replay(call, [count.detach(), odds.detach()])[0]

    def draw(source: np.random.Generator, n: Any, o: Any) -> Any:
        return in_parts(source.poisson, in_parts(source.standard_gamma, n) * o)

    return by_numpy(draw, count.shape, count, odds, like=count)


def binomial(count: Tensor, prob: Tensor) -> Any:
    """Random numbers of successes in ``count`` trials, each with the probability ``prob``."""
    if dialect_of(count) == TORCH:

        def call(given: list[Tensor]) -> list[Tensor]:
            return [mersenne.draw_binomial(*torch_ops.broadcast_tensors(*given))]

        return _core.call_at_replay(call, [count.detach(), prob.detach()])[0]

    def draw(source: np.random.Generator, n: Any, p: Any) -> Any:
        if not ((n >= 0) & (n < 2.0**63) & (p >= 0) & (p <= 1)).all():
            raise ArgumentError("binomial: counts lie between 0 and 2**63 and probabilities between 0 and 1")
        return in_parts(source.binomial, n.astype(np.int64), p)

    return by_numpy(draw, np.broadcast_shapes(count.shape, prob.shape), count, prob, like=count)


def multinomial(weights: Tensor, num_samples: int, replacement: bool) -> Any:
    """Random indices into a vector of weights, or into each row of a matrix of them, by their shares of the sum.

    Without ``replacement`` no index is drawn twice, so at least ``num_samples`` weights of each row are not zero.
    """
    weights = weights.detach()
    _check_weights(weights, num_samples, replacement)
    if dialect_of(weights) == TORCH:
        return _as_pytorch(weights, num_samples, replacement)
    weights = ops.astype(weights, "float64")
    if replacement:
        ends = ops.expand_dims(ops.cumsum(weights, -1), -2)
        uniform = ops.rand_like(ops.broadcast_to(ends[..., :1], [*weights.shape[:-1], num_samples, 1]))
        # 1 - u is in (0, 1], so an index whose weight is zero is never the first to reach it.
        return ops.argmax(ops.astype(ends >= (1 - uniform) * ends[..., -1:], "uint8"), -1)
    # The first of exponential times with these rates. One with rate 0 never comes.
    times = (-ops.log1p(-ops.rand_like(weights)) + 1e-300) / weights
    return ops.argsort(times, -1)[..., :num_samples].contiguous()


def _as_pytorch(weights: Any, num_samples: int, replacement: bool) -> Any:
    """The indices that PyTorch draws. A single one is drawn in one way, with replacement and without."""
    if not replacement or num_samples == 1:
        times = torch_ops.mersenne.draw("exponential", weights.shape, weights.dtype, 1)
        return torch_ops.argsort(weights / times, -1, True)[..., :num_samples].contiguous()
    ends = ops.cumsum(weights, -1)
    ends = ops.astype(ends / ends[..., -1:], "float64")
    drawn = torch_ops.mersenne.draw("uniform", [*weights.shape[:-1], num_samples], np.dtype("float64"))
    return ops.searchsorted(ends[..., :-1].contiguous(), drawn)


def _check_weights(weights: Tensor, num_samples: int, replacement: bool) -> None:
    """Raises an error where ``num_samples`` random indices cannot be drawn by these weights."""
    if weights.ndim not in (1, 2) or weights.shape[-1] == 0:
        raise ShapeError(f"multinomial: one or two axes with at least one weight are wanted, not {list(weights.shape)}")
    if weights.dtype.kind != "f":
        raise DtypeError(f"multinomial: weights are floats, not {weights.dtype}")
    if num_samples < 1:
        raise ArgumentError("cannot sample n_sample <= 0 samples")
    if not _core.all_hold(ops.isfinite(weights) & (weights >= 0)):
        raise ArgumentError("probability tensor contains either `inf`, `nan` or element < 0")
    present = ops.sum(weights > 0, -1)
    if not _core.all_hold(present > 0):
        raise ArgumentError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement and num_samples > weights.shape[-1]:
        raise ArgumentError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not replacement and not _core.all_hold(present >= num_samples):
        raise ArgumentError(
            f"multinomial: {num_samples} different indices are wanted, but fewer weights of a row are above zero"
        )
