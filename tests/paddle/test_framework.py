"""Devices, flags, static-graph switches, and private modules that scripts import."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ferrograd import paddle
from ferrograd.paddle import base
from ferrograd.paddle.base import core
from ferrograd.paddle.base.wrapped_decorator import wrap_decorator

from tests.dialects import values


def tracked(data: Any) -> Any:
    return paddle.to_tensor(data, stop_gradient=False)


def test_predicates() -> None:
    x = paddle.ones([2, 3])
    assert paddle.is_tensor(x)
    assert not paddle.is_tensor(1)
    assert paddle.is_floating_point(x)
    assert not paddle.is_integer(x)
    assert not paddle.is_complex(x)
    assert paddle.is_integer(paddle.to_tensor([1]))
    assert not paddle.is_empty(x)
    assert paddle.is_empty(paddle.zeros([0]))
    assert paddle.tolist(x) == x.tolist() == [[1.0] * 3] * 2
    assert paddle.broadcast_shape([2, 1, 3], [4, 1]) == [2, 4, 3]
    with pytest.raises(ValueError, match="broadcast"):
        paddle.broadcast_shape([2, 1], [3, 3])


def test_device() -> None:
    assert repr(paddle.set_device("cpu")) == repr(paddle.CPUPlace()) == "Place(cpu)"
    assert paddle.get_device() == paddle.device.get_device() == "cpu"
    assert paddle.device.get_available_device() == ["cpu"]
    assert not paddle.is_compiled_with_cuda()
    assert not paddle.device.is_compiled_with_rocm()
    assert not paddle.device.is_compiled_with_xpu()
    assert isinstance(paddle.set_device("cpu"), paddle.CPUPlace)
    with pytest.raises(ValueError, match="gpu"):
        paddle.device.set_device("gpu:0")


def test_static_graphs_are_refused() -> None:
    paddle.enable_static()
    try:
        assert not paddle.in_dynamic_mode()
        with pytest.raises(NotImplementedError, match=r"paddle\.static\.Program: .*dynamic graph only"):
            paddle.static.Program()
        assert not hasattr(paddle.static.Program, "global_block")
        assert not hasattr(paddle.static, "no_such_name")
    finally:
        paddle.disable_static()
    assert paddle.in_dynamic_mode()


def test_flags() -> None:
    name = "FLAGS_sort_sum_gradient"
    assert paddle.get_flags(name) == {name: False}
    paddle.set_flags({name: True})
    assert base.get_flags([name]) == {name: True}
    base.set_flags({name: False})
    with pytest.raises(ValueError, match="Flag FLAGS_unheard_of cannot set"):
        paddle.set_flags({"FLAGS_unheard_of": 1})
    with pytest.raises(ValueError, match="Flag FLAGS_unheard_of cannot get"):
        paddle.get_flags(["FLAGS_unheard_of"])
    with pytest.raises(TypeError, match="dict"):
        paddle.set_flags(name)  # type: ignore[arg-type]


def test_the_flag_that_checks_for_nans() -> None:
    x = paddle.to_tensor([-1.0])
    paddle.set_flags({"FLAGS_check_nan_inf": True})
    try:
        assert paddle.get_flags("FLAGS_check_nan_inf") == {"FLAGS_check_nan_inf": True}
        with pytest.raises(RuntimeError, match="NaN"):
            paddle.log(x)
    finally:
        paddle.set_flags({"FLAGS_check_nan_inf": False})
    paddle.log(x)


def test_the_dynamic_graph_under_its_inner_names() -> None:
    x = tracked([1.0, 2.0])
    assert base.in_dygraph_mode()
    assert paddle.framework.in_dynamic_mode()
    with base.dygraph.guard(base.CPUPlace()):
        found = base.dygraph.grad(x * x, x)
    assert isinstance(found, list)
    assert values(found[0]) == [2, 4]
    assert base.dygraph.base.to_variable(np.ones(2)).stop_gradient
    assert isinstance(x, core.eager.Tensor)
    assert isinstance(x, base.Variable)
    tracer = base.framework._dygraph_tracer()
    with paddle.no_grad():
        assert not tracer._has_grad
        tracer._has_grad = True
        assert paddle.is_grad_enabled()
    assert tracer._has_grad


def test_decorators_keep_name_and_documentation() -> None:
    def twice(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: 2 * f(*args)

    @wrap_decorator(twice)
    def successor(n: int) -> int:
        """Returns its argument plus one."""
        return n + 1

    assert successor(2) == 6
    assert (successor.__name__, successor.__doc__) == ("successor", "Returns its argument plus one.")

    def plain(a: int, *rest: int, b: int = 2) -> int:
        return a + b

    for mode in (paddle.no_grad, paddle.no_grad(), paddle.enable_grad(), paddle.set_grad_enabled(True)):
        assert inspect.getfullargspec(mode(plain)) == inspect.getfullargspec(plain)
    # A function without a signature is wrapped too.
    assert paddle.no_grad()(max)(1, 2) == 2


def test_autograd_has_the_modes() -> None:
    with paddle.autograd.no_grad():
        assert not paddle.autograd.is_grad_enabled()
        with paddle.autograd.enable_grad():
            assert paddle.is_grad_enabled()
    assert paddle.incubate.autograd.utils.as_tensors(paddle.ones([1]))[0].shape == [1]


def test_an_untracked_tensor_has_no_gradient_to_retain() -> None:
    x = paddle.ones([2])
    x.retain_grads()
    y = tracked([1.0, 2.0])
    (x * y).backward()
    assert x.grad is None


def test_methods_under_older_names() -> None:
    x = tracked([[1.0, 2.0]])
    assert x._grad_ivar() is None
    (x * x).backward()
    assert values(x._grad_ivar()) == [[2, 4]]
    x._zero_grads()
    assert values(x.grad) == [[0, 0]]
    assert x.grad_fn.next_functions == [None]
    assert paddle.base.dygraph.to_variable([1.0], name="named").name == "named"
    y = x.detach()
    y[0] = 5.0
    assert y.inplace_version == y._inplace_version() == 1
    assert (y.ndimension(), y.get_strides(), y.is_dense(), y.is_same_shape(x)) == (2, [2, 1], True, True)
    assert y.get_device() == -1
    assert y.value() is y
    assert y.numpy(False).tolist() == [[5, 5]]
    assert values(y.apply(lambda t: t + 1)) == [[6, 6]]
    assert y.apply_(lambda t: t * 2) is y
    assert values(y) == [[10, 10]]
    for call in (x.apply, x.apply_):
        with pytest.raises(RuntimeError, match="required gradient"):
            call(lambda t: t)
    assert not copy.copy(x).stop_gradient


def test_random_numbers_in_place() -> None:
    x: Any = paddle.zeros([1000])
    paddle.seed(1)
    assert x.uniform_(min=2.0, max=3.0) is x
    assert 2 <= x.min().item() < x.max().item() < 3
    assert abs(x.normal_(5.0, 0.1).mean().item() - 5) < 0.1
    assert x.exponential_(2.0).min().item() >= 0
    assert abs(x.mean().item() - 0.5) < 0.1
    with pytest.raises(ValueError, match="Leaf"):
        tracked([1.0]).uniform_()


def test_random_integers_in_place() -> None:
    x: Any = paddle.zeros([1000])
    assert x.random_() is x
    assert 2**23 < x.max().item() <= 2**24
    assert values(x.random_(2, 5).unique()) == [2, 3, 4]
    assert values(x.random_(3).unique()) == [0, 1, 2]
    assert (values(x.random_(-1, 1).unique()), x.dtype) == ([-1, 0], paddle.float32)
    whole: Any = paddle.zeros([1000], "int32").random_()
    assert (whole.max().item() > 2**30, whole.dtype) == (True, paddle.int32)
    assert paddle.zeros([1000], "float16").random_().max().item() < 2**11
    with pytest.raises(ValueError, match="'from' to be less than 'to', but got from=5 >= to=5"):
        x.random_(5, 5)
    with pytest.raises(ValueError, match="Leaf"):
        tracked([1.0]).random_()


def test_resize_and_set_without_a_source() -> None:
    x: Any = paddle.to_tensor([1.0, 2, 3])
    assert x.resize_([2, 1]) is x
    assert values(x) == [[1], [2]]
    assert values(x.resize_([2, 2], fill_zero=True)) == [[1, 2], [0, 0]]
    assert x.set_() is x
    assert (list(x.shape), x.dtype) == ([0], paddle.float32)
    with pytest.raises(RuntimeError, match="under no_grad only"):
        tracked([1.0]).resize_([1])
    with pytest.raises(RuntimeError, match="under no_grad only"):
        tracked([1.0]).set_()


def test_limits_of_dtypes() -> None:
    limits = paddle.finfo(paddle.float16)
    assert (limits.bits, limits.dtype, limits.max, limits.eps) == (16, "float16", 65504.0, 2**-10)
    assert all(type(v) is float for v in (limits.min, limits.tiny, limits.resolution, limits.smallest_normal))
    assert str(paddle.finfo("float32")).startswith("paddle.finfo(min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07")
    assert repr(paddle.iinfo("uint8")) == "paddle.iinfo(min=0, max=255, bits=8, dtype=uint8)"


def test_broadcast_shape_with_sizes_that_are_not_known() -> None:
    assert paddle.broadcast_shape([-1, 1, 3], [1, 3, 1]) == [-1, 3, 3]
    assert paddle.broadcast_shape([-1, 1, 3], [4, 3, 1]) == [4, 3, 3]
    assert paddle.broadcast_shape([-1], [0]) == [0]
    with pytest.raises(ValueError, match="broadcast"):
        paddle.broadcast_shape([-1, 2], [-1, 3])


def test_no_gpu_is_said_in_one_sentence() -> None:
    assert paddle.device.cuda.device_count() == 0
    paddle.device.cuda.empty_cache()
    assert paddle.device.get_all_custom_device_type() == paddle.device.get_available_custom_device() == []
    assert not paddle.device.is_compiled_with_custom_device("npu")
    for name in ("synchronize", "memory_allocated", "get_device_properties", "Event"):
        with pytest.raises(ValueError, match=rf"device.cuda.{name}: there is no GPU"):
            getattr(paddle.device.cuda, name)()
    assert base.ParamAttr is paddle.ParamAttr


def test_functions_under_the_address_tensor() -> None:
    out = paddle.zeros([2])
    assert paddle.tensor.fill_constant([2], "float32", 3.5, out=out) is out
    assert values(out) == [3.5, 3.5]
    assert paddle.tensor.fill_constant([1], "int64", 2).dtype == paddle.int64
    assert paddle.tensor.eigvalsh is paddle.linalg.eigvalsh
    assert paddle.tensor.add is paddle.add


def test_switches_and_facts_of_the_framework() -> None:
    paddle.framework.core.set_prim_eager_enabled(True)
    assert paddle.framework.use_pir_api() is True
    assert paddle.version.commit == "Unknown"
