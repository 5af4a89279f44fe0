"""Automatic differentiation of any order, with a Rust core and dialects of Paddle and PyTorch.

The functions follow the Python array API standard. Ops on a tensor with ``requires_grad=True`` are recorded in a graph;
``grad`` and ``backward`` compute gradients from it.

>>> import ferrograd as fg
>>> x = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> fg.grad(fg.sum(fg.sin(x) * x), x).shape
(3,)
"""

from __future__ import annotations

import os as _os
import sys as _sys
import typing as _typing
from importlib import import_module as _import_module
from typing import Any as _Any

import numpy as _np

from ferrograd import _core, linalg
from ferrograd._autograd.gradients import backward, grad
from ferrograd._autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    numpy_conversion,
    set_grad_enabled,
)
from ferrograd._core import (
    ArgumentError,
    ConversionError,
    DtypeError,
    DuplicateTensorError,
    FerrogradError,
    FreedGraphError,
    GradientEdge,
    IndexOutOfRange,
    InternalError,
    LeafInplaceError,
    LinAlgError,
    Node,
    NotDifferentiableError,
    NotFiniteError,
    ProgramFileError,
    RemovableHandle,
    ShapeError,
    Tensor,
    UnusedInputError,
    VmapError,
    __version__ as __version__,
    empty_cache,
    from_dlpack,
    gradient_edge as get_gradient_edge,
    num_threads as get_num_threads,
    register_multi_grad_hook,
    set_cache_limit,
    set_num_threads,
)
from ferrograd._kit import forks as _forks, memory as _memory, public as _public, threads as _threads  # noqa: F401
from ferrograd._kit.dialect import NATIVE as _NATIVE
from ferrograd._native import einops as _einops, roles as _roles  # noqa: F401

if _typing.TYPE_CHECKING:
    # For a type checker the first definition of a name counts. At run time they come from `_LAZY` below.
    from ferrograd._functions.array_api import (
        astype as astype,
        broadcast_arrays as broadcast_arrays,
        meshgrid as meshgrid,
        unique_all as unique_all,
    )

# isort: split
from ferrograd._core.native import *  # type: ignore[assignment]

_threads.obey_environment()
_memory.obey_environment()

#: Functions of NumPy that no function of the core or of the standard is.
_OF_NUMPY = """
    append argpartition atleast_1d atleast_2d atleast_3d average bartlett blackman delete diag_indices digitize
    dsplit flatnonzero geomspace gradient hamming hanning hsplit insert intersect1d kaiser lexsort logspace
    nanargmax nanargmin nancumprod nancumsum nanmax nanmedian nanmin nanpercentile nanprod nanstd nanvar
    partition percentile polyfit polyval ravel_multi_index setdiff1d tri tril_indices triu_indices union1d
    unique unravel_index vsplit
""".split()  # noqa: SIM905

if _typing.TYPE_CHECKING:
    from ferrograd import autograd, distributed, fft, func, optim, paddle, testing, torch  # noqa: F401
    from ferrograd._autograd.checkpoint import CheckpointError, checkpoint, checkpoint_sequential
    from ferrograd._autograd.debugging import (
        debug_nans,
        detect_anomaly,
        is_anomaly_enabled,
        safe_gradients,
        set_detect_anomaly,
    )
    from ferrograd._autograd.function import Function, once_differentiable
    from ferrograd._autograd.profiling import profile
    from ferrograd._autograd.saved_tensors import (
        compress_saved,
        disable_saved_tensors_hooks,
        save_on_cpu,
        saved_tensors_hooks,
        spill_saved,
    )
    from ferrograd._compile import CompileError, compile, debug_print, load_compiled
    from ferrograd._functions.array_api import (
        __array_namespace_info__,
        broadcast_shapes,
        can_cast,
        cumulative_prod,
        cumulative_sum,
        finfo,
        iinfo,
        isdtype,
        result_type,
        unique_counts,
        unique_inverse,
        unique_values,
    )
    from ferrograd._graph.graph import Graph, graph
    from ferrograd._native.install_as import install_as
    from ferrograd._numpy.functions import *
    from ferrograd._tensor.dtypes import bfloat16
    from ferrograd._tensor.shape import Size
    from ferrograd.func._trees import stop_gradient
