"""Names that both dialects have and the native namespace lacks: casts, synonyms, axes of 0-d tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import paddle, torch

from tests.dialects import ALL, Dialect, values

both = pytest.mark.parametrize("d", ALL[1:], ids=repr)
every = pytest.mark.parametrize("d", ALL, ids=repr)

CASTS = {
    "bool": "bool",
    "byte": "uint8",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
}


@both
@pytest.mark.parametrize(("name", "dtype"), CASTS.items())
def test_casts(d: Dialect, name: str, dtype: str) -> None:
    x = d.tensor([[0.0, 1.5], [2.0, 3.75]])
    y = getattr(x, name)()
    assert type(y) is type(x)
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x).astype(dtype), strict=True)
    assert x.type_as(y).dtype == dtype


@both
def test_casts_to_floats_are_tracked_and_to_integers_are_not(d: Dialect) -> None:
    x = d.leaf([1.5, 2.5])
    assert not x.double().stop_gradient
    # In Paddle integers have a history too.
    assert x.long().stop_gradient == (d.name != "paddle")
    d.backward([(x.double() * 3).sum()])
    assert x.grad.dtype == np.float32
    assert values(x.grad) == [3, 3]


@both
def test_predicates(d: Dialect) -> None:
    assert d.tensor([1.0]).is_floating_point() is True
    assert d.tensor([1]).is_floating_point() is False
    assert d.module.is_floating_point(d.tensor([1.0])) is True
    assert d.module.is_tensor(d.tensor(1)) is True
    assert d.module.is_tensor(1) is False
    assert d.module.finfo("float32").eps == np.finfo(np.float32).eps
    assert d.module.pi == np.pi


@every
def test_versions(d: Dialect) -> None:
    assert fg.__version__ in d.module.__version__
    assert d.module.__version__[0].isdigit()


NAMED: list[tuple[str, dict[str, Any]]] = [
    ("sum", {}),
    ("mean", {}),
    ("prod", {}),
    ("max", {}),
    ("min", {}),
    ("std", {}),
    ("var", {}),
    ("argmax", {}),
    ("median", {}),
    ("norm", {}),
    ("logsumexp", {}),
]


@both
@pytest.mark.parametrize(("name", "options"), NAMED)
def test_axis_and_dim_are_synonyms(d: Dialect, name: str, options: dict[str, Any]) -> None:
    x = d.tensor(np.arange(6.0).reshape(2, 3))
    f: Callable[..., Any] = getattr(d.module, name)
    for own, first, keep in ((f, (x,), "keepdim"), (getattr(x, name), (), "keepdims")):
        results = [own(*first, **{axis: 1, keep: True}, **options) for axis in ("dim", "axis")]
        for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in results), strict=True):
            assert a.shape == (2, 1)
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@both
def test_names_of_operands_are_synonyms(d: Dialect) -> None:
    x, y = d.tensor([[1.0, 2.0], [3.0, 4.0]]), d.tensor([[5.0, 6.0], [7.0, 8.0]])
    for name in ("add", "subtract", "multiply", "matmul", "maximum", "equal"):
        f = getattr(d.module, name)
        want = values(f(x, y)) if name != "equal" or d.name != "torch" else f(x, y)
        for first, second in (("input", "other"), ("x", "y")):
            got = f(**{first: x, second: y})
            assert (values(got) if isinstance(got, fg.Tensor) else got) == want
    with pytest.raises(TypeError, match="under two names"):
        d.module.std(x, dim=0, axis=0)


#: By name: the arguments after the tensor, whether the function returns indices too, and the result for 2.5.
NUMBERS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("sum", (0,), 2.5),
    ("sum", (-1,), 2.5),
    ("mean", (0,), 2.5),
    ("prod", (-1,), 2.5),
    ("all", (0,), True),
    ("argmax", (0,), 0),
    ("argmin", (-1,), 0),
    ("logsumexp", (0,), 2.5),
    ("cumsum", (0,), 2.5),
    ("cumprod", (-1,), 2.5),
    ("softmax", (-1,), 1.0),
    ("log_softmax", (0,), 0.0),
    ("argsort", (), 0),
    ("squeeze", (0,), 2.5),
    ("flip", (0,), 2.5),
    ("var", (0,), np.nan),
]


@both
@pytest.mark.parametrize(("name", "args", "want"), NUMBERS, ids=lambda v: v if isinstance(v, str) else "")
def test_axis_0_of_a_0d_tensor(d: Dialect, name: str, args: tuple[Any, ...], want: Any) -> None:
    got = getattr(d.tensor(2.5), name)(*args)
    assert got.shape == ()
    np.testing.assert_array_equal(np.asarray(got), want)
    with pytest.raises(IndexError):
        fg.sum(fg.tensor(2.5), axis=0)


@both
def test_other_axes_of_a_0d_tensor_raise(d: Dialect) -> None:
    for axis in (1, -2):
        # Paddle's text, and torch's.
        with pytest.raises(IndexError, match=f"axis {axis} is out of range|but got {axis}"):
            d.tensor(2.5).sum(axis)


@both
def test_gradients_of_reductions_over_axis_0_of_a_0d_tensor(d: Dialect) -> None:
    x = d.leaf(2.5)
    d.backward([x.cumsum(0) * x.sum(-1)])
    assert values(x.grad) == 5
    values_, indices = d.leaf(3.0).topk(1)
    assert (values(values_), values(indices)) == (3, 0)
    assert not values_.stop_gradient


@both
def test_squeeze_leaves_other_axes_alone(d: Dialect) -> None:
    x = d.leaf(np.ones((2, 1, 3)))
    assert x.squeeze(0).shape == (2, 1, 3)
    assert x.squeeze(-2).shape == (2, 3)
    assert x.squeeze([0, 1]).shape == (2, 3)
    assert d.module.squeeze(x).shape == (2, 3)
    with pytest.raises(IndexError):
        x.squeeze(3)
    with pytest.raises(ValueError, match="size 2, not 1"):
        fg.squeeze(fg.ones((2, 1)), 0)
    y = x * 1
    assert y.squeeze_(1) is y
    assert y.shape == (2, 3)
    d.backward([(y * y).sum()])
    assert x.grad.shape == (2, 1, 3)


@every
def test_in_place_forms_exist_where_they_make_sense(d: Dialect) -> None:
    have = {name.removesuffix("_") for name in dir(d.tensor(1.0)) if name.endswith("_") and not name.endswith("__")}
    assert have >= {"add", "clip", "cumsum", "exp", "index_add", "masked_fill", "reshape", "scatter", "softmax", "tril"}
    senseless = {"allclose", "astype", "cummax", "diag", "diagonal", "gather", "isnan", "nonzero", "one_hot", "select"}
    assert not have & senseless


@every
def test_data_is_the_values(d: Dialect) -> None:
    if d.name == "native":
        return
    x = d.leaf([1.0, 2.0])
    assert x.data.stop_gradient
    x.data = d.tensor([3.0, 4.0])
    assert values(x) == [3, 4]
    assert x.is_leaf
    d.backward([(x * x).sum()])
    assert values(x.grad) == [6, 8]


# In-place forms with the arguments and the meaning of the dialect.


def test_in_place_forms_of_torch() -> None:
    x: Any = torch.ones(2, 3, requires_grad=True)
    y = x * torch.arange(3.0)
    assert y.transpose_(0, 1) is y
    assert y.shape == (3, 2)
    assert y.t_().shape == (2, 3)
    assert y.unsqueeze_(0).squeeze_(0).squeeze_(1).shape == (2, 3)
    y.sum().backward()
    assert values(x.grad) == [[0, 1, 2]] * 2


def test_steps_of_optimizers() -> None:
    made: list[Any] = [
        torch.tensor([1.0, 2.0], requires_grad=True),
        torch.tensor([0.5, -1.0]),
        torch.tensor([4.0, 16.0]),
    ]
    p, g, v = made
    with torch.no_grad():
        assert p.add_(g, alpha=-2) is p
        assert values(p) == [0, 4]
        p.sub_(g, alpha=2)
        assert values(p) == [-1, 6]
        p.addcmul_(g, g, value=4)
        assert values(p) == [0, 10]
        p.addcdiv_(v, g, value=0.5)
        assert values(p) == [4, 2]
        p.lerp_(v, 0.5)
        assert values(p) == [4, 9]
    assert p.is_leaf
    assert p._version == 5
    with pytest.raises(fg.LeafInplaceError):
        p.add_(g, alpha=2)
    assert values(torch.add(g, v, alpha=0.5)) == [2.5, 7]
    assert values(g.sub(other=v, alpha=0.5)) == [-1.5, -9]


def test_in_place_forms_of_paddle() -> None:
    x: Any = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    y = x * 1
    assert y.scatter_(paddle.to_tensor([1]), paddle.to_tensor([[5.0, 6.0]])) is y
    assert values(y) == [[1, 2], [5, 6]]
    assert y.transpose_([1, 0]).tolist() == [[1, 5], [2, 6]]
    assert y.reshape_([4]).tolist() == [1, 5, 2, 6]
    y.index_add_(paddle.to_tensor([0]), 0, paddle.to_tensor([10.0]))
    y.index_fill_(paddle.to_tensor([1]), 0, 0.0)
    assert values(y) == [11, 0, 2, 6]
    (y * y).sum().backward()
    assert values(x.grad) == [[22, 4], [0, 0]]
    with pytest.raises(ValueError, match="axis 7"):
        (x * 1).put_along_axis_(paddle.to_tensor([[0]]), 1.0, axis=7)


@every
def test_a_tensor_used_only_in_step_functions_has_gradient_zero(d: Dialect) -> None:
    """A tensor that no output uses has no gradient."""
    for f in (d.module.floor, d.module.round, d.module.sign, d.module.ceil, d.module.trunc):
        x, y, z = d.leaf([1.5, -2.5]), d.leaf([1.0, 2.0]), d.leaf([1.0])
        d.backward([(f(x) * 1).sum()])
        assert values(x.grad) == [0, 0]
        d.backward([(f(x) + y).sum()])
        assert values(x.grad) == [0, 0]
        assert values(y.grad) == [1, 1]
        assert z.grad is None
        (g,) = d.grad([f(x).sum()], [x])
        assert values(g) == [0, 0]
    x = d.leaf([[1.5, 2.5], [3.5, 4.5]])
    d.backward([d.module.floor(d.module.unbind(x)[0]).sum()])
    assert values(x.grad) == [[0, 0], [0, 0]]
    x = d.leaf([1.5])
    if d.name != "paddle":
        d.module.floor(x).backward(inputs=[x])
        assert values(x.grad) == [0]


@every
def test_a_tensor_is_no_list_of_tensors(d: Dialect) -> None:
    x: Any = d.tensor([[1.0, 2.0], [3.0, 4.0]])
    for name in ["concat", "stack", "hstack", "vstack", "dstack", "column_stack"]:
        with pytest.raises(
            (fg.ArgumentError, TypeError), match=r"must be a list of Tensors|element 1 is a|takes at most"
        ):
            getattr(d.module, name)(x)
        with pytest.raises((fg.ArgumentError, TypeError)):
            getattr(d.module, name)(x, x)
    with pytest.raises(fg.ArgumentError, match=r"must be a list of Tensors|two or more matrices"):
        d.module.linalg.multi_dot(x)
    with pytest.raises(fg.ShapeError, match="takes vectors"):
        d.module.cartesian_prod(x)
    assert d.module.block_diag(x).tolist() == x.tolist()
