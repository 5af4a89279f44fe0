"""The rows of the table. Each takes a framework and returns the call to time, or raises if the framework lacks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Row = Callable[[Any], Callable[[], Any]]

ROWS: dict[str, Row] = {}
#: Rows that run once in a fresh process, three times. The table also shows their memory.
ALONE: dict[str, Row] = {}


def row(name: str, table: dict[str, Row] = ROWS) -> Callable[[Row], Row]:
    def add(f: Row) -> Row:
        table[name] = f
        return f

    return add


def normal(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(dtype)


@row("100 times x * y, one element, recorded")
def multiply(f: Any) -> Callable[[], Any]:
    x, y = f.leaf(np.ones(1, np.float32)), f.leaf(np.ones(1, np.float32))

    def run() -> None:
        # A loop inside the call, because the call itself takes as long as one multiplication.
        for _ in range(100):
            x * y

    return run


@row("1000 one-element ops, forward + backward")
def thousand(f: Any) -> Callable[[], Any]:
    def chain(x: Any) -> Any:
        y = x
        for _ in range(1000):
            y = y * x
        return f.total(y)

    return f.gradients(chain, np.full(1, 0.999, np.float32))


@row("dx = grad(x * x, create_graph); (dx * dx + x).backward()")
def double(f: Any) -> Callable[[], Any]:
    one = np.ones(1, np.float32)
    if hasattr(f, "leaf"):
        x = f.leaf(one)

        def run() -> None:
            dx = f.grad(x * x, [x], True)[0]
            (dx * dx + x).backward()

        return run

    def outer(x: Any) -> Any:
        dx = f.grad_of(lambda x: f.total(x * x), 1)(x)[0]
        return f.total(dx * dx + x)

    return f.gradients(outer, one)


@row("sin of 1000, forward + backward")
def sine(f: Any) -> Callable[[], Any]:
    return f.gradients(lambda x: f.total(f.sin(x)), np.arange(-5, 5, 0.01, dtype=np.float32))


@row("third derivative of tanh, 1000 f64")
def third(f: Any) -> Callable[[], Any]:
    return f.nth(f.tanh, 3, np.linspace(-3, 3, 1000))


def kernel(
    name: str,
    make: Callable[[Any, Any], Any],
    *shape: int,
    dtype: type = np.float32,
    table: dict[str, Row] = ROWS,
) -> None:
    """A row that is one unrecorded call on one array."""

    def prepare(f: Any) -> Callable[[], Any]:
        x = f.const(normal(*shape, dtype=dtype))
        return lambda: make(f, x)

    table[name] = prepare


kernel("exp of 4 M f32", lambda f, x: f.exp(x), 2048, 2048)
kernel("sin of 4 M f32", lambda f, x: f.sin(x), 2048, 2048)
kernel("tanh of 4 M f32", lambda f, x: f.tanh(x), 2048, 2048)
kernel("x * x, 4 M f32", lambda f, x: x * x, 2048, 2048)
kernel("x + row, 4 M f32", lambda f, x: x + x[0], 2048, 2048)
kernel("sum of 4 M f32", lambda f, x: f.sum(x), 2048, 2048)
kernel("sum of 2048 x 2048 over axis 0", lambda f, x: f.sum(x, 0), 2048, 2048)
kernel("sum of 2048 x 2048 over axis 1", lambda f, x: f.sum(x, 1), 2048, 2048)
kernel("softmax of 2048 x 2048", lambda f, x: f.softmax(x), 2048, 2048)
kernel("x + x.T, 2048 x 2048", lambda f, x: x + f.transpose(x), 2048, 2048)
kernel("matmul 1024 f32", lambda f, x: f.matmul(x, x), 1024, 1024)
kernel("matmul 512 f64", lambda f, x: f.matmul(x, x), 512, 512, dtype=np.float64)
kernel("matmul 64 f32", lambda f, x: f.matmul(x, x), 64, 64)
kernel("64 x (32 x 32 @ 32 x 32)", lambda f, x: f.matmul(x, x), 64, 32, 32)
kernel("fft of 2^20 f32", lambda f, x: f.fft.fft(x), 1 << 20)
kernel("fft of 30030 f64", lambda f, x: f.fft.fft(x), 30_030, dtype=np.float64)
kernel("fft of 65537 f64, a prime", lambda f, x: f.fft.fft(x), 65_537, dtype=np.float64)
kernel("fft of 10 000 x 64 f32", lambda f, x: f.fft.fft(x), 10_000, 64)
kernel("rfft of 1000 x 1000 f64", lambda f, x: f.fft.rfft(x), 1000, 1000, dtype=np.float64)
kernel("fft2 of 1024 x 1024 f32", lambda f, x: f.fft.fft2(x), 1024, 1024)
kernel("fft of 1000 x 100 c64", lambda f, x: f.fft.fft(x), 1000, 100, dtype=np.complex64)


@row("layer_norm of 2048 x 2048, forward + backward")
def normalized(f: Any) -> Callable[[], Any]:
    return f.gradients(lambda x: f.total(f.layer_norm(x) * x), normal(2048, 2048))


@row("conv2d 3 x 3, 64 channels, 56 x 56, batch 8")
def convolved(f: Any) -> Callable[[], Any]:
    x, w = f.const(normal(8, 64, 56, 56)), f.const(normal(64, 64, 3, 3))
    return lambda: f.conv(x, w)


@row("conv2d 3 x 3, 64 channels, 56 x 56, batch 8, forward + backward")
def convolution(f: Any) -> Callable[[], Any]:
    return f.gradients(lambda x, w: f.total(f.conv(x, w)), normal(8, 64, 56, 56), normal(64, 64, 3, 3))


@row("Adam, a step of 4 M parameters in 4 tensors")
def adam(f: Any) -> Callable[[], Any]:
    return f.stepping(*(normal(1024, 1024) for _ in range(4)))


@row("MLP 784-256-10, batch 64, one training step")
def mlp(f: Any) -> Callable[[], Any]:
    x, labels = f.const(normal(64, 784)), f.const(np.arange(64) % 10)
    weights = [normal(784, 256) / 28, np.zeros(256, np.float32), normal(256, 10) / 16, np.zeros(10, np.float32)]

    def loss(w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        return f.cross_entropy(f.matmul(f.relu(f.matmul(x, w1) + b1), w2) + b2, labels)

    gradients, values = f.gradients(loss, *weights), [f.const(w) for w in weights]
    return lambda: [w - 0.1 * g for w, g in zip(values, gradients(), strict=True)]


@row("gradient penalty through a 128-128-1 tanh MLP, batch 64")
def penalty(f: Any) -> Callable[[], Any]:
    x = normal(64, 128)
    x = x if hasattr(f, "leaf") else f.const(x)

    def loss(w1: Any, w2: Any) -> Any:
        g = f.inner(lambda x: f.total(f.matmul(f.tanh(f.matmul(x, w1)), w2)), x)
        return f.total((f.sum(g * g, -1) - 1) ** 2)

    return f.gradients(loss, normal(128, 128) / 11, normal(128, 1) / 11)


def branches(f: Any, n: int) -> Callable[[], Any]:
    def wide(x: Any) -> Any:
        total = f.total(f.tanh(x))
        for i in range(1, 64):
            total = total + f.total(f.tanh(x * (1 + i / 64)) * x)
        return total

    return f.gradients(wide, normal(n))


ROWS["64 branches of 20 000 elements, forward + backward"] = lambda f: branches(f, 20_000)
ROWS["64 branches of 200 000 elements, forward + backward"] = lambda f: branches(f, 200_000)


@row("Jacobian of tanh(W x), 256 x 256")
def jacobian(f: Any) -> Callable[[], Any]:
    w = f.const(normal(256, 256) / 16)
    return f.jacobian(lambda x: f.tanh(f.matmul(w, x)), normal(256))


@row("Jacobian of tanh(W x), 256 x 256, as a transform")
def transformed(f: Any) -> Callable[[], Any]:
    w = f.const(normal(256, 256) / 16)
    return f.jacrev(lambda x: f.tanh(f.matmul(w, x)), normal(256))


@row("Jacobian of tanh(W x), 256 x 256, autograd.functional")
def functional(f: Any) -> Callable[[], Any]:
    w = f.const(normal(256, 256) / 16)
    return f.functional_jacobian(lambda x: f.tanh(f.matmul(w, x)), normal(256))


@row("Hessian of the sum of tanh(W x) ** 2, 256")
def hessian(f: Any) -> Callable[[], Any]:
    w = f.const(normal(256, 256) / 16)
    return f.hessian(lambda x: f.total(f.tanh(f.matmul(w, x)) ** 2), normal(256))


def weights(hidden: int) -> list[np.ndarray]:
    return [
        normal(784, hidden) / 28,
        np.zeros(hidden, np.float32),
        normal(hidden, 10) / 11,
        np.zeros(10, np.float32),
    ]


@row("gradients of 64 samples, MLP 784-128-10")
def samples(f: Any) -> Callable[[], Any]:
    def loss(p: Any, x: Any, label: Any) -> Any:
        h = f.matmul(f.relu(f.matmul(x, p[0]) + p[1]), p[2]) + p[3]
        return f.cross_entropy(h.reshape((1, 10)), label.reshape((1,)))

    return f.per_sample(loss, weights(128), normal(64, 784), np.arange(64) % 10)


@row("Hessian times vector, MLP 784-128-10, batch 64")
def product(f: Any) -> Callable[[], Any]:
    x, labels = f.const(normal(64, 784)), f.const(np.arange(64) % 10)

    def loss(p: Any) -> Any:
        return f.cross_entropy(f.matmul(f.relu(f.matmul(x, p[0]) + p[1]), p[2]) + p[3], labels)

    return f.hvp(loss, weights(128))


@row("vmap of tanh(W v) . u, batch of 256")
def batched(f: Any) -> Callable[[], Any]:
    w = f.const(normal(64, 64) / 8)
    return f.batched(lambda v, u: f.total(f.tanh(f.matmul(w, v)) * u), normal(256, 64), normal(256, 64))


@row("derivatives of orders 1 to 8 of sin(x) tanh(x), 100 f64")
def series(f: Any) -> Callable[[], Any]:
    return f.series(lambda x: f.sin(x) * f.tanh(x), 8, np.linspace(-3, 3, 100))


@row("1 000 000-node chain: forward, backward, drop", ALONE)
def chain(f: Any) -> Callable[[], Any]:
    x = f.leaf(np.ones(1, np.float32))

    def run() -> Any:
        y = x
        for _ in range(1_000_000):
            y = y * 0.999
        return f.grad(f.total(y), [x])

    return run


@row("4 MB leaf used 100 times, forward + backward", ALONE)
def reuse(f: Any) -> Callable[[], Any]:
    x = f.leaf(normal(1 << 20))

    def run() -> Any:
        total = f.total(x * 1.0)
        for i in range(1, 100):
            total = total + f.total(x * (1.0 + i))
        return f.grad(total, [x])

    return run


def hundred(name: str, make: Row) -> None:
    """Repeats a row a hundred times to measure its memory."""

    def prepare(f: Any) -> Callable[[], Any]:
        call = make(f)

        def run() -> None:
            for _ in range(100):
                f.done(call())

        return run

    ALONE[name] = prepare


hundred("100 training steps of the MLP", mlp)
hundred("100 gradient penalties", penalty)
