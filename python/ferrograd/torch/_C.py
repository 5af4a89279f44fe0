"""What libraries read of PyTorch's compiled module while they are imported, or to report on their use."""

from __future__ import annotations

import contextlib
import importlib
import types
import weakref
from typing import Any

from ferrograd import _core
from ferrograd._core import FerrogradError, RawSavedTensor, is_grad_enabled
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import TORCH
from ferrograd._tensor import dtypes
from ferrograd._tensor.device import TorchDevice
from ferrograd.func import _control as control
from ferrograd.torch._base import overriding as _overriding
from ferrograd.torch._base.generator import Generator
from ferrograd.torch._base.overriding import disabled_impl as _disabled_torch_function_impl  # noqa: F401
from ferrograd.torch._tensor import Tensor as TensorBase
from ferrograd.torch.autograd import forward_ad as _forward_ad
from ferrograd.torch.autograd.function import Function
from ferrograd.torch.autograd.grad_mode import is_multithreading_enabled as _is_multithreading_enabled

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "DispatchKeySet",
    "Generator",
    "PyTorchFileReader",
    "SymBool",
    "SymFloat",
    "SymInt",
    "TensorBase",
    "Value",
    "is_grad_enabled",
]


class PyTorchFileReader:
    """The class of PyTorch's reader of files. It cannot be made here: ``torch.load`` reads such files."""

    def __init__(self, *_: Any) -> None:
        raise FerrogradError("PyTorchFileReader: torch.load reads PyTorch's files")


class Value:
    """The class of values of TorchScript. It has no objects here."""


class SymInt:
    """The class of symbolic integers. It has no objects here: sizes are numbers."""


class SymFloat:
    """The class of symbolic floats. It has no objects here."""


class SymBool:
    """The class of symbolic truth values. It has no objects here."""


class DisableTorchFunctionSubclass:
    """A context in which no ``__torch_function__`` is called: functions of tensors of a subclass give plain tensors."""

    def __enter__(self) -> None:
        self._context = _overriding.nobody()
        self._context.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)


DisableTorchFunction = DisableTorchFunctionSubclass

#: The class of errors about matrices.
_LinAlgError = _core.LinAlgError
#: The class of the class of tensors.
_TensorMeta = type(TensorBase)


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The arguments of ``Module.to``: a device, a dtype, ``non_blocking`` and a memory format."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    for arg in args:
        if isinstance(arg, TensorBase):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, dtypes.dtype):
            dtype = arg
        elif not isinstance(arg, bool):
            device = arg
    _core.check_device("to", device)
    return None if device is None else TorchDevice("cpu"), dtype, False, kwargs.get("memory_format")


class _Builtins(types.ModuleType):
    """The functions that PyTorch has compiled, by the names that pickles know them by."""

    def __init__(self, name: str, prefix: str, *places: str) -> None:
        super().__init__(f"{__name__}.{name}", self.__doc__)
        self._prefix, self._places = prefix, places

    def __getattr__(self, name: str) -> Any:
        public = _RENAMED.get(name, name.removeprefix(self._prefix))
        for place in () if name.startswith("__") else self._places:
            module = importlib.import_module(f"ferrograd.torch{place}")
            if callable(found := getattr(module, public, None)):
                return found
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


#: The public names of compiled functions that have another one.
_RENAMED = {"log_sigmoid": "logsigmoid"}
_nn: Any = _Builtins("_nn", "", ".nn.functional")
_nn._parse_to = _parse_to
_fft: Any = _Builtins("_fft", "fft_", ".fft")
_linalg: Any = _Builtins("_linalg", "linalg_", ".linalg")
_special: Any = _Builtins("_special", "special_", ".special")
#: The class of PyTorch's whose static methods are the functions of ``torch``, and its one object.
_VariableFunctionsClass: Any = _Builtins("_VariableFunctionsClass", "", "", ".nn.functional")
_VariableFunctions = _VariableFunctionsClass


class _WeakTensorRef:
    """A reference that does not keep a tensor alive."""

    def __init__(self, tensor: TensorBase) -> None:
        self._ref = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._ref() is None


class _Undefined(Function):
    """The argument, to which no gradient flows."""

    @staticmethod
    def forward(ctx: Any, x: TensorBase) -> TensorBase:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any, **_: Any) -> None:
        return None


class _Failing(Function):
    """The argument, whose gradient is an error."""

    @staticmethod
    def forward(ctx: Any, x: TensorBase, message: str) -> TensorBase:
        ctx.message = message
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any, **_: Any) -> None:
        raise RuntimeError(ctx.message)


