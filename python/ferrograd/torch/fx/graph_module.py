"""``torch.fx.graph_module``: a module whose ``forward`` is made of a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
from collections.abc import Callable
from typing import Any

from ferrograd._kit import public as _public
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.fx.graph import Graph, PythonCode
from ferrograd.torch.nn.modules.module import Module

__all__ = ["GraphModule"]

#: The key under which a module keeps what passes have noted about it.
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_numbers = itertools.count()


def _compiled(code: PythonCode) -> Callable[..., Any]:
    """The function of a source. Errors in it show its lines."""
    name = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[name] = (len(code.src), None, code.src.splitlines(keepends=True), name)
    space = dict(code.globals)
    exec(compile(code.src, name, "exec"), space)
    return space["forward"]


def _copy_attr(from_module: Any, to_module: Any, target: str) -> None:
    """Gives a module what another one has at a path."""
    *path, name = target.split(".")
    for part in path:
        source = getattr(from_module, part)
        if source is getattr(to_module, part, None):
            return
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        from_module, to_module = source, getattr(to_module, part)
    _put(to_module, name, getattr(from_module, name))


def _put(module: Any, name: str, value: Any) -> None:
    """Sets an attribute; a tensor that is no parameter becomes a buffer."""
    if isinstance(value, Tensor) and not isinstance(value, Module._fg_parameter_class):
        module.__dict__.pop(name, None)
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _assign_attr(value: Any, to_module: Any, target: str) -> None:
    """Sets an attribute of a module at a path."""
    *path, name = target.split(".")
    for part in path:
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    _put(to_module, name, value)


class _CodeOnlyModule(Module):
    """A module with the attributes of another one."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


class GraphModule(Module):
    """A module that computes a graph. ``code`` is the source of its ``forward``.

    Args:
        root: the module, or a dictionary by paths, that has the parameters and modules that the graph reads.
        graph: the graph; assign ``graph`` again, or call ``recompile()``, after changes.
        class_name: the name of the class of the module.

    >>> import ferrograd.torch as torch
    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
    >>> for node in traced.graph.nodes:
    ...     if node.target == "1":
    ...         with traced.graph.inserting_after(node):
    ...             node.replace_all_uses_with(traced.graph.call_function(torch.tanh, (node.args[0],)))
    ...         traced.graph.erase_node(node)
    [output]
    >>> code = traced.recompile()
    >>> traced.delete_all_unused_submodules()
    >>> print(traced.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, "0")(input_1);  input_1 = None
        tanh = torch.tanh(_0);  _0 = None
        return tanh
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """An object of a class of its own, which has its ``forward``."""
        base = next(kind for kind in cls.__mro__ if not kind.__dict__.get("_is_made"))
        made: Any = type(base.__name__, (base,), {"_is_made": True, "__module__": base.__module__})
        return super().__new__(made)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        paths = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for path in paths:
                _copy_attr(root, self, path)
        else:
            if missing := [path for path in paths if path not in root]:
                raise RuntimeError(f"the graph reads {missing[0]}, which the dictionary of the root has not")
            for path in sorted(set(paths), key=lambda path: path.count(".")):
                _assign_attr(root[path], self, path)
        self.graph = graph
        tracer = graph._tracer_cls
        self._tracer_cls = tracer if tracer is not None and "<locals>" not in tracer.__qualname__ else None
        self.meta: dict[str, Any] = {}

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of ``forward``."""
        return self._code

    def recompile(self) -> PythonCode:
        """Makes ``forward`` of the graph as it is now."""
        code = self._graph.python_code("self")
        self._code = code.src
        type(self).forward = _compiled(code)  # type: ignore[method-assign]
        return code

    def add_submodule(self, target: str, m: Module) -> bool:
        """Puts a module at a path; False if something else than a module is in the way."""
        *path, name = target.split(".")
        at: Any = self
        for part in path:
            if not hasattr(at, part):
                setattr(at, part, Module())
            at = getattr(at, part)
            if not isinstance(at, Module):
                return False
        at.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Takes the module at a path away; False if there is none."""
        *path, name = target.split(".")
        at: Any = self
        for part in path:
            at = getattr(at, part, None)
            if not isinstance(at, Module):
                return False
        if not isinstance(getattr(at, name, None), Module):
            return False
        delattr(at, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Takes the modules away that the graph does not read."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
                if node.op == "call_module":
                    inside = self.get_submodule(node.target)
                    used.update(f"{node.target}.{name}" for name, _ in inside.named_modules())
        for name, _ in list(self.named_modules()):
            if name and name not in used:
                self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """Prints the module as the source of a class; returns it."""
        body = self._code.strip("\n").replace("\n", "\n    ").rstrip()
        text = f"class {type(self).__name__}(torch.nn.Module):\n    {body}\n"
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        return (
            f"{super().__repr__()}\n{self._code}\n# To see more debug info, please use `graph_module.print_readable()`"
        )

    def _deepcopy_init(self) -> Callable[..., None]:
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        held = {key: value for key, value in self.__dict__.items() if key != "_graph"}
        body = _CodeOnlyModule(copy.deepcopy(held, memo))
        self._deepcopy_init()(made, body, copy.deepcopy(self._graph), type(self).__name__)
        _take_over(made, body)
        return made

    def __copy__(self) -> Any:
        made = GraphModule(self, self._graph.__deepcopy__(), type(self).__name__)
        _take_over(made, self)
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        held = {key: value for key, value in self.__dict__.items() if key != "_graph"}
        return _rebuilt, (held, self._graph, type(self).__name__)


def _take_over(made: Any, source: Any) -> None:
    """Gives a copy the hooks, the mode and the notes of the module."""
    for key, value in vars(source).items():
        if key.endswith(("_hooks", "_hooks_with_kwargs", "_hooks_always_called")) or key in ("meta", "training"):
            made.__dict__[key] = copy.copy(value)
        elif key not in made.__dict__ and key not in ("_graph", "_code"):
            made.__dict__[key] = value


def _rebuilt(held: dict[str, Any], graph: Graph, name: str) -> GraphModule:
    """The module of a file."""
    root = _CodeOnlyModule(held)
    made = GraphModule(root, graph, name)
    _take_over(made, root)
    return made


__dir__ = _public.names(globals())
