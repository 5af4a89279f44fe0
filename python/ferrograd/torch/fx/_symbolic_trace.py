"""Symbolic tracing: a function runs once with proxies, which note what is done with them as a graph."""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import sys
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

from ferrograd._kit import public as _public
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.fx._compatibility import compatibility as compatibility
from ferrograd.torch.fx.graph import Graph
from ferrograd.torch.fx.graph_module import GraphModule
from ferrograd.torch.fx.node import Argument, Node, map_aggregate
from ferrograd.torch.fx.proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase
from ferrograd.torch.nn.modules.container import Sequential
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter

__all__ = ["PH", "ProxyableClassMeta", "Tracer", "symbolic_trace", "wrap"]

F = TypeVar("F")


class ScriptObject:
    """The class of objects of TorchScript. It has no objects here."""


_orig_module_call = Module.__call__
_orig_module_getattr = Module.__getattr__
#: Functions that are a step of the graph when they are called with a proxy, by the names and globals of their modules.
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
#: The methods of which that holds.
_wrapped_methods_to_patch: list[tuple[type, str]] = []
#: How many traces are going on.
_active = 0


def is_fx_tracing() -> bool:
    """Whether a function is being traced."""
    return _active > 0


def is_fx_symbolic_tracing() -> bool:
    """Whether a function is being traced."""
    return _active > 0


class PHBase:
    """Stands for an argument that is traced, inside of ``concrete_args``."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class ProxyableClassMeta(type):
    """A metaclass: making an object of such a class with proxies is one step of the graph."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is not None and is_fx_tracing():
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


def _find_proxy(*objects: Any) -> Proxy | None:
    """A proxy among arguments."""
    found: list[Proxy] = []

    def note(x: Any) -> None:
        if isinstance(x, Proxy):
            found.append(x)

    map_aggregate(objects, note)
    return found[0] if found else None


