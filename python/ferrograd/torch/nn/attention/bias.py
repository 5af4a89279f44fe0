"""``torch.nn.attention.bias``: causal masks for queries and keys of different lengths."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd._kit.arguments import integer as _integer
from ferrograd._kit.ops import ops as _ops
from ferrograd.torch._tensor import Tensor

__all__ = ["causal_lower_right", "causal_upper_left"]


def causal_upper_left(*size: int) -> Tensor:
    """The mask [queries, keys] that shows query i the keys up to i.

    >>> from ferrograd.torch.nn.attention.bias import causal_upper_left
    >>> causal_upper_left(2, 3).tolist()
    [[True, False, False], [True, True, False]]
    """
    return _mask("causal_upper_left", size, 0)


def causal_lower_right(*size: int) -> Tensor:
    """The mask [queries, keys] that shows the last query all keys, and each one before it one less.

    >>> from ferrograd.torch.nn.attention.bias import causal_lower_right
    >>> causal_lower_right(2, 3).tolist()
    [[True, True, False], [True, True, True]]
    """
    return _mask("causal_lower_right", size, 1)


def _mask(name: str, size: tuple[int, ...], ends: int) -> Tensor:
    if len(size) != 2:
        raise TypeError(f"{name} takes the numbers of queries and of keys, not {len(size)} numbers")
    queries, keys = (_integer(n, name, "size") for n in size)
    mask: Tensor = _ops.tril(_ops.ones([queries, keys], "bool"), ends * (keys - queries))
    return mask


__dir__ = _public.names(globals())
