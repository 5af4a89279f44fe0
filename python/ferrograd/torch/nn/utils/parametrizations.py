"""Weights with a given norm, and orthogonal ones, as parametrizations."""

from __future__ import annotations

from typing import Any

from ferrograd._autograd.modes import no_grad
from ferrograd._kit import public as _public
from ferrograd._kit.arguments import typed
from ferrograd._kit.ops import ops
from ferrograd._layers.initializers import orthonormal
from ferrograd._layers.reparametrized import as_matrix, norm_except_dim, power_iteration, singular_value, unit
from ferrograd.torch import linalg
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn.modules.conv import _ConvTransposeNd
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.utils.parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _skew(x: Tensor) -> Any:
    """The skew-Hermitian square matrix whose part below the diagonal begins with the columns of ``x``."""
    n, k = x.shape[-2:]
    lower = ops.concat([ops.tril(x), ops.zeros([*x.shape[:-1], n - k], x.dtype)], -1)
    return ops.subtract(lower, ops.conj(ops.matrix_transpose(lower)))


def _exponential(x: Tensor) -> Any:
    return ops.matrix_exp(_skew(x))


def _cayley(x: Tensor) -> Any:
    half = ops.divide(_skew(x), 2)
    one = ops.eye(half.shape[-1], dtype=half.dtype)
    return ops.linalg.solve(ops.subtract(one, half), ops.add(one, half))


def _reflections(x: Tensor) -> Any:
    """The product of the reflections that the columns of ``x`` below the diagonal stand for; the diagonal has signs."""
    below = ops.tril(x, -1)
    tau = ops.divide(2, ops.add(1, ops.sum(ops.multiply(below, below), -2)))
    signs = ops.sign(ops.diagonal(x.detach(), 0, -2, -1))
    return ops.multiply(linalg.householder_product(below, tau), ops.unsqueeze(signs, -2))


_MAPS = {"matrix_exp": _exponential, "cayley": _cayley, "householder": _reflections}


class _Orthogonal(Module):
    def __init__(self, weight: Tensor, function: str, trivialized: bool) -> None:
        super().__init__()
        if weight.is_complex() and function == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.function, self.trivialized = weight.shape, function, trivialized
        self.is_wide = weight.shape[-2] < weight.shape[-1]
        self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Any:
        x = x.mT if self.is_wide else x
        found = _MAPS[self.function](x)[..., : x.shape[-1]]
        if self.base is not None:
            found = ops.matmul(self.base, found)
        return found.mT if self.is_wide else found

    @no_grad()
    def right_inverse(self, value: Tensor) -> Any:
        if value.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {value.shape}."
            )
        q = value.mT if self.is_wide else value
        if self.trivialized:
            # The function of minus the identity is the identity, so the base is the value.
            n, k = q.shape[-2:]
            more = ops.randn([*q.shape[:-2], n, n - k], q.dtype)
            self.base = orthonormal(ops.concat([q, more], -1))
            x = ops.broadcast_to(ops.negative(ops.eye(n, k, dtype=q.dtype)), q.shape).clone()
        elif self.function == "householder":
            x, tau = ops.geqrf(q)
            # A reflection with tau 0 is the identity, whose sign is the opposite one.
            signs = ops.multiply(ops.sign(ops.diagonal(x, 0, -2, -1)), ops.where(ops.equal(tau, 0), -1.0, 1.0))
            x = ops.add(ops.tril(x, -1), ops.tril(ops.diagonal_scatter(ops.zeros_like(x), signs, 0, -2, -1)))
        else:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        return x.mT if self.is_wide else x


@typed(module=Module)
def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """Keeps a matrix orthogonal (unitary if it is complex); the rows are orthonormal if there are fewer than columns.

    The matrix is a function of one without conditions: ``"matrix_exp"``, ``"cayley"`` or ``"householder"``. The first
    is the default for square and complex matrices, the last for others. With ``use_trivialization`` the function is
    multiplied by a fixed orthogonal matrix, so that any value can be assigned.

    Raises:
        ValueError: the tensor has fewer than two axes, or there is no such function.

    >>> import ferrograd.torch as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(4, 2))
    >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(2), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        simple = weight.shape[-2] == weight.shape[-1] or weight.is_complex()
        orthogonal_map = "matrix_exp" if simple else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True)
    return module


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

    def rename(module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
        # States of torch.nn.utils.weight_norm have other names.
        for i, old in enumerate((f"{prefix}{name}_g", f"{prefix}{name}_v")):
            if old in state:
                state[f"{prefix}parametrizations.{name}.original{i}"] = state.pop(old)

    module.register_load_state_dict_pre_hook(rename)
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
            # Sums along the axes have the class and the device of the weight.
            u, v = (unit(ops.randn_like(ops.sum(matrix, axis)), eps) for axis in (1, 0))
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)
            self._improve(matrix, 15)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return unit(weight, self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._improve(matrix, self.n_power_iterations)
        return ops.divide(weight, singular_value(matrix, self._u, self._v))

    def _improve(self, matrix: Tensor, steps: int) -> None:
        """Improves the estimates, the left one first."""
        power_iteration(ops.conj(ops.matrix_transpose(matrix)), self._v, self._u, steps, self.eps)

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


__dir__ = _public.names(globals())
