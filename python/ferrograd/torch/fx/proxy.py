"""``torch.fx.proxy``: objects that stand for values while a function is traced, and note what is done with them."""

from __future__ import annotations

import dis
import inspect
import operator
import traceback
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, NoReturn

from ferrograd._kit import public as _public
from ferrograd._tensor import dtypes
from ferrograd._tensor.device import TorchDevice
from ferrograd.torch import ops as _ops, overrides
from ferrograd.torch._base import overriding
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.fx.graph import Graph
from ferrograd.torch.fx.node import Argument, Node, Target, map_aggregate, torch_name

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """What a function does depends on a value that is not known while it is traced."""


class Scope:
    """The module in which nodes are made: its path and its class."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """A context in which a scope is another one."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope = scope
        self._before = (scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *_: object) -> None:
        self._scope.module_path, self._scope.module_type = self._before


class TracerBase:
    """Makes the nodes of a graph and the proxies that stand for them. Subclasses change what becomes of an argument."""

    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    scope: Scope
    module_stack: dict[str, Any]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node of the graph."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if stack := getattr(self, "module_stack", None):
            node.meta["nn_module_stack"] = dict(stack)
        return node

    def proxy(self, node: Node) -> Proxy:
        """The object that stands for a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """A node with what the arguments become in a graph, and the object that stands for it."""
        made = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        if self.record_stack_traces and not made.stack_trace:
            frames = [f for f in traceback.extract_stack() if "/ferrograd/" not in f.filename.replace("\\", "/")]
            made.stack_trace = "".join(traceback.format_list(frames)).strip()
        return (proxy_factory_fn or self.proxy)(made)

    def create_arg(self, a: Any) -> Argument:
        """What stands in a graph for an argument: nodes for proxies, also in lists and dictionaries.

        Raises:
            NotImplementedError: an object that cannot be part of a graph.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(type(a), "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            parts = [self.create_arg(x) for x in a]
            return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            if any(isinstance(key, (Proxy, Node)) for key in a):
                raise RuntimeError(
                    f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {list(a)}"
                )
            return {key: self.create_arg(x) for key, x in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(*(self.create_arg(x) for x in (a.start, a.stop, a.step)))
        if is_dataclass(a) and not isinstance(a, type):
            kwargs = {f.name: self.create_arg(getattr(a, f.name)) for f in fields(a)}
            return self.create_node("call_function", type(a), (), kwargs)
        if a is None or a is ... or isinstance(a, _CONSTANTS) or callable(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """Raises: which way a condition goes is not known."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Any) -> Iterator[Any]:
        """The items of a value that is assigned to several names, whose number tells how many there are.

        Raises:
            TraceError: how many there are is not known.
        """
        frame = inspect.currentframe()
        # The frames of this method and of __iter__ are between.
        for _ in range(2):
            frame = frame.f_back if frame is not None else None
        if frame is not None:
            count = _unpacked(frame.f_code, frame.f_lasti)
            if count is not None:
                return iter([obj[i] for i in range(count)])
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. torch.fx.wrap makes a function of the module one step of the graph"
        )

    def keys(self, obj: Proxy) -> Any:
        """What ``**value`` asks for: a proxy of the method ``keys``."""
        return Attribute(obj, "keys")()


#: Objects that stand in a graph as they are.
_CONSTANTS = (
    *(str, bytes, int, float, bool, complex, Tensor, TorchDevice, dtypes.dtype, Enum, Node),
    *(_ops.OpOverload, _ops.OpOverloadPacket),
)


def _unpacked(code: Any, offset: int) -> int | None:
    """How many names an assignment has whose code is at an offset."""
    for instruction in dis.get_instructions(code):
        if instruction.offset == offset:
            return instruction.argval if instruction.opname == "UNPACK_SEQUENCE" else None
    return None


class GraphAppendingTracer(TracerBase):
    """Adds what is done with proxies to a graph of one's own."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = {}


class Proxy:
    """Stands for the value of a node: functions, methods and operators of it add nodes to the graph.

    >>> import ferrograd.torch as torch
    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> y = torch.sin(x) + 1
    >>> y
    Proxy(add)
    >>> y.node.args
    (sin, 1)
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node
        overriding.answer(type(self))

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__") and name.endswith("__"):
            # Python and NumPy ask what protocols an object has.
            raise AttributeError(f"'Proxy' object has no attribute {name!r}", name=name, obj=self)
        return Attribute(self, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        raise RuntimeError("a Proxy is not copied: it stands for a value of one graph")

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """The result of calling the value."""
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", abs, (self,), {})

    def keys(self) -> Any:
        """What ``**value`` asks for."""
        return self.tracer.keys(self)

    def __len__(self) -> NoReturn:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    def __setitem__(self, indices: Any, values: Any) -> None:
        self.tracer.create_proxy("call_function", operator.setitem, (self, indices, values), {})

    def __contains__(self, item: object) -> NoReturn:
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    __hash__ = object.__hash__

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The node that calls a function of torch with proxies among the arguments."""
        kwargs = kwargs or {}
        tracers: dict[int, TracerBase] = {}

        def note(x: Any) -> None:
            if isinstance(x, Proxy):
                tracers[id(x.tracer)] = x.tracer

        map_aggregate(args, note)
        map_aggregate(kwargs, note)
        if len(tracers) != 1:
            raise RuntimeError(
                f"{getattr(orig_method, '__name__', orig_method)}: its arguments are of {len(tracers)} different "
                "tracers, perhaps because of nested traces"
            )
        (tracer,) = tracers.values()
        function = overriding.public(orig_method)
        known = torch_name(function)
        if known == "torch.einsum" and len(args) == 2 and isinstance(args[1], (list, tuple)):
            # In a graph the operands are arguments, as passes expect them.
            args = (args[0], *args[1])
        if known is None or known.startswith("torch.Tensor."):
            name = getattr(function, "__name__", "")
            if name == "__get__":
                return tracer.create_proxy("call_function", getattr, (args[0], function.__self__.__name__), {})
            if overrides.is_tensor_method_or_property(function):
                return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy("call_function", function, args, kwargs)


class Attribute(Proxy):
    """An attribute of a value. Calling it is a call of a method; any other use reads it."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None
        overriding.answer(type(self))

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """The result of the method."""
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter, whose shape is known."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The sizes of the parameter."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """The number of axes of the parameter."""
        return int(self.param.ndim)

    def size(self, *args: Any) -> Any:
        """The sizes of the parameter, or one of them."""
        return self.param.size(*args)

    def dim(self) -> int:
        """The number of axes of the parameter."""
        return int(self.param.dim())

    def numel(self) -> int:
        """The number of elements of the parameter."""
        return int(self.param.numel())

    def nelement(self) -> int:
        """The number of elements of the parameter."""
        return int(self.param.numel())


#: The functions of ``operator`` that an operator of a proxy calls: those of two operands, which have a reflected form,
#: and the others.
_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "and_", "or_", "xor")
_OTHERS = ("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "invert", "getitem")


def _operator(name: str, function: Any, is_reflected: bool = False) -> None:
    """Gives proxies an operator."""

    def operate(self: Proxy, *args: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", function, (*args, self) if is_reflected else (self, *args), {})

    operate.__name__ = operate.__qualname__ = name
    setattr(Proxy, name, operate)


for _name in (*_BINARY, *_OTHERS):
    _operator(f"__{_name.rstrip('_')}__", getattr(operator, _name))
for _name in _BINARY:
    _operator(f"__r{_name.rstrip('_')}__", getattr(operator, _name), is_reflected=True)

__dir__ = _public.names(globals())
