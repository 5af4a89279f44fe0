"""What the distributions share that a location and a scale say."""

from __future__ import annotations

from typing import Any

from ferrograd._distributions import constraints
from ferrograd._distributions.distribution import Distribution, broadcast_all


class _LocationScale(Distribution):
    """A distribution of all real numbers, moved by ``loc`` and stretched by ``scale``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.real
    has_rsample = True
    _fg_held = {"loc": 0, "scale": 0}  # noqa: RUF012

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)

    def _fg_standardised(self, value: Any) -> Any:
        """The distance of a value from ``loc`` in units of ``scale``."""
        return (self._fg_checked(value) - self.loc) / self.scale
