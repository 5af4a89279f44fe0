"""torch's tensor classes and their constructors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from ferrograd import torch as _torch
from ferrograd._core import ArgumentError, DtypeError

from tests.dialects import values

torch: Any = _torch

KINDS: Any = [
    (torch.BoolTensor, "bool"),
    (torch.ByteTensor, "uint8"),
    (torch.CharTensor, "int8"),
    (torch.ShortTensor, "int16"),
    (torch.IntTensor, "int32"),
    (torch.LongTensor, "int64"),
    (torch.FloatTensor, "float32"),
    (torch.DoubleTensor, "float64"),
]


@pytest.mark.parametrize(("kind", "dtype"), KINDS, ids=lambda k: getattr(k, "__name__", k))
def test_a_class_for_each_dtype(kind: Any, dtype: str) -> None:
    for made, shape in (
        (kind(2, 3), (2, 3)),
        (kind(), (0,)),
        (kind([1, 0]), (2,)),
        (kind(np.ones((2, 2))), (2, 2)),
        (kind(torch.Size([4])), (4,)),
        (kind((1, 0, 1)), (3,)),
    ):
        assert made.dtype == dtype
        assert tuple(made.shape) == shape
        assert isinstance(made, kind)
        assert [isinstance(made, other) for other, name in KINDS if name != dtype] == [False] * 7
        assert made.type() == f"torch.{kind.__name__}"
        assert torch.zeros(1).type(kind).dtype == torch.zeros(1).type(made.type()).dtype == dtype
    assert not isinstance(np.ones(1, dtype), kind)


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")
def test_the_class_itself_makes_default_floats() -> None:
    assert values(torch.Tensor([1, 2])) == [1, 2]
    assert torch.Tensor([1, 2]).dtype == torch.Tensor(2).dtype == "float32"
    assert tuple(torch.Tensor(2, 3).shape) == (2, 3)
    assert type(torch.Tensor(2)) is torch.Tensor
    x = torch.zeros(2)
    torch.Tensor(x).add_(1)
    assert values(x) == [1, 1]
    assert torch.Tensor(torch.tensor([1, 2])).dtype == "int64"
    y = torch.ones(2, requires_grad=True)
    made = torch.Tensor([y[0] * 2, y[1] * 3])
    assert type(made) is torch.Tensor
    assert values(made) == [2, 3]
    assert not made.requires_grad
    assert torch.nn.Parameter(torch.ones(1, dtype=torch.float64)).dtype == "float64"
    torch.set_default_tensor_type(torch.DoubleTensor)
    try:
        assert torch.Tensor([1]).dtype == torch.zeros(1).dtype == "float64"
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")


@pytest.mark.parametrize("wrong", [("a",), ([[1], [1, 2]],), (-1,), (2, "x"), (None,), (2**70,)], ids=repr)
def test_constructors_refuse_other_arguments(wrong: Any) -> None:
    for kind in (torch.Tensor, torch.FloatTensor, torch.LongTensor):
        with pytest.raises((ArgumentError, TypeError, OverflowError)):
            kind(*wrong)


def test_variables_are_tensors() -> None:
    x = torch.ones(2)
    v: Any = torch.autograd.Variable(x, requires_grad=True)
    assert isinstance(x, torch.autograd.Variable)
    assert not isinstance(1.0, torch.autograd.Variable)
    assert v.is_leaf
    assert v.requires_grad
    assert not x.requires_grad
    (v * v).sum().backward()
    assert values(v.grad) == [2, 2]
    with torch.no_grad():
        v.add_(1)
    assert values(x) == [2, 2]
    assert tuple(torch.autograd.Variable().shape) == (0,)
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
        torch.autograd.Variable([1.0])


def test_parameters_are_leaves_with_gradients() -> None:
    x = torch.ones(2)
    p = torch.nn.Parameter(x)
    assert isinstance(p, torch.Tensor)
    assert isinstance(p, torch.nn.Parameter)
    assert not isinstance(p * 1, torch.nn.Parameter)
    assert type(p * 1) is torch.Tensor
    (p * 3).sum().backward()
    assert values(p.grad) == [3, 3]
    x.add_(1)
    assert values(p) == [2, 2]
    assert repr(p) == "Parameter containing:\ntensor([2., 2.], requires_grad=True)"
    assert not torch.nn.Parameter(torch.ones(1), requires_grad=False).requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        torch.nn.Parameter(torch.tensor([1]))
    for other in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert type(other) is torch.nn.Parameter
        assert values(other) == [2, 2]
        assert other.requires_grad
    twice: Any = copy.deepcopy([p, p])
    assert twice[0] is twice[1] is not p


def test_new_tensors_like_another() -> None:
    x = torch.tensor([1, 2])
    assert x.new(2, 2).dtype == x.new([3.0]).dtype == x.new_empty(3).dtype == "int64"
    assert values(x.new([3, 4])) == [3, 4]
    assert tuple(x.new(2, 2).shape) == (2, 2)
    assert x.new().numel() == 0


def test_sizes_by_name() -> None:
    for make in (torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn):
        assert tuple(make(size=(2, 3)).shape) == (2, 3)
        with pytest.raises(TypeError, match="twice"):
            make(2, size=(2, 3))


def test_pythons_float_has_64_bits() -> None:
    x = torch.zeros(2, dtype=float)
    assert x.dtype == torch.tensor([1], dtype=float).dtype == torch.ones(1).to(float).dtype == "float64"
    assert torch.ones_like(torch.ones(1), dtype=float).dtype == torch.ones(1).type(float).dtype == "float64"
    assert torch.zeros(1, dtype=int).dtype == "int64"


def test_storage_pointers_and_devices() -> None:
    x = torch.arange(6.0)
    assert x.storage().data_ptr() == x[2:].storage().data_ptr() == x.untyped_storage().data_ptr() == x.data_ptr()
    assert x[2:].data_ptr() == x.data_ptr() + 8
    assert x.clone().storage() != x.storage() == x[2:].untyped_storage()
    assert len(x[2:].storage()) == x.storage().size() == 6
    assert len(x[2:4].detach().storage()) == 6
    assert len(x.untyped_storage()) == x.storage().nbytes() == 6 * x.storage().element_size() == 24
    assert not x.is_cuda
    assert not x.is_sparse
    assert not torch.cuda.is_available()
    assert torch.cuda.device_count() == 0
    torch.cuda.manual_seed_all(1)


def test_libraries_make_subclasses_by_a_private_name() -> None:
    class Own(torch.Tensor):  # type: ignore[misc]
        pass

    x = torch.ones(2)
    y = torch.Tensor._make_subclass(Own, x, True)
    assert (type(y), y.requires_grad, y.is_leaf) == (Own, True, True)
    x[0] = 5
    assert y.tolist() == [5, 1]


def test_older_programs_write_gradients_to_a_private_name() -> None:
    w = torch.nn.Parameter(torch.ones(2))
    w._grad = torch.tensor([1.0, 2.0])
    assert values(w.grad) == values(w._grad) == [1, 2]


def test_as_subclass_keeps_memory_and_graph() -> None:
    class Own(torch.Tensor):  # type: ignore[misc]
        pass

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for tracked in (x, x * 1):
        y = tracked.as_subclass(Own)
        assert (type(y), y.requires_grad, y.is_leaf, y.data_ptr()) == (Own, True, False, tracked.data_ptr())
        (g,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
        assert torch.autograd.grad(g.sum(), x)[0].tolist() == [6.0, 12.0]
    assert not torch.ones(2, dtype=int).as_subclass(Own).requires_grad
    assert type(y.as_subclass(torch.Tensor)) is torch.Tensor
    for other in (int, None):
        with pytest.raises(TypeError, match="as_subclass: Creating a Tensor subclass"):
            x.as_subclass(other)


def test_float_power_in_place_is_of_double_precision() -> None:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = x.clone()
    assert y.float_power_(3) is y
    y.sum().backward()
    assert y.tolist() == [1, 8]
    assert x.grad.tolist() == [3, 12]
    for dtype in ("float32", "int64", "complex64"):
        with pytest.raises(DtypeError, match=f"tensor is {dtype}; write x = x.float_power"):
            torch.ones(2, dtype=dtype).float_power_(2)
    with pytest.raises(DtypeError, match=r"write cfloat\(\)"):
        x.chalf()


def test_sizes_are_integers() -> None:
    made = torch.Size([torch.tensor(3), np.int64(2), True])
    assert made == (3, 2, 1)
    assert {type(n) for n in made} == {int}
    joined = torch.ones(2).shape.__add__((torch.tensor(4),))
    assert type(joined) is torch.Size
    assert type(joined[1]) is int
    assert joined == (2, 4)
    assert torch.Size() == ()
    assert torch.Size(n for n in (1, 2)) == (1, 2)
    for sizes in ([1, 1.5], [1, None], [1, torch.tensor(1.5)], [1, torch.tensor([1, 2])], [1, "a"]):
        with pytest.raises(TypeError, match=r"torch\.Size\(\) takes an iterable of 'int' \(item 1 is "):
            torch.Size(sizes)
