"""``paddle.tensor.ops``: functions of elements. All functions of ``paddle.tensor`` are found here."""

from ferrograd.paddle.tensor import __dir__ as __dir__, __getattr__ as __getattr__
