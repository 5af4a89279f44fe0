"""The PyTorch dialect: code written for PyTorch's autograd runs with this module instead.

>>> import ferrograd.torch as torch
>>> x = torch.tensor(3.0, requires_grad=True)
>>> y = x * x
>>> y.backward()
>>> x.grad.item()
6.0
"""

from __future__ import annotations

import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from ferrograd._autograd.debugging import is_anomaly_enabled
from ferrograd._autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from ferrograd._core import TorchTensor as Tensor, num_threads as get_num_threads, set_num_threads
from ferrograd._functions import methods as _shared_methods
from ferrograd._kit import adapters as _adapters, public as _public
from ferrograd.torch import _functions
from ferrograd.torch._base import dtypes as _dtypes, generator as _generator, typed_tensors as _typed_tensors
from ferrograd.torch._base.answers import accept_synonyms as _accept_synonyms
from ferrograd.torch._base.dtypes import *
from ferrograd.torch._base.generator import *
from ferrograd.torch._base.typed_tensors import *
from ferrograd.torch._functions.arithmetic import *
from ferrograd.torch._functions.copies import *
from ferrograd.torch._functions.create import *
from ferrograd.torch._functions.index import *
from ferrograd.torch._functions.linalg import *
from ferrograd.torch._functions.predicates import *
from ferrograd.torch._functions.predicates import VERSION as __version__
from ferrograd.torch._functions.products import *
from ferrograd.torch._functions.random import *
from ferrograd.torch._functions.reduce import *
from ferrograd.torch._functions.settings import *
from ferrograd.torch._functions.shapes import *
from ferrograd.torch._functions.signal import *
from ferrograd.torch._functions.sort import *
from ferrograd.torch._functions.sparse import *
from ferrograd.torch._methods import layouts as _layouts, methods as _methods, sparse as _sparse  # noqa: F401
from ferrograd.torch._methods.layouts import *

# isort: split
from ferrograd._core.torch import *
from ferrograd._core.torch import __all__ as _ops

#: The rooms whose functions are methods too, if their first parameter is a tensor.
_INSTALLED = ("arithmetic", "index", "linalg", "products", "reduce", "shapes", "signal", "sort")
_rooms = [getattr(_functions, name) for name in _INSTALLED]
_adapters.install_methods(Tensor, [_shared_methods, *_rooms], _accept_synonyms)
Tensor.bernoulli = _functions.random.bernoulli  # type: ignore[method-assign,assignment]
Tensor.narrow_copy = _functions.copies.narrow_copy  # type: ignore[method-assign,assignment]
Tensor.__pos__ = positive = _shared_methods.positive  # type: ignore[method-assign]
_own = _public.gathered(globals(), _functions, _dtypes, _generator, _typed_tensors, _layouts)

#: Functions of layers, by the module that has them. It imports those of ``nn``.
_LAYERS = {
    "adaptive_max_pool1d": "nn._functional.root_forms",
    "batch_norm": "nn._functional.root_norms",
    "binary_cross_entropy_with_logits": "nn._functional.root_norms",
    "group_norm": "nn._functional.root_norms",
    "kl_div": "nn._functional.root_norms",
    "layer_norm": "nn._functional.root_norms",
    "native_batch_norm": "nn._functional.root_norms",
    "native_group_norm": "nn._functional.root_norms",
    "native_layer_norm": "nn._functional.root_norms",
    "rms_norm": "nn._functional.root_norms",
}
for _name in _LAYERS:
    globals().pop(_name, None)

__all__ = [
    "Tensor",
    "__version__",
    "autograd",
    "cuda",
    "distributions",
    "enable_grad",
    "func",
    "get_num_threads",
    "inference_mode",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "linalg",
    "load",
    "nn",
    "no_grad",
    "optim",
    "save",
    "set_grad_enabled",
    "set_num_threads",
    "special",
    "utils",
    "vmap",
]
__all__ += _ops
__all__ += _own
__all__ += _LAYERS

# In-place random draws are methods only.
_in_place = _adapters.in_place_functions(
    __name__, Tensor, [*sorted({*__all__, "fill", "zero"} - {"bernoulli", "normal", "uniform"})]
)
globals().update(_in_place)
__all__ += _in_place