def _undefined_grad() -> Any:
    """A function of one tensor, to which no gradient flows."""
    return _Undefined.apply


def _delayed_error(message: str, num_inputs: int) -> Any:
    """A function of tensors whose gradients are an error with this text."""

    def delayed(*tensors: TensorBase) -> Any:
        if len(tensors) != num_inputs:
            raise RuntimeError(f"DelayedError: {num_inputs} tensors are wanted, not {len(tensors)}")
        found = tuple(_Failing.apply(x, message) for x in tensors)
        return found[0] if num_inputs == 1 else found

    return delayed


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether hooks on saved tensors may be set."""
    why = _core.disable_saved_tensors_hooks(None, back=True)
    _core.disable_saved_tensors_hooks(why, back=True)
    return why is None


def _get_current_graph_task_keep_graph() -> bool:
    """Whether the backward pass that runs keeps the graph; True outside of one."""
    task = _core.graph_task()
    return True if task is None else task[1]


def _current_graph_task_id() -> int:
    """The number of the backward pass that runs; -1 outside of one."""
    task = _core.graph_task()
    return -1 if task is None else task[0]


def _task_nodes(asks: str) -> tuple[list[Any], bool]:
    """The nodes of the backward pass that runs, as one thread comes to them, and whether ``grad`` has asked for it."""
    ends = _core.graph_task_ends(TORCH)
    if ends is None:
        raise RuntimeError(f"{asks} should only be called during the backward pass")
    roots, wanted, leaves, is_grad = ends
    order: list[Any] = []
    seen: set[Any] = set()
    for root in roots:
        stack = [] if root in seen else [(root, iter(root.next_functions))]
        seen.add(root)
        while stack:
            node, inputs = stack[-1]
            before = next((n for n, _ in inputs if n is not None and n not in seen), None)
            if before is None:
                order.append(stack.pop()[0])
            else:
                seen.add(before)
                stack.append((before, iter(before.next_functions)))
    # A node takes part if its gradient is wanted, or if it leads to one that does.
    parts: set[Any] = set()
    for node in order:
        is_wanted = node in wanted or (leaves and isinstance(node, _functions.AccumulateGrad))
        if is_wanted or any(n in parts for n, _ in node.next_functions):
            parts.add(node)
    return [node for node in reversed(order) if node in parts], is_grad


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the backward pass that runs comes to a node."""
    if not isinstance(node, _core.Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node)}")
    nodes, is_grad = _task_nodes("_will_engine_execute_node")
    if is_grad and isinstance(node, _functions.AccumulateGrad):
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
            "currently not supported."
        )
    return node in nodes


def _current_graph_task_execution_order() -> list[Any]:
    """The nodes of the backward pass that runs in the order in which it comes to them, which has one thread alone."""
    name = "_current_graph_task_execution_order"
    nodes, _ = _task_nodes(name)
    if _is_multithreading_enabled():
        raise RuntimeError(
            f"{name} expects the current backward to be executed with multithreading disabled: run it with "
            "torch.autograd.set_multithreading_enabled(False)"
        )
    return nodes


def _set_grad_enabled(enabled: bool) -> None:
    """Switches recording on or off."""
    _core.set_grad_mode(enabled)


def _is_fwd_grad_enabled() -> bool:
    """Whether tensors that are made dual get tangents."""
    return _forward_ad._is_fwd_grad_enabled()


def _set_fwd_grad_enabled(enabled: bool) -> None:
    """Switches forward mode on or off."""
    _forward_ad._switch(enabled)


#: What libraries ask of PyTorch's engine.
_autograd = types.SimpleNamespace(
    SavedTensor=RawSavedTensor,
    _saved_tensors_hooks_is_enabled=_saved_tensors_hooks_is_enabled,
    _get_current_graph_task_keep_graph=_get_current_graph_task_keep_graph,
)
_functions = types.SimpleNamespace(
    AccumulateGrad=_core.node_class("AccumulateGrad"),
    UndefinedGrad=_undefined_grad,
    DelayedError=_delayed_error,
)


def _check(cond: Any, message: Any = None) -> None:
    """Raises ``RuntimeError`` with the text that ``message()`` gives unless the condition holds."""
    _checked(RuntimeError, cond, message)


def _check_index(cond: Any, message: Any = None) -> None:
    """:func:`_check` with ``IndexError``."""
    _checked(IndexError, cond, message)


