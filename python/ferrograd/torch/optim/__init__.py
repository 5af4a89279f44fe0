"""``torch.optim``: optimizers that update their parameters in place.

>>> import ferrograd.torch as torch
>>> w = torch.tensor([4.0], requires_grad=True)
>>> optimizer = torch.optim.SGD([w], lr=0.25)
>>> for _ in range(2):
...     optimizer.zero_grad()
...     (w * w).sum().backward()
...     optimizer.step()
>>> w.item()
1.0

With ``differentiable=True`` steps are recorded, and derivatives go through them:

>>> start = torch.tensor([4.0], requires_grad=True)
>>> rate = torch.tensor(0.25, requires_grad=True)
>>> w = start.clone()
>>> sgd = torch.optim.SGD([w], lr=rate, differentiable=True)
>>> for _ in range(2):
...     (w.grad,) = torch.autograd.grad((w * w).sum(), w, create_graph=True)
...     sgd.step()
>>> w.item()
1.0
>>> [g.item() for g in torch.autograd.grad(w.sum(), [start, rate])]
[0.25, -8.0]
"""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.optim import adam as adam, adamw as adamw, lr_scheduler, sgd as sgd, swa_utils
from ferrograd.torch.optim._adaptive import (
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    NAdam,
    RAdam,
    RMSprop,
    SparseAdam,
)
from ferrograd.torch.optim._descent import ASGD, SGD, Muon, Rprop
from ferrograd.torch.optim.lbfgs import LBFGS
from ferrograd.torch.optim.optimizer import Optimizer

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]

__dir__ = _public.names(globals())
