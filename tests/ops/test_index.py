"""Reads, writes and gradients of every kind of index expression against NumPy."""

from __future__ import annotations

import re
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@st.composite
def mixed(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Integers, slices, new axes, an ellipsis, index arrays and masks, in any order."""
    common = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    key: list[Any] = []
    axis, new, dots = 0, 0, False
    while axis < len(shape):
        size = shape[axis]
        kinds = ["slice", "new", "bool"]
        kinds += ["int", "array", "array"] if size else []
        kinds += ["mask"] if len(common) <= 1 else []
        kinds += [] if dots else ["dots"]
        match draw(st.sampled_from(kinds)):
            case "slice":
                key.append(draw(st.slices(size)))
                axis += 1
            case "int":
                key.append(draw(st.integers(-size, size - 1)))
                axis += 1
            case "array":
                part = tuple(d if draw(st.booleans()) else 1 for d in common)
                key.append(draw(hnp.arrays(np.int64, part, elements=st.integers(-size, size - 1))))
                axis += 1
            case "mask":
                # The mask has as many true elements as the other index arrays have elements, or one.
                count = draw(st.sampled_from([1, *common]))
                rank = draw(st.integers(1, len(shape) - axis))
                mask = np.zeros(shape[axis : axis + rank], bool)
                mask.flat[draw(st.permutations(range(mask.size)))[:count]] = True
                key.append(mask)
                axis += rank
            case "new":
                key.append(None)
                new += 1
                if new > 2:
                    break
            case "bool":
                if draw(st.integers(0, 5)):
                    continue
                key.append(draw(st.booleans()))
            case "dots":
                key.append(...)
                dots = True
                axis += draw(st.integers(0, len(shape) - axis))
    return tuple(key)


def keys(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    kinds = [
        hnp.basic_indices(shape, allow_newaxis=True),
        hnp.arrays(bool, shape),
        mixed(shape),
    ]
    if shape and 0 not in shape:
        kinds.append(hnp.integer_array_indices(shape))
    return st.one_of(kinds)


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, Any]:
    shape = draw(SHAPES)
    array = np.random.default_rng(draw(st.integers(0, 99))).normal(size=shape)
    return array, draw(keys(shape))


def tracked(a: Any) -> Any:
    return fg.tensor(np.asarray(a), requires_grad=True)


def same(got: Any, want: Any) -> None:
    got = np.asarray(got)
    assert got.shape == np.shape(want)
    np.testing.assert_array_equal(got, want)


def read(a: np.ndarray, key: Any) -> np.ndarray | None:
    """The elements that NumPy reads, or None where it raises. NumPy accepts bad indices if the result is empty."""
    try:
        value = np.asarray(a[key])
        if value.size == 0:
            _ = fg.tensor(a)[key]
    except IndexError:
        return None
    return value


@given(cases())
def test_reads_are_numpys(case: tuple[np.ndarray, Any]) -> None:
    a, key = case
    want = read(a, key)
    if want is None:
        with pytest.raises(IndexError):
            fg.tensor(a)[key]
        return
    same(fg.tensor(a)[key], want)
    # The same read of a tensor that is not in C order and has another element size.
    same(fg.tensor(a.T).transpose()[key], want)
    same(fg.tensor(a > 0)[key], want > 0)


@given(cases())
def test_the_gradient_of_a_read_adds_up(case: tuple[np.ndarray, Any]) -> None:
    a, key = case
    value = read(a, key)
    if value is None:
        return
    x = tracked(a)
    w = np.random.default_rng(1).integers(-5, 6, size=value.shape).astype(float)
    out = (x[key] * fg.tensor(w)).sum()
    want = np.zeros_like(a)
    np.add.at(want, key, w)
    same(fg.grad(out, x), want)


@given(cases(), st.data())
def test_writes_and_their_gradients(case: tuple[np.ndarray, Any], data: st.DataObject) -> None:
    a, key = case
    target = read(a, key)
    if target is None:
        return
    shape = tuple(d if data.draw(st.booleans()) else 1 for d in target.shape)
    shape = shape[data.draw(st.integers(0, len(shape))) :]
    v = np.random.default_rng(2).normal(size=shape)
    if np.broadcast_shapes(shape, target.shape) != target.shape:
        return
    want = a.copy()
    want[key] = v
    plain = fg.tensor(a)
    before = plain * 1
    plain[key] = v
    same(plain, want)
    same(before, a)
    x, value = tracked(a), tracked(v)
    y = x * 1
    y[key] = value
    same(y, want)
    # For each element of the result, the element of the value that it came from.
    w = np.random.default_rng(3).integers(-5, 6, size=a.shape).astype(float)
    origin = np.full(a.shape, -1)
    origin[key] = np.arange(v.size).reshape(v.shape)
    dv = np.zeros(v.size)
    np.add.at(dv, origin[origin >= 0], w[origin >= 0])
    out = (y * fg.tensor(w)).sum()
    dx, dvalue = fg.grad(out, [x, value], allow_unused=True)
    same(dx, np.where(origin < 0, w, 0))
    same(np.zeros(v.shape) if dvalue is None else dvalue, dv.reshape(v.shape))


@given(cases())
def test_accumulating_writes(case: tuple[np.ndarray, Any]) -> None:
    a, key = case
    if (target := read(a, key)) is None:
        return
    a = np.asarray(np.rint(a * 4))
    v = np.arange(float(target.size)).reshape(target.shape)
    want = a.copy()
    np.add.at(want, key, v)
    x, value = tracked(a), tracked(v)
    out = fg.index_put(x, key, value, accumulate=True)
    same(out, want)
    w = np.arange(float(a.size)).reshape(a.shape)
    dx, dv = fg.grad((out * fg.tensor(w)).sum(), [x, value])
    same(dx, w)
    same(dv, w[key])


def test_second_order_through_repeated_positions() -> None:
    x = tracked([1.0, 2.0, 3.0])
    y = x[[0, 0, 2]]
    (g,) = fg.grad((y * y * y).sum(), [x], create_graph=True)
    same(g, [6, 0, 27])
    (h,) = fg.grad(g.sum(), [x])
    same(h, [12, 0, 18])


def test_the_last_write_to_a_position_has_its_gradient() -> None:
    x, v = tracked([0.0, 0.0]), tracked([1.0, 2.0, 3.0])
    y = fg.index_put(x, (fg.tensor([0, 0, 1]),), v)
    same(y, [2, 3])
    dv = fg.grad((y * fg.tensor(np.array([np.inf, 1.0]))).sum(), v)
    same(dv, [0, np.inf, 1])


def test_scatter_and_put_differentiate_the_values() -> None:
    x, v = tracked(np.zeros((2, 3))), tracked(np.arange(6.0).reshape(2, 3))
    index = np.array([[0, 0], [2, 1]])
    w = fg.tensor(np.arange(6.0).reshape(2, 3))
    dx, dv = fg.grad((fg.scatter(x, 1, index, v) * w).sum(), [x, v])
    same(dx, [[0, 1, 2], [3, 0, 0]])
    same(dv, [[0, 0, 0], [5, 4, 0]])
    dx, dv = fg.grad((fg.scatter_add(x, 1, index, v) * w).sum(), [x, v])
    same(dx, w)
    same(dv, [[0, 0, 0], [5, 4, 0]])
    dx, dv = fg.grad((fg.index_add(x, 0, fg.tensor([1, 1]), v) * w).sum(), [x, v])
    same(dv, [[3, 4, 5], [3, 4, 5]])


@pytest.mark.parametrize("index", [[[0, 0, 2], [2, 1, 2]], [[0, 0]], [2, 2, 1, 0]], ids=["all places", "some", "rows"])
def test_tangents_of_the_tensor_and_of_the_value(index: list[Any]) -> None:
    rows = not isinstance(index[0], list)
    shape = (3, 4) if rows else (2, 3)
    x, v = fg.tensor(np.ones(shape)), fg.tensor(np.arange(float(np.prod(shape))).reshape(shape))
    add = fg.index_add if rows else fg.scatter_add

    def sums(x: fg.Tensor, v: fg.Tensor) -> fg.Tensor:
        return add(x, 1, fg.tensor(index), v)

    both = sums(x, v).numpy()
    same(fg.func.jvp(sums, (x, v), (x, v))[1], both)
    same(fg.func.jvp(lambda v: sums(x, v), (v,), (v,))[1], sums(fg.zeros_like(x), v).numpy())
    same(fg.func.jvp(lambda x: sums(x, v), (x,), (x,))[1], np.ones(x.shape))
    one_each = fg.func.vmap(sums)(fg.stack([x, 2 * x]), fg.stack([v, 3 * v])).numpy()
    same(one_each[0], both)
    same(one_each[1], sums(2 * x, 3 * v).numpy())
    same(fg.func.vmap(sums, in_axes=(None, 0))(x, fg.stack([v, v])).numpy()[1], both)
    same(fg.func.vmap(sums, in_axes=(0, None))(fg.stack([x, x]), v).numpy()[1], both)


@pytest.mark.parametrize(("shape", "mask"), [((0, 1), (0, 0)), ((2, 3), (0,)), ((2, 3), (0, 3)), ((4,), (0,))])
def test_a_mask_without_elements_fits_every_axis(shape: tuple[int, ...], mask: tuple[int, ...]) -> None:
    x = fg.tensor(np.ones(shape), requires_grad=True)
    nothing = np.zeros(mask, bool)
    assert x[fg.tensor(nothing)].shape == np.ones(shape)[nothing].shape
    y = x * 2
    y[fg.tensor(nothing)] = 5.0
    (g,) = fg.grad(y.sum() + x[fg.tensor(nothing)].sum(), [x])
    np.testing.assert_array_equal(g, np.full(shape, 2.0))


def test_index_arrays_of_every_integer_type() -> None:
    x = fg.tensor(np.arange(5.0))
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        same(x[np.array([3, 1], dtype)], [3, 1])
        same(x[fg.tensor(np.array([3, 1], dtype))], [3, 1])
        same(x[dtype(2)], 2)
    same(x[np.int8(-2)], 3)
    same(x[[True, False, True, False, False]], [0, 2])
    same(x[[]], [])
    same(x[np.True_], [[0, 1, 2, 3, 4]])
    same(x[(1, 2),], [1, 2])


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (3, "index 3 is out of bounds for axis 0 with size 3"),
        ((0, -5), "index -5 is out of bounds for axis 1 with size 4"),
        ((slice(None), [1, 9]), "index 9 is out of bounds for axis 1 with size 4"),
        ((None, [0, -4]), "index -4 is out of bounds for axis 0 with size 3"),
        (np.array([2**64 - 1], np.uint64), "index 18446744073709551615 is out of bounds for axis 0 with size 3"),
        ((0, 0, 0), "too many indices"),
        ((..., ...), "only one ellipsis"),
        (np.zeros((3, 3), bool), "mask of shape [3, 3] does not fit: axis 1 has size 4, the mask has 3 there"),
        (([0, 1], [0, 1, 2]), "do not broadcast"),
    ],
)
def test_wrong_indices(key: Any, text: str) -> None:
    x = fg.tensor(np.zeros((3, 4)))
    for act in (lambda: x[key], lambda: x.__setitem__(key, 1.0)):
        with pytest.raises(fg._core.IndexOutOfRange, match=re.escape(text)):
            act()


def test_other_wrong_arguments_raise() -> None:
    x = fg.tensor(np.zeros((3, 4)))
    with pytest.raises(IndexError, match="not float64"):
        x[np.array([0.0])]
    with pytest.raises(IndexError, match="an index is made of"):
        x[0.0]
    with pytest.raises(TypeError):
        x["a"]
    with pytest.raises(TypeError, match="slice indices must be integers"):
        x["0":"1"]
    with pytest.raises(ValueError, match="step other than 0"):
        x[::0]
    with pytest.raises(fg._core.ShapeError, match="shape mismatch: a value of shape"):
        x[0] = np.zeros(3)
    with pytest.raises(TypeError, match="cannot be deleted"):
        del x[0]
    with pytest.raises(TypeError):
        len(fg.tensor(1.0))
    with pytest.raises(TypeError):
        iter(fg.tensor(1.0))
    same(x, np.zeros((3, 4)))


def test_truth_values_are_added_up_as_numpys() -> None:
    x, at, more = np.array([True, False, False]), np.array([1, 1, 2]), np.array([True, False, False])
    wanted = x.copy()
    np.add.at(wanted, at, more)
    given = (fg.tensor(x), 0, fg.tensor(at), fg.tensor(more))
    for add in (fg.index_add, fg.scatter_add):
        same(add(*given), wanted)
    wanted = x.copy()
    np.multiply.at(wanted, at, more)
    same(fg.scatter_reduce(*given, "prod"), wanted)
    for total in ("sum", "prod", "cumsum", "cumprod"):
        numbers = [0.5, 2.0, 0.0]
        same(getattr(fg, total)(fg.tensor(numbers), dtype="bool"), getattr(np, total)(numbers, dtype=bool))
    with pytest.raises(fg.DtypeError, match="not int64"):
        fg.mean(fg.ones(2), dtype="int64")


def test_a_tensor_is_a_sequence_of_its_first_axis() -> None:
    x = tracked([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert len(x) == 3
    first, _, last = x
    same(last, [5, 6])
    same(fg.grad((first * last).sum(), x), [[5, 6], [0, 0], [1, 2]])


def test_a_value_is_cast_and_loses_leading_ones() -> None:
    x = fg.tensor(np.zeros((2, 3), np.float32))
    x[0] = np.ones((1, 1, 3))
    x[1, 1:] = [7, 8]
    assert x.dtype == np.float32
    same(x, [[1, 1, 1], [0, 7, 8]])
    i = fg.tensor(np.zeros(2, np.int64))
    i[0] = 2.9
    same(i, [2, 0])


def test_views_share_and_copies_do_not() -> None:
    x = fg.tensor(np.arange(6.0).reshape(2, 3))
    before = x.numpy()
    view, copy = x[:, ::-1], x[[1]]
    x[1] = -1
    # Arrays are immutable: a write does not change an array that NumPy was given.
    same(before, np.arange(6.0).reshape(2, 3))
    same(view, [[2, 1, 0], [-1, -1, -1]])
    same(copy, [[3, 4, 5]])


def test_large_arrays_take_the_parallel_paths() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-9, 9, size=(3000, 70)).astype(float)
    index = rng.integers(-3000, 3000, size=5000)
    x = tracked(a)
    out = x[index]
    same(out, a[index])
    w = rng.integers(-9, 9, size=out.shape).astype(float)
    want = np.zeros_like(a)
    np.add.at(want, index, w)
    same(fg.grad((out * fg.tensor(w)).sum(), x), want)
    same(fg.tensor(a)[:, index[:2000] % 70], a[:, index[:2000] % 70])
    along = rng.integers(0, 3000, size=(4000, 70))
    same(fg.gather(x, 0, along[:3000]), np.take_along_axis(a, along[:3000], 0))


@pytest.mark.parametrize("op", ["nonzero", "argwhere"])
def test_nonzero_of_a_scalar(op: str) -> None:
    x = fg.tensor(3.0)
    if op == "nonzero":
        with pytest.raises(ValueError, match="0-d"):
            fg.nonzero(x)
    else:
        assert fg.argwhere(x).shape == (1, 0)


def test_classes_of_no_elements() -> None:
    empty = fg.zeros((2, 0), dtype="int64")
    assert fg.one_hot(empty, 3).shape == (2, 0, 3)
    with pytest.raises(fg.ArgumentError, match="no element says how many classes there are; give num_classes"):
        fg.one_hot(empty)
