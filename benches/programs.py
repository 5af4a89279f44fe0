"""Programs that are compiled whole: the rows of ``benches/compiled.py``, written as those of ``benches/rows.py``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rows import ROWS, Row, normal, row

#: Rows of the other table that are compiled programs too.
SHARED = (
    "1000 one-element",
    "sin of 1000",
    "third derivative",
    "gradient penalty",
    "64 branches",
    "Hessian",
    "transform",
    "64 samples",
    "vmap",
    "orders 1 to 8",
)
PROGRAMS: dict[str, Row] = {name: make for name, make in ROWS.items() if any(word in name for word in SHARED)}


@row("x * 2 + 1, one element", PROGRAMS)
def call(f: Any) -> Any:
    run, x = f.compiled(lambda x: x * 2 + 1), f.const(np.ones(1, np.float32))
    return lambda: run(x)


@row("sum of tanh(sin x * exp x + x), 1 M f32, gradient", PROGRAMS)
def formula(f: Any) -> Any:
    x = np.random.default_rng(0).random(1 << 20, dtype=np.float32)
    return f.gradients(lambda x: f.total(f.tanh(f.sin(x) * f.exp(x) + x)), x)


@row("softmax of 2048 x 2048, weighted, gradient", PROGRAMS)
def softmax(f: Any) -> Any:
    w = f.const(normal(2048, 2048))
    return f.gradients(lambda x: f.total(f.softmax(x) * w), normal(2048, 2048))


@row("MLP 784-256-10, batch 64, a step with its update", PROGRAMS)
def step(f: Any) -> Any:
    x, labels = f.const(normal(64, 784)), f.const(np.arange(64) % 10)
    weights = [normal(784, 256) / 28, np.zeros(256, np.float32), normal(256, 10) / 16, np.zeros(10, np.float32)]

    def loss(w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        return f.cross_entropy(f.matmul(f.relu(f.matmul(x, w1) + b1), w2) + b2, labels)

    gradient = f.grad_of(loss, 4)
    run = f.compiled(lambda *w: [a - 0.1 * g for a, g in zip(w, gradient(*w), strict=True)])
    values = [f.const(w) for w in weights]
    return lambda: run(*values)


def with_adam(f: Any, loss: Any, arrays: list[np.ndarray]) -> Any:
    """A step of Adam on all parameters of a loss."""
    gradient, n = f.grad_of(loss, len(arrays)), len(arrays)

    def update(*state: Any) -> Any:
        w, m, v = list(state[:n]), list(state[n : 2 * n]), list(state[2 * n :])
        g = gradient(*w)
        m = [0.9 * a + 0.1 * b for a, b in zip(m, g, strict=True)]
        v = [0.999 * a + 0.001 * b * b for a, b in zip(v, g, strict=True)]
        return [a - 0.001 * b / (f.sqrt(c) + 1e-8) for a, b, c in zip(w, m, v, strict=True)], m, v

    run = f.compiled(update)
    zeros = [np.zeros_like(a) for a in arrays]
    state = [f.const(a) for a in [*arrays, *zeros, *zeros]]
    return lambda: run(*state)


@row("residual of a wave equation, 3 x 32 tanh network, 256 points, a step of Adam", PROGRAMS)
def residual(f: Any) -> Any:
    t, x = f.const(normal(256, 1)), f.const(normal(256, 1) + 0.5)

    def loss(wt: Any, wx: Any, b1: Any, w2: Any, b2: Any, w3: Any) -> Any:
        def u(t: Any, x: Any) -> Any:
            return f.total(f.matmul(f.tanh(f.matmul(f.tanh(t * wt + x * wx + b1), w2) + b2), w3))

        def second(i: int) -> Any:
            first = f.grad_of(u, 2)
            return f.grad_of(lambda *a: f.total(first(*a)[i]), 2)(t, x)[i]

        return f.total((second(0) - second(1)) ** 2)

    shapes = [(1, 32), (1, 32), (1, 32), (32, 32), (1, 32), (32, 1)]
    return with_adam(f, loss, [normal(*s) / math.sqrt(s[0]) for s in shapes])


@row("Lorenz system, 100 steps of Runge-Kutta, numbers one by one, gradient", PROGRAMS)
def lorenz(f: Any) -> Any:
    def slope(x: Any, y: Any, z: Any) -> Any:
        return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8 / 3 * z

    def end(x: Any, y: Any, z: Any) -> Any:
        s, h = (x, y, z), 0.01
        for _ in range(100):
            a = slope(*s)
            b = slope(*(u + 0.5 * h * k for u, k in zip(s, a, strict=True)))
            c = slope(*(u + 0.5 * h * k for u, k in zip(s, b, strict=True)))
            d = slope(*(u + h * k for u, k in zip(s, c, strict=True)))
            s = tuple(u + h / 6 * (p + 2 * q + 2 * r + t) for u, p, q, r, t in zip(s, a, b, c, d, strict=True))
        return f.total(s[0] * s[1] + s[2])

    return f.gradients(end, *(np.array(v) for v in (1.0, 2.0, 3.0)))


@row("Kalman filter of 2 numbers, 50 steps, log likelihood, gradient", PROGRAMS)
def kalman(f: Any) -> Any:
    move, see, eye = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0]]), np.eye(2)
    move, back, see, seen, eye = (f.const(a) for a in (move, move.T.copy(), see, see.T.copy(), eye))
    measured = [f.const(v.reshape(1, 1)) for v in normal(50, dtype=np.float64)]
    start = f.const(np.zeros((2, 1)))

    def likelihood(noise: Any) -> Any:
        x, p, found = start, eye, 0.0
        for z in measured:
            x, p = f.matmul(move, x), f.matmul(f.matmul(move, p), back) + f.exp(noise) * eye
            variance, surprise = f.matmul(f.matmul(see, p), seen) + 0.1, z - f.matmul(see, x)
            gain = f.matmul(p, seen) / variance
            x, p = x + gain * surprise, p - f.matmul(gain, f.matmul(see, p))
            found = found + f.total(surprise * surprise / variance + f.log(variance))
        return found

    return f.gradients(likelihood, np.array(0.0))


@row("pendulums, 1000 at a time, 50 leapfrog steps, gradient", PROGRAMS)
def leapfrog(f: Any) -> Any:
    def end(q: Any, p: Any) -> Any:
        for _ in range(50):
            p = p - 0.05 * f.sin(q)
            q = q + 0.1 * p
            p = p - 0.05 * f.sin(q)
        return f.total(p * p - f.cos(q))

    return f.gradients(end, normal(1000), normal(1000) / 2)


@row("recurrent network, 32 steps, 64 units, batch 16, gradient", PROGRAMS)
def recurrence(f: Any) -> Any:
    xs = [f.const(normal(16, 32)) for _ in range(32)]

    start = f.const(np.zeros((16, 64), np.float32))

    def loss(w: Any, u: Any, b: Any) -> Any:
        h = start
        for x in xs:
            h = f.tanh(f.matmul(x, w) + f.matmul(h, u) + b)
        return f.total(h * h)

    return f.gradients(loss, normal(32, 64) / 6, normal(64, 64) / 8, np.zeros(64, np.float32))


@row("LSTM, 16 steps, 64 units, batch 16, gradient", PROGRAMS)
def lstm(f: Any) -> Any:
    xs = [f.const(normal(16, 32)) for _ in range(16)]

    start = f.const(np.zeros((16, 64), np.float32))

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + f.exp(-x))

    def loss(w: Any, u: Any, b: Any) -> Any:
        h = c = start
        for x in xs:
            gates = f.matmul(x, w) + f.matmul(h, u) + b
            i, o, g, keep = (gates[:, 64 * k : 64 * (k + 1)] for k in range(4))
            c = sigmoid(keep) * c + sigmoid(i) * f.tanh(g)
            h = sigmoid(o) * f.tanh(c)
        return f.total(h * h)

    return f.gradients(loss, normal(32, 256) / 6, normal(64, 256) / 8, np.zeros(256, np.float32))


@row("attention, 128 places, 4 heads of 32, gradient", PROGRAMS)
def attention(f: Any) -> Any:
    x = f.const(normal(128, 128))

    def loss(wq: Any, wk: Any, wv: Any) -> Any:
        total = 0.0
        for i in range(4):
            part = slice(32 * i, 32 * (i + 1))
            q, k, v = (f.matmul(x, w[:, part]) for w in (wq, wk, wv))
            total = total + f.total(f.matmul(f.softmax(f.matmul(q, f.transpose(k)) / math.sqrt(32)), v) ** 2)
        return total

    return f.gradients(loss, *(normal(128, 128) / 11 for _ in range(3)))


@row("convolutions, 2 of 3 x 3 with 16 channels, 28 x 28, batch 8, a step of Adam", PROGRAMS)
def convolutions(f: Any) -> Any:
    x = f.const(normal(8, 1, 28, 28))

    def loss(w1: Any, w2: Any) -> Any:
        y = f.conv(f.relu(f.conv(x, w1)), w2)
        return f.total(f.relu(y) ** 2)

    return with_adam(f, loss, [normal(16, 1, 3, 3) / 3, normal(16, 16, 3, 3) / 12])


@row("energy of 128 charges in space, pair by pair, gradient", PROGRAMS)
def charges(f: Any) -> Any:
    near = f.const(np.eye(128) + 0.01)

    def energy(x: Any, y: Any, z: Any) -> Any:
        square = near
        for c in (x, y, z):
            square = square + (c.reshape((128, 1)) - c.reshape((1, 128))) ** 2
        return f.total(1 / f.sqrt(square))

    return f.gradients(energy, *(np.random.default_rng(i).normal(size=128) for i in range(3)))


@row("Gaussian process, 64 points, log likelihood by Cholesky, gradient", PROGRAMS)
def process(f: Any) -> Any:
    x = np.linspace(0, 5, 64)
    square, y = f.const((x[:, None] - x) ** 2), f.const(np.sin(x)[:, None])
    eye = f.const(np.eye(64))

    def likelihood(scale: Any, noise: Any) -> Any:
        lower = f.linalg.cholesky(f.exp(-square * scale) + eye * noise)
        solved = f.linalg.solve(lower, y)
        return f.total(solved * solved) + 2 * f.total(f.log(f.diagonal(lower)))

    return f.gradients(likelihood, np.array(0.7), np.array(0.1))


@row("Newton's direction for logistic regression, 200 x 8", PROGRAMS)
def newton(f: Any) -> Any:
    x, y = f.const(normal(200, 8, dtype=np.float64)), f.const(np.arange(200) % 2.0)

    def loss(w: Any) -> Any:
        z = f.matmul(x, w)
        return f.total(f.log(1 + f.exp(z)) - y * z) + f.total(w * w)

    def direction(w: Any) -> Any:
        gradient = f.grad_of(loss, 1)
        rows = [f.grad_of(lambda w, i=i: gradient(w)[0][i], 1)(w)[0] for i in range(8)]
        return f.linalg.solve(f.stack(rows), gradient(w)[0])

    run, w = f.compiled(direction), f.const(np.zeros(8))
    return lambda: run(w)


@row("Black-Scholes prices of 100 000 options, gradient", PROGRAMS)
def options(f: Any) -> Any:
    rng = np.random.default_rng(0)

    def normal_below(x: Any) -> Any:
        return 1 / (1 + f.exp(-1.702 * x))

    def prices(s: Any, k: Any, t: Any, v: Any) -> Any:
        root = v * f.sqrt(t)
        d = (f.log(s / k) + (0.02 + v * v / 2) * t) / root
        return f.total(s * normal_below(d) - k * f.exp(-0.02 * t) * normal_below(d - root))

    bounds = [(80.0, 120.0), (80.0, 120.0), (0.1, 2.0), (0.1, 0.5)]
    arrays = [rng.uniform(low, high, 100_000) for low, high in bounds]
    return f.gradients(prices, *arrays)


@row("orbit of a planet, a scan of 500 steps, gradient", PROGRAMS)
def orbit(f: Any) -> Any:
    def step(state: Any, _: Any) -> Any:
        q, v = state
        square = (q * q).sum()
        v = v - 0.01 * q / (square * f.sqrt(square))
        return (q + 0.01 * v, v), None

    def end(q: Any, v: Any) -> Any:
        (q, v), _ = f.scan(step, (q, v), 500)
        return f.total(q * q)

    return f.gradients(end, np.array([1.0, 0.0]), np.array([0.0, 1.0]))


@row("arm of 8 joints, rotations of 3 x 3, gradient", PROGRAMS)
def arm(f: Any) -> Any:
    eye, along, goal = f.const(np.eye(3)), f.const(np.eye(3)[:, :1]), f.const(np.array([[1.0], [2.0], [0.0]]))

    def distance(angles: Any) -> Any:
        turn, at = eye, goal * 0
        for i in range(8):
            c, s = f.cos(angles[i]), f.sin(angles[i])
            rows = [[c, -s, c * 0], [s, c, c * 0], [c * 0, c * 0, c * 0 + 1]]
            turn = f.matmul(turn, f.stack([f.stack(row) for row in rows]))
            at = at + f.matmul(turn, along)
        return f.total((at - goal) ** 2)

    return f.gradients(distance, normal(8, dtype=np.float64))


@row("20 bodies in space, 10 steps, gradient", PROGRAMS)
def bodies(f: Any) -> Any:
    mass = f.const(np.abs(normal(20, dtype=np.float64)) + 1)

    def end(x: Any, v: Any) -> Any:
        for _ in range(10):
            d = x.reshape((1, 20, 3)) - x.reshape((20, 1, 3))
            square = (d * d).sum(2) + 0.01
            pull = mass / (square * f.sqrt(square))
            v = v + 0.01 * (d * pull.reshape((20, 20, 1))).sum(1)
            x = x + 0.01 * v
        return f.total(x * x)

    return f.gradients(end, normal(20, 3, dtype=np.float64), normal(3, 20, dtype=np.float64).T.copy())


@row("transport by Sinkhorn's iterations, 50 x 50, 10 steps, gradient", PROGRAMS)
def transport(f: Any) -> Any:
    def cost(c: Any) -> Any:
        k = -10 * c
        u, v = k.sum(1) * 0, k.sum(0) * 0
        for _ in range(10):
            u = -f.logsumexp(k + v.reshape((1, 50)), 1)
            v = -f.logsumexp(k + u.reshape((50, 1)), 0)
        return f.total(f.exp(k + u.reshape((50, 1)) + v.reshape((1, 50))) * c)

    return f.gradients(cost, np.abs(normal(50, 50, dtype=np.float64)))


@row("mean field of 40 spins, 20 steps, gradient", PROGRAMS)
def mean_field(f: Any) -> Any:
    def total(pull: Any, field: Any) -> Any:
        x = field * 0
        for _ in range(20):
            x = 0.5 * x + 0.5 * f.tanh(f.matmul(pull, x) + field)
        return f.total(x * x)

    couplings = normal(40, 40, dtype=np.float64)
    return f.gradients(total, (couplings + couplings.T) / 20, normal(40, 1, dtype=np.float64))


@row("planar flow of 8 layers, 256 points, gradient", PROGRAMS)
def planar_flow(f: Any) -> Any:
    points = f.const(normal(256, 2, dtype=np.float64))

    def loss(u: Any, w: Any, b: Any) -> Any:
        z, log_det = points, 0.0
        for k in range(8):
            a = f.tanh((z * w[k]).sum(1) + b[k])
            z = z + u[k] * a.reshape((256, 1))
            log_det = log_det + f.log(1 + (1 - a * a) * f.total(w[k] * u[k]) ** 2)
        return f.total((z * z).sum(1) / 2 - log_det)

    return f.gradients(loss, *(normal(*shape, dtype=np.float64) for shape in ((8, 2), (8, 2), (8,))))