#: Modules that are imported when they are first asked for.
_LAZY = {
    "__config__",
    "accelerator",
    "amp",
    "autograd",
    "backends",
    "classes",
    "compiler",
    "cpu",
    "cuda",
    "distributed",
    "distributions",
    "export",
    "fft",
    "func",
    "functional",
    "futures",
    "fx",
    "hub",
    "jit",
    "library",
    "linalg",
    "masked",
    "mps",
    "multiprocessing",
    "nn",
    "onnx",
    "ops",
    "optim",
    "overrides",
    "profiler",
    "quasirandom",
    "random",
    "return_types",
    "serialization",
    "signal",
    "sparse",
    "special",
    "storage",
    "testing",
    "types",
    "utils",
    "version",
    "xpu",
}
#: Names of these modules that the namespace has too.
_ELSEWHERE = {
    "affine_grid_generator": "nn._functional.root_forms",
    "alpha_dropout": "nn.functional",
    "alpha_dropout_": "nn._functional.root_forms",
    "autocast": "amp",
    "bilinear": "nn.functional",
    "channel_shuffle": "nn.functional",
    "compile": "compiler",
    "conv_tbc": "nn.functional",
    "convolution": "nn._functional.convolutions",
    "cosine_embedding_loss": "nn._functional.root_forms",
    "ctc_loss": "nn._functional.root_forms",
    "dropout_": "nn._functional.root_forms",
    "embedding": "nn._functional.root_forms",
    "embedding_bag": "nn._functional.root_forms",
    "embedding_renorm_": "nn._functional.root_forms",
    "feature_alpha_dropout": "nn._functional.root_forms",
    "feature_alpha_dropout_": "nn._functional.root_forms",
    "feature_dropout": "nn._functional.root_forms",
    "feature_dropout_": "nn._functional.root_forms",
    "from_dlpack": "utils.dlpack",
    "Future": "futures",
    "SymBool": "_C",
    "SymFloat": "_C",
    "PyTorchFileReader": "_C",
    "ScriptModule": "jit",
    "SymInt": "_C",
    "_assert": "_C",
    "_check_is_size": "_C",
    "_check_tensor_all": "_C",
    "_check_tensor_all_with": "_C",
    "_check_with": "_C",
    "_shape_as_tensor": "_C",
    "_softmax_backward_data": "_C",
    "get_device_module": "_C",
    "_check": "_C",
    "_check_index": "_C",
    "_check_type": "_C",
    "_check_value": "_C",
    "cond": "_C",
    "while_loop": "_C",
    "sym_float": "_C",
    "sym_int": "_C",
    "sym_max": "_C",
    "sym_min": "_C",
    "sym_not": "_C",
    "_assert_async": "_C",
    "_convert_indices_from_coo_to_csr": "_functions.sparse",
    "_convert_indices_from_csr_to_coo": "_functions.sparse",
    "_sample_dirichlet": "nn._functional.root_forms",
    "_masked_softmax": "nn._functional.root_forms",
    "_softmax": "nn._functional.root_forms",
    "_log_softmax": "nn._functional.root_forms",
    "_add_relu": "nn._functional.root_forms",
    "_segment_reduce": "_functions.index",
    "_standard_gamma": "nn._functional.root_forms",
    "get_autocast_cpu_dtype": "amp.autocast_mode",
    "get_autocast_dtype": "amp",
    "get_autocast_gpu_dtype": "amp.autocast_mode",
    "GradScaler": "amp",
    "OutOfMemoryError": "cuda",
    "grid_sampler": "nn._functional.root_forms",
    "grid_sampler_2d": "nn._functional.root_forms",
    "grid_sampler_3d": "nn._functional.root_forms",
    "TypedStorage": "storage",
    "UntypedStorage": "storage",
    "gru": "nn._functional.root_recurrent",
    "gru_cell": "nn._functional.root_recurrent",
    "hinge_embedding_loss": "nn._functional.root_forms",
    "instance_norm": "nn._functional.root_forms",
    "is_autocast_cpu_enabled": "amp.autocast_mode",
    "is_autocast_enabled": "amp",
    "lstm": "nn._functional.root_recurrent",
    "lstm_cell": "nn._functional.root_recurrent",
    "margin_ranking_loss": "nn._functional.root_forms",
    "native_channel_shuffle": "nn._functional.root_forms",
    "norm_except_dim": "nn._functional.root_forms",
    "pixel_shuffle": "nn.functional",
    "pixel_unshuffle": "nn.functional",
    "poisson_nll_loss": "nn._functional.root_forms",
    "resize_as_": "nn._functional.root_forms",
    "rnn_relu": "nn._functional.root_recurrent",
    "rnn_relu_cell": "nn._functional.root_recurrent",
    "rnn_tanh": "nn._functional.root_recurrent",
    "rnn_tanh_cell": "nn._functional.root_recurrent",
    "rrelu": "nn.functional",
    "rrelu_": "nn._functional.root_forms",
    "set_autocast_dtype": "amp",
    "set_autocast_enabled": "amp",
    "to_dlpack": "utils.dlpack",
    "triplet_margin_loss": "nn._functional.root_forms",
    "load": "serialization",
    "save": "serialization",
    "vmap": "_base.vmap",
    **_LAYERS,
}

