"""``paddle.base.framework``: the mode and the tensor class under their inner names."""

from __future__ import annotations

from ferrograd import _core
from ferrograd._core import PaddleTensor as Variable
from ferrograd.paddle._framework import CPUPlace, get_flags, in_dynamic_mode, set_flags

__all__ = ["CPUPlace", "Variable", "get_flags", "in_dygraph_mode", "in_dynamic_mode", "set_flags"]

in_dygraph_mode = in_dynamic_mode


class _Tracer:
    """Where scripts switch recording by hand."""

    @property
    def _has_grad(self) -> bool:
        """Whether ops are recorded on this thread."""
        return _core.is_grad_enabled()

    @_has_grad.setter
    def _has_grad(self, on: bool) -> None:
        _core.set_grad_mode(bool(on))


_TRACER = _Tracer()


def _dygraph_tracer() -> _Tracer:
    """The switch of recording."""
    return _TRACER