def wrap(fn_or_name: F) -> F:
    """Makes a function of the module that calls this one step of a graph when it is traced; a decorator.

    A name does so for a function that the module has imported, or a builtin such as ``"len"``.

    Raises:
        NotImplementedError: not called at the top level of a module.

    >>> import ferrograd.torch as torch
    >>> torch.fx.wrap("len")
    'len'
    >>> print(torch.fx.symbolic_trace(lambda x: x + len(x)).code.strip())
    def forward(self, x):
        len_1 = len(x)
        add = x + len_1;  x = len_1 = None
        return add
    """
    name: Any = fn_or_name if isinstance(fn_or_name, str) else getattr(fn_or_name, "__name__", None)
    if name is None:
        raise TypeError("Unsupported type for global function! Must be either a callable or string name")
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def _create_wrapped_func(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that is a step of the graph when it is called with a proxy."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return wrapped


def _create_wrapped_method(cls: type, name: str) -> Callable[..., Any]:
    """The method that is a step of the graph when it is called with a proxy."""
    method = getattr(cls, name)

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return method(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


_ABSENT = object()


class _Patcher:
    """A context after which what was replaced in dictionaries and classes is as before."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], Any]] = []
        self._seen: set[tuple[int, str]] = set()

    def _is_again(self, place: object, name: str, deduplicate: bool) -> bool:
        again = deduplicate and (id(place), name) in self._seen
        self._seen.add((id(place), name))
        return again

    def patch(
        self, frame_dict: dict[str, Any], name: str, new_fn: Callable[..., Any], deduplicate: bool = True
    ) -> None:
        """Replaces a name in a dictionary of globals."""
        if self._is_again(frame_dict, name, deduplicate):
            return
        before = frame_dict.get(name, _ABSENT)
        frame_dict[name] = new_fn
        if before is _ABSENT:
            self._undo.append(lambda: frame_dict.pop(name))
        else:
            self._undo.append(lambda: frame_dict.__setitem__(name, before))

    def patch_method(self, cls: type, name: str, new_fn: Callable[..., Any], deduplicate: bool = True) -> None:
        """Replaces a method of a class."""
        if self._is_again(cls, name, deduplicate):
            return
        before = vars(cls).get(name, _ABSENT)
        setattr(cls, name, new_fn)
        if before is _ABSENT:
            self._undo.append(lambda: delattr(cls, name))
        else:
            self._undo.append(lambda: setattr(cls, name, before))

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *_: object) -> None:
        while self._undo:
            self._undo.pop()()


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Puts the functions of :func:`wrap` in their places."""
    for (_, name), space in list(_wrapped_fns_to_patch.items()):
        function = space[name] if name in space else getattr(builtins, name, None)
        if function is None:
            raise NameError(f"torch.fx.wrap: the module has no function {name!r}")
        patcher.patch(space, name, _create_wrapped_func(function))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _create_wrapped_method(cls, name))


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    """Makes functions steps of the graph that a dictionary of globals has, and whose ids are among those given."""
    if not function_ids or patcher._is_again(frame_dict, "", True):
        return
    for name, value in list(frame_dict.items()):
        if not name.startswith("_") and callable(value) and id(value) in function_ids:
            patcher.patch(frame_dict, name, _create_wrapped_func(value))


class Tracer(TracerBase):
    """Traces modules and functions. Subclasses say which modules are steps of the graph, and what becomes of arguments.

    Args:
        autowrap_modules: modules of Python whose functions are steps of the graph.
        autowrap_functions: such functions.
        param_shapes_constant: takes the shapes of parameters as numbers.

    >>> import ferrograd.torch as torch
    >>> graph = torch.fx.Tracer().trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
    >>> [node.op for node in graph.nodes]
    ['placeholder', 'call_module', 'call_module', 'output']
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap_function_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(f) for f in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Any, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = {}
        self.node_name_to_scope: dict[str, tuple[str, Any]] = {}
        self.num_calls: dict[str, int] = {}

    def create_node(self, *args: Any, **kwargs: Any) -> Node:
        """A node of the graph, whose scope is noted."""
        node = super().create_node(*args, **kwargs)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        return node

    def create_arg(self, a: Any) -> Argument:
        """The node or constant that stands for an argument in a graph. Tensors and modules of the root become nodes
        that read them.
        """
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        if isinstance(a, Tensor):
            for name, buffer in self.root.named_buffers():
                if a is buffer:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", a.__class__, tuple(self.create_arg(x) for x in a), {})
        if isinstance(a, Tensor):
            name = self.tensor_attrs.get(a)
            if name is None:
                name = self.get_fresh_qualname("_tensor_constant")
                setattr(self.root, name, a)
                self.tensor_attrs[a] = name
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name that the root has no attribute of."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of a module is one step: that of a layer of ``torch.nn``, but not of ``Sequential``."""
        return m.__module__.startswith(("ferrograd.torch.nn", "torch.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The path of a module below the root.

        Raises:
            NameError: it is not there.
        """
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
        else:
            path = next((name for name, found in self.root.named_modules() if found is mod), None)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call of a module gives: a step of the graph, or what its ``forward`` makes of the proxies."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            count = self.num_calls.get(path, 0)
            self.num_calls[path] = count + 1
            key = f"{path}@{count}" if count else path
            self.module_stack[key] = (path, type(m))
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                del self.module_stack[key]

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What an attribute of a module is for the function that is traced: a proxy of a parameter, or its value."""
        kinds: list[tuple[type, Any]] = [(Parameter, self.root.named_parameters)]
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            kinds.append((Tensor, self.root.named_buffers))
        for kind, members in kinds:
            if not isinstance(attr_val, kind):
                continue
            for name, value in members():
                if value is not attr_val:
                    continue
                if name not in parameter_proxy_cache:
                    # Subclasses need not take the option.
                    made = functools.partial(ParameterProxy, self, name=name, param=value)
                    options: dict[str, Any] = {"proxy_factory_fn": made} if self.param_shapes_constant else {}
                    parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, **options)
                return parameter_proxy_cache[name]
        return attr_val

    _module_getattr = getattr

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """The function of the root with a proxy for each parameter that has no concrete value, and the root."""
        parameters = list(inspect.signature(inspect.unwrap(root_fn)).parameters.values())
        args: list[Any] = []
        named: dict[str, Any] = {}
        if is_module:
            if not parameters:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            parameters = parameters[1:]
            args.append(self.root)
        if isinstance(concrete_args, tuple):
            if len(concrete_args) != len(parameters):
                raise RuntimeError(
                    f"Tracing expected {len(parameters)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = {p.name: x for p, x in zip(parameters, concrete_args, strict=True)}
        for p in parameters:
            kind = None if p.annotation is p.empty else p.annotation
            default = () if p.default is p.empty else (p.default,)
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                stars = "*" if p.kind is p.VAR_POSITIONAL else "**"
                # The function gets the one proxy for all of them in the place of the tuple or dictionary.
                named[p.name] = self.create_proxy("placeholder", stars + p.name, (), {})
            elif concrete_args and p.name in concrete_args and concrete_args[p.name] is not PH:
                value = self._specialized(p.name, concrete_args[p.name], kind)
                named[p.name] = value
            else:
                named[p.name] = self.create_proxy("placeholder", p.name, default, {}, type_expr=kind)
        return _called_with(root_fn, parameters, named), args

    def _specialized(self, name: str, value: Any, kind: Any) -> Any:
        """A concrete value, for which the graph has an input that it compares with the value."""
        found: list[Any] = []
        map_aggregate(value, lambda x: found.append(x) if isinstance(x, PHBase) else None)
        if found:
            raise NotImplementedError(
                f"concrete_args: {name} holds PH inside; give the parts as arguments of their own"
            )
        given: Any = self.create_proxy("placeholder", f"{name}_1", (), {}, type_expr=kind)
        text = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (given, text), {})
        elif isinstance(value, (bool, int, float, str)):
            from ferrograd.torch import _assert

            self.create_proxy("call_function", _assert, (given == value, text), {})
        return value

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module or function. Arguments in ``concrete_args`` have these values.

        Raises:
            TraceError: what the function does depends on a value that is not known.
        """
        global _active
        if isinstance(root, Module):
            self.root: Any = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            function = getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root, function = Module(), root
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs: dict[Any, str] = {
            value: f"{path}.{name}".lstrip(".")
            for path, module in self.root.named_modules()
            for name, value in vars(module).items()
            if isinstance(value, Tensor)
        }
        if not isinstance(function, FunctionType):
            raise TypeError(f"symbolic_trace: a {type(function).__name__} is no function in Python")
        space = function.__globals__
        function, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        cache: dict[str, Any] = {}

        @functools.wraps(_orig_module_getattr)
        def module_getattr(module: Any, attr: str) -> Any:
            return self.getattr(attr, _orig_module_getattr(module, attr), cache)

        @functools.wraps(_orig_module_call)
        def module_call(module: Any, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return _orig_module_call(module, *args, **kwargs)

            within = getattr(getattr(module, "forward", module), "__globals__", {})
            _autowrap_check(patcher, within, self._autowrap_function_ids)
            return self.call_module(module, forward, args, kwargs)

        with _Patcher() as patcher:
            patcher.patch_method(Module, "__getattr__", module_getattr, deduplicate=False)
            patcher.patch_method(Module, "__call__", module_call, deduplicate=False)
            _patch_wrapped_functions(patcher)
            _autowrap_check(patcher, space, self._autowrap_function_ids)
            for module in self._autowrap_search:
                _autowrap_check(patcher, vars(module), self._autowrap_function_ids)
            _active += 1
            try:
                result = function(*args)
            finally:
                _active -= 1
            kind = inspect.unwrap(function).__annotations__.get("return")
            self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=kind)
        self.submodule_paths = None
        return self.graph


def _called_with(function: Any, parameters: list[inspect.Parameter], named: dict[str, Any]) -> Any:
    """A function of the values that stand before the parameters, which gives each parameter the value of its name."""
    if not any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        before = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
        after = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]

        @functools.wraps(function)
        def call(*args: Any) -> Any:
            return function(*args, *(named[p.name] for p in before), **{name: named[name] for name in after})

        return call
    return _without_stars(function, parameters, named)


def _without_stars(function: Any, parameters: list[inspect.Parameter], named: dict[str, Any]) -> Any:
    """The same for a function with ``*args`` or ``**kwargs``, which become parameters like others."""
    code: CodeType = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    stars = [p.name for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    flags = code.co_flags & ~inspect.CO_VARARGS & ~inspect.CO_VARKEYWORDS
    count = len(names) + len(stars)
    plain = FunctionType(
        code.replace(co_argcount=count, co_kwonlyargcount=0, co_posonlyargcount=0, co_flags=flags),
        function.__globals__,
        function.__name__,
        None,
        function.__closure__,
    )
    # The locals of a function begin with its parameters, then *args, then **kwargs.
    order = [*names, *stars]

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return plain(*args, *(named[name] for name in order[len(args) :]))

    return call


def _assert_is_none(value: Any, msg: str) -> None:
    """Raises ``AssertionError`` unless the value is None."""
    if value is not None:
        raise AssertionError(msg)


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """The module or function as a graph, which can be read, changed and called.

    Arguments in ``concrete_args`` have these values. Modules of ``torch.nn`` are steps of the graph.

    Raises:
        TraceError: what it does depends on a value that is not known, such as ``if x.sum() > 0``.

    >>> import ferrograd.torch as torch
    >>> def f(x, y):
    ...     return torch.sin(x) * y.t() + 1
    >>> traced = torch.fx.symbolic_trace(f)
    >>> print(traced.code.strip())
    def forward(self, x, y):
        sin = torch.sin(x);  x = None
        t = y.t();  y = None
        mul = sin * t;  sin = t = None
        add = mul + 1;  mul = None
        return add
    >>> traced(torch.zeros(1), torch.ones(1)).tolist()
    [1.0]
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


__dir__ = _public.names(globals())
