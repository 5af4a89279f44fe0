"""One-pass gradients equal the recorded rules, and powers by one exponent equal powers by an array of exponents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

ODD = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 6.0, -6.0, 7.5, -7.5, 90.0, -90.0, 800.0, -800.0]
NOT_FINITE = [np.inf, -np.inf, np.nan]

#: The functions of one tensor, by name.
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{
        f.__name__: f
        for f in (
            fg.abs,
            fg.square,
            fg.reciprocal,
            fg.expm1,
            fg.log1p,
            fg.log2,
            fg.log10,
            fg.sqrt,
            fg.rsqrt,
            fg.sin,
            fg.cos,
            fg.tan,
            fg.atan,
            fg.tanh,
            fg.erf,
            fg.exp2,
            fg.sigmoid,
            fg.silu,
            fg.softplus,
            fg.gelu,
            fg.log_sigmoid,
            fg.softsign,
            fg.tanhshrink,
            fg.elu,
            fg.celu,
            fg.selu,
            fg.hardtanh,
            fg.relu6,
            fg.hardsigmoid,
            fg.hardswish,
            fg.softshrink,
            fg.hardshrink,
            fg.thresholded_relu,
            fg.leaky_relu,
        )
    },
    "gelu by tanh": lambda x: fg.gelu(x, approximate="tanh"),
    "celu of another width": lambda x: fg.celu(x, 0.7),
    "clip": lambda x: fg.clip(x, -0.5, 3),
    "clip to NaN": lambda x: fg.clip(x, None, np.nan),
    "smooth_l1_loss": lambda x: fg.smooth_l1_loss(x, 0.25, reduction="none", beta=0.5),
    "huber_loss": lambda x: fg.huber_loss(x, 0.25, reduction="none", delta=0.5),
}


def power(e: float) -> Callable[[Any], Any]:
    return lambda x: x**e


FUNCTIONS |= {f"power {e}": power(e) for e in (0, 1, 2, 3, 4, 5, -1, -2, -3, 0.5, -0.5, 2.5, -1.5)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_pass_gradients_equal_the_rules(name: str, dtype: Any) -> None:
    generator = np.random.default_rng(5)
    data = np.concatenate([ODD, NOT_FINITE, generator.normal(size=600) * 3]).astype(dtype)
    x = fg.tensor(data, requires_grad=True)
    y = FUNCTIONS[name](x)
    for seed in (generator.normal(size=data.shape).astype(dtype), np.full((1,), 2.0, dtype)):
        g = fg.broadcast_to(fg.tensor(seed), data.shape)
        one = np.asarray(fg.grad(y, x, g, retain_graph=True)[0])
        rule = np.asarray(fg.grad(y, x, g, create_graph=True)[0])
        assert one.dtype == dtype
        np.testing.assert_allclose(one, rule, rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("e", [0, 1, 2, 3, 4, 7, -1, -2, -3, 0.5, -0.5, 1.5, -2.5, np.inf, -np.inf, np.nan])
def test_powers_by_one_exponent(e: float, dtype: Any) -> None:
    """Against NumPy, with special values, and against an array of the same exponent."""
    random = np.random.default_rng(6).normal(size=500) * 5
    info = np.finfo(dtype)
    far = [info.tiny, -info.tiny, info.smallest_subnormal, info.max, -info.max]
    x = np.concatenate([ODD, NOT_FINITE, random, far]).astype(dtype)
    wide = np.float64 if dtype == np.float32 else np.longdouble
    with np.errstate(all="ignore"):
        # An array of exponents: for the scalar 1/2 NumPy takes the square root, which differs at -inf and -0.
        want = np.power(x.astype(wide), np.full(x.shape, e, wide)).astype(dtype)
    tolerance = {"rtol": 2 * np.finfo(dtype).eps, "atol": 2 * np.finfo(dtype).smallest_subnormal}
    for exponent in (fg.tensor(dtype(e)), fg.tensor(np.full(x.shape, e, dtype))):
        got = np.asarray(fg.pow(fg.tensor(x), exponent))
        np.testing.assert_allclose(got, want, **tolerance)
        if np.isfinite(e):
            np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))


def test_small_powers_of_whole_numbers_are_exact() -> None:
    x = np.arange(-20.0, 21.0)
    for dtype in (np.float32, np.float64):
        for e in (0, 1, 2, 3, 4):
            for exponent in (e, np.full(x.shape, float(e), dtype)):
                got = np.asarray(fg.tensor(x.astype(dtype)) ** fg.tensor(exponent))
                np.testing.assert_array_equal(got, [int(n) ** e for n in x])


def test_bounds_of_clip_are_as_in_numpy() -> None:
    x = np.array([*ODD, *NOT_FINITE])
    for low, high in ((-1.0, 1.0), (None, 0.0), (0.0, None), (2.0, -2.0), (-np.inf, np.inf), (np.nan, 1.0)):
        got = np.asarray(fg.clip(fg.tensor(x), low, high))
        np.testing.assert_array_equal(got, np.clip(x, low, high), err_msg=f"{low}, {high}")
