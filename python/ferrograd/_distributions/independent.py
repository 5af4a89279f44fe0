"""Some axes of a batch as axes of the event."""

from __future__ import annotations

from typing import Any

from ferrograd._distributions import constraints
from ferrograd._distributions.distribution import Distribution, sum_last

__all__ = ["Independent"]


class Independent(Distribution):
    """A distribution with its last ``reinterpreted_batch_ndims`` batch axes as axes of one value.

    >>> import ferrograd.torch as torch
    >>> base = torch.distributions.Normal(torch.zeros(2, 3), torch.ones(2, 3))
    >>> Independent(base, 1).log_prob(torch.zeros(2, 3)).shape
    torch.Size([2])
    """

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch = tuple(base_distribution.batch_shape)
        n = reinterpreted_batch_ndims
        if n > len(batch):
            raise ValueError(
                f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual {n} vs {len(batch)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = n
        event = (*batch[len(batch) - n :], *base_distribution.event_shape)
        super().__init__(batch[: len(batch) - n], event, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with a larger batch shape."""
        n = self.reinterpreted_batch_ndims
        new = self._get_checked_instance(self._fg_library_class(), _instance)
        Independent.__init__(new, self.base_dist.expand([*batch_shape, *self._event_shape[:n]]), n, False)
        return new

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether there is ``rsample``."""
        return bool(self.base_dist.has_rsample)

    @constraints.dependent_property
    def support(self) -> Any:
        """The set of values."""
        n = self.reinterpreted_batch_ndims
        return constraints.independent(self.base_dist.support, n) if n else self.base_dist.support

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        """The mode."""
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values without a gradient."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of a value with all its axes."""
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
