"""Names of the static graph, of Paddle's C++ module and of its compiler: imported, and refused where they are used."""

from __future__ import annotations

import importlib
from typing import Any

import ferrograd as fg
import ferrograd.paddle as _paddle
import pytest
from ferrograd.paddle._base.no_static import ABSENT, GRAPH, REASONS

paddle: Any = _paddle
NAMES = [(module, name) for module, names in ABSENT.items() for text in names.values() for name in text.split()]


@pytest.mark.parametrize("module", ABSENT)
def test_every_module_of_the_table_is_there(module: str) -> None:
    own = importlib.import_module(f"ferrograd.paddle.{module}")
    # Completion does not offer names that raise.
    assert not {name for m, name in NAMES if m == module} & set(dir(own))
    assert not hasattr(own, "__no_such_name__")


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_name_is_a_class_that_cannot_be_used(module: str, name: str) -> None:
    name = "scale" if name == "*" else name
    found = getattr(importlib.import_module(f"ferrograd.paddle.{module}"), name)
    assert found is getattr(importlib.import_module(f"ferrograd.paddle.{module}"), name)
    assert not isinstance(paddle.ones([1]), found)
    reason = REASONS.get(module, GRAPH)
    with pytest.raises(NotImplementedError, match=rf"paddle\.{module}\.{name}: {reason}; "):
        found()
    with pytest.raises(AttributeError, match=reason):
        found.attribute  # noqa: B018


def test_a_subclass_can_be_defined() -> None:
    class Helper(paddle.base.layer_helper.LayerHelper):  # type: ignore[misc]
        """A helper that some layer never makes."""

    with pytest.raises(NotImplementedError, match=r"paddle\.nn"):
        Helper("fc")
    assert repr(paddle.pir.Value) == "<paddle.pir.Value, which is not here>"


def test_a_name_that_paddle_does_not_have_is_missing() -> None:
    for module in (paddle.static, paddle.base, paddle.base.core, paddle.jit.dy2static):
        with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
            module.no_such_name  # noqa: B018


def test_programs_are_refused_and_contexts_of_forms_change_nothing() -> None:
    with paddle.pir_utils.IrGuard(), paddle.pir_utils.OldIrGuard():
        assert paddle.ones([1]).item() == 1
    strategy = paddle.static.BuildStrategy()
    strategy.build_cinn_pass = False
    f = paddle.jit.to_static(lambda x: x * 2, build_strategy=strategy)
    assert f(paddle.ones([1])).item() == 2


def test_modes_and_dtypes_under_inner_names() -> None:
    assert not paddle.framework.in_pir_mode()
    assert paddle.framework.in_dynamic_or_pir_mode()
    assert paddle.base.framework.convert_np_dtype_to_dtype_("float32") is paddle.float32
    assert paddle.core is paddle.base.core
    assert paddle.core.VarDesc.VarType.FP32 is paddle.core.DataType.FLOAT32 is paddle.float32
    assert paddle.ones([1]).type == paddle.core.VarDesc.VarType.DENSE_TENSOR
    assert not paddle.core.is_bfloat16_supported(paddle.CPUPlace())
    assert paddle.core.get_all_op_protos() == []
    assert repr(paddle.base.framework._current_expected_place()) == "Place(cpu)"
    with paddle.base.framework._dygraph_place_guard(paddle.CPUPlace()):
        assert paddle.ones([1]).place == paddle.CPUPlace()
    with pytest.raises(ValueError, match="XPUPlace"):
        paddle.core.XPUPlace(0)
    assert paddle.base.unique_name.generate("a") != paddle.base.unique_name.generate("a")


def test_checks_of_arguments() -> None:
    feeder = paddle.base.data_feeder
    assert feeder.convert_dtype("int32") == feeder.convert_dtype(paddle.int32) == "int32"
    with pytest.raises(TypeError, match="dtype must be"):
        feeder.convert_dtype("no dtype")
    feeder.check_variable_and_dtype(paddle.ones([1]), "x", ["float32"], "f")
    with pytest.raises(TypeError, match="data type of 'x' in f"):
        feeder.check_variable_and_dtype(paddle.ones([1]), "x", ["int32"], "f")
    with pytest.raises(TypeError, match="type of 'x' in f"):
        feeder.check_type(1, "x", str, "f")


def test_functions_under_second_addresses() -> None:
    embedding_renorm_ = importlib.import_module("ferrograd.paddle.nn.functional.input").embedding_renorm_
    from ferrograd.paddle.nn.utils.clip_grad_norm_ import clip_grad_norm_
    from ferrograd.paddle.tensor import creation, linalg, manipulation, math, random, stat

    assert math.add is stat.add is paddle.add
    assert paddle.framework.io.save is paddle.save
    assert paddle.framework.io.EagerParamBase is paddle.framework.EagerParamBase
    assert creation.ones is paddle.ones
    assert manipulation.reshape is paddle.reshape
    assert callable(linalg.matmul)
    assert random.gaussian([2, 3]).shape == [2, 3]
    weight = paddle.full([2, 4], 2.0)
    embedding_renorm_(paddle.to_tensor([1]), weight, 1.0)
    assert weight.tolist()[0] == [2.0] * 4
    assert weight.tolist()[1] == pytest.approx([0.5] * 4)
    x = paddle.to_tensor([3.0, 4.0], stop_gradient=False)
    (x * x).backward()
    for clip in (clip_grad_norm_, paddle.nn.utils.clip_grad_norm_):
        assert clip(x, 100.0).item() == pytest.approx(10.0)


