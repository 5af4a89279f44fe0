"""Results of Paddle 3.3.1 for functions whose arguments or meaning are Paddle's own."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ferrograd import ArgumentError, paddle

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
M = A[0]
F: Any = paddle.nn.functional
P: Any = paddle


def t(data: Any, dtype: str = "float32") -> Any:
    return paddle.to_tensor(data, dtype)


def i(data: Any) -> Any:
    return t(data, "int64")


ROWS: dict[str, tuple[Callable[[], Any], Any]] = {
    "add_n": (lambda: P.add_n([t([1.0]), t([2.0]), t([3.0])]), [6]),
    "add_n of one": (lambda: P.add_n(t([1.0])), [1]),
    "gather_nd": (lambda: P.gather_nd(t(A), i([[0, 1], [1, 2]])), [[4, 5, 6, 7], [20, 21, 22, 23]]),
    "gather_nd of an element": (lambda: P.gather_nd(t(A), i([1, 2, 3])), 23),
    "scatter_nd": (lambda: P.scatter_nd(i([[1], [1]]), t([2.0, 3.0]), [3]), [0, 5, 0]),
    "scatter_nd_add": (
        lambda: P.scatter_nd_add(t(M), i([[0, 1], [2, 3]]), t([2.0, 3.0])),
        [[0, 3, 2, 3], [4, 5, 6, 7], [8, 9, 10, 14]],
    ),
    "index_sample": (lambda: P.index_sample(t(M), i([[2, 0], [1, 1], [3, 0]])), [[2, 0], [5, 5], [11, 8]]),
    "multiplex": (lambda: P.multiplex([t([[1.0, 2], [3, 4]]), t([[5.0, 6], [7, 8]])], i([[1], [0]])), [[5, 6], [3, 4]]),
    "scale": (lambda: P.scale(t([1.0, 2]), 2.0, 1.0), [3, 5]),
    "scale after the bias": (lambda: P.scale(t([1.0, 2]), 2.0, 1.0, False), [4, 6]),
    "scale and act": (lambda: t([1.0, -2]).scale(scale=2.0, bias=1.0, act="relu"), [3, 0]),
    "slice": (lambda: P.slice(t(M), [0, 1], [0, -3], [2, -1]), [[1, 2], [5, 6]]),
    "strided_slice": (lambda: P.strided_slice(t(M), [0, 1], [2, -1], [-4, 0], [-1, -2]), [[11, 9], [7, 5], [3, 1]]),
    "strided_slice beyond": (lambda: P.strided_slice(t(M), [1], [0], [100], [3]), [[0, 3], [4, 7], [8, 11]]),
    "stanh": (lambda: P.stanh(t([0.5])), [0.5542]),
    "where alone": (lambda: P.where(t([1.0, 0, 2]) > 0)[0], [0, 2]),
    "cross": (lambda: P.cross(t([[1.0, 0, 0]]), t([[0, 1.0, 0]])), [[0, 0, 1]]),
    "diag": (lambda: P.diag(t([1.0, 2]), 1, padding_value=9), [[9, 1, 9], [9, 9, 2], [9, 9, 9]]),
    "diag of a matrix": (lambda: P.diag(t(M), 1), [1, 6, 11]),
    "logit": (lambda: P.logit(t([0.0, 0.5]), 0.1), [-2.1972, 0]),
    "logit without bounds": (lambda: P.logit(t([-0.5, 0.5, 1.5]), 0.0), [np.nan, 0, np.nan]),
    "tensordot of a list": (lambda: P.tensordot(t(A), t(A), [1, 2]), np.tensordot(A, A, ([1, 2], [1, 2]))),
    "tensordot goes on": (lambda: P.tensordot(t(A), t(A), [[0, 1], [0]]), np.tensordot(A, A, ([0, 1], [0, 1]))),
    "tensordot over one": (lambda: P.tensordot(t(M), t(M[:1]), [0]), M.sum(0)[:, None] * M[0]),
    "logspace": (lambda: P.logspace(0, 2, 3, 2.0), [1, 2, 4]),
    "t": (lambda: P.t(t([[1.0, 2]])), [[1], [2]]),
    "allclose": (lambda: P.allclose(t([1.0]), t([1.0])), True),
    "increment": (lambda: P.increment(t([1.0]), 3.0), [4]),
    "broadcast_tensors": (lambda: P.broadcast_tensors([t([1.0]), t([1.0, 2])])[0], [1, 1]),
    "mm": (lambda: P.mm(input=t([[1.0, 2]]), mat2=t([[1.0], [2]])), [[5]]),
    "mv": (lambda: P.mv(x=t([[1.0, 2]]), vec=t([1.0, 2])), [5]),
    "norm": (lambda: P.norm(t([[1.0, -2], [2, 4]])), 5),
    "norm of matrices": (lambda: P.norm(t([[0.0, -2], [3, 0]]), axis=[0, 1]), 3),
    "norm of columns": (lambda: P.linalg.norm(t([[1.0, -2], [2, 4]]), p=1, axis=(0, 1)), 6),
    "nuclear norm": (lambda: P.linalg.norm(t([[0.0, -2], [3, 0]]), p="nuc"), 5),
    "multi_dot": (lambda: P.linalg.multi_dot([t([[1.0, 2]]), t([[1.0], [2]]), t([[3.0]])]), [[15]]),
    "narrow svd": (lambda: t(P.linalg.svd(t(M))[2].shape), [3, 4]),
    "triangular_solve": (lambda: P.linalg.triangular_solve(t([[2.0, 1], [0, 4]]), t([[2.0], [4]])), [[0.5], [1]]),
    "transposed triangular_solve": (
        lambda: P.linalg.triangular_solve(t([[2.0, 1], [0, 4]]), t([[2.0], [4]]), transpose=True),
        [[1], [0.75]],
    ),
    "embedding": (lambda: F.embedding(i([[0, 2]]), t(M)), [[[0, 1, 2, 3], [8, 9, 10, 11]]]),
    "embedding with padding": (lambda: F.embedding(i([0, 2]), t(M), padding_idx=-1), [[0, 1, 2, 3], [0, 0, 0, 0]]),
    "log_loss": (lambda: F.log_loss(t([[0.5]]), t([[1.0]])), [[0.6929]]),
    "square_error_cost": (lambda: F.square_error_cost(t([1.0, 2]), t([1.0, 4])), [0, 4]),
    "smooth_l1_loss": (lambda: F.smooth_l1_loss(t([1.0, 2]), t([1.0, 4]), delta=0.5), 0.4375),
    "smooth_l1_loss by delta": (
        lambda: F.smooth_l1_loss(t([1.0, 2]), t([1.0, 4]), delta=0.5, is_huber=False),
        0.875,
    ),
    "softmax_with_cross_entropy": (lambda: F.softmax_with_cross_entropy(t([[1.0, 2]]), i([[1]])), [[0.3133]]),
    "swiglu": (lambda: F.swiglu(t([1.0, 2, 3, 4])), [2.1932, 7.0464]),
    "swiglu of two": (lambda: F.swiglu(t([1.0, 2]), t([3.0, 4])), [2.1932, 7.0464]),
    "group_norm": (lambda: F.group_norm(t(A), 3)[0, 0], [-1.3416, -0.4472, 0.4472, 1.3416]),
    "group_norm, channels last": (
        lambda: F.group_norm(t(A.transpose(0, 2, 1)), 3, data_format="NLC")[0, :, 0],
        [-1.3416, -0.4472, 0.4472, 1.3416],
    ),
    "avg_pool2d": (lambda: F.avg_pool2d(t(M[None]), 2, 2, 1), [[[0, 1.5, 3], [6, 7.5, 9]]]),
    "avg_pool2d with padding": (
        lambda: F.avg_pool2d(t(M[None]), 2, 2, 1, exclusive=False),
        [[[0, 0.75, 0.75], [3, 7.5, 4.5]]],
    ),
    "avg_pool2d by a number": (lambda: F.avg_pool2d(t(M[None]), 2, divisor_override=5), [[[2, 3.6]]]),
    "avg_pool2d, channels last": (
        lambda: F.avg_pool2d(t(M[None, ..., None]), 2, data_format="NHWC")[0, :, :, 0],
        [[2.5, 4.5]],
    ),
    "conv2d, channels last": (
        lambda: F.conv2d(t(M[None, ..., None]), t([[[[1.0, 2], [3, 4]]]]), stride=2, data_format="NHWC")[0, :, :, 0],
        [[34, 54]],
    ),
    "conv2d padded on one side": (
        lambda: F.conv2d(t(M[None, None]), t([[[[1.0, 2], [3, 4]]]]), stride=2, padding=[1, 0, 0, 0])[0, 0],
        [[4, 18], [74, 94]],
    ),
    "conv2d padded by pairs": (
        lambda: F.conv2d(
            t(M[None, None]), t([[[[1.0, 2], [3, 4]]]]), stride=2, padding=[[0, 0], [0, 0], [1, 0], [0, 0]]
        )[0, 0],
        [[4, 18], [74, 94]],
    ),
    "conv2d of the same size": (
        lambda: F.conv2d(t(M[None, None]), t([[[[1.0]]]]), padding="SAME")[0, 0],
        M,
    ),
    "conv1d": (lambda: F.conv1d(t(M[None]), t([[[1.0], [0], [2]]]))[0], [[16, 19, 22, 25]]),
    "conv1d, channels last": (
        lambda: F.conv1d(t(M.T[None]), t([[[1.0], [0], [2]]]), data_format="NLC")[0, :, 0],
        [16, 19, 22, 25],
    ),
    "max_pool2d": (
        lambda: F.max_pool2d(t(M[None, ..., None]), 2, 2, 0, False, True, "NHWC")[0, :, :, 0],
        [[5, 7], [9, 11]],
    ),
    "relu_": (lambda: F.relu_(t([-1.0, 2])), [0, 2]),
    "softmax_": (lambda: F.softmax_(t([0.0, 0])), [0.5, 0.5]),
    "exp_": (lambda: P.exp_(t([0.0])), [1]),
    "reshape_": (lambda: P.reshape_(t([1.0, 2]), [2, 1]), [[1], [2]]),
    "scale_": (lambda: t([1.0]).scale_(2.0, bias=1.0), [3]),
}


@pytest.mark.parametrize("name", ROWS)
def test_row(name: str) -> None:
    call, expected = ROWS[name]
    np.testing.assert_allclose(np.asarray(call()), expected, atol=1e-4)


def test_gradients_flow() -> None:
    x = paddle.to_tensor(M, stop_gradient=False)
    y = P.gather_nd(x, i([[0, 1], [0, 1]])).sum() + P.strided_slice(x, [1], [0], [4], [3]).sum()
    z = P.scatter_nd_add(x, i([[2]]), x[:1]).sum() + P.index_sample(x, i([[0], [0], [0]])).sum()
    (g,) = paddle.grad(y + z, x)
    expected = np.zeros((3, 4))
    expected[0, 1] += 2
    expected[:, [0, 3]] += 1
    expected += 1
    expected[0] += 1
    expected[:, 0] += 1
    np.testing.assert_array_equal(np.asarray(g), expected)


def test_a_padding_row_has_no_gradient() -> None:
    weight = paddle.to_tensor(M, stop_gradient=False)
    F.embedding(i([0, 1, 1]), weight, padding_idx=0).sum().backward()
    assert weight.gradient().tolist() == [[0] * 4, [2] * 4, [0] * 4]


def test_in_place_functions_write_into_the_tensor() -> None:
    x = t([0.5, 1.0])
    assert P.tanh_(x) is x
    assert x.inplace_version == 1
    leaf = paddle.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(ValueError, match="Leaf"):
        P.exp_(leaf)
    y = leaf * 2
    P.exp_(x=y)
    y.backward()
    np.testing.assert_allclose(leaf.gradient(), 2 * np.exp(2), rtol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: P.add_n([t([1.0]), t([1.0, 2])]),
        lambda: P.add_n([]),
        lambda: P.add_n(3),
        lambda: P.increment(t([1.0, 2])),
        lambda: P.gather_nd(t([1.0]), i([[0, 0]])),
        lambda: P.cross(t([1.0, 2]), t([1.0, 2])),
        lambda: P.scale(t([1.0]), act="cosine"),
        lambda: P.strided_slice(t(M), [0], [0, 1], [2], [1]),
        lambda: P.strided_slice(t(M), [5], [0], [2], [1]),
        lambda: P.tensordot(t(M), t(M), [[0], [1]]),
        lambda: P.tensordot(t(M), t(M), [[0], [0], [0]]),
        lambda: P.tensordot(t(M), t(M), "ij"),
        lambda: P.t(t(A)),
        lambda: P.where(t([1.0]) > 0, t([1.0])),
        lambda: P.norm(t(M), p=3, axis=[0, 1]),
        lambda: P.linalg.multi_dot([t(M)]),
        lambda: F.embedding(i([0]), t(M), padding_idx=3),
        lambda: F.swiglu(t([1.0, 2, 3])),
        lambda: F.avg_pool2d(t(M[None]), 2, divisor_override=0),
        lambda: F.conv2d(t(A[None, None]), t(A[None, None]), padding="FULL"),
        lambda: F.conv2d_transpose(t(M[None, None]), t(A[None, None]), output_size=[99, 99]),
        lambda: F.max_pool2d(t(M[None]), 2, padding=[0, 1, 0, 0], return_mask=True),
        lambda: F.batch_norm(t(M), t([0.0]), t([1.0])),
        lambda: F.conv2d(t(A[None]), t(A[None]), padding=[[0], [0], [0], [0]]),
        lambda: F.conv2d(t(A[None]), t(A[None]), data_format=3),
        lambda: F.max_pool2d(t(M), 2, return_mask=True),
    ],
)
def test_wrong_arguments_raise(call: Callable[[], Any]) -> None:
    with pytest.raises((ValueError, IndexError)):
        call()


def test_shapes_of_random_numbers() -> None:
    assert list(P.normal(t([0.0, 1.0]), t([1.0, 1.0])).shape) == [2]
    assert list(P.normal(t([0.0, 1.0]), shape=[3, 4]).shape) == [2]
    assert list(P.normal().shape) == [1]
    like = P.randint_like(t(M), 5)
    assert (list(like.shape), like.dtype) == ([3, 4], "float32")
    assert 0 <= like.min().item() <= like.max().item() < 5


def test_strides_are_a_list() -> None:
    x = t(A)
    assert x.strides == x.get_strides() == x.stride() == [12, 4, 1]
    assert x.transpose([2, 0, 1]).strides == [1, 12, 4]
    assert x.stride(0) == 12


def test_the_text_of_a_parameter_says_that_it_is_one() -> None:
    layer = paddle.nn.Linear(1, 1, weight_attr=paddle.nn.initializer.Constant(2.0))
    text = "Tensor(shape=[1, 1], dtype=float32, place=Place(cpu), stop_gradient=False,\n       [[2.]])"
    assert repr(layer.weight) == str(layer.weight) == f"Parameter containing:\n{text}"
    assert repr(layer.weight * 1) == text
    assert repr([layer.weight.detach()]) == f"[{text.replace('False', 'True')}]"


def test_shapes_are_lists_of_their_own() -> None:
    x: Any = paddle.ones([2, 3])
    shape = x.shape
    assert isinstance(shape, list)
    shape[0] = -1
    shape.append(1)
    assert paddle.reshape(x, shape).shape == (2, 3, 1)
    assert x.shape == [2, 3]
    assert x.shape != [3, 2]
    assert (2, 3) == x.shape  # noqa: SIM300
    for made, wanted in (
        (x.shape[:1], [2]),
        (x.shape.__add__((1,)), [2, 3, 1]),
        (x.shape.__add__([1]), [2, 3, 1]),
        (x.shape.__radd__([1]), [1, 2, 3]),
        (x.shape.__radd__((1,)), [1, 2, 3]),
        (x.shape * 2, [2, 3, 2, 3]),
    ):
        assert type(made) is paddle.Size
        assert made == wanted
    with pytest.raises(TypeError, match="PaddleSize"):
        x.shape + 1
    assert x.shape < [3, 0]
    assert repr(x.shape) == str(x.shape) == "paddle.Size([2, 3])"
    assert x.shape.numel() == 6
    assert pickle.loads(pickle.dumps(x.shape)) == copy.deepcopy(x.shape) == [2, 3]
    assert np.zeros(x.shape).shape == x.shape
    with pytest.raises(TypeError, match="unhashable"):
        hash(x.shape)


def test_the_class_makes_tensors() -> None:
    assert paddle.Tensor([1, 2]).dtype == paddle.float32
    assert paddle.Tensor(np.ones(2)).dtype == paddle.float64
    assert paddle.Tensor(2, 3).shape == [2, 3]
    assert paddle.Tensor().shape == [0]
    x = paddle.Tensor(data=[1.0, 2.0], stop_gradient=False, place=paddle.CPUPlace(), name="weight")
    assert x.name == "weight"
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    paddle.Tensor(x)[0] = 5.0
    assert x.tolist() == [5.0, 2.0]
    assert not paddle.Tensor([x[0], x[1]]).stop_gradient
    with pytest.raises(ArgumentError, match="not float"):
        paddle.Tensor(2.5)

    class Other(paddle.Tensor):
        pass

    with pytest.raises(TypeError, match="Other"):
        Other([1.0])


def _one(parts: Any) -> Any:
    return parts[0] if isinstance(parts, list | tuple) else parts


#: Functions of a tensor of shape [1, 3, 3] whose results are copies in Paddle.
COPIES: dict[str, Callable[[Any], Any]] = {
    "split": lambda x: P.split(x, 3, 1),
    "split by sizes": lambda x: P.split(x, [1, -1], 2),
    "the method": lambda x: x.split(1),
    "chunk": lambda x: P.chunk(x, 3, 1),
    "tensor_split": lambda x: P.tensor_split(x, 2, 1),
    "hsplit": lambda x: P.hsplit(x, 3),
    "vsplit": lambda x: P.vsplit(x, 1),
    "dsplit": lambda x: P.dsplit(x, 3),
    "unstack": lambda x: P.unstack(x, 1),
    "expand": lambda x: P.expand(x, [2, 3, 3]),
    "broadcast_to": lambda x: P.broadcast_to(x, [1, 3, 3]),
    "expand_as": lambda x: x.expand_as(P.ones([2, 3, 3])),
    "crop": lambda x: P.crop(x, [1, 2, 2]),
}
#: Those whose results are views.
VIEWS: dict[str, Callable[[Any], Any]] = {
    "unbind": lambda x: P.unbind(x, 1),
    "index": lambda x: x[:, 1:],
    "slice": lambda x: P.slice(x, [1], [0], [2]),
    "reshape": lambda x: P.reshape(x, [9]),
    "squeeze": lambda x: P.squeeze(x, 0),
    "transpose": lambda x: P.transpose(x, [2, 1, 0]),
    "flatten": lambda x: P.flatten(x),
    "diagonal": lambda x: P.diagonal(x, 0, 1, 2),
    "detach": lambda x: x.detach(),
}


@pytest.mark.parametrize(
    ("f", "is_compiled"),
    [
        *((f, is_compiled) for f in COPIES.values() for is_compiled in (False, True)),
        *((f, False) for f in VIEWS.values()),
    ],
)
def test_which_results_are_copies(f: Callable[[Any], Any], is_compiled: bool) -> None:
    def written(x: Any) -> Any:
        part = _one(f(x))
        part.fill_(7.0)
        return part * 1, x * 1

    x = P.arange(9, dtype="float32").reshape([1, 3, 3])
    before = x.numpy().copy()
    part, after = (P.jit.to_static(written) if is_compiled else written)(x)
    assert (part == 7).all()
    assert bool((after == P.to_tensor(before)).all()) == (f in COPIES.values())
    np.testing.assert_array_equal(x.numpy(), after.numpy())


@pytest.mark.parametrize("f", COPIES.values(), ids=COPIES)
def test_a_write_to_a_copy_is_no_write_to_the_leaf(f: Callable[[Any], Any]) -> None:
    x = P.arange(9, dtype="float32").reshape([1, 3, 3])
    x.stop_gradient = False
    part = _one(f(x))
    part.multiply_(part.detach() + 1.0)
    (slope,) = P.grad(part.sum(), x)
    wanted = x.detach()
    wanted.stop_gradient = False
    (copied,) = P.grad((_one(f(wanted)) * (_one(f(x)).detach() + 1.0)).sum(), wanted)
    np.testing.assert_array_equal(slope.numpy(), copied.numpy())
    np.testing.assert_array_equal(x.numpy().ravel(), np.arange(9))
    assert x.inplace_version == 0


def test_numbers_in_lists_get_the_default_dtypes() -> None:
    def kind(x: Any) -> str:
        return str(paddle.to_tensor(x).dtype.name)

    wide = np.ones(2)
    assert kind([wide, wide]) == kind((wide, [1.0, 2.0])) == kind([np.float64(1), 2.0]) == "float32"
    assert kind([wide.astype("float16")]) == "float32"
    assert kind([wide.astype("int32")]) == kind([np.int64(1)]) == "int64"
    assert kind([np.int8(3)]) == "int8"
    assert kind([wide.astype("complex128")]) == "complex64"
    # Arrays, scalars of NumPy's and tensors keep their dtype.
    assert kind(wide) == kind(np.float64(1)) == kind([paddle.ones([2], "float64")] * 2) == "float64"
    assert kind(wide.astype("int32")) == "int32"
    paddle.set_default_dtype("float64")
    try:
        assert kind([np.float32(1)]) == "float64"
        assert kind([np.complex64(1)]) == "complex128"
    finally:
        paddle.set_default_dtype("float32")
    x = paddle.to_tensor([wide, 2 * wide], stop_gradient=False)
    assert not x.stop_gradient
    assert x.is_leaf
    assert x.tolist() == [[1.0, 1.0], [2.0, 2.0]]


def test_assign_and_full_take_the_dtype_of_numbers() -> None:
    for value, dtype in (
        ([1.0, 2.0], "float64"),
        (1.0, "float64"),
        ([1, 2], "int64"),
        (1j, "complex128"),
        ([True], "bool"),
    ):
        found = paddle.assign(value)
        assert found.dtype == dtype
        assert found.tolist() == (value if isinstance(value, list) else [value])
    assert paddle.assign([np.ones(2, "int32")]).dtype == "int32"
    assert paddle.assign(np.float16(1)).shape == [1]
    assert paddle.full([2], 1 + 2j).dtype == "complex128"
    assert paddle.full([2], 1 + 2j).tolist() == [1 + 2j, 1 + 2j]


def test_take_along_axis_without_broadcast() -> None:
    x = t(A[0])
    x.stop_gradient = False
    at = i([[0, 2], [1, 1]])
    for function in (P.take_along_axis, P.take_along_dim):
        assert function(x, at, 0, broadcast=False).tolist() == [[0.0, 9.0], [4.0, 5.0]]
        assert function(x, at, -1, False).tolist() == [[0.0, 2.0], [5.0, 5.0]]
        assert function(x, i([[1]]), 1, False).tolist() == [[1.0]]
        assert function(x, i([[1]]), 1).tolist() == [[1.0], [5.0], [9.0]]
    P.take_along_axis(x, at, 1, False).sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0] * 4]
    with pytest.raises(ValueError, match="reach beyond"):
        P.take_along_axis(x, i([[0]] * 4), 1, False)
