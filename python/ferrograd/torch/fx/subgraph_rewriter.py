"""``torch.fx.subgraph_rewriter``: parts of a graph that look like a pattern become something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ferrograd._kit import public as _public
from ferrograd.torch.fx._symbolic_trace import symbolic_trace
from ferrograd.torch.fx.graph import Graph
from ferrograd.torch.fx.graph_module import GraphModule, _copy_attr
from ferrograd.torch.fx.node import Node, map_arg
from ferrograd.torch.nn.modules.module import Module

__all__ = ["Match", "replace_pattern"]


class Match(NamedTuple):
    """A part of a graph that looks like a pattern: its last node, and the nodes for those of the pattern."""

    anchor: Node
    nodes_map: dict[Node, Node]


def _graph_of(pattern: Any) -> tuple[Graph, Any]:
    """The graph of a pattern, and the module that has what it reads."""
    if isinstance(pattern, Graph):
        return pattern, pattern.owning_module
    module = pattern if isinstance(pattern, GraphModule) else symbolic_trace(pattern)
    return module.graph, module


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Puts ``replacement`` where the graph of a module looks like ``pattern``; both are functions, modules or graphs.

    Their placeholders stand for any values. Parts that share nodes are replaced once, and a part whose inner values
    are read elsewhere stays. Returns what has been replaced.

    >>> import ferrograd.torch as torch
    >>> module = torch.fx.symbolic_trace(lambda x: torch.sin(x) * torch.sin(x))
    >>> found = torch.fx.replace_pattern(module, lambda x: torch.sin(x), lambda x: torch.cos(x))
    >>> len(found), module(torch.zeros(1)).tolist()
    (2, [1.0])
    """
    wanted, _ = _graph_of(pattern)
    new, source = _graph_of(replacement)
    matches: list[Match] = []
    taken: set[Node] = set()
    result = wanted.output_node().args[0]
    if not isinstance(result, Node):
        raise NotImplementedError("replace_pattern: the pattern returns one value")
    # A value that has been replaced is read by later parts in its new form.
    replaced: dict[Node, Node] = {}
    for node in list(gm.graph.nodes):
        found: dict[Node, Node] = {}
        if node.op == "placeholder" or not _matches(result, node, found):
            continue
        inner = {n for p, n in found.items() if p.op != "placeholder"}
        if inner & taken or any(set(n.users) - inner for n in inner - {node}):
            continue
        taken |= inner
        matches.append(Match(node, found))
    for match in matches:
        inputs = {p: n for p, n in match.nodes_map.items() if p.op == "placeholder"}
        given = [replaced.get(inputs[p], inputs[p]) for p in wanted.nodes if p.op == "placeholder" and p in inputs]
        values = dict(zip((p for p in new.nodes if p.op == "placeholder"), given, strict=True))
        with gm.graph.inserting_before(match.anchor):
            made = gm.graph.graph_copy(new, values)
        if not isinstance(made, Node):
            raise NotImplementedError("replace_pattern: the replacement returns one value")
        match.anchor.replace_all_uses_with(made)
        replaced[match.anchor] = made
        for node in reversed(gm.graph.nodes):
            if node in match.nodes_map.values() and node not in inputs.values() and not node.users:
                gm.graph.erase_node(node)
    for node in new.nodes:
        if node.op in ("get_attr", "call_module") and isinstance(source, Module):
            _copy_attr(source, gm, node.target)
    gm.recompile()
    return matches


def _matches(p: Node, n: Any, found: dict[Node, Node], same: Callable[[Any, Any], bool] | None = None) -> bool:
    """Whether a node looks like one of a pattern; ``found`` gets the nodes for those of the pattern."""
    if not isinstance(n, Node):
        return False
    if p in found:
        return found[p] is n
    if p.op == "placeholder":
        found[p] = n
        return True
    if p.op != n.op or p.target != n.target or len(p.args) != len(n.args) or set(p.kwargs) != set(n.kwargs):
        return False
    found[p] = n
    pairs = [*zip(p.args, n.args, strict=True), *((p.kwargs[key], n.kwargs[key]) for key in p.kwargs)]
    return all(_same(a, b, found) for a, b in pairs)


def _same(a: Any, b: Any, found: dict[Node, Node]) -> bool:
    if isinstance(a, Node):
        return _matches(a, b, found)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_same(x, y, found) for x, y in zip(a, b, strict=True))
    has_nodes: list[Node] = []
    map_arg(a, has_nodes.append)
    return not has_nodes and type(a) is type(b) and bool(a == b)


__dir__ = _public.names(globals())
