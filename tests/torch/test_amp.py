"""Mixed precision: what ``autocast`` casts, and programs that train with it."""

from __future__ import annotations

import os
import subprocess
import sys
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


#: Rows and columns of products that gain from factors in bfloat16 where the processor multiplies them, and odd lengths.
LARGE = [(64, 64, 64), (65, 33, 77), (33, 1025, 130), (48, 16, 8 * 13)]


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("sizes", LARGE, ids=str)
def test_products_are_sums_in_float32(sizes: tuple[int, int, int], turned: tuple[bool, bool]) -> None:
    torch.manual_seed(3)
    m, k, n = sizes
    a = torch.randn(k, m).T if turned[0] else torch.randn(m, k)
    b = torch.randn(n, k).T if turned[1] else torch.randn(k, n)
    with torch.autocast("cpu"):
        product = a @ b
    rounded = a.bfloat16().double() @ b.bfloat16().double()
    # Factors are rounded, or not, by the processor; the result is rounded to eight bits.
    assert (product.double() - rounded).abs().max() < 0.03 * k**0.5
    whole = torch.ones(m, k), torch.full((k, n), 2.0)
    with torch.autocast("cpu"):
        assert (whole[0] @ whole[1] == torch.tensor(2.0 * k).bfloat16()).all()


def test_products_with_special_numbers() -> None:
    a, b = torch.ones(64, 65), torch.ones(65, 64)
    a[3, 64], a[5, 1], a[7, 0] = float("nan"), float("inf"), 3e38
    with torch.autocast("cpu"):
        product = (a @ b).float()
    assert product[3].isnan().all()
    assert (product[5] == float("inf")).all()
    assert product[7].isfinite().all()
    assert (product[[0, 63]] == 65).all()


def test_batches_and_threads_give_the_same_bits() -> None:
    torch.manual_seed(4)
    a, b = torch.randn(3, 64, 80), torch.randn(3, 80, 72)
    with torch.autocast("cpu"):
        together = torch.bmm(a, b)
        assert torch.equal(together, torch.stack([x @ y for x, y in zip(a, b, strict=True)]))
        assert torch.equal(a @ b[0], torch.stack([x @ b[0] for x in a]))
        assert torch.equal(torch.func.vmap(torch.mm)(a, b), together)
        threads = torch.get_num_threads()
        try:
            torch.set_num_threads(1)
            assert torch.equal(torch.bmm(a, b), together)
        finally:
            torch.set_num_threads(threads)


def test_gradients_of_products() -> None:
    torch.manual_seed(5)
    x, w = torch.randn(64, 96, requires_grad=True), torch.randn(80, 96, requires_grad=True)
    g = torch.randn(64, 80).bfloat16()
    with torch.autocast("cpu"):
        y = F.linear(x, w)
    y.backward(g)
    assert x.grad.dtype is w.grad.dtype is torch.float32
    torch.testing.assert_close(x.grad, g.float() @ w.detach(), atol=0.1, rtol=0.02)
    torch.testing.assert_close(w.grad, g.float().T @ x.detach(), atol=0.1, rtol=0.02)

    def f(x: Any) -> Any:
        with torch.autocast("cpu"):
            return F.linear(x, w.detach()).float()

    value, tangent = torch.func.jvp(f, (x.detach(),), (torch.ones_like(x),))
    assert torch.equal(value, y.detach().float())
    assert tangent.shape == value.shape
    assert torch.equal(torch.compile(f)(x.detach()), value)


#: Groups, channels, filters, the window, strides, padding and dilation of convolutions.
CONVOLUTIONS = [
    (1, 3, 64, 3, 1, 1, 1),
    (1, 64, 70, 3, 1, 1, 1),
    (1, 7, 64, 1, 1, 0, 1),
    (2, 10, 64, 3, 2, 1, 1),
    (2, 6, 64, 5, 1, 2, 2),
    (1, 5, 66, 5, 3, 1, 1),
]


@pytest.mark.parametrize("sizes", CONVOLUTIONS, ids=str)
def test_convolutions_are_sums_in_float32(sizes: tuple[int, ...]) -> None:
    torch.manual_seed(7)
    groups, channels, filters, window, stride, padding, dilation = sizes
    x = torch.randn(3, channels, 19, 21, requires_grad=True)
    w = torch.randn(filters, channels // groups, window, window, requires_grad=True)

    def run(x: Any, w: Any) -> Any:
        return F.conv2d(x, w, None, stride, padding, dilation, groups)

    def close(found: Any, *wanted: Any) -> bool:
        """Whether it is near what comes of rounded numbers, or of those that are not."""
        return any((found.float() - other).abs().max() < 0.006 * other.abs().max() for other in wanted)

    with torch.autocast("cpu"):
        y = run(x, w)
        transposed = F.conv_transpose2d(y, w, None, stride, padding, 0, groups, dilation)
    g = torch.randn(*y.shape).bfloat16()
    grads = torch.autograd.grad(y, (x, w), g)
    rounded, whole = (
        [t.detach().to(d).float().requires_grad_() for t in (x, w)] for d in (torch.bfloat16, torch.float32)
    )
    outs = [run(*both) for both in (rounded, whole)]
    assert close(y.detach(), *(out.detach() for out in outs))
    wanted = [torch.autograd.grad(out, both, g.float()) for out, both in zip(outs, (rounded, whole), strict=True)]
    for i, grad in enumerate(grads):
        assert grad.dtype is torch.float32
        assert close(grad, *(both[i] for both in wanted))
    back = [
        F.conv_transpose2d(y.detach().float(), v.detach(), None, stride, padding, 0, groups, dilation)
        for v in (rounded[1], whole[1])
    ]
    assert close(transposed.detach(), *back)


def test_other_functions_do_not_round() -> None:
    torch.manual_seed(6)
    a = torch.randn(64, 64) + 64 * torch.eye(64)
    inverse = torch.linalg.inv(a)
    image, kernel = torch.randn(2, 4, 16, 16), torch.randn(4, 1, 3, 3)
    convolved = F.conv2d(image, kernel, groups=4)
    with torch.autocast("cpu"):
        assert torch.equal(torch.linalg.inv(a), inverse)
        assert torch.equal(F.conv2d(image, kernel, groups=4), convolved.bfloat16())
        # A small product gains nothing from smaller factors.
        assert torch.equal(a[:2, :2] @ a[:2, :2], (a[:2, :2].double() @ a[:2, :2].double()).float().bfloat16())


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


#: What a process of a processor without instructions for bfloat16 does.
WITHOUT = """
import warnings
from ferrograd import torch
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    x = torch.randn(64, 64)
    for dtype in (torch.float16, torch.bfloat16, torch.bfloat16):
        with torch.autocast("cpu", dtype):
            assert torch.equal(x @ x, (x @ x.T.T).to(dtype))
            product = x @ x
        assert product.dtype is dtype
        assert torch.equal(product, (x @ x).to(dtype))
    assert torch.autocast("cpu", enabled=False)
(warning,) = told
assert warning.category is UserWarning
print(warning.message)
"""


def test_a_processor_that_gains_nothing_says_so_once() -> None:
    environment = {**os.environ, "FERROGRAD_CPU": "baseline"}
    done = subprocess.run([sys.executable, "-c", WITHOUT], env=environment, check=True, capture_output=True, text=True)
    assert "gains nothing" in done.stdout
    assert "enabled=False" in done.stdout


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
