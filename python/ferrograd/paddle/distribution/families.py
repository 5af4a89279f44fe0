"""Paddle's distributions: each takes Paddle's arguments and is otherwise the shared one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import paddle as ops
from ferrograd._distributions import _draws, families as _shared
from ferrograd._distributions.distribution import broadcast_all
from ferrograd._distributions.kl import kl_divergence, register_kl
from ferrograd._distributions.relaxed_bernoulli import uniform_like
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import PADDLE
from ferrograd._tensor.dtypes import finfo
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.distribution._complex_normal import ComplexNormal, is_complex
from ferrograd.paddle.distribution.distribution import Distribution, ExponentialFamily, parameters
from ferrograd.paddle.distribution.transform import TransformedDistribution

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ContinuousBernoulli",
    "Dirichlet",
    "Exponential",
    "Gamma",
    "Geometric",
    "Gumbel",
    "Independent",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "Multinomial",
    "MultivariateNormal",
    "Normal",
    "Poisson",
    "StudentT",
    "Uniform",
]


def _vector(value: Any) -> Any:
    """A number as a list of one, which some of Paddle's distributions make of it."""
    return [value] if isinstance(value, int | float) else value


def _require_positive(name: str, x: Any) -> None:
    if not _core.all_hold(x > 0):
        raise ValueError(f"The arg of `{name}` must be positive.")


class _Seeded(Distribution):
    def sample(self, shape: Any = (), seed: int = 0) -> Any:
        """Values without a gradient. A ``seed`` other than 0 seeds the generator."""
        if seed:
            ops.seed(seed)
        return super().sample(shape)


class Normal(_Seeded, _shared.Normal):
    """The normal distribution with mean ``loc`` and standard deviation ``scale``.

    A complex ``loc`` makes it one of complex numbers, each of whose parts has the variance ``scale**2 / 2``.

    >>> import ferrograd.paddle as paddle
    >>> loc = paddle.to_tensor(1.0, stop_gradient=False)
    >>> paddle.distribution.Normal(loc, 2.0).log_prob(paddle.to_tensor(3.0)).backward()
    >>> loc.grad.item()
    0.5
    """

    def __new__(cls, loc: Any = None, *args: Any, **kwargs: Any) -> Normal:
        """The distribution, of the class of complex ones if ``loc`` is complex."""
        return object.__new__(_ComplexNormal if cls is Normal and is_complex(loc) else cls)

    def __init__(self, loc: Any, scale: Any, name: str | None = None) -> None:
        self.name = name or "Normal"
        self._fg_take(loc, scale)

    def _fg_take(self, loc: Any, scale: Any) -> None:
        _shared.Normal.__init__(self, *parameters(loc, scale))


class _ComplexNormal(ComplexNormal, Normal):
    """A :class:`Normal` of complex numbers."""


