"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

from ferrograd._autograd.modes import no_derivative
from ferrograd._distributions import constraints
from ferrograd._distributions.categorical import Categorical
from ferrograd._distributions.distribution import Distribution
from ferrograd._kit.ops import ops

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture whose parts are the last batch axis of ``component_distribution``, with weights of a categorical one.

    >>> import ferrograd.torch as torch
    >>> d = torch.distributions
    >>> mixture = MixtureSameFamily(d.Categorical(torch.ones(2)), d.Normal(torch.tensor([-1.0, 3.0]), 1.0))
    >>> mixture.mean.item()
    1.0
    """

    arg_constraints = {}  # noqa: RUF012
    _fg_held = {}  # noqa: RUF012

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        weights, parts = tuple(mixture_distribution.batch_shape), tuple(component_distribution.batch_shape)
        for a, b in zip(reversed(weights), reversed(parts[:-1]), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({weights}) is not compatible with "
                    f"`component_distribution.batch_shape`({parts[:-1]})"
                )
        if not parts or parts[-1] != mixture_distribution._fg_count:
            raise ValueError(
                f"`mixture_distribution component` ({mixture_distribution._fg_count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({parts[-1:]})"
            )
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(parts[:-1], component_distribution.event_shape, validate_args)

    @property
    def mixture_distribution(self) -> Any:
        """The weights of the parts."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The parts."""
        return self._component_distribution

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with a larger batch shape."""
        parts = self._component_distribution.expand([*batch_shape, self._mixture_distribution._fg_count])
        new = self._get_checked_instance(self._fg_library_class(), _instance)
        MixtureSameFamily.__init__(new, self._mixture_distribution.expand(batch_shape), parts, False)
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        """The values of the parts."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _fg_weights(self) -> Any:
        probs = self._mixture_distribution.probs
        return ops.reshape(probs, [*probs.shape, *[1] * self._event_ndims])

    def _fg_average(self, values: Any) -> Any:
        return ops.sum(self._fg_weights() * values, -1 - self._event_ndims)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self._fg_average(self._component_distribution.mean)

    @property
    def variance(self) -> Any:
        """The variance."""
        centered = self._component_distribution.mean - ops.expand_dims(self.mean, -1 - self._event_ndims)
        return self._fg_average(self._component_distribution.variance) + self._fg_average(centered**2)

    def _pad(self, x: Any) -> Any:
        return ops.expand_dims(x, -1 - self._event_ndims)

    def cdf(self, x: Any) -> Any:
        """The probability of values that are at most ``x``."""
        x = self._pad(self._fg_checked(x))
        return ops.sum(self._component_distribution.cdf(x) * self._mixture_distribution.probs, -1)

    def _fg_survival(self, value: Any) -> Any:
        x = self._pad(self._fg_checked(value))
        return ops.sum(self._component_distribution._fg_survival(x) * self._mixture_distribution.probs, -1)

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the density."""
        logs = self._component_distribution.log_prob(self._pad(self._fg_checked(x)))
        return ops.logsumexp(logs + ops.log_softmax(self._mixture_distribution.logits, -1), -1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values."""
        with no_derivative():
            axis = len(sample_shape) + len(self._batch_shape)
            chosen = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            index = ops.reshape(chosen, [*chosen.shape, *[1] * (self._event_ndims + 1)])
            wide = ops.broadcast_to(index, [*chosen.shape, 1, *self._event_shape])
            return ops.squeeze(ops.take_along_axis(values, wide, axis), axis)

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self._mixture_distribution}, {self._component_distribution})"
