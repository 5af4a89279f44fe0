"""Weights divided by their largest singular value, computed by a hook before every call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ferrograd._autograd.modes import no_grad
from ferrograd._kit import public as _public
from ferrograd._kit.arguments import typed
from ferrograd._kit.ops import ops
from ferrograd._layers.reparametrized import SpectralNorm, as_matrix, singular_value, unit
from ferrograd.torch.nn.modules.conv import _ConvTransposeNd
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter, initialized

__all__ = ["remove_spectral_norm", "spectral_norm"]

M = TypeVar("M", bound=Module)


@typed(module=Module)
def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divides a weight by its largest singular value, which each call in training estimates better.

    The weight itself becomes the parameter ``weight_orig``; the estimates of the singular vectors are buffers.
    """
    if any(isinstance(h, SpectralNorm) and h.name == name for h in module._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    dim = (1 if isinstance(module, _ConvTransposeNd) else 0) if dim is None else dim
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = initialized(module._parameters[name], "spectral_norm")
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    matrix = as_matrix(weight.detach(), dim)
    vectors = [unit(ops.randn([n], weight.dtype), eps) for n in matrix.shape]
    del module._parameters[name]
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.detach())
    for end, vector in zip("uv", vectors, strict=True):
        module.register_buffer(f"{name}_{end}", vector)
    module.register_forward_pre_hook(hook)
    module._register_state_dict_hook(SpectralNormStateDictHook(hook))
    module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
    return module


class SpectralNormStateDictHook:
    """Notes the format of the estimates beside the state of a module."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        """Notes the format, which is 1."""
        local_metadata.setdefault("spectral_norm", {})[f"{self.fn.name}.version"] = 1


class SpectralNormLoadStateDictPreHook:
    """Completes states of PyTorch before 1.0, which have the divided weight in place of one of the vectors."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, state_dict: Any, prefix: str, local_metadata: Mapping[str, Any], *_: object) -> None:
        """Solves for the vector with which the estimate is the one that the weight was divided by."""
        key = prefix + self.fn.name
        if f"{self.fn.name}.version" in local_metadata.get("spectral_norm", {}) or f"{key}_v" in state_dict:
            return
        if not all(k in state_dict for k in (f"{key}_orig", key, f"{key}_u")):
            return
        with no_grad():
            weight, u = state_dict[f"{key}_orig"], state_dict[f"{key}_u"]
            estimate = ops.mean(weight / state_dict.pop(key))
            matrix = as_matrix(weight, self.fn.dim)
            v = ops.linalg.pinv(matrix) @ u
            state_dict[f"{key}_v"] = v * (estimate / singular_value(matrix, u, v))


@typed(module=Module)
def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Makes the divided weight the parameter again."""
    for number, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, SpectralNorm) and hook.name == name:
            with no_grad():
                weight = hook.compute_weight(module, False)
            delattr(module, name)
            delattr(module, f"{name}_u")
            delattr(module, f"{name}_v")
            delattr(module, f"{name}_orig")
            module.register_parameter(name, Parameter(weight.detach()))
            del module._forward_pre_hooks[number]
            for hooks in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
                for place, other in list(hooks.items()):
                    if getattr(getattr(other, "hook", other), "fn", None) is hook:
                        del hooks[place]
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")


__dir__ = _public.names(globals())
