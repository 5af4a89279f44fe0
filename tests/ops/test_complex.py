"""Complex numbers: how they are made, promoted, printed and refused, and the convention of their gradients.

The table of cases checks values, derivatives of any order, tangents and batches; this module checks the conventions.
"""

from __future__ import annotations

import pickle
import warnings
from typing import Any, cast

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd import func

X = np.array([1 + 2j, -0.5 + 0.3j])
WIDTHS = [("complex64", "float32"), ("complex128", "float64")]


def leaf(values: Any = X) -> Any:
    return fg.tensor(values, requires_grad=True)


def test_creation() -> None:
    assert fg.tensor([1, 2j]).dtype == fg.complex64
    assert fg.tensor(1 + 2j).dtype == fg.complex64
    assert fg.tensor([1.5, True, 2j], dtype=fg.complex128).tolist() == [1.5, 1, 2j]
    assert fg.tensor(X).dtype == fg.complex128
    assert fg.tensor([np.complex128(1j), 2]).dtype == fg.complex128
    assert fg.tensor([fg.tensor(1j), 2.0]).tolist() == [1j, 2]
    assert fg.asarray([[1j, 2], [3, 4]]).shape == (2, 2)
    assert fg.zeros((2,), dtype="complex64").tolist() == [0j, 0j]
    assert fg.full((2,), 1j).tolist() == [1j, 1j]
    assert fg.eye(2, dtype=fg.complex128).tolist() == [[1, 0], [0, 1]]
    assert fg.arange(3, dtype=fg.complex64).tolist() == [0, 1, 2]
    assert fg.linspace(0, 1, 3, dtype=fg.complex64).tolist() == [0, 0.5, 1]
    assert fg.complex(fg.tensor([1.0]), fg.tensor([[2.0], [3.0]])).tolist() == [[1 + 2j], [1 + 3j]]
    assert fg.complex(fg.tensor([1.0], dtype=fg.float64), 2).dtype == fg.complex128
    np.testing.assert_allclose(fg.polar(fg.tensor([2.0]), fg.tensor([np.pi / 2])).numpy(), [2j], atol=1e-6)
    assert fg.randn((3,), dtype=fg.complex64).dtype == fg.complex64
    with fg.no_grad():
        spread = fg.randn((20_000,), dtype=fg.complex128).numpy()
    assert abs(np.mean(abs(spread) ** 2) - 1) < 0.05
    fg.set_default_dtype(fg.float64)
    try:
        assert fg.tensor([1j]).dtype == fg.complex128
    finally:
        fg.set_default_dtype(fg.float32)


def test_export() -> None:
    x = fg.tensor(X)
    np.testing.assert_array_equal(x.numpy(), X)
    np.testing.assert_array_equal(np.asarray(memoryview(cast(Any, x))), X)
    np.testing.assert_array_equal(np.from_dlpack(x), X)
    np.testing.assert_array_equal(fg.from_dlpack(X).numpy(), X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)).numpy(), X)
    assert x[0].item() == 1 + 2j
    assert complex(x[0]) == 1 + 2j
    assert x.tolist() == X.tolist()
    assert bool(x[0]) is True
    assert repr(fg.tensor([1 + 2j])) == "Tensor([1.+2.j], dtype=complex64)"
    assert repr(torch.tensor([1 + 2j])) == "tensor([1.+2.j])"
    for convert in (float, int):
        with pytest.raises(TypeError, match="no real number"):
            convert(x[0])
    assert (x.itemsize, x.nbytes) == (16, 32)


def test_promotion() -> None:
    narrow, wide = fg.tensor([1j]), fg.tensor([1j], dtype=fg.complex128)
    for other, want in [
        (fg.tensor([1.0]), "complex64"),
        (fg.tensor([1.0], dtype=fg.float64), "complex128"),
        (fg.tensor([1]), "complex64"),
        (fg.tensor([True]), "complex64"),
        (wide, "complex128"),
        (2, "complex64"),
        (2.5, "complex64"),
        (1j, "complex64"),
    ]:
        assert (narrow * other).dtype == want, other
        assert (other * narrow).dtype == want, other
    assert (fg.tensor([1]) * 1j).dtype == fg.complex64
    assert (fg.tensor([1.0], dtype=fg.float64) * 1j).dtype == fg.complex128
    assert fg.result_type(fg.complex64, fg.float64) == fg.complex128
    assert fg.result_type(fg.float32, 1j) == fg.complex64
    assert fg.tensor([1j, 2.0]).sum().dtype == fg.complex64
    assert fg.mean(wide).dtype == fg.complex128


