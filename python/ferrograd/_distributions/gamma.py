"""The gamma distribution and those that are made of gamma variables."""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import Tensor
from ferrograd._core import torch as ops
from ferrograd._dialects.numbers import dialect_of
from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.distribution import Distribution, ExponentialFamily, broadcast_all
from ferrograd._distributions.transformed_distribution import TransformedDistribution
from ferrograd._distributions.transforms import PowerTransform
from ferrograd._tensor.dtypes import finfo

__all__ = ["Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT"]


class Gamma(ExponentialFamily):
    """The distribution with density ``rate**a x**(a - 1) exp(-rate x) / Gamma(a)``, where ``a`` is the concentration.

    >>> import ferrograd.torch as torch
    >>> a = torch.tensor(2.0, requires_grad=True)
    >>> torch.distributions.Gamma(a, 1.0).rsample().backward()
    >>> a.grad is not None
    True
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    has_rsample = True
    _held = {"concentration": 0, "rate": 0}  # noqa: RUF012
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.rate.shape, (), validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        """The value with the largest density."""
        return ops.clip(self.concentration - 1, 0, None) / self.rate

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.concentration / (self.rate * self.rate)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        shape = self._extended_shape(sample_shape)
        drawn = _draws.standard_gamma(ops.broadcast_to(self.concentration, shape))
        return drawn / ops.broadcast_to(self.rate, shape)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        if not isinstance(value, Tensor):
            value = _core.make(value, self.rate.dtype, False, dialect_of(self.rate))
        value, a = self._checked(value), self.concentration
        return ops.xlogy(a, self.rate) + ops.xlogy(a - 1, value) - self.rate * value - ops.lgamma(a)

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        return ops.gammainc(self.concentration, self.rate * self._checked(value))

    def entropy(self) -> Any:
        """The entropy in nats."""
        a = self.concentration
        return a - ops.log(self.rate) + ops.lgamma(a) + (1.0 - a) * ops.digamma(a)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return ops.lgamma(x + 1) + (x + 1) * ops.log(-1 / y)


class Chi2(Gamma):
    """The distribution of the sum of ``df`` squares of standard normal variables."""

    arg_constraints = {"df": constraints.positive}  # noqa: RUF012

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args)
        if self._validate_args:
            self._require("df", self.df)

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self.concentration * 2


class InverseGamma(TransformedDistribution):
    """The distribution of ``1 / x`` for a gamma variable ``x``."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}  # noqa: RUF012
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        super().__init__(Gamma(concentration, rate, validate_args), PowerTransform(-1.0), validate_args)

    @property
    def concentration(self) -> Any:
        """The concentration."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Any:
        """The rate."""
        return self.base_dist.rate

    @property
    def mean(self) -> Any:
        """The mean: infinity for concentrations up to 1."""
        a = self.concentration
        return ops.where(a > 1, self.rate / (a - 1), math.inf)

    @property
    def mode(self) -> Any:
        """The value with the largest density."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        """The variance: infinity for concentrations up to 2."""
        a = self.concentration
        return ops.where(a > 2, self.rate**2 / ((a - 1) ** 2 * (a - 2)), math.inf)

    def entropy(self) -> Any:
        """The entropy in nats."""
        a = self.concentration
        return a + ops.log(self.rate) + ops.lgamma(a) - (1 + a) * ops.digamma(a)


class Dirichlet(ExponentialFamily):
    """Points of a simplex with density proportional to the product of ``x ** (concentration - 1)``."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}  # noqa: RUF012
    support = constraints.simplex
    has_rsample = True
    _held = {"concentration": 1}  # noqa: RUF012

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the concentration."""
        shape = self._extended_shape(sample_shape)
        return _draws.dirichlet(ops.broadcast_to(self.concentration, shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value, a = self._checked(value), self.concentration
        total = ops.lgamma(ops.sum(a, -1)) - ops.sum(ops.lgamma(a), -1)
        return ops.sum(ops.xlogy(a - 1.0, value), -1) + total

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration / ops.sum(self.concentration, -1, keepdims=True)

    @property
    def mode(self) -> Any:
        """The value with the largest density; a corner where all concentrations are below 1."""
        less = ops.clip(self.concentration - 1, 0.0, None)
        found = less / ops.sum(less, -1, keepdims=True)
        n = int(self._event_shape[0])
        corner = ops.expand_dims(ops.argmax(self.concentration, -1), -1) == ops.arange(0, n, 1)
        is_low = ops.all(self.concentration < 1, -1, keepdims=True)
        return ops.where(is_low, ops.astype(corner, found.dtype), found)

    @property
    def variance(self) -> Any:
        """The variance of each number."""
        a = self.concentration
        total = ops.sum(a, -1, keepdims=True)
        return a * (total - a) / (total**2 * (total + 1))

    def entropy(self) -> Any:
        """The entropy in nats."""
        a = self.concentration
        total, k = ops.sum(a, -1), int(a.shape[-1])
        return (
            ops.sum(ops.lgamma(a), -1)
            - ops.lgamma(total)
            - (k - total) * ops.digamma(total)
            - ops.sum((a - 1.0) * ops.digamma(a), -1)
        )

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:
        return ops.sum(ops.lgamma(x), -1) - ops.lgamma(ops.sum(x, -1))


class Beta(ExponentialFamily):
    """The distribution on [0, 1] with density proportional to ``x**(a - 1) (1 - x)**(b - 1)``."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}  # noqa: RUF012
    support = constraints.unit_interval
    has_rsample = True
    _held = {"concentration1": 0, "concentration0": 0}  # noqa: RUF012

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration0.shape, (), validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Any:
        """The value with the largest density."""
        pair = ops.stack([self.concentration1, self.concentration0], -1)
        return Dirichlet(pair, False).mode[..., 0]

    @property
    def variance(self) -> Any:
        """The variance."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total * total * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the concentrations."""
        shape = self._extended_shape(sample_shape)
        pair = ops.stack([self.concentration1, self.concentration0], -1)
        return _draws.dirichlet(ops.broadcast_to(pair, [*shape, 2]))[..., 0]

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value, a, b = self._checked(value), self.concentration1, self.concentration0
        return ops.xlogy(a - 1, value) + ops.xlog1py(b - 1, -value) - _log_beta(a, b)

    def entropy(self) -> Any:
        """The entropy in nats."""
        a, b = self.concentration1, self.concentration0
        whole = (a + b - 2) * ops.digamma(a + b)
        return _log_beta(a, b) - (a - 1) * ops.digamma(a) - (b - 1) * ops.digamma(b) + whole

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return _log_beta(x, y)


