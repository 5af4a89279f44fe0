"""The numbers by which the core knows the dialects, in the order of ``Dialect`` in ``src/bind/python/dialect.rs``."""

from __future__ import annotations

from ferrograd._core import PaddleTensor, TorchTensor

NATIVE, PADDLE, TORCH = range(3)


def dialect_of(x: object) -> int:
    """The number of a tensor's dialect."""
    return TORCH if isinstance(x, TorchTensor) else PADDLE if isinstance(x, PaddleTensor) else NATIVE
