"""The recorded graph as plain data: its nodes in order, and their text."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, GradientEdge, IndexOutOfRange, Tensor
from ferrograd._graph.names import by_place, listed, of_parameters
from ferrograd._graph.places import short

# The largest indentation of the text, in levels.
_DEEPEST = 24
# Ops that other functions record.
_INTERNAL = frozenset(("enter_level", "leave_level", "alias"))
# The fields of a record with an entry per node.
_COLUMNS = ("ops", "titles", "inputs", "values", "kept", "holding", "sites", "keys")


class Value(NamedTuple):
    """An output of a node: its shape, its dtype, and the sizes of its batch axes inside ``vmap``."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    batch_shape: tuple[int, ...] = ()

    def __str__(self) -> str:
        batch = f" in a batch of {'x'.join(map(str, self.batch_shape))}" if self.batch_shape else ""
        return f"{self.dtype}{list(self.shape)}{batch}"


class Record(NamedTuple):
    """The graph as the core returns it: columns with one entry per node. A pair (node, output) names an output."""

    roots: list[tuple[int, int]]
    ops: list[str]
    titles: list[str]
    inputs: list[tuple[tuple[int, int] | None, ...]]
    values: list[tuple[tuple[tuple[int, ...], np.dtype[Any], tuple[int, ...]], ...]]
    kept: list[int]
    holding: list[str]
    sites: list[int]
    keys: list[int]
    where: dict[int, tuple[str | None, tuple[tuple[str, str], ...]]]
    names: dict[tuple[int, int], str]
    memory: int
    numbers: dict[tuple[int, int], np.ndarray[Any, Any]] = {}  # noqa: RUF012
    slopes: dict[tuple[int, int], np.ndarray[Any, Any]] = {}  # noqa: RUF012


def _without_internal(record: Record) -> Record:
    """The record without the ops that no user calls: each passes its input on, so its users take that."""
    if _INTERNAL.isdisjoint(record.ops):
        return record
    kept = [i for i, op in enumerate(record.ops) if op not in _INTERNAL]
    number = {i: at for at, i in enumerate(kept)}
    passed: dict[int, tuple[int, int] | None] = {}

    def end(place: tuple[int, int] | None) -> Any:
        return place and (passed[place[0]] if place[0] in passed else (number[place[0]], place[1]))

    for i, op in enumerate(record.ops):
        if op in _INTERNAL:
            passed[i] = end(record.inputs[i][0])
    columns: dict[str, Any] = {name: [getattr(record, name)[i] for i in kept] for name in _COLUMNS}
    columns["inputs"] = [tuple(map(end, places)) for places in columns["inputs"]]
    for field in ("names", "numbers", "slopes"):
        known = getattr(record, field)
        of_ends: dict[Any, Any] = {}
        # What is known of an op's own output wins over what is of those passed on.
        for place in sorted(known, key=lambda place: place[0] in passed):
            of_ends.setdefault(end(place), known[place])
        columns[field] = of_ends
    return record._replace(roots=[end(root) for root in record.roots], **columns)


def _named(record: Record, given: dict[tuple[int, int], tuple[str, Tensor]]) -> Record:
    """The record with these names, and those of parameters where their tensors have none."""
    known = {**record.names, **{place: name for place, (name, _) in given.items()}}
    if all((i, 0) in known for i, places in enumerate(record.inputs) if not places):
        return record._replace(names=known)
    parameters = by_place(of_parameters(), record.keys)
    return record._replace(names={place: name for place, (name, _) in parameters.items()} | known)


