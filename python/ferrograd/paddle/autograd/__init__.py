"""``paddle.autograd``."""

from __future__ import annotations

from ferrograd.paddle._autograd import backward, grad

__all__ = ["backward", "grad"]