else:
    # Modules that not every program needs, each with the names that import it on first use.
    _LAZY = {
        "_autograd.checkpoint": ("CheckpointError", "checkpoint", "checkpoint_sequential"),
        "_autograd.function": ("Function", "once_differentiable"),
        "_graph.graph": ("Graph", "graph"),
        "_functions.array_api": (
            "__array_namespace_info__",
            "astype",
            "broadcast_arrays",
            "broadcast_shapes",
            "can_cast",
            "cumulative_prod",
            "cumulative_sum",
            "finfo",
            "iinfo",
            "isdtype",
            "meshgrid",
            "result_type",
            "special",
            "unique_all",
            "unique_counts",
            "unique_inverse",
            "unique_values",
        ),
        "_numpy.functions": _OF_NUMPY,
        "_native.install_as": ("install_as",),
        "func._trees": ("stop_gradient",),
        "_compile": ("CompileError", "compile", "debug_print", "load_compiled"),
        "_autograd.profiling": ("profile",),
        "_autograd.saved_tensors": (
            "compress_saved",
            "disable_saved_tensors_hooks",
            "save_on_cpu",
            "saved_tensors_hooks",
            "spill_saved",
        ),
        "_tensor.dtypes": ("bfloat16",),
        "_tensor.shape": ("Size",),
        "_autograd.debugging": (
            "debug_nans",
            "detect_anomaly",
            "is_anomaly_enabled",
            "safe_gradients",
            "set_detect_anomaly",
        ),
    }
    _MODULE = {name: module for module, names in _LAZY.items() for name in names}
    # A function of the standard replaces the core's function of the same name.
    for _name in _MODULE.keys() & globals().keys():
        del globals()[_name]
    _FOLDERS = ("autograd", "distributed", "fft", "func", "optim", "paddle", "testing", "torch")
    #: What replaces names of other libraries that are not here.
    _PLACES = {
        "GradientTape": "ferrograd.func.grad, or y.backward()",
        "Variable": "ferrograd.tensor(..., requires_grad=True)",
        "array": "ferrograd.tensor, or ferrograd.asarray",
        "beta": "ferrograd.exp(ferrograd.betaln(a, b))",
        "check_grads": "ferrograd.testing.check",
        "custom_jvp": "ferrograd.Function",
        "custom_vjp": "ferrograd.Function",
        "divmod": "Python's divmod, which takes tensors",
        "dot_product_attention": "ferrograd.torch.nn.functional.scaled_dot_product_attention",
        "factorial": "ferrograd.exp(ferrograd.gammaln(n + 1))",
        "gamma": "ferrograd.exp(ferrograd.gammaln(x)), for positive x",
        "identity": "ferrograd.eye",
        "lax": "ferrograd.func: cond, scan, while_loop",
        "load": "ferrograd.torch.load, or ferrograd.paddle.load; ferrograd.distributed.load in several processes",
        "matvec": "ferrograd.matmul, or ferrograd.mv",
        "minimize": "scipy.optimize.minimize with ferrograd.func.for_numpy, or ferrograd.optim",
        "modf": "x - ferrograd.trunc(x), and ferrograd.trunc(x)",
        "nn": "ferrograd.torch.nn, or ferrograd.paddle.nn",
        "numpy": "ferrograd itself: sin, sum, where, linalg",
        "optimizer": "ferrograd.optim, or ferrograd.paddle.optimizer",
        "optimize": "scipy.optimize with ferrograd.func.for_numpy, or ferrograd.optim",
        "random": "ferrograd itself: rand, randn, randint, manual_seed",
        "save": "ferrograd.torch.save, or ferrograd.paddle.save; ferrograd.distributed.save in several processes",
        "seed": "ferrograd.manual_seed",
        "stats": "ferrograd.torch.distributions, which take tensors of ferrograd",
        "vectorize": "ferrograd.func.vmap",
    }

    def __getattr__(name):
        if name in _FOLDERS:
            return _import_module(f"ferrograd.{name}")
        if name in _PLACES:
            raise AttributeError(f"module 'ferrograd' has no attribute {name!r}: it is {_PLACES[name]}")
        if name not in _MODULE:
            raise _public.MissingName("ferrograd", name)
        value = getattr(_import_module(f"ferrograd.{_MODULE[name]}"), name)
        globals()[name] = value
        _public.owned(globals(), [name])
        return value

    def __dir__():
        return sorted({*__all__, *_FOLDERS})