def test_casts_that_lose_the_imaginary_part_are_refused() -> None:
    x = fg.tensor(X)
    for dtype in ("float32", "float64", "int64"):
        with pytest.raises(fg.DtypeError, match=r"discards the imaginary part: write real\(x\)"):
            x.astype(dtype)
    assert x.astype("complex64").dtype == fg.complex64
    assert fg.tensor([0j, 1j]).astype(bool).tolist() == [False, True]
    y = fg.zeros((2,))
    with pytest.raises(fg.DtypeError):
        y[0] = 1j
    with pytest.raises(fg.DtypeError):
        y += 1j
    assert y.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "refused",
    [
        lambda x: x < x,
        lambda x: fg.max(x),
        lambda x: fg.argmin(x),
        lambda x: fg.sort(x),
        lambda x: fg.median(x),
        lambda x: fg.cummax(x),
        lambda x: fg.maximum(x, x),
        lambda x: fg.clip(x, 0, 1),
        lambda x: fg.floor(x),
        lambda x: x // 2,
        lambda x: x % 2,
        lambda x: fg.relu(x),
        lambda x: fg.erf(x),
        lambda x: fg.atan2(x, x),
        lambda x: fg.softmax(x),
        lambda x: fg.arange(1j),
        lambda x: fg.complex(x, x),
        lambda x: fg.view_as_complex(x),
        lambda x: fg.view_as_real(fg.real(x)),
        lambda x: x & x,
        lambda x: x[x],
    ],
)
def test_what_has_no_meaning_is_refused(refused: Any) -> None:
    with pytest.raises((fg.DtypeError, fg.ArgumentError, IndexError)):
        refused(fg.tensor(X))


def test_comparisons() -> None:
    x = fg.tensor(X)
    assert (x == 1 + 2j).tolist() == [True, False]
    assert (x != fg.tensor([1.0, 0.0])).tolist() == [True, True]
    assert (fg.tensor([1, 2]) == 1 + 0j).tolist() == [True, False]
    assert fg.allclose(x, x + 1e-9j)
    assert not fg.allclose(x, x + 1e-3j)
    assert fg.isclose(fg.tensor([complex("inf")]), complex("inf")).item()
    for name in ("isnan", "isinf", "isfinite"):
        odd = np.array([1j, complex(np.nan, 1), complex(0, np.inf), complex(np.inf, np.nan)])
        np.testing.assert_array_equal(getattr(fg, name)(fg.tensor(odd)).numpy(), getattr(np, name)(odd))
    assert fg.logical_and(fg.tensor([0j, 1j]), True).tolist() == [False, True]
    assert fg.any(fg.tensor([0j, 1j])).item()
    assert not fg.all(fg.tensor([0j, 1j])).item()
    assert fg.nonzero(fg.tensor([0j, 1j]))[0].tolist() == [1]


def test_writes_and_views() -> None:
    x = fg.tensor(np.zeros((2, 3), np.complex128))
    row = x[0]
    row[1] = 1 + 1j
    x[:, 2] = fg.tensor([1.0, 2.0])
    assert x.tolist() == [[0, 1 + 1j, 1], [0, 0, 2]]
    row *= 1j
    assert x[0].tolist() == [0, -1 + 1j, 1j]
    base = leaf()
    y = base * 1
    y[0] = base[1] * 2j
    (g,) = fg.grad(y.abs().sum(), [base])
    np.testing.assert_allclose(g.numpy()[0], 0)
    np.testing.assert_allclose(g.numpy()[1], 3 * X[1] / abs(X[1]))
    # The parts share memory with the tensor only until it is written to.
    z = fg.tensor(X)
    re = z.real
    z[0] = 5
    assert re.tolist() == [1.0, -0.5]


