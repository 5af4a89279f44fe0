"""``torch.autograd.grad_mode``."""

from __future__ import annotations

from ferrograd import _core
from ferrograd._autograd.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]

#: How many threads there are when several may work; none while they may.
_several: list[int] = []


def is_multithreading_enabled() -> bool:
    """Whether backward passes may use several threads."""
    return not _several


class set_multithreading_enabled:
    """Says at once whether several threads may work; as a context, for that long. It holds for all passes and ops of
    the process, and no result depends on it.

    >>> import ferrograd.torch as torch
    >>> with torch.autograd.set_multithreading_enabled(False):
    ...     torch.get_num_threads()
    1
    """

    def __init__(self, mode: bool) -> None:
        self.mode, self._before = mode, is_multithreading_enabled()
        self._set(mode)

    def _set(self, mode: bool) -> None:
        if mode and _several:
            _core.set_num_threads(_several.pop())
        elif not mode and not _several:
            _several.append(_core.num_threads())
            _core.set_num_threads(1)

    def __enter__(self) -> None:
        """It has begun already."""

    def __exit__(self, *_: object) -> None:
        """As it was before."""
        self._set(self._before)