class Uniform(_Seeded, _shared.Uniform):
    """Numbers between ``low`` and ``high``, each as likely."""

    def __init__(self, low: Any, high: Any, name: str | None = None) -> None:
        self.name = name or "Uniform"
        _shared.Uniform.__init__(self, *parameters(low, high))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density: minus infinity at both bounds."""
        value = self._fg_checked(value)
        inside = (value > self.low) & (value < self.high)
        return ops.log(ops.astype(inside, value.dtype)) - ops.log(self.high - self.low)


class Laplace(Distribution, _shared.Laplace):
    """The distribution with density ``exp(-|x - loc| / scale) / (2 scale)``."""

    def __init__(self, loc: Any, scale: Any) -> None:
        _shared.Laplace.__init__(self, *parameters(loc, scale))


class Cauchy(Distribution, _shared.Cauchy):
    """The distribution with density ``1 / (pi scale (1 + ((x - loc) / scale)**2))``. It has no mean and no variance."""

    def __init__(self, loc: Any, scale: Any, name: str | None = None) -> None:
        self.name = name or "Cauchy"
        _shared.Cauchy.__init__(self, *parameters(loc, scale))

    def _fg_checked(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            raise TypeError(f"The type of 'value' must be Tensor, but received {type(value)}")
        return super()._fg_checked(value)

    @property
    def mean(self) -> Any:
        """Raises ValueError, as there is no mean."""
        raise ValueError("Cauchy distribution has no mean.")

    @property
    def variance(self) -> Any:
        """Raises ValueError, as there is no variance."""
        raise ValueError("Cauchy distribution has no variance.")

    @property
    def stddev(self) -> Any:
        """Raises ValueError, as there is no standard deviation."""
        raise ValueError("Cauchy distribution has no stddev.")


class Gumbel(Distribution, _shared.Gumbel):
    """The distribution of the largest of many values, with ``cdf`` ``exp(-exp(-(x - loc) / scale))``."""

    def __init__(self, loc: Any, scale: Any) -> None:
        _shared.Gumbel.__init__(self, *parameters(loc, scale))


class LogNormal(TransformedDistribution, _shared.LogNormal):
    """The distribution of ``exp(x)`` for a normal ``x`` with mean ``loc`` and standard deviation ``scale``."""

    def __init__(self, loc: Any, scale: Any) -> None:
        loc, scale = parameters(loc, scale)
        _shared.LogNormal.__init__(self, loc, scale, False)


class Exponential(Distribution, _shared.Exponential):
    """The distribution of waiting times with density ``rate * exp(-rate * x)``."""

    def __init__(self, rate: Any) -> None:
        _shared.Exponential.__init__(self, *parameters(rate))


class Gamma(ExponentialFamily, _shared.Gamma):
    """The distribution with density ``rate**a x**(a - 1) exp(-rate x) / Gamma(a)`` for the concentration ``a``."""

    def __init__(self, concentration: Any, rate: Any) -> None:
        _shared.Gamma.__init__(self, *parameters(concentration, rate))


class Chi2(Gamma):
    """The distribution of the sum of ``df`` squares of standard normal variables."""

    def __init__(self, df: Any) -> None:
        (self.df,) = parameters(df)
        _require_positive("df", self.df)
        super().__init__(0.5 * self.df, 0.5)


class Beta(ExponentialFamily, _shared.Beta):
    """The distribution on [0, 1] with density proportional to ``x**(alpha - 1) (1 - x)**(beta - 1)``."""

    def __init__(self, alpha: Any, beta: Any) -> None:
        alpha, beta = parameters(alpha, beta)
        if 0 in alpha.shape or 0 in beta.shape:
            raise ValueError("Beta: the parameters must not be empty")
        _shared.Beta.__init__(self, alpha, beta)

    @property
    def alpha(self) -> Any:
        """The first parameter."""
        return self.concentration1

    @property
    def beta(self) -> Any:
        """The second parameter."""
        return self.concentration0


class Dirichlet(ExponentialFamily, _shared.Dirichlet):
    """Points of a simplex with density proportional to the product of ``x ** (concentration - 1)``."""

    def __init__(self, concentration: Any) -> None:
        (concentration,) = parameters(concentration)
        if 0 in concentration.shape:
            raise ValueError("`concentration` parameter must not be empty")
        _shared.Dirichlet.__init__(self, concentration)


class StudentT(Distribution, _shared.StudentT):
    """Student's t distribution with ``df`` degrees of freedom, moved and scaled."""

    def __init__(self, df: Any, loc: Any, scale: Any, name: str | None = None) -> None:
        self.name = name or "StudentT"
        _shared.StudentT.__init__(self, *parameters(df, loc, scale))
        for key in ("df", "scale"):
            if not _core.all_hold(vars(self)[key] >= 0):
                raise ValueError(f"Every element of input parameter `{key}` should be nonnegative.")


class Bernoulli(Distribution, _shared.Bernoulli):
    """One with probability ``probs``, else zero.

    Probabilities of 0 and 1 are moved inwards by the spacing of floats at 1, so that all logarithms are finite.
    """

    def __init__(self, probs: Any, name: str | None = None) -> None:
        self.name = name or "Bernoulli"
        (probs,) = parameters(probs)
        eps = float(finfo(probs.dtype).eps)
        _shared.Bernoulli.__init__(self, ops.clip(probs, eps, 1 - eps))

    def sample(self, shape: Any = ()) -> Any:
        """Zeros and ones."""
        return _shared.Bernoulli.sample(self, self._extend_shape(shape)[: len(shape)])

    def rsample(self, shape: Any = (), temperature: float = 1.0) -> Any:
        """Numbers whose ``sigmoid`` is near 0 or 1 for small temperatures, with gradients."""
        u = uniform_like(self.probs, list(self._extend_shape(shape)))
        return (ops.log(u) - ops.log1p(-u) + self.logits) / temperature

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        value = self._fg_checked(value)
        return ops.where(value < 0, 0.0, ops.where(value < 1, 1 - self.probs, 1.0))