def test_compiled_functions_run_as_they_are_while_that_is_switched_off() -> None:
    f = paddle.jit.to_static(lambda x: x * 2, full_graph=True)
    x = paddle.ones([1])
    for _ in range(4):
        f(x)
    before = f.cache_info()
    paddle.jit.enable_to_static(False)
    try:
        assert f(x).item() == 2
        assert f.rollback()(x).item() == 2
        assert f.dygraph_function(x).item() == 2
        assert f.cache_info() == before
    finally:
        paddle.jit.enable_to_static(True)
    assert f(x).item() == 2
    assert f.cache_info().hits == before.hits + 1
    with pytest.raises(TypeError, match="True or False"):
        paddle.jit.enable_to_static("yes")


def test_a_compiled_layer_runs_as_it_is_and_is_rolled_back() -> None:
    layer = paddle.jit.to_static(paddle.nn.Linear(2, 1))
    x = paddle.ones([1, 2])
    wanted = layer(x).item()
    paddle.jit.enable_to_static(False)
    try:
        assert layer(x).item() == wanted
    finally:
        paddle.jit.enable_to_static(True)
    layer.forward.rollback()
    assert "forward" not in vars(layer)
    assert layer(x).item() == wanted


def test_a_function_with_a_gradient_of_its_own_takes_functions_when_it_is_compiled() -> None:
    class Apply(paddle.autograd.PyLayer):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, function: Any, scale: float = 1.0) -> Any:
            y = function(x) * scale
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            (y,) = ctx.saved_tensor()
            return dy * (1 - y * y)

    def f(x: Any) -> Any:
        return Apply.apply(x, paddle.tanh, scale=1.0) + Apply.apply(x, function=paddle.tanh)

    compiled = paddle.jit.to_static(f, full_graph=True)
    for _ in range(3):
        x, other = (paddle.to_tensor([0.5, -1.0], stop_gradient=False) for _ in range(2))
        f(x).backward()
        compiled(other).backward()
        assert other.grad.tolist() == x.grad.tolist()


BRANCHES: dict[str, Any] = {
    "a branch": lambda x: x - 1 if paddle.mean(x) > 0 else x + 1,
    "a loop": lambda x: paddle.stack([x * i for i in range(int(x.sum()))]),
    "numbers": lambda x: paddle.to_tensor(x.numpy() * 2),
    "an array": lambda x: x.numpy(),
}


@pytest.mark.parametrize("f", BRANCHES.values(), ids=BRANCHES)
def test_with_full_graph_what_depends_on_numbers_runs_as_it_is_and_says_so(f: Any) -> None:
    x = paddle.to_tensor([1.0, 2.0])
    compiled = paddle.jit.to_static(f, full_graph=True)
    with pytest.warns(UserWarning, match="runs uncompiled"):
        found = [compiled(x).tolist() for _ in range(3)]
    assert found == [f(x).tolist()] * 3


def test_lists_of_tensors_under_their_names_in_static_programs() -> None:
    from ferrograd.paddle.tensor import array_length, array_read, array_write, create_array

    array = create_array("float32", [paddle.ones([1])])
    i = paddle.full([1], 1, "int64")
    assert array_write(paddle.zeros([2]), i, array) is array
    assert array_write(paddle.full([1], 3.0), 0, array) is array
    assert [x.tolist() for x in array] == [[3.0], [0.0, 0.0]]
    assert array_read(array, i).tolist() == [0.0, 0.0]
    assert (array_length(array), array_length(array_write(i, 0))) == (2, 1)
    with pytest.raises(fg.ArgumentError, match="the next place is not 4"):
        array_write(i, 4, array)
    with pytest.raises(fg.ArgumentError, match="none at place 2"):
        array_read(array, 2)
    with pytest.raises(fg.ArgumentError, match="a list of tensors"):
        array_length(i)
    with pytest.raises(TypeError, match="initialized_list"):
        create_array("float32", 1)


def test_attention_under_the_name_of_a_kernel() -> None:
    from ferrograd.paddle.nn.functional.flash_attention import flash_attention

    paddle.seed(0)
    q, k, v = (paddle.randn([2, 3, 4, 5]) for _ in range(3))
    wanted = paddle.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    out, weights = flash_attention(q, k, v, causal=True)
    assert out.tolist() == wanted.tolist()
    assert weights is None
    with pytest.raises(NotImplementedError, match="return_softmax"):
        flash_attention(q, k, v, return_softmax=True)


def test_places_of_other_devices_can_be_named() -> None:
    for name in ("XPUPlace", "CustomPlace", "CUDAPlace", "CUDAPinnedPlace"):
        place = getattr(paddle, name)
        assert place is getattr(paddle.base, name) is getattr(paddle.base.core, name)
        assert not isinstance(paddle.ones([1]).place, place)
        with pytest.raises(fg.ArgumentError, match="only device"):
            place()


def test_grad_frees_nothing_unless_it_is_told_to() -> None:
    def graph() -> Any:
        x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        return x, (x * x).sum()

    x, y = graph()
    for _ in range(2):
        assert paddle.grad(y, x)[0].tolist() == [2.0, 4.0]
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    for again in (y.backward, lambda: paddle.grad(y, x)):
        with pytest.raises(fg.FreedGraphError):
            again()
    x, y = graph()
    paddle.grad(y, x, retain_graph=False)
    with pytest.raises(fg.FreedGraphError):
        y.backward()
    # Paddle 1.8 says of retain_graph=None that it is create_graph.
    x, y = graph()
    paddle.fluid.dygraph.grad(y, x, create_graph=True)
    paddle.fluid.dygraph.grad(y, x)
    with pytest.raises(fg.FreedGraphError):
        paddle.fluid.dygraph.grad(y, x)
    x, y = graph()
    (second,) = paddle.grad(paddle.grad(y, x, create_graph=True)[0].sum(), x)
    assert second.tolist() == [2.0, 2.0]
