"""Weights as functions of other parameters, computed by a hook before every call of a layer."""

from __future__ import annotations

from typing import Any

from ferrograd._autograd.modes import no_grad, own_writes
from ferrograd._core import Tensor
from ferrograd._kit.arguments import typed
from ferrograd._kit.ops import ops


def as_matrix(weight: Tensor, dim: int) -> Any:
    """The weight as a matrix whose rows are the slices along an axis."""
    return ops.reshape(ops.moveaxis(weight, dim, 0), [weight.shape[dim], -1])


def unit(v: Tensor, eps: float) -> Any:
    """The vector divided by its norm, which is at least ``eps``."""
    return ops.normalize(v, 2.0, 0, eps)


@no_grad()
@typed(matrix=Tensor, u=Tensor, v=Tensor)
def power_iteration(matrix: Tensor, u: Tensor, v: Tensor, steps: int, eps: float) -> None:
    """Improves the estimates of the first singular vectors, in place."""
    matrix = matrix.detach()
    with own_writes(u, v):
        for _ in range(steps):
            v.copy_(unit(ops.matmul(ops.conj(ops.matrix_transpose(matrix)), u), eps))
            u.copy_(unit(ops.matmul(matrix, v), eps))


def singular_value(matrix: Tensor, u: Tensor, v: Tensor) -> Any:
    """The singular value that belongs to estimates of the first singular vectors."""
    return ops.dot(ops.conj(u.clone()), ops.mv(matrix, v.clone()))


class SpectralNorm:
    """The hook that divides a weight by an estimate of its largest singular value (Miyato et al. 2018)."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def compute_weight(self, module: Any, improve: bool) -> Any:
        """The weight divided by the estimate, which is first improved if asked for."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = as_matrix(weight, self.dim)
        if improve:
            power_iteration(matrix, u, v, self.n_power_iterations, self.eps)
        return weight / singular_value(matrix, u, v)

    def __call__(self, module: Any, inputs: Any) -> None:
        """Sets the weight of the module."""
        setattr(module, self.name, self.compute_weight(module, module.training))


def norm_except_dim(v: Tensor, dim: int | None) -> Any:
    """The norm over all axes but one, which are kept with size 1; over all axes if it is None."""
    axes = None if dim is None or dim == -1 else [i for i in range(v.ndim) if i != dim % v.ndim]
    return ops.norm(v, 2.0) if axes is None else ops.norm(v, 2.0, axes, True)


class WeightNorm:
    """The hook that computes a weight from its length and direction (Salimans, Kingma 2016)."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, dim

    def compute_weight(self, module: Any) -> Any:
        """The length times the direction."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        length = norm_except_dim(v, self.dim)
        return v * (ops.reshape(g, list(length.shape)) / length)

    def __call__(self, module: Any, inputs: Any) -> None:
        """Sets the weight of the module."""
        setattr(module, self.name, self.compute_weight(module))


def taken_weight(module: Any, name: str) -> Any:
    """The weight that a :class:`WeightNorm` computes, whose hook and two parameters are taken off the module."""
    for number, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, WeightNorm) and hook.name == name:
            value = hook.compute_weight(module).detach()
            delattr(module, name)
            del module._parameters[f"{name}_g"], module._parameters[f"{name}_v"], module._forward_pre_hooks[number]
            return value
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
