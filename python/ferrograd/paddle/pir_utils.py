"""``paddle.pir_utils``: contexts that choose the form of static programs. Here they change nothing, because there are
no static programs.
"""

from __future__ import annotations

from contextlib import nullcontext

from ferrograd._kit import public as _public

__all__ = ["DygraphOldIrGuard", "DygraphPirGuard", "IrGuard", "OldIrGuard"]


class IrGuard(nullcontext[None]):
    """A context that changes nothing."""


class OldIrGuard(IrGuard):
    """A context that changes nothing."""


class DygraphPirGuard(IrGuard):
    """A context that changes nothing."""


class DygraphOldIrGuard(IrGuard):
    """A context that changes nothing."""


__dir__ = _public.names(globals())
