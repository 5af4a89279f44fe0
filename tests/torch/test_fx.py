"""Symbolic tracing: graphs of modules and functions, the source made of them, and what passes do with them."""

from __future__ import annotations

import copy
import io
import math
import operator
import pickle
from typing import Any, NamedTuple

import ferrograd as _ferrograd
import ferrograd.torch as _torch
import pytest
from ferrograd.torch.fx._symbolic_trace import is_fx_tracing
from ferrograd.torch.fx.immutable_collections import immutable_list
from ferrograd.torch.fx.proxy import GraphAppendingTracer, TraceError

torch: Any = _torch
fx: Any = torch.fx


class Model(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        self.scale = torch.nn.Parameter(torch.full((3,), 2.0))
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x: Any, factor: float = 2.0, *, unused: Any = None) -> Any:
        h = self.layers(x) * self.scale + self.shift
        h = torch.relu(h).view(h.shape[0], -1)[:, :2]
        return {"sum": h.sum(dim=-1, keepdim=True) * factor, "rest": (-h, h.max(), torch.float32, math.inf)}


CODE = """def forward(self, x, factor = 2.0, unused = None):
    layers_0 = getattr(self.layers, "0")(x);  x = None
    layers_1 = getattr(self.layers, "1")(layers_0);  layers_0 = None
    scale = self.scale
    mul = layers_1 * scale;  layers_1 = scale = None
    shift = self.shift
    add = mul + shift;  mul = shift = None
    relu = torch.relu(add)
    getattr_1 = add.shape;  add = None
    getitem = getattr_1[0];  getattr_1 = None
    view = relu.view(getitem, -1);  relu = getitem = None
    getitem_1 = view[(slice(None, None, None), slice(None, 2, None))];  view = None
    sum_1 = getitem_1.sum(dim = -1, keepdim = True)
    mul_1 = sum_1 * factor;  sum_1 = factor = None
    neg = -getitem_1
    max_1 = getitem_1.max();  getitem_1 = None
    return {'sum': mul_1, 'rest': (neg, max_1, torch.float32, inf)}"""


def code(module: Any) -> str:
    return str(module.code).strip()


def test_module() -> None:
    model = Model()
    traced = fx.symbolic_trace(model)
    assert code(traced) == CODE
    x = torch.randn(4, 2)
    got, expected = traced(x, 3.0), model(x, 3.0)
    assert torch.equal(got["sum"], expected["sum"])
    assert torch.equal(got["rest"][0], expected["rest"][0])
    got["sum"].sum().backward()
    assert traced.scale is model.scale
    assert model.scale.grad is not None
    assert sorted(traced.state_dict()) == sorted(model.state_dict())
    assert isinstance(traced, fx.GraphModule)
    assert type(traced).__name__ == "Model"
    traced.graph.lint()
    assert not is_fx_tracing()


def test_layers_are_traced_as_roots() -> None:
    traced = fx.symbolic_trace(torch.nn.LeakyReLU(0.25))
    assert [node.target for node in traced.graph.nodes if node.op == "placeholder"] == ["input"]
    assert traced(torch.tensor([-4.0, 2.0])).tolist() == [-1.0, 2.0]
    loss = fx.symbolic_trace(torch.nn.MSELoss(reduction="sum"))
    assert loss(torch.tensor([1.0, 2.0]), target=torch.tensor([0.0, 0.0])).item() == 5.0


def test_regions_of_the_profiler_are_steps() -> None:
    graph = fx.Graph()
    handle = fx.Proxy(graph.call_function(torch.ops.profiler._record_function_enter, ("region",)))
    torch.ops.profiler._record_function_exit(handle)
    assert [node.args for node in graph.nodes] == [("region",), (handle.node,)]
    graph.output(None)
    with torch.profiler.profile() as profile:
        fx.GraphModule(torch.nn.Module(), graph)()
    assert "region" in profile.key_averages().table()