def _check_value(cond: Any, message: Any = None) -> None:
    """:func:`_check` with ``ValueError``."""
    _checked(ValueError, cond, message)


def _check_type(cond: Any, message: Any = None) -> None:
    """:func:`_check` with ``TypeError``."""
    _checked(TypeError, cond, message)


def _checked(error: type[Exception], cond: Any, message: Any) -> None:
    if not cond:
        raise error(str(message()) if callable(message) else message or "Expected cond to be True, but got False.")


def _assert(condition: Any, message: Any) -> Any:
    """Raises ``AssertionError`` unless the condition holds."""
    if hasattr(type(condition), "__torch_function__") and not isinstance(condition, TensorBase):
        # A proxy of torch.fx notes that the condition is checked.
        return condition.__torch_function__(_assert, (type(condition),), (condition, message), {})
    if not condition:
        raise AssertionError(message)


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers."""
    return max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers."""
    return min(a, b)


def sym_int(a: Any) -> int:
    """A number as an integer, rounded towards 0."""
    return int(a)


def sym_float(a: Any) -> float:
    """A number as a float."""
    return float(a)


def sym_not(a: Any) -> bool:
    """Whether a truth value is False."""
    return not a


def cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    """:func:`ferrograd.func.cond` with the operands in a list or tuple."""
    return control.cond(pred, true_fn, false_fn, *operands)


def while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Any) -> Any:
    """:func:`ferrograd.func.while_loop` with functions of the values, which are in a list or tuple."""
    return control.while_loop(lambda now: cond_fn(*now), lambda now: tuple(body_fn(*now)), tuple(carried_inputs))


def _log_api_usage_once(event: str) -> None:
    """Does nothing."""


def _assert_async(condition: Any, message: str = "") -> None:
    """Raises ``AssertionError`` unless the condition, a tensor with one element, holds."""
    if not condition:
        raise AssertionError(message)


def _get_tracing_state() -> None:
    """None: there is no TorchScript."""


def _are_functorch_transforms_active() -> bool:
    """False: a function computes the same inside transforms and outside."""
    return False


def _check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    """:func:`_check` of a number that is not negative, and at most ``max``."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_with(error_type: type[Exception], cond: Any, message: Any = None) -> None:
    """:func:`_check` with another class of errors."""
    _checked(error_type, cond, message)


def _check_tensor_all(cond: Any, message: Any = None) -> None:
    """:func:`_check` of all elements of a tensor."""
    _checked(RuntimeError, cond.all(), message)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Any = None) -> None:
    """:func:`_check_with` of all elements of a tensor."""
    _checked(error_type, cond.all(), message)


def _shape_as_tensor(x: Any) -> Any:
    """The sizes of a tensor as a tensor."""
    return _core.make(list(x.shape), "int64", False, TORCH)


def _softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """The gradient of a softmax by its result."""
    weighted = grad_output * output
    return (weighted - output * weighted.sum(dim, keepdim=True)).to(input_dtype)


def get_device_module(device: Any = None) -> Any:
    """The module of a device, such as ``torch.cpu``, which None asks for."""
    name = "cpu" if device is None else str(getattr(device, "type", device)).partition(":")[0]
    return importlib.import_module(f"ferrograd.torch.{name}")


class DispatchKeySet:
    """The kinds of dispatch of a tensor, which have no meaning here."""

    def __init__(self, *keys: Any) -> None:
        """Any keys."""

    def __or__(self, other: Any) -> DispatchKeySet:
        return self

    __and__ = __sub__ = __or__


class _ExcludeDispatchKeyGuard(contextlib.nullcontext[None]):
    """A context that changes nothing."""


def _get_default_device() -> str:
    """The name of the only device."""
    return "cpu"


def _get_accelerator(check: bool = False) -> TorchDevice:
    """The CPU, as in PyTorch where there is no accelerator."""
    return TorchDevice("cpu")


def _get_privateuse1_backend_name() -> str:
    """The name that PyTorch gives to the devices of other packages."""
    return "privateuseone"


def _cuda_isInBadFork() -> bool:
    """False: there is no GPU."""
    return False


def _cuda_clearCublasWorkspaces() -> None:
    """Does nothing: there is no GPU."""


def _never(*_: Any) -> bool:
    """False."""
    return False


#: What libraries ask of PyTorch's transforms.
_functorch = types.SimpleNamespace(
    is_batchedtensor=_never, is_legacy_batchedtensor=_never, is_gradtrackingtensor=_never
)


__dir__ = _public.names(globals())
