"""Mixed precision: what ``autocast`` casts, and programs that train with it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from ferrograd import torch as _torch

torch: Any = _torch

F = torch.nn.functional

x, w = torch.ones(2, 2), torch.ones(2, 2)
image, kernel = torch.ones(1, 1, 4, 4), torch.ones(1, 1, 2, 2)

IN_HALF = {
    "@": lambda: x @ w,
    "mm": lambda: torch.mm(x, w),
    "matmul": lambda: x.matmul(w),
    "bmm": lambda: torch.bmm(x[None], w[None]),
    "addmm": lambda: torch.addmm(x, x, w),
    "baddbmm": lambda: torch.baddbmm(x[None], x[None], w[None]),
    "addbmm": lambda: torch.addbmm(x, x[None], w[None]),
    "einsum": lambda: torch.einsum("ij,jk->ik", x, w),
    "tensordot": lambda: torch.tensordot(x, w, 1),
    "linear": lambda: F.linear(x, w, x[0]),
    "conv2d": lambda: F.conv2d(image, kernel),
    "conv_transpose2d": lambda: F.conv_transpose2d(image, kernel),
    "prelu": lambda: F.prelu(x, x[0, :1]),
    "attention": lambda: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "Linear": lambda: torch.nn.Linear(2, 2)(x),
}
half = torch.full((2, 2), 0.5, dtype=torch.bfloat16)
IN_FLOAT32 = {
    "mse_loss": lambda: F.mse_loss(half, half),
    "l1_loss": lambda: F.l1_loss(half, half),
    "cross_entropy": lambda: F.cross_entropy(half, torch.tensor([0, 1])),
    "nll_loss": lambda: F.nll_loss(half, torch.tensor([0, 1])),
    "bce": lambda: F.binary_cross_entropy(half, half),
    "soft_margin_loss": lambda: F.soft_margin_loss(half, half),
    "prod": lambda: half.prod(),
    "trace": lambda: torch.trace(half),
    "cdist": lambda: torch.cdist(half, half),
    "inv": lambda: torch.linalg.inv(half + torch.eye(2, dtype=torch.bfloat16)),
}
AS_THEY_ARE = {
    "add": lambda: x + w,
    "mul": lambda: x * w,
    "exp": lambda: torch.exp(x),
    "sum": lambda: x.sum(),
    "softmax": lambda: F.softmax(x, 1),
    "layer_norm": lambda: F.layer_norm(x, (2,)),
    "cat": lambda: torch.cat([x, half]),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", IN_HALF)
def test_products_are_in_half(name: str, dtype: Any) -> None:
    with torch.autocast("cpu", dtype):
        assert IN_HALF[name]().dtype is dtype
        with torch.autocast("cpu", enabled=False):
            assert IN_HALF[name]().dtype is torch.float32
        assert (x.double() @ w.double()).dtype is torch.float64
    assert IN_HALF[name]().dtype is torch.float32


@pytest.mark.parametrize("name", IN_FLOAT32)
def test_losses_are_in_float32(name: str) -> None:
    with torch.autocast("cpu"):
        assert IN_FLOAT32[name]().dtype is torch.float32
    assert IN_FLOAT32[name]().dtype is torch.bfloat16


@pytest.mark.parametrize("name", AS_THEY_ARE)
def test_others_stay(name: str) -> None:
    with torch.autocast("cpu"):
        assert AS_THEY_ARE[name]().dtype is torch.float32


def test_states() -> None:
    assert not torch.is_autocast_enabled("cpu")
    assert torch.get_autocast_dtype("cpu") is torch.get_autocast_cpu_dtype() is torch.bfloat16
    assert torch.get_autocast_gpu_dtype() is torch.float16
    assert not torch.is_autocast_cpu_enabled()
    with torch.autocast("cpu", torch.float16):
        assert torch.is_autocast_enabled("cpu")
        assert torch.get_autocast_dtype("cpu") is torch.float16
        seen: list[bool] = []
        thread = threading.Thread(target=lambda: seen.append(torch.is_autocast_enabled("cpu")))
        thread.start()
        thread.join()
        assert seen == [False]
        with pytest.raises(ZeroDivisionError), torch.cpu.amp.autocast():
            raise ZeroDivisionError
        assert torch.get_autocast_dtype("cpu") is torch.float16
    assert not torch.is_autocast_enabled("cpu")

    @torch.autocast("cpu")
    def f(x: Any) -> Any:
        return x @ x

    assert f(x).dtype is torch.bfloat16
    with pytest.warns(UserWarning, match="not supported"):
        context = torch.autocast("cpu", torch.float64)
    with context:
        assert (x @ x).dtype is torch.float32
    with pytest.raises(RuntimeError, match="device_type"):
        torch.autocast("toaster")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_program_trains(dtype: Any) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.GELU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    data = torch.randn(64, 4)
    target = (data**2).sum(1, keepdim=True)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype):
            output = model(data)
            assert output.dtype is dtype
            loss = F.mse_loss(output, target)
            assert loss.dtype is torch.float32
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert {p.dtype for p in model.parameters()} == {p.grad.dtype for p in model.parameters()} == {torch.float32}
    assert losses[-1] < losses[0] / 3


def test_functions_choose_their_mode() -> None:
    modes = []

    class Product(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            modes.append((torch.is_autocast_enabled("cpu"), a.dtype))
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            modes.append((torch.is_autocast_enabled("cpu"), g.dtype))
            return g @ b.T, a.T @ g

    a = torch.ones(2, 2, dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu"):
        y = Product.apply(a, w)
    assert y.dtype is torch.float32
    y.sum().backward()
    assert a.grad.dtype is torch.bfloat16
    assert modes == [(False, torch.float32), (False, torch.float32)]
