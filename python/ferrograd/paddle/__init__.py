"""The Paddle dialect: code written for Paddle's dynamic graph runs with this module instead.

>>> import ferrograd.paddle as paddle
>>> x = paddle.to_tensor(3.0, stop_gradient=False)
>>> y = x * x
>>> y.backward()
>>> x.gradient()
array(6., dtype=float32)
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from ferrograd import _public
from ferrograd._autograd.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from ferrograd._core import PaddleTensor as Tensor
from ferrograd._dialects import adapters as _adapters
from ferrograd._dialects import methods as _shared_methods
from ferrograd._tensor.shape import PaddleSize as Size
from ferrograd.paddle import (
    _creation,
    _framework,
    _functions,
    _index,
    _layers,
    _methods,
    _more,
    _random,
    _windows,
    amp,
    autograd,
    base,
    callbacks,
    device,
    fft,
    fluid,
    framework,
    geometric,
    imperative,
    incubate,
    io,
    jit,
    linalg,
    metric,
    nn,
    optimizer,
    regularizer,
    signal,
    static,
    utils,
)
from ferrograd.paddle._autograd import grad
from ferrograd.paddle._creation import *
from ferrograd.paddle._dtypes import *
from ferrograd.paddle._dtypes import __all__ as _dtypes
from ferrograd.paddle._files import load, save
from ferrograd.paddle._framework import *
from ferrograd.paddle._framework import VERSION as __version__
from ferrograd.paddle._functions import *
from ferrograd.paddle._index import *
from ferrograd.paddle._layers import *
from ferrograd.paddle._more import *
from ferrograd.paddle._random import *
from ferrograd.paddle._windows import *
from ferrograd.paddle.amp import (
    autocast,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_enabled,
)
from ferrograd.paddle.hapi import Model, flops, summary
from ferrograd.paddle.nn._parameter import ParamAttr, create_parameter
from ferrograd.paddle.nn.initializer import set_global_initializer

# isort: split
from ferrograd._core.paddle import *
from ferrograd._core.paddle import __all__ as _ops

_adapters.install_methods(Tensor, [_shared_methods, _creation, _functions, _index, _methods, _more, _random, linalg])
eigvalsh = linalg.eigvalsh
Tensor.__pos__ = positive = _shared_methods.positive  # type: ignore[method-assign]
# A function whose meaning is Paddle's own replaces the core's function of the same name.
for _module in (_creation, _framework, _functions, _index, _layers, _more, _random):
    globals().update({name: getattr(_module, name) for name in _module.__all__})

__all__ = [
    "DataParallel",
    "Model",
    "ParamAttr",
    "Size",
    "Tensor",
    "__version__",
    "amp",
    "autocast",
    "autograd",
    "base",
    "callbacks",
    "create_parameter",
    "device",
    "distributed",
    "distribution",
    "eigvalsh",
    "enable_grad",
    "fft",
    "flops",
    "fluid",
    "framework",
    "geometric",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "grad",
    "imperative",
    "incubate",
    "io",
    "is_autocast_enabled",
    "is_grad_enabled",
    "jit",
    "linalg",
    "load",
    "metric",
    "nn",
    "no_grad",
    "optimizer",
    "regularizer",
    "save",
    "set_global_initializer",
    "set_grad_enabled",
    "signal",
    "special",
    "static",
    "summary",
    "utils",
    "version",
]
__all__ += _ops
__all__ += _dtypes
__all__ += _creation.__all__
__all__ += _framework.__all__
__all__ += _functions.__all__
__all__ += _index.__all__
__all__ += _layers.__all__
__all__ += _more.__all__
__all__ += _random.__all__
__all__ += _windows.__all__

_in_place = _adapters.in_place_functions(__name__, Tensor, __all__)
globals().update(_in_place)
__all__ += _in_place

if _TYPE_CHECKING:
    from ferrograd.paddle import audio as audio
    from ferrograd.paddle import distributed as distributed
    from ferrograd.paddle import distribution as distribution
    from ferrograd.paddle import special as special
    from ferrograd.paddle import version as version
    from ferrograd.paddle import vision as vision
    from ferrograd.paddle.distributed.parallel import DataParallel as DataParallel
else:
    #: What replaces modules that are not here.
    _PLACES = {
        **{name: f"it is paddle.autograd.{name}" for name in ("hessian", "jacobian")},
        **{name: f"it is paddle.incubate.autograd.{name}" for name in ("jvp", "vjp")},
        **{name: f"it is ferrograd.func.{name}" for name in ("jacfwd", "jacrev", "value_and_grad", "vmap")},
        "hub": "use paddle.load with a file that was fetched before",
        "inference": "call the layer itself under paddle.no_grad()",
        "onnx": "use paddle.save with layer.state_dict()",
        "profiler": "use ferrograd.profile",
        "text": "data sets are no part of the library: read files in a paddle.io.Dataset",
    }

    def __getattr__(name: str) -> _Any:
        if name in ("audio", "distributed", "distribution", "sparse", "special", "tensor", "version", "vision"):
            return _import_module(f"ferrograd.paddle.{name}")
        if name == "paddle":
            return _import_module("ferrograd.paddle")
        if name == "DataParallel":
            return _import_module("ferrograd.paddle.distributed.parallel").DataParallel
        if name in _PLACES:
            raise AttributeError(f"module 'ferrograd.paddle' has no attribute {name!r}: {_PLACES[name]}")
        raise _public.MissingName("ferrograd.paddle", name)


__dir__ = _public.names(globals())
