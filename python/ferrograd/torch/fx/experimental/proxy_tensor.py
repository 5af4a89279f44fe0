"""``make_fx``: a function runs with tensors, and each function of torch that it calls is noted as a step of a graph."""

from __future__ import annotations

import gc
import inspect
import operator
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any, NoReturn

from ferrograd import torch
from ferrograd._core import FerrogradError
from ferrograd._kit import public as _public, tree as _tree
from ferrograd.torch import ops as _ops
from ferrograd.torch._base import overriding
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.fx._symbolic_trace import _Patcher
from ferrograd.torch.fx.graph import Graph
from ferrograd.torch.fx.graph_module import GraphModule
from ferrograd.torch.fx.node import Argument, Node, map_aggregate
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.overrides import TorchFunctionMode

__all__ = ["get_proxy_mode", "make_fx"]

#: Functions whose op is another one where the second operand is a number.
_OF_TWO = frozenset(
    (
        *("add", "sub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "eq", "ne", "lt", "le", "gt"),
        *("ge", "bitwise_and", "bitwise_or", "bitwise_xor", "add_", "sub_", "mul_", "div_"),
    )
)
#: The functions that operators and other special methods are.
_OPERATORS = {
    **{f"__{name}__": name for name in ("and", "or", "xor", "lshift", "rshift", "invert", "floordiv", "mod")},
    "__getitem__": "getitem",
    "__setitem__": "setitem",
}
#: What gives numbers of a tensor.
_READERS = ("__bool__", "__complex__", "__float__", "__index__", "__int__", "__contains__", "item", "tolist", "numpy")
_proxy_modes: list[_Recorder] = []


def get_proxy_mode() -> _Recorder | None:
    """What notes the functions that are called now; None while :func:`make_fx` notes none."""
    return _proxy_modes[-1] if _proxy_modes else None


class _Recorder(TorchFunctionMode):
    """Notes the functions of torch that are called as nodes of a graph, and which node gives which tensor."""

    def __init__(self, graph: Graph, root: Module, constants: dict[int, Tensor]) -> None:
        self.graph, self.root, self.constants = graph, root, constants
        # The tensors stay alive, so that no other one gets the id of one of them.
        self.nodes: dict[int, tuple[Tensor, Node]] = {}
        self.records, self.casts = torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The result of the function, which becomes a step."""
        name = getattr(func, "__name__", "")
        if name in _READERS:
            self.refuse_reading(name, args)
        if name == "__iter__":
            return iter(self.__torch_function__(Tensor.unbind, types, args))
        if torch.is_autocast_enabled("cpu") != self.casts:
            raise FerrogradError("make_fx: autocast begins or ends inside of the function: use it around the call")
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if any(isinstance(x, Tensor) for x in _tree.leaves(result)) or name == "__setitem__":
            target = _target(func, args)
            given, named = (map_aggregate(x, self.argument) for x in (tuple(args), dict(kwargs)))
            if target is getattr:
                given = (*given, overriding.views[func.__self__])
            self.note(result, self.graph.create_node("call_function", target, given, named))
        return result

    def argument(self, x: Any) -> Argument:
        """What stands in the graph for an argument.

        Raises:
            FerrogradError: no step has made this tensor, and it was not there before.
        """
        if not isinstance(x, Tensor):
            return x
        if id(x) in self.nodes:
            return self.nodes[id(x)][1]
        if id(x) not in self.constants:
            raise FerrogradError(
                "make_fx: the function uses a tensor that no function of torch has made, such as a gradient: "
                "take gradients outside of it, or use torch.compile, which sees these too"
            )
        prefix = "_param_constant" if isinstance(x, Module._fg_parameter_class) else "_tensor_constant"
        name = f"{prefix}{sum(hasattr(self.root, f'{prefix}{i}') for i in range(len(self.constants)))}"
        if prefix == "_param_constant":
            setattr(self.root, name, x)
        else:
            self.root.register_buffer(name, x)
        node = self.graph.create_node("get_attr", name)
        self.nodes[id(x)] = x, node
        return node

    def note(self, result: Any, node: Node) -> None:
        """Keeps which node gives a result; the parts of a tuple or list are nodes of their own."""
        if isinstance(result, Tensor):
            if self.records and not torch.is_grad_enabled():
                node = self.graph.create_node("call_function", _ops.aten.detach.default, (node,))
            self.nodes[id(result)] = result, node
        elif isinstance(result, (list, tuple)):
            for i, part in enumerate(result):
                if isinstance(part, (Tensor, list, tuple)):
                    self.note(part, self.graph.create_node("call_function", operator.getitem, (node, i)))

    def refuse_reading(self, name: str, args: Any) -> None:
        """Raises where the numbers of a tensor that is traced are read: the graph would hold for these alone."""
        if any(isinstance(x, Tensor) and id(x) in self.nodes for x in args):
            raise RuntimeError(
                f"make_fx: {name} reads the numbers of a tensor, so what the function does depends on data: use "
                "torch.where or torch.cond, or give the number as an argument"
            )


def _target(func: Any, args: tuple[Any, ...]) -> Callable[..., Any]:
    """What a step calls: the op of aten that a function is, or the function itself."""
    name = getattr(func, "__name__", "")
    if name == "__get__":
        return getattr
    if name in _OPERATORS:
        found: Callable[..., Any] = getattr(operator, _OPERATORS[name] if len(_OPERATORS[name]) > 3 else name)
        return found
    of_torch, of_tensors = getattr(torch, name, None), getattr(Tensor, name, None)
    # The op of aten is the function of torch if there is one. Its method takes the same arguments, but in `where`.
    known = func is of_torch or (func is of_tensors and name != "where")
    if not known or name.startswith("__"):
        return func
    overload = "default"
    if name in _OF_TWO and len(args) > 1:
        overload = "Tensor" if isinstance(args[1], Tensor) else "Scalar"
    return getattr(getattr(_ops.aten, name), overload)


def _tensors_of(*roots: Any) -> dict[int, Tensor]:
    """The tensors that a function can reach before it is called: in its closure, its globals and its object."""
    found: dict[int, Tensor] = {}
    seen: dict[int, Any] = {}
    left = list(roots)
    while left:
        x = left.pop()
        if id(x) in seen or isinstance(x, (ModuleType, type, CodeType, str, bytes, int, float)):
            continue
        seen[id(x)] = x
        if isinstance(x, Tensor):
            found[id(x)] = x
        elif isinstance(x, FunctionType):
            left += [x.__closure__, x.__defaults__, x.__kwdefaults__, x.__dict__]
            left += [x.__globals__.get(name) for code in _codes(x.__code__) for name in code.co_names]
        else:
            left += gc.get_referents(x)
    return found


def _codes(code: CodeType) -> list[CodeType]:
    """The code of a function and of the functions inside."""
    return [code, *(inner for x in code.co_consts if isinstance(x, CodeType) for inner in _codes(x))]


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Any = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
    **others: Any,
) -> Callable[..., GraphModule]:
    """A function of the same arguments that returns the steps of ``f`` for them as a module of ``torch.fx``.

    ``f`` runs once with the arguments. Conditions, loops and shapes become those of this run. Each function of torch
    that it calls is a step, as with ``pre_dispatch=True`` in PyTorch: none is taken apart into smaller ones, and the
    module can be differentiated.

    Args:
        f: takes tensors, or lists and dictionaries of them, and returns such.
        tracing_mode: ``"real"`` or ``"fake"``, which are the same here.

    Raises:
        ValueError: another ``tracing_mode``.
        FerrogradError: a ``decomposition_table``; autocast inside of the function; tensors that no function of
            torch has made, such as gradients.
        RuntimeError: the function reads numbers of a tensor that depends on its arguments.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch.fx.experimental.proxy_tensor import make_fx
    >>> traced = make_fx(lambda x: torch.sin(x) * 2)(torch.zeros(3))
    >>> print(traced.code.strip())
    def forward(self, x_1):
        sin = torch.ops.aten.sin.default(x_1);  x_1 = None
        mul = torch.ops.aten.mul.Scalar(sin, 2);  sin = None
        return mul
    >>> traced(torch.ones(2)).shape
    torch.Size([2])
    """
    if tracing_mode not in ("real", "fake"):
        raise ValueError(f"make_fx: tracing_mode {tracing_mode!r} is not 'real' or 'fake': shapes are those of the run")
    if decomposition_table:
        raise FerrogradError("make_fx: decomposition_table: steps are functions of torch, which are not taken apart")

    def traced(*args: Any) -> GraphModule:
        root, graph = Module(), Graph()
        recorder = _Recorder(graph, root, _tensors_of(f))
        names = _names(f, len(args))
        leaves: list[Node] = []

        def put(x: Any) -> Any:
            node = graph.placeholder(f"{names[len(leaves)] if flat else f'arg{len(leaves)}'}_1")
            leaves.append(node)
            if isinstance(x, Tensor):
                recorder.nodes[id(x)] = x, node
            return x

        flat = not any(isinstance(x, (list, tuple, dict)) for x in args)
        for x in args:
            map_aggregate(x, put)
        with _Patcher() as patcher:
            for name in ("item", "tolist", "numpy"):
                patcher.patch_method(Tensor, name, _reader(name))
            patcher.patch_method(Tensor, "backward", _no_backward)
            _proxy_modes.append(recorder)
            try:
                with recorder:
                    result = f(*args)
            finally:
                _proxy_modes.pop()
        graph.output(map_aggregate(result, recorder.argument))
        return GraphModule(root, graph)

    return traced


def _no_backward(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises: what it adds to the gradients would be no step."""
    raise FerrogradError("make_fx: backward is no step of a graph: call it outside of the function")


def _reader(name: str) -> Callable[..., Any]:
    """A method that gives numbers of a tensor, but of none that is traced."""
    method = getattr(Tensor, name)

    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        mode = get_proxy_mode()
        if mode is not None:
            mode.refuse_reading(name, (self,))
        return method(self, *args, **kwargs)

    return read


def _names(f: Any, count: int) -> list[str]:
    """The names of the arguments of a function."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        parameters = ()  # type: ignore[assignment]
    known = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [known[i] if i < len(known) else f"arg{i}" for i in range(count)]


__dir__ = _public.names(globals())
