"""``torch.autograd`` and the gradients of torch's tensors."""

from __future__ import annotations

import inspect
import warnings
from collections import UserDict
from typing import Any

import numpy as np
import pytest
from ferrograd import torch
from ferrograd.torch.autograd.graph import GradientEdge, get_gradient_edge

from tests.dialects import values


def leaf(data: Any, dtype: Any = None) -> Any:
    return torch.tensor(data, dtype=dtype, requires_grad=True)


def test_the_signature_of_grad() -> None:
    parameters = inspect.signature(torch.autograd.grad).parameters
    assert {name: p.default for name, p in parameters.items()} == {
        "outputs": inspect.Parameter.empty,
        "inputs": inspect.Parameter.empty,
        "grad_outputs": None,
        "retain_graph": None,
        "create_graph": False,
        "only_inputs": True,
        "allow_unused": None,
        "is_grads_batched": False,
        "materialize_grads": False,
    }
    x = leaf(3.0)
    found = torch.autograd.grad(x * x, x)
    assert isinstance(found, tuple)
    assert isinstance(found[0], torch.Tensor)
    assert values(found[0]) == 6


def test_no_inputs() -> None:
    with pytest.raises(RuntimeError, match=r"`inputs` argument to `grad\(\)` cannot be empty\."):
        torch.autograd.grad(leaf(1.0), [])
    with pytest.raises(RuntimeError, match=r"`inputs` argument to `backward\(\)` cannot be empty\."):
        torch.autograd.backward(leaf(1.0), inputs=[])
    with pytest.raises(RuntimeError, match=r"`inputs` argument to `backward\(\)` cannot be empty\."):
        leaf(1.0).backward(inputs=[])


def test_arguments_that_are_not_tensors_are_named() -> None:
    y = leaf(1.0) * 2
    outputs: list[tuple[Any, str]] = [
        (3, "outputs: a Tensor, a GradientEdge or a sequence of them, not int"),
        ([y, 3], "outputs: the element at index 1 is int, not a Tensor"),
    ]
    for given, text in outputs:
        with pytest.raises(TypeError, match=text):
            torch.autograd.grad(given, y)
        with pytest.raises(TypeError, match=text):
            torch.autograd.backward(given)
    inputs: list[tuple[Any, str]] = [
        (3, "inputs: a Tensor"),
        ([3], "inputs: the element at index 0 is int"),
        ("xy", "inputs: the element at index 0 is str"),
    ]
    for given, text in inputs:
        with pytest.raises(TypeError, match=text):
            torch.autograd.grad(y, given)
        with pytest.raises(TypeError, match=text):
            torch.autograd.backward(y, inputs=given)
        with pytest.raises(TypeError, match=text):
            y.backward(inputs=given)


def test_any_iterable_of_tensors_is_accepted() -> None:
    x = leaf(2.0)
    inputs: Any = (t for t in [x])
    outputs: Any = (t for t in [x * x])
    assert values(torch.autograd.grad(outputs, inputs)[0]) == 4


def test_an_unused_input() -> None:
    x, z = leaf(3.0), leaf(1.0)
    text = r"The differentiated Tensor at index 1 appears to not have been used in the graph.*Set allow_unused=True"
    with pytest.raises(RuntimeError, match=text):
        torch.autograd.grad(x * x, [x, z])


@pytest.mark.parametrize("create_graph", [False, True])
def test_zeros_for_unused_inputs(create_graph: bool) -> None:
    x, z = leaf(1.0), leaf(2.0)
    dx, dz = torch.autograd.grad(2 * x, [x, z], materialize_grads=True, create_graph=create_graph)
    assert (values(dx), values(dz)) == (2, 0)
    assert dz.requires_grad == create_graph
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed when materialize_grads=True"):
        torch.autograd.grad(2 * x, [x], allow_unused=False, materialize_grads=True)


