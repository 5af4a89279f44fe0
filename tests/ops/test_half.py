"""float16 and bfloat16: they are stored in two bytes, and every op computes with them in float32."""

from __future__ import annotations

import copy
import pickle
from typing import Any, cast

import ferrograd as fg
import numpy as np
import pytest

from tests import check
from tests.cases import Case, all_cases, normal

HALVES = ["float16", "bfloat16"]
#: Each number of random bits has as many as its dtype holds.
DRAWN = {"rand_like"}


def floats(case: Case) -> bool:
    """Whether an input of the row is a float."""
    parts = [part for a in case.inputs for part in (a if isinstance(a, list) else [a])]
    return any(np.asarray(part).dtype.kind == "f" for part in parts) and not any(
        np.asarray(part).dtype.kind == "c" for part in parts
    )


def reads_limits(case: Case) -> bool:
    """Whether the result depends on the largest number of the dtype: that of float32 is another one."""
    return case.op == "nan_to_num" and not case.kw and not np.isfinite(case.inputs[0]).all()


ROWS = [case for case in all_cases() if floats(case) and case.op not in DRAWN and not reads_limits(case)]


def is_prepared(case: Case) -> bool:
    return case.prepare is not Case("", ()).prepare


def differentiated(case: Case) -> tuple[int, ...]:
    """Positions of the arguments that are differentiated: all, where the row prepares them."""
    return tuple(range(9)) if is_prepared(case) and case.order else check.differentiated(case)


def attempt(case: Case, args: list[Any]) -> Any:
    """All results of the row's op, or the class of its refusal."""
    fg.manual_seed(5)
    try:
        return check.flat(check.function(case.op)(*case.lead, *args, **case.kw))
    except fg.FerrogradError as error:
        return type(error)


def inputs(case: Case, half: str, dtype: str) -> list[Any]:
    """The arguments of the row's op with the floats rounded to a half dtype and held in another one."""

    def one(i: int, a: Any) -> Any:
        if isinstance(a, list):
            return [one(i, part) for part in a]
        if np.asarray(a).dtype.kind not in "biuf":
            return a
        t = fg.tensor(np.asarray(a))
        if t.dtype.kind == "f":
            t = t.astype(half).astype(dtype)
        t.requires_grad = t.dtype.kind == "f" and i in differentiated(case)
        return t

    return [one(i, a) for i, a in enumerate(case.prepare(*case.inputs))]


def same(found: Any, wide: Any, half: str, what: str) -> None:
    """A result is the float32 result rounded once; a result of another dtype is the same."""
    if not isinstance(found, fg.Tensor):
        assert found == wide or found.name in HALVES, what
        return
    assert found.dtype == (half if wide.dtype == "float32" else wide.dtype), what
    wanted = wide.detach().astype(found.dtype)
    np.testing.assert_array_equal(
        np.asarray(found.detach().tolist()), np.asarray(wanted.tolist()), err_msg=what, strict=True
    )


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("case", ROWS, ids=lambda c: c.id)
def test_every_row_computes_in_float32_and_rounds_once(case: Case, half: str) -> None:
    args, wider = inputs(case, half, half), inputs(case, half, "float32")
    found, wide = attempt(case, args), attempt(case, wider)
    if isinstance(wide, type):
        assert found == wide
        return
    assert len(found) == len(wide)
    for f, w in zip(found, wide, strict=True):
        same(f, w, half, case.id)
    if not differentiated(case):
        return
    found, wide = ([y for y in outs if y.requires_grad] for outs in (found, wide))
    generator = np.random.default_rng(3)
    seeds = [fg.tensor(check.drawn(generator, y)).astype(y.dtype) for y in found]
    wides = [s.astype(y.dtype) for s, y in zip(seeds, wide, strict=True)]
    leaves, wider = (
        [t for a in all for t in check.flat(a) if getattr(t, "requires_grad", False)] for all in (args, wider)
    )
    try:
        wanted = check.run(wide, wider, wides)
    except fg.FerrogradError as error:
        with pytest.raises(type(error)):
            check.run(found, leaves, seeds)
        return
    grads = check.run(found, leaves, seeds)
    for g, w in zip(grads, wanted, strict=True):
        same(g, w, half, f"{case.id}: gradient")


