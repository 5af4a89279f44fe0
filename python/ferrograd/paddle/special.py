"""``paddle.special``."""

from ferrograd import _public
from ferrograd._core.paddle import expm1, logsumexp
from ferrograd.paddle._functions import softmax

__all__ = ["expm1", "logsumexp", "softmax"]

__dir__ = _public.names(globals())
