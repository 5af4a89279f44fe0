"""The distribution of one of several vectors with a single one, and the one whose samples pass gradients on."""

from __future__ import annotations

from typing import Any

from ferrograd._autograd.modes import no_derivative
from ferrograd._distributions import constraints
from ferrograd._distributions.categorical import Categorical
from ferrograd._distributions.distribution import Distribution
from ferrograd._distributions.probabilities import _others
from ferrograd._kit.ops import ops

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """Vectors of n numbers with one 1, the others 0; its place is that of a :class:`Categorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # noqa: RUF012
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._fg_places = Categorical(probs, logits, validate_args)
        super().__init__(self._fg_places.batch_shape, [self._fg_places._fg_count], validate_args)

    def __getattr__(self, name: str) -> Any:
        if name in ("logits", "probs"):
            return getattr(self._fg_places, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with a larger batch shape; its parameters are views."""
        held, new = (
            vars(self._fg_places.expand(batch_shape)),
            self._get_checked_instance(self._fg_library_class(), _instance),
        )
        OneHotCategorical.__init__(new, held.get("probs"), held.get("logits"), False)
        return new

    support = constraints.one_hot

    @property
    def _categorical(self) -> Categorical:
        """The distribution of the place of the 1, by the name that PyTorch's code has for it."""
        return self._fg_places

    @property
    def mean(self) -> Any:
        """The probabilities."""
        return self.probs

    @property
    def mode(self) -> Any:
        """The most likely vector."""
        return self._fg_vectors(self._fg_places.mode)

    @property
    def variance(self) -> Any:
        """The variance of each number."""
        return self.probs * _others(self.probs)

    def _fg_vectors(self, places: Any) -> Any:
        return ops.astype(ops.expand_dims(places, -1) == ops.arange(0, self._fg_places._fg_count, 1), self.probs.dtype)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Vectors."""
        with no_derivative():
            return self._fg_vectors(self._fg_places.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        return self._fg_places.log_prob(ops.argmax(self._fg_checked(value), -1))

    def entropy(self) -> Any:
        """The entropy in nats."""
        return self._fg_places.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        """The vectors, along a new first axis."""
        return self._fg_vectors(self._fg_places.enumerate_support(expand))


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A :class:`OneHotCategorical` whose samples have the gradient of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Vectors through which the gradient flows to the probabilities."""
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())