if _TYPE_CHECKING:
    from ferrograd.torch import (
        autograd as autograd,
        cuda as cuda,
        distributions as distributions,
        func as func,
        linalg as linalg,
        nn as nn,
        optim as optim,
        special as special,
        utils as utils,
    )
    from ferrograd.torch._base.vmap import vmap as vmap
    from ferrograd.torch.amp import GradScaler as GradScaler, autocast as autocast
    from ferrograd.torch.compiler import compile as compile
    from ferrograd.torch.nn._functional.root_forms import adaptive_max_pool1d as adaptive_max_pool1d
    from ferrograd.torch.nn._functional.root_norms import *
    from ferrograd.torch.serialization import load as load, save as save
else:
    #: What replaces functions that torch has removed, or that are not here.
    _PLACES = {
        "eig": "torch.linalg.eig",
        "lobpcg": "torch.linalg.eigh, or scipy.sparse.linalg.lobpcg",
        "lstsq": "torch.linalg.lstsq",
        "matrix_rank": "torch.linalg.matrix_rank",
        "qr": "torch.linalg.qr",
        "solve": "torch.linalg.solve",
        "symeig": "torch.linalg.eigh",
        **{name: f"torch.func.{name}" for name in ("hessian", "jacfwd", "jacrev", "jvp", "vjp")},
        "jacobian": "torch.autograd.functional.jacobian",
        "value_and_grad": "torch.func.grad_and_value",
    }

    def __getattr__(name: str) -> _Any:
        if name in _PLACES:
            raise AttributeError(f"module 'ferrograd.torch' has no attribute {name!r}: use {_PLACES[name]}")
        if name in ("torch", "_VF"):
            return _import_module("ferrograd.torch")
        if name.startswith("_foreach_"):
            return _import_module("ferrograd.torch._functions.foreach").function(name)
        if name in _LAZY or name in ("_C", "_dynamo", "_inductor", "_utils", "_vmap_internals"):
            return _import_module(f"ferrograd.torch.{name}")
        if name in _ELSEWHERE:
            value = getattr(_import_module(f"ferrograd.torch.{_ELSEWHERE[name]}"), name)
            globals()[name] = value
            _public.owned(globals(), [name])
            return value
        if name.startswith("__"):
            raise _public.MissingName("ferrograd.torch", name)
        return _import_module("ferrograd.torch._base.absent").look_up("ferrograd.torch", name)

    def __dir__() -> list[str]:
        return sorted(n for n in {*__all__, *_LAZY, *_ELSEWHERE} if n[0] != "_" or n in __all__)

    class _Absent:
        """Finds modules of PyTorch that mean nothing here."""

        @staticmethod
        def find_spec(fullname: str, path: _Any = None, target: _Any = None) -> _Any:
            """The specification of such a module below ``ferrograd.torch``."""
            if not fullname.startswith("ferrograd.torch."):
                return None
            return _import_module("ferrograd.torch._base.absent").find_spec(fullname)

    _sys.meta_path.append(_Absent)
