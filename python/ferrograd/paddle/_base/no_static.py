"""The names of Paddle's static graph, of its C++ module and of its compiler of functions, which are not here.

Programs import such names, compare classes with them, and use them in branches that never run. So each can be imported,
is a class that nothing is an instance of, and raises ``StaticGraphError`` with the way out where it is called or read
from. :data:`ABSENT` has all of them.

>>> import ferrograd.paddle as paddle
>>> isinstance(paddle.ones([1]), paddle.static.Program)
False
>>> try:
...     paddle.static.Program()
... except NotImplementedError as e:
...     print(e)
paddle.static.Program: this library has the dynamic graph only; ops run at once: leave programs and executors out
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

from ferrograd._kit import public as _public
from ferrograd.paddle._functions.predicates import StaticGraphError

__all__ = ["ABSENT", "absent", "module_names"]

_RUN = "ops run at once: leave programs and executors out"
_GRADIENTS = "use paddle.grad or backward"
_LAYERS = "use the layers of paddle.nn, or paddle.create_parameter"
_FILES = "use paddle.save and paddle.load with layer.state_dict()"
_CONTROL = "write Python's if, for and while; paddle.jit.to_static compiles them"
_DATA = "use paddle.io.DataLoader"
_INDEX = "write x[index], or x[index] = value"
_KERNELS = "call the function of the same name in paddle or paddle.nn.functional"
_TRACE = "paddle.jit.to_static traces functions as they are, without changing their source"
_TENSORS = "use paddle.to_tensor"
_PREDICT = "call the layer itself under paddle.no_grad()"
_DEVICE = "the CPU is the only device here"

_PROGRAM = "Block Operator Program default_main_program default_startup_program program_guard name_scope"
_PROGRAM += " device_guard switch_main_program switch_startup_program ipu_shard_guard set_ipu_shard"
_EXECUTOR = "Executor Scope global_scope scope_guard CompiledProgram ExecutionStrategy"

#: By module below ``paddle``: the names it has in Paddle, by what to do instead. A star stands for every public name.
ABSENT: dict[str, dict[str, str]] = {
    "_C_ops": {_KERNELS: "*"},
    "_legacy_C_ops": {_KERNELS: "*"},
    "_pir_ops": {_KERNELS: "*"},
    "autograd.backward_utils": {_GRADIENTS: "State ValueDict ValueSet ValueWrapper"},
    "autograd.ir_backward": {_GRADIENTS: "calc_gradient calc_gradient_helper grad"},
    "base": {
        _RUN: f"{_PROGRAM} {_EXECUTOR} IpuCompiledProgram IpuStrategy",
        _GRADIENTS: "append_backward gradients",
        _DATA: "DataFeeder DataFeedDesc DatasetFactory InMemoryDataset QueueDataset",
        _TENSORS: "DenseTensor DenseTensorArray create_lod_tensor create_random_int_lodtensor",
        _LAYERS: "WeightNormParamAttr",
        _DEVICE: "IPUPlace cuda_pinned_places cuda_places xpu_places",
    },
    "base.backward": {
        _GRADIENTS: "append_backward calc_gradient gradients gradients_with_optimizer _append_grad_suffix_ _as_list"
    },
    "base.compiler": {_RUN: "CompiledProgram ExecutionStrategy IpuCompiledProgram IpuStrategy"},
    "base.core": {
        _RUN: "AttrType BlockDesc OpDesc ProgramDesc Scope ParallelStrategy PassVersionChecker _Scope",
        _TENSORS: "DenseTensor DenseTensorArray LoDTensor SelectedRows",
        _KERNELS: "ops",
        _PREDICT: "AnalysisConfig AnalysisPredictor NativePaddlePredictor PaddleBuf PaddleDType PaddleInferPredictor "
        "PaddleInferTensor PaddlePredictor create_paddle_predictor",
        _DEVICE: "IPUPlace CUDAStream CUDAEvent XPUStream XPUEvent CUDAGraph to_uva_tensor",
        _DATA: "Reader",
        _FILES: "CipherFactory CipherUtils",
    },
    "base.executor": {_RUN: f"{_EXECUTOR} FetchHandler as_numpy"},
    "base.framework": {
        _RUN: f"{_PROGRAM} IrGraph IrNode IrOpNode IrVarNode OpProtoHolder NameScope grad_var_name",
        _DEVICE: "cuda_pinned_places cuda_places xpu_places",
        _LAYERS: "Parameter",
    },
    "base.io": {_DATA: "PyReader"},
    "base.layer_helper": {_LAYERS: "LayerHelper"},
    "base.layer_helper_base": {_LAYERS: "LayerHelperBase"},
    "base.proto": {_RUN: "framework_pb2 data_feed_pb2 distributed_strategy_pb2"},
    "base.reader": {
        _DATA: "CleanupFuncRegistrar DataLoader GeneratorLoader PyReader _reader_process_loop multiprocess_queue_set "
        "use_pinned_memory"
    },
    "base.variable_index": {_INDEX: "_getitem_static _setitem_static _getitem_impl_ _setitem_impl_ parse_index"},
    "common_ops_import": {_LAYERS: "LayerHelper", _RUN: "OpProtoHolder default_main_program device_guard"},
    "decomposition": {_GRADIENTS: "*"},
    "distributed.fleet.meta_optimizers": {"use the optimizers of paddle.optimizer": "*"},
    "distributed.fleet.meta_parallel": {"each process has the whole model: use paddle.DataParallel": "*"},
    "framework": {_RUN: "Block IrGraph OpProtoHolder Program LayerHelper io_utils"},
    "hapi.model": {"give paddle.DataParallel(layer) to paddle.Model": "prepare_distributed_context"},
    "incubate.autograd": {_GRADIENTS: "primapi"},
    "incubate.optimizer.line_search_dygraph": {
        "use paddle.optimizer.LBFGS with line_search_fn='strong_wolfe'": "_cubic_interpolate _strong_wolfe"
    },
    "inference": {
        _PREDICT: "Config DataType PlaceType PrecisionType Predictor "
        "PredictorPool Tensor create_predictor convert_to_mixed_precision get_version"
    },
    "jit.dy2static": {
        _TRACE: "And AsDtype Assert Attr Call DygraphToStaticAst IfElse Indexable Ld Len Not Or Shape UndefinedVar "
        "Unpack While WrapSuper convert_operators convert_to_static create_bool_as_type to_static_variable"
    },
    "jit.dy2static.convert_call_func": {_TRACE: "BUILTIN_LIKELY_MODULES CONVERSION_OPTIONS convert_call"},
    "jit.dy2static.function_spec": {_TRACE: "FunctionSpec"},
    "jit.dy2static.origin_info": {
        _TRACE: "ORIGIN_INFO Location OriginInfo attach_origin_info create_and_update_origin_info_map"
    },
    "jit.dy2static.partial_program": {_TRACE: "PartialProgramLayer partial_program_from"},
    "jit.dy2static.pir_partial_program": {_TRACE: "PartialProgramLayer RunnableProgram partial_program_from"},
    "jit.dy2static.program_translator": {
        _TRACE: "ASTStaticFunction ConcreteProgram ProgramCache SymbolicStaticFunction convert_to_static"
    },
    "jit.dy2static.transformers": {_TRACE: "DygraphToStaticAst apply_optimization"},
    "jit.dy2static.transformers.logical_transformer": {_TRACE: "*"},
    "jit.dy2static.transformers.loop_transformer": {_TRACE: "*"},
    "jit.dy2static.transformers.utils": {_TRACE: "*"},
    "jit.dy2static.utils": {
        _TRACE: "GetterSetterHelper _compatible_non_tensor_spec ast_to_func ast_to_source_code func_to_source_code "
        "is_paddle_func"
    },
    "jit.pir_translated_layer": {_FILES: "PirTranslatedLayer"},
    "pir": {
        _RUN: "Block CloneOptions IrMapping Operation OpOperand OpResult PassManager Program Type Value "
        "get_current_insertion_point set_insertion_point translate_to_pir"
    },
    "utils.download": {
        "fetch the file yourself, and give its path": "get_path_from_url get_weights_path_from_url "
        "_decompress _download _get_unique_endpoints _md5check"
    },
    "utils.gast": {"use Python's ast": "*"},
    "static": {
        _RUN: f"{_PROGRAM} {_EXECUTOR} IpuCompiledProgram IpuStrategy Print py_func accuracy auc ctr_metric_bundle",
        "use paddle.to_tensor, and InputSpec where a shape is wanted": "data",
        _GRADIENTS: "append_backward gradients",
        _FILES: "deserialize_persistables deserialize_program load load_from_file load_inference_model "
        "load_program_state normalize_program save save_inference_model save_to_file serialize_persistables "
        "serialize_program set_program_state",
        _LAYERS: "WeightNormParamAttr create_global_var create_parameter",
        "average the parameters with paddle.incubate.optimizer.ModelAverage": "ExponentialMovingAverage",
        _INDEX: "setitem",
        _DEVICE: "cpu_places cuda_places xpu_places",
    },
    "static.amp": {
        "use paddle.amp": "AutoMixedPrecisionLists CustomOpLists bf16 cast_model_to_fp16 cast_parameters_to_fp16 "
        "debugging decorate"
    },
    "static.nn": {
        _LAYERS: "batch_norm bilinear_tensor_product conv2d conv2d_transpose conv3d conv3d_transpose deform_conv2d "
        "embedding fc group_norm instance_norm layer_norm nce prelu row_conv sequence_conv sequence_expand "
        "sequence_first_step sequence_last_step sequence_pool sequence_softmax sparse_embedding spectral_norm",
        _CONTROL: "case cond switch_case while_loop",
        "write a paddle.autograd.PyLayer": "py_func static_pylayer",
    },
    "vision.datasets": {
        "read files that you have in a paddle.io.Dataset": "Cifar10 Cifar100 DatasetFolder FashionMNIST Flowers "
        "ImageFolder MNIST VOC2012"
    },
}

#: Why the names of a module are not here, where it is not that there is no static graph.
REASONS = {
    **dict.fromkeys(("utils.download", "vision.datasets"), "nothing is fetched from the web"),
    **dict.fromkeys(("distributed.fleet.meta_parallel", "hapi.model"), "models are not divided among processes"),
}
GRAPH = "this library has the dynamic graph only"


class _StandIn(type):
    """The class of the classes that stand for absent names."""

    path: str
    reason: str
    way: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise StaticGraphError(f"{cls.path}: {cls.reason}; {cls.way}")

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise StaticGraphError(f"{cls.path}.{name}: {cls.reason}; {cls.way}")

    def __repr__(cls) -> str:
        return f"<{cls.path}, which is not here>"


def absent(module: str, name: str) -> Any:
    """The class that stands for a name of a module below ``paddle``, or None if the module has no such name.

    It is made when it is first asked for, and is the same afterwards.
    """
    for way, names in ABSENT[module].items():
        if name in names.split() or (names == "*" and not name.startswith("__")):
            path = f"paddle.{module}.{name}"
            about = {"path": path, "reason": REASONS.get(module, GRAPH), "way": way}
            return _StandIn(name, (), {**about, "__module__": f"paddle.{module}"})
    return None


def module_names(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and the ``__dir__`` of a module of this package, which then has the absent names too.

    Completion does not offer these.
    """
    place, own = module.removeprefix("ferrograd.paddle."), sys.modules[module]

    def __getattr__(name: str) -> Any:
        found = absent(place, name)
        if found is None:
            raise _public.MissingName(module, name)
        setattr(own, name, found)
        return found

    return __getattr__, _public.names(vars(own))
