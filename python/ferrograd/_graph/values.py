"""Values and cotangents of the nodes of a recorded graph, as far as they are still known."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.gradients import grad
from ferrograd._autograd.modes import no_grad
from ferrograd._core import GradientEdge, Tensor, native
from ferrograd._kit.dialect import NATIVE

#: Ops that are computed again where their operands are known: they have no parameters.
_COMPUTED = """
    abs add atan cos cosh divide exp expm1 log log1p matmul maximum minimum multiply negative reciprocal relu sigmoid
    sin sinh sqrt square subtract tan tanh
"""


def with_values(record: Any, outputs: Sequence[Any], given: dict[tuple[int, int], tuple[str, Tensor]]) -> Any:
    """The record with the values of these named tensors and others that are known, and with all cotangents."""
    nodes = _node_objects(outputs, record)
    known = {place: x for place, x in zip(record.roots, outputs, strict=True) if isinstance(x, Tensor)}
    known |= {place: x for place, (_, x) in given.items()}
    return record._replace(numbers=_known_values(record, nodes, known), slopes=_cotangents(outputs, record, nodes))


def _node_objects(outputs: Sequence[Any], record: Any) -> dict[int, Any]:
    """The core's node of each entry of a record, which are walked along the same edges."""
    found: dict[int, Any] = {}
    waiting = []
    for out, (i, _) in zip(outputs, record.roots, strict=True):
        waiting.append((i, (out if isinstance(out, GradientEdge) else _core.gradient_edge(out)).node))
    while waiting:
        i, node = waiting.pop()
        if i in found or node is None:
            continue
        found[i] = node
        waiting += zip((place[0] for place in record.inputs[i] if place is not None), _below(node), strict=True)
    return found


def _below(node: Any) -> list[Any]:
    """The nodes that a node's gradients flow to. A node of Paddle's lists them without their outputs."""
    found = [one[0] if isinstance(one, tuple) else one for one in node.next_functions]
    return [below for below in found if below is not None]


def _array(x: Any) -> np.ndarray[Any, Any]:
    """The numbers of a tensor."""
    x = x.detach()
    return np.array(x.astype("float32") if x.dtype.name == "bfloat16" else x)


def _known_values(
    record: Any, nodes: dict[int, Any], tensors: dict[tuple[int, int], Tensor]
) -> dict[tuple[int, int], np.ndarray[Any, Any]]:
    """The values of outputs by (entry, output): of these tensors, of leaves, and what gradient rules have kept."""
    found: dict[tuple[int, int], np.ndarray[Any, Any]] = {}

    def note(place: Any, x: Any) -> None:
        if place is not None and place not in found and isinstance(x, Tensor):
            with contextlib.suppress(Exception):
                value = _array(x)
                if value.shape == tuple(record.values[place[0]][place[1]][0]):
                    found[place] = value

    for place, x in tensors.items():
        note(place, x)
    for i, node in nodes.items():
        if not record.inputs[i]:
            note((i, 0), node.variable)
        for name, place in (
            ("_saved_result", (i, 0)),
            *zip(("_saved_self", "_saved_other"), record.inputs[i], strict=False),
        ):
            # What a pass has freed, and what a rule does not read, is not there.
            with contextlib.suppress(Exception):
                note(place, getattr(node, name))
    computed = set(_COMPUTED.split())
    for i, op in enumerate(record.ops):
        given = [found.get(place) if place is not None else None for place in record.inputs[i]]
        # The sum of all elements has no parameters either.
        has_none = op in computed or (op == "sum" and record.values[i][0][0] == ())
        if has_none and (i, 0) not in found and given and all(x is not None for x in given):
            with no_grad():
                note((i, 0), getattr(native, op)(*(_core.make(x, None, False, NATIVE) for x in given)))
    return found


def _cotangents(
    outputs: Sequence[Any], record: Any, nodes: dict[int, Any]
) -> dict[tuple[int, int], np.ndarray[Any, Any]]:
    """The gradients of the sum of the outputs with respect to the outputs of all nodes."""
    places = [(i, out) for i in nodes for out in range(len(record.values[i]))]
    edges = [GradientEdge(nodes[i], out) for i, out in places]
    seeds = [None if isinstance(out, GradientEdge) else _ones(out) for out in outputs]
    found = grad(list(outputs), edges, seeds, retain_graph=True, allow_unused=True)
    return {place: _array(g) for place, g in zip(places, found, strict=True) if g is not None}


def _ones(x: Tensor) -> Any:
    return native.ones_like(x.detach())
