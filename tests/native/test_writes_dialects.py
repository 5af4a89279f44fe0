"""In-place writes and views in every namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

from tests.dialects import ALL, Dialect, values

every = pytest.mark.parametrize("d", ALL, ids=repr)


def leaf(d: Dialect, *data: float) -> Any:
    return d.leaf(np.array(data))


def gradient(d: Dialect, y: Any, x: Any) -> Any:
    """The gradient of the sum of ``y``."""
    return values(d.grad([y.sum()], [x], retain_graph=True)[0])


class _Reflecting:
    """An object with a reflected operator of its own."""

    def __radd__(self, other: Any) -> Any:
        return "reflected", other


@every
def test_an_augmented_assignment_leaves_other_objects_the_last_word(d: Dialect) -> None:
    x = d.tensor(np.ones(2, np.float32))
    y = x
    y += _Reflecting()
    assert y[0] == "reflected"
    assert y[1] is x
    with pytest.raises(TypeError, match="unsupported operand"):
        x += object()
    if x.__iadd__(1.0) is x:
        assert x.__iadd__(object()) is NotImplemented
        assert x.__ipow__("a word") is NotImplemented
        np.testing.assert_array_equal(values(x), [2.0, 2.0])


@every
def test_every_write_increments_the_version(d: Dialect) -> None:
    x = d.tensor(np.ones((4, 2, 3), np.float32))
    versions = [x.inplace_version]
    x[0] = 1.1
    versions.append(x.inplace_version)
    if d.name == "paddle":
        assert d.module.assign(d.module.ones([3]), x) is x
    else:
        x.copy_(d.module.ones(3))
    versions.append(x.inplace_version)
    x[2] = 3
    assert [*versions, x.inplace_version] == [0, 1, 2, 3]
    assert x._version == 3
    if d.name == "paddle":
        assert values(x) == [1, 1, 3]


@every
def test_a_write_after_use_keeps_the_gradient_at_the_used_value(d: Dialect) -> None:
    a = leaf(d, 2.0, 2.0)
    b = a**2
    c = b**2
    b[1:2] = 3.3
    assert values(b) == [4, 3.3]
    d.backward([c.sum()])
    assert values(a.grad) == [32, 32]


@every
def test_writes_before_a_use_and_after_a_use_that_saves_nothing(d: Dialect) -> None:
    a = leaf(d, 1.0, 2.0)
    b = a**2
    b[0] = 3.0
    c = b**3
    d.backward([c.sum()])
    assert values(a.grad) == [0, 3 * 4**2 * 2 * 2]

    a = leaf(d, 1.0, 2.0)
    b = a * 1
    c = b + b
    b[1] = 7.0
    assert values(c) == [2, 4]
    assert gradient(d, c, a) == [2, 2]
    assert gradient(d, b, a) == [1, 0]


WRITES: dict[str, Callable[[Dialect, Any], Any]] = {
    "add": lambda d, x: x.add_(d.tensor(1.0)),
    "setitem": lambda d, x: x.__setitem__(0, 1.0),
    "squeeze": lambda d, x: x.squeeze_(),
    "unsqueeze": lambda d, x: x.unsqueeze_(0),
    "zero": lambda d, x: x.zero_(),
    "fill": lambda d, x: x.fill_(2.0),
    "copy": lambda d, x: x.copy_(d.tensor([[3.0, 4.0]])),
    "masked_fill": lambda d, x: x.masked_fill_(d.tensor([[True, False]]), 1.0),
}


@every
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_leaf_is_refused_while_recording(d: Dialect, write: Callable[[Dialect, Any], Any]) -> None:
    x = d.leaf(np.array([[1.0, 2.0]]))
    if d.name == "paddle" and write is WRITES["copy"]:
        # Paddle writes the numbers, and the leaf stays one.
        write(d, x)
        assert values(x) == [[3, 4]]
        assert x.is_leaf
        assert not x.stop_gradient
        return
    texts = {
        "native": "a leaf tensor with requires_grad=True is not written in place.",
        "paddle": "Leaf Var that doesn't stop gradient can't use inplace strategy.",
        "torch": "a leaf Variable that requires grad is being used in an in-place operation.",
    }
    with pytest.raises(fg.LeafInplaceError, match=f": {texts[d.name]}") as info:
        write(d, x)
    assert isinstance(info.value, ValueError)
    assert isinstance(info.value, RuntimeError)
    assert "Write to a new tensor (" in str(info.value)
    assert "), or use `with no_grad():`" in str(info.value)
    assert values(x) == [[1, 2]]
    assert x.inplace_version == 0
    with d.module.no_grad():
        write(d, x)
    assert x.inplace_version == 1
    assert x.is_leaf
    assert not x.stop_gradient


@pytest.mark.parametrize("d", [d for d in ALL if d.name != "paddle"], ids=repr)
def test_a_view_of_a_leaf_is_refused_while_recording(d: Dialect) -> None:
    x = leaf(d, 1.0, 2.0, 3.0, 4.0)
    v = x[1:]
    writes: list[Callable[[], Any]] = [
        lambda: v.add_(d.tensor(1.0)),
        lambda: v.__setitem__(0, 1.0),
        lambda: v[1:].zero_(),
        lambda: x.reshape([2, 2]).fill_(1.0),
    ]
    for write in writes:
        with pytest.raises(fg.LeafInplaceError, match="a view of a leaf"):
            write()
    assert values(x) == [1, 2, 3, 4]
    with d.module.no_grad():
        v.add_(d.tensor(1.0))
    assert values(x) == [1, 3, 4, 5]
    assert x.is_leaf
    assert x.inplace_version == v.inplace_version == 1
    assert gradient(d, v * v, x) == [0, 6, 8, 10]


@every
def test_an_in_place_form_applied_twice(d: Dialect) -> None:
    a, b = leaf(d, 0.3, 0.7), leaf(d, 0.3, 0.7)
    x = a * 1
    assert x.sin_().sin_() is x
    y = (b * 1).sin().sin()
    assert values(x) == values(y)
    assert gradient(d, x, a) == gradient(d, y, b)


@every
def test_setitem_gives_gradients_to_the_tensor_and_the_value(d: Dialect) -> None:
    a, b = leaf(d, 1.0, 2.0, 3.0), leaf(d, 5.0)
    x = a * 1
    x[0:1] = 2 * b
    d.backward([(x**2).sum()])
    assert values(a.grad) == [0, 4, 6]
    assert values(b.grad) == [40]


@every
@pytest.mark.parametrize("name", ["multiply_", "mul_"])
def test_a_write_to_a_view_reaches_its_base(d: Dialect, name: str) -> None:
    a = leaf(d, 1.0, 2.0, 3.0, 4.0)
    x = a * 1
    v = x.reshape([2, 2])
    getattr(v, name)(d.tensor(3.0))
    assert values(x) == [3, 6, 9, 12]
    d.backward([x.sum()])
    assert values(a.grad) == [3, 3, 3, 3]


@every
def test_a_write_to_the_base_reaches_its_views(d: Dialect) -> None:
    a = leaf(d, 1.0, 2.0, 3.0, 4.0)
    x = a * 1
    v = x[1:3]
    x.multiply_(d.tensor(3.0))
    assert values(v) == [6, 9]
    d.backward([v.sum()])
    assert values(a.grad) == [0, 3, 3, 0]


CUTS: dict[str, Callable[[Dialect, Any], Any]] = {
    "unbind": lambda d, x: x.unbind(),
    "split": lambda d, x: x.split(1 if d.name == "torch" else 4),
    "chunk": lambda d, x: x.chunk(4),
    "list": lambda d, x: list(x),
}


@every
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_parts_of_a_tensor_are_views(d: Dialect, cut: Callable[[Dialect, Any], Any]) -> None:
    a = leaf(d, 1.0, 2.0, 3.0, 4.0)
    x = a * 1
    u = cut(d, x)
    u[0].multiply_(d.tensor(3.0))
    if d.name == "paddle" and cut in (CUTS["split"], CUTS["chunk"]):
        assert values(u[0]) == [3]
        assert values(x) == [1, 2, 3, 4]
        return
    assert values(x) == [3, 2, 3, 4]
    d.backward([x.sum()])
    assert values(a.grad) == [3, 1, 1, 1]


@every
def test_a_view_made_under_no_grad_and_written_to_while_recording(d: Dialect) -> None:
    a = leaf(d, 1.0, 2.0, 3.0, 4.0)
    x = a * 1
    with d.module.no_grad():
        v = x[:2]
    assert v.stop_gradient
    if d.name == "torch":
        with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace"):
            v.mul_(3)
        assert values(x) == [1, 2, 3, 4]
        with d.module.no_grad():
            of_leaf = a[:2]
        with pytest.raises(fg.LeafInplaceError, match=r"of a leaf .* A view was created in no_grad mode and is"):
            of_leaf.mul_(3)
        with pytest.raises(fg.LeafInplaceError, match="a view of a leaf") as other:
            a[:2].mul_(3)
        assert "no_grad mode" not in str(other.value)
        return
    v.multiply_(d.tensor(3.0))
    assert not v.stop_gradient
    assert values(x) == [3, 6, 3, 4]
    assert gradient(d, x, a) == [3, 3, 1, 1]


@pytest.mark.parametrize("d", [d for d in ALL if d.name != "paddle"], ids=repr)
def test_a_write_to_repeated_elements_raises(d: Dialect) -> None:
    x = d.tensor([1.0, 2.0])
    e = x.expand([3, 2])
    writes: list[Callable[[], Any]] = [
        lambda: e.add_(d.tensor(1.0)),
        lambda: e.__setitem__(..., 0.0),
        lambda: e[:, 0].fill_(0.0),
        lambda: d.module.broadcast_to(x, [3, 2]).zero_(),
    ]
    gist = "more than one element of the written-to tensor refers to a single memory location, as expand"
    for write in writes:
        with pytest.raises(RuntimeError, match=gist):
            write()
    assert values(x) == [1, 2]
    e[0] = 5.0
    assert values(x) == [5, 5]
    assert values(e) == [[5, 5]] * 3


@every
def test_writes_between_forward_and_backward(d: Dialect) -> None:
    a = leaf(d, 1.0, 2.0)
    b = a * 1
    c = b * b
    b.data[0] = 10.0
    b.data.multiply_(d.tensor(2.0))
    assert values(b) == [20, 4]
    assert gradient(d, c, a) == [2, 4]
    for array in (np.asarray(b), b.detach().numpy()):
        # What Paddle's `numpy()` gives is a copy, which can be written to.
        if array.flags.writeable:
            array[0] = 7.0
        else:
            assert d.name != "torch"
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 7.0
    assert values(b) == ([7, 4] if d.name == "torch" else [20, 4])


@every
def test_data_takes_the_memory_of_another_tensor(d: Dialect) -> None:
    p, t = leaf(d, 1.0, 2.0), d.tensor(np.array([5.0, 6.0, 7.0]))
    seen = p[:1]
    p.data = t
    t[0] = 9.0
    assert values(p) == [9, 6, 7]
    assert values(seen) == [1]
    assert p.is_leaf
    assert not p.stop_gradient
    assert gradient(d, p * p, p) == [18, 12, 14]
    p.data = d.tensor(np.full(3, 2.0, np.float32))
    assert p.detach().numpy().dtype == np.float32
    assert gradient(d, p * p, p) == [4, 4, 4]
    with pytest.raises(fg.DtypeError):
        p.data = d.tensor(np.zeros(3, np.int64))
    with pytest.raises(fg.DtypeError):
        (p * 1).data = d.tensor(np.zeros(3))
    with pytest.raises(fg.ArgumentError):
        p.data = np.zeros(3)
    with pytest.raises(fg.ShapeError):
        (p * 1).data = d.tensor(np.zeros(1, np.float32))