class Node:
    """One node of a :class:`ferrograd.Graph`: an op that was applied, or a leaf."""

    __slots__ = ("_graph", "id")

    def __init__(self, graph: Snapshot, id: int) -> None:
        self._graph = graph
        self.id = id

    @property
    def op(self) -> str:
        """The name of the op; ``"leaf"`` for a leaf."""
        return self._graph.record.ops[self.id]

    @property
    def title(self) -> str:
        """The node's name in the dialect of the graph's first tensor: ``"MulBackward0"`` for ``"multiply"``."""
        return self._graph.record.titles[self.id]

    @property
    def is_leaf(self) -> bool:
        """Whether the node is a leaf."""
        return not self._graph.record.inputs[self.id]

    @property
    def name(self) -> str | None:
        """The name given to the tensor, if it is a leaf or an output of the graph."""
        names = self._graph.record.names
        found = (names.get((self.id, out)) for out in range(len(self._graph.record.values[self.id])))
        return next((name for name in found if name is not None), None)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The shape and dtype of each output."""
        return tuple(Value(*value) for value in self._graph.record.values[self.id])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first output."""
        return self.outputs[0].shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the first output."""
        return self.outputs[0].dtype

    @property
    def value(self) -> np.ndarray[Any, Any] | None:
        """The value of the first output, in a graph with ``values``; None where it is not known any more."""
        return self._graph.record.numbers.get((self.id, 0))

    @property
    def cotangent(self) -> np.ndarray[Any, Any] | None:
        """The gradient of the sum of the graph's outputs with respect to the first output, in a graph with ``values``.

        None where nothing depends on it.
        """
        return self._graph.record.slopes.get((self.id, 0))

    @property
    def numbers(self) -> list[str]:
        """The value and the cotangent of the first output as texts, as far as they are known."""
        both = (("value", self.value), ("cotangent", self.cotangent))
        return [f"{what} {short_text(array)}" for what, array in both if array is not None]

    @property
    def kept(self) -> int:
        """Bytes saved for the gradient rule. Several nodes may share them."""
        return self._graph.record.kept[self.id]

    @property
    def holding(self) -> str:
        """The state of the saved bytes: ``"live"``, ``"packed"`` by hooks, or ``"freed"`` by a backward pass."""
        return self._graph.record.holding[self.id]

    @property
    def seconds(self) -> float | None:
        """Seconds that the gradient rule took in the measured backward pass; None if none was measured."""
        return self._graph.seconds.get(self._graph.record.keys[self.id])

    @property
    def site(self) -> str | None:
        """``file:line`` of the call that recorded the node."""
        return self._graph.record.where[self._graph.record.sites[self.id]][0]

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules whose calls recorded the node, the outermost first.

        The outermost is shown by its class, and the others by their names in it and their classes:
        ``("Net", "encoder.layers.0 (Layer)")``.
        """
        return self._graph.modules_by_site[self._graph.record.sites[self.id]]

    @property
    def file(self) -> str | None:
        """The file of the call that recorded the node."""
        return None if self.site is None else self.site.rpartition(":")[0]

    @property
    def line(self) -> int | None:
        """The line of the call that recorded the node."""
        return None if self.site is None else int(self.site.rpartition(":")[2])

    @property
    def source(self) -> str:
        """The text of that line; empty if the file cannot be read."""
        return linecache.getline(self.file or "", self.line or 0).strip()

    @property
    def edges(self) -> tuple[tuple[Node, int] | None, ...]:
        """For each argument of the op, the node and output it came from; None if it needs no gradient."""
        places = self._graph.record.inputs[self.id]
        return tuple(None if p is None else (Node(self._graph, p[0]), p[1]) for p in places)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes that gradients flow to from this one, in the order of the op's arguments."""
        return tuple(edge[0] for edge in self.edges if edge is not None)

    @property
    def users(self) -> tuple[Node, ...]:
        """The nodes that gradients come from, each once."""
        return tuple(Node(self._graph, i) for i in self._graph.users_by_id[self.id])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and other._graph is self._graph and other.id == self.id

    def __hash__(self) -> int:
        return hash((id(self._graph), self.id))

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        values = self.outputs
        text = f"#{self.id} {self.op}"
        if self.name is not None:
            text += f" {self.name!r}"
        text += f" {values[0]}" if len(values) == 1 else f" ({', '.join(map(str, values))})"
        if self.kept:
            text += f", keeps {format_bytes(self.kept)}" + (", packed" if self.holding == "packed" else "")
        if self.holding == "freed":
            text += ", freed"
        if self.seconds is not None:
            text += f", {self.seconds * 1e6:.1f} us"
        text = ", ".join([text, *self.numbers])
        return text + f", {self.place}" if self.place else text

    @property
    def place(self) -> str:
        """``file:line`` without the folder, or ``In[2]:1`` in a notebook; empty if the call is unknown."""
        return short(self.site) if self.site else ""


