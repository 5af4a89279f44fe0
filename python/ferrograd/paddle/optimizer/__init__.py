"""``paddle.optimizer``: optimizers that update their parameters in place.

>>> import ferrograd.paddle as paddle
>>> w = paddle.to_tensor([4.0], stop_gradient=False)
>>> optimizer = paddle.optimizer.SGD(learning_rate=0.25, parameters=[w])
>>> for _ in range(2):
...     (w * w).sum().backward()
...     optimizer.step()
...     optimizer.clear_grad()
>>> w.item()
1.0
"""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.paddle.optimizer import lr
from ferrograd.paddle.optimizer._adaptive import (
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Lamb,
    NAdam,
    RAdam,
    RMSProp,
)
from ferrograd.paddle.optimizer._descent import ASGD, SGD, Momentum, Rprop
from ferrograd.paddle.optimizer.lbfgs import LBFGS
from ferrograd.paddle.optimizer.optimizer import Optimizer

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lamb",
    "Momentum",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSProp",
    "Rprop",
    "lr",
]

__dir__ = _public.names(globals())
