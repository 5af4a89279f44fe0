"""The base of torch's layers that are one call of a function."""

from __future__ import annotations

from typing import ClassVar

from ferrograd._layers.function_layer import OfFunction
from ferrograd.torch.nn.modules.module import Module


class Layer(OfFunction, Module):
    """A module that keeps the arguments of a function and calls it."""

    _fg_renamed: ClassVar[dict[str, str]] = {"x": "input"}
