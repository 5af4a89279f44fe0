"""``torch.nn.utils``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd.torch.nn.utils import (
    clip_grad,
    convert_parameters,
    parametrizations,
    parametrize,
    prune,
    rnn,
    stateless,
)
from ferrograd.torch.nn.utils.clip_grad import *
from ferrograd.torch.nn.utils.convert_parameters import *
from ferrograd.torch.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from ferrograd.torch.nn.utils.weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad",
    "convert_parameters",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "spectral_norm",
    "stateless",
    "weight_norm",
]
__all__ += clip_grad.__all__
__all__ += convert_parameters.__all__

__dir__ = _public.names(globals())
