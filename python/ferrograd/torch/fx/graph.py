"""``torch.fx.graph``: a function as a list of nodes, and the source in Python that is made of it."""

from __future__ import annotations

import builtins
import copy
import keyword
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ferrograd._kit import public as _public
from ferrograd._tensor import dtypes
from ferrograd._tensor.device import TorchDevice
from ferrograd.torch import ops as _ops
from ferrograd.torch.fx.node import Argument, Node, Target, map_arg, torch_name

__all__ = ["CodeGen", "Graph", "PythonCode"]

#: The operators by the names of the functions of ``operator``.
_OPERATORS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "truediv": "{} / {}",
    "floordiv": "{} // {}",
    "mod": "{} % {}",
    "pow": "{} ** {}",
    "matmul": "{} @ {}",
    "lshift": "{} << {}",
    "rshift": "{} >> {}",
    "and_": "{} & {}",
    "or_": "{} | {}",
    "xor": "{} ^ {}",
    "eq": "{} == {}",
    "ne": "{} != {}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "gt": "{} > {}",
    "ge": "{} >= {}",
    "neg": "-{}",
    "pos": "+{}",
    "invert": "~{}",
    "getitem": "{}[{}]",
}
#: The operators that write to their first operand.
_IN_PLACE = {
    "iadd": "+=",
    "isub": "-=",
    "imul": "*=",
    "itruediv": "/=",
    "ifloordiv": "//=",
    "imod": "%=",
    "ipow": "**=",
    "imatmul": "@=",
    "iand": "&=",
    "ior": "|=",
    "ixor": "^=",
    "ilshift": "<<=",
    "irshift": ">>=",
}
_BAD = re.compile("[^0-9a-zA-Z_]+")
_NUMBERED = re.compile(r"(.*)_(\d+)")


def _globals() -> dict[str, Any]:
    """The names that the source of every graph may use."""
    from ferrograd import torch

    return {"torch": torch, "device": TorchDevice, "inf": math.inf, "nan": math.nan, "NoneType": type(None)}


_KNOWN = ("torch", "device", "inf", "nan", "NoneType")


class _Namespace:
    """Names that are not given twice."""

    def __init__(self) -> None:
        self._objects: dict[Any, str] = {}
        self._used: set[str] = set()
        self._last: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """A name like the candidate that may stand in the source, for an object or for a value of its own."""
        if obj is not None and id(obj) in self._objects:
            return self._objects[id(obj)]
        candidate = _BAD.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = _NUMBERED.fullmatch(candidate)
        base, number = (match[1], int(match[2])) if match else (candidate, None)
        name = candidate if number is None or candidate not in self._used else base
        number = self._last.get(base, 0) if number is None else number
        while name in self._used or self._is_taken(name, obj):
            number += 1
            name = f"{base}_{number}"
        self._used.add(name)
        self._last[base] = number
        if obj is not None:
            self._objects[id(obj)] = name
        return name

    @staticmethod
    def _is_taken(name: str, obj: Any) -> bool:
        if keyword.iskeyword(name):
            return True
        if hasattr(builtins, name):
            return obj is not getattr(builtins, name)
        return name in _KNOWN and (obj is None or obj is not _globals()[name])

    def _rename_object(self, obj: Any, name: str) -> None:
        self._objects[id(obj)] = name
        self._used.add(name)