__all__ = [
    "ArgumentError",
    "CheckpointError",
    "CompileError",
    "ConversionError",
    "DtypeError",
    "DuplicateTensorError",
    "FerrogradError",
    "FreedGraphError",
    "Function",
    "GradientEdge",
    "Graph",
    "IndexOutOfRange",
    "InternalError",
    "LeafInplaceError",
    "LinAlgError",
    "Node",
    "NotDifferentiableError",
    "NotFiniteError",
    "ProgramFileError",
    "RemovableHandle",
    "ShapeError",
    "Size",
    "Tensor",
    "UnusedInputError",
    "VmapError",
    "__array_api_version__",
    "__array_namespace_info__",
    "__version__",
    "asarray",
    "backward",
    "bfloat16",
    "bool",
    "broadcast_shapes",
    "can_cast",
    "checkpoint",
    "checkpoint_sequential",
    "compile",
    "complex64",
    "complex128",
    "compress_saved",
    "cumulative_prod",
    "cumulative_sum",
    "debug_nans",
    "debug_print",
    "detect_anomaly",
    "disable_saved_tensors_hooks",
    "e",
    "empty_cache",
    "enable_grad",
    "fft",
    "finfo",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "get_gradient_edge",
    "get_num_threads",
    "grad",
    "graph",
    "iinfo",
    "inf",
    "inference_mode",
    "install_as",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "isdtype",
    "linalg",
    "load_compiled",
    "nan",
    "newaxis",
    "no_grad",
    "numpy_conversion",
    "once_differentiable",
    "pi",
    "profile",
    "register_multi_grad_hook",
    "result_type",
    "safe_gradients",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_cache_limit",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_num_threads",
    "spill_saved",
    "stop_gradient",
    "tensor",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]
__all__ += _OF_NUMPY
__all__ += _core.native.__all__  # type: ignore[attr-defined]

__array_api_version__ = "2025.12"

bool = _np.dtype("bool")
int8 = _np.dtype("int8")
int16 = _np.dtype("int16")
int32 = _np.dtype("int32")
int64 = _np.dtype("int64")
uint8 = _np.dtype("uint8")
uint16 = _np.dtype("uint16")
uint32 = _np.dtype("uint32")
uint64 = _np.dtype("uint64")
float16 = _np.dtype("float16")
float32 = _np.dtype("float32")
float64 = _np.dtype("float64")
complex64 = _np.dtype("complex64")
complex128 = _np.dtype("complex128")

e = _np.e
pi = _np.pi
inf = _np.inf
nan = _np.nan
newaxis = None


def tensor(data: _Any, dtype: _Any = None, requires_grad: _Any = False) -> Tensor:
    """A tensor with a copy of numbers, nested lists, arrays or tensors.

    Python floats get the default float dtype (float32), ints int64. Arrays and tensors keep their dtype.

    >>> fg.tensor([[1, 2], [3, 4]], dtype=fg.float64, requires_grad=True).shape
    (2, 2)
    """
    return _core.make(data, dtype, requires_grad, _NATIVE)


def asarray(obj: _Any, /, *, dtype: _Any = None, device: object = None, copy: _Any = None) -> Tensor:
    """The object as a tensor. A tensor of that dtype is returned as it is, unless ``copy`` is true; it keeps its graph.

    Everything else is copied, since no memory is shared that others could write to; ``copy=False`` raises then.

    >>> fg.asarray([1, 2, 3]).dtype
    dtype('int64')
    """
    if device is not None:
        _core.check_device("asarray", device)
    if isinstance(obj, Tensor) and (dtype is None or obj.dtype == dtype):
        return obj.clone() if copy else obj
    if copy is not None and not copy:
        raise ArgumentError("asarray: the elements must be copied, and copy=False forbids it")
    if isinstance(obj, Tensor):
        return obj.cast(dtype)
    return _core.make(obj, dtype, False, _NATIVE)


_public.owned(globals(), __all__)

# A child of a fork draws random numbers of its own, as another process does.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(before=_core.before_fork, after_in_child=_core.after_fork_in_child)

# einops may be imported before or after.
_einops.watch(_sys.modules[__name__])
