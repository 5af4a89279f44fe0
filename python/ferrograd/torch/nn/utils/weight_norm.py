"""Weights as a length times a direction, computed by a hook before every call."""

from __future__ import annotations

from typing import TypeVar

from ferrograd._kit import public as _public
from ferrograd._kit.arguments import typed
from ferrograd._layers.reparametrized import WeightNorm, norm_except_dim, taken_weight
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter, initialized

__all__ = ["remove_weight_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


@typed(module=Module)
def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Replaces a weight by two parameters, its length ``weight_g`` and its direction ``weight_v``.

    The lengths are those of the slices along ``dim``, or with None that of the whole weight.

    >>> import ferrograd.torch as torch
    >>> layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 3))
    >>> [(n, tuple(p.shape)) for n, p in layer.named_parameters()]
    [('bias', (3,)), ('weight_g', (3, 1)), ('weight_v', (3, 2))]
    """
    if any(isinstance(h, WeightNorm) and h.name == name for h in module._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, dim)
    weight = initialized(getattr(module, name), "weight_norm")
    del module._parameters[name]
    module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight.detach(), dim)))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    hook(module, None)
    module.register_forward_pre_hook(hook)
    return module


@typed(module=Module)
def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Makes one parameter of the two that :func:`weight_norm` made."""
    setattr(module, name, Parameter(taken_weight(module, name)))
    return module


__dir__ = _public.names(globals())
