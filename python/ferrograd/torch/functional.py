"""``torch.functional``: functions of the namespace under their second address."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._core.torch import block_diag, broadcast_tensors, cartesian_prod, istft, tensordot
from ferrograd.torch._functions import einsum, meshgrid, split, stft
from ferrograd.torch._more import pca_lowrank, svd_lowrank
from ferrograd.torch._reductions import norm
from ferrograd.torch._shapes import atleast_1d, atleast_2d, atleast_3d, broadcast_shapes
from ferrograd.torch._special import cdist, chain_matmul, lu, unique, unique_consecutive, unravel_index

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
