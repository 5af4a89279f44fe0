"""Linear equations as both dialects solve them."""

from __future__ import annotations

from typing import Any


def are_vectors(matrices: Any, right: Any) -> bool:
    """Whether the right sides are vectors: one, or one for each of the matrices."""
    return right.ndim == 1 or (matrices.ndim - 1 == right.ndim and tuple(right.shape) == tuple(matrices.shape[:-1]))


def solved(ops: Any, matrices: Any, right: Any, left: bool) -> Any:
    """The solution ``s`` of ``matrices @ s = right``, or of ``s @ matrices = right`` if not ``left``."""
    if not left:
        transposed = ops.linalg.solve(ops.matrix_transpose(matrices), ops.matrix_transpose(right))
        return ops.matrix_transpose(transposed)
    if are_vectors(matrices, right):
        return ops.squeeze(ops.linalg.solve(matrices, ops.expand_dims(right, -1)), -1)
    return ops.linalg.solve(matrices, right)
