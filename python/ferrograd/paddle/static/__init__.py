"""``paddle.static``: ``InputSpec``, which layers and models take, and the class of variables, which is that of tensors.

Every other name raises where it is used: there is no static graph.
"""

from __future__ import annotations

from ferrograd.paddle._base import no_static as _no_static
from ferrograd.paddle._tensor import Tensor as Variable
from ferrograd.paddle.base.compiler import BuildStrategy
from ferrograd.paddle.static import amp, input, nn
from ferrograd.paddle.static.input import InputSpec

__all__ = ["BuildStrategy", "InputSpec", "Variable", "amp", "input", "nn"]

__getattr__, __dir__ = _no_static.module_names(__name__)
