"""Optimizers, which update tensors in place, and schedules of their rates: those of :mod:`ferrograd.torch.optim`.

>>> import ferrograd as fg
>>> w = fg.tensor([4.0], requires_grad=True)
>>> optimizer = fg.optim.SGD([w], lr=0.25)
>>> schedule = fg.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
>>> for _ in range(2):
...     optimizer.zero_grad()
...     fg.sum(w * w).backward()
...     optimizer.step()
...     schedule.step()
>>> w.item()
1.5
"""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.optim import *
from ferrograd.torch.optim import __all__ as __all__

__dir__ = _public.names(globals())
