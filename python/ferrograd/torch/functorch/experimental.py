"""``functorch.experimental``: names of :mod:`ferrograd.torch.func` under which older programs import them."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch._base.transforms import functionalize, hessian, jacfwd, jvp
from ferrograd.torch.nn.modules.batchnorm import replace_all_batch_norm_modules_

__all__ = ["functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]

__dir__ = _public.names(globals())
