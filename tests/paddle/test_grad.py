"""``paddle.grad`` and ``paddle.autograd.backward``."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import paddle, torch
from ferrograd.paddle.fluid import dygraph

from tests.dialects import values


def leaf(data: Any, dtype: Any = None) -> Any:
    return paddle.to_tensor(data, dtype, stop_gradient=False)


@pytest.mark.parametrize(("create_graph", "expected"), [(False, 2), (True, 4)])
def test_a_gradient_used_in_the_loss(create_graph: bool, expected: float) -> None:
    x = paddle.ones(shape=[1], dtype="float32")
    x.stop_gradient = False
    y = x * x
    dx = paddle.grad(outputs=[y], inputs=[x], create_graph=create_graph, retain_graph=True)[0]
    (y + dx).backward()
    assert x.gradient().dtype == np.float32
    assert x.gradient().tolist() == [expected]


@pytest.mark.parametrize(
    ("first", "second", "expected"), [(None, None, 7), (None, 4.0, 16), (4.0, None, 19), (3.0, 4.0, 24)]
)
def test_grad_outputs(first: float | None, second: float | None, expected: float) -> None:
    x = leaf(2.0)
    given = [None if g is None else paddle.to_tensor(g) for g in (first, second)]
    seeds = None if given == [None, None] else given
    dx = paddle.grad(outputs=[x * x, x * 3], inputs=[x], grad_outputs=seeds)[0]
    assert dx.numpy().shape == ()
    assert values(dx) == expected


def test_backward_and_clear_grad() -> None:
    x = leaf([[1, 2], [3, 4]], "float32")
    y = paddle.to_tensor([[3, 2], [3, 4]], dtype="float32")
    g1 = paddle.to_tensor([[1, 2], [2, 3]], dtype="float32")
    g2 = paddle.to_tensor([[1, 1], [1, 1]], dtype="float32")
    z1, z2 = paddle.matmul(x, y), paddle.matmul(x, y)
    x.clear_grad()
    assert values(x.grad) is None
    paddle.autograd.backward([z1, z2], [g1, g2], True)
    assert values(x.grad) == [[12, 18], [17, 25]]
    assert str(x.grad) == (
        "Tensor(shape=[2, 2], dtype=float32, place=Place(cpu), stop_gradient=False,\n"
        "       [[12., 18.],\n        [17., 25.]])"
    )
    x.clear_grad()
    assert values(x.grad) == [[0, 0], [0, 0]]
    paddle.autograd.backward([z1, z2], [g1, None], True)
    assert values(x.grad) == [[12, 18], [17, 25]]
    x.clear_gradient(set_to_zero=False)
    assert x.grad is None
    paddle.autograd.backward([z1, z2])
    assert values(x.grad) == [[10, 14], [10, 14]]


def test_backward_of_a_bare_tensor_of_many_elements() -> None:
    x = leaf(np.arange(-5, 5, 0.01), "float32")
    paddle.autograd.backward(paddle.sin(x))
    np.testing.assert_allclose(x.grad.numpy(), np.cos(x.numpy()), rtol=1e-6, atol=1e-7)


def test_numpy_of_a_tracked_tensor() -> None:
    x = leaf([1.0, 2.0])
    assert isinstance(np.asarray(x), np.ndarray)
    assert x.numpy().tolist() == [1, 2]


@pytest.mark.parametrize(("create_graph", "expected"), [(False, 2), (True, 4)])
def test_names_of_paddle_1_8(create_graph: bool, expected: float) -> None:
    with paddle.imperative.guard():
        x = paddle.ones(shape=[1], dtype="float32", device=None, out=None)
        x.stop_gradient = False
        y = x * x
        found = paddle.fluid.dygraph.grad(
            outputs=[y], inputs=[x], create_graph=create_graph, retain_graph=True, backward_strategy=None
        )
        assert isinstance(found, tuple)
        (y + found[0]).backward()
    assert x.gradient().tolist() == [expected]


def test_the_parameters_of_fluid_dygraph_grad() -> None:
    assert list(inspect.signature(dygraph.grad).parameters) == [
        *["outputs", "inputs", "grad_outputs", "retain_graph", "create_graph", "only_inputs", "allow_unused"],
        *["no_grad_vars", "backward_strategy"],
    ]


def test_the_signature_of_grad() -> None:
    parameters = inspect.signature(paddle.grad).parameters
    assert {name: p.default for name, p in parameters.items()} == {
        "outputs": inspect.Parameter.empty,
        "inputs": inspect.Parameter.empty,
        "grad_outputs": None,
        "retain_graph": None,
        "create_graph": False,
        "only_inputs": True,
        "allow_unused": False,
        "no_grad_vars": None,
        "dump_backward_graph_path": None,
    }
    assert parameters["dump_backward_graph_path"].kind is inspect.Parameter.KEYWORD_ONLY


def test_the_signature_of_backward() -> None:
    parameters = inspect.signature(paddle.autograd.backward).parameters
    assert list(parameters) == ["tensors", "grad_tensors", "retain_graph", "dump_backward_graph_path"]
    assert parameters["retain_graph"].default is False
    assert parameters["dump_backward_graph_path"].kind is inspect.Parameter.KEYWORD_ONLY


def test_only_inputs_false() -> None:
    x, w, b = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf([5.0, 6.0])
    with_others = paddle.grad([x * w + b], [x], only_inputs=False)
    alone = paddle.grad([x * w + b], [x])
    assert values(with_others[0]) == values(alone[0]) == [3, 4]
    assert x.grad is None
    assert values(w.grad) == [1, 2]
    assert values(b.grad) == [1, 1]
    paddle.grad([x * w + b], [x], only_inputs=False)
    assert values(w.grad) == [2, 4]


def test_arguments_that_are_no_tensors() -> None:
    x, x2 = leaf([1.0]), leaf([2.0])
    y = x * x2
    calls: list[tuple[Any, ...]] = [
        (None, None),
        (1, x),
        (x, 1),
        ([1], [x]),
        ([x], [1]),
        ([x, x2], [x], [y]),
    ]
    for args in calls:
        with pytest.raises(AssertionError):
            paddle.grad(*args)
    for bad in ([1], 1):
        with pytest.raises(AssertionError):
            paddle.grad([y], [x], no_grad_vars=bad)  # type: ignore[arg-type]


def test_no_inputs_or_outputs() -> None:
    x = leaf([1.0])
    with pytest.raises(AssertionError, match="inputs cannot be empty"):
        paddle.grad([x * x], [])
    with pytest.raises(AssertionError, match="outputs cannot be empty"):
        paddle.grad([], [x])


def test_an_unused_input() -> None:
    x, z = leaf([1.0]), leaf([1.0])
    with pytest.raises(ValueError, match=r"The 1-th input does not appear in the backward graph.*allow_unused"):
        paddle.grad([x * x], [x, z])


def test_duplicates_in_grad_are_refused() -> None:
    x = leaf([1.0])
    y = x * x
    for outputs, inputs in (([y], [x, x]), ([y, y], [x])):
        with pytest.raises(RuntimeError, match="duplicate"):
            paddle.grad(outputs, inputs)


def test_duplicates_in_backward_are_refused() -> None:
    y = leaf([1.0]) * 2
    with pytest.raises(AssertionError, match=r"contains duplicate paddle\.Tensor object"):
        paddle.autograd.backward([y, y])


def test_an_untracked_input() -> None:
    x, w = paddle.to_tensor([1.0]), leaf([2.0])
    with pytest.raises(ValueError, match="The 0-th input"):
        paddle.grad(x * w, [x])
    assert paddle.grad(x * w, [x], allow_unused=True) == [None]


@pytest.mark.parametrize("container", [lambda t: t, lambda t: [t], lambda t: (t,), lambda t: {t}])
def test_no_grad_vars(container: Any) -> None:
    x = leaf([3.0])
    a = x * 2
    assert values(paddle.grad([a * x], [x], no_grad_vars=container(a))[0]) == [6]
    assert not a.stop_gradient


def test_an_input_among_no_grad_vars() -> None:
    x = leaf([3.0])
    a = 2 * x
    with pytest.raises(ValueError, match=r"0-th.*no_grad_vars"):
        paddle.grad([a * x], [x], no_grad_vars=[x])
    assert paddle.grad([2 * x * x], [x], no_grad_vars=[x], allow_unused=True) == [None]


def test_no_grad_vars_cuts_every_path() -> None:
    x = leaf([3.0])
    a = 2 * x
    y = a * 5
    assert paddle.grad([y], [x], no_grad_vars=[a], allow_unused=True, retain_graph=True) == [None]
    assert values(paddle.grad([y, x * x], [x], no_grad_vars=[y])[0]) == [6]


def test_the_wrong_number_of_grad_outputs() -> None:
    x = leaf([3.0])
    y = x * x
    with pytest.raises(AssertionError, match="The length of grad_outputs must be equal to outputs"):
        paddle.grad([y], [x], [y, y])
    assert values(paddle.grad([y], [x], [])[0]) == [6]


def test_grad_outputs_that_are_no_tensors() -> None:
    x = leaf([3.0])
    with pytest.raises(AssertionError):
        paddle.grad([x * x], [x], [1.0])  # type: ignore[list-item]


def test_flags_that_are_no_booleans() -> None:
    x = leaf([3.0])
    y = x * x
    with pytest.raises(AssertionError, match="create_graph must be True or False"):
        paddle.grad([y], [x], create_graph=1)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="retain_graph must be None, True or False"):
        paddle.grad([y], [x], retain_graph=1)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="allow_unused must be True or False"):
        paddle.grad([y], [x], allow_unused=None)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="retain_graph must be True or False"):
        paddle.autograd.backward([y], None, 1)  # type: ignore[arg-type]


def test_untracked_outputs_are_ignored() -> None:
    x = leaf([3.0])
    assert values(paddle.grad([x * x, paddle.to_tensor([1.0])], [x])[0]) == [6]


def test_backward_of_an_untracked_tensor() -> None:
    x = paddle.to_tensor([1.0])
    with pytest.warns(UserWarning, match="no effect.*nothing below it was made with stop_gradient=False"):
        x.backward()
    assert x.grad is None


def test_seeds_of_tensor_backward() -> None:
    y = leaf([1.0, 2.0]) * 2
    with pytest.raises(AssertionError, match="Tensor shape not match"):
        y.backward(paddle.ones([1]))
    with pytest.raises(AssertionError, match=r"must be paddle\.Tensor"):
        y.backward(np.ones(2))


def test_pictures_of_the_graph(tmp_path: Path) -> None:
    x = leaf([[1.0, 2.0]])
    w = leaf([[1.0], [2.0]])
    where = tmp_path / "made" / "here"
    y = paddle.matmul(x, w)
    y.backward(dump_backward_graph_path=str(where))
    names = sorted(os.listdir(where))
    assert [n.split("_", 3)[-1] for n in names] == ["backward_graph.dot", "call_stack.log", "ref_forward_graph.dot"]
    picture = (where / names[0]).read_text()
    assert picture.startswith("digraph G {")
    assert "MatmulGradNode" in picture
    assert "GradNodeAccumulation" in picture
    assert "Place(cpu)" in picture
    assert "float32[1, 2]" in picture
    assert "test_grad.py" in (where / names[1]).read_text()
    y = paddle.matmul(x, w)
    paddle.grad([y], [x], dump_backward_graph_path=str(where), retain_graph=True)
    paddle.autograd.backward([y], dump_backward_graph_path=str(where))
    assert len(os.listdir(where)) == 9


def test_pictures_show_names_values_bytes_times_and_lines(tmp_path: Path) -> None:
    x = leaf([[1.0, 2.0]])
    w = leaf([[1.0], [2.0]])
    x.name = "the input"
    y = paddle.matmul(x, w)
    y.backward(dump_backward_graph_path=str(tmp_path))
    backward, calls, forward = ((tmp_path / name).read_text() for name in sorted(os.listdir(tmp_path)))
    number = r"test_grad\.py:\d+"
    op = ', shape=box, style="filled", fillcolor="#eef3fb", color="#5b7db1"'
    own = ', shape=box, style="rounded,filled", fillcolor="#e9f5ea", color="#4f9a58"'
    assert re.fullmatch(
        r"digraph G \{\n"
        rf'node_0\[label="MatmulGradNode\\nfloat32\[1, 1\]\\nkeeps 16 B\\n\d+\.\d us\\n{number}"{op}\]\n'
        rf'node_1\[label="GradNodeAccumulation\\nfloat32\[2, 1\]\\n{number}"{own}\]\n'
        rf'node_2\[label="GradNodeAccumulation\\nthe input\\nfloat32\[1, 2\]\\n{number}"{own}\]\n'
        r'node_0->node_2\[label="Place\(cpu\)\\nfloat32\[1, 2\]"\]\n'
        r'node_0->node_1\[label="Place\(cpu\)\\nfloat32\[2, 1\]"\]\n\}\n',
        backward,
    )
    assert 'node_2->node_0[label="Place(cpu)' in forward
    assert 'node_0[label="matmul' in forward
    assert re.match(rf"node_0 MatmulGradNode: .*{number}\n    y = paddle\.matmul\(x, w\)\n", calls)


def test_pictures_of_a_failed_pass_show_the_nodes_that_ran(tmp_path: Path) -> None:
    y = (leaf([1.0]) ** 2).sum()
    y.backward()
    with pytest.raises(fg.FreedGraphError):
        y.backward(dump_backward_graph_path=str(tmp_path))
    assert len(os.listdir(tmp_path)) == 3
    with pytest.raises(fg.FreedGraphError):
        paddle.autograd.backward([y], dump_backward_graph_path=str(tmp_path))
    for name in os.listdir(tmp_path):
        if name.endswith("backward_graph.dot"):
            picture = (tmp_path / name).read_text()
            assert re.search(r'"SumGradNode[^"]* us', picture)
            assert re.search(r'"PowGradNode[^"]*freed', picture)
            assert not re.search(r'"PowGradNode[^"]* us', picture)
    assert not fg._core.watching("nodes")


@pytest.mark.long
def test_pictures_of_a_graph_that_is_too_large(tmp_path: Path) -> None:
    y = leaf([1.0])
    for _ in range(100_005):
        y = -y
    y.backward(dump_backward_graph_path=str(tmp_path))
    for name in os.listdir(tmp_path):
        assert "The graph is larger: 6 more nodes." in (tmp_path / name).read_text()


def test_bad_paths_for_pictures(tmp_path: Path) -> None:
    x = leaf([1.0])
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(AssertionError, match="path must be string type"):
        paddle.grad([x * x], [x], dump_backward_graph_path=3)  # type: ignore[arg-type]
    with pytest.raises(NotADirectoryError, match=r" path:'.*file' must be directory "):
        (x * x).backward(dump_backward_graph_path=str(file))
    with pytest.raises(OSError, match=r"Create '.*below' failed : "):
        paddle.autograd.backward([x * x], dump_backward_graph_path=str(file / "below"))
    assert x.grad is None


@pytest.mark.parametrize("kind", ["native", "torch"])
def test_the_other_dialects_make_no_folder_for_pictures(kind: str, tmp_path: Path) -> None:
    x = fg.tensor([1.0], requires_grad=True) if kind == "native" else torch.tensor([1.0], requires_grad=True)
    with pytest.raises(FileNotFoundError, match="missing"):
        (x * x).backward(dump_backward_graph_path=str(tmp_path / "missing"))
    assert x.grad is None
    assert not list(tmp_path.iterdir())
    (x * x).backward(dump_backward_graph_path=str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 3


def test_a_place_that_is_not_there_is_refused() -> None:
    for absent in ("gpu", "gibberish", "cuda:0"):
        with pytest.raises(fg.ArgumentError, match="the only device is 'cpu'"):
            paddle.to_tensor([1.0], place=absent)
    for place in ("cpu", paddle.CPUPlace(), None):
        assert paddle.to_tensor([1.0], place=place).item() == 1.0


def test_results_are_lists_of_paddle_tensors() -> None:
    x = leaf([1.0])
    found = paddle.grad(x * x, x)
    assert isinstance(found, list)
    assert isinstance(found[0], paddle.Tensor)
    assert isinstance(found[0], fg.Tensor)


def test_a_cotangent_of_one_element_may_have_any_shape_of_one_element() -> None:
    x, y, seed = leaf([1.0, 2.0, 3.0]), leaf([4.0, 5.0, 6.0]), leaf([2.0])
    out = paddle.matmul(x, y)
    assert list(out.shape) == []
    with paddle.no_grad():
        (dx,) = paddle.grad([out], [x], [seed], create_graph=True)
    assert dx.numpy().tolist() == [8, 10, 12]
    (dseed,) = paddle.grad([dx], [seed], retain_graph=True)
    assert dseed.numpy().tolist() == [15]
    paddle.autograd.backward([out], [paddle.ones([1, 1])], retain_graph=True)
    assert x.grad.numpy().tolist() == [4, 5, 6]
    with pytest.raises(AssertionError, match="Tensor shape not match"):
        out.backward(paddle.ones([1]))
    with pytest.raises(AssertionError, match="Tensor shape not match"):
        paddle.grad([x * 2], [x], [paddle.ones([1])])


def test_grad_calls_no_hook_of_a_leaf() -> None:
    """The figures are Paddle's."""
    x = paddle.to_tensor(3.0, stop_gradient=False)
    x.register_hook(lambda g: g * 2)
    y = x * x
    assert paddle.grad(y, x, retain_graph=True)[0].item() == 6
    assert paddle.grad(x, x)[0].item() == 1
    (dx,) = paddle.grad(x * x * x, x, create_graph=True)
    assert dx.item() == 27
    assert paddle.grad(dx, x)[0].item() == 18
    y.backward()
    assert x.grad is not None
    assert x.grad.item() == 12
    a = paddle.to_tensor(3.0, stop_gradient=False)
    b = a * a
    b.register_hook(lambda g: g * 10)
    assert [g.item() for g in paddle.grad(b * 2, [a, b])] == [120, 20]