def test_copies_and_files() -> None:
    traced = fx.symbolic_trace(Model())
    file = io.BytesIO()
    torch.save(traced, file)
    file.seek(0)
    x = torch.randn(3, 2)
    for other in (
        copy.deepcopy(traced),
        copy.copy(traced),
        pickle.loads(pickle.dumps(traced)),
        torch.load(file, weights_only=False),
    ):
        assert code(other) == CODE
        assert torch.equal(other(x)["sum"], traced(x)["sum"])
        assert other.graph.owning_module is other
    copied = copy.deepcopy(traced)
    with torch.no_grad():
        copied.scale.zero_()
    assert traced.scale.tolist() == [2.0, 2.0, 2.0]
    assert traced.eval().training is False
    assert copy.deepcopy(traced).training is False


def test_kinds_of_functions() -> None:
    def f(x: Any, y: Any) -> Any:
        a, b = x.chunk(2)
        z = torch.nn.functional.dropout(a @ b.T, 0.5, training=False)
        z = torch.cat([z, z], dim=0) ** -y
        return torch.einsum("ij,kj->ik", z, z), 2 - z, abs(z), z.T.contiguous(), z == y, ~(z > 0)

    traced = fx.symbolic_trace(f)
    assert "pow_1 = cat ** neg;  cat = neg = None" in traced.code
    assert "torch.nn.functional.dropout(" in traced.code
    assert [n.op for n in traced.graph.nodes if n.name.startswith("chunk")] == ["call_method"]
    x = torch.rand(4, 3) + 0.5
    for got, expected in zip(traced(x, 2), f(x, 2), strict=True):
        assert torch.equal(got, expected)


def test_parameters_of_functions() -> None:
    def stars(x: Any, *args: Any, scale: float = 3.0, **kwargs: Any) -> Any:
        return (x + args[0]) * scale + kwargs["shift"]

    traced = fx.symbolic_trace(stars)
    assert "def forward(self, x, *args, scale = 3.0, **kwargs):" in traced.code
    assert traced(1.0, 2.0, scale=2.0, shift=1.0) == 7.0

    def branch(x: Any, flag: bool) -> Any:
        return x + 1 if flag else x

    taken = fx.symbolic_trace(branch, concrete_args={"flag": True})
    assert taken(torch.ones(1), True).tolist() == [2.0]
    with pytest.raises(AssertionError, match="specialized to have value True"):
        taken(torch.ones(1), False)
    none = fx.symbolic_trace(branch, concrete_args={"flag": None})
    assert none(torch.ones(1), None).tolist() == [1.0]
    with pytest.raises(AssertionError, match="specialized"):
        none(torch.ones(1), 1)


def test_what_depends_on_values() -> None:
    with pytest.raises(TraceError, match="control flow"):
        fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(TraceError, match="iterated"):
        fx.symbolic_trace(lambda x: [y for y in x])
    with pytest.raises(RuntimeError, match="'len' is not supported"):
        fx.symbolic_trace(lambda x: x + [1] * len(x))
    with pytest.raises(TypeError):
        fx.symbolic_trace(lambda x: float(x))
    with pytest.raises(NotImplementedError, match="argument of type"):
        fx.symbolic_trace(lambda x: x + memoryview(b"1"))


class Pair(NamedTuple):
    first: Any
    second: Any


def only_here(x: Any, count: int) -> Any:
    return [x for _ in range(int(x.sum()))][:count]


fx.wrap("only_here")