@pytest.mark.parametrize("half", HALVES)
def test_any_order_both_modes_and_batches(half: str) -> None:
    a = normal(4)
    x = fg.tensor(a, dtype=half, requires_grad=True)
    z = x.detach().astype("float32").requires_grad_()

    def f(x: Any) -> Any:
        return (fg.sin(x) * x).sum()

    y, w = f(x), f(z)
    for _ in range(3):
        (y,), (w,) = fg.grad(y, [x], create_graph=True), fg.grad(w, [z], create_graph=True)
        assert y.dtype == half
        np.testing.assert_allclose(y.detach().astype("float32").numpy(), w.detach().numpy(), rtol=0.05, atol=0.05)
        y, w = y.sum(), w.sum()
    rows = fg.tensor(normal(3, 4), dtype=half)
    batched = fg.func.vmap(f)(rows)
    assert batched.dtype == half
    assert batched.tolist() == [f(row).item() for row in rows]
    value, tangent = fg.func.jvp(f, (x.detach(),), (fg.ones((4,), dtype=half),))
    assert (value.dtype, tangent.dtype) == (half, half)


@pytest.mark.parametrize("half", HALVES)
def test_creation(half: str) -> None:
    for made in (
        fg.zeros((2,), dtype=half),
        fg.ones((2,), dtype=half),
        fg.full((2,), 1.5, dtype=half),
        fg.arange(3, dtype=half),
        fg.linspace(0, 1, 5, dtype=half),
        fg.eye(2, dtype=half),
        fg.tensor([1.5, 2], dtype=half),
        fg.tensor([[True]], dtype=half),
        fg.tensor(2, dtype=half),
        fg.tensor([fg.tensor(1.0, dtype=half), 2]),
        fg.rand((4,), dtype=half),
        fg.randn((4,), dtype=half),
        fg.uniform(0, 1, (4,), dtype=half),
        fg.normal(0, 1, (4,), dtype=half),
        fg.randint(0, 9, (4,), dtype=half),
        fg.bernoulli(fg.tensor([0.5], dtype=half)),
    ):
        assert made.dtype == half
        assert made.itemsize == 2
    assert fg.arange(3, dtype=half).tolist() == [0, 1, 2]
    assert fg.zeros_like(fg.ones((2,), dtype=half)).dtype == half
    drawn = fg.rand((200_000,), dtype=half)
    assert drawn.min().item() >= 0
    assert drawn.max().item() < 1
    assert abs(drawn.astype("float32").mean().item() - 0.5) < 0.01
    fg.set_default_dtype(half)
    try:
        assert fg.tensor(1.5).dtype == fg.zeros((2,)).dtype == fg.rand((2,)).dtype == half
        assert fg.sin(fg.tensor([1])).dtype == half
    finally:
        fg.set_default_dtype("float32")


def test_promotion() -> None:
    half, brain = fg.tensor([1.5], dtype="float16"), fg.tensor([1.5], dtype="bfloat16")
    assert (half + brain).dtype == fg.float32
    for x in (half, brain):
        assert (x * 0.1).dtype == (2 * x).dtype == (x + fg.tensor([1])).dtype == x.dtype
        assert (x + fg.tensor([True])).dtype == x.dtype
        assert (x + fg.tensor([1.0])).dtype == fg.float32
        assert (x + fg.tensor([1.0], dtype="float64")).dtype == fg.float64
        assert (x * 1j).dtype == (x + fg.tensor([1j])).dtype == fg.complex64
        assert fg.concat([x, fg.tensor([1.0])]).dtype == fg.float32
        assert fg.result_type(x, 1.5) == x.dtype
        assert x.sum(dtype="float64").dtype == fg.float64
        assert fg.tensor([1.0, 2.0]).sum(dtype=x.dtype).dtype == x.dtype
        assert (x == 1.5).tolist() == [True]
    # A number beside a tensor is compared in the dtype of the tensor.
    assert (fg.tensor([0.1], dtype="float16") == 0.1).tolist() == [True]


@pytest.mark.parametrize("half", HALVES)
def test_sums_are_rounded_once(half: str) -> None:
    ones = fg.ones((5000,), dtype=half)
    assert ones.sum().item() == fg.tensor(5000.0).astype(half).item()
    # The sum is beyond the largest float16.
    assert abs((ones * 60_000).mean().item() / 60_000 - 1) < 0.01
    assert (ones.reshape((1, -1)) @ ones).item() == ones.sum().item()