def test_duplicates_are_allowed() -> None:
    x = leaf(1.0)
    y = 2 * x
    assert [values(g) for g in torch.autograd.grad(y, [x, x], retain_graph=True)] == [2, 2]
    assert [values(g) for g in torch.autograd.grad([y, y], x)] == [4]


def test_an_untracked_input() -> None:
    x, w = leaf(1.0), torch.tensor(2.0)
    with pytest.raises(RuntimeError, match="One of the differentiated Tensors does not require grad"):
        torch.autograd.grad(x * w, [x, w], allow_unused=True)


def test_the_wrong_number_of_grad_outputs() -> None:
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        torch.autograd.grad([x * 2, x * 3], x, [None])
    with pytest.raises(RuntimeError, match="got 1 tensors and 2 gradients"):
        torch.autograd.grad([x * 2], x, [None, None])


def test_a_grad_output_of_another_shape() -> None:
    x = leaf([1.0, 2.0])
    text = (
        r"Mismatch in shape: grad_output\[0\] has a shape of torch\.Size\(\[1\]\) and "
        r"output\[0\] has a shape of torch\.Size\(\[2\]\)\."
    )
    with pytest.raises(RuntimeError, match=text):
        torch.autograd.grad(x * x, x, torch.ones(1))
    with pytest.raises(RuntimeError, match=text):
        (x * x).backward(torch.ones(1))


def test_complex_seeds_of_real_outputs_are_refused() -> None:
    x = leaf([1.0, 2.0])
    for seed in ([1j, 1j], np.ones(2, np.complex64)):
        with pytest.raises(
            TypeError, match=r"grad_output\[0\] has a dtype of complex64 and output\[0\] has a dtype of"
        ):
            torch.autograd.grad(x * x, x, torch.tensor(seed))
        with pytest.raises(TypeError):
            torch.autograd.grad(x * x, x, [seed])  # type: ignore[list-item]


def test_grad_outputs_that_are_no_tensors() -> None:
    x = leaf(1.0)
    with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got float"):
        torch.autograd.grad(x * x, [x], [1.0])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got float"):
        (x * x).backward(1.0)


def test_only_inputs_is_ignored() -> None:
    x, w = leaf(1.0), leaf(2.0)
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        (dx,) = torch.autograd.grad(x * w, x, only_inputs=False)
    assert values(dx) == 2
    assert w.grad is None


def test_a_dict_of_inputs() -> None:
    x, w = leaf(1.0), leaf(2.0)
    found = torch.autograd.grad(x * w, {"x": x, "w": w})
    assert {k: values(g) for k, g in found.items()} == {"x": 2, "w": 1}
    with pytest.raises(TypeError, match="must be a dict, not UserDict"):
        torch.autograd.grad(x * w, UserDict(x=x))  # type: ignore[call-overload]


def test_an_untracked_output() -> None:
    x, w = leaf(1.0), torch.tensor(2.0)
    text = "element 1 of tensors does not require grad and does not have a grad_fn"
    with pytest.raises(RuntimeError, match=text):
        torch.autograd.grad([x * 2, w], x)
    with pytest.raises(RuntimeError, match=text):
        torch.autograd.grad([x * 2, w], x, [torch.tensor(1.0), torch.tensor(1.0)])
    assert values(torch.autograd.grad([x * 2, w], x, [None, None])[0]) == 2


def test_backward_of_an_untracked_tensor() -> None:
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        torch.tensor(1.0).backward()


def test_requires_grad_changed_after_use() -> None:
    x = leaf(3.0)
    y = x * x
    x.requires_grad = False
    y.backward()
    assert x.grad is None

    y = leaf(3.0) * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad = False
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad_(False)
    y.stop_gradient = True
    assert not y.requires_grad


def test_grad_stays_when_requires_grad_is_unset() -> None:
    x = leaf(3.0)
    (x * x).backward()
    x.requires_grad_(False)
    assert values(x.grad) == 6


