"""The normal distribution whose covariance is a matrix of low rank and a diagonal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd._autograd.modes import no_grad
from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.distribution import Distribution
from ferrograd._kit.ops import ops

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """The normal distribution with covariance ``W W' + diag(D)``, where ``W`` has few columns."""

    arg_constraints = {  # noqa: RUF012
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _fg_held = {"loc": 1, "cov_factor": 2, "cov_diag": 1}  # noqa: RUF012

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        if loc.ndim < 1 or cov_factor.ndim < 2 or cov_diag.ndim < 1:
            raise ValueError("loc and cov_diag must be at least one-dimensional, cov_factor at least two-dimensional")
        n, rank = int(loc.shape[-1]), int(cov_factor.shape[-1])
        if cov_factor.shape[-2] != n or cov_diag.shape[-1] != n:
            raise ValueError(f"cov_factor and cov_diag must be batches of matrices and vectors with {n} rows")
        lead = (loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        batch = np.broadcast_shapes(*(tuple(s) for s in lead))
        self.loc = ops.broadcast_to(loc, [*batch, n])
        self.cov_factor = ops.broadcast_to(cov_factor, [*batch, n, rank])
        self.cov_diag = ops.broadcast_to(cov_diag, [*batch, n])
        super().__init__(batch, (n,), validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.loc

    mode = mean

    @property
    def variance(self) -> Any:
        """The variances of the elements."""
        return ops.sum(self.cov_factor * self.cov_factor, -1) + self.cov_diag

    @property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        w = self.cov_factor
        return ops.matmul(w, w.mT) + ops.diag_embed(self.cov_diag)

    @property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        return ops.linalg.cholesky(self.covariance_matrix)

    @property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return ops.linalg.inv(self.covariance_matrix)

    def _capacitance_tril(self) -> Any:
        """The Cholesky factor of the small matrix ``1 + W' D**-1 W``."""
        w = self.cov_factor
        small = ops.matmul(w.mT, w / self.cov_diag[..., None])
        return ops.linalg.cholesky(small + ops.eye(int(w.shape[-1]), dtype=w.dtype))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        shape = self._extended_shape(sample_shape)
        w = self.cov_factor
        with no_grad():
            a = _draws.normal(self.loc[..., :1], [*shape[:-1], int(w.shape[-1])])
            b = _draws.normal(self.loc, shape)
        return self.loc + ops.matmul(w, a[..., None])[..., 0] + ops.sqrt(self.cov_diag) * b

    def _fg_half_log_det(self) -> Any:
        small = self._capacitance_tril()
        return ops.sum(ops.log(ops.diagonal(small, 0, -2, -1)), -1) + 0.5 * ops.sum(ops.log(self.cov_diag), -1)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        d = self._fg_checked(value) - self.loc
        scaled = d / self.cov_diag
        inner = ops.matmul(self.cov_factor.mT, scaled[..., None])
        tril = self._capacitance_tril()
        tril = ops.broadcast_to(tril, [*inner.shape[:-2], *tril.shape[-2:]])
        z = ops.linalg.solve_triangular(tril, inner, upper=False)
        # The part of the distance along the factor is taken out of it before it is squared.
        along = ops.linalg.solve_triangular(tril.mT, z, upper=True)
        across = d - ops.matmul(self.cov_factor, along)[..., 0]
        distance = ops.sum(across * across / self.cov_diag, -1) + ops.sum(along * along, [-2, -1])
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._fg_half_log_det()

    def entropy(self) -> Any:
        """The entropy in nats."""
        return 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._fg_half_log_det()