#: Lengths around those of registers and of tiles.
LENGTHS = [1, 7, 8, 9, 1023, 1024, 1025, 70_001]


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("n", LENGTHS)
def test_tiles_have_the_bits_of_the_whole(half: str, n: int) -> None:
    generator = np.random.default_rng(n)
    a, b = (fg.tensor(generator.normal(size=n).astype(np.float32) * 9).astype(half) for _ in range(2))
    a[0] = float("nan")
    functions = [fg.exp, fg.tanh, fg.relu, fg.abs, fg.isnan, fg.add, fg.divide, fg.maximum, fg.less, fg.remainder]
    operators: list[Any] = [lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y]
    for f in (*functions, *operators, lambda x, y: x % y):
        operands = (a,) if f in functions[:5] else (a, b)
        found, wide = f(*operands), f(*(x.astype("float32") for x in operands))
        same(found, wide, half, str(f))
    # Views, other shapes and other dtypes beside.
    rows = a[: n // 2 * 2].reshape((2, -1))
    for x, y in ((rows.T, rows.T), (rows, rows[0]), (rows, rows[:, :1]), (a[::2], b[::2])):
        if x.size:
            same(x + y, x.astype("float32") + y.astype("float32"), half, "views")
    same(a + b.astype("float64"), a.astype("float64") + b.astype("float64"), half, "float64")
    other = HALVES[half == HALVES[0]]
    assert (a + b.astype(other)).dtype == fg.float32


#: Shapes of which sums come in tiles, and of which they do not.
SUMMED = [(70_001,), (65_536,), (64, 1200), (3, 40_000), (8, 16_384), (40_000, 2), (20, 60, 70)]


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("shape", SUMMED, ids=str)
def test_sums_have_the_bits_of_float32(half: str, shape: tuple[int, ...]) -> None:
    x = fg.tensor(np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)).astype(half)
    wide = x.astype("float32")
    for axis in (None, *range(len(shape)), tuple(range(len(shape)))):
        for keepdims in (False, True):
            found, wanted = (t.sum(axis=axis, keepdims=keepdims) for t in (x, wide))
            same(found, wanted, half, f"{axis} {keepdims}")
    same(x.T.sum(axis=0), wide.T.sum(axis=0), half, "turned")
    assert x.sum(dtype="float32").tolist() == wide.sum().tolist()
    rows = fg.func.vmap(fg.sum)(x)
    same(rows, fg.func.vmap(fg.sum)(wide), half, "rows")
    leaf = x.clone().requires_grad_()
    assert fg.grad(leaf.sum(), leaf).dtype == half


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("shape", [(1,), (5,), (1025,), (70_001,), (30, 41)], ids=str)
def test_programs_have_the_bits_of_their_function(half: str, shape: tuple[int, ...]) -> None:
    generator = np.random.default_rng(2)
    x, y = (fg.tensor(generator.normal(size=shape).astype(np.float32)).astype(half) for _ in range(2))

    def f(x: Any, y: Any) -> Any:
        z = fg.exp(x) * y + fg.tanh(y.T).T - 0.5
        return z, (z * x).sum(), x < y, fg.relu(z)[..., :1], z.astype("float32") + x

    def slope(x: Any, y: Any) -> Any:
        x = x.detach().requires_grad_()
        return fg.grad(f(x, y)[1], x)

    for function in (f, slope):
        compiled = fg.compile(function)
        for _ in range(3):
            found, wanted = (check.flat(g(x, y)) for g in (compiled, function))
            for one, other in zip(found, wanted, strict=True):
                assert one.dtype == other.dtype
                np.testing.assert_array_equal(np.asarray(one.tolist()), np.asarray(other.tolist()))


@pytest.mark.parametrize("half", HALVES)
def test_conversions_of_all_lengths(half: str) -> None:
    every = fg.tensor(np.arange(1 << 16, dtype=np.uint16).view(np.float16)) if half == "float16" else None
    x = fg.tensor(np.linspace(-300, 300, 1 << 16, dtype=np.float32)).astype(half) if every is None else every
    wide = x.astype("float32")
    for n in (*range(40), 1 << 16):
        for start in (0, 1, 5):
            part = x[start : start + n].astype("float32")
            np.testing.assert_array_equal(part.numpy(), wide[start : start + n].numpy())
            back = part.astype(half)
            np.testing.assert_array_equal(back.astype("float32").numpy(), part.numpy())
    if half == "float16":
        np.testing.assert_array_equal(wide.numpy(), x.numpy().astype(np.float32))


