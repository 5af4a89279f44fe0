"""The indices of triangles of matrices, which both dialects have with their own parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._core import Tensor
from ferrograd._kit.specialize import specialize


def indices(ops: Any, part: Callable[..., Tensor], rows: int, columns: int, offset: int, dtype: Any) -> Any:
    """One row with the row of each element that ``part`` keeps, and one with its column."""
    found: Tensor = ops.astype(ops.stack(ops.nonzero(part(ops.ones([rows, columns]), offset))), dtype)
    return found


def pair(ops: Any, f: Callable[..., Tensor]) -> list[Callable[..., Any]]:
    """``tril_indices`` and ``triu_indices`` from a function that takes ``tril`` or ``triu`` as ``_part``."""
    doc = "The indices of a matrix's elements on a diagonal and {}: one row of those by row, one of those by column."
    return [
        specialize(f"{name}_indices", doc.format(side), f, _part=getattr(ops, name))
        for name, side in (("tril", "below"), ("triu", "above"))
    ]