@pytest.mark.parametrize(
    ("module", "name", "place"),
    [
        ("layers", "fc", "paddle.nn.Linear"),
        ("layers", "reduce_sum", "paddle.sum"),
        ("layers", "relu", "paddle.relu"),
        ("layers", "concat", "paddle.concat"),
        ("dygraph", "Layer", "paddle.nn.Layer"),
        ("dygraph", "Conv2D", "paddle.nn.Conv2D"),
        ("dygraph", "NoamDecay", "paddle.optimizer.lr.NoamDecay"),
        ("", "optimizer", "paddle.optimizer"),
        ("", "CPUPlace", "paddle.CPUPlace"),
    ],
)
def test_names_of_fluid_say_what_replaced_them(module: str, name: str, place: str) -> None:
    where = getattr(paddle.fluid, module) if module else paddle.fluid
    with pytest.raises(AttributeError) as raised:
        getattr(where, name)
    assert str(raised.value) == f"module '{where.__name__}' has no attribute '{name}': use {place}"
    assert eval(place, {"paddle": paddle}) is not None


def test_what_fluid_says_can_be_used() -> None:
    for module in (paddle.fluid, paddle.fluid.layers, paddle.fluid.dygraph):
        for place in module._REPLACED.values():
            for name in re.findall(r"paddle[.\w]+", place):
                assert eval(name, {"paddle": paddle}) is not None
    with pytest.raises(AttributeError, match=r"Paddle 1\.8's names are not here"):
        getattr(paddle.fluid.layers, "nonsense")  # noqa: B009