@pytest.mark.parametrize("half", HALVES)
def test_writes(half: str) -> None:
    x = fg.zeros((2, 3), dtype=half)
    view = x[0]
    view[1] = 0.1
    view += 1
    x[:, 2] = fg.tensor([7.0, 8.0])
    near = fg.tensor(fg.tensor(0.1, dtype=half).item() + 1, dtype=half).item()
    assert x.tolist() == [[1, near, 7], [0, 0, 8]]
    assert view.dtype == x.T.dtype == half
    x.sin_()
    cast(Any, fg.sin)(fg.ones((2, 3)), out=x)
    assert x.tolist() == [[fg.sin(fg.tensor(1.0)).astype(half).item()] * 3] * 2
    leaf = fg.tensor([1.0] * 3, dtype=half, requires_grad=True)
    y = leaf * 2
    y[1] = 5
    (y * y).sum().backward()
    assert leaf.grad.dtype == half
    assert leaf.grad.tolist() == [8, 0, 8]
    (leaf * 1).sum().backward()
    assert leaf.grad.tolist() == [9, 1, 9]


def test_conversions() -> None:
    x = fg.tensor([1.5, -0.1, float("inf")], dtype="float16")
    a = x.numpy()
    assert a.dtype == np.float16
    assert fg.tensor(a).dtype == np.float16
    assert bytes(memoryview(cast(Any, x))) == a.tobytes()
    assert memoryview(cast(Any, x)).format == "e"
    assert np.array_equal(np.from_dlpack(x), a)
    assert fg.from_dlpack(a).dtype == np.float16
    y = fg.tensor([1.5, -0.1], dtype="bfloat16")
    assert y.tolist() == [1.5, -0.10009765625]
    assert fg.from_dlpack(y).dtype == y.dtype == fg.bfloat16
    assert y.astype("float32").numpy().dtype == np.float32
    with pytest.raises(BufferError, match="float"):
        memoryview(cast(Any, y))
    for t in (x, y):
        for other in (pickle.loads(pickle.dumps(t, p)) for p in (2, 5)):
            assert (other.dtype, other.tolist()) == (t.dtype, t.tolist())
        assert copy.deepcopy(t).tolist() == t.tolist()
    for kind in ("int32", "int64", "uint8", "bool", "float64", "complex64"):
        z = fg.tensor([0, 2, 100]).astype(kind)
        for half in HALVES:
            back = z if kind == "complex64" else z.astype(half)
            assert fg.real(back).astype(half).astype(kind).tolist() == z.tolist()


@pytest.mark.skipif(fg.bfloat16.__class__ is np.dtype, reason="ml_dtypes has given NumPy a bfloat16")
def test_numpy_has_no_bfloat16() -> None:
    y = fg.tensor([1.5], dtype="bfloat16")
    with pytest.raises(fg.DtypeError, match=r"\.float\(\)"):
        y.numpy()
    with pytest.raises(fg.DtypeError, match=r"\.float\(\)"):
        np.asarray(y)
    assert str(y.dtype) == "bfloat16"
    assert (y.dtype.itemsize, y.dtype.kind) == (2, "f")
    assert pickle.loads(pickle.dumps(y.dtype)) is y.dtype


def test_text_and_limits() -> None:
    assert repr(fg.tensor([1.5, 2], dtype="float16")) == "Tensor([1.5, 2. ], dtype=float16)"
    assert repr(fg.tensor([1.5, 2], dtype="bfloat16")) == "Tensor([1.5, 2. ], dtype=bfloat16)"
    assert fg.finfo(fg.float16).max == 65504
    brain = fg.finfo(fg.bfloat16)
    assert fg.tensor(1 + brain.eps, dtype="bfloat16").item() == 1 + brain.eps
    assert fg.tensor(1 + brain.eps / 2, dtype="bfloat16").item() == 1
    assert fg.tensor(brain.max, dtype="bfloat16").item() == brain.max
    assert fg.tensor(brain.smallest_subnormal, dtype="bfloat16").item() == brain.smallest_subnormal > 0


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,)])
def test_small_shapes(half: str, shape: tuple[int, ...]) -> None:
    x = fg.ones(shape, dtype=half)
    for y in (x + x, fg.sin(x), x.T, x.reshape((-1,)) if x.size else x, fg.exp(x)):
        assert y.dtype == half
    assert x.sum().item() == x.size


def test_watched_gradients_are_found() -> None:
    x = fg.tensor([0.0], dtype="float16", requires_grad=True)
    with pytest.raises(fg.NotFiniteError), fg.debug_nans():
        fg.log(x - 1)
