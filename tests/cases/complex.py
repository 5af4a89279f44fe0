"""Complex numbers: their own functions, and those of the other families that take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
from scipy.integrate import trapezoid

from tests.cases import Case, normal

X, Y = normal(3, 4) + 1j * normal(3, 4, seed=1), normal(4, seed=2) + 1j * normal(4, seed=3)
#: Numbers near the real axis and on it, on both sides of every branch cut.
NEAR = np.array([1.5 + 0.4j, -1.7 - 0.3j, 0.2 - 2.1j, -0.3 + 1.8j, 0.4 + 0.2j])
REAL = normal(3, 4, seed=5)


def of(name: str, ref: Callable[..., Any], order: int = 4, **kw: Any) -> list[Case]:
    """A function of complex numbers of any shape, none among them."""
    return [
        Case(name, (X,), kw=kw, ref=ref, order=order),
        Case(name, (np.zeros((0, 2), complex),), kw=kw, ref=ref, order=0),
    ]


def analytic(name: str, ref: Callable[..., Any]) -> list[Case]:
    return [
        Case(name, (NEAR,), ref=ref, rtol=1e-11),
        Case(name, (NEAR.astype(np.complex64),), ref=ref, order=0, rtol=1e-5),
    ]


def paired(x: Any) -> Any:
    return np.stack([x.real, x.imag], -1)


def renorm(x: Any, p: float, axis: int, most: float) -> Any:
    return x * np.minimum(1, most / (np.linalg.norm(x, axis=1, keepdims=True) + 1e-7))


def cumulative_trapezoid(y: Any, x: Any) -> Any:
    return np.cumsum((y[:, 1:] + y[:, :-1]) / 2 * np.diff(x), -1)


def rms_norm(x: Any, normalized_shape: Any) -> Any:
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-5)


def convolved(name: str) -> Callable[..., Any]:
    """A convolution by those of the parts."""

    def convolve(x: Any, weight: Any, **kw: Any) -> Any:
        def real(a: Any, b: Any) -> Any:
            return getattr(fg, name)(fg.tensor(a), fg.tensor(b), **kw).numpy()

        a, b, c, d = x.real, x.imag, weight.real, weight.imag
        return real(a, c) - real(b, d) + 1j * (real(a, d) + real(b, c))

    return convolve


IMAGE = normal(2, 2, 5) + 1j * normal(2, 2, 5, seed=1)
FILTERS = normal(2, 2, 3, seed=2) + 1j * normal(2, 2, 3, seed=3)

NAMES = [
    *("exp", "expm1", "log2", "log10", "sqrt", "square", "reciprocal", "sin"),
    *("cos", "tan", "sinh", "cosh", "tanh", "negative", "positive"),
]

CASES = [
    *of("real", np.real),
    Case("real", (REAL,), ref=np.real),
    *of("imag", np.imag),
    Case("imag", (REAL,), ref=np.zeros_like, order=0),
    *of("conj", np.conj),
    Case("conj", (REAL,), ref=np.conj),
    *of("resolve_conj", lambda x: x),
    *of("view_as_real", paired),
    Case("view_as_complex", (normal(3, 2),), ref=lambda x: x[..., 0] + 1j * x[..., 1]),
    *of("angle", np.angle),
    Case("angle", (REAL,), ref=np.angle),
    *of("abs", np.abs),
    *of("sign", np.sign),
    *of("isreal", np.isreal, order=0),
    *of("iscomplex", np.iscomplex, order=0),
    *of("isfinite", np.isfinite, order=0),
    Case("is_complex", (X,), ref=np.iscomplexobj, order=0),
    Case("complex", (REAL, normal(4, seed=6)), ref=lambda re, im: re + 1j * im),
    Case("polar", (REAL, normal(4, seed=6)), ref=lambda r, angle: r * np.exp(1j * angle)),
    *(row for name in NAMES for row in analytic(name, getattr(np, name))),
    *analytic("log", np.log),
    *analytic("exp2", lambda x: np.exp(x * x.dtype.type(np.log(2)))),
    *analytic("log1p", lambda x: np.log(1 + x)),
    *analytic("rsqrt", lambda x: 1 / np.sqrt(x)),
    *analytic("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    *(row for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh") for row in analytic(f"a{n}", getattr(np, f"arc{n}"))),
    Case("add", (X, Y), ref=np.add),
    Case("subtract", (X, REAL), ref=np.subtract),
    Case("multiply", (X, Y), ref=np.multiply),
    Case("multiply", (REAL, Y), ref=np.multiply),
    Case("divide", (X, Y), ref=np.divide),
    Case("divide", (REAL, Y), ref=np.divide),
    Case("pow", (X, Y), ref=np.power),
    Case("pow", (X, np.array(3.0)), ref=np.power, wrt=(0,)),
    Case("pow", (abs(REAL), Y), ref=np.power),
    Case("equal", (X, X), ref=np.equal, order=0),
    Case("isclose", (X, X), ref=np.isclose, order=0),
    Case("where", (REAL > 0, X, Y), ref=np.where, wrt=(1, 2)),
    Case("sum", (X,), kw={"axis": 0}, ref=np.sum),
    Case("mean", (X,), ref=np.mean),
    Case("prod", (X,), kw={"axis": 1}, ref=np.prod, rtol=1e-11),
    Case("cumsum", (X,), kw={"axis": 0}, ref=np.cumsum),
    Case("cumprod", (X,), kw={"axis": 1}, ref=np.cumprod, rtol=1e-11),
    Case("nan_to_num", (X,), ref=np.nan_to_num),
    Case("matmul", (X, X.T), ref=np.matmul),
    Case("matmul", (REAL.T, X), ref=np.matmul),
    Case("vecdot", (X, Y), ref=lambda x, y: (x.conj() * y).sum(-1)),
    Case("dot", (Y, Y * 1j), ref=np.dot),
    Case("outer", (Y, Y), ref=np.outer),
    Case("einsum", (X, Y), lead=("ij,j->i",), ref=np.einsum),
    Case("tensordot", (X, X), kw={"axes": ([0, 1], [0, 1])}, ref=np.tensordot),
    Case("trace", (X,), ref=np.trace),
    Case("diagonal", (X,), ref=np.diagonal),
    Case("take_along_axis", (X, np.array([[0, 3], [1, 1], [2, 0]])), kw={"axis": 1}, ref=np.take_along_axis, wrt=(0,)),
    Case("roll", (X, 2), kw={"axis": 1}, ref=np.roll, wrt=(0,), prepare=lambda x, n: (x, int(n))),
    Case("concat", ([X, REAL],), ref=np.concatenate),
    Case("transpose", (X,), ref=np.transpose),
    Case("flip", (X,), ref=np.flip),
    Case("tril", (X,), ref=np.tril),
    Case("var", (X,), {"axis": 1, "correction": 1.0}, ref=lambda x, axis, correction: np.var(x, axis, ddof=1)),
    Case("std", (X,), ref=np.std),
    Case("norm", (X,), {"axis": 1}, ref=lambda x, axis: np.linalg.norm(x, axis=axis)),
    *[
        Case("norm", (X,), {"p": p, "axis": 0}, ref=lambda x, p, axis: np.linalg.norm(x, p, axis))
        for p in (0, 1, 3, np.inf)
    ],
    Case("norm", (np.array([0, 0, 3 + 4j]),), ref=np.linalg.norm, note="zeros"),
    Case("normalize", (X,), ref=lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)),
    Case("pairwise_distance", (X, Y), ref=lambda x, y: np.linalg.norm(x - y + 1e-6, axis=-1)),
    Case("dist", (X, Y), ref=lambda x, y: np.linalg.norm(x - y)),
    Case(
        "renorm", (X, 2.0, 0, 1.0), prepare=lambda x, p, axis, most: (x, 2.0, 0, 1.0), ref=renorm, wrt=(0,), rtol=1e-6
    ),
    Case("l1_loss", (X, Y), ref=lambda x, y: np.mean(abs(x - y))),
    Case("cov", (X,), ref=np.cov),
    Case("cov", (X,), {"fweights": np.array([1, 2, 3, 1])}, ref=np.cov, order=0),
    Case("corrcoef", (X,), ref=np.corrcoef),
    Case("vdot", (X, X[::-1]), ref=np.vdot),
    Case("float_power", (X, REAL), ref=np.float_power),
    Case("softsign", (X,), ref=lambda x: x / (1 + abs(x))),
    Case("tanhshrink", (X,), ref=lambda x: x - np.tanh(x)),
    Case("sinc", (X,), ref=np.sinc),
    Case("sinc", (np.array([0, 0.05 + 0.02j, 1.0, 1e-9j]),), ref=np.sinc, note="the series"),
    Case("trapezoid", (X,), ref=trapezoid),
    Case("cumulative_trapezoid", (X, Y), prepare=lambda y, x: (y, x), ref=cumulative_trapezoid),
    Case("logsumexp", (X,), {"axis": 1}, ref=lambda x, axis: np.log(np.exp(x).sum(axis))),
    Case("logsumexp", (np.array([1000 + 1j, -1000]),), ref=lambda x: np.array(1000 + 1j)),
    Case("logaddexp", (X, Y), ref=lambda x, y: np.log(np.exp(x) + np.exp(y))),
    Case("logcumsumexp", (X,), {"axis": 1}, ref=lambda x, axis: np.log(np.cumsum(np.exp(x), axis)), rtol=1e-11),
    Case("rms_norm", (X,), {"normalized_shape": (4,)}, ref=rms_norm),
    Case("conv1d", (IMAGE, FILTERS), {"stride": 2, "padding": 1}, ref=convolved("conv1d"), rtol=1e-11),
    Case("conv2d", (IMAGE[..., None], FILTERS[..., None]), ref=convolved("conv2d"), rtol=1e-11),
    Case("conv3d", (IMAGE[..., None, None], FILTERS[..., None, None]), ref=convolved("conv3d"), rtol=1e-11),
    Case(
        "conv_transpose1d", (IMAGE, FILTERS), {"stride": 2, "groups": 2}, ref=convolved("conv_transpose1d"), rtol=1e-11
    ),
]
