"""``paddle.vision.transforms``: functions of a sample, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ferrograd import _public

__all__ = ["Compose"]


class Compose:
    """Calls functions one after the other, each with what the last one returned.

    >>> import ferrograd.paddle as paddle
    >>> paddle.vision.transforms.Compose([abs, str])(-1)
    '1'
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, data: Any) -> Any:
        """What the last function returns."""
        for transform in self.transforms:
            data = transform(data)
        return data


__dir__ = _public.names(globals())
