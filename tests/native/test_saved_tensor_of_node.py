"""Pack and unpack hooks on one saved tensor of a node."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from tests.dialects import ALL, Dialect, values
from tests.native.test_saved_tensors_hooks import hooks_of

every = pytest.mark.parametrize("d", ALL, ids=repr)


@every
def test_hooks_on_one_saved_tensor(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    y = x.exp()
    packed: list[Any] = []

    def pack(t: Any) -> Any:
        packed.append(t)
        return "packed", t * 2

    y.grad_fn._raw_saved_result.register_hooks(pack, lambda form: form[1] / 2)
    assert len(packed) == 1
    assert values(packed[0]) == values(y)
    assert packed[0].stop_gradient
    assert values(y.grad_fn._saved_result) == values(y)
    d.backward([y])
    assert values(x.grad) == values(y)
    with pytest.raises(RuntimeError, match="a second time"):
        y.grad_fn._raw_saved_result.register_hooks(pack, pack)
    assert len(packed) == 1


@every
def test_each_saved_tensor_has_its_own_hooks(d: Dialect) -> None:
    x, y = d.leaf([1.0, 2.0]), d.leaf([3.0, 4.0])
    z = x * y
    node = z.grad_fn
    node._raw_saved_self.register_hooks(lambda t: t, lambda t: t * 10)
    node._raw_saved_other.register_hooks(lambda t: t, lambda t: t * 100)
    assert [values(g) for g in d.grad([z], [x, y], retain_graph=True)] == [[300, 400], [10, 20]]
    # One call for each read.
    assert [values(g) for g in d.grad([z], [x, y])] == [[300, 400], [10, 20]]


@every
def test_one_pair_of_hooks_for_a_saved_tensor(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    place = (x * x).grad_fn._raw_saved_self
    place.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="hooks have already been set"):
        place.register_hooks(lambda t: t, lambda t: t)
    for given in ((1, 2), (lambda t: t,)):
        with pytest.raises(TypeError, match="two functions are wanted"):
            (x * x).grad_fn._raw_saved_other.register_hooks(*given)
    with hooks_of(d)(lambda t: t, lambda t: t):
        y = x * x
    with pytest.raises(RuntimeError, match="hooks have already been set"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    for name in ("_raw_saved_result", "_raw_saved_nothing", "_raw_self"):
        assert not hasattr(y.grad_fn, name)

    def fails(t: Any) -> Any:
        raise KeyError("no")

    z = x * x
    with pytest.raises(KeyError):
        z.grad_fn._raw_saved_self.register_hooks(fails, fails)
    z.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    d.backward([z])
    assert values(x.grad) == [2, 4]


@every
def test_objects_held_by_hooks_of_a_saved_tensor_are_freed(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    y = x.exp()
    ref = weakref.ref(y)
    y.grad_fn._raw_saved_result.register_hooks(lambda t, y=y: (t, y), lambda form: form[0])
    d.backward([y], retain_graph=True)
    assert values(x.grad) == values(y)
    del y
    gc.collect()
    assert ref() is None
