"""``torch.fx``: modules and functions as graphs of Python calls, which programs read and change.

:func:`symbolic_trace` runs a function once with proxies. Its graph has the calls of functions, methods and modules; the
source made of it is Python again. ``torch.compile`` needs none of it: it traces a function as it runs.
"""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.fx._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from ferrograd.torch.fx.graph import CodeGen, Graph
from ferrograd.torch.fx.graph_module import GraphModule
from ferrograd.torch.fx.interpreter import Interpreter, Transformer
from ferrograd.torch.fx.node import Node, has_side_effect, map_arg
from ferrograd.torch.fx.proxy import Proxy
from ferrograd.torch.fx.subgraph_rewriter import replace_pattern

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

__dir__ = _public.names(globals())
