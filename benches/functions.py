"""Rows of single functions: sorting, special functions, and parts of networks for pictures, texts and speech."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rows import Row, kernel, normal, row

FUNCTIONS: dict[str, Row] = {}


def bins(f: Any, x: Any) -> Any:
    """How many elements lie in each of 50 bins."""
    return f.histc(x, 50, -3, 3) if hasattr(f.module, "histc") else f.histogram(x, 50, (-3, 3))


def largest(f: Any, x: Any, axis: int) -> Any:
    """The largest element up to each one; those of NumPy come without their indices."""
    return f.cummax(x, axis) if hasattr(f.module, "cummax") else f.maximum.accumulate(x, axis)


kernel("sort of 1 M f32", lambda f, x: f.sort(x), 1 << 20, table=FUNCTIONS)
kernel("argsort of 1000 x 1000 f32", lambda f, x: f.argsort(x), 1000, 1000, table=FUNCTIONS)
kernel("topk 10 of 1000 x 10 000 f32", lambda f, x: f.topk(x, 10), 1000, 10_000, table=FUNCTIONS)
kernel("median of 1001 x 1001 f32", lambda f, x: f.median(x, -1), 1001, 1001, table=FUNCTIONS)
kernel("sort of 1 M f64", lambda f, x: f.sort(x), 1 << 20, dtype=np.float64, table=FUNCTIONS)
kernel("kthvalue of 100 000 f64", lambda f, x: f.kthvalue(x, 500), 100_000, dtype=np.float64, table=FUNCTIONS)
kernel("quantile of 100 000 f64", lambda f, x: f.quantile(x, 0.3), 100_000, dtype=np.float64, table=FUNCTIONS)
kernel("histogram of 100 000 f64, 50 bins", lambda f, x: bins(f, x), 100_000, dtype=np.float64, table=FUNCTIONS)
kernel("cummax of 100 000 f64", lambda f, x: largest(f, x, 0), 100_000, dtype=np.float64, table=FUNCTIONS)
kernel("cummax of 1000 x 1000 f32", lambda f, x: largest(f, x, -1), 1000, 1000, table=FUNCTIONS)
kernel("logcumsumexp of 100 000 f64", lambda f, x: f.logcumsumexp(x, 0), 100_000, dtype=np.float64, table=FUNCTIONS)
kernel("unique of 1 M f32", lambda f, x: f.unique(x), 1 << 20, table=FUNCTIONS)
kernel("cumsum of 2048 x 2048 f32", lambda f, x: f.cumsum(x, -1), 2048, 2048, table=FUNCTIONS)


@row("searchsorted of 1 M in 1 M f32", FUNCTIONS)
def searched(f: Any) -> Callable[[], Any]:
    x = normal(1 << 20)
    rising, values = f.const(np.sort(x)), f.const(x)
    return lambda: f.searchsorted(rising, values)


@row("unique of 2^18 int64 below 1000", FUNCTIONS)
def distinct(f: Any) -> Callable[[], Any]:
    x = f.const(np.random.default_rng(0).integers(0, 1000, 1 << 18))
    return lambda: f.unique(x)


@row("unique of 2^18 int64 of any size", FUNCTIONS)
def scattered(f: Any) -> Callable[[], Any]:
    x = f.const(np.random.default_rng(0).integers(-(1 << 62), 1 << 62, 1 << 18))
    return lambda: f.unique(x)


#: Functions of one tensor and numbers, which are read by each loop over elements.
ACTIVATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "clip": lambda f, x: f.clip(x, -0.5, 0.5),
    "elu": lambda f, x: activations(f).elu(x),
    "hardswish": lambda f, x: activations(f).hardswish(x),
    "hardtanh": lambda f, x: activations(f).hardtanh(x),
    "leaky_relu": lambda f, x: activations(f).leaky_relu(x, 0.1),
    "relu6": lambda f, x: activations(f).relu6(x),
    "softshrink": lambda f, x: activations(f).softshrink(x),
}


def activations(f: Any) -> Any:
    """Where a framework has its activations."""
    return f.module.nn.functional if f.module.__name__ == "torch" else f


for name, call in ACTIVATIONS.items():
    kernel(f"{name} of 1 M f32", call, 1 << 20, table=FUNCTIONS)


@row("mode of 1000 x 100 int64", FUNCTIONS)
def frequent(f: Any) -> Callable[[], Any]:
    x = f.const(np.random.default_rng(0).integers(0, 9, (1000, 100)))
    return lambda: f.mode(x)


@row("bincount of 2^18 int64", FUNCTIONS)
def counted(f: Any) -> Callable[[], Any]:
    x = f.const(np.random.default_rng(0).integers(0, 1000, 1 << 18))
    return lambda: f.bincount(x)


def special(f: Any) -> Any:
    """The framework's special functions: for NumPy those of SciPy."""
    names = {"numpy": "scipy.special", "jax.numpy": "jax.scipy.special"}
    return importlib.import_module(names.get(f.module.__name__, f"{f.module.__name__}.special"))


