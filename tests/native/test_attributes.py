"""Attributes of tensors: shape, dtype, device, strides and names, and the methods that change them."""

import pickle

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import _core

PADDLE, TORCH = 1, 2


def test_shape() -> None:
    shape = fg.tensor(np.zeros((2, 3))).shape
    assert isinstance(shape, tuple)
    assert shape == (2, 3)
    assert shape == [2, 3]
    assert [2, 3] == shape  # noqa: SIM300
    assert shape != [3, 2]
    assert shape != (2,)
    assert hash(shape) == hash((2, 3))
    for joined in (shape + [4], shape + (4,), shape + shape[:1] * 0 + [4]):  # noqa: RUF005
        assert type(joined) is fg.Size
        assert joined == (2, 3, 4)
    for joined in ([4] + shape, (4,) + shape):  # noqa: RUF005
        assert type(joined) is fg.Size
        assert joined == (4, 2, 3)
    assert type(shape[1:]) is fg.Size
    assert shape[-1] == 3
    assert shape.numel() == 6
    assert repr(shape) == "(2, 3)"
    assert pickle.loads(pickle.dumps(shape)) == shape
    assert np.zeros(shape).shape == shape
    with pytest.raises(TypeError):
        shape + 1  # type: ignore[operator]


def test_shape_in_the_dialects() -> None:
    assert repr(_core.make([1.0], None, False, PADDLE).shape) == "paddle.Size([1])"
    assert repr(_core.make([1.0], None, False, TORCH).shape) == "torch.Size([1])"


def test_counts() -> None:
    t = fg.tensor(np.zeros((2, 3), np.int16))
    assert (t.ndim, t.dim(), t.rank(), t.size, t.numel()) == (2, 2, 2, 6, 6)
    assert (t.itemsize, t.element_size(), t.nbytes) == (2, 2, 12)
    assert fg.tensor(1.0).size == 1


def test_counts_in_the_dialects() -> None:
    a = np.zeros((2, 3), np.float32)
    p, t = (_core.make(a, None, False, d) for d in (PADDLE, TORCH))
    assert p.size == 6
    assert "dtype=int64" in repr(p.numel())
    assert int(p.numel()) == 6
    assert t.size() == (2, 3)
    assert t.size(-1) == 3
    assert t.numel() == 6
    with pytest.raises(IndexError, match="Dimension out of range"):
        t.size(2)


def test_strides() -> None:
    t = fg.tensor(np.zeros((2, 3)))
    assert t.strides == t.stride() == (3, 1)
    assert t.T.stride(0) == 1
    assert t.is_contiguous()
    assert not t.T.is_contiguous()
    assert t.T.contiguous().is_contiguous()
    assert t.contiguous() is t
    assert fg.tensor(np.zeros((1, 3))).T.is_contiguous()


def test_transposes() -> None:
    a = np.arange(24.0).reshape(2, 3, 4)
    t = fg.tensor(a, requires_grad=True)
    np.testing.assert_array_equal(t.T, a.T)
    np.testing.assert_array_equal(t.mT, a.swapaxes(1, 2))
    assert t.T.requires_grad
    with pytest.raises(ValueError, match="matrix"):
        fg.tensor([1.0]).mT  # noqa: B018


def test_dtype_is_numpys() -> None:
    for name in ("bool", "uint8", "int64", "float32", "float64"):
        dtype = fg.tensor(np.zeros(2, name)).dtype
        assert dtype == np.dtype(name)
        assert dtype == name
        assert isinstance(dtype, np.dtype)


def test_device() -> None:
    t = fg.tensor([1.0])
    assert t.device == "cpu"
    assert str(t.device) == "cpu"
    assert repr(t.place) == "Place(cpu)"
    assert repr(_core.make([1.0], None, False, TORCH).device) == "device(type='cpu')"
    assert t.cpu() is t
    assert t.to_device("cpu") is t
    assert t.to_device(t.device) is t
    assert t.to_device(t.place) is t
    for bad in ("cuda", "gpu:0", 3):
        with pytest.raises(ValueError, match="cpu"):
            t.to_device(bad)


def test_to() -> None:
    t = fg.tensor([1.5], requires_grad=True)
    assert t.to("cpu") is t
    assert t.to(np.float32) is t
    assert t.to("cpu", np.float64).dtype == np.float64
    assert t.to(dtype="float64", device="cpu").requires_grad
    assert t.to(fg.tensor([1])).dtype == np.int64
    copy = t.to("float32", copy=True)
    assert copy is not t
    assert copy.requires_grad
    with pytest.raises(TypeError, match="memory"):
        t.to(memory="x")
    with pytest.raises(ValueError, match="cuda"):
        t.to("cuda")


def test_name() -> None:
    t = fg.tensor([1.0])
    assert t.name is None
    t.name = "weight"
    assert t.name == "weight"
    p, q = (_core.make([1.0], None, False, PADDLE) for _ in range(2))
    assert p.name.startswith("generated_tensor_")
    assert p.name == p.name != q.name


def test_clone_is_recorded() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    y = x.clone()
    assert fg.grad((y * y).sum(), x).tolist() == [2.0, 4.0]