def test_integers_are_not_tracked() -> None:
    text = "Only Tensors of floating point and complex dtype can require gradients"
    with pytest.raises(RuntimeError, match=text):
        torch.tensor([1, 2], requires_grad=True)
    with pytest.raises(RuntimeError, match=text):
        torch.tensor([1, 2]).requires_grad_()


def test_values_that_grad_can_be_set_to() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(TypeError, match="assigned grad expected to be a Tensor or None but got grad of type int"):
        x.grad = 5
    with pytest.raises(RuntimeError, match=r"of size '\[3\]' to a tensor of size '\[2\]'"):
        x.grad = torch.ones(3)
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with dtype 'float64' to a tensor with"):
        x.grad = torch.ones(2, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="can't assign Variable as its own grad"):
        x.grad = x
    g = torch.ones(2)
    x.grad = g
    assert x.grad is g
    x.grad = None
    assert x.grad is None


def test_batched_grad_outputs() -> None:
    x = leaf([1.0, 2.0, 3.0])
    eye = torch.tensor(np.eye(3, dtype=np.float32))
    (jacobian,) = torch.autograd.grad(x * x, x, eye, is_grads_batched=True)
    assert values(jacobian) == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    (first,) = torch.autograd.grad(x * x * x, x, eye, is_grads_batched=True, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert values(second) == [6, 12, 18]
    text = "If `is_grads_batched=True`, we interpret the first dimension"
    with pytest.raises(RuntimeError, match=text):
        torch.autograd.grad(x * x, x, torch.ones(3), is_grads_batched=True)


def test_gradient_edges() -> None:
    x = leaf(3.0)
    t = x * x
    edge = get_gradient_edge(t)
    assert isinstance(edge, GradientEdge)
    assert edge.output_nr == 0
    out = t * 5
    by_edge = torch.autograd.grad(out, edge, retain_graph=True)
    by_tensor = torch.autograd.grad(out, t, retain_graph=True)
    assert values(by_edge[0]) == values(by_tensor[0]) == 5
    assert values(torch.autograd.grad(edge, x, torch.tensor(2.0), retain_graph=True)[0]) == 12
    with pytest.raises(RuntimeError, match="It is not possible to get the gradient edge"):
        get_gradient_edge(torch.tensor(1.0))


def test_an_edge_owns_its_graph() -> None:
    x = leaf(3.0)
    t = x * x
    edge = get_gradient_edge(t)
    del t
    assert values(torch.autograd.grad(edge, x)[0]) == 6


def test_backward_warns_once_of_gradients_with_a_history() -> None:
    """By default once a process; here another test may have been first."""
    x = leaf(3.0)

    def warned() -> list[str]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            (x * x).backward(create_graph=True)
            torch.autograd.grad(x * x, x, create_graph=True)
        return [str(w.message)[:40] for w in found]

    warned()
    assert warned() == []
    torch.set_warn_always(True)
    try:
        assert warned() == warned() == ["Using backward() with create_graph=True "]
    finally:
        torch.set_warn_always(False)


def test_what_only_other_tensors_have_is_an_error() -> None:
    x = leaf([1.0, 2.0]) * 2
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        x[:1].detach_()
    assert not x.detach_().requires_grad
    with pytest.raises(RuntimeError, match="imag is not implemented for tensors with non-complex dtypes"):
        _ = x.imag
    assert torch.view_as_complex(x).imag.item() == 4


def test_an_unused_edge_has_no_zeros() -> None:
    x, z = leaf(3.0), leaf([1.0, 2.0])
    edge = get_gradient_edge(z * 2)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        torch.autograd.grad(x * x, [z, edge], materialize_grads=True)
    (used,) = torch.autograd.grad(x * x, get_gradient_edge(x), materialize_grads=True)
    assert values(used) == 6
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.autograd.grad(edge, z)


def test_only_outputs_of_one_element_have_an_implied_seed() -> None:
    z = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.autograd.grad([z * z], [z], grad_outputs=[None])
    one = leaf([3.0])
    assert values(torch.autograd.grad([one * one], [one], grad_outputs=[None])[0]) == [6]


def test_backward_into_some_inputs() -> None:
    x, w = leaf(2.0), leaf(3.0)
    y = x * w
    (y * 4).backward(inputs=[x, y], retain_graph=True)
    assert values(x.grad) == 12
    assert values(y.grad) == 4
    assert w.grad is None
    torch.autograd.backward(y, inputs=w)
    assert values(w.grad) == 2


def test_grad_variables() -> None:
    x = leaf(3.0)
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated"):
        torch.autograd.backward(x * x, grad_variables=torch.tensor(2.0))
    assert values(x.grad) == 12
    with pytest.raises(RuntimeError, match="arguments both passed"):
        torch.autograd.backward(x * x, torch.tensor(1.0), grad_variables=torch.tensor(1.0))


def test_numpy_of_a_tracked_tensor() -> None:
    x = leaf([1.0])
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        x.numpy()
    assert x.detach().numpy().tolist() == [1]
    assert np.asarray(x).tolist() == [1]


def test_a_fresh_grad_is_not_tracked() -> None:
    x = leaf(3.0)
    (x * x).backward()
    assert not x.grad.requires_grad


def test_the_edge_of_a_tensor_that_was_written_to() -> None:
    x = torch.ones(3, requires_grad=True).clone()
    before = get_gradient_edge(x)
    x *= 2
    assert [values(g) for g in torch.autograd.grad(x.sum(), [before, x])] == [[2] * 3, [1] * 3]


def test_the_edge_of_a_tensor_that_was_set() -> None:
    x: Any = torch.ones(3, requires_grad=True).clone()
    edge, out, source = get_gradient_edge(x), x * x, torch.zeros(3)
    with pytest.raises(RuntimeError, match="is set under no_grad only"):
        x.set_(source)
    with torch.no_grad():
        assert x.set_(source) is x
    assert values(x) == [0, 0, 0]
    assert x.requires_grad
    assert values(torch.autograd.grad(out.sum(), edge)[0]) == [2, 2, 2]
    p: Any = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        p.set_(torch.ones(2))
    other: Any = torch.zeros(1)
    other.set_(p.detach())
    other[0] = 5.0
    assert values(p) == [5, 1]
    assert p.is_leaf


def test_set_multithreading_enabled() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert torch.autograd.is_multithreading_enabled()
        with torch.autograd.set_multithreading_enabled(False):
            assert not torch.autograd.is_multithreading_enabled()
            assert torch.get_num_threads() == 1
            with torch.autograd.set_multithreading_enabled(True):
                assert torch.get_num_threads() == 3
            with torch.autograd.grad_mode.set_multithreading_enabled(False):
                pass
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
        torch.autograd.set_multithreading_enabled(False)
        assert torch.get_num_threads() == 1
        torch.autograd.set_multithreading_enabled(True)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_modules_by_their_old_names() -> None:
    from ferrograd.torch.autograd.anomaly_mode import detect_anomaly
    from ferrograd.torch.autograd.variable import Variable

    assert Variable is torch.autograd.Variable
    assert detect_anomaly is torch.autograd.detect_anomaly


def test_hooks_on_saved_tensors_end_without_arguments() -> None:
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda x: x * 2, lambda x: x)
    hooks.__enter__()
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    hooks.__exit__()
    y.backward()
    assert x.grad.item() == 12.0


def test_versions_of_tensors_of_inference_mode_do_not_count() -> None:
    with torch.inference_mode():
        x = torch.ones(2)
        torch.autograd.graph.increment_version(x)
    torch.autograd.graph.increment_version(x)
    assert x.is_inference()
    with pytest.raises(ValueError, match="grad requires non-empty inputs"):
        torch.autograd.grad(torch.ones(1, requires_grad=True) * 2, [])
