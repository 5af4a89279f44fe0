"""``torch.nn.utils``."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd.torch.nn.utils import (
    clip_grad,
    convert_parameters,
    fusion,
    parametrizations,
    parametrize,
    prune,
    rnn,
    stateless,
)
from ferrograd.torch.nn.utils.clip_grad import *
from ferrograd.torch.nn.utils.convert_parameters import *
from ferrograd.torch.nn.utils.fusion import *
from ferrograd.torch.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from ferrograd.torch.nn.utils.weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad",
    "convert_parameters",
    "fusion",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "weight_norm",
]
__all__ += clip_grad.__all__
__all__ += convert_parameters.__all__
__all__ += fusion.__all__


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module. torch leaves its parameters without values here; they are initialized as always."""
    return module_cls(*args, **kwargs)


__dir__ = _public.names(globals())
