"""Weights with a given norm, as parametrizations."""

from __future__ import annotations

from typing import Any

from ferrograd._arguments import typed
from ferrograd._core import Tensor
from ferrograd._core import torch as ops
from ferrograd._nn.reparametrized import as_matrix, norm_except_dim, power_iteration, unit
from ferrograd.torch.nn.modules.conv import _ConvTransposeNd
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.utils.parametrize import register_parametrization

__all__ = ["spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return ops.multiply(weight_v, ops.divide(weight_g, norm_except_dim(weight_v, self.dim)))

    def right_inverse(self, weight: Tensor) -> Any:
        return norm_except_dim(weight, self.dim), weight


@typed(module=Module)
def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Makes a weight the product of its length (``original0``) and its direction (``original1``).

    >>> import ferrograd.torch as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> [n for n, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})"
            )
        self.dim = dim if dim >= 0 else dim + weight.ndim
        self.n_power_iterations, self.eps = n_power_iterations, eps
        if weight.ndim > 1:
            matrix = as_matrix(weight.detach(), self.dim)
            u, v = (unit(ops.randn([n], weight.dtype), eps) for n in matrix.shape)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)
            power_iteration(matrix, u, v, 15, eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return unit(weight, self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            power_iteration(matrix, self._u, self._v, self.n_power_iterations, self.eps)
        return ops.divide(weight, ops.dot(self._u.clone(), ops.mv(matrix, self._v.clone())))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


@typed(module=Module)
def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divides a weight by its largest singular value, which each use in training estimates better."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    dim = (1 if isinstance(module, _ConvTransposeNd) else 0) if dim is None else dim
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
