"""Random shapes, strides and broadcasting against NumPy."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}

settings.register_profile("suite", max_examples=60, deadline=None, derandomize=True)
settings.load_profile("suite")

NUMBERS = st.floats(-100, 100, width=32)


def arrays(shape: Any, dtype: Any = np.float64) -> Any:
    return hnp.arrays(dtype, shape, elements=NUMBERS)


@st.composite
def strided(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[np.ndarray, Any]:
    """The same numbers as a NumPy array and as a tensor that is a view of a larger one."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 2, -1])) for _ in shape]
    whole = draw(arrays(tuple(shape[o] * abs(s) for o, s in zip(order, steps, strict=True))))
    index = tuple(slice(None, None, s) for s in steps)
    back = [order.index(i) for i in range(len(shape))]
    view, tensor = whole[index], fg.tensor(whole)[index]
    if shape:
        view, tensor = view.transpose(back), fg.permute_dims(tensor, back)
    return view, tensor


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, Any, np.ndarray, Any]:
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=4, max_dims=4)).input_shapes
    (a, x), (b, y) = (draw(strided(s)) for s in shapes)
    return a, x, b, y


@pytest.mark.parametrize("name", BINARY)
@given(pairs())
def test_broadcasting(name: str, pair: tuple[np.ndarray, Any, np.ndarray, Any]) -> None:
    a, x, b, y = pair
    if name == "divide":
        b, y = np.abs(b) + 1, fg.tensor(np.abs(b) + 1)
    got, want = np.asarray(getattr(fg, name)(x, y)), BINARY[name](a, b)
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)


@given(pairs())
def test_a_gradient_has_the_shape_of_its_input(pair: tuple[np.ndarray, Any, np.ndarray, Any]) -> None:
    a, _, b, _ = pair
    x, y = fg.tensor(a, requires_grad=True), fg.tensor(b, requires_grad=True)
    z = x * y
    dx, dy = fg.grad(fg.sum(z), [x, y])
    ones = np.ones(z.shape)
    for g, own, other in ((dx, a, b), (dy, b, a)):
        assert g.shape == own.shape
        full = ones * other
        lead = tuple(range(full.ndim - own.ndim))
        kept = tuple(i + len(lead) for i, n in enumerate(own.shape) if n == 1)
        np.testing.assert_allclose(np.asarray(g), full.sum(lead + kept).reshape(own.shape), rtol=1e-12, atol=1e-9)


@given(st.data())
def test_incompatible_shapes_are_refused(data: st.DataObject) -> None:
    a, b = (data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4)) for _ in range(2))
    try:
        want: Any = np.broadcast_shapes(a, b)
    except ValueError:
        want = None
    x, y = fg.zeros(a), fg.zeros(b)
    if want is None:
        with pytest.raises(fg.ShapeError, match="add"):
            fg.add(x, y)
    else:
        assert fg.add(x, y).shape == want


@given(st.data())
def test_sums_over_any_axes_of_any_view(data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    a, x = data.draw(strided(shape))
    axis = data.draw(st.one_of(st.none(), st.lists(st.integers(0, max(len(shape) - 1, 0)), unique=True).map(tuple)))
    if axis is not None:
        axis = tuple(i for i in axis if i < len(shape))
    keepdims = data.draw(st.booleans())
    got, want = np.asarray(fg.sum(x, axis=axis, keepdims=keepdims)), np.sum(a, axis=axis, keepdims=keepdims)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-9)


@given(st.data())
def test_reshape_keeps_the_order(data: st.DataObject) -> None:
    a, x = data.draw(strided(data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=4))))
    sizes: list[int] = []
    rest = a.size
    while rest > 1:
        sizes.append(data.draw(st.sampled_from([d for d in range(2, rest + 1) if rest % d == 0])))
        rest //= sizes[-1]
    np.testing.assert_array_equal(np.asarray(fg.reshape(x, sizes)), a.reshape(sizes))


@given(st.data())
def test_basic_indexing(data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4))
    a, x = data.draw(strided(shape))
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    np.testing.assert_array_equal(np.asarray(x[index]), a[index])


@given(st.data())
def test_matmul_of_any_rank(data: st.DataObject) -> None:
    shapes = data.draw(
        hnp.mutually_broadcastable_shapes(signature="(m?,k),(k,n?)->(m?,n?)", min_side=1, max_side=4, max_dims=3)
    ).input_shapes
    (a, x), (b, y) = (data.draw(strided(s)) for s in shapes)
    got, want = np.asarray(fg.matmul(x, y)), np.matmul(a, b)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-8)