class ContinuousBernoulli(Distribution, _shared.ContinuousBernoulli):
    """The distribution on [0, 1] with density proportional to ``p**x (1 - p)**(1 - x)``."""

    def __init__(self, probs: Any, lims: tuple[float, float] = (0.499, 0.501)) -> None:
        (probs,) = parameters(_vector(probs))
        _shared.ContinuousBernoulli.__init__(self, probs, None, lims)

    @property
    def lims(self) -> Any:
        """The bounds around 1/2 within which polynomials replace the formulas."""
        return _draws.drawn(self._lims, self.probs)


class Geometric(Distribution, _shared.Geometric):
    """The number of failures before the first success, each trial being one with probability ``probs``."""

    def __init__(self, probs: Any) -> None:
        if not isinstance(probs, int | float | Tensor):
            raise TypeError(f"Expected type of probs is Number.Real|Tensor, but got {type(probs)}")
        _shared.Geometric.__init__(self, *parameters(probs))

    def _fg_checked(self, value: Any) -> Any:
        if not isinstance(value, int | float | Tensor):
            raise TypeError(f"Expected type of k is number.Real|Tensor, but got {type(value)}")
        return super()._fg_checked(value)

    def rsample(self, shape: Any = ()) -> Any:
        """Numbers of failures. They are whole numbers, so that the gradient is zero."""
        u = uniform_like(self.probs, list(self._extend_shape(shape)))
        return ops.floor(ops.log(u) / ops.log1p(-self.probs))

    def pmf(self, k: Any) -> Any:
        """The probability of ``k`` failures."""
        return self.prob(k)

    def log_pmf(self, k: Any) -> Any:
        """The logarithm of the probability of ``k`` failures."""
        return self.log_prob(k)

    def cdf(self, k: Any) -> Any:
        """The probability of at most ``k`` failures."""
        return -ops.expm1((self._fg_checked(k) + 1) * self._fg_log_chances()[1])


class Binomial(Distribution, _shared.Binomial):
    """The number of successes in ``total_count`` trials, each with probability ``probs``."""

    def __init__(self, total_count: Any, probs: Any) -> None:
        (p,) = parameters(probs)
        n, p = broadcast_all(ops.astype(parameters(total_count)[0], p.dtype), p)
        _shared.Binomial.__init__(self, n, p)

    def entropy(self) -> Any:
        """The entropy in nats. The counts may differ."""
        top = int(ops.max(self.total_count).item()) if self.total_count.size else 0
        values = _draws.drawn(np.arange(top + 1.0).reshape([top + 1, *[1] * self.probs.ndim]), self.probs)
        logs = self.log_prob(ops.minimum(values, self.total_count))
        is_possible = (values <= self.total_count) & (logs > -math.inf)
        return -ops.sum(ops.exp(logs) * ops.where(is_possible, logs, 0.0), 0)


class Poisson(Distribution, _shared.Poisson):
    """The distribution of the number of events that happen at a rate."""

    def __init__(self, rate: Any) -> None:
        _shared.Poisson.__init__(self, *parameters(_vector(rate)))

    def entropy(self) -> Any:
        """The entropy in nats, summed over the counts up to 30 standard deviations above the largest rate."""
        top = float(ops.max(self.rate).item()) if self.rate.size else 0.0
        if not math.isfinite(top):
            raise ValueError(f"Poisson: the entropy needs finite rates, found {top}")
        n = int(top + 30 * max(math.sqrt(max(top, 0.0)), 1.0))
        values = _draws.drawn(np.arange(n).reshape([n, *[1] * self.rate.ndim]), self.rate)
        logs = self.log_prob(values)
        return -ops.sum(ops.where(logs == -math.inf, 0.0, ops.exp(logs) * logs), 0)


