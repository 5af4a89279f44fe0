"""Copies, pickles and weak references."""

import copy
import gc
import pickle
import subprocess
import sys
import weakref
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import _core

PADDLE, TORCH = 1, 2


def same(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    assert a.requires_grad == b.requires_grad
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy], ids=["copy", "deepcopy"])
def test_a_copy_is_a_separate_leaf(make: Any) -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    x.name = "w"
    for t in (x, x * 3):
        copied = make(t)
        same(copied, t)
        (copied * 2).sum().backward()
        assert copied.grad.tolist() == [2.0, 2.0]
        assert x.grad is None
    assert make(x).name == "w"


def test_deepcopy_keeps_the_memo() -> None:
    x = fg.tensor([1.0])
    both: Any = [x, x, (x,)]
    a, b, (c,) = copy.deepcopy(both)
    assert a is b is c
    assert a is not x


def test_deepcopy_copies_the_gradient() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    copied = copy.deepcopy(x)
    assert copied.grad.tolist() == [2.0, 4.0]
    assert copied.grad is not x.grad


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dialect", [0, PADDLE, TORCH])
def test_pickle(protocol: int, dialect: int) -> None:
    for a in (np.arange(6.0).reshape(2, 3), np.float32(2), np.zeros((0, 3), np.int8), np.array([True, False])):
        t = _core.make(a, None, np.asarray(a).dtype.kind == "f", dialect)
        t.name = "n"
        back = pickle.loads(pickle.dumps(t, protocol))
        same(back, t)
        assert back.name == "n"
        assert repr(back) == repr(t)
    y = fg.tensor([[1.0, 2.0]], requires_grad=True).T * 2
    same(pickle.loads(pickle.dumps(y, protocol)), y)


def test_pickle_out_of_band() -> None:
    t = fg.tensor(np.arange(1000.0))
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(t, 5, buffer_callback=buffers.append)
    assert len(data) < 500
    assert np.shares_memory(np.frombuffer(buffers[0].raw()), np.asarray(t))
    same(pickle.loads(data, buffers=buffers), t)


def test_pickle_into_another_process() -> None:
    t = fg.tensor([[1.0, 2.0]], requires_grad=True)
    program = "import pickle, sys; t = pickle.load(sys.stdin.buffer); pickle.dump((repr(t), t * 2), sys.stdout.buffer)"
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(t), capture_output=True, check=True)
    text, doubled = pickle.loads(done.stdout)
    assert text == repr(t)
    assert doubled.tolist() == [[2.0, 4.0]]
    assert doubled.requires_grad


def test_a_pickle_does_not_keep_its_source_alive() -> None:
    source = bytearray(np.arange(4.0).tobytes())
    t = fg.tensor(np.arange(4.0))
    parts: Any = t.__reduce_ex__(5)
    rebuild, (dtype, shape, _, *rest) = parts
    back = rebuild(dtype, shape, source, *rest)
    source[:] = bytes(len(source))
    assert back.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_weak_references() -> None:
    t = fg.tensor([1.0])
    ref = weakref.ref(t)
    assert ref() is t
    table = weakref.WeakKeyDictionary({t: 1})
    del t
    gc.collect()
    assert ref() is None
    assert not table


def test_deepcopy_copies_a_gradient_that_was_set() -> None:
    for dialect in (PADDLE, TORCH):
        x = _core.make([1.0, 1.0], "float32", False, dialect)
        x.grad = x * 3
        copied = copy.deepcopy(x)
        assert copied.grad.tolist() == [3.0, 3.0]
        assert copied.grad is not x.grad