# The numbers are those of PyTorch 2.15.
@pytest.mark.parametrize(
    ("f", "seed", "want"),
    [
        (lambda x: (fg.abs(x) ** 2).sum(), None, [2 + 4j, -1 + 0.6j]),
        (lambda x: fg.abs(x).sum(), None, [0.4472135955 + 0.894427191j, -0.8574929257125443 + 0.5144957554275266j]),
        (lambda x: fg.exp(x), [1j, 2], [2.471726672 - 1.1312043837568135j, 1.1588817419938098 - 0.35848413180943206j]),
        (lambda x: fg.real(x).sum(), None, [1, 1]),
        (lambda x: fg.imag(x).sum(), None, [1j, 1j]),
        (lambda x: fg.angle(x).sum(), None, [-0.4 + 0.2j, -0.8823529411764708 - 1.470588235294118j]),
        (lambda x: fg.sgn(x), [1j, 1 + 2j], [-0.178885438 + 0.089442719j, 1.967189653105249 + 3.278649421842082j]),
        (lambda x: fg.conj(x), [1j, 1 + 2j], [-1j, 1 - 2j]),
        (lambda x: x * x, [1, 1], [2 - 4j, -1 - 0.6j]),
    ],
)
def test_gradients_are_those_of_torch(f: Any, seed: Any, want: Any) -> None:
    x = leaf()
    y = f(x)
    seeds = None if seed is None else [fg.tensor(np.array(seed, np.complex128))]
    (g,) = fg.grad(y, [x], seeds)
    np.testing.assert_allclose(g.numpy(), want, rtol=1e-8)
    assert g.dtype == x.dtype


def test_the_gradient_is_a_direction_of_ascent() -> None:
    x = leaf()
    loss = fg.abs(fg.sin(x) - 1j).sum()
    (g,) = fg.grad(loss, [x])
    step = 1e-6
    after = fg.abs(fg.sin(x + step * g) - 1j).sum()
    np.testing.assert_allclose((after - loss).item() / step, float((g.abs() ** 2).sum()), rtol=1e-4)


def test_a_real_input_has_a_real_gradient() -> None:
    r = leaf([2.0, 3.0])
    fg.abs(r * fg.tensor([1 + 2j, 1j])).sum().backward()
    assert r.grad.dtype == fg.float32
    np.testing.assert_allclose(r.grad.numpy(), [5**0.5, 1], rtol=1e-6)
    (g,) = fg.grad(fg.complex(r, r * r), [r], [fg.tensor([1 + 1j, 2j])])
    np.testing.assert_allclose(g.numpy(), [1 + 4, 12])


def test_orders_one_to_three() -> None:
    x = fg.tensor(np.complex128(0.3 + 0.4j), requires_grad=True)
    seeds = [fg.tensor(np.complex128(s)) for s in (1j, 2 + 1j, 1)]
    (g,) = fg.grad(x**3, [x], [seeds[0]], create_graph=True)
    (h,) = fg.grad(g, [x], [seeds[1]], create_graph=True)
    (k,) = fg.grad(h, [x], [seeds[2]])
    np.testing.assert_allclose([g.item(), h.item(), k.item()], [0.72 - 0.21j, 6.6 + 1.2j, 6 + 12j], rtol=1e-12)


def test_grad_accumulates_as_users_see_it() -> None:
    x = leaf()
    seen = []
    y = x * x

    def hook(g: Any) -> Any:
        seen.append(g.tolist())
        return g * 1j

    y.register_hook(hook)
    y.retain_grad()
    (y.real.sum() + 2 * y.imag.sum()).backward()
    assert seen == [[1 + 2j, 1 + 2j]]
    np.testing.assert_allclose(x.grad.numpy(), [10j, 2.6 + 0.2j])
    np.testing.assert_allclose(y.grad.numpy(), [-2 + 1j] * 2)
    (2 * x.imag.sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), [12j, 2.6 + 2.2j])


