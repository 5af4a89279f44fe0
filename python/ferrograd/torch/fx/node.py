"""``torch.fx.node``: one value of a graph, and how it is computed."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ferrograd._kit import public as _public
from ferrograd.torch import ops as _ops
from ferrograd.torch.fx.immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

F = TypeVar("F", bound=Callable[..., Any])

#: What a node computes with, and the values of its arguments.
Target = Any
Argument = Any

#: The kinds of nodes.
_KINDS = frozenset({"placeholder", "get_attr", "call_function", "call_module", "call_method", "output", "root"})
#: Functions that are called for their side effects.
_side_effectful_functions: set[Any] = set()


def has_side_effect(fn: F) -> F:
    """Keeps the calls of a function whose results nobody reads, when a graph drops what is not used; a decorator.

    >>> import ferrograd.torch as torch
    >>> torch.fx.has_side_effect(print) is print
    True
    """
    _side_effectful_functions.add(fn)
    return fn


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Arguments with what ``fn`` makes of each node in them; lists and dictionaries become immutable ones.

    >>> import ferrograd.torch as torch
    >>> x = torch.fx.Graph().placeholder("x")
    >>> torch.fx.node.map_arg([x, 2], lambda node: node.name)
    ['x', 2]
    """
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Arguments with what ``fn`` makes of each of their leaves; lists and dictionaries become immutable ones."""
    if isinstance(a, tuple):
        parts = [map_aggregate(x, fn) for x in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(x, fn) for key, x in a.items()})
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


class Node:
    """A value of a :class:`Graph`.

    ``op`` says what it is: ``placeholder`` (an input), ``get_attr`` (a parameter), ``call_function``, ``call_module``,
    ``call_method`` or ``output``. ``target`` is the name or the function, ``args`` and ``kwargs`` are its arguments, in
    which nodes stand for values, and ``users`` the nodes that read it.

    >>> import ferrograd.torch as torch
    >>> graph = torch.fx.Graph()
    >>> y = graph.call_function(torch.sin, (graph.placeholder("x"),))
    >>> y, y.args, list(y.args[0].users)
    (sin, (x,), [sin])
    """

    def __init__(
        self,
        graph: Any,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any = None,
    ) -> None:
        if op not in _KINDS:
            raise AssertionError(f"a node of torch.fx has no kind {op!r}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                    f"{type(target).__name__} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{type(target).__name__} but a str is expected"
            )
        #: The graph that the node is of.
        self.graph: Any = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        #: The nodes that read this one, in the order in which they came.
        self.users: dict[Node, None] = {}
        #: Anything that passes note about the node.
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._erased = False
        self._prev = self._next = self
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = {}
        self._take(args, kwargs)

    def __repr__(self) -> str:
        return self.name

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        raise RuntimeError("a node is copied with its graph, or by Graph.node_copy")

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    @property
    def args(self) -> tuple[Argument, ...]:
        """The arguments by position. Assign all of them to change one."""
        return self._args

    @args.setter
    def args(self, args: tuple[Argument, ...]) -> None:
        self._take(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by name. Assign all of them to change one."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Argument]) -> None:
        self._take(self._args, kwargs)

    def _take(self, args: Any, kwargs: Any) -> None:
        inputs: dict[Node, None] = {}

        def note(node: Node) -> Node:
            inputs[node] = None
            return node

        args, kwargs = map_arg(tuple(args), note), map_arg(dict(kwargs), note)
        for node in self._input_nodes:
            node.users.pop(self, None)
        for node in inputs:
            node.users.setdefault(self)
        self._args, self._kwargs, self._input_nodes = args, kwargs, inputs

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    @property
    def stack_trace(self) -> str | None:
        """Where the program computed the value, if the tracer noted it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replaces an argument by position."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Puts an argument before the one at a position."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Replaces or adds an argument by name."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Reads another node in the place of one."""
        args, kwargs = (map_arg(x, lambda n: new_input if n is old_input else n) for x in (self._args, self._kwargs))
        self._take(args, kwargs)

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Lets the nodes that read this one read another one; returns them."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("propagate_meta: the node that replaces another one has notes of its own")
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def prepend(self, x: Node) -> None:
        """Moves a node of the same graph before this one."""
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Moves a node of the same graph after this one."""
        if x is not self._next:
            self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev
        self._prev = self._next = self

    def _remove_from_list(self) -> None:
        self._unlink()

    def _following(self) -> Iterator[Node]:
        node = self._next
        while node.op != "root":
            yield node
            node = node._next

    def __lt__(self, other: Node) -> bool:
        return any(node is other for node in self._following())

    def __gt__(self, other: Node) -> bool:
        return other < self

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or other < self

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node does something besides computing its value, so that it is kept when nobody reads it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            return self.target in _side_effectful_functions or name in ("_assert", "_assert_async") or _writes(name)
        if self.op == "call_method":
            return _writes(self.target)
        if self.op == "call_module":
            root = self.graph.owning_module
            if root is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return bool(getattr(root.get_submodule(self.target), "_is_impure", False))
        return False

    def format_node(
        self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None
    ) -> str | None:
        """The node as a line of the text of its graph; those of inputs go to ``placeholder_names`` if it is given."""
        if self.op == "output":
            if self.type is not None and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_name_of(self.type)}"
            return f"return {self.args[0] if self.args else None}"
        typed = "" if self.type is None else f": {_name_of(self.type)} "
        kind = f" {typed or ': '}[num_users={len(self.users)}]"
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            described = f"%{self.name}{kind} = placeholder[target={self.target}]{default}"
            if placeholder_names is None:
                return described
            placeholder_names.append(f"%{self.name}")
            return None
        if self.op == "get_attr":
            return f"%{self.name}{kind} = get_attr[target={self.target}]"
        target = self.target if isinstance(self.target, str) else _name_of(self.target)
        given = ", ".join(f"{key}: {_percent(value)}" for key, value in self.kwargs.items())
        args = f"({', '.join(map(_percent, self.args))}{',' if len(self.args) == 1 else ''})"
        return f"%{self.name}{kind} = {self.op}[target={target}](args = {args}, kwargs = {{{given}}})"

    def normalized_arguments(self, root: Any, *_: Any, **__: Any) -> None:
        """None. Without schemas, arguments cannot be brought into one form."""

    def _rename(self, candidate: str) -> None:
        """Takes a name that no other node of the graph has."""
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)


def _writes(name: str) -> bool:
    """Whether a function of this name writes to its first argument."""
    return (name.endswith("_") and not name.endswith("__")) or name in ("setitem", "iadd", "isub", "imul", "itruediv")


def _percent(x: Any) -> str:
    """An argument in the text of a graph, in which nodes have a sign."""
    if isinstance(x, Node):
        return f"%{x.name}"
    if isinstance(x, (list, tuple)):
        inside = ", ".join(map(_percent, x))
        if isinstance(x, list):
            return f"[{inside}]"
        return f"({inside}{',' if len(x) == 1 else ''})"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{key}: {_percent(value)}" for key, value in x.items()) + "}"
    return str(x)


def _name_of(target: Any) -> str:
    """The name of a function or class with its module."""
    if isinstance(target, (_ops.OpOverload, _ops.OpOverloadPacket)):
        return str(target)
    name = getattr(target, "__name__", None)
    if name is None:
        return str(target)
    if getattr(builtins, name, None) is target:
        return f"builtins.{name}"
    if (known := torch_name(target)) is not None:
        return known
    module = str(getattr(target, "__module__", "") or "")
    return f"{module}.{name}".replace("ferrograd.torch", "torch").lstrip("._")


#: Where functions of torch are looked for, and how programs write that place.
_PLACES = ("", ".nn.functional", ".linalg", ".fft", ".special", ".signal", ".functional", ".Tensor")


def torch_name(target: Any) -> str | None:
    """A function, dtype or other constant of torch as programs write it, such as ``torch.nn.functional.gelu``."""
    from ferrograd import torch

    if isinstance(target, (torch.dtype, torch.device)):
        return None
    name = getattr(target, "__name__", None)
    if not isinstance(name, str):
        return None
    for place in _PLACES:
        space: Any = torch
        for part in place.split(".")[1:]:
            space = getattr(space, part)
        if getattr(space, name, None) is target:
            return f"torch{place}.{name}"
    return None


__dir__ = _public.names(globals())
