"""``torch.autograd.gradcheck``: see :mod:`ferrograd.testing`."""

from __future__ import annotations

from ferrograd.testing import GradcheckError, gradcheck, gradgradcheck

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