class Snapshot(Sequence[Node]):
    """The recorded graph below some outputs as plain data: a sequence of nodes, the inputs of an op before the op."""

    def __init__(
        self,
        outputs: Sequence[Tensor | GradientEdge],
        dialect: int | None = None,
        names: Any = (),
        values: bool = False,
    ) -> None:
        record = Record(*_core.snapshot(list(outputs), dialect))
        given = by_place(listed(names), record.keys)
        record = _named(record, given)
        if values:
            from ferrograd._graph.values import with_values

            record = with_values(record, outputs, given)
        self.record = _without_internal(record)
        self.seconds: dict[int, float] = {}

    @classmethod
    def of_program(cls, columns: tuple[Any, ...]) -> Self:
        """The graph of a compiled program, which the core describes in the same columns."""
        graph = cls.__new__(cls)
        graph.record = Record(*columns)
        graph.seconds = {}
        return graph

    @contextmanager
    def timed(self) -> Iterator[None]:
        """A context around a backward pass that measures how long the gradient rule of each node takes.

        >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
        >>> y = fg.exp(x).sum()
        >>> graph = fg.graph(y)
        >>> with graph.timed():
        ...     fg.backward(y)
        >>> graph[-1].seconds > 0
        True
        """
        before = _core.watch("nodes", True)
        try:
            _core.take_seconds()
            yield
        finally:
            self.seconds = _core.take_seconds()
            _core.watch("nodes", before)

    def __len__(self) -> int:
        return len(self.record.ops)

    def __getitem__(self, id: Any) -> Any:
        if isinstance(id, slice):
            return [Node(self, i) for i in range(len(self))[id]]
        try:
            return Node(self, range(len(self))[id])
        except IndexError:
            raise IndexOutOfRange(f"graph: there is no node {id} among {len(self)}") from None
        except TypeError:
            raise ArgumentError(f"graph: a node's number is an integer, not {type(id).__name__}") from None

    def __iter__(self) -> Iterator[Node]:
        return (Node(self, i) for i in range(len(self)))

    @property
    def roots(self) -> list[Node]:
        """The nodes of the outputs that the graph was taken of."""
        return [Node(self, i) for i in dict.fromkeys(node for node, _ in self.record.roots)]

    @property
    def leaves(self) -> list[Node]:
        """The leaves."""
        return [node for node in self if node.is_leaf]

    @property
    def kept(self) -> int:
        """Bytes saved by all nodes. Memory that several nodes share counts once."""
        return self.record.memory

    def filter(self, predicate: Callable[[Node], object] | None = None, *, op: str | None = None) -> list[Node]:
        """The nodes for which ``predicate`` is true and whose op has the name ``op``."""
        if predicate is not None and not callable(predicate):
            raise ArgumentError(f"filter: predicate must be callable, not {type(predicate).__name__}")
        found = (Node(self, i) for i, name in enumerate(self.record.ops) if op is None or name == op)
        return [node for node in found if predicate is None or predicate(node)]

    @cached_property
    def modules_by_site(self) -> dict[int, tuple[str, ...]]:
        """For each number of a site, the modules that recorded there, the outermost first."""
        named = {site: modules for site, (_, modules) in self.record.where.items()}
        return {
            site: tuple(f"{name} ({kind})" if name else kind for name, kind in modules)
            for site, modules in named.items()
        }

    @cached_property
    def users_by_id(self) -> list[list[int]]:
        """For each node, the numbers of the nodes that use it."""
        users: list[list[int]] = [[] for _ in self.record.ops]
        for i, places in enumerate(self.record.inputs):
            for node in dict.fromkeys(p[0] for p in places if p is not None):
                users[node].append(i)
        return users

    def nearest(self, limit: int | None) -> list[Node]:
        """The ``limit`` nodes that are fewest edges away from the roots, in order; all if it is None."""
        if limit is None or check_limit(limit) >= len(self):
            return list(self)
        met = list(dict.fromkeys(node for node, _ in self.record.roots))
        known = set(met)
        for node in met:
            if len(met) >= limit:
                break
            for place in self.record.inputs[node]:
                if place is not None and place[0] not in known:
                    known.add(place[0])
                    met.append(place[0])
        return [Node(self, i) for i in sorted(met[:limit])]

    def to_text(self, limit: int | None = 200) -> str:
        """A tree of at most ``limit`` lines, from the roots to the leaves. A node that is used again is expanded once.

        The input of an op with one input stands below it, and each of several inputs begins with a dash.

        >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
        >>> print(fg.graph(fg.sin(x) * x).to_text())
        graph of 3 nodes, 1 leaf, 16 B kept
        #2 multiply float32[2], keeps 16 B, ...
          - #1 sin float32[2], keeps 8 B, ...
            #0 leaf float32[2], ...
          - #0 leaf, above
        """
        most = len(self) * 2 + sum(map(len, self.record.inputs)) if limit is None else check_limit(limit)
        lines = [self.summary()]
        shown: set[int] = set()
        waiting = [(node, out, 0, "") for node, out in reversed(self.record.roots)]
        while waiting and len(lines) <= most:
            i, out, depth, dash = waiting.pop()
            node = self[i]
            indent = "    " * depth if depth <= _DEEPEST else "    " * _DEEPEST + f"({depth}) "
            indent = indent[: len(indent) - len(dash)] + dash
            through = f"output {out} of " if len(self.record.values[i]) > 1 else ""
            if i in shown:
                lines.append(f"{indent}{through}#{i} {node.op}, above")
                continue
            shown.add(i)
            lines.append(f"{indent}{through}{node}")
            inputs = [p for p in reversed(self.record.inputs[i]) if p is not None]
            several = len(inputs) > 1
            waiting.extend((*p, depth + several, "- " * several) for p in inputs)
        if len(shown) < len(self):
            lines.append(f"... and {plural(len(self) - len(shown), 'more node')}")
        return "\n".join(lines)

    def summary(self) -> str:
        """The size of the graph in one line."""
        leaves = sum(not places for places in self.record.inputs)
        freed = ", freed by a backward pass" if "freed" in self.record.holding else ""
        return f"graph of {plural(len(self), 'node')}, {plural(leaves, 'leaf')}, {format_bytes(self.kept)} kept{freed}"

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


def short_text(array: np.ndarray[Any, Any]) -> str:
    """An array in one short line: of many elements the first and the last."""
    with np.printoptions(precision=4, threshold=6, edgeitems=2, suppress=True):
        text = np.array_str(array, max_line_width=10**6) if array.ndim else np.array_str(array.reshape(1))[1:-1]
    return " ".join(text.split()).replace("[ ", "[").replace(" ]", "]")


def check_limit(limit: object) -> int:
    """The limit; refuses anything but a positive integer."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise ArgumentError(f"limit must be a positive integer or None, not {limit!r}")
    return limit


def plural(n: int, what: str) -> str:
    """A count with its noun: ``2 leaves`` for 2 and ``leaf``."""
    if n == 1:
        return f"1 {what}"
    return f"{n:,} {what[:-1] + 've' if what.endswith('f') else what}s"


def format_bytes(n: int) -> str:
    """A number of bytes with its unit: ``1.5 kB`` for 1500."""
    if n < 1000:
        return f"{n} B"
    for unit, scale in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if n < 999.5 * scale or unit == "GB":
            break
    return f"{n / scale:.3g} {unit}" if n < 999.5 * scale else f"{n / scale:.0f} {unit}"