@pytest.mark.parametrize("dialect", [fg, torch])
def test_assigned_parts_are_written(dialect: Any) -> None:
    z = dialect.zeros([2], dtype=dialect.complex128)
    view = z[:1]
    z.imag = [2.0, 3.0]
    z.real = 4
    z.real *= 2
    assert z.tolist() == [8 + 2j, 8 + 3j]
    assert view.tolist() == [8 + 2j]
    t = fg.tensor([3.0, 4.0], dtype=fg.float64, requires_grad=True)
    z.imag = t
    (g,) = fg.grad([fg.sum(fg.square(fg.abs(z)))], [t])
    assert g.tolist() == [6.0, 8.0]
    r = dialect.ones([2])
    r.real = 3
    assert r.tolist() == [3.0, 3.0]
    refused = pytest.raises(
        (TypeError, ValueError, RuntimeError), match=r"no imaginary parts to write|non-complex dtypes"
    )
    with refused:
        r.imag = 1
    with pytest.raises((RuntimeError, ValueError), match="does not broadcast"):
        z.imag = dialect.ones([3])


def test_node_hooks_and_nodes_as_functions() -> None:
    x = torch.tensor(X, requires_grad=True)
    y: Any = torch.exp(x)
    seen: list[Any] = []
    y.grad_fn.register_prehook(lambda g: seen.append(g[0].tolist()))
    y.grad_fn.register_hook(lambda grads, g: seen.append((grads[0].tolist(), g[0].tolist())))
    seed = torch.tensor(np.array([1j, 2]))
    (g,) = torch.autograd.grad(y, [x], [seed], retain_graph=True)
    want = np.array([1j, 2]) * np.conj(np.exp(X))
    np.testing.assert_allclose(g.numpy(), want)
    np.testing.assert_allclose(seen[0], [1j, 2])
    np.testing.assert_allclose(seen[1], [want, [1j, 2]])
    np.testing.assert_allclose(y.grad_fn(seed).detach().numpy(), want)
    leafward = []
    x.register_hook(lambda g: leafward.append(g.tolist()))
    y.backward(seed)
    np.testing.assert_allclose(leafward[0], want)


class Square(fg.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensor()
        return g * (2 * fg.conj(x))

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        (x,) = ctx.saved_tensor()
        return 2 * x * t


def test_functions_see_gradients_as_users_do() -> None:
    x, other = leaf(), leaf()
    fg.abs(Square.apply(x)).sum().backward()
    fg.abs(other * other).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), other.grad.numpy())
    tangent = fg.tensor(np.array([1j, 2 - 1j]))
    _, moved = func.jvp(Square.apply, (fg.tensor(X),), (tangent,))
    np.testing.assert_allclose(moved.numpy(), 2 * X * tangent.numpy())


