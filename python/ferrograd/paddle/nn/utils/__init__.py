"""``paddle.nn.utils``: gradient clipping, parameters as a vector, weights as functions of other parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrograd._autograd.modes import no_grad as _no_grad
from ferrograd._core import ArgumentError, Tensor, paddle as _ops
from ferrograd._kit import public as _public
from ferrograd._kit.arguments import tensor as _tensor, typed as _typed
from ferrograd._layers import reparametrized as _reparametrized
from ferrograd.paddle.nn.layer.common import Linear
from ferrograd.paddle.nn.layer.conv import _ConvTranspose
from ferrograd.paddle.nn.layer.layers import Layer as _Layer

# Paddle has a module of the same name for each of these functions. The name in this package is the function.
from ferrograd.paddle.nn.utils.clip_grad_norm_ import clip_grad_norm_
from ferrograd.paddle.nn.utils.clip_grad_value_ import clip_grad_value_

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "parameters_to_vector",
    "remove_weight_norm",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]


def parameters_to_vector(parameters: Iterable[Tensor], name: str | None = None) -> Tensor:
    """All elements of the parameters as one vector."""
    return _ops.concat([_ops.reshape(p, [-1]) for p in parameters], 0)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Any], name: str | None = None) -> None:
    """Gives the parameters the values in a vector. Nothing is recorded."""
    vec = _tensor(vec, "vector_to_parameters", "vec")
    many: list[Any] = [_tensor(p, "vector_to_parameters", "each parameter") for p in parameters]
    sizes = [int(p.size) for p in many]
    if list(vec.shape) != [sum(sizes)]:
        raise ArgumentError(f"vector_to_parameters: {sum(sizes)} elements are wanted, not {list(vec.shape)}")
    at = 0
    for p, size in zip(many, sizes, strict=True):
        p.set_value(_ops.reshape(vec.detach()[at : at + size], list(p.shape)))
        at += size


def _is_taken(layer: Any, kind: type, name: str) -> bool:
    return any(isinstance(h, kind) and h.name == name for h in layer._forward_pre_hooks.values())  # type: ignore[attr-defined]


@_typed(layer=_Layer, name=str)
def weight_norm(layer: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Replaces a weight by two parameters, its length ``weight_g`` and its direction ``weight_v``.

    The lengths are those of the slices along ``dim``, or with None that of the whole weight.
    """
    if _is_taken(layer, _reparametrized.WeightNorm, name):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    weight = layer._parameters[name]
    if dim is not None and not -weight.ndim <= dim < weight.ndim:
        raise ArgumentError(f"weight_norm: dim must be an axis of {list(weight.shape)}, not {dim}")
    dim = None if dim in (None, -1) else dim % weight.ndim
    hook = _reparametrized.WeightNorm(name, dim)
    length = _reparametrized.norm_except_dim(weight.detach(), dim)
    del layer._parameters[name]
    for end, value in (("v", weight.detach()), ("g", length if dim is None else _ops.reshape(length, [-1]))):
        p = layer.create_parameter(list(value.shape), dtype=value.dtype)
        p.set_value(value)
        layer.add_parameter(f"{name}_{end}", p)
    hook(layer, None)
    layer.register_forward_pre_hook(hook)
    return layer


@_typed(layer=_Layer, name=str)
def remove_weight_norm(layer: Any, name: str = "weight") -> Any:
    """Makes one parameter of the two that :func:`weight_norm` made."""
    value = _reparametrized.taken_weight(layer, name)
    p = layer.create_parameter(list(value.shape), dtype=value.dtype)
    p.set_value(value)
    layer.add_parameter(name, p)
    return layer


@_typed(layer=_Layer, name=str)
def spectral_norm(
    layer: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divides a weight by its largest singular value, which each call in training estimates better.

    The weight itself becomes the parameter ``weight_orig``; the estimates of the singular vectors are buffers.
    """
    if _is_taken(layer, _reparametrized.SpectralNorm, name):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    if dim is None:
        dim = 1 if isinstance(layer, Linear | _ConvTranspose) else 0
    hook = _reparametrized.SpectralNorm(name, n_power_iterations, dim, eps)
    weight = layer._parameters[name]
    matrix = _reparametrized.as_matrix(weight.detach(), dim)
    with _no_grad():
        vectors = [_reparametrized.unit(_ops.randn([int(n)], weight.dtype), eps) for n in matrix.shape]
    del layer._parameters[name]
    layer.add_parameter(f"{name}_orig", weight)
    for end, vector in zip("uv", vectors, strict=True):
        layer.register_buffer(f"{name}_{end}", vector)
    hook(layer, None)
    layer.register_forward_pre_hook(hook)
    return layer


__dir__ = _public.names(globals())
