"""Distributions of matrices, and of vectors with a covariance of low rank."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import torch as ops
from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.distribution import Distribution, ExponentialFamily, broadcast_all
from ferrograd._distributions.multivariate_normal import factor_of_inverse
from ferrograd._tensor.dtypes import finfo

__all__ = ["LKJCholesky", "LowRankMultivariateNormal", "Wishart"]


def _mvlgamma(a: Any, p: int) -> Any:
    """The logarithm of the multivariate gamma function."""
    total: Any = p * (p - 1) / 4 * math.log(math.pi)
    for i in range(p):
        total = total + ops.lgamma(a - i / 2)
    return total


def _mvdigamma(a: Any, p: int) -> Any:
    return sum((ops.digamma(a - i / 2) for i in range(p)), 0.0)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution with covariance ``W W' + diag(D)``, where ``W`` has few columns."""

    arg_constraints = {  # noqa: RUF012
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _held = {"loc": 1, "cov_factor": 2, "cov_diag": 1}  # noqa: RUF012

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

    def _half_log_det(self) -> Any:
        small = self._capacitance_tril()
        return ops.sum(ops.log(ops.diagonal(small, 0, -2, -1)), -1) + 0.5 * ops.sum(ops.log(self.cov_diag), -1)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        d = self._checked(value) - self.loc
        scaled = d / self.cov_diag
        inner = ops.matmul(self.cov_factor.mT, scaled[..., None])
        tril = self._capacitance_tril()
        tril = ops.broadcast_to(tril, [*inner.shape[:-2], *tril.shape[-2:]])
        z = ops.linalg.solve_triangular(tril, inner, upper=False)[..., 0]
        distance = ops.sum(d * scaled, -1) - ops.sum(z * z, -1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Any:
        """The entropy in nats."""
        return 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices with density proportional to ``det ** (concentration - 1)``.

    D. Lewandowski, D. Kurowicka, H. Joe (2009), by the onion method.
    """

    arg_constraints = {"concentration": constraints.positive}  # noqa: RUF012
    support = constraints.corr_cholesky
    _held = {"concentration": 0}  # noqa: RUF012

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Cholesky factors."""
        n, tiny = self.dim, finfo(self.concentration.dtype).tiny

        def draw(source: Any, eta: Any) -> Any:
            found = np.zeros((*eta.shape, n, n))
            found[..., 0, 0] = 1
            for row in range(1, n):
                share = source.beta(row / 2, eta + (n - 1 - row) / 2)
                direction = source.standard_normal((*eta.shape, row))
                length = np.sqrt((direction * direction).sum(-1, keepdims=True))
                found[..., row, :row] = np.sqrt(share)[..., None] * direction / length
                found[..., row, row] = np.sqrt(np.maximum(1 - share, tiny))
            return found

        lead = self._extended_shape(sample_shape)[:-2]
        return _draws.by_numpy(draw, lead, self.concentration, like=self.concentration)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value, eta, n = self._checked(value), self.concentration, self.dim
        diagonal = ops.diagonal(value, 0, -2, -1)[..., 1:]
        order = ops.astype(ops.arange(2, n + 1, 1), eta.dtype)
        powers = 2 * (eta - 1)[..., None] + n - order
        density = ops.sum(powers * ops.log(diagonal), -1)
        m = n - 1
        alpha = eta + 0.5 * m
        numerator = _mvlgamma(alpha - 0.5, m)
        return density - (0.5 * m * math.log(math.pi) + numerator - ops.lgamma(alpha) * m)


class Wishart(ExponentialFamily):
    """The distribution of sums of ``df`` outer products of normal vectors.

    One of the covariance, its inverse and its Cholesky factor is given.
    """

    arg_constraints = {  # noqa: RUF012
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    support = constraints.positive_definite
    has_rsample = True
    _held = {"df": 0, "scale_tril": 2}  # noqa: RUF012
    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        found = {name: m for name, m in given.items() if m is not None}
        if len(found) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = found.items()
        if matrix.ndim < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if not isinstance(df, int | float):
            batch = np.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(df.shape))
        else:
            batch = tuple(matrix.shape[:-2])
            df = ops.full([], float(df), matrix.dtype)
        n = int(matrix.shape[-1])
        check = self._validate_args if validate_args is None else validate_args
        if check and not _core.all_hold(self.arg_constraints[name].check(matrix)):
            raise ValueError(
                f"Expected parameter {name} of distribution Wishart to satisfy the constraint "
                f"{self.arg_constraints[name]!r}, but found invalid values:\n{matrix}"
            )
        if not _core.all_hold(df > n - 1):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        if not _core.all_hold(df >= n):
            warnings.warn(
                "Low df values detected. Singular samples are highly likely for ndim - 1 < df < ndim.", stacklevel=2
            )
        if name == "covariance_matrix":
            matrix = ops.linalg.cholesky(matrix)
        elif name == "precision_matrix":
            matrix = factor_of_inverse(matrix)
        self.df = ops.broadcast_to(df, list(batch))
        self.scale_tril = ops.broadcast_to(matrix, [*batch, n, n])
        super().__init__(batch, (n, n), validate_args)

    @property
    def covariance_matrix(self) -> Any:
        """The covariance of the vectors."""
        return ops.matmul(self.scale_tril, self.scale_tril.mT)

    @property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return ops.linalg.inv(self.covariance_matrix)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Any:
        """The matrix with the largest density: nan for small ``df``."""
        factor = self.df - self._event_shape[-1] - 1
        return ops.where(factor > 0, factor, math.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Any:
        """The variance of each element."""
        v = self.covariance_matrix
        d = ops.diagonal(v, 0, -2, -1)
        return self.df[..., None, None] * (v * v + d[..., :, None] * d[..., None, :])

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters, by Bartlett's decomposition."""
        shape = self._extended_shape(sample_shape)
        n = shape[-1]
        steps = ops.astype(ops.arange(0, n, 1), self.df.dtype)
        halves = ops.broadcast_to((self.df[..., None] - steps) / 2, shape[:-1])
        diagonal = ops.sqrt(2 * _draws.standard_gamma(halves))
        with no_grad():
            below = ops.tril(_draws.normal(self.scale_tril, shape), -1)
        product = ops.matmul(self.scale_tril, below + ops.diag_embed(diagonal))
        return ops.matmul(product, product.mT)

    def _log_det(self) -> Any:
        return ops.sum(ops.log(ops.diagonal(self.scale_tril, 0, -2, -1)), -1)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value, nu, p = self._checked(value), self.df, self._event_shape[-1]
        tril = ops.broadcast_to(
            self.scale_tril, [*np.broadcast_shapes(tuple(value.shape), tuple(self.scale_tril.shape))]
        )
        wide = ops.broadcast_to(value, list(tril.shape))
        z = ops.linalg.solve_triangular(tril, wide, upper=False)
        trace = ops.sum(ops.diagonal(ops.linalg.solve_triangular(tril.mT, z, upper=True), 0, -2, -1), -1)
        log_det = ops.linalg.slogdet(value)[1]
        return (
            -nu * (p * math.log(2) / 2 + self._log_det())
            - _mvlgamma(nu / 2, p)
            + (nu - p - 1) / 2 * log_det
            - trace / 2
        )

    def entropy(self) -> Any:
        """The entropy in nats."""
        nu, p = self.df, self._event_shape[-1]
        return (
            (p + 1) * (p * math.log(2) / 2 + self._log_det())
            + _mvlgamma(nu / 2, p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p)
            + nu * p / 2
        )
