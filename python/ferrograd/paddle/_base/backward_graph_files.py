"""Paddle's ``dump_backward_graph_path``: the graph of a backward pass written to files."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from ferrograd._core import ArgumentError, Tensor
from ferrograd._graph.drawing import dot_colours, edges_among, more
from ferrograd._graph.nodes import Node, Snapshot, format_bytes
from ferrograd._kit.dialect import PADDLE

# The largest number of nodes shown.
_LIMIT = 100_000
_NOTHING = nullcontext()


def pictures(path: str | None, outputs: Sequence[Tensor], make_folder: bool) -> AbstractContextManager[None]:
    """A context around a backward pass that writes its graph into the directory ``path``; None writes nothing.

    The files are ``…backward_graph.dot`` and ``…ref_forward_graph.dot``, with the time of each node, and
    ``…call_stack.log``. Their names start with the date and time, so later calls add files. ``make_folder`` creates the
    directory if it is missing, as Paddle does.

    Raises:
        ArgumentError: the path is not a string.
        NotADirectoryError: the path is a file.
        FileNotFoundError: the directory is missing and not to be created.
        OSError: the directory cannot be created.
    """
    return _NOTHING if path is None else _pictures(path, outputs, make_folder)


@contextmanager
def _pictures(path: str, outputs: Sequence[Tensor], make_folder: bool) -> Iterator[None]:
    if not isinstance(path, str):
        raise ArgumentError(f"path must be string type, not {type(path).__name__}")
    if os.path.exists(path) and not os.path.isdir(path):
        raise NotADirectoryError(f" path:'{path}' must be directory ")
    if not make_folder and not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise OSError(f"Create '{path}' failed : {error}") from error
    graph = Snapshot([out for out in outputs if not out.stop_gradient], PADDLE)
    try:
        with graph.timed():
            yield
    finally:
        _write(path, graph)


def _write(path: str, graph: Snapshot) -> None:
    stamp = f"{time.strftime('%Y-%m-%d_%H-%M-%S')}_{time.perf_counter_ns()}"
    nodes = graph.nearest(_LIMIT)[::-1]
    texts = {
        "backward_graph.dot": _dot(graph, nodes, backward=True),
        "ref_forward_graph.dot": _dot(graph, nodes, backward=False),
        "call_stack.log": _calls(graph, nodes),
    }
    for name, text in texts.items():
        with open(os.path.join(path, f"{stamp}_{name}"), "w", encoding="utf-8") as file:
            file.write(text)


def _name(graph: Snapshot, node: Node) -> str:
    """The name of a node. Paddle numbers nodes from the outputs."""
    return f"node_{len(graph) - 1 - node.id}"


def _dot(graph: Snapshot, nodes: list[Node], backward: bool) -> str:
    """The dot file: arrows along the gradients (``backward``) or along the values."""

    def quoted(*lines: str) -> str:
        escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines if line)
        return '"' + "\\n".join(escaped) + '"'

    lines = []
    for node in nodes:
        title = node.title if backward else node.op
        kept = f"keeps {format_bytes(node.kept)}" if node.kept else "freed" * (node.holding == "freed")
        took = f"{node.seconds * 1e6:.1f} us" if node.seconds is not None else ""
        values = ", ".join(map(str, node.outputs))
        label = quoted(title, node.name or "", values, kept, took, node.place)
        lines.append(f"{_name(graph, node)}[label={label}, shape=box, {dot_colours(node.is_leaf)}]")
    for start, out, end, _ in edges_among(nodes):
        ends = [_name(graph, end), _name(graph, start)]
        label = quoted("Place(cpu)", str(start.outputs[out]), f"output {out}" * (len(start.outputs) > 1))
        lines.append(f"{'->'.join(ends if backward else ends[::-1])}[label={label}]")
    if rest := more(graph, nodes):
        lines.append(f"left_out[label={quoted(f'The graph is larger: {rest}.')}]")
    return "\n".join(["digraph G {", *lines, "}", ""])


def _calls(graph: Snapshot, nodes: list[Node]) -> str:
    """The call stack file: for each node the ``file:line`` that recorded it, and that line."""
    lines = []
    for node in nodes:
        lines.append(f"{_name(graph, node)} {node.title}: {node.site or 'unknown place'}")
        lines.extend([f"    {node.source}"] * bool(node.source))
    if rest := more(graph, nodes):
        lines.append(f"The graph is larger: {rest}.")
    return "\n".join([*lines, ""])
