"""``torch.nn``."""

from __future__ import annotations

from ferrograd.torch.nn import functional, parameter, utils
from ferrograd.torch.nn.parameter import Parameter

__all__ = ["Parameter", "functional", "parameter", "utils"]