def test_a_function_with_a_real_input_may_return_a_complex_gradient() -> None:
    class Turn(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1j

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * -1j

    r = fg.tensor([2.0], dtype=fg.float64, requires_grad=True)
    (g,) = fg.grad(Turn.apply(r), [r], [fg.tensor(np.array([3 + 4j]))])
    assert (g.tolist(), g.dtype) == ([4.0], fg.float64)


def test_seeds() -> None:
    x = leaf()
    with pytest.raises(fg.ArgumentError, match="only for real scalar outputs"):
        (x * x).sum().backward()
    with pytest.raises(fg.DtypeError, match="take its real part"):
        fg.grad(fg.abs(x), [x], [fg.tensor(X)])


def test_transforms() -> None:
    x = fg.tensor(X)
    g = func.grad(lambda x: fg.abs(fg.sin(x)).sum())(x)
    s, c = np.sin(X), np.cos(X)
    np.testing.assert_allclose(g.numpy(), s / abs(s) * np.conj(c))
    _, pull = func.vjp(fg.sin, x)
    (v,) = pull(fg.tensor(np.array([1j, 2])))
    np.testing.assert_allclose(v.numpy(), np.array([1j, 2]) * np.conj(c))
    _, t = func.jvp(fg.sin, (x,), (fg.tensor(np.array([1j, 2])),))
    np.testing.assert_allclose(t.numpy(), np.array([1j, 2]) * c)
    _, t = func.jvp(fg.abs, (x,), (fg.tensor(np.array([1j, 2])),))
    np.testing.assert_allclose(t.numpy(), np.real(np.conj(X) / abs(X) * np.array([1j, 2])))
    each = func.vmap(func.grad(lambda z: fg.abs(z * z)))(x)
    np.testing.assert_allclose(each.numpy(), 2 * X)


def test_points_without_a_direction_have_zero_derivatives() -> None:
    for f in (fg.abs, fg.angle):
        x = leaf([0j])
        (g,) = fg.grad(f(x).sum(), [x])
        assert g.tolist() == [0j]
    x = leaf([0j])
    (g,) = fg.grad(fg.sgn(x).real.sum(), [x])
    assert g.tolist() == [0j]


def test_empty_and_scalar_tensors() -> None:
    empty = leaf(np.zeros((0, 3), np.complex64))
    assert fg.exp(empty).shape == (0, 3)
    assert fg.sum(empty).item() == 0
    (g,) = fg.grad(fg.abs(empty).sum(), [empty])
    assert (g.shape, g.dtype) == ((0, 3), fg.complex64)
    assert fg.view_as_real(empty).shape == (0, 3, 2)
    assert fg.view_as_complex(fg.zeros((0, 2))).shape == (0,)
    assert fg.matmul(empty, fg.zeros((3, 2), dtype=fg.complex64)).shape == (0, 2)
    assert fg.conj(fg.tensor(1j)).item() == -1j


FUNCTIONS = [
    *("exp", "expm1", "log", "log2", "log10", "sqrt", "sin", "cos", "tan", "asin"),
    *("acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
]
EDGES = [-np.inf, -1e300, -30.0, -1.0, -1e-20, -0.0, 0.0, 1e-300, 0.5, 1.0, 2.0, 1e200, np.inf]
GRID = np.array([complex(re, im) for re in EDGES for im in EDGES])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("width", ["complex64", "complex128"])
def test_edges_are_those_of_numpy(name: str, width: str) -> None:
    """Signed zeros say on which side of a branch cut a point lies, and infinities are kept."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        grid = GRID.astype(width)
        theirs = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
        theirs |= {f"a{n}h": f"arc{n}h" for n in ("sin", "cos", "tan")}
        want = getattr(np, theirs.get(name, name))(grid)
        got = getattr(fg, name)(fg.tensor(grid)).numpy()
    if name == "expm1":
        # The real part at 0 is 0, by the standard of the array API; NumPy has -0 for one of -0.
        want.real[grid == 0] = 0.0
    digits = 1e-5 if width == "complex64" else 1e-13
    for part in ("real", "imag"):
        a, b = getattr(got, part), getattr(want, part)
        # C99 leaves the sign open where the other part is NaN.
        whole = ~(np.isnan(got.real) | np.isnan(got.imag) | np.isnan(want.real) | np.isnan(want.imag))
        known = whole | np.isfinite(b) & (b != 0)
        size = np.where(np.isfinite(abs(want)), abs(want), 1)
        with np.errstate(all="ignore"):
            near = (a == b) | (abs(a - b) <= digits * size)
        assert near[known].all(), [(grid[i], got[i], want[i]) for i in np.flatnonzero(known & ~near)[:5]]
        sided = known & (b == 0) & (a == 0)
        turned = sided & (np.signbit(a) != np.signbit(b))
        assert not turned.any(), [(grid[i], got[i], want[i]) for i in np.flatnonzero(turned)[:5]]


def test_nan_in_one_part_is_that_of_c99() -> None:
    x = fg.tensor([complex(0, np.nan), complex(np.nan, 1e300)], dtype="complex128")
    found = fg.acosh(x).numpy()[0]
    assert np.isnan(found.real)
    assert found.imag == np.pi / 2
    found = fg.atanh(x).numpy()[1]
    assert np.isnan(found.real)
    assert np.isnan(found.imag)


def test_products_of_matrices() -> None:
    generator = np.random.default_rng(0)

    def drawn(*shape: int) -> Any:
        return generator.normal(size=shape) + 1j * generator.normal(size=shape)

    for m, k, n in [(1, 1, 1), (2, 3, 4), (40, 50, 60), (1, 70, 30), (200, 130, 90), (3, 0, 2)]:
        a, b = drawn(m, k), drawn(k, n)
        np.testing.assert_allclose((fg.tensor(a) @ fg.tensor(b)).numpy(), a @ b, rtol=1e-12, atol=1e-12)
    a, b = drawn(5, 2, 3), drawn(3)
    np.testing.assert_allclose((fg.tensor(a) @ fg.tensor(b)).numpy(), a @ b)
    np.testing.assert_allclose(fg.vecdot(fg.tensor(a), fg.tensor(b)).numpy(), np.vecdot(a, b))
    np.testing.assert_allclose(fg.dot(fg.tensor(b), fg.tensor(b)).numpy(), b @ b)
    np.testing.assert_allclose(fg.einsum("bij,j->bi", fg.tensor(a), fg.tensor(b)).numpy(), a @ b)
    np.testing.assert_allclose(fg.outer(fg.tensor(b), fg.tensor(b)).numpy(), np.outer(b, b))


def test_numpy_functions_of_complex_tensors() -> None:
    x = leaf()
    np.testing.assert_allclose(np.conj(x).tolist(), X.conj())
    np.testing.assert_allclose(np.real(x).tolist(), X.real)
    np.testing.assert_allclose(np.imag(x).tolist(), X.imag)
    np.testing.assert_allclose(np.angle(x).tolist(), np.angle(X))
    assert np.iscomplexobj(x)
    assert not np.isrealobj(x)
    np.testing.assert_allclose((np.exp(x) * (1 + 1j)).tolist(), np.exp(X) * (1 + 1j))
    assert isinstance(np.conj(x), fg.Tensor)
    assert np.conj(x).requires_grad


@pytest.mark.parametrize(("width", "real"), WIDTHS)
def test_parts(width: str, real: str) -> None:
    x = fg.tensor(X.astype(width))
    for part in (x.real, x.imag, fg.abs(x), fg.angle(x), fg.view_as_real(x)):
        assert part.dtype == real
    assert x.conj().dtype == width
    assert fg.view_as_complex(fg.view_as_real(x)).tolist() == x.tolist()
    assert fg.isreal(fg.tensor([1j, 1])).tolist() == [False, True]
    assert fg.iscomplex(fg.tensor([1j, 1])).tolist() == [True, False]
    assert fg.is_complex(x)
    assert not fg.is_complex(x.real)
    assert torch.is_complex(torch.tensor([1j]))
    assert fg.real(x.real).tolist() == x.real.tolist()
    assert x.real.imag.tolist() == [0.0, 0.0]


def test_functions_are_exact_where_a_part_overflows_or_cancels() -> None:
    """Numbers of mpmath with 40 digits, at points where NumPy's have few right digits or overflow."""
    for f, z, want in [
        (fg.log1p, -0.75 + 0.1j, -1.312084358560754 + 0.38050637711236491j),
        (fg.log1p, -1e-20 + 1e-10j, -4.9999999999999991e-21 + 1e-10j),
        (fg.exp, 750 + 1e-300j, complex(np.inf, 5.2584945414548043e25)),
        (fg.sinh, 750 - 1e-20j, complex(np.inf, -2.6292472707274019e305)),
        (fg.expm1, 1e-10 + 1e-12j, 1.000000000049995e-10 + 1.0000000001e-12j),
        (fg.tanh, 30 + 1j, 1 + 1.5924545408982667e-26j),
        (fg.asinh, 1e-12 + 1j, 1.0000000000000833e-6 + 1.5707953267948966j),
    ]:
        got = f(fg.tensor(np.complex128(z))).item()
        np.testing.assert_allclose([got.real, got.imag], [want.real, want.imag], rtol=1e-13)
