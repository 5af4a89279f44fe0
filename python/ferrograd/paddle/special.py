"""``paddle.special``."""

from ferrograd._core.paddle import expm1, logsumexp
from ferrograd._kit import public as _public
from ferrograd.paddle._functions.reduce import softmax

__all__ = ["expm1", "logsumexp", "softmax"]

__dir__ = _public.names(globals())
