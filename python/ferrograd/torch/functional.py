"""``torch.functional``: functions of the namespace under their second address."""

from __future__ import annotations

from ferrograd._core.torch import block_diag, cartesian_prod, istft, tensordot
from ferrograd._kit import public as _public
from ferrograd.torch._functions.index import unravel_index
from ferrograd.torch._functions.linalg import lu, pca_lowrank, svd_lowrank
from ferrograd.torch._functions.products import cdist, chain_matmul, einsum
from ferrograd.torch._functions.reduce import norm
from ferrograd.torch._functions.shapes import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_shapes,
    broadcast_tensors,
    meshgrid,
    split,
)
from ferrograd.torch._functions.signal import stft
from ferrograd.torch._functions.sort import unique, unique_consecutive

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "istft",
    "lu",
    "meshgrid",
    "norm",
    "pca_lowrank",
    "split",
    "stft",
    "svd_lowrank",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
]

__dir__ = _public.names(globals())
