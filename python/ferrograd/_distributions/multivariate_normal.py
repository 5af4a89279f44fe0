"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._distributions import _draws, constraints
from ferrograd._distributions.distribution import Distribution
from ferrograd._kit.ops import ops

__all__ = ["MultivariateNormal"]


def mahalanobis(tril: Any, x: Any) -> Any:
    """``|L⁻¹ x|²`` for batches of triangular matrices and vectors."""
    shape = np.broadcast_shapes(tuple(tril.shape[:-1]), tuple(x.shape))
    tril, x = ops.broadcast_to(tril, [*shape, shape[-1]]), ops.broadcast_to(x, list(shape))
    z = ops.linalg.solve_triangular(tril, x[..., None], upper=False)[..., 0]
    return ops.sum(z * z, -1)


def half_log_det(tril: Any) -> Any:
    """The logarithm of the determinant of triangular matrices."""
    return ops.sum(ops.log(ops.diagonal(tril, 0, -2, -1)), -1)


def factor_of_inverse(matrix: Any) -> Any:
    """The Cholesky factor of the inverse of a matrix, which is inverted as a factor: that keeps twice the digits."""
    reversed_factor = ops.linalg.cholesky(ops.flip(matrix, [-2, -1]))
    upper = ops.flip(reversed_factor, [-2, -1]).mT
    return ops.linalg.solve_triangular(upper, ops.eye(int(matrix.shape[-1]), dtype=matrix.dtype), upper=False)


class MultivariateNormal(Distribution):
    """The normal distribution of vectors with mean ``loc``.

    One of the covariance, its inverse and its Cholesky factor is given.
    """

    arg_constraints = {  # noqa: RUF012
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _fg_held = {"loc": 1, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}  # noqa: RUF012

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        found = {name: m for name, m in given.items() if m is not None}
        if len(found) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = found.items()
        if len(loc.shape) < 1 or len(matrix.shape) < 2:
            raise ValueError("loc must be at least one-dimensional, and the matrix at least two-dimensional.")
        n = int(loc.shape[-1])
        batch = np.broadcast_shapes(tuple(loc.shape[:-1]), tuple(matrix.shape[:-2]))
        check = self._validate_args if validate_args is None else validate_args
        if check and not _core.all_hold(self.arg_constraints[name].check(matrix)):
            raise ValueError(
                f"Expected parameter {name} (Tensor of shape {tuple(matrix.shape)}) of distribution "
                f"MultivariateNormal to satisfy the constraint {self.arg_constraints[name]!r}, but found invalid "
                f"values:\n{matrix}"
            )
        self.loc = ops.broadcast_to(loc, [*batch, n])
        vars(self)[name] = ops.broadcast_to(matrix, [*batch, n, n])
        if name == "covariance_matrix":
            matrix = ops.linalg.cholesky(matrix)
        elif name == "precision_matrix":
            matrix = factor_of_inverse(matrix)
        self._unbroadcasted_scale_tril = matrix
        super().__init__(batch, (n,), validate_args)

    @property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        found = vars(self).get("scale_tril")
        if found is not None:
            return found
        n = int(self._event_shape[0])
        return ops.broadcast_to(self._unbroadcasted_scale_tril, [*self._batch_shape, n, n])

    @property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        found = vars(self).get("covariance_matrix")
        return ops.matmul(self.scale_tril, self.scale_tril.mT) if found is None else found

    @property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        found = vars(self).get("precision_matrix")
        return ops.linalg.inv(self.covariance_matrix) if found is None else found

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.loc

    mode = mean

    @property
    def variance(self) -> Any:
        """The variances of the elements."""
        return ops.sum(self.scale_tril * self.scale_tril, -1)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values through which the gradient flows to the parameters."""
        z = _draws.normal(self.loc, self._extended_shape(sample_shape))
        return self.loc + ops.matmul(self.scale_tril, z[..., None])[..., 0]

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        distance = mahalanobis(self.scale_tril, self._fg_checked(value) - self.loc)
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + distance) - half_log_det(self.scale_tril)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + half_log_det(self.scale_tril)