def test_a_write_to_a_view_of_a_leaf_is_recorded_for_the_view() -> None:
    x: Any = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y, other = paddle.reshape(x, [-1]), x[:1]
    y[0] = 5.0
    assert values(y) == values(x) == [5, 2]
    (y * y).sum().backward()
    assert values(x.grad) == [0, 4]
    assert x.is_leaf
    assert not y.is_leaf
    assert x.inplace_version == y.inplace_version == 1
    # A value that is computed from the leaf later has its derivatives at the new numbers.
    assert values(paddle.grad((x * x).sum(), x)[0]) == [10, 4]
    assert values(paddle.grad((other * other).sum(), x)[0]) == [10, 0]


WRITES: dict[str, Callable[[Any], Any]] = {
    "an element": lambda v: v.__setitem__(0, 3.0),
    "all of it": lambda v: v.set_value(np.array([3.0, 4.0], np.float32)),
    "a product": lambda v: v.multiply_(paddle.to_tensor([3.0, 4.0])),
    "twice": lambda v: v.scale_(2.0).exp_(),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_view_of_a_leaf_has_the_gradient_that_a_copy_has(write: Callable[[Any], Any], is_compiled: bool) -> None:
    def slope(x: Any, part: Callable[[Any], Any]) -> Any:
        v = part(x)
        write(v)
        return paddle.grad((v * v * v).sum(), x)[0]

    given = paddle.to_tensor([1.0, 2.0, 0.5], stop_gradient=False)
    function = fg.compile(slope) if is_compiled else slope
    for _ in range(3):
        x = paddle.to_tensor([1.0, 2.0, 0.5], stop_gradient=False)
        found = function(x, lambda x: x[:2])
        assert values(found) == values(slope(given, lambda x: x[:2].clone()))


def test_a_view_of_a_leaf_made_under_no_grad_is_written_untracked() -> None:
    x: Any = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    with paddle.no_grad():
        v = x[:1]
    v[0] = 5.0
    assert v.stop_gradient
    assert values(x) == [5, 2]
    assert x.is_leaf