def _log_beta(a: Any, b: Any) -> Any:
    return ops.lgamma(a) + ops.lgamma(b) - ops.lgamma(a + b)


class FisherSnedecor(Distribution):
    """The distribution of the ratio of two variances with ``df1`` and ``df2`` degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}  # noqa: RUF012
    support = constraints.positive
    has_rsample = True
    _held = {"df1": 0, "df2": 0}  # noqa: RUF012

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, (), validate_args)

    @property
    def mean(self) -> Any:
        """The mean: nan for ``df2`` up to 2."""
        return ops.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Any:
        """The value with the largest density: nan for ``df1`` up to 2."""
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return ops.where(self.df1 > 2, found, math.nan)

    @property
    def variance(self) -> Any:
        """The variance: nan for ``df2`` up to 4."""
        m, n = self.df1, self.df2
        return ops.where(n > 4, 2 * n**2 * (m + n - 2) / (m * (n - 2) ** 2 * (n - 4)), math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        shape = self._extended_shape(sample_shape)
        a, b = (_draws.standard_gamma(ops.broadcast_to(df * 0.5, shape)) / (0.5 * df) for df in (self.df1, self.df2))
        return a / ops.clip(b, float(finfo(b.dtype).tiny), None)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value, ratio = self._checked(value), self.df1 / self.df2
        half, other = self.df1 * 0.5, self.df2 * 0.5
        first = -_log_beta(half, other)
        second = half * ops.log(ratio) + (half - 1) * ops.log(value)
        return first + second - (half + other) * ops.log1p(ratio * value)


class StudentT(Distribution):
    """Student's t distribution with ``df`` degrees of freedom, moved and scaled."""

    arg_constraints = {  # noqa: RUF012
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _held = {"df": 0, "loc": 0, "scale": 0}  # noqa: RUF012

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, (), validate_args)

    @property
    def mean(self) -> Any:
        """The mean: nan for ``df`` up to 1."""
        return ops.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Any:
        """The location."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The variance: infinity for ``df`` up to 2, nan up to 1."""
        found = ops.where(self.df > 2, self.scale**2 * self.df / (self.df - 2), math.inf)
        return ops.where(self.df > 1, found, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        shape = self._extended_shape(sample_shape)
        z = 2 * _draws.standard_gamma(ops.broadcast_to(self.df * 0.5, shape))
        with no_grad():
            x = _draws.normal(self.df, shape)
        return self.loc + self.scale * x * ops.rsqrt(z / self.df)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        y, df = (self._checked(value) - self.loc) / self.scale, self.df
        z = ops.log(self.scale) + 0.5 * ops.log(df) + 0.5 * math.log(math.pi)
        z = z + ops.lgamma(0.5 * df) - ops.lgamma(0.5 * (df + 1.0))
        return -0.5 * (df + 1.0) * ops.log1p(y * y / df) - z

    def entropy(self) -> Any:
        """The entropy in nats."""
        df = self.df
        log_beta = ops.lgamma(0.5 * df) + math.lgamma(0.5) - ops.lgamma(0.5 * (1 + df))
        slopes = 0.5 * (df + 1) * (ops.digamma(0.5 * (df + 1)) - ops.digamma(0.5 * df))
        return ops.log(self.scale) + slopes + 0.5 * ops.log(df) + log_beta
