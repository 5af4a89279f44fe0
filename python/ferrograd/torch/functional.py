"""``torch.functional``: functions of the namespace under their second address."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._core.torch import broadcast_tensors, tensordot
from ferrograd.torch._functions import einsum, meshgrid, split
from ferrograd.torch._reductions import norm
from ferrograd.torch._shapes import atleast_1d, atleast_2d, atleast_3d, broadcast_shapes

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_shapes",
    "broadcast_tensors",
    "einsum",
    "meshgrid",
    "norm",
    "split",
    "tensordot",
]

__dir__ = _public.names(globals())
