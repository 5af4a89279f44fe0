"""``paddle.base.framework``: the mode and the tensor class."""

from __future__ import annotations

from ferrograd import _core, _public
from ferrograd._core import PaddleTensor as Variable
from ferrograd.paddle._framework import CPUPlace, get_flags, in_dynamic_mode, set_flags
from ferrograd.paddle.nn._parameter import EagerParamBase

__all__ = ["CPUPlace", "EagerParamBase", "Variable", "get_flags", "in_dygraph_mode", "in_dynamic_mode", "set_flags"]

in_dygraph_mode = in_dynamic_mode


class _Tracer:
    """The object whose attribute ``_has_grad`` scripts set to switch recording."""

    @property
    def _has_grad(self) -> bool:
        """Whether ops are recorded on this thread."""
        return _core.is_grad_enabled()

    @_has_grad.setter
    def _has_grad(self, on: bool) -> None:
        _core.set_grad_mode(bool(on))


_TRACER = _Tracer()


def _dygraph_tracer() -> _Tracer:
    """The tracer; see :class:`_Tracer`."""
    return _TRACER


__dir__ = _public.names(globals())
