"""Derivatives at numbers of all magnitudes against mpmath, and norms of vectors whose squares are out of range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd import func

from tests.ops import accuracy

inf = np.inf

#: Functions of which `make accuracy` finds something off, near 0 or far out.
KNOWN = {
    *("airy_ai", "bessel_y1", "betaln of 2", "binet", "gammainc of 2", "gammaincc of 2", "log_ndtr", "tanhshrink"),
    *("log_softmax of (x, 0)", "logaddexp of 0", "logaddexp2 of 0", "logsumexp of (x, 0)", "norm of (x, 1)"),
    "softmax of (x, -x)",
}
#: Functions that mpmath takes seconds for. `make accuracy` compares them, and some of their numbers are below.
SLOW = {name for name in accuracy.FORMULAS if "modified_bessel" in name}


@pytest.mark.parametrize("name", [name for name in accuracy.FORMULAS if name not in KNOWN | SLOW])
def test_all_magnitudes(name: str) -> None:
    found = [e for dtype in (np.float32, np.float64) for e in accuracy.errors(name, dtype, few=True)]
    assert accuracy.table(e for e in found if e.times > 2 * accuracy.ALLOWED) == []


def times(f: Callable[[Any], Any], n: int) -> Callable[[Any], Any]:
    """The n-th derivative by reverse mode."""
    return times(func.grad(f), n - 1) if n else f


def forward(f: Callable[[Any], Any], n: int) -> Callable[[Any], Any]:
    """The n-th derivative by forward mode."""
    return forward(lambda x: func.jvp(f, (x,), (fg.ones_like(x),))[1], n - 1) if n else f


#: Functions, and numbers at which a formula of theirs has overflowed, underflowed or cancelled.
NAMED: dict[str, list[float]] = {
    "log_ndtr": [-1e6, -1e5, -1e3, -30, 10, 15, 40],
    "erfcx": [30, 200, 1e3, 1e6],
    "i0e": [1e3, 1e6, -1e4],
    "i1e": [1e3, 1e6, -1e4],
    "scaled_modified_bessel_k0": [1e3, 1e6],
    "scaled_modified_bessel_k1": [1e3, 1e6],
    "hypot of 1": [1e-6, 1e3, 1e6],
    "sinc": [1000, 1000.25, 1e-4],
    "gelu by tanh": [1e10, -1e10, -4],
    "gelu": [1e20, -1e20, -4],
    "exp2": [1024 - 2**-10, -20],
    "asin": [1e-20, 1e-12],
    "acos": [1e-20, 1e-12],
    "atanh": [1e-20, 1e-12],
    "digamma": [-1e-10, -2 + 2**-20, -9 - 2**-18],
    "ndtri": [1e-30, 1e-5, 0.3],
    "cbrt": [1e-30, 1e10],
    "log2": [1e-30, 1e30],
}
ROUTES: dict[str, Callable[[Callable[[Any], Any], int], Callable[[Any], Any]]] = {
    "reverse": times,
    "compiled": lambda f, n: fg.compile(times(f, n)),
    "vmap": lambda f, n: lambda x: func.vmap(times(f, n))(fg.stack([x, x]))[1],
    "forward": forward,
}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMED)
def test_named_numbers(name: str, dtype: Any, route: str) -> None:
    f = accuracy.FORMULAS[name].call or getattr(fg, name)
    for number in NAMED[name]:
        x = dtype(number)
        want = accuracy.derivatives(name, float(x))
        for n in range(1, 5):
            got = ROUTES[route](f, n)(fg.tensor(x, dtype=dtype)).item()
            condition = abs(float(x) * want[n + 1] / want[n]) if n < 4 and want[n] else 10
            units, _ = accuracy.off(got, want[n], condition, dtype)
            assert units <= 16 * max(1, condition), (number, n, got, float(want[n]))


def test_derivatives_of_exp2_where_it_overflows() -> None:
    for n in range(1, 5):
        assert times(fg.exp2, n)(fg.tensor(1024.0, dtype="float64")).item() == pytest.approx(
            2.0**1000 * np.log(2) ** n * 2.0**24 if n else inf, rel=1e-14
        )
    assert fg.exp2(fg.tensor(1024.0, dtype="float64")).item() == inf


def p_norm(p: float) -> Callable[[Any], Any]:
    return lambda x: fg.norm(x, p)


X = np.random.default_rng(3).normal(size=(4, 3))
WEIGHTS = fg.tensor(np.random.default_rng(4).normal(size=(4, 3)))
#: Norms, which are homogeneous: multiplied by a power of two, they have the same digits.
NORMS: dict[str, Callable[[Any], Any]] = {
    "norm": fg.norm,
    **{f"norm {p}": p_norm(p) for p in (1, 1.5, 3, 10, 0.5, -1, -2, inf, -inf)},
    "norm of rows": lambda x: fg.sum(fg.norm(x, axis=1, keepdims=True)),
    "norm of columns": lambda x: fg.sum(fg.norm(x, axis=0)),
    "linalg.norm": fg.linalg.norm,
    "linalg.vector_norm": lambda x: fg.linalg.vector_norm(x, 3),
    "linalg.matrix_norm": lambda x: fg.linalg.matrix_norm(x, "fro"),
    "cdist": lambda x: fg.sum(fg.cdist(x, x[:2] * 0.5)),
    "cdist 3": lambda x: fg.sum(fg.cdist(x, x[:2] * 0.5, 3)),
    "pdist": lambda x: fg.sum(fg.pdist(x)),
    "dist": lambda x: fg.dist(x, x * 0.25),
    "pairwise_distance": lambda x: fg.sum(fg.pairwise_distance(x, x * 0.25, eps=0.0)),
    "hypot": lambda x: fg.sum(fg.hypot(x[0], x[1])),
    "complex": lambda x: fg.norm(fg.complex(x, x * 2)),
    "complex 3": lambda x: fg.norm(fg.complex(x, x * 2), 3),
}
#: Functions of degree 0.
ANGLES: dict[str, Callable[[Any], Any]] = {
    "normalize": lambda x: fg.sum(fg.normalize(x, eps=0.0) * WEIGHTS),
    "normalize 3": lambda x: fg.sum(fg.normalize(x, 3.0, eps=0.0) * WEIGHTS),
    "cosine_similarity": lambda x: fg.sum(fg.cosine_similarity(x, fg.flip(x, 0), eps=0.0)),
}
#: Powers of two at which squares overflow or underflow.
FAR = [
    *((np.float32, power) for power in (70, 100, -80, -105)),
    *((np.float64, power) for power in (600, 950, -600, -950)),
]


@pytest.mark.parametrize(("dtype", "power"), FAR)
@pytest.mark.parametrize("name", [*NORMS, *ANGLES])
def test_norms_of_far_vectors(name: str, dtype: Any, power: int) -> None:
    f, degree = (NORMS[name], 1) if name in NORMS else (ANGLES[name], 0)
    near, scale = fg.tensor(X, dtype=dtype), 2.0**power
    far = fg.tensor((X.astype(dtype) * dtype(scale)).astype(dtype))
    # The power 1 / 1.5 is rounded, which the exponent of the sum multiplies.
    tolerance = {"rtol": (4000 if name == "norm 1.5" else 64) * np.finfo(dtype).eps, "atol": 0}
    for g in (f, fg.compile(f)):
        np.testing.assert_allclose(g(far).numpy() / scale**degree, g(near).numpy(), **tolerance)
    want = func.grad(f)(near).numpy()
    for g in (func.grad(f), fg.compile(func.grad(f)), lambda x: func.vmap(func.grad(f))(fg.stack([x, near]))[0]):
        got = g(far).numpy().astype(np.float64) * scale ** (1 - degree)
        np.testing.assert_allclose(got, want, rtol=64 * np.finfo(dtype).eps, atol=64 * np.finfo(dtype).eps)
    t = fg.tensor(np.random.default_rng(5).normal(size=X.shape), dtype=dtype)
    slope = func.jvp(f, (near,), (t,))[1].numpy()
    got = func.jvp(f, (far,), (t,))[1].numpy() * scale ** (1 - degree)
    np.testing.assert_allclose(got, slope, rtol=1e3 * np.finfo(dtype).eps, atol=1e2 * np.finfo(dtype).eps)


#: Functions of one number without digits to lose: linear or constant between their kinks, or made of parts of numbers.
EXACT = {
    *("abs", "angle", "bitwise_invert", "cast", "ceil", "clip", "clone", "conj", "deg2rad", "floor", "frac", "frexp"),
    *(
        "dropout",
        "hardshrink",
        "hardsigmoid",
        "hardswish",
        "hardtanh",
        "imag",
        "isfinite",
        "isinf",
        "isnan",
        "leaky_relu",
    ),
    *(
        "logical_not",
        "msort",
        "nan_to_num",
        "negative",
        "positive",
        "rad2deg",
        "real",
        "relu",
        "relu6",
        "resolve_conj",
        "round",
    ),
    *("selu", "sign", "signbit", "softshrink", "thresholded_relu", "trunc"),
}


def test_every_elementwise_function_of_one_number_is_compared() -> None:
    x = fg.tensor([[0.75, 0.25, 0.5]], dtype="float64", requires_grad=True)
    missing = []
    for names, parameters, _ in fg._core.registry():
        name = names[0]
        if (
            [p for p, _, _, default in parameters if default is None] != ["x"]
            or name in accuracy.FORMULAS
            or name in EXACT
        ):
            continue
        try:
            y = getattr(fg, name)(x)
            one = getattr(fg, name)(x[0, 0])
        except Exception:
            continue
        if isinstance(y, fg.Tensor) and y.shape == x.shape and not y.stop_gradient and y[0, 0].item() == one.item():
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("size", [1e25, 1e-25])
def test_norms_of_far_vectors_in_the_dialects(size: float) -> None:
    x, y = np.float32(size) * np.array([[3.0, 4.0]], np.float32), np.array([[4.0, 3.0]], np.float32)
    for t in (torch.tensor(x), paddle.to_tensor(x)):
        module: Any = torch if isinstance(t, torch.Tensor) else paddle
        for length in (module.norm(t), t.norm(), module.linalg.norm(t), module.linalg.vector_norm(t)):
            assert length.item() == pytest.approx(5 * size, rel=1e-6)
        assert module.dist(t, t * 0, 2).item() == pytest.approx(5 * size, rel=1e-6)
        assert module.cdist(t, t * 0).item() == pytest.approx(5 * size, rel=1e-6)
        functional = module.nn.functional
        unit = functional.normalize(t, **({"eps": 0.0} if module is torch else {"epsilon": 0.0}))
        np.testing.assert_allclose(unit.numpy(), [[0.6, 0.8]], rtol=1e-6)
        other = (torch.tensor if module is torch else paddle.to_tensor)(y)
        cosine = functional.cosine_similarity(t, other, 1, 0.0)
        assert cosine.item() == pytest.approx(0.96, rel=1e-6)
    p = torch.tensor([0.0, 0.0], requires_grad=True)
    p.grad = torch.tensor(x[0])
    assert torch.nn.utils.clip_grad_norm_([p], size).item() == pytest.approx(5 * size, rel=1e-6)
    if size > 1:
        np.testing.assert_allclose(p.grad.numpy(), x[0] / 5, rtol=1e-6)


def test_cosine_embedding_loss_of_far_vectors() -> None:
    x, y = torch.tensor([[3e25, 4e25]]), torch.tensor([[4e25, 3e25]])
    loss = torch.nn.functional.cosine_embedding_loss(x, y, torch.tensor([1]))
    assert loss.item() == pytest.approx(0.04, rel=1e-5)