@dataclass
class PythonCode:
    """The source of a graph, and the values of the names in it that are neither arguments nor builtins."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = field(default=None, repr=False)


class CodeGen:
    """What makes source of a graph. A subclass may take other arguments, or return something else."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The first line of the function: ``free_vars`` are its parameters."""
        given = free_vars if free_vars and free_vars[0].split(" ")[0] == "self" else ["self", *free_vars]
        return f"def forward({', '.join(given)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any) -> str:
        """The line that returns."""
        return f"return {output_args!r}"

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders, of the arguments of a call."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The result of a call, of the value of the output."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names and values that the source may use besides."""
        return []


class _NodeList:
    """The nodes of a graph from the first to the last, or back."""

    def __init__(self, graph: Graph, is_reversed: bool = False) -> None:
        self.graph, self._is_reversed = graph, is_reversed

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        step = "_prev" if self._is_reversed else "_next"
        root = self.graph._root
        node = getattr(root, step)
        while node is not root:
            if not node._erased:
                yield node
            # A node that was erased meanwhile still knows its neighbours.
            node = getattr(node, step)

    def __reversed__(self) -> _NodeList:
        return _NodeList(self.graph, not self._is_reversed)


class _InsertPoint:
    """Where nodes are put from now on; as a context, until its end."""

    def __init__(self, graph: Graph, where: Callable[[Node], None]) -> None:
        self._graph, self._before = graph, graph._insert
        graph._insert = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._graph._insert = self._before


class Graph:
    """A function as a list of nodes, each of which reads nodes before it.

    >>> import ferrograd.torch as torch
    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.sin, (x,))
    >>> out = graph.output(graph.call_method("sum", (y,)))
    >>> print(graph.python_code("self").src.strip())
    def forward(self, x):
        sin = torch.sin(x);  x = None
        sum_1 = sin.sum();  sin = None
        return sum_1
    >>> graph.lint()
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._changers: list[Callable[..., Any]] = []

    @property
    def owning_module(self) -> Any:
        """The :class:`GraphModule` that has the graph, or None."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: Any) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> _NodeList:
        """The nodes in order."""
        return _NodeList(self)

    def output_node(self) -> Node:
        """The node that returns."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    def find_nodes(self, *, op: str, target: Target = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, and of a target if it is given."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node at the place where nodes are put now, which is the end unless a context says otherwise."""
        candidate = self._target_to_str(target) if name is None else name
        name = self._graph_namespace.create_name(candidate, None)
        node = Node(self, name, op, target, args or (), kwargs or {}, type_expr)
        self._graph_namespace._rename_object(node, name)
        self._insert(node)
        self._len += 1
        return node

    @staticmethod
    def _target_to_str(target: Target) -> str:
        name = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
        if isinstance(target, _ops.OpOverload):
            name = target.overloadpacket.__name__
        if name.startswith("__") and name.endswith("__"):
            name = name[2:-2]
        spaced = re.sub("([a-z0-9])([A-Z])", r"\1_\2", re.sub("([^_.])([A-Z][a-z]+)", r"\1_\2", name))
        return spaced.lower()

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An input; ``*name`` and ``**name`` take all that are left."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or module of the root, by its path."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """The result of a module of the root, by its path."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """The result of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """The result of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """The node that returns nodes, or lists and dictionaries of them."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """A node like one of another graph. ``arg_transform`` maps the nodes that the other one reads to those that
        this one reads.
        """
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Adds the nodes of another graph that ``val_map`` lacks; returns what that graph returns, in this one."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def erase_node(self, to_erase: Node) -> None:
        """Removes a node that no other node reads.

        Raises:
            RuntimeError: another one reads it.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._take((), {})
        before, after = to_erase._prev, to_erase._next
        before._next, after._prev = after, before
        # A loop over the nodes that stands at this one goes on from it.
        to_erase._erased = True
        self._len -= 1
        moved = {to_erase.prepend: after.prepend, to_erase.append: before.append}
        self._insert = moved.get(self._insert, self._insert)

    def inserting_before(self, n: Node | None = None) -> Any:
        """A context in which nodes are put before one, or at the beginning."""
        return self.inserting_after(self._root) if n is None else _InsertPoint(self, self._mine(n).prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """A context in which each node is put right after one, before those put there earlier; or at the end."""
        if n is None:
            return _InsertPoint(self, self._root.prepend)
        return _InsertPoint(self, self._mine(n).append)

    def _mine(self, n: Node) -> Node:
        if n.graph is not self:
            raise AssertionError("Node to insert at is not in graph.")
        return n

    def lint(self) -> None:
        """Checks that each node reads nodes before it in the same graph, and that modules and parameters are there.

        Raises:
            RuntimeError: one of them does not hold.
        """
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            for read in node.all_input_nodes:
                if read.graph is not self:
                    raise RuntimeError(f"Argument '{read}' of Node '{node}' does not belong to this Graph")
                if read not in seen:
                    raise RuntimeError(f"Argument '{read}' of Node '{node}' was used before it has been defined!")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self._owning_module is not None and node.op in ("get_attr", "call_module"):
                found = self._owning_module
                for part in node.target.split("."):
                    if not hasattr(found, part):
                        raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part}")
                    found = getattr(found, part)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Takes the nodes away that nobody reads and that do nothing else; returns whether there were any."""
        self.lint()
        before = self._len
        for node in reversed(self.nodes):
            if not node.users and not (is_impure_node or Node.is_impure)(node):
                self.erase_node(node)
        return self._len < before

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders, of the arguments of a call."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The result of a call, of the value of the output."""
        return self._codegen.process_outputs(out)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Lets another object make the source."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> Any:
        """Adds a function that changes the lines of the source: ``make_transformer(current)`` returns it."""
        before = self._changers
        self._changers = [make_transformer(before[-1] if before else None)]

        @contextmanager
        def undone() -> Iterator[None]:
            try:
                yield
            finally:
                self._changers = before

        return undone()

    def python_code(
        self,
        root_module: str,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        **options: Any,
    ) -> PythonCode:
        """The source of a function ``forward`` of a class, whose parameters and modules are attributes of ``self``."""
        return _Writer(self, root_module).write()

    def print_tabular(self) -> None:
        """Prints a table of the nodes."""
        rows = [["opcode", "name", "target", "args", "kwargs"]]
        rows += [[n.op, n.name, str(n.target), str(n.args), str(n.kwargs)] for n in self.nodes]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines = ["  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        print("\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]]))

    def __str__(self) -> str:
        names: list[str] = []
        returned = [""]
        lines = [line for node in self.nodes if (line := node.format_node(None, returned))]
        return f"graph({', '.join(names)}){returned[0]}:" + "".join(f"\n    {line}" for line in lines)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        made._codegen = copy.deepcopy(self._codegen)
        if memo is not None:
            memo[id(self)] = made
        nodes: dict[Node, Node] = {}
        result = made.graph_copy(self, nodes, return_output_node=True)
        if result is not None:
            value, output = result
            made.output(value, output.type).meta = copy.copy(output.meta)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """The nodes in a list, in which their numbers stand for them."""
        numbers = {node: _Number(i) for i, node in enumerate(self.nodes)}
        rows = [
            (
                n.op,
                n.target,
                map_arg(n.args, numbers.__getitem__),
                map_arg(n.kwargs, numbers.__getitem__),
                n.name,
                n.type,
            )
            for n in self.nodes
        ]
        tracer = self._tracer_cls
        if tracer is not None and "<locals>" in tracer.__qualname__:
            tracer = None
        return _rebuilt, (rows, tracer, self._codegen)


