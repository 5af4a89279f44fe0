"""``torch.autograd.grad_mode``."""

from __future__ import annotations

from ferrograd import _core
from ferrograd._autograd.modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from ferrograd._kit import public as _public

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]

#: The number of threads to restore while multithreading is off; empty while it is on.
_several: list[int] = []


def is_multithreading_enabled() -> bool:
    """Whether backward passes may use several threads."""
    return not _several


class set_multithreading_enabled:
    """Turns multithreading of all passes and ops of the process on or off at once. No result depends on it.

    As a context manager it restores the previous state at the end.

    >>> import ferrograd.torch as torch
    >>> with torch.autograd.set_multithreading_enabled(False):
    ...     torch.get_num_threads()
    1
    """

    def __init__(self, mode: bool) -> None:
        self.mode, self._fg_before = mode, is_multithreading_enabled()
        self._set(mode)

    def _set(self, mode: bool) -> None:
        if mode and _several:
            _core.set_num_threads(_several.pop())
        elif not mode and not _several:
            _several.append(_core.num_threads())
            _core.set_num_threads(1)

    def __enter__(self) -> None:
        """Does nothing: the constructor has set the state."""

    def __exit__(self, *_: object) -> None:
        """Restores the previous state."""
        self._set(self._fg_before)


__dir__ = _public.names(globals())
