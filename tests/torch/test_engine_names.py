"""What libraries ask of PyTorch's compiled module: the running pass, classes of nodes, functions without gradients."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from ferrograd import torch as _torch
from ferrograd.torch import _C, autograd

from tests.dialects import values

torch: Any = _torch
C: Any = _C


def test_a_pass_has_a_number_and_says_whether_it_keeps_the_graph() -> None:
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    seen: list[tuple[int, bool]] = []
    y.register_hook(
        lambda g: seen.append((C._current_graph_task_id(), C._autograd._get_current_graph_task_keep_graph()))
    )
    y.backward(retain_graph=True)
    torch.autograd.grad(y, x, retain_graph=True)
    y.backward()
    first = seen[0][0]
    assert seen == [(first, True), (first + 1, True), (first + 2, False)]
    assert C._current_graph_task_id() == -1
    assert C._autograd._get_current_graph_task_keep_graph()


def test_a_pass_inside_of_another_has_a_number_of_its_own() -> None:
    x, inner = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    seen = []

    def hook(_: Any) -> None:
        before = C._current_graph_task_id()
        with torch.enable_grad():
            (inner * 2).sum().backward()
        seen.append((before, C._current_graph_task_id()))

    y = x.sum()
    y.register_hook(hook)
    y.backward()
    [(before, after)] = seen
    assert before == after
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append(C._current_graph_task_id()))
    thread.start()
    thread.join()
    assert elsewhere == [-1]


def test_a_pass_says_which_nodes_it_comes_to_and_in_which_order() -> None:
    x, y, unused = (torch.ones(2, requires_grad=True) for _ in range(3))
    product, other = x * y, unused.cos()
    z = product.sin()
    order: list[Any] = []
    asked = [t.grad_fn for t in (product, z, other)]
    leaves = [product.grad_fn.next_functions[i][0] for i in (0, 1)]
    found: list[list[bool]] = []

    def hook(_: Any) -> None:
        found.append([C._will_engine_execute_node(node) for node in asked])
        order[:] = C._current_graph_task_execution_order()

    z.register_hook(hook)
    with torch.autograd.set_multithreading_enabled(False):
        z.sum().backward(retain_graph=True)
        assert order[1:] == [z.grad_fn, product.grad_fn, *reversed(leaves)]
        torch.autograd.grad(z.sum(), product, retain_graph=True)
        assert [node.name() for node in order] == ["SumBackward0", "SinBackward0", "MulBackward0"]
        torch.autograd.backward(z.sum(), inputs=[y], retain_graph=True)
        assert order[1:] == [z.grad_fn, product.grad_fn, leaves[1]]
    assert found == [[True, True, False]] * 3
    with pytest.raises(RuntimeError, match="multithreading disabled"):
        z.sum().backward(retain_graph=True)
    asked[:] = leaves
    with pytest.raises(RuntimeError, match="we are currently running autograd"):
        torch.autograd.grad(z.sum(), x)
    for ask in (C._current_graph_task_execution_order, lambda: C._will_engine_execute_node(z.grad_fn)):
        with pytest.raises(RuntimeError, match="only be called during the backward pass"):
            ask()
    with pytest.raises(RuntimeError, match="expects an grad_fn"):
        C._will_engine_execute_node(z)


def test_leaves_have_nodes_of_one_class() -> None:
    x = torch.ones(2, requires_grad=True)
    [(node, at), none] = (x + 5).grad_fn.next_functions
    assert isinstance(node, C._functions.AccumulateGrad)
    assert (at, none[0]) == (0, None)
    assert not isinstance((x + 5).grad_fn, C._functions.AccumulateGrad)


def test_functions_without_a_gradient_and_with_an_error_for_one() -> None:
    x = torch.ones(2, requires_grad=True)
    y = C._functions.UndefinedGrad()(x * 2)
    (y.sum() + x.sum()).backward()
    assert values(x.grad) == [1, 1]
    bad = C._functions.DelayedError("Boom!", 1)(x)
    assert values(bad) == [1, 1]
    with pytest.raises(RuntimeError, match="Boom!"):
        bad.sum().backward()
    a, b = C._functions.DelayedError("Boom!", 2)(x, x)
    torch.autograd.grad((a + b).sum(), a)
    with pytest.raises(RuntimeError, match="2 tensors are wanted, not 1"):
        C._functions.DelayedError("Boom!", 2)(x)


def test_saved_tensors_are_made_by_nodes() -> None:
    with pytest.raises(RuntimeError, match="Trying to create a SavedTensor object from Python is forbidden"):
        autograd.SavedTensor()
    x = torch.ones(2, requires_grad=True)
    assert isinstance(x.exp().grad_fn._raw_saved_result, autograd.SavedTensor)


def test_whether_hooks_may_be_set() -> None:
    enabled = C._autograd._saved_tensors_hooks_is_enabled
    assert enabled()
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        assert not enabled()
        with pytest.raises(RuntimeError, match="not here"), torch.autograd.graph.save_on_cpu():
            pass
        assert not enabled()
    assert enabled()


def test_recording_and_weak_references() -> None:
    assert C.is_grad_enabled()
    C._set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    C._set_grad_enabled(True)
    x = torch.ones(2)
    ref = C._WeakTensorRef(x)
    assert not ref.expired()
    del x
    assert ref.expired()
