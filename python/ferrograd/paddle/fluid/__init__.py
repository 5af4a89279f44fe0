"""``paddle.fluid``: the names of Paddle 1.8 for gradients. The error of any other name says what replaced it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ferrograd._kit import public as _public
from ferrograd.paddle.fluid import dygraph, layers
from ferrograd.paddle.fluid._replaced import missing

__all__ = ["dygraph", "layers"]

_STATIC = "the dynamic graph: call the functions themselves"
_REPLACED = {
    **{name: _STATIC for name in ("Executor", "Program", "default_main_program", "default_startup_program")},
    "clip": "paddle.nn.ClipGradByNorm and its like",
    "io": "paddle.save and paddle.load",
    "metrics": "paddle.metric",
}

__dir__ = _public.names(globals())

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name, _REPLACED)