def numbers(
    f: Any, names: tuple[str, str], dtype: type, bounds: tuple[float, float], arguments: int, count: int
) -> Any:
    functions = special(f)
    call = next(getattr(functions, name) for name in names if hasattr(functions, name))
    x = f.const(np.random.default_rng(0).uniform(*bounds, count).astype(dtype))
    return lambda: call(*[x] * arguments)


def special_rows(names: str, low: float, high: float, arguments: int = 1) -> None:
    """Rows of functions of numbers between two bounds, for both dtypes. ``name=other`` is SciPy's other name."""
    for name in names.split():
        ours, _, theirs = name.partition("=")
        for dtype, size, count in (
            (np.float32, "100", 100),
            *((t, "100 000", 100_000) for t in (np.float32, np.float64)),
        ):
            FUNCTIONS[f"{ours} of {size} {dtype.__name__}"] = partial(
                numbers,
                names=(ours, theirs or ours),
                dtype=dtype,
                bounds=(low, high),
                arguments=arguments,
                count=count,
            )


special_rows("erf erfc erfcx gammaln digamma=psi entr ndtr log_ndtr expit sinc", 0.1, 5)
special_rows("i0 i0e i1 i1e modified_bessel_k0=k0 modified_bessel_k1=k1", 0.1, 5)
special_rows("scaled_modified_bessel_k0=k0e scaled_modified_bessel_k1=k1e", 0.1, 5)
special_rows("bessel_j0=j0 bessel_j1=j1 bessel_y0=y0 bessel_y1=y1 spherical_bessel_j0 airy_ai", 0.1, 5)
special_rows("erfinv ndtri logit", 0.01, 0.99)
special_rows("gammainc gammaincc zeta xlogy xlog1py", 1.1, 5, arguments=2)


def arrays(f: Any, name: str, operands: list[np.ndarray]) -> Callable[[], Any]:
    """A function of arrays under the name that all frameworks have, such as ``linalg.solve``."""
    call = f.module
    for part in name.split("."):
        call = getattr(call, part)
    inputs = [f.const(x) for x in operands]
    return lambda: call(*inputs)


for name in ["atan2", "hypot", "pow", "logaddexp", "remainder", "floor_divide"]:
    for dtype, count in ((np.float32, 100), (np.float32, 100_000), (np.float64, 100_000)):
        operands = list(np.random.default_rng(0).uniform(0.1, 9, (2, count)).astype(dtype))
        FUNCTIONS[f"{name} of {count} {dtype.__name__}"] = partial(arrays, name=name, operands=operands)
for name in ["asin", "acos", "atan", "sinh", "cosh", "tan", "asinh", "atanh", "log1p", "expm1", "log10", "exp2"]:
    for dtype, count in ((np.float32, 100), (np.float32, 100_000), (np.float64, 100_000)):
        operands = [np.random.default_rng(0).uniform(0.01, 0.9, count).astype(dtype)]
        FUNCTIONS[f"{name} of {count} {dtype.__name__}"] = partial(arrays, name=name, operands=operands)
for n, count in ((2, 5000), (4, 1250), (8, 300), (16, 80), (200, 1)):
    matrices = normal(count, n, n, dtype=np.float64)
    matrices = matrices @ matrices.swapaxes(1, 2) + n * np.eye(n)
    for name in ["solve", "inv", "det", "cholesky", "qr", "eigh", "svd"]:
        for dtype in (np.float32, np.float64):
            if name in ("eigh", "svd") and n not in (4, 200):
                continue
            operands = [matrices.astype(dtype)] + [normal(count, n, 1, dtype=dtype)] * (name == "solve")
            FUNCTIONS[f"{name} of {count} {n} x {n} {dtype.__name__}"] = partial(
                arrays, name=f"linalg.{name}", operands=operands
            )
kernel("cdist of 100 x 16 and 100 x 16 f32", lambda f, x: f.cdist(x, x), 100, 16, table=FUNCTIONS)
kernel("cdist of 1000 x 64 and 1000 x 64 f32", lambda f, x: f.cdist(x, x), 1000, 64, table=FUNCTIONS)
kernel("kron of 20 x 20 and 20 x 20 f32", lambda f, x: f.kron(x, x), 20, 20, table=FUNCTIONS)


