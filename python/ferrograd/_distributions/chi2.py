"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from ferrograd._distributions import constraints
from ferrograd._distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The distribution of the sum of ``df`` squares of standard normal variables."""

    arg_constraints = {"df": constraints.positive}  # noqa: RUF012

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args)
        if self._validate_args:
            self._fg_require("df", self.df)

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self.concentration * 2
