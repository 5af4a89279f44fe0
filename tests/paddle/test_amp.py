"""Mixed precision under Paddle's names, and Paddle's dtype objects."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from ferrograd import paddle as _paddle

paddle: Any = _paddle

F = paddle.nn.functional


def test_dtypes() -> None:
    x = paddle.ones([2], dtype="bfloat16")
    assert repr(x.dtype) == str(x.dtype) == "paddle.bfloat16"
    assert x.dtype == paddle.bfloat16
    assert x.dtype is paddle.bfloat16
    assert paddle.float32 == np.float32
    assert isinstance(paddle.float16, paddle.dtype)
    assert paddle.cast(x, "float16").dtype == paddle.float16
    assert paddle.finfo(paddle.bfloat16).eps == 2**-7
    assert repr(x).startswith("Tensor(shape=[2], dtype=bfloat16, place=Place(cpu), stop_gradient=True,")


def test_minimize_steps_with_the_given_parameters_alone() -> None:
    a, b = (paddle.to_tensor([1.0], stop_gradient=False) for _ in range(2))
    optimizer, scaler = paddle.optimizer.SGD(0.5, [a, b]), paddle.amp.GradScaler(init_loss_scaling=4.0)
    loss = scaler.scale((a + b).sum())
    loss.backward()
    scaler.minimize(optimizer, loss, parameters=[a])
    assert (a.item(), b.item()) == (0.5, 1.0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_files(dtype: str) -> None:
    x = paddle.randn([3, 2]).astype(dtype)
    file = io.BytesIO()
    paddle.save({"x": x}, file)
    file.seek(0)
    found = paddle.load(file)["x"]
    assert found.dtype == dtype
    assert found.tolist() == x.tolist()


def test_auto_cast() -> None:
    x = paddle.ones([2, 2])
    assert not paddle.amp.is_autocast_enabled()
    with paddle.amp.auto_cast():
        assert (x @ x).dtype == paddle.float16
        assert paddle.matmul(x, x).dtype == paddle.float16
        assert F.linear(x, x).dtype == paddle.float16
        assert F.mse_loss(x @ x, x).dtype == paddle.float32
        assert (x + x).dtype == paddle.float32
        with paddle.amp.auto_cast(enable=False):
            assert (x @ x).dtype == paddle.float32
    with paddle.amp.auto_cast(level="O0"):
        assert (x @ x).dtype == paddle.float32
    with paddle.amp.auto_cast(dtype="bfloat16", level="O2"):
        assert paddle.amp.get_autocast_dtype() == "bfloat16"
        assert (x @ x).dtype == paddle.bfloat16
    wrong: Any
    for wrong in (
        {"custom_black_list": {"softmax", "matmul_v2"}},
        {"custom_white_list": ["gelu"], "custom_black_list": ["gelu"]},
        {"custom_white_list": "gelu"},
        {"level": "O3"},
        {"dtype": "float64"},
    ):
        with pytest.raises(ValueError, match="auto_cast"):
            paddle.amp.auto_cast(**wrong)


def test_lists_of_ops() -> None:
    """An op that is no product computes in float32, whether a list has it or not."""
    x = paddle.full([2, 2], 1 / 3)
    lists = {
        "custom_white_list": {"softmax", "conv2d"},
        "custom_black_list": ["reduce_sum", "flatten_contiguous_range"],
    }
    with paddle.amp.auto_cast(dtype="bfloat16", **lists):
        assert F.softmax(x).dtype == x.sum().dtype == paddle.float32
        assert (x @ x).dtype == paddle.bfloat16
        half = (x @ x).sum()
    assert half.item() == float((x @ x).astype("bfloat16").astype("float32").sum().astype("bfloat16"))


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_program_trains(level: str, dtype: str) -> None:
    paddle.seed(0)
    model: Any = paddle.nn.Sequential(
        paddle.nn.Linear(4, 16), paddle.nn.LayerNorm(16), paddle.nn.GELU(), paddle.nn.Linear(16, 1)
    )
    optimizer = paddle.optimizer.AdamW(0.02, parameters=model.parameters())
    model, optimizer = paddle.amp.decorate(models=model, optimizers=optimizer, level=level, dtype=dtype)
    kinds = {p.dtype.name for p in model.parameters()}
    assert kinds == ({dtype} if level == "O2" else {"float32"}) | ({"float32"} if dtype == "float16" else set())
    scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0)
    data = paddle.randn([64, 4])
    target = (data**2).sum(1, keepdim=True)
    losses = []
    for _ in range(60):
        with paddle.amp.auto_cast(level=level, dtype=dtype):
            output = model(data)
            assert output.dtype == dtype
            loss = F.mse_loss(output, target)
        scaler.scale(loss).backward()
        scaler.minimize(optimizer, loss)
        optimizer.clear_grad()
        losses.append(loss.item())
    assert {p.dtype.name for p in model.parameters()} == kinds
    assert losses[-1] < losses[0] / 3
    state = optimizer.state_dict()
    assert ("master_weights" in state) == (level == "O2")
    other = paddle.optimizer.AdamW(0.02, parameters=model.parameters())
    other.set_state_dict(state)
    again = other.state_dict()
    assert again.keys() == state.keys()


def test_scaler_leaves_out_steps_and_changes_its_factor() -> None:
    w = paddle.to_tensor(1.0, stop_gradient=False)
    optimizer = paddle.optimizer.SGD(1.0, parameters=[w])
    scaler = paddle.amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=1)
    scaler.scale(w * 0.5).backward()
    assert w.grad.item() == 4
    scaler.unscale_(optimizer)
    assert w.grad.item() == 0.5
    with pytest.raises(RuntimeError, match="unscale_"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="step"):
        scaler.step(optimizer)
    scaler.update()
    assert (w.item(), scaler.get_init_loss_scaling()) == (0.5, 16.0)
    optimizer.clear_grad()
    scaler.scale(w * float("inf")).backward()
    scaler.step(optimizer)
    scaler.update()
    assert (w.item(), scaler.get_init_loss_scaling()) == (0.5, 8.0)
    other = paddle.amp.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.get_init_loss_scaling() == 8.0
    off = paddle.amp.GradScaler(enable=False)
    assert off.scale(w) is w
    assert off.state_dict() == {}


def test_the_older_scaler_has_its_own_defaults() -> None:
    older, newer = paddle.amp.AmpScaler(), paddle.amp.GradScaler()
    assert (older.get_init_loss_scaling(), older.get_incr_every_n_steps()) == (32768.0, 1000)
    assert (newer.get_init_loss_scaling(), newer.get_incr_every_n_steps()) == (65536.0, 2000)
    assert isinstance(newer, paddle.amp.AmpScaler)
