"""The F distribution of Fisher and Snedecor."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._distributions import _draws, _stable, constraints
from ferrograd._distributions.distribution import Distribution, broadcast_all
from ferrograd._kit.ops import ops
from ferrograd._tensor.dtypes import finfo

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The distribution of the ratio of two variances with ``df1`` and ``df2`` degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}  # noqa: RUF012
    support = constraints.positive
    has_rsample = True
    _fg_held = {"df1": 0, "df2": 0}  # noqa: RUF012

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, (), validate_args)

    @property
    def mean(self) -> Any:
        """The mean: nan for ``df2`` up to 2."""
        return ops.where(self.df2 > 2, 1 + 2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Any:
        """The value with the largest density: nan for ``df1`` up to 2."""
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return ops.where(self.df1 > 2, found, math.nan)

    @property
    def variance(self) -> Any:
        """The variance: nan for ``df2`` up to 4."""
        m, n = self.df1, self.df2
        return ops.where(n > 4, 2 * (1 + 2 / (n - 2)) ** 2 * (1 + (m + 2) / (n - 4)) / m, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        shape = self._extended_shape(sample_shape)
        a, b = (_draws.standard_gamma(ops.broadcast_to(df * 0.5, shape)) / (0.5 * df) for df in (self.df1, self.df2))
        return a / ops.clip(b, float(finfo(b.dtype).tiny), None)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        # The share of the first sum of squares in both is a beta variable.
        ratio = self.df1 / self.df2
        odds = ratio * self._fg_checked(value)
        rest = ops.log1p(odds)
        chances = odds / (1 + odds), 1 / (1 + odds)
        share = _stable.log_beta_density(self.df1 * 0.5, self.df2 * 0.5, chances, (ops.log(odds) - rest, -rest))
        return share + ops.log(ratio) - 2 * rest
