"""``paddle.Model`` and what belongs to it."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.paddle.hapi import callbacks
from ferrograd.paddle.hapi.dynamic_flops import flops
from ferrograd.paddle.hapi.model import Model
from ferrograd.paddle.hapi.summary import summary

__all__ = ["Model", "callbacks", "flops", "summary"]

__dir__ = _public.names(globals())
