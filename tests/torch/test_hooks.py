"""Hooks with torch's conventions."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import pytest
from ferrograd import torch
from ferrograd.torch.autograd.graph import Node, get_gradient_edge, queue_callback, register_multi_grad_hook

from tests.dialects import values


def leaf(data: Any) -> Any:
    return torch.tensor(data, requires_grad=True)


def test_retain_grad_keeps_the_gradient_after_the_hooks() -> None:
    x, y, z = leaf(1.0), leaf(2.0), leaf(3.0)
    w = x + y
    w.retain_grad()
    w.register_hook(lambda g: g * 2)
    (z * w).backward()
    assert [values(t.grad) for t in (w, x, y)] == [6, 6, 6]


def test_hooks_after_accumulation() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (x * 2).register_post_accumulate_grad_hook(print)
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        torch.tensor(1.0).register_post_accumulate_grad_hook(print)

    def step(p: Any) -> None:
        with torch.no_grad():
            p -= p.grad
        p.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 3).sum().backward()
    assert values(x) == [-2, -1]
    assert x.grad is None
    # grad accumulates nothing, so the hook does not run.
    torch.autograd.grad((x * 3).sum(), x)
    assert values(x) == [-2, -1]
    handle.remove()
    (x * 3).sum().backward(inputs=[x])
    assert values(x.grad) == [3, 3]
    # The result of a write to the leaf is the leaf.
    written = x.register_post_accumulate_grad_hook(lambda p: p.add_(1))
    before = values(x)
    x.sum().backward()
    assert values(x) == [v + 1 for v in before]
    written.remove()
    x.register_post_accumulate_grad_hook(lambda p: p.grad)
    with pytest.raises(RuntimeError, match=r"Tensor post accumulate grad hooks should return None\."):
        (x * 3).sum().backward()


def test_hooks_on_one_gradient_get_one_object() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    seen: list[Any] = []

    def mark(g: Any) -> None:
        g.mark = "set by the first hook"
        seen.append(g)

    y.register_hook(mark)
    y.register_hook(lambda g: seen.append(g.mark))
    y.register_hook(lambda g: g.mul_(2))
    y.register_hook(lambda g: seen.append(g))
    y.register_hook(lambda g: g * 5)
    y.register_hook(lambda g: seen.append(hasattr(g, "mark")))
    y.sum().backward()
    assert seen[0] is seen[2]
    assert seen[1::2] == ["set by the first hook", False]
    assert values(x.grad) == [30, 30]


def test_the_order_of_all_hooks_at_a_leaf() -> None:
    x = leaf([1.0, 1.0, 1.0])
    node = (x * 1).grad_fn.next_functions[0][0]

    def after(inputs: Any, outputs: Any) -> None:
        assert inputs == ()
        x.grad = outputs[0] * 10

    def added(p: Any) -> None:
        assert p is x
        p.grad.add_(0.5)

    node.register_hook(after)
    x.register_post_accumulate_grad_hook(added)
    node.register_prehook(lambda outputs: (outputs[0] / 5.0,))
    x.register_hook(lambda g: g - 2.0)
    x.sum().backward()
    assert values(x.grad) == [3, 3, 3]


def test_gradients_after_a_failed_pass() -> None:
    x, w, v = leaf(2.0), leaf(3.0), leaf(4.0)
    early: list[float] = []
    w.register_post_accumulate_grad_hook(lambda p: early.append(p.grad.item()))

    def fails(g: Any) -> None:
        raise KeyError("mine")

    x.register_hook(fails)
    y = (x * x) * v
    with pytest.raises(KeyError):
        (y + w * 5 if early else w * 5 + y).backward()
    assert (x.grad, v.grad) == (None, None)
    # A gradient that its hook has seen stays.
    assert (values(w.grad), early) in ((5, [5]), (None, []))


def test_hooks_and_prehooks_of_nodes() -> None:
    log: list[int] = []

    def hook1(g: Any) -> Any:
        log.append(1)
        return g * 3

    def hook2(outputs: Any) -> Any:
        log.append(2)
        return tuple(g * 2 for g in outputs)

    a = leaf(1.0)
    b = a.clone()
    b.grad_fn.register_prehook(hook2)
    b.register_hook(hook1)
    b.grad_fn.register_prehook(hook2)
    node = b.grad_fn.next_functions[0][0]
    a.register_hook(hook1)
    node.register_prehook(hook2)
    a.register_hook(hook1)
    b.sum().backward(retain_graph=True)
    assert log == [1, 2, 2, 1, 1, 2]
    assert values(a.grad) == 3 * 4 * 9 * 2
    log.clear()
    found = torch.autograd.grad(b.sum(), inputs=(a,), retain_graph=True)
    assert log == [1, 2, 2, 1, 1]
    assert values(found[0]) == 3 * 4 * 9
    log.clear()
    b.sum().backward(inputs=(b,))
    assert log == [1, 2, 2]
    assert b.grad.item() == 3


def test_a_node_that_does_not_run_calls_no_hooks() -> None:
    a, b = leaf(1.0), leaf(1.0)
    c = a.clone()

    def never(*_: Any) -> None:
        raise AssertionError("this node does not run")

    a.register_hook(never)
    c.grad_fn.next_functions[0][0].register_hook(never)
    (a + b + c).backward(inputs=[b])
    assert values(b.grad) == 1


def test_the_module_graph() -> None:
    x: Any = leaf(2.0)
    assert isinstance((x * x).grad_fn, Node)
    variable: Any = get_gradient_edge(x).node.variable
    assert variable is x
    calls: list[Any] = []
    handle = register_multi_grad_hook((x,), calls.append)
    (x * x).backward()
    assert values(calls[0][0]) == 4
    handle.remove()
    (x * x).backward()
    assert len(calls) == 1


def test_callbacks_at_the_end_of_a_pass() -> None:
    log: list[Any] = []
    x = leaf([1.0, 2.0])

    def last() -> None:
        log.append("last")

    def first() -> None:
        # All gradients are stored, and the pass has ended.
        log.append(values(x.grad))
        queue_callback(last)

    def hook(g: Any) -> None:
        log.append("hook")
        queue_callback(first)
        queue_callback(lambda: log.append("second"))

    y = x * 2
    y.register_hook(hook)
    y.sum().backward(retain_graph=True)
    assert log == ["hook", [2, 2], "second", "last"]
    log.clear()
    torch.autograd.grad(y.sum(), x)
    assert log == ["hook", [2, 2], "second", "last"]
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        queue_callback(last)
    old: Any = torch.autograd.Variable
    assert old._execution_engine.queue_callback is queue_callback


def test_callbacks_belong_to_their_pass() -> None:
    log: list[str] = []
    x = leaf([1.0])

    def inner(g: Any) -> None:
        queue_callback(lambda: log.append("of the inner pass"))

    def outer(g: Any) -> None:
        queue_callback(lambda: log.append("of the outer pass"))
        with torch.enable_grad():
            z = leaf([1.0]) * 2
            z.register_hook(inner)
            z.sum().backward()
        log.append("the inner pass has ended")

    y = x * 2
    y.register_hook(outer)
    y.sum().backward()
    assert log == ["of the inner pass", "the inner pass has ended", "of the outer pass"]

    def fails(g: Any) -> None:
        queue_callback(lambda: log.append("never"))
        raise KeyError("mine")

    y = x * 2
    y.register_hook(fails)
    with pytest.raises(KeyError):
        y.sum().backward()
    assert "never" not in log
    y = x * 2
    y.register_hook(lambda g: queue_callback(lambda: 1 / 0))
    before = values(x.grad)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert values(x.grad) == [before[0] + 2], "the gradient is stored before the callbacks"


def test_new_nodes_are_shown() -> None:
    from ferrograd.torch.autograd.graph import node_creation_hook

    x: Any = torch.tensor([1.0, 2.0], requires_grad=True)
    seen: list[Any] = []

    def note(node: Any) -> None:
        seen.append(node)
        node.metadata["region"] = len(seen)
        # Computations in the hook are not recorded, so they are not shown.
        assert not (x * 3).requires_grad

    with node_creation_hook(note):
        y = (x * 2).sin()
        x.detach().cos()
        with torch.no_grad():
            x.cos()
    z = y.sum()
    assert [n.name() for n in seen] == ["MulBackward0", "SinBackward0"]
    assert seen[1] is y.grad_fn
    assert seen[1].next_functions == ((seen[0], 0),)
    assert values(seen[1]._saved_self) == [2, 4]
    assert y.grad_fn.metadata == {"region": 2}
    seen.clear()
    with node_creation_hook(note):
        (g,) = torch.autograd.grad(z, x, create_graph=True)
    assert len(seen) > 1
    assert seen[-1] is g.grad_fn or g.grad_fn in seen


def test_new_nodes_are_shown_to_all_hooks_from_the_outermost() -> None:
    x: Any = torch.tensor([1.0, 2.0], requires_grad=True)
    order: list[str] = []

    def pack(x: Any) -> Any:
        order.append("pack")
        return x

    hook = torch.autograd.graph.node_creation_hook
    with hook(lambda n: order.append("outer")):
        with (
            hook(lambda n: order.append("inner")),
            torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x),
        ):
            y = x.exp()
        x.exp()
    x.exp()
    assert order == ["pack", "outer", "inner", "outer"]
    y.sum().backward()
    assert values(x.grad) == values(y)


def test_a_hook_for_new_nodes_that_fails() -> None:
    x: Any = torch.tensor([1.0, 2.0], requires_grad=True)

    def fails(node: Any) -> None:
        raise KeyError("no")

    with torch.autograd.graph.node_creation_hook(fails):
        with pytest.raises(KeyError, match="no"):
            x.exp()
        with pytest.raises(KeyError, match="no"):
            x * x
    (x * x).sum().backward()
    wrong: Any = 3
    with pytest.raises(TypeError), torch.autograd.graph.node_creation_hook(wrong):
        pass
    assert values(x.grad) == [2, 4]


def test_removing_a_hook_returns_none() -> None:
    x = leaf([1.0, 2.0])
    handle = x.register_hook(lambda g: g * 2)
    assert handle.remove() is None
    assert handle.remove() is None
    assert fg.tensor(1.0, requires_grad=True).register_hook(lambda g: g).remove() is True


def test_reflected_operators_record_the_tensor_first() -> None:
    x = leaf([1.0, 2.0])
    b = x.sin()
    for y in (2 * b, 2 + b, b * 2, b + 2):
        assert y.grad_fn.next_functions == ((b.grad_fn, 0), (None, 0))
    constant = torch.tensor(2.0)
    assert (constant * b).grad_fn.next_functions == ((None, 0), (b.grad_fn, 0))
    native: Any = fg.tensor([1.0, 2.0], requires_grad=True)
    assert (2 * native).grad_fn.next_functions[0] == (None, 0)


def test_data_of_another_shape() -> None:
    def halves() -> tuple[Any, Any]:
        x = leaf([1.0, 1.0, 1.0])
        y = (x * 2).sum()
        x.data = torch.ones(2)
        return x, y

    x, y = halves()
    with pytest.raises(RuntimeError, match="does not fit a tensor of shape"):
        (y + x.sum()).backward()
    assert x.grad is None
    x, y = halves()
    with pytest.raises(RuntimeError, match=r"a gradient of shape \[3\] does not fit a tensor of shape \[2\]"):
        y.backward()
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]

    x, seen = leaf([1.0, 1.0, 1.0]), []
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.data = torch.ones(2)
    (x * 2).sum().backward()
    assert seen == [[2.0, 2.0]]
    x.data = torch.zeros(2)
    (x * 3).sum().backward()
    assert seen == [[2.0, 2.0], [3.0, 3.0]]


def test_a_hook_of_one_result_is_called_with_none_where_gradients_arrive_at_others_only() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    parts = x.unbind()
    found: list[Any] = []
    parts[0].register_hook(found.append)
    parts[1].backward()
    assert found == [None]
    parts[0].backward()
    assert values(found[1]) == 1.0
    assert values(x.grad) == [1.0, 1.0, 0.0]
    # What the hook returns is the gradient.
    leaf = torch.tensor([4.0, 5.0], requires_grad=True)
    first, second = leaf.unbind()
    first.register_hook(lambda g: torch.tensor(7.0) if g is None else None)
    second.backward()
    assert values(leaf.grad) == [7.0, 1.0]
