"""Rows of single functions: sorting, special functions, and parts of networks for pictures, texts and speech."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from rows import Row, kernel, normal, row

FUNCTIONS: dict[str, Row] = {}


kernel("sort of 1 M f32", lambda f, x: f.sort(x), 1 << 20, table=FUNCTIONS)
kernel("argsort of 1000 x 1000 f32", lambda f, x: f.argsort(x), 1000, 1000, table=FUNCTIONS)
kernel("topk 10 of 1000 x 10 000 f32", lambda f, x: f.topk(x, 10), 1000, 10_000, table=FUNCTIONS)
kernel("median of 1001 x 1001 f32", lambda f, x: f.median(x, -1), 1001, 1001, table=FUNCTIONS)
kernel("unique of 1 M f32", lambda f, x: f.unique(x), 1 << 20, table=FUNCTIONS)
kernel("cumsum of 2048 x 2048 f32", lambda f, x: f.cumsum(x, -1), 2048, 2048, table=FUNCTIONS)


@row("searchsorted of 1 M in 1 M f32", FUNCTIONS)
def searched(f: Any) -> Callable[[], Any]:
    x = normal(1 << 20)
    rising, values = f.const(np.sort(x)), f.const(x)
    return lambda: f.searchsorted(rising, values)


def special(f: Any) -> Any:
    """The framework's special functions: for NumPy those of SciPy."""
    names = {"numpy": "scipy.special", "jax.numpy": "jax.scipy.special"}
    return importlib.import_module(names.get(f.module.__name__, f"{f.module.__name__}.special"))


def special_row(name: str, call: Callable[[Any, Any], Any]) -> None:
    def prepare(f: Any) -> Callable[[], Any]:
        functions, x = special(f), f.const(np.random.default_rng(0).uniform(0.05, 0.95, 1 << 20))
        return lambda: call(functions, x)

    FUNCTIONS[f"{name} of 1 M f64"] = prepare


special_row("gammaln", lambda s, x: s.gammaln(x))
special_row("digamma", lambda s, x: s.digamma(x) if hasattr(s, "digamma") else s.psi(x))
special_row("erfinv", lambda s, x: s.erfinv(x))
special_row("ndtri", lambda s, x: s.ndtri(x))
special_row("log_ndtr", lambda s, x: s.log_ndtr(x))
special_row("i0e", lambda s, x: s.i0e(x))
special_row("gammainc", lambda s, x: s.gammainc(x, x))


def functional(f: Any) -> Any:
    """``nn.functional`` of a framework that spells it as torch does."""
    if f.module.__name__ not in ("torch", "ferrograd.torch"):
        raise NotImplementedError(f"{f.module.__name__} has other arguments")
    return f.module.nn.functional


def differentiated(name: str, call: Callable[..., Any], *shapes: tuple[int, ...]) -> None:
    """A row of a function of ``nn.functional`` and its gradients."""

    def prepare(f: Any) -> Callable[[], Any]:
        functions = functional(f)
        return f.gradients(lambda *xs: f.total(call(functions, *xs)), *(normal(*shape) for shape in shapes))

    FUNCTIONS[f"{name}, forward + backward"] = prepare


PICTURES = (8, 16, 64, 64)
for mode in ("nearest", "bilinear", "bicubic"):
    differentiated(
        f"interpolate to twice the size, {mode}",
        lambda F, x, mode=mode: F.interpolate(x, scale_factor=2, mode=mode),
        PICTURES,
    )
differentiated("grid_sample of 64 x 64", lambda F, x, at: F.grid_sample(x, at.tanh()), PICTURES, (8, 64, 64, 2))
HEADS = (4, 8, 256, 64)
differentiated("attention, 8 heads, 256 x 64", lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v), *[HEADS] * 3)
differentiated(
    "causal attention, 8 heads, 256 x 64",
    lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    *[HEADS] * 3,
)


@row("ctc_loss, 100 steps, batch 16, forward + backward", FUNCTIONS)
def paths(f: Any) -> Callable[[], Any]:
    functions = functional(f)
    labels = f.const(np.random.default_rng(0).integers(1, 50, (16, 20)))
    steps, sizes = (f.const(np.full(16, n)) for n in (100, 20))
    return f.gradients(lambda x: functions.ctc_loss(x.log_softmax(-1), labels, steps, sizes), normal(100, 16, 50))


@row("LSTM 128-256, 50 steps, batch 32, forward + backward", FUNCTIONS)
def recurrent(f: Any) -> Callable[[], Any]:
    functional(f)
    layer = f.module.nn.LSTM(128, 256)
    parameters, x = list(layer.parameters()), f.leaf(normal(50, 32, 128))
    return lambda: f.grad(f.total(layer(x)[0]), [x, *parameters])
