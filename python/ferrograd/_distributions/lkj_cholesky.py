"""The LKJ distribution, of Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.distribution import Distribution, broadcast_all
from ferrograd._distributions.wishart import _mvlgamma
from ferrograd._kit.ops import ops
from ferrograd._tensor.dtypes import finfo

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices with density proportional to ``det ** (concentration - 1)``.

    D. Lewandowski, D. Kurowicka, H. Joe (2009), by the onion method.
    """

    arg_constraints = {"concentration": constraints.positive}  # noqa: RUF012
    support = constraints.corr_cholesky
    _fg_held = {"concentration": 0}  # noqa: RUF012

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Cholesky factors."""
        n, eta, shape = self.dim, self.concentration.detach(), self._extended_shape(sample_shape)
        # The share of the row that lies before the diagonal. The first row has nothing there.
        row = _draws.drawn(np.maximum(np.arange(-1, n - 1), 0), eta)
        pair = ops.broadcast_tensors(row + 0.5, eta[..., None] + 0.5 * (n - 2) - 0.5 * row)
        shares = _draws.dirichlet(ops.broadcast_to(ops.stack(pair, -1), [*shape[:-1], 2]))[..., :1]
        drawn = ops.tril(_draws.normal(eta[..., None, None], shape), -1)
        length = ops.sqrt(ops.sum(drawn * drawn, -1, True))
        before = ops.sqrt(shares) * drawn / ops.where(length > 0, length, 1)
        rest = ops.maximum(1 - ops.sum(before * before, -1), finfo(eta.dtype).tiny)
        return before + ops.diag_embed(ops.sqrt(rest))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value, eta, n = self._fg_checked(value), self.concentration, self.dim
        diagonal = ops.diagonal(value, 0, -2, -1)[..., 1:]
        order = ops.astype(ops.arange(2, n + 1, 1), eta.dtype)
        powers = 2 * (eta - 1)[..., None] + n - order
        density = ops.sum(powers * ops.log(diagonal), -1)
        m = n - 1
        alpha = eta + 0.5 * m
        numerator = _mvlgamma(alpha - 0.5, m)
        return density - (0.5 * m * math.log(math.pi) + numerator - ops.lgamma(alpha) * m)
