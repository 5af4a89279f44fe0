"""Every method that means something else on a dialect's tensors than on the native ones stands in this list."""

from __future__ import annotations

import ferrograd as fg
import pytest
from ferrograd import paddle, torch

PADDLE = """
argmax argmin assign concat cummax cummin equal_all full_like gather index_add index_fill
index_select matmul median nonzero norm ones_like put_along_axis reshape scatter split stack std sum
take_along_axis topk transpose unbind unstack var zeros_like
"""
TORCH = """cummax cummin equal index_add max median min nonzero norm sort split std t topk transpose unbind var"""


def own(cls: type) -> set[str]:
    return {name for name in vars(cls) if not name.startswith("__")}


def test_methods_of_their_own() -> None:
    assert own(paddle.Tensor) == set(PADDLE.split())
    assert own(torch.Tensor) == set(TORCH.split())


def test_classes() -> None:
    x = paddle.ones([2])
    assert type(x) is type(x + 1) is type(paddle.sin(x)) is paddle.Tensor
    assert type(torch.ones(2) * 2) is torch.Tensor
    assert issubclass(paddle.Tensor, fg.Tensor)
    assert issubclass(torch.Tensor, fg.Tensor)
    assert type(x + torch.ones(2)) is paddle.Tensor


def test_framework() -> None:
    assert paddle.is_tensor(paddle.ones([1]))
    assert not paddle.is_tensor(1)
    assert paddle.in_dynamic_mode()
    paddle.disable_static()
    assert repr(paddle.set_device("cpu")) == repr(paddle.CPUPlace()) == "Place(cpu)"
    assert paddle.get_device() == "cpu"
    with pytest.raises(ValueError, match="gpu"):
        paddle.set_device("gpu:0")
    with pytest.raises(NotImplementedError):
        paddle.enable_static()
