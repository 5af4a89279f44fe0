"""Nodes of the graph as objects, in every namespace."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import ferrograd as fg
import pytest
from ferrograd import paddle, torch

from tests.dialects import ALL, Dialect, values

every = pytest.mark.parametrize("d", ALL, ids=repr)


@every
def test_names_and_inputs(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    y = x * 2
    names = {"native": "multiply", "paddle": "MultiplyGradNode", "torch": "MulBackward0"}
    assert y.grad_fn.name() == names[d.name]
    assert isinstance(y.grad_fn, fg.Node)
    assert (y * y).grad_fn.next_functions[0] == (y.grad_fn if d.name == "paddle" else (y.grad_fn, 0))
    if d.name == "paddle":
        assert [n.name() for n in y.grad_fn.next_functions] == ["GradNodeAccumulation"]
        assert x.grad_fn.name() == "GradNodeAccumulation"
    else:
        (leaf, output), rest = y.grad_fn.next_functions
        assert leaf.name() == {"native": "leaf", "torch": "torch::autograd::AccumulateGrad"}[d.name]
        assert leaf.variable is x
        assert (output, rest) == (0, (None, 0))
        assert x.grad_fn is None
        with pytest.raises(AttributeError, match="variable"):
            _ = y.grad_fn.variable
    assert d.tensor(1.0).grad_fn is None
    assert tuple(y.grad_fn._input_metadata[0].shape) == (2,)
    assert y.grad_fn._input_metadata[0].dtype == y.dtype
    assert y.grad_fn.requires_grad
    assert __file__ in str(y.grad_fn.site)


def test_class_names_are_torchs() -> None:
    x: Any = fg.torch.tensor([1.0, 2.0], requires_grad=True)
    node = (x * x).grad_fn
    assert type(node).__name__ == "MulBackward0"
    assert type(node.next_functions[0][0]).__name__ == "AccumulateGrad"
    assert repr(node).startswith("<MulBackward0 object at 0x")
    made = [x + x, x - x, x / x, -x, x.exp(), x.sum(), x.log_softmax(0), x.sigmoid(), x.acos()]
    words = ["Add", "Sub", "Div", "Neg", "Exp", "Sum", "LogSoftmax", "Sigmoid", "Acos"]
    assert [t.grad_fn.name() for t in made] == [f"{word}Backward0" for word in words]


def test_nodes_of_custom_functions_have_their_name() -> None:
    def same(base: Any) -> Any:
        forward, backward = staticmethod(lambda ctx, x: x * 1), staticmethod(lambda ctx, g: g)
        made: Any = type("Same", (base,), {"forward": forward, "backward": backward})
        return made.apply

    x: Any = fg.torch.ones(2, requires_grad=True)
    assert same(fg.torch.autograd.Function)(x).grad_fn.name() == "SameBackward"
    p: Any = paddle.to_tensor(1.0, stop_gradient=False)
    assert same(paddle.autograd.PyLayer)(p).grad_fn.name() == "GradNodePyLayer_Same"
    n: Any = fg.tensor(1.0, requires_grad=True)
    assert same(fg.Function)(n).grad_fn.name() == "Same"


@every
def test_identity(d: Dialect) -> None:
    y = d.leaf(1.0) * 2
    node = y.grad_fn
    assert y.grad_fn is node
    assert (y + 1).grad_fn != node
    assert len({node, y.grad_fn}) == 1
    assert node != 3
    # Two objects for one node are equal.
    hashed = hash(node)
    del node
    assert hash(y.grad_fn) == hashed


@every
def test_metadata_of_a_node_stays(d: Dialect) -> None:
    y = d.leaf(1.0) * 2
    assert y.grad_fn.metadata == {}
    y.grad_fn.metadata["who"] = "me"
    gc.collect()
    assert y.grad_fn.metadata == {"who": "me"}


@every
def test_a_node_keeps_its_graph(d: Dialect) -> None:
    before = fg._core.live_nodes()
    x = d.leaf(3.0)
    y = x * x
    node = y.grad_fn
    ref = weakref.ref(node)
    edge = fg.get_gradient_edge(y)
    assert edge.node is node
    del y, node
    assert ref() is None
    d.module.autograd.backward([edge]) if d.name == "torch" else fg.backward([edge])
    assert values(x.grad) == 6
    del x, edge
    assert fg._core.live_nodes() == before


@every
def test_edges(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    y = x.unbind()[1]
    edge = fg.GradientEdge(y.grad_fn, y.output_nr)
    assert edge == fg.get_gradient_edge(y)
    assert len({edge, fg.get_gradient_edge(y)}) == 1
    assert edge != fg.get_gradient_edge(x)
    node, output, token = edge
    assert (node is y.grad_fn, output, token) == (True, 1, None)
    assert values(fg.grad(y * 3, edge)) == 3
    with pytest.raises(IndexError):
        fg.GradientEdge(y.grad_fn, 2)
    with pytest.raises(IndexError):
        edge[3]


@every
def test_hooks_of_a_node(d: Dialect) -> None:
    log: list[Any] = []

    def before(outputs: Any) -> Any:
        log.append(("before", [values(g) for g in outputs]))
        return (outputs[0] * 10,)

    def after(inputs: Any, outputs: Any) -> Any:
        log.append(("after", [values(g) for g in inputs], [values(g) for g in outputs]))
        return (inputs[0] + 1, None)

    x = d.leaf(2.0)
    y = x * 3
    handles = [y.grad_fn.register_prehook(before), y.grad_fn.register_hook(after)]
    y.register_hook(lambda g: log.append(("tensor", values(g))))
    assert values(d.grad([y], [x], retain_graph=True)[0]) == 31
    assert log == [("tensor", 1), ("before", [1]), ("after", [30, None], [10])]
    for handle in handles:
        handle.remove()
    assert values(d.grad([y], [x])[0]) == 3


@every
@pytest.mark.parametrize("kind", ["register_hook", "register_prehook"])
def test_results_of_node_hooks_are_checked(d: Dialect, kind: str) -> None:
    def run(result: Any) -> None:
        x = d.leaf([1.0, 2.0])
        y = x.exp()
        getattr(y.grad_fn, kind)(lambda *_: result)
        d.backward([y.sum()])

    one = d.tensor([1.0, 1.0])
    for result, text in (
        (1, "expected tuple, but hook returned 'int'"),
        (one, "expected tuple"),
        ((), r"incorrect number of values \(got 0, but expected 1\)"),
        ((one, one), r"incorrect number of values \(got 2, but expected 1\)"),
        ((d.tensor([1.0]),), "has changed the size of value"),
        ((3,), "expected Tensor but hook returned int"),
    ):
        with pytest.raises(RuntimeError, match=text):
            run(result)
    run(None)
    run((None,))


def test_paddles_leaves_have_nodes() -> None:
    x: Any = paddle.to_tensor(1.0, stop_gradient=False)
    assert x.grad_fn is x.grad_fn
    assert (x * 2).grad_fn.next_functions == [x.grad_fn]


@every
def test_saved_values_of_a_node(d: Dialect) -> None:
    x, y = d.leaf([2.0]), d.leaf([5.0])
    node = (x * y).grad_fn
    assert node._saved_self is x
    assert node._saved_other is y
    with pytest.raises(AttributeError, match="_saved_result"):
        _ = node._saved_result
    e = x.exp()
    assert values(e.grad_fn._saved_result) == values(e.detach())
    assert e.grad_fn._saved_result.grad_fn is e.grad_fn
    inner = (e * y).grad_fn._saved_self
    assert inner.grad_fn is e.grad_fn
    with d.module.no_grad():
        x.add_(1)
    assert values(node._saved_self) == [2]
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = node.nothing_of_the_kind
    d.backward([e])
    with pytest.raises(RuntimeError, match="access saved tensors after they have already been freed"):
        _ = e.grad_fn._saved_result


def test_the_node_of_a_custom_function_has_the_attributes_of_its_context() -> None:
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, by: float) -> Any:
            ctx.save_for_backward(x, None)
            ctx.by = by
            return x * by

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.by, None

    x = torch.ones(2, requires_grad=True)
    y = Scaled.apply(x, 3.0)
    saved, nothing = y.grad_fn.saved_tensors
    assert values(saved) == [1, 1]
    assert nothing is None
    assert y.grad_fn.by == 3
    assert y.grad_fn.needs_input_grad == (True, False)
    assert y.grad_fn.name() == type(y.grad_fn).__name__ == "ScaledBackward"
    assert repr(y) == "tensor([3., 3.], grad_fn=<ScaledBackward>)"
    y.sum().backward()
    with pytest.raises(
        RuntimeError, match="Specify retain_graph=True if you need to backward through the graph a second"
    ):
        _ = y.grad_fn.saved_tensors


@every
def test_nodes_are_functions(d: Dialect) -> None:
    x, w = d.leaf([1.0, 2.0]), d.tensor([3.0, 4.0])
    node, g = (x * w).grad_fn, d.tensor([1.0, 10.0])
    first, second = node(g)
    assert (values(first), second) == ([3, 40], None)
    assert first.stop_gradient
    assert type(first) is type(x)
    assert node(None) == (None, None)
    single = (x * 2).sum().grad_fn
    assert values(single(d.tensor(5.0))) == [5, 5]
    # Each use of an input has its own gradient with its own shape.
    assert [values(g) for g in (x * x).grad_fn(g)] == [[1, 20], [1, 20]]
    assert values((d.leaf(2.0) * w).grad_fn(g)[0]) == 43
    x.grad = None
    assert x.grad is None
    # Calling the node did not free its saved values.
    d.backward([x * w])


@every
def test_called_nodes_are_recorded(d: Dialect) -> None:
    x, g = d.leaf([1.0, 2.0]), d.leaf([1.0, 1.0])
    node = (x**3).grad_fn
    found = node(g)
    first = found[0] if isinstance(found, tuple) else found
    assert values(d.grad([first], [x, g], retain_graph=True)[0]) == [6, 12]
    assert values(d.grad([first], [g])[0]) == [3, 12]
    with d.module.no_grad():
        found = node(g)
    assert (found[0] if isinstance(found, tuple) else found).stop_gradient


@every
def test_a_called_leaf_adds_up(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    leaf = (x * 2).grad_fn.next_functions[0]
    leaf = leaf if d.name == "paddle" else leaf[0]
    for _ in range(2):
        assert leaf(d.tensor([1.0, 2.0])) == ()
    assert values(x.grad) == [2, 4]
    assert leaf(None) == ()
    with pytest.raises(RuntimeError, match="shape"):
        leaf(d.tensor([1.0]))


@every
def test_wrong_calls_of_nodes(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    node, g = (x * 2).grad_fn, d.tensor([1.0, 1.0])
    for wrong in ((), (g, g)):
        with pytest.raises(TypeError, match=r"expected 1 arguments, got [02] instead"):
            node(*wrong)
    with pytest.raises(TypeError, match="argument 0 is not a Variable"):
        node(1.0)
    with pytest.raises(RuntimeError, match="shape"):
        node(d.tensor([[1.0, 1.0]]))
    y = x * x
    d.backward([y])
    with pytest.raises(RuntimeError, match=r"a second time"):
        y.grad_fn(g)
