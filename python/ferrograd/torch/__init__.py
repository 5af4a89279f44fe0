"""The PyTorch dialect: code written for PyTorch's autograd runs with this module instead.

>>> import ferrograd.torch as torch
>>> x = torch.tensor(3.0, requires_grad=True)
>>> y = x * x
>>> y.backward()
>>> x.grad.item()
6.0
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from ferrograd import _public
from ferrograd._autograd.debugging import is_anomaly_enabled
from ferrograd._autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from ferrograd._core import TorchTensor as Tensor
from ferrograd._core import num_threads as get_num_threads
from ferrograd._core import set_num_threads
from ferrograd._dialects import adapters as _adapters
from ferrograd._dialects import methods as _shared_methods
from ferrograd.torch import (
    _classes,
    _creation,
    _files,
    _framework,
    _functions,
    _generator,
    _layers,
    _layouts,
    _more,
    _reductions,
    _settings,
    _shapes,
    _special,
    _view_copies,
    _window_functions,
    autograd,
    cuda,
    distributions,
    func,
    linalg,
    nn,
    optim,
    utils,
)
from ferrograd.torch._classes import *
from ferrograd.torch._creation import *
from ferrograd.torch._dtypes import *
from ferrograd.torch._dtypes import __all__ as _dtypes
from ferrograd.torch._files import *
from ferrograd.torch._framework import *
from ferrograd.torch._framework import VERSION as __version__
from ferrograd.torch._functions import *
from ferrograd.torch._generator import *
from ferrograd.torch._layers import *
from ferrograd.torch._layouts import *
from ferrograd.torch._more import *
from ferrograd.torch._reductions import *
from ferrograd.torch._settings import *
from ferrograd.torch._shapes import *
from ferrograd.torch._special import *
from ferrograd.torch._view_copies import *
from ferrograd.torch._vmap import vmap
from ferrograd.torch._window_functions import *

# isort: split
from ferrograd._core.torch import *
from ferrograd._core.torch import __all__ as _ops

_adapters.install_methods(Tensor, [_shared_methods, _functions, _reductions, _shapes, _special])
Tensor.bernoulli = _creation.bernoulli  # type: ignore[method-assign,assignment]
Tensor.hash_tensor = _more.hash_tensor  # type: ignore[method-assign,assignment]
Tensor.narrow_copy = _view_copies.narrow_copy  # type: ignore[method-assign,assignment]
Tensor.__pos__ = positive = _shared_methods.positive  # type: ignore[method-assign]
# A function whose meaning is torch's own replaces the core's function of the same name.
for _module in (_creation, _functions, _generator, _layers, _layouts, _more, _reductions, _shapes, _special):
    globals().update({name: getattr(_module, name) for name in _module.__all__})

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
    "nn",
    "no_grad",
    "optim",
    "set_grad_enabled",
    "set_num_threads",
    "special",
    "utils",
    "vmap",
]
__all__ += _ops
__all__ += _dtypes
__all__ += _classes.__all__
__all__ += _view_copies.__all__
__all__ += _creation.__all__
__all__ += _files.__all__
__all__ += _framework.__all__
__all__ += _functions.__all__
__all__ += _generator.__all__
__all__ += _layers.__all__
__all__ += _layouts.__all__
__all__ += _more.__all__
__all__ += _reductions.__all__
__all__ += _settings.__all__
__all__ += _shapes.__all__
__all__ += _special.__all__
__all__ += _window_functions.__all__

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
    "backends",
    "compiler",
    "cpu",
    "distributed",
    "fft",
    "functional",
    "futures",
    "fx",
    "hub",
    "jit",
    "library",
    "masked",
    "mps",
    "multiprocessing",
    "onnx",
    "ops",
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
    "version",
    "xpu",
}
#: Names of these modules that the namespace has too.
_ELSEWHERE = {
    "affine_grid_generator": "_aten",
    "alpha_dropout": "nn.functional",
    "alpha_dropout_": "_aten",
    "autocast": "amp",
    "bilinear": "nn.functional",
    "channel_shuffle": "nn.functional",
    "compile": "compiler",
    "conv_tbc": "nn.functional",
    "cosine_embedding_loss": "_aten",
    "ctc_loss": "_aten",
    "dropout_": "_aten",
    "embedding": "_aten",
    "embedding_bag": "_aten",
    "embedding_renorm_": "_aten",
    "feature_alpha_dropout": "_aten",
    "feature_alpha_dropout_": "_aten",
    "feature_dropout": "_aten",
    "feature_dropout_": "_aten",
    "from_dlpack": "utils.dlpack",
    "Future": "futures",
    "SymBool": "_C",
    "SymFloat": "_C",
    "PyTorchFileReader": "_C",
    "ScriptModule": "jit",
    "SymInt": "_C",
    "_assert": "_C",
    "_check": "_C",
    "_check_index": "_C",
    "_check_type": "_C",
    "_check_value": "_C",
    "cond": "_C",
    "sym_float": "_C",
    "sym_int": "_C",
    "sym_max": "_C",
    "sym_min": "_C",
    "sym_not": "_C",
    "_assert_async": "_C",
    "_convert_indices_from_coo_to_csr": "_more",
    "_convert_indices_from_csr_to_coo": "_more",
    "_sample_dirichlet": "_aten",
    "_segment_reduce": "_special",
    "_standard_gamma": "_aten",
    "get_autocast_cpu_dtype": "amp.autocast_mode",
    "get_autocast_dtype": "amp",
    "get_autocast_gpu_dtype": "amp.autocast_mode",
    "GradScaler": "amp",
    "OutOfMemoryError": "cuda",
    "grid_sampler": "_aten",
    "grid_sampler_2d": "_aten",
    "grid_sampler_3d": "_aten",
    "TypedStorage": "storage",
    "UntypedStorage": "storage",
    "gru": "_recurrent",
    "gru_cell": "_recurrent",
    "hinge_embedding_loss": "_aten",
    "instance_norm": "_aten",
    "is_autocast_cpu_enabled": "amp.autocast_mode",
    "is_autocast_enabled": "amp",
    "lstm": "_recurrent",
    "lstm_cell": "_recurrent",
    "margin_ranking_loss": "_aten",
    "native_channel_shuffle": "_aten",
    "norm_except_dim": "_aten",
    "pixel_shuffle": "nn.functional",
    "pixel_unshuffle": "nn.functional",
    "poisson_nll_loss": "_aten",
    "resize_as_": "_aten",
    "rnn_relu": "_recurrent",
    "rnn_relu_cell": "_recurrent",
    "rnn_tanh": "_recurrent",
    "rnn_tanh_cell": "_recurrent",
    "rrelu": "nn.functional",
    "rrelu_": "_aten",
    "set_autocast_dtype": "amp",
    "set_autocast_enabled": "amp",
    "to_dlpack": "utils.dlpack",
    "triplet_margin_loss": "_aten",
}

if _TYPE_CHECKING:
    from ferrograd.torch import special as special
    from ferrograd.torch.amp import GradScaler as GradScaler
    from ferrograd.torch.amp import autocast as autocast
    from ferrograd.torch.compiler import compile as compile
else:
    #: What replaces functions that torch has removed, or that are not here.
    _PLACES = {
        "_higher_order_ops": "torch.func",
        "ao": "torch.autocast for half precision; there are no quantized tensors",
        "eig": "torch.linalg.eig",
        "export": "torch.compile, whose functions ferrograd.save writes",
        "lobpcg": "torch.linalg.eigh, or scipy.sparse.linalg.lobpcg",
        "lstsq": "torch.linalg.lstsq",
        "matrix_rank": "torch.linalg.matrix_rank",
        "nested": "torch.nn.utils.rnn.pad_sequence",
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
            return _import_module("ferrograd.torch._foreach").function(name)
        if name in _LAZY or name in ("_C", "_dynamo", "_inductor", "_utils"):
            return _import_module(f"ferrograd.torch.{name}")
        if name in _ELSEWHERE:
            return getattr(_import_module(f"ferrograd.torch.{_ELSEWHERE[name]}"), name)
        raise _public.MissingName("ferrograd.torch", name)

    def __dir__() -> list[str]:
        return sorted(n for n in {*__all__, *_LAZY, *_ELSEWHERE} if n[0] != "_" or n in __all__)