@fx.wrap
def wrapped(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x


def test_steps_of_a_graph() -> None:
    traced = fx.symbolic_trace(lambda x: wrapped(x) + only_here(x, 1)[0])
    assert [n.target.__name__ for n in traced.graph.nodes if n.op == "call_function"][:2] == ["wrapped", "only_here"]
    assert wrapped(torch.ones(1)).tolist() == [2.0]
    with pytest.raises(NotImplementedError, match="top level"):
        fx.wrap("wrapped")
    assert fx.symbolic_trace(lambda x: math.sqrt(x))(4.0) == 2.0
    pair = fx.symbolic_trace(lambda x: Pair(x, x + 1))(torch.zeros(1))
    assert isinstance(pair, Pair)
    assert pair.second.tolist() == [1.0]
    constant = fx.symbolic_trace(lambda x: x + torch.ones(2))
    assert [n.target for n in constant.graph.nodes if n.op == "get_attr"] == ["_tensor_constant0"]
    assert constant(torch.ones(2)).tolist() == [2.0, 2.0]


def test_tracer_with_leaves() -> None:
    class Leaves(fx.Tracer):  # type: ignore[misc]
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return isinstance(m, torch.nn.Sequential)

    model = Model()
    graph = Leaves().trace(model)
    assert [n.target for n in graph.nodes if n.op == "call_module"] == ["layers"]
    assert torch.equal(fx.GraphModule(model, graph)(torch.ones(1, 2))["sum"], model(torch.ones(1, 2))["sum"])

    shapes = fx.Tracer(param_shapes_constant=True)

    class Reads(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(2, 3))

        def forward(self, x: Any) -> Any:
            return x @ self.w if self.w.shape[0] == 2 else x

    assert [n.op for n in shapes.trace(Reads()).nodes] == ["placeholder", "get_attr", "call_function", "output"]


def test_changes() -> None:
    traced = fx.symbolic_trace(lambda x: torch.sin(x) + 1)
    sin = traced.graph.find_nodes(op="call_function", target=torch.sin)[0]
    with pytest.raises(RuntimeError, match="still had 1 users"):
        traced.graph.erase_node(sin)
    with traced.graph.inserting_after(sin):
        cos = traced.graph.call_function(torch.cos, sin.args)
    assert sin.replace_all_uses_with(cos) == [traced.graph.find_nodes(op="call_function", target=operator.add)[0]]
    assert cos > sin
    assert traced.graph.eliminate_dead_code()
    traced.recompile()
    assert traced(torch.zeros(1)).tolist() == [2.0]
    cos.args = (3.0,)
    assert cos.all_input_nodes == []
    with pytest.raises(NotImplementedError, match="mutation"):
        immutable_list([1]).append(2)
    x = next(iter(traced.graph.nodes))
    cos.args = (x,)
    cos.prepend(next(iter(reversed(traced.graph.nodes))))
    with pytest.raises(RuntimeError, match="before it has been defined"):
        traced.graph.lint()


def test_graph_of_ones_own() -> None:
    graph = fx.Graph()
    tracer = GraphAppendingTracer(graph)
    x, w = (fx.Proxy(graph.placeholder(name), tracer) for name in "xw")
    y = torch.einsum("ij,jk->ik", (x, w)).reshape(-1)
    graph.output(torch.nn.functional.softmax(y, dim=0).node)
    module = fx.GraphModule({}, graph)
    assert module(torch.ones(1, 2), torch.ones(2, 2)).tolist() == [0.5, 0.5]
    assert "torch.einsum('ij,jk->ik', x, w)" in module.code
    assert str(graph).splitlines()[1:3] == [
        "    %x : [num_users=1] = placeholder[target=x]",
        "    %w : [num_users=1] = placeholder[target=w]",
    ]
    held = fx.GraphModule({"a.weight": torch.ones(2)}, fx.Graph())
    assert list(held.state_dict()) == []
    other = fx.Graph()
    other.output(other.get_attr("a.weight"))
    assert list(fx.GraphModule({"a.weight": torch.ones(2)}, other).state_dict()) == ["a.weight"]
    with pytest.raises(RuntimeError, match=r"a\.weight"):
        fx.GraphModule({}, other)


def test_patterns() -> None:
    traced = fx.symbolic_trace(lambda x, y: torch.relu(torch.sin(x) + y) + torch.sin(y))
    found = fx.replace_pattern(traced, lambda a, b: torch.sin(a) + b, lambda a, b: a * b)
    assert [match.anchor.name for match in found] == ["add"]
    assert traced(torch.tensor(2.0), torch.tensor(0.0)).item() == 0.0
    assert "sin = torch.sin(y)" in traced.code or "sin_1 = torch.sin(y)" in traced.code


def test_interpreters() -> None:
    traced = fx.symbolic_trace(Model())
    x = torch.randn(2, 2)
    assert torch.equal(fx.Interpreter(traced).run(x)["sum"], traced(x)["sum"])

    class Tanh(fx.Transformer):  # type: ignore[misc]
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_function(torch.tanh if target is torch.relu else target, args, kwargs)

    changed = Tanh(traced).transform()
    assert "torch.tanh(" in changed.code
    assert "torch.relu(" not in changed.code
    failing = fx.symbolic_trace(lambda x: torch.add(x, 1))
    with pytest.raises(TypeError) as error:
        fx.Interpreter(failing).run("text")
    assert "While executing %add" in error.value.__notes__[0]


def test_make_fx_notes_what_is_called() -> None:
    make_fx = fx.experimental.proxy_tensor.make_fx
    model, shift = torch.nn.Linear(3, 2), torch.ones(2)

    def f(x: Any, options: dict[str, Any]) -> dict[str, Any]:
        h = model(x).relu() + shift
        values, places = torch.max(h, 0)
        first, *_ = options["y"].T
        return {"values": values, "rest": (h[0] @ options["y"].T, places, 1 - first), "rows": list(x)}

    x, options = torch.randn(4, 3), {"y": torch.randn(5, 2)}
    traced = make_fx(f)(x, options)
    for given in ((x, options), (x + 1, {"y": -options["y"]})):
        out, expected = traced(*given[:1], given[1]["y"]), f(*given)
        assert torch.equal(out["values"], expected["values"])
        assert all(torch.equal(a, b) for a, b in zip(out["rest"], expected["rest"], strict=True))
        assert len(out["rows"]) == 4
    assert [name for name, _ in traced.named_parameters()] == ["_param_constant0", "_param_constant1"]
    assert {n.target for n in traced.graph.nodes} >= {torch.ops.aten.relu.default, torch.ops.aten.add.Tensor, getattr}
    out["values"].sum().backward()
    assert model.weight.grad is not None
    assert fx.experimental.proxy_tensor.get_proxy_mode() is None


def test_make_fx_knows_what_was_not_recorded() -> None:
    def f(x: Any) -> Any:
        with torch.no_grad():
            scale = x * 2
        return x * scale

    x = torch.ones(2, requires_grad=True)
    fx.experimental.proxy_tensor.make_fx(f)(x)(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]

    def casts(x: Any) -> Any:
        with torch.autocast("cpu"):
            return x @ x

    with pytest.raises(_ferrograd.FerrogradError, match="autocast"):
        fx.experimental.proxy_tensor.make_fx(casts)(x)


def test_make_fx_refuses_what_it_does_not_see() -> None:
    make_fx = fx.experimental.proxy_tensor.make_fx
    x = torch.ones(3, requires_grad=True)
    for reads in (lambda x: x if x.sum() > 0 else -x, lambda x: x * x.sum().item(), lambda x: x * float(x[0])):
        with pytest.raises(RuntimeError, match="depends on data"):
            make_fx(reads)(x)
    for unseen in (
        lambda x: torch.autograd.grad(x.sum(), x)[0],
        lambda x: torch.vmap(torch.sin)(x),
        torch.func.grad(torch.sum),
    ):
        with pytest.raises(_ferrograd.FerrogradError, match="no function of torch has made"):
            make_fx(unseen)(x)
    with pytest.raises(_ferrograd.FerrogradError, match="no step"):
        make_fx(lambda x: x.sum().backward())(x)
    with pytest.raises(ValueError, match="symbolic"):
        make_fx(torch.sin, tracing_mode="symbolic")
    with pytest.raises(_ferrograd.FerrogradError, match="decomposition_table"):
        make_fx(torch.sin, {torch.sin: torch.cos})
    assert x.sum().item() == 3


def test_modes_see_transposes() -> None:
    seen = []

    class Log(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, 3)
    plain = type(x).T.__get__
    with Log():
        assert x.T.shape == (3, 2)
    assert seen == [plain]
    assert type(x).T.__get__ == plain
