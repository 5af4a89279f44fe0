"""Derivatives checked against finite differences.

>>> import ferrograd as fg
>>> from ferrograd.testing import check
>>> check(lambda x: fg.sin(x) * x, [fg.tensor([0.3, -1.2], dtype="float64")], order=3)
"""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.testing._check import check
from ferrograd.testing._compare import GradcheckError
from ferrograd.testing._gradcheck import gradcheck, gradgradcheck

__all__ = ["GradcheckError", "check", "gradcheck", "gradgradcheck"]

__dir__ = _public.names(globals())
