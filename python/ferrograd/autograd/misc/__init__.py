"""Handy functions: ``flatten``, optimizers, fixed points."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.autograd.misc.flatten import flatten
from ferrograd.autograd.misc.tracers import const_graph

__all__ = ["const_graph", "flatten"]

__dir__ = _public.names(globals())