@row("unique of 100 000 f32 with two digits", FUNCTIONS)
def rounded(f: Any) -> Callable[[], Any]:
    x = f.const(np.round(normal(100_000) * 100))
    return lambda: f.unique(x)


@row("product of 200 x 10 and 10 f32", FUNCTIONS)
def short_rows(f: Any) -> Callable[[], Any]:
    x, y = f.const(normal(200, 10)), f.const(normal(10))
    return lambda: f.matmul(x, y)


@row("polygamma of order 2 of 100 000 float64", FUNCTIONS)
def derivative(f: Any) -> Callable[[], Any]:
    functions, x = special(f), f.const(np.random.default_rng(0).uniform(0.1, 5, 100_000))
    return lambda: functions.polygamma(2, x)


def functional(f: Any) -> Any:
    """``nn.functional`` of a framework that spells it as torch does."""
    if f.module.__name__ not in ("torch", "ferrograd.torch"):
        raise NotImplementedError(f"{f.module.__name__} has other arguments")
    return f.module.nn.functional


def both_ways(name: str, call: Callable[..., Any], *shapes: tuple[int, ...]) -> None:
    """Two rows of a function of ``nn.functional``: its values, and with them the gradients."""

    def forward(f: Any) -> Callable[[], Any]:
        functions, inputs = functional(f), [f.const(normal(*shape)) for shape in shapes]
        return lambda: call(functions, *inputs)

    def backward(f: Any) -> Callable[[], Any]:
        functions = functional(f)
        return f.gradients(lambda *xs: f.total(call(functions, *xs)), *(normal(*shape) for shape in shapes))

    FUNCTIONS[f"{name}, forward"] = forward
    FUNCTIONS[f"{name}, forward + backward"] = backward


PICTURES = (8, 16, 64, 64)
for mode in ("nearest", "bilinear", "bicubic"):
    both_ways(
        f"interpolate to twice the size, {mode}",
        lambda F, x, mode=mode: F.interpolate(x, scale_factor=2, mode=mode),
        PICTURES,
    )
both_ways("grid_sample of 64 x 64", lambda F, x, at: F.grid_sample(x, at.tanh()), PICTURES, (8, 64, 64, 2))
HEADS = (4, 8, 256, 64)
both_ways("attention, 8 heads, 256 x 64", lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v), *[HEADS] * 3)
both_ways(
    "causal attention, 8 heads, 256 x 64",
    lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    *[HEADS] * 3,
)


def paths(f: Any, gradients: bool) -> Callable[[], Any]:
    functions = functional(f)
    labels = f.const(np.random.default_rng(0).integers(1, 50, (16, 20)))
    steps, sizes = (f.const(np.full(16, n)) for n in (100, 20))
    if gradients:
        return f.gradients(lambda x: functions.ctc_loss(x.log_softmax(-1), labels, steps, sizes), normal(100, 16, 50))
    x = f.const(normal(100, 16, 50)).log_softmax(-1)
    return lambda: functions.ctc_loss(x, labels, steps, sizes)


def recurrent(f: Any, name: str, width: int, batch: int, gradients: bool) -> Callable[[], Any]:
    functional(f)
    layer = getattr(f.module.nn, name)(width, 2 * width)
    parameters, x = list(layer.parameters()), f.leaf(normal(50, batch, width))
    if gradients:
        return lambda: f.grad(f.total(layer(x)[0]), [x, *parameters])
    for parameter in parameters:
        parameter.requires_grad_(False)
    x = f.const(normal(50, batch, width))
    return lambda: layer(x)[0]


def looked_up(f: Any, gradients: bool) -> Callable[[], Any]:
    functions, rows = functional(f), normal(1000, 64)
    places = f.const(np.random.default_rng(0).integers(0, 1000, (64, 20)))
    if gradients:
        return f.gradients(lambda rows: f.total(functions.embedding_bag(places, rows, mode="sum")), rows)
    table = f.const(rows)
    return lambda: functions.embedding_bag(places, table, mode="sum")


for gradients, way in ((False, "forward"), (True, "forward + backward")):
    FUNCTIONS[f"ctc_loss, 100 steps, batch 16, {way}"] = partial(paths, gradients=gradients)
    FUNCTIONS[f"embedding_bag, 64 bags of 20, {way}"] = partial(looked_up, gradients=gradients)
    for layer, width, batch in (("LSTM", 64, 16), ("LSTM", 128, 32), ("GRU", 128, 32), ("RNN", 128, 32)):
        FUNCTIONS[f"{layer} {width}-{2 * width}, 50 steps, batch {batch}, {way}"] = partial(
            recurrent, name=layer, width=width, batch=batch, gradients=gradients
        )
