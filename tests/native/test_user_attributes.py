"""Attributes that users set on tensors."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import subprocess
import sys
import weakref
from typing import Any

import pytest
from ferrograd import torch

from tests.dialects import ALL, Dialect

every = pytest.mark.parametrize("d", ALL, ids=repr)


@every
def test_attributes_are_set_and_deleted(d: Dialect) -> None:
    x, y = d.leaf([1.0, 2.0]), d.leaf([3.0])
    x.tag = "a"
    setattr(x, "with a blank", 2)
    assert x.tag == "a"
    assert getattr(x, "with a blank") == 2
    assert not hasattr(y, "tag")
    assert x.__dict__ == vars(x) == {"tag": "a", "with a blank": 2}
    assert vars(y) == {}
    vars(y)["late"] = 3
    assert y.late == 3
    x.tag = None
    assert x.tag is None
    del x.tag
    assert not hasattr(x, "tag")
    for wrong in (lambda: x.tag, lambda: x.shpae, lambda: delattr(x, "tag")):
        with pytest.raises(AttributeError, match=r"has no attribute '(tag|shpae)'") as e:
            wrong()
        assert e.value.obj is x
    x.__dict__ = {"other": 1}
    assert x.other == 1
    with pytest.raises(TypeError, match="must be set to a dictionary, not a 'list'"):
        x.__dict__ = []
    del x.__dict__
    assert not hasattr(x, "other")


@every
def test_attributes_of_the_class_cannot_be_replaced(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    x.name, x.grad, x.stop_gradient = "n", d.tensor([1.0, 1.0]), True
    assert (x.name, x.grad.tolist(), x.requires_grad) == ("n", [1.0, 1.0], False)
    del x.grad
    assert x.grad is None
    x.requires_grad = True
    x.data = d.tensor([3.0])
    assert x.tolist() == [3.0]
    for name in ("shape", "is_leaf", "grad_fn", "sum", "__class_getitem__"):
        if hasattr(type(x), name):
            with pytest.raises(AttributeError):
                setattr(x, name, 3)
            with pytest.raises(AttributeError):
                delattr(x, name)
    # Names of the metaclass are free.
    x.mro = 1
    assert vars(x) == {"mro": 1}
    with pytest.raises(RuntimeError):
        x.grad = d.tensor([[1.0]])


@every
def test_results_of_ops_do_not_have_them(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    x.tag = "a"
    for y in (x * 2, x.detach(), x[0], x.reshape([2, 1])):
        assert not hasattr(y, "tag")
    x.detach().fill_(4.0)
    assert x.tag == "a"


@every
def test_copies_and_pickles_have_them(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    x.tag, x.itself, x.near = ["a"], x, d.tensor(3.0)
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    assert shallow.tag is x.tag
    assert shallow.__dict__ is not x.__dict__
    assert deep.tag == ["a"]
    assert deep.tag is not x.tag
    assert deep.itself is deep
    assert deep.near is not x.near
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(x, protocol))
        assert back.tag == ["a"]
        assert back.itself is back
        assert (back.near.tolist(), back.tolist()) == (3.0, [1.0, 2.0])
    assert "tag" not in vars(pickle.loads(pickle.dumps(x.near)))


def test_files_and_parameters_have_them() -> None:
    x: Any = torch.ones(2)
    w: Any = torch.nn.Parameter(torch.ones(2))
    x.tag, w.tag = {"a": 1}, "b"
    file = io.BytesIO()
    torch.save([x, w], file)
    file.seek(0)
    first, second = torch.load(file)
    assert first.tag == {"a": 1}
    assert second.tag == "b"
    assert type(second) is torch.nn.Parameter
    shallow: Any = copy.copy(w)
    assert (type(shallow), shallow.tag, shallow.tolist()) == (torch.nn.Parameter, "b", [1.0, 1.0])
    shallow.tag = "c"
    assert w.tag == "b"


def test_subclasses() -> None:
    class Named(torch.Tensor):
        kind = "named"

        def __getattr__(self, name: str) -> Any:
            if name.startswith("made_up"):
                return name
            return super().__getattribute__(name)

    x: Any = Named([1.0, 2.0])
    x.tag = 1
    assert (x.tag, x.kind, x.made_up_a, vars(x)) == (1, "named", "made_up_a", {"tag": 1})
    x.kind = "other"
    assert (x.kind, Named.kind) == ("other", "named")
    assert copy.deepcopy(x).tag == 1
    with pytest.raises(AttributeError, match="missing"):
        _ = x.missing

    class Bare(torch.Tensor):
        __slots__ = ("only",)

    y: Any = Bare([1.0])
    y.only, y.more = 1, 2
    assert (y.only, y.more) == (1, 2)
    assert vars(y) == {"more": 2}


class Held:
    """An object for an attribute to refer to."""


@every
def test_they_are_freed_with_the_tensor(d: Dialect) -> None:
    held = Held()
    ref = weakref.ref(held)
    x = d.leaf([1.0])
    x.held = held
    del held
    assert ref() is not None
    del x
    assert ref() is None


@every
def test_cycles_are_collected(d: Dialect) -> None:
    plain, result, leaf, other = d.tensor([1.0]), d.leaf([1.0]) * 2, d.leaf([1.0]), d.tensor(0.0)
    plain.itself = plain
    result.later = lambda result=result: result
    leaf.other, other.leaf = other, leaf
    hooked = d.leaf([1.0])
    hooked.note = d.tensor(1.0)
    hooked.note.hook = lambda g, hooked=hooked: g
    hooked.register_hook(hooked.note.hook)
    refs = [weakref.ref(t) for t in (plain, result, leaf, other, hooked)]
    del plain, result, leaf, other, hooked
    gc.collect()
    assert [ref() for ref in refs] == [None] * 5


def test_getattr_is_installed_with_the_first_attribute() -> None:
    """A class with `__getattr__` is slower, so `hasattr` and the attributes of the class do not install one."""
    program = (
        "import ferrograd as fg; x = fg.tensor([1.0]); hasattr(x, 'tag'); x.name = 'a'; x.grad = None; "
        "print(hasattr(fg.Tensor, '__getattr__')); x.tag = 1; print(hasattr(fg.Tensor, '__getattr__'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["False", "True"]
