"""Functions of random variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ferrograd._autograd.modes import no_derivative
from ferrograd._distributions import constraints
from ferrograd._distributions.distribution import Distribution, sum_last
from ferrograd._distributions.independent import Independent
from ferrograd._distributions.transforms import ComposeTransform, Transform
from ferrograd._kit.ops import ops

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``t(x)``, where ``x`` has a base distribution; of several functions the first comes first.

    >>> import ferrograd.torch as torch
    >>> d = torch.distributions
    >>> y = TransformedDistribution(d.Uniform(0.0, 1.0), [d.AffineTransform(2.0, 4.0)])
    >>> y.cdf(torch.tensor(3.0)).item()
    0.25
    """

    def __init__(
        self,
        base_distribution: Any,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        given = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(given, list | tuple) or not all(isinstance(t, Transform) for t in given):
            raise ValueError(f"transforms must be a Transform or a list of Transforms, but was {transforms}")
        self.transforms = list(given)
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        whole = ComposeTransform(self.transforms)
        wanted = whole.domain.event_dim
        if len(shape) < wanted:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {wanted}, but got {list(shape)}."
            )
        out = tuple(whole.forward_shape(shape))
        wide = tuple(whole.inverse_shape(out))
        own = len(base_distribution.event_shape)
        if wide != shape:
            base_distribution = base_distribution.expand(wide[: len(wide) - own])
        more = wanted - own
        self.base_dist: Any = Independent(base_distribution, more) if more > 0 else base_distribution
        axes = max(
            whole.codomain.event_dim,
            len(self.base_dist.event_shape) + whole.codomain.event_dim - wanted,
        )
        cut = len(out) - axes
        super().__init__(out[:cut], out[cut:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with a larger batch shape."""
        shape = (*batch_shape, *self._event_shape)
        for transform in reversed(self.transforms):
            shape = tuple(transform.inverse_shape(shape))
        base = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new = self._get_checked_instance(self._fg_library_class(), _instance)
        TransformedDistribution.__init__(new, base, self.transforms, False)
        return new

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether there is ``rsample``."""
        return bool(self.base_dist.has_rsample)

    @constraints.dependent_property
    def support(self) -> Any:
        """The set of values."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self._event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values without a gradient."""
        with no_derivative():
            return self._fg_value(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        return self._fg_value(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        y = self._fg_checked(value)
        axes, found = len(self._event_shape), 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            axes += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            found = found - sum_last(slope, axes - transform.domain.event_dim)
            y = x
        return found + sum_last(self.base_dist.log_prob(y), axes - len(self.base_dist.event_shape))

    @property
    def _fg_sign(self) -> Any:
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return sign

    def _fg_of_sign(self, rising: Callable[[Any], Any], falling: Callable[[Any], Any], x: Any) -> Any:
        """One function where the transforms increase, and the other one where they decrease."""
        sign = self._fg_sign
        if isinstance(sign, int | float):
            return rising(x) if sign > 0 else falling(x)
        return ops.where(sign > 0, rising(x), falling(x))

    def _fg_base_value(self, value: Any) -> Any:
        y = self._fg_checked(value)
        for transform in reversed(self.transforms):
            y = transform.inv(y)
        return y

    def _fg_value(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def cdf(self, value: Any) -> Any:
        """The probability of values that are at most ``value``."""
        # A decreasing function turns the tails round.
        return self._fg_of_sign(self.base_dist.cdf, self.base_dist._fg_survival, self._fg_base_value(value))

    def _fg_survival(self, value: Any) -> Any:
        return self._fg_of_sign(self.base_dist._fg_survival, self.base_dist.cdf, self._fg_base_value(value))

    def icdf(self, value: Any) -> Any:
        """The value whose ``cdf`` is ``value``."""
        return self._fg_value(self._fg_of_sign(self.base_dist.icdf, self.base_dist._fg_upper_quantile, value))

    def _fg_upper_quantile(self, value: Any) -> Any:
        return self._fg_value(self._fg_of_sign(self.base_dist._fg_upper_quantile, self.base_dist.icdf, value))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.transforms})"
