"""The PyTorch dialect: code written against PyTorch's autograd runs with this module in its place.

>>> import ferrograd.torch as torch
>>> x = torch.tensor(3.0, requires_grad=True)
>>> y = x * x
>>> y.backward()
>>> x.grad.item()
6.0
"""

from __future__ import annotations

from ferrograd._core import TorchTensor as Tensor
from ferrograd._core.torch import *
from ferrograd._core.torch import __all__ as _ops
from ferrograd._modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from ferrograd.torch import _creation, autograd
from ferrograd.torch._creation import *
from ferrograd.torch._dtypes import *
from ferrograd.torch._dtypes import __all__ as _dtypes

__all__ = [
    "Tensor",
    "autograd",
    "enable_grad",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]
__all__ += _ops
__all__ += _dtypes
__all__ += _creation.__all__
