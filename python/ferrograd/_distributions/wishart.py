"""The Wishart distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.distribution import ExponentialFamily
from ferrograd._distributions.multivariate_normal import factor_of_inverse
from ferrograd._kit.dialect import TORCH, dialect_of
from ferrograd._kit.ops import ops
from ferrograd._kit.warning import warn
from ferrograd._tensor.dtypes import finfo

__all__ = ["Wishart"]


def _mvlgamma(a: Any, p: int) -> Any:
    """The logarithm of the multivariate gamma function."""
    total: Any = p * (p - 1) / 4 * math.log(math.pi)
    for i in range(p):
        total = total + ops.lgamma(a - i / 2)
    return total


def _mvdigamma(a: Any, p: int) -> Any:
    return sum((ops.digamma(a - i / 2) for i in range(p)), 0.0)


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
    _fg_held = {"df": 0, "scale_tril": 2}  # noqa: RUF012
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
            df = df if df.dtype.kind == "f" else ops.astype(df, matrix.dtype)
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
            warn("Low df values detected. Singular samples are highly likely for ndim - 1 < df < ndim.")
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
        if dialect_of(self.df) == TORCH:
            # PyTorch draws all values a second time.
            with no_grad():
                _draws.standard_gamma(halves)
                self._fg_below(shape)
        diagonal = ops.maximum(ops.sqrt(2 * _draws.standard_gamma(halves)), finfo(self.df.dtype).eps)
        product = ops.matmul(self.scale_tril, self._fg_below(shape) + ops.diag_embed(diagonal))
        return ops.matmul(product, product.mT)

    def _fg_below(self, shape: Any) -> Any:
        """Matrices with normal numbers below their diagonals, and zeros."""
        n = shape[-1]
        rows, columns = np.tril_indices(n, -1)
        with no_grad():
            drawn = _draws.normal(self.scale_tril[..., 0, 0][..., None], [*shape[:-2], len(rows)])
            flat = _draws.drawn(np.zeros((*shape[:-2], n * n)), drawn)
            places = _core.make(rows * n + columns, None, False, dialect_of(drawn))
            return ops.reshape(ops.index_add(flat, -1, places, drawn), shape)

    def _fg_log_det(self) -> Any:
        return ops.sum(ops.log(ops.diagonal(self.scale_tril, 0, -2, -1)), -1)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value, nu, p = self._fg_checked(value), self.df, self._event_shape[-1]
        tril = ops.broadcast_to(
            self.scale_tril, [*np.broadcast_shapes(tuple(value.shape), tuple(self.scale_tril.shape))]
        )
        wide = ops.broadcast_to(value, list(tril.shape))
        z = ops.linalg.solve_triangular(tril, wide, upper=False)
        trace = ops.sum(ops.diagonal(ops.linalg.solve_triangular(tril.mT, z, upper=True), 0, -2, -1), -1)
        log_det = ops.linalg.slogdet(value)[1]
        return (
            -nu * (p * math.log(2) / 2 + self._fg_log_det())
            - _mvlgamma(nu / 2, p)
            + (nu - p - 1) / 2 * log_det
            - trace / 2
        )

    def entropy(self) -> Any:
        """The entropy in nats."""
        nu, p = self.df, self._event_shape[-1]
        return (
            (p + 1) * (p * math.log(2) / 2 + self._fg_log_det())
            + _mvlgamma(nu / 2, p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p)
            + nu * p / 2
        )
