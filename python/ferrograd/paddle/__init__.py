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
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from ferrograd._autograd.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from ferrograd._core import PaddleTensor as Tensor
from ferrograd._functions import methods as _shared_methods
from ferrograd._kit import adapters as _adapters, public as _public
from ferrograd._tensor.shape import PaddleSize as Size
from ferrograd.paddle import _functions, linalg
from ferrograd.paddle._base import dtypes as _dtypes, in_place as _in_place
from ferrograd.paddle._base.dtypes import *
from ferrograd.paddle._functions.arithmetic import *
from ferrograd.paddle._functions.create import *
from ferrograd.paddle._functions.index import *
from ferrograd.paddle._functions.linalg import *
from ferrograd.paddle._functions.predicates import *
from ferrograd.paddle._functions.predicates import VERSION as __version__
from ferrograd.paddle._functions.products import *
from ferrograd.paddle._functions.random import *
from ferrograd.paddle._functions.reduce import *
from ferrograd.paddle._functions.shapes import *
from ferrograd.paddle._functions.signal import *
from ferrograd.paddle._functions.sort import *
from ferrograd.paddle._methods import (
    attributes as _attributes,
    draws as _draws,
    layouts as _layouts,
    linalg as _linalg,
    methods as _methods,
)

# isort: split
from ferrograd._core.paddle import *
from ferrograd._core.paddle import __all__ as _ops

#: The rooms whose functions are methods too, if their first parameter is a tensor.
_INSTALLED = ("arithmetic", "create", "index", "linalg", "products", "random", "reduce", "shapes", "sort")
_rooms = [_shared_methods, *(getattr(_functions, name) for name in _INSTALLED)]
_rooms += [_methods, _draws, _layouts, _linalg, linalg]
_adapters.install_methods(Tensor, _rooms, in_place=_in_place.taking_the_dtype)
_adapters.add_methods(Tensor, _attributes.Attributes, ("__repr__", "__lshift__", "__rshift__"))
_in_place.install(Tensor)
eigvalsh = linalg.eigvalsh
Tensor.__pos__ = positive = _shared_methods.positive  # type: ignore[method-assign]
_own = _public.gathered(globals(), _functions, _dtypes)

#: Modules that are imported when they are first asked for.
_LAZY = {
    *("amp", "audio", "autograd", "base", "callbacks", "device", "distributed", "distribution", "fft", "fluid"),
    *("framework", "geometric", "hapi", "imperative", "incubate", "inference", "io", "jit", "metric", "nn"),
    *("optimizer", "pir", "pir_utils", "regularizer", "signal", "sparse", "special", "static", "tensor", "text"),
    *("utils", "version", "vision", "_C_ops", "_legacy_C_ops", "_pir_ops"),
}
#: Names of such modules that the namespace has too.
_ELSEWHERE = {
    "DataParallel": "distributed.parallel",
    "Model": "hapi",
    "ParamAttr": "nn._parameter",
    "async_save": "_base.files",
    "adaptive_avg_pool1d": "nn._functional.root_forms",
    "autocast": "amp",
    "clear_async_save_task_queue": "_base.files",
    "conv1d": "nn._functional.root_forms",
    "conv2d": "nn._functional.root_forms",
    "conv3d": "nn._functional.root_forms",
    "core": "base",
    "create_parameter": "nn._parameter",
    "flops": "hapi",
    "get_autocast_cpu_dtype": "amp",
    "get_autocast_dtype": "amp",
    "get_autocast_gpu_dtype": "amp",
    "grad": "_base.gradients",
    "group_norm": "nn._functional.root_forms",
    "is_autocast_enabled": "amp",
    "layer_norm": "nn._functional.root_forms",
    "load": "_base.files",
    "save": "_base.files",
    "set_global_initializer": "nn.initializer",
    "summary": "hapi",
}
for _name in _ELSEWHERE:
    globals().pop(_name, None)

__all__ = [
    "DataParallel",
    "Model",
    "ParamAttr",
    "Size",
    "Tensor",
    "__version__",
    "amp",
    "async_save",
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
    "text",
    "utils",
    "version",
]
__all__ += _ops
__all__ += _own
__all__ += [name for name, module in _ELSEWHERE.items() if module == "nn._functional.root_forms"]

_forms = _adapters.in_place_functions(__name__, Tensor, __all__)
globals().update(_forms)
__all__ += _forms

if _TYPE_CHECKING:
    from ferrograd.paddle import (
        amp as amp,
        audio as audio,
        autograd as autograd,
        base as base,
        callbacks as callbacks,
        device as device,
        distributed as distributed,
        distribution as distribution,
        fft as fft,
        fluid as fluid,
        framework as framework,
        geometric as geometric,
        imperative as imperative,
        incubate as incubate,
        io as io,
        jit as jit,
        metric as metric,
        nn as nn,
        optimizer as optimizer,
        regularizer as regularizer,
        signal as signal,
        special as special,
        static as static,
        text as text,
        utils as utils,
        version as version,
        vision as vision,
    )
    from ferrograd.paddle._base.files import async_save as async_save, load as load, save as save
    from ferrograd.paddle._base.gradients import grad as grad
    from ferrograd.paddle.amp import (
        autocast as autocast,
        get_autocast_cpu_dtype as get_autocast_cpu_dtype,
        get_autocast_dtype as get_autocast_dtype,
        get_autocast_gpu_dtype as get_autocast_gpu_dtype,
        is_autocast_enabled as is_autocast_enabled,
    )
    from ferrograd.paddle.distributed.parallel import DataParallel as DataParallel
    from ferrograd.paddle.hapi import Model as Model, flops as flops, summary as summary
    from ferrograd.paddle.nn._functional.root_forms import *
    from ferrograd.paddle.nn._parameter import ParamAttr as ParamAttr, create_parameter as create_parameter
    from ferrograd.paddle.nn.initializer import set_global_initializer as set_global_initializer
else:
    #: What replaces modules that are not here.
    _PLACES = {
        **{name: f"it is paddle.autograd.{name}" for name in ("hessian", "jacobian")},
        **{name: f"it is paddle.incubate.autograd.{name}" for name in ("jvp", "vjp")},
        **{name: f"it is ferrograd.func.{name}" for name in ("jacfwd", "jacrev", "value_and_grad", "vmap")},
        "dataset": "data sets are no part of the library: read files in a paddle.io.Dataset",
        "hub": "use paddle.load with a file that was fetched before",
        "onnx": "use paddle.save with layer.state_dict()",
        "profiler": "use ferrograd.profile",
    }

    def __getattr__(name: str) -> _Any:
        if name in _LAZY:
            return _import_module(f"ferrograd.paddle.{name}")
        if name == "paddle":
            return _import_module("ferrograd.paddle")
        if name in _ELSEWHERE:
            value = getattr(_import_module(f"ferrograd.paddle.{_ELSEWHERE[name]}"), name)
            globals()[name] = value
            _public.owned(globals(), [name])
            return value
        if name in _PLACES:
            raise AttributeError(f"module 'ferrograd.paddle' has no attribute {name!r}: {_PLACES[name]}")
        raise _public.MissingName("ferrograd.paddle", name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in _LAZY if name[0] != "_")})
