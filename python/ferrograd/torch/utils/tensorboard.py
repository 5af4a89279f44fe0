"""``torch.utils.tensorboard``: the writer of the package tensorboardX, if it is installed."""

from __future__ import annotations

from functools import cache as _cache
from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import Any

from ferrograd._autograd.modes import enable_grad as _enable_grad
from ferrograd._core import TorchTensor as _Tensor
from ferrograd._graph.nodes import Node as _Node, Snapshot as _Snapshot
from ferrograd._kit import public as _public, tree as _tree


@_cache
def _writer() -> type[Any]:
    """The class of tensorboardX, with graphs of this library."""

    class SummaryWriter(_import_module("tensorboardX").SummaryWriter):  # type: ignore[misc]
        """The writer of tensorboardX."""

        def add_graph(
            self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
        ) -> None:
            """Writes the graph of a call of a module, its ops in the modules that call them."""
            graph = _recorded(model, input_to_model)
            if verbose:
                print(graph)
            event = _import_module("tensorboardX.proto.event_pb2").Event(
                graph_def=_graph_def(graph).SerializeToString()
            )
            self._get_file_writer().add_event(event)

    return SummaryWriter


def _recorded(model: Any, inputs: Any) -> _Snapshot:
    """The graph of a call, in which the inputs are recorded too."""
    given = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    leaves = []
    for n, x in enumerate(given):
        if isinstance(x, _Tensor) and x.dtype.kind in "fc":
            given[n] = x.detach().requires_grad_()
            leaves.append((f"input.{n}", given[n]))
    with _enable_grad():
        found = [x for x in _tensors(model(*given)) if x.requires_grad]
    if not found:
        raise ValueError("add_graph: no output of the module depends on a parameter or on an input of floating point")
    parameters = [(f"{type(model).__name__}.{name}", x) for name, x in model.named_parameters()]
    return _Snapshot(found, names=[*parameters, *leaves])


def _tensors(tree: Any) -> list[Any]:
    """The tensors in containers."""
    return [x for x in _tree.leaves(tree) if isinstance(x, _Tensor)]


def _graph_def(graph: _Snapshot) -> Any:
    """The graph in TensorFlow's format, which TensorBoard shows."""
    made = _import_module("tensorboardX.proto.graph_pb2").GraphDef()
    for node in graph:
        entry = made.node.add(name=_path(node), op=node.op)
        entry.input.extend(
            _path(edge) if out == 0 else f"{_path(edge)}:{out}" for edge, out in filter(None, node.edges)
        )
        for value in node.outputs:
            shape = entry.attr["_output_shapes"].list.shape.add()
            for n in value.shape:
                shape.dim.add(size=n)
    return made


def _path(node: _Node) -> str:
    """The name of a node, below those of the modules that call it."""
    scopes = [module.partition(" ")[0] for module in node.modules]
    # A name in a module begins with that of the module around it.
    inner = [name.removeprefix(f"{scopes[n]}.") if n else name for n, name in enumerate(scopes[1:])]
    own = node.name.replace(".", "/") if node.is_leaf and node.name else f"{node.op}_{node.id}"
    return "/".join([*scopes[:1], *(name.replace(".", "/") for name in inner), own])


def __getattr__(name: str) -> Any:
    if name != "SummaryWriter":
        raise AttributeError(f"module 'ferrograd.torch.utils.tensorboard' has no attribute {name!r}")
    try:
        return _writer()
    except ModuleNotFoundError as error:
        raise ImportError("SummaryWriter is that of tensorboardX; install it with: pip install tensorboardX") from error


__all__: list[str] = []
_public.names(globals())


def __dir__() -> list[str]:
    # Tools that list the attributes of a module read each of them, and an error would end them.
    return ["SummaryWriter"] if _find_spec("tensorboardX") else []
