"""Inference mode in the native namespace and in torch."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import ferrograd as fg
import pytest
from ferrograd import torch

from tests.dialects import values

both = pytest.mark.parametrize("m", [fg, torch], ids=["native", "torch"])
SAVED = "Inference tensors cannot be saved for backward"
WRITTEN = "Inplace update to inference tensor outside InferenceMode is not allowed"


def inferred(m: Any, n: int = 3) -> Any:
    with m.inference_mode():
        return m.ones(n)


@both
def test_the_mode(m: Any) -> None:
    w = m.tensor([2.0], requires_grad=True)
    assert not m.is_inference_mode_enabled()
    with m.inference_mode():
        assert m.is_inference_mode_enabled()
        assert not m.is_grad_enabled()
        y = w * 3
        with m.inference_mode(False):
            assert not m.is_inference_mode_enabled()
            assert m.is_grad_enabled()
            assert (w * 3).requires_grad
            assert not (w * 3).is_inference()
        assert m.is_inference_mode_enabled()
    assert m.is_grad_enabled()
    assert not m.is_inference_mode_enabled()
    assert y.is_inference()
    assert not y.requires_grad
    assert not w.is_inference()


@both
def test_decorators(m: Any) -> None:
    def flag() -> Any:
        return m.is_inference_mode_enabled()

    def steps() -> Iterator[Any]:
        yield flag()
        yield flag()

    async def waits() -> Any:
        await asyncio.sleep(0)
        return flag()

    assert m.inference_mode(flag)()
    assert m.inference_mode()(flag)()
    assert not m.inference_mode(False)(flag)()
    for found in m.inference_mode()(steps)():
        assert found
        assert not flag()
    assert asyncio.run(m.inference_mode()(waits)())
    with pytest.raises(KeyError), m.inference_mode():
        raise KeyError
    assert not flag()


def test_the_mode_belongs_to_its_thread() -> None:
    seen = []
    with fg.inference_mode():
        worker = threading.Thread(
            target=lambda: seen.append((fg.is_inference_mode_enabled(), fg.ones(1).is_inference()))
        )
        worker.start()
        worker.join()
    assert seen == [(False, False)]


@both
def test_inference_tensors_cannot_be_saved_for_backward(m: Any) -> None:
    w = m.tensor([1.0, 2.0, 3.0], requires_grad=True)
    c = inferred(m)
    y = w + c
    y.sum().backward()
    assert values(w.grad) == [1, 1, 1]
    reading: Any = (
        lambda: w * c,
        lambda: c * w,
        lambda: m.matmul(w, c),
        lambda: m.where(c > 0, w * c, w),
        lambda: w * c.reshape(3),
        lambda: w * c[None],
        lambda: w * c.detach(),
        lambda: (w * 1).mul_(c) if m is torch else (w * 1).multiply_(c),
    )
    for f in reading:
        with pytest.raises(RuntimeError, match=SAVED):
            f()
    assert values((w * 2).detach()) == [2, 4, 6]
    assert (w * c.clone()).requires_grad
    assert not (c.clone()).is_inference()
    with m.no_grad():
        assert values(w * c) == [1, 2, 3]


@both
def test_inference_tensors_cannot_be_written_to_outside_the_mode(m: Any) -> None:
    c = inferred(m)
    view = c[1:]
    assert view.is_inference()
    writing: Any = (
        lambda: c.add_(1),
        lambda: c.__setitem__(0, 2.0),
        lambda: view.zero_(),
        lambda: c.detach().zero_(),
        lambda: c.copy_(m.zeros(3)),
        lambda: c.__iadd__(1),
    )
    for write in writing:
        with pytest.raises(RuntimeError, match=WRITTEN):
            write()
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        c.requires_grad_()
    with m.inference_mode():
        c.add_(1)
        view.mul_(2) if m is torch else view.multiply_(2)
    assert values(c) == [2, 4, 4]


@both
def test_ordinary_tensors_stay_so(m: Any) -> None:
    x = m.ones(3)
    with m.inference_mode():
        x.add_(1)
        view = x[1:]
        assert not view.is_inference()
    view.zero_()
    assert values(x) == [2, 0, 0]
    assert not x.is_inference()
    large = m.ones(5000)
    large.requires_grad_()
    with pytest.raises(RuntimeError, match=SAVED):
        large * inferred(m, 5000)
