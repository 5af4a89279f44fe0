"""The mark that PyTorch puts on functions of ``torch.fx``: whether later releases will keep them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ferrograd._kit import public as _public

__all__ = ["compatibility"]

T = TypeVar("T")


def compatibility(is_backward_compatible: bool) -> Callable[[T], T]:
    """A decorator that changes nothing.

    >>> from ferrograd.torch.fx._compatibility import compatibility
    >>> compatibility(is_backward_compatible=True)(len) is len
    True
    """
    return lambda decorated: decorated


__dir__ = _public.names(globals())