@dataclass(frozen=True)
class _Number:
    """What stands for a node in a file."""

    number: int


def _rebuilt(rows: list[Any], tracer_cls: Any, codegen: CodeGen) -> Graph:
    """The graph of the rows of a file."""
    from ferrograd.torch.fx.node import map_aggregate

    graph = Graph(tracer_cls=tracer_cls)
    graph._codegen = codegen
    nodes: list[Node] = []
    for op, target, args, kwargs, name, kind in rows:
        args, kwargs = (
            map_aggregate(x, lambda a: nodes[a.number] if isinstance(a, _Number) else a) for x in (args, kwargs)
        )
        nodes.append(graph.create_node(op, target, args, kwargs, name, kind))
    return graph


class _Writer:
    """Makes the source of a graph."""

    def __init__(self, graph: Graph, root: str) -> None:
        self._graph, self._root = graph, root
        self._known = _globals()
        self._globals: dict[str, Any] = {}
        self._names = _Namespace()
        # Names of values are not those of anything else.
        self._names._used.update(node.name for node in graph.nodes)
        for name, value in graph._codegen.additional_globals():
            self._add(name, value)

    def _add(self, candidate: str, value: Any) -> str:
        """The name by which the source calls a value."""
        if (isinstance(value, type) or callable(value)) and getattr(value, "__module__", "") == "builtins":
            name = getattr(value, "__name__", "")
            if getattr(builtins, name, None) is value:
                return name
        if (known := torch_name(value)) is not None:
            self._globals["torch"] = self._known["torch"]
            return known
        if isinstance(value, _ops.OpOverload):
            self._globals["torch"] = self._known["torch"]
            packet = value.overloadpacket
            return f"torch.ops.{packet._namespace}.{packet.__name__}.{value._overloadname}"
        name = candidate.replace("ferrograd.", "")
        name = self._names.create_name(name, value)
        self._globals[name] = value
        return name

    def _of_type(self, kind: Any) -> str:
        """A type as the source writes it."""
        if kind is type(None) or kind is None:
            return "None"
        name = f"{getattr(kind, '__module__', '')}.{kind.__qualname__}" if isinstance(kind, type) else str(kind)
        return self._add(name, kind)

    def _value(self, x: Any) -> str:
        """An argument as the source writes it."""
        if isinstance(x, Node):
            return x.name
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return f"{self._add(_path(type(x)), type(x))}({', '.join(map(self._value, x))})"
        if type(x) is tuple:
            return f"({', '.join(map(self._value, x))}{',' if len(x) == 1 else ''})"
        if isinstance(x, list):
            return f"[{', '.join(map(self._value, x))}]"
        if isinstance(x, dict):
            return "{" + ", ".join(f"{key!r}: {self._value(value)}" for key, value in x.items()) + "}"
        if isinstance(x, slice):
            return f"slice({self._value(x.start)}, {self._value(x.stop)}, {self._value(x.step)})"
        if isinstance(x, float) and not math.isfinite(x):
            text = repr(x)
            self._globals[text.lstrip("-")] = self._known[text.lstrip("-")]
            return text
        if isinstance(x, (dtypes.dtype, TorchDevice)):
            self._globals.update(torch=self._known["torch"], device=self._known["device"])
            return repr(x)
        if x is None or x is ... or (isinstance(x, (bool, int, float, complex, str, bytes)) and not _is_enum(x)):
            return "Ellipsis" if x is ... else repr(x)
        if callable(x) and hasattr(x, "__name__"):
            return self._add(_path(x), x)
        return self._add(f"{type(x).__name__.lower()}_value", x)

    def _arguments(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        return ", ".join([*map(self._value, args), *(f"{key} = {self._value(x)}" for key, x in kwargs.items())])

    def _last_uses(self) -> dict[Node, list[Node]]:
        """By node the values that nobody reads after it."""
        found: dict[Node, list[Node]] = {}
        seen: set[Node] = set()
        for node in reversed(self._graph.nodes):
            for read in reversed(node.all_input_nodes):
                if read not in seen:
                    seen.add(read)
                    found.setdefault(node, []).insert(0, read)
        return found

    def _statement(self, node: Node) -> str:
        """What computes a node."""
        args, kwargs = node.args, node.kwargs
        if node.op == "get_attr":
            return f"{node.name} = {_attribute(self._root, node.target)}"
        if node.op == "call_module":
            return f"{node.name} = {_attribute(self._root, node.target)}({self._arguments(args, kwargs)})"
        if node.op == "call_method":
            of = self._value(args[0])
            of = f"({of})" if isinstance(args[0], (int, float)) else of
            return f"{node.name} = {_attribute(of, node.target)}({self._arguments(args[1:], kwargs)})"
        target = node.target
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", "") == "_operator" and not kwargs:
            if name in _OPERATORS and _OPERATORS[name].count("{}") == len(args):
                return f"{node.name} = {_OPERATORS[name].format(*(self._operand(x, name) for x in args))}"
            if name in _IN_PLACE and len(args) == 2 and isinstance(args[0], Node):
                first, second = self._value(args[0]), self._value(args[1])
                return f"{first} {_IN_PLACE[name]} {second};  {node.name} = {first}"
        is_attribute = target is getattr and len(args) == 2 and isinstance(args[0], Node) and isinstance(args[1], str)
        if is_attribute and not kwargs and args[1].isidentifier():
            return f"{node.name} = {_attribute(self._value(args[0]), args[1])}"
        return f"{node.name} = {self._add(_path(target), target)}({self._arguments(args, kwargs)})"

    def _operand(self, x: Any, op: str) -> str:
        """An operand, in parentheses where its sign would bind less than the operator."""
        text = self._value(x)
        return f"({text})" if text.startswith("-") and op == "pow" else text

    def write(self) -> PythonCode:
        """The source and its names."""
        last = self._last_uses()
        parameters: list[str] = []
        returned = ""
        lines: list[str] = []
        for node in self._graph.nodes:
            if node.op == "placeholder":
                kind = "" if node.type is None or isinstance(node.type, str) else f" : {self._of_type(node.type)}"
                default = f" = {self._value(node.args[0])}" if node.args else ""
                parameters.append(f"{node.target}{kind}{default}")
                plain = node.target.replace("*", "")
                if plain != node.name:
                    lines.append(f"{node.name} = {plain}\n")
                continue
            if node.op == "output":
                if node.type is not None and not isinstance(node.type, str):
                    returned = f" -> {self._of_type(node.type)}"
                result = _Text(self._value(node.args[0] if node.args else None))
                lines.append(self._graph._codegen.generate_output(result) + "\n")
                continue
            dead = [n.name for n in last.get(node, ())]
            if not node.users:
                dead.append(node.name)
            freed = f";  {' = '.join(dead)} = None" if dead else ""
            lines.append(self._statement(node) + freed + "\n")
        if not lines:
            lines.append("pass\n")
        for change in self._graph._changers:
            if change is not None:
                lines = change(lines)
        head = self._graph._codegen.gen_fn_def(parameters, returned)
        body = "".join("    " + line for line in "".join(lines).splitlines(keepends=True))
        return PythonCode(f"\n\n\n{head}\n{body}    ", self._globals)


class _Text(str):
    """A text whose ``repr`` is the text: what is returned is code already."""

    def __repr__(self) -> str:
        return str(self)


def _is_enum(x: Any) -> bool:
    from enum import Enum

    return isinstance(x, Enum)


def _path(target: Any) -> str:
    """The name of a function or class with its module, as a candidate for a name in the source."""
    name = getattr(target, "__name__", type(target).__name__)
    module = str(getattr(target, "__module__", None) or "").replace("_operator", "operator")
    return f"{module}_{name}".replace(".", "_").lstrip("_") if module else name


def _attribute(of: str, path: str) -> str:
    """An attribute by its path, some parts of which may be no identifiers."""
    for part in path.split("."):
        of = f"{of}.{part}" if part.isidentifier() else f'getattr({of}, "{part}")'
    return of


__dir__ = _public.names(globals())
