"""``paddle.regularizer``: penalties of weights, which an optimizer takes as ``weight_decay``."""

from __future__ import annotations

from ferrograd._core import native
from ferrograd._kit import public as _public
from ferrograd.paddle._tensor import Tensor

__all__ = ["L1Decay", "L2Decay"]


class WeightDecayRegularizer:
    """The base of penalties."""

    def gradient(self, p: Tensor) -> Tensor:
        """The gradient of the penalty of a parameter."""
        raise NotImplementedError


class L1Decay(WeightDecayRegularizer):
    """The sum of absolute values, times ``coeff``."""

    def __init__(self, coeff: float = 0.0) -> None:
        self._coeff = float(coeff)

    def gradient(self, p: Tensor) -> Tensor:
        """The signs of the elements, times the coefficient."""
        return native.sign(p.detach()) * self._coeff

    def __str__(self) -> str:
        return f"L1Decay, coeff={self._coeff:f}"


class L2Decay(WeightDecayRegularizer):
    """Half the sum of squares, times ``coeff``."""

    def __init__(self, coeff: float = 0.0) -> None:
        self._coeff = float(coeff)

    def gradient(self, p: Tensor) -> Tensor:
        """The elements, times the coefficient."""
        return p.detach() * self._coeff

    def __str__(self) -> str:
        return f"L2Decay, coeff={self._coeff:f}"


__dir__ = _public.names(globals())