class Multinomial(Distribution, _shared.Multinomial):
    """The counts of the categories in ``total_count`` draws."""

    def __init__(self, total_count: int, probs: Any) -> None:
        if not isinstance(total_count, int) or total_count < 1:
            raise ValueError("input parameter total_count must be int type and greater than zero.")
        (probs,) = parameters(probs)
        _shared.Multinomial.__init__(self, total_count, probs, None, False)
        self.probs = self._fg_one.probs


class Categorical(Distribution):
    """Integers below n.

    Samples, the entropy and divergences are those of probabilities in proportion to ``exp(logits)``. As in Paddle,
    ``probs`` and ``log_prob`` take ``logits / sum(logits)`` for the probabilities.
    """

    def __init__(self, logits: Any, name: str | None = None) -> None:
        self.name = name or "Categorical"
        (self.logits,) = parameters(logits)
        self._softmax = _shared.Categorical(logits=self.logits, validate_args=False)
        super().__init__(self._softmax.batch_shape)

    def sample(self, shape: Any = ()) -> Any:
        """Integers."""
        return self._softmax.sample(self._extend_shape(shape)[: len(shape)])

    def entropy(self) -> Any:
        """The entropy in nats."""
        return self._softmax.entropy()

    def probs(self, value: Any) -> Any:
        """The shares of ``logits`` at integers; a vector of them is taken from each distribution of the batch."""
        shares = self.logits / ops.sum(self.logits, -1, keepdims=True)
        value = value if isinstance(value, _core.Tensor) else _core.make(value, "int64", False, PADDLE)
        count = int(shares.shape[-1])
        if shares.ndim == 1:
            return ops.reshape(ops.take_along_axis(shares, ops.reshape(value, [-1]), 0), value.shape)
        lead = np.broadcast_shapes(tuple(shares.shape[:-1]), tuple(value.shape[:-1]))
        places = ops.broadcast_to(value, [*lead, int(value.shape[-1])])
        return ops.take_along_axis(ops.broadcast_to(shares, [*lead, count]), places, -1)

    def prob(self, value: Any) -> Any:
        """The shares of ``logits`` at integers: see :meth:`probs`."""
        return self.probs(value)

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the shares of ``logits`` at integers."""
        return ops.log(self.probs(value))


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Any:
    return ops.expand_dims(kl_divergence(p._softmax, q._softmax), -1)


class Independent(Distribution, _shared.Independent):
    """A distribution with its last ``reinterpreted_batch_rank`` batch axes as axes of one value."""

    def __init__(self, base: Distribution, reinterpreted_batch_rank: int) -> None:
        if not isinstance(base, Distribution):
            raise TypeError(f"Expected type of 'base' is Distribution, but got {type(base)}")
        if not 0 < reinterpreted_batch_rank <= len(base.batch_shape):
            raise ValueError(
                f"Expected 0 < reinterpreted_batch_rank <= {len(base.batch_shape)}, but got {reinterpreted_batch_rank}"
            )
        _shared.Independent.__init__(self, base, reinterpreted_batch_rank)


class MultivariateNormal(Distribution, _shared.MultivariateNormal):
    """The normal distribution of vectors with mean ``loc``.

    One of the covariance, its inverse and its Cholesky factor is given.
    """

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None
    ) -> None:
        given = [covariance_matrix, precision_matrix, scale_tril]
        loc, *found = parameters(_vector(loc), *(m for m in given if m is not None))
        matrix = iter(found)
        args = [None if m is None else next(matrix) for m in given]
        _shared.MultivariateNormal.__init__(self, ops.reshape(loc, [-1]) if not loc.ndim else loc, *args)


class LKJCholesky(Distribution, _shared.LKJCholesky):
    """Cholesky factors of correlation matrices with density proportional to ``det ** (concentration - 1)``.

    Both methods draw from the same distribution; here it is always the onion method.
    """

    def __init__(self, dim: int = 2, concentration: Any = 1.0, sample_method: str = "onion") -> None:
        if sample_method not in ("onion", "cvine"):
            raise ValueError("`method` should be one of 'cvine' or 'onion'.")
        if not isinstance(dim, int):
            raise TypeError(f"Expected dim to be an integer. Found dim={dim}.")
        self.sample_method = sample_method
        _shared.LKJCholesky.__init__(self, dim, *parameters(concentration))
        _require_positive("concentration", self.concentration)


__dir__ = _public.names(globals())
