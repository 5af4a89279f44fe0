"""Functions of random variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd._autograd.modes import no_grad
from ferrograd._core import torch as ops
from ferrograd.torch.distributions import constraints
from ferrograd.torch.distributions.distribution import Distribution, sum_last
from ferrograd.torch.distributions.scalar import Normal
from ferrograd.torch.distributions.transforms import ComposeTransform, ExpTransform, Transform

__all__ = ["LogNormal", "TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``t(x)``, where ``x`` has a base distribution; of several functions the first comes first.

    >>> import ferrograd.torch as torch
    >>> d = torch.distributions
    >>> y = TransformedDistribution(d.Uniform(0.0, 1.0), [d.AffineTransform(2.0, 4.0)])
    >>> y.cdf(torch.tensor(3.0)).item()
    0.25
    """

    arg_constraints = {}  # noqa: RUF012
    _held = {}  # noqa: RUF012

    def __init__(
        self,
        base_distribution: Any,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        given = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(t, Transform) for t in given):
            raise ValueError(f"transforms must be a Transform or a list of Transforms, but was {transforms}")
        self.base_dist, self.transforms = base_distribution, given
        self._whole = ComposeTransform(given)
        super().__init__(base_distribution.batch_shape, base_distribution.event_shape, validate_args)

    def expand(self, batch_shape: Any, _instance: None = None) -> TransformedDistribution:
        """The distribution with a larger batch shape."""
        return TransformedDistribution(self.base_dist.expand(batch_shape), self.transforms, False)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether there is ``rsample``."""
        return bool(self.base_dist.has_rsample)

    @property
    def support(self) -> Any:
        """The set of values."""
        if not self.transforms:
            return self.base_dist.support
        n = len(self._event_shape)
        return constraints.independent(self._whole.codomain, n) if n else self._whole.codomain

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values without a gradient."""
        with no_grad():
            return self._whole(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        return self._whole(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        x = self._whole._inverse(self._checked(value))
        slope = sum_last(self._whole.log_abs_det_jacobian(x, value), len(self._event_shape))
        return self.base_dist.log_prob(x) - slope

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        below = self.base_dist.cdf(self._whole._inverse(self._checked(value)))
        sign = self._whole.sign
        # A decreasing function turns the tails round.
        return sign * (below - 0.5) + 0.5

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        sign = self._whole.sign
        return self._whole(self.base_dist.icdf(sign * (value - 0.5) + 0.5))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.transforms})"


class LogNormal(TransformedDistribution):
    """The distribution of ``exp(x)`` for a normal ``x`` with mean ``loc`` and standard deviation ``scale``."""

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    def expand(self, batch_shape: Any, _instance: None = None) -> LogNormal:
        """The distribution with a larger batch shape."""
        base = self.base_dist.expand(batch_shape)
        return LogNormal(base.loc, base.scale, False)

    @property
    def loc(self) -> Any:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Any:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        """The mean."""
        return ops.exp(self.loc + self.base_dist.variance / 2)

    @property
    def mode(self) -> Any:
        """The mode."""
        return ops.exp(self.loc - self.base_dist.variance)

    @property
    def variance(self) -> Any:
        """The variance."""
        v = self.base_dist.variance
        return ops.expm1(v) * ops.exp(2 * self.loc + v)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return self.base_dist.entropy() + self.loc
