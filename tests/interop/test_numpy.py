"""NumPy accepts tensors, and its functions on tracked tensors are differentiable."""

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
import scipy.special
from ferrograd import _core
from ferrograd._numpy import protocol
from ferrograd._numpy.table import ACCUMULATE, FUNCTIONS, REDUCE, RENAMED, SAME

TORCH = 2


def gradient(y: Any, x: Any) -> np.ndarray:
    return np.asarray(fg.grad(y, x))


# Values


def test_asarray_is_a_read_only_view() -> None:
    t = fg.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    a = np.asarray(t)
    assert a.dtype == np.float64
    assert not a.flags.writeable
    assert np.shares_memory(a, np.asarray(t))
    with pytest.raises(ValueError, match="read-only"):
        a[0] = 1
    np.testing.assert_array_equal(np.asarray(t.T), a.T)
    assert np.shares_memory(np.asarray(t.T), a)


def test_copies() -> None:
    t = fg.tensor([1.0, 2.0])
    copy = np.array(t)
    copy[0] = 9
    assert t.tolist() == [1.0, 2.0]
    assert np.asarray(t, dtype=np.float64).dtype == np.float64
    assert np.shares_memory(np.array(t, copy=False), np.asarray(t))
    for call in (np.asarray, lambda x, **kw: x.__array__(**kw)):
        with pytest.raises(ValueError, match="copy"):
            call(t, dtype=np.float64, copy=False)
    assert t.__array__(copy=True).flags.writeable
    assert not t.__array__().flags.writeable
    assert t.__array__(np.float64).dtype == np.float64


def test_a_tracked_torch_tensor_refuses_only_numpy() -> None:
    t = _core.make([1.0], None, True, TORCH)
    with pytest.raises(RuntimeError, match="requires grad"):
        t.numpy()
    assert np.asarray(t).tolist() == [1.0]


def test_lists_of_tensors() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    parts = [x.sum(), (x * x).sum()]
    assert np.array(parts).tolist() == [3.0, 5.0]
    assert np.array(parts).dtype == np.float32
    assert np.array([x, x]).shape == (2, 2)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "uint64", "float32", "float64"])
def test_buffer(dtype: str) -> None:
    a: Any = np.array([[1, 0, 1], [0, 1, 1]], dtype)
    t: Any = fg.tensor(a)
    m = memoryview(t)
    assert m.readonly
    assert m.shape == (2, 3)
    assert m.strides == a.strides
    assert m.tolist() == a.tolist()
    assert m.format == memoryview(a).format
    assert bytes(t) == a.tobytes()
    back = np.frombuffer(t, dtype)
    assert back.tolist() == a.ravel().tolist()
    assert memoryview(t.T).tolist() == a.T.tolist()


def lent(values: Any) -> memoryview:
    t: Any = fg.tensor(values)
    return memoryview(t)


def test_buffer_outlives_the_tensor() -> None:
    m = lent(np.arange(1000))
    assert m[999] == 999
    m.release()


def test_buffer_refusals() -> None:
    t: Any = fg.tensor(np.zeros((2, 3)))
    with pytest.raises(BufferError, match="contiguous"):
        np.frombuffer(t.T)
    with pytest.raises((BufferError, TypeError)):
        memoryview(t)[0, 0] = 1
    assert np.asarray(lent(1.0)).item() == 1.0
    assert lent(np.zeros((0, 2))).shape == (0, 2)


# Universal functions

X = np.array([[0.3, 0.55], [0.7, 0.9]])


#: Functions that some NumPy that we support has not.
NOT_ALWAYS = {"astype", "concat", "cumulative_prod", "cumulative_sum", "matrix_transpose", "permute_dims"}
NOT_ALWAYS |= {"trapezoid", "trapz", "unstack"}


def test_every_name_in_the_table_exists() -> None:
    targets = [*SAME, *RENAMED.values(), *REDUCE.values(), *ACCUMULATE.values()]
    targets += [row.partition(":")[0] for row in FUNCTIONS.values()]
    assert all(callable(protocol.native(name)) for name in targets)
    numpy_names = [*REDUCE, *ACCUMULATE, *(name for name in FUNCTIONS if "." not in name)]
    assert {name for name in numpy_names if not hasattr(np, name)} <= NOT_ALWAYS
    assert all(hasattr(np, name) or hasattr(scipy.special, name) for name in (*SAME, *RENAMED))


@pytest.mark.parametrize("f", [np.spacing, scipy.special.ellipk, scipy.special.jv, scipy.special.airy], ids=str)
def test_a_ufunc_without_counterpart(f: Any) -> None:
    with pytest.raises(TypeError, match=rf"(numpy|scipy\.special)\.{f.__name__} has no counterpart"):
        f(*[fg.tensor([1, 2])] * f.nin)


UNARY = [n for n in (*SAME, *RENAMED) if getattr(getattr(np, n, None), "nargs", 0) == 2]


@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary(name: str) -> None:
    f = getattr(np, name)
    inside = X + 1 if name == "arccosh" else X
    values = inside if any(t.startswith("d") for t in f.types) else np.array([1, 6, 3])
    want = f(values)
    x = fg.tensor(values, requires_grad=values.dtype.kind == "f")
    y = f(x)
    assert isinstance(y, fg.Tensor)
    assert y.dtype == want.dtype
    np.testing.assert_allclose(y, want, rtol=1e-12)
    if want.dtype.kind == "f":
        h = 1e-6
        slope = (f(values + h) - f(values - h)) / (2 * h)
        np.testing.assert_allclose(gradient(y.sum(), x), slope, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("f", [np.add, np.subtract, np.multiply, np.divide, np.matmul], ids=str)
def test_an_array_on_either_side(f: Any) -> None:
    x = fg.tensor(X, requires_grad=True)
    for y, want in ((f(X + 1, x), f(X + 1, X)), (f(x, X + 1), f(X, X + 1))):
        assert y.requires_grad
        np.testing.assert_allclose(y, want, rtol=1e-12)
    for y in (X + x, X * x, X - x, X / x, X @ x):
        assert isinstance(y, fg.Tensor)
        assert y.requires_grad


def test_dtypes_of_mixed_operands() -> None:
    f32 = fg.tensor([1.0, 2.0])
    assert (f32 * np.float64(2)).dtype == np.float32
    assert (np.float64(2) * f32).dtype == np.float32
    assert (f32 * np.array(2.0)).dtype == np.float64
    assert (np.array(2.0) * f32).dtype == np.float64
    assert (np.ones(2) * f32).dtype == np.float64
    assert (fg.tensor([1, 2]) * np.float32(1.5)).dtype == np.float32
    assert (np.int64(2) * fg.tensor(np.array([1], np.int8))).dtype == np.int8
    assert (f32 * np.longdouble(2)).dtype == np.float32
    assert (f32 * np.bool_(True)).dtype == np.float32


def test_reduce_accumulate_outer() -> None:
    x = fg.tensor(X, requires_grad=True)
    np.testing.assert_allclose(np.add.reduce(x), X.sum(0))
    np.testing.assert_allclose(np.add.reduce(x, axis=(0, 1)), X.sum())
    assert np.add.reduce(x, axis=1, keepdims=True).shape == (2, 1)
    assert np.add.reduce(x).requires_grad
    for f in (np.maximum, np.minimum):
        made: Any = f.accumulate(x, axis=1)
        assert made.requires_grad
        np.testing.assert_array_equal(made, f.accumulate(X, axis=1))
    y = np.multiply.outer(x, np.array([1.0, 2.0, 3.0]))
    assert y.shape == (2, 2, 3)
    assert y.requires_grad
    np.testing.assert_allclose(y, np.multiply.outer(X, np.array([1.0, 2.0, 3.0])))


def test_dtype_option() -> None:
    assert np.add(fg.tensor([1.0]), 1, dtype=np.float64).dtype == np.float64
    assert np.sin(fg.tensor([1, 2]), dtype="float32").dtype == np.float32
    # What NumPy refuses, too: a cast that loses a fraction, and a function that has no such results.
    wrong: list[tuple[Any, Any, Any]]
    wrong = [(np.add, 1.5, int), (np.sin, 1.5, int), (np.sin, 1, int), (np.less, 1.5, float)]
    for f, number, dtype in wrong:
        with pytest.raises(TypeError, match="dtype="):
            f(fg.tensor([number]), *([1] if f.nin == 2 else []), dtype=dtype)
        with pytest.raises(TypeError):
            f(np.array([number]), *([1] if f.nin == 2 else []), dtype=dtype)


def test_out() -> None:
    x = fg.tensor(X, requires_grad=True)
    target = np.zeros((2, 2))
    with pytest.raises(TypeError, match="gradient"):
        np.sin(x, out=target)
    assert not target.any()
    constant = fg.tensor(X)
    assert np.multiply(constant, 2.0, out=target) is target
    np.testing.assert_allclose(target, 2 * X)
    target += constant
    np.testing.assert_allclose(target, 3 * X)


def test_unsupported_functions_and_options_raise() -> None:
    x = fg.tensor(X)
    with pytest.raises(TypeError, match=r"numpy\.spacing"):
        np.spacing(x)
    with pytest.raises(TypeError, match=r"add\.at"):
        np.add.at(x, [0], 1)
    with pytest.raises(TypeError, match="where"):
        np.sin(x, where=X > 0.5)
    with pytest.raises(TypeError, match="initial"):
        np.add.reduce(x, initial=3.0)

    class Other:
        def __array_ufunc__(self, *args: Any, **kwargs: Any) -> str:
            return "other"

    other: Any = Other()
    assert np.add(x, other) == "other"


# Other functions


@pytest.mark.parametrize("f", [np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack])
def test_a_tensor_is_a_sequence_of_its_rows(f: Any) -> None:
    x = fg.tensor(X, requires_grad=True)
    made = f(x)
    assert made.requires_grad
    np.testing.assert_array_equal(made, f(X))


def test_the_variance_of_complex_numbers_that_are_known() -> None:
    z = np.array([1 + 1j, 2.0, np.nan, 3 - 2j])
    x: Any = fg.tensor(z, requires_grad=True)
    np.testing.assert_allclose(np.nanvar(x).detach(), np.nanvar(z))
    made = np.nanstd(x)
    np.testing.assert_allclose(made.detach(), np.nanstd(z))
    h = 1e-6
    step = np.array([h, 0, 0, 0])
    moved = (np.nanstd(z + step) - np.nanstd(z - step)) / (2 * h)
    np.testing.assert_allclose(fg.grad(made, x)[0].real, moved, rtol=1e-6)


def test_functions() -> None:
    x = fg.tensor(X, requires_grad=True)
    for y, want in (
        (np.sum(x), X.sum()),
        (np.sum(x, axis=0, keepdims=True), X.sum(0, keepdims=True)),
        (np.sum(x, 1), X.sum(1)),
        (np.reshape(x, (4,)), X.ravel()),
        (np.reshape(x, -1), X.ravel()),
        (np.transpose(x), X.T),
        (np.transpose(x, (1, 0)), X.T),
        (np.copy(x), X),
    ):
        assert isinstance(y, fg.Tensor)
        assert y.requires_grad
        np.testing.assert_allclose(y, want)
    assert np.shape(x) == (2, 2)
    assert np.ndim(x) == 2
    assert np.size(x) == 4


def test_functions_that_numpy_computes_itself() -> None:
    x = fg.tensor(X, requires_grad=True)
    assert isinstance(np.histogram(x.detach())[0], np.ndarray)
    assert np.array_equal(x, X)
    assert np.allclose([x, x], [X, X])
    with pytest.raises(TypeError, match="where"):
        np.sum(x, where=X > 0.5)


def test_scipys_ufuncs_work_or_raise() -> None:
    x = fg.tensor(X, requires_grad=True)
    if hasattr(fg, "erf"):
        assert scipy.special.erf(x).requires_grad
    with pytest.raises(TypeError, match="ellipk"):
        scipy.special.ellipk(x)


# The array API


def test_namespace() -> None:
    x = fg.tensor([1.0])
    assert x.__array_namespace__() is fg
    assert x.__array_namespace__(api_version="2024.12") is fg
    with pytest.raises(ValueError, match="1999"):
        x.__array_namespace__(api_version="1999.12")
    info = fg.__array_namespace_info__()
    assert info.default_device() == x.device
    assert info.default_dtypes()["real floating"] == x.dtype
    assert set(info.dtypes(kind="integral")) == {f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)}
    for name, dtype in info.dtypes().items():
        assert fg.tensor([0, 1], dtype=dtype).dtype == name
    with pytest.raises(ValueError, match="'nothing'"):
        info.dtypes(kind="nothing")


V = np.array([0.25, 0.5, 0.75])
CUBE = np.random.default_rng(3).normal(size=(2, 3, 4))
HOLES = np.array([[0.25, np.nan, 0.75, 0.5], [0.3, 0.2, np.nan, 1.5]])
#: The name that NumPy 2.0 gave it.
TRAPEZOID = "trapezoid" if hasattr(np, "trapezoid") else "trapz"
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("sum", (X,), {"axis": 1}),
    ("mean", (X, 0), {}),
    ("mean", (X,), {"keepdims": True}),
    ("prod", (X,), {}),
    ("max", (X,), {"axis": 0}),
    ("amin", (X,), {}),
    ("std", (X,), {"ddof": 1}),
    ("var", (X, 0), {"keepdims": True}),
    ("median", (X,), {}),
    ("argmax", (X,), {"axis": 1}),
    ("all", (X,), {}),
    ("count_nonzero", (X,), {}),
    ("cumsum", (X,), {"axis": 0}),
    ("cumsum", (X,), {}),
    ("cumprod", (X, 1), {}),
    ("diff", (X,), {}),
    ("diff", (X,), {"prepend": 0.0, "axis": 0}),
    ("diff", (X, 1, 1, X, X), {}),
    ("nansum", (X,), {"axis": 1}),
    ("nanmean", (X,), {}),
    ("ptp", (X,), {"axis": 0}),
    ("cross", (np.array([0.3, 0.5, 0.7]), np.array([1.0, -2.0, 0.5])), {}),
    ("real", (X,), {}),
    ("sort", (X,), {"axis": 0}),
    ("sort", (X, None), {"kind": "stable"}),
    ("argsort", (-X,), {}),
    ("argsort", (-X,), {"axis": None}),
    ("reshape", (X, (-1, 1)), {"order": "F"}),
    ("reshape", (X[None], -1, "F"), {}),
    ("ravel", (X, "F"), {}),
    ("tril", (X[0], -1), {}),
    ("triu", (X[0],), {}),
    ("clip", (X, 0.4, 0.8), {}),
    ("clip", (X,), {"a_min": 0.4, "a_max": None}),
    ("round", (X, 1), {}),
    ("where", (X > 0.5, X, 2 * X), {}),
    ("dot", (X, X), {}),
    ("dot", (X, X[0]), {}),
    ("dot", (X, np.ones((3, 2, 4))), {}),
    ("dot", (X, np.array(2.0)), {}),
    ("inner", (X, X), {}),
    ("outer", (X, X), {}),
    ("kron", (X, X), {}),
    ("tensordot", (X, X), {"axes": 1}),
    ("einsum", ("ij,kj->ik", X, X), {}),
    ("einsum", (X, [0, 1], X, [2, 1], [2, 0]), {}),
    ("einsum", (X, [..., 1], X, [0, 1]), {}),
    ("trace", (X,), {}),
    ("concatenate", ([X, X],), {"axis": 1}),
    ("concatenate", ((X, X),), {}),
    ("stack", ([X, X], 1), {}),
    ("vstack", ([X, X],), {}),
    ("hstack", ((X, X),), {}),
    ("swapaxes", (X, 0, 1), {}),
    ("moveaxis", (X, 0, 1), {}),
    ("expand_dims", (X, 0), {}),
    ("expand_dims", (X,), {"axis": (0, 1)}),
    ("squeeze", (X[None],), {}),
    ("broadcast_to", (X, (3, 2, 2)), {}),
    ("flip", (X,), {}),
    ("roll", (X, 1), {"axis": 0}),
    ("tile", (X, (2, 1)), {}),
    ("repeat", (X, 2), {"axis": 0}),
    ("tril", (X,), {}),
    ("triu", (X, 1), {}),
    ("diag", (X,), {}),
    ("diagonal", (X,), {}),
    ("take", (X, np.array([1, 0])), {"axis": 0}),
    ("ravel", (X,), {}),
    ("nan_to_num", (X,), {}),
    ("zeros_like", (X,), {}),
    ("full_like", (X, 3.0), {}),
    ("linalg.inv", (X,), {}),
    ("linalg.det", (X,), {}),
    ("linalg.solve", (X, X[0]), {}),
    ("linalg.norm", (X,), {}),
    ("linalg.norm", (X,), {"axis": 1}),
    *[("linalg.norm", (X, ord), {}) for ord in (1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc")],
    ("linalg.norm", (X[0], 3), {}),
    ("linalg.norm", (X, 1), {"axis": (1, 0), "keepdims": True}),
    ("linalg.norm", (X, 0.5), {"axis": -1, "keepdims": True}),
    ("append", (X, V), {}),
    ("append", (X, X), {"axis": 1}),
    ("apply_along_axis", (lambda row: row[:2] * row[1], 0, CUBE), {}),
    ("apply_along_axis", (lambda row: row.sum(), -1, CUBE), {}),
    ("around", (X, 1), {}),
    ("array_split", (V, 2), {}),
    ("astype" if hasattr(np, "astype") else "copy", (X, np.dtype("f8"))[: 1 + hasattr(np, "astype")], {}),
    ("atleast_1d", (X[0, 0:1].reshape(()),), {}),
    ("atleast_2d", (V, X), {}),
    ("atleast_3d", (V, X, CUBE), {}),
    ("average", (CUBE,), {"axis": -1, "weights": np.array([1.0, 2.0, 0.5, 1.0])}),
    ("average", (X,), {"weights": X}),
    ("bincount", (np.array([0, 2, 2]), V), {}),
    ("block", ([[X, X], [V[:2], V[:2]]],), {}),
    ("block", ([V, V],), {}),
    ("compress", ([True, False], X), {"axis": 1}),
    ("convolve", (V, X[0]), {}),
    ("convolve", (V, X[0], "same"), {}),
    ("corrcoef", (CUBE[0],), {}),
    ("correlate", (V, X[0], "full"), {}),
    ("correlate", (V, X[0]), {}),
    ("cov", (X,), {}),
    ("cov", (X,), {"ddof": 0}),
    ("delete", (CUBE, [0, 2], 1), {}),
    ("delete", (CUBE, 3), {}),
    ("diagflat", (V,), {"k": 1}),
    ("dsplit", (CUBE, 2), {}),
    ("ediff1d", (X,), {"to_end": 1.0, "to_begin": [2.0, 3.0]}),
    ("extract", (X > 0.5, X), {}),
    ("fix", (2 * X,), {}),
    ("fliplr", (X,), {}),
    ("flipud", (X,), {}),
    ("gradient", (V,), {}),
    ("gradient", (CUBE,), {}),
    ("gradient", (CUBE, 2.0), {"axis": (0, 2), "edge_order": 1}),
    ("gradient", (CUBE[0], np.array([0.1, 0.4, 0.5])), {"axis": 0, "edge_order": 2}),
    ("hsplit", (X, 2), {}),
    ("hsplit", (V, [1]), {}),
    ("i0", (X,), {}),
    ("interp", (V, np.array([0.0, 0.45, 2.0]), np.array([1.0, 3.0, -1.0])), {}),
    ("linalg.cross", (CUBE[0, :, :3], CUBE[1, :, :3]), {}),
    ("linalg.pinv", (CUBE[0, :, :2],), {}),
    ("insert", (X, 1, V[:2]), {"axis": 0}),
    ("insert", (X, 1, CUBE[0, :, :2]), {"axis": 1}),
    ("insert", (CUBE, [1, -1, 0], X[:, :1, None]), {"axis": 1}),
    ("insert", (V, slice(0, 2), X[0]), {}),
    ("insert", (X, np.array([True, False, True, False]), 5.0), {}),
    ("insert", (X, -1, 7), {}),
    ("insert", (V, [], 7.0), {}),
    ("linspace", (V, 2.0), {"num": 4}),
    ("linspace", (0.0, V), {"num": 4, "endpoint": False, "axis": 1}),
    ("logspace", (V, 2.0, 4), {}),
    ("meshgrid", (V, X[0]), {}),
    ("meshgrid", (V, X[0]), {"indexing": "ij"}),
    ("nancumsum", (HOLES,), {"axis": 1}),
    ("nancumprod", (HOLES,), {}),
    ("nanmax", (HOLES,), {"axis": 0}),
    ("nanmedian", (HOLES,), {}),
    ("nanmin", (HOLES,), {"axis": 1, "keepdims": True}),
    ("nanpercentile", (HOLES, 30), {"axis": 1}),
    ("nanprod", (HOLES,), {}),
    ("nanquantile", (HOLES, 0.3), {}),
    ("nanstd", (HOLES,), {"ddof": 1}),
    ("nanvar", (HOLES,), {"axis": 1, "keepdims": True}),
    ("pad", (X, ((1, 0), (2, 1))), {}),
    ("pad", (X, 1), {"mode": "reflect"}),
    ("pad", (X, 1), {"constant_values": 3.0}),
    ("percentile", (X, [30, 50]), {"axis": 0}),
    ("percentile", (X, 40), {"method": "lower"}),
    ("piecewise", (V, [V < 0.4, V > 0.6], [np.sin, lambda v: v * v, 0.5]), {}),
    ("partition", (CUBE, 1), {"axis": 1}),
    ("partition", (np.sort(V)[::-1], (0, -1)), {"axis": None}),
    ("polyfit", (CUBE[0, 0], CUBE[1, 0], 2), {}),
    ("polyfit", (CUBE[0, 0], CUBE[1].T, 1), {"w": CUBE[1, 1]}),
    ("polyval", ([2.0, -1.0, 0.5], X), {}),
    ("polyval", (V, 0.7), {}),
    ("quantile", (X, 0.4), {"axis": 1, "keepdims": True}),
    ("select", ([X < 0.4, X < 0.8], [X, X * X], 5.0), {}),
    ("setdiff1d", (X, V), {}),
    ("setdiff1d", (V[::-1], X[0]), {"assume_unique": True}),
    ("sinc", (X,), {}),
    ("split", (X, 2, 1), {}),
    (TRAPEZOID, (X,), {"dx": 0.5}),
    (TRAPEZOID, (X, X + 1), {"axis": 0}),
    ("union1d", (X, V), {}),
    ("unwrap", (6 * V,), {}),
    ("vander", (V,), {}),
    ("vander", (V, 2), {"increasing": True}),
    ("vdot", (X, X), {}),
    ("vsplit", (X, 2), {}),
    *[
        (f"linalg.{name}", args, {})
        for name, args in {
            "diagonal": (X,),
            "matmul": (X, X),
            "matrix_norm": (X,),
            "matrix_transpose": (X,),
            "outer": (V, V),
            "tensordot": (X, X),
            "trace": (X,),
            "vecdot": (X, X),
        }.items()
        if hasattr(np.linalg, name)
    ],
]


#: Functions whose results do not depend on the values of their arguments, or are step functions of them.
# Calls whose results jump where zeros, or elements that are equal, move apart; and which elements of the first argument
# the results depend on.
JUMPS: list[tuple[str, tuple[Any, ...], dict[str, Any], list[int]]] = [
    ("intersect1d", (np.append(V, V), V[1:]), {}, [1, 2]),
    ("setdiff1d", (HOLES, V), {}, [1, 4, 5, 7]),
    ("union1d", (HOLES, V), {}, [0, 1, 2, 3, 4, 5, 7]),
    ("unique", (np.append(V, [0.5, 0.25]),), {"return_index": True, "return_counts": True}, [0, 1, 2]),
    ("unique", (HOLES,), {"return_inverse": True}, [0, 1, 2, 3, 4, 5, 7]),
    ("unique", (X[[1, 0, 1]],), {"axis": 0}, [0, 1, 2, 3]),
]
CONSTANT = {"zeros_like", "full_like", "round", "around", "fix"}


def joined(results: Any) -> Any:
    """The elements of several results in one vector, or the one result."""
    if isinstance(results, fg.Tensor) or not isinstance(results, (list, tuple)):
        return results
    tensors = any(isinstance(r, fg.Tensor) for r in results)
    return (fg.concat if tensors else np.concatenate)([r.reshape((-1,)) for r in results])


def swapped(o: Any, make: Callable[[np.ndarray], Any]) -> Any:
    """Nested arguments with ``make`` applied to each array of floats."""
    if isinstance(o, (list, tuple)):
        return type(o)(swapped(p, make) for p in o)
    return make(o) if isinstance(o, np.ndarray) and o.dtype == np.float64 else o


def test_least_squares() -> None:
    a, b = CUBE[0, :, :2], np.array([V, V**2]).T
    x = fg.tensor(a, requires_grad=True)
    for got, want in zip(np.linalg.lstsq(x, b, rcond=None), np.linalg.lstsq(a, b, rcond=None), strict=True):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-10)
    solution: Any = np.linalg.lstsq(x, b, rcond=None)[0]
    assert solution.requires_grad
    _, residuals, rank, _ = np.linalg.lstsq(fg.tensor(a @ [[1.0, 2.0], [2.0, 4.0]]), b, rcond=1e-9)
    assert (residuals.shape, rank) == ((0,), 1)


def test_of_nothing_but_nans_there_is_no_largest() -> None:
    x = fg.tensor([[np.nan, np.nan], [1.0, np.nan]])
    np.testing.assert_equal(np.asarray(np.nanmax(x, axis=1)), [np.nan, 1.0])
    np.testing.assert_equal(np.asarray(np.nanvar(x, axis=1)), [np.nan, 0.0])
    assert np.nanmin(fg.tensor([3, 2])) == 2
    y = fg.tensor([np.nan, 1.0, 3.0], requires_grad=True)
    assert gradient(np.nanvar(y) + np.nanmax(y), y).tolist() == [0.0, -1.0, 2.0]


SPECIAL_FUNCTIONS = [
    "betaln",
    "digamma",
    "entr",
    "erfc",
    "erfcx",
    "gammaln",
    "i0",
    "i1e",
    "j0",
    "j1",
    "k0",
    "k0e",
    "k1",
]
SPECIAL_FUNCTIONS += ["k1e", "log_ndtr", "ndtr", "ndtri", "psi", "xlog1py", "xlogy", "y0", "y1"]


@pytest.mark.parametrize("name", SPECIAL_FUNCTIONS)
def test_scipys_special_functions(name: str) -> None:
    f = getattr(scipy.special, name)
    leaves = [fg.tensor(X, requires_grad=True), fg.tensor(X + 0.05, requires_grad=True)][: f.nin]
    got = f(*leaves)
    arrays = [np.asarray(x.detach()) for x in leaves]
    np.testing.assert_allclose(np.asarray(got.detach()), f(*arrays), rtol=1e-12)
    for i, g in enumerate(fg.grad(got.sum(), leaves)):
        above, below = ([a + h * (i == j) for j, a in enumerate(arrays)] for h in (1e-6, -1e-6))
        np.testing.assert_allclose(np.asarray(g), (f(*above) - f(*below)) / 2e-6, rtol=1e-6)


@pytest.mark.parametrize("f", [np.cov, np.corrcoef])
def test_cov_of_two_tensors_and_of_columns(f: Callable[..., Any]) -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 4, 3))
    x, y = fg.tensor(a, requires_grad=True), fg.tensor(b)
    for i, given in ((0, {}), (slice(None), {}), (slice(None), {"rowvar": False})):
        for args, arrays in (((x[i],), (a[i],)), ((x[i], y[i]), (a[i], b[i])), ((a[i], y[i]), (a[i], b[i]))):
            np.testing.assert_allclose(np.asarray(f(*args, **given).detach()), f(*arrays, **given), rtol=1e-12)
    fg.sum(f(x[0], y[0])).backward()
    assert x.grad is not None
    assert np.isfinite(np.asarray(x.grad)).all()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda x: np.cov(x, bias=True), "bias="),
        (lambda x: np.interp(x[0], [0.0, 1.0], [0.0, 1.0], period=1.0), "period="),
        (lambda x: np.linspace(x[0], 1.0, dtype=np.float32), "dtype="),
        (lambda x: np.meshgrid(x[0], x[0], sparse=True), "sparse="),
        (lambda x: np.nanvar(x, dtype=np.float32), "dtype="),
        (lambda x: np.pad(x, 1, constant_values=(1.0, 2.0)), "constant_values="),
        (lambda x: np.pad(x, 1, "reflect", reflect_type="odd"), "reflect_type="),
        (lambda x: np.nansum(x, initial=1.0), "initial="),
        (lambda x: np.nanmax(x, initial=1.0), "initial="),
    ],
)
def test_an_argument_that_is_not_taken_is_named(call: Callable[[Any], Any], named: str) -> None:
    with pytest.raises(TypeError, match=named):
        call(fg.tensor(X, requires_grad=True))


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool", "float32"])
def test_dtypes_are_numpys(dtype: str) -> None:
    """Integers stay exact, a number takes the dtype of the tensor beside it, and `float_power` is of float64."""
    a, v = np.array([3, 1, 2], dtype), np.array([1, 2], dtype)
    calls: list[Callable[[Any, Any], Any]] = [
        np.convolve, np.correlate, lambda a, v: np.float_power(a[:2], v),
        lambda a, v: np.insert(a, 1, v), lambda a, v: np.append(a, v), np.union1d, lambda a, v: np.unique(a),
    ]  # fmt: skip
    if dtype == "float32":
        calls += [lambda a, v: np.linspace(a, 9.0, 3), lambda a, v: np.logspace(1, a, 3)]
    for call in calls:
        want, made = call(a, v), call(fg.tensor(a), fg.tensor(v))
        assert made.dtype == want.dtype
        np.testing.assert_allclose(made.numpy(), want, rtol=1e-5)
    big = np.array([2**53 + 1, 1])
    assert np.convolve(fg.tensor(big), fg.tensor([1])).tolist() == big.tolist()


@pytest.mark.parametrize(("name", "args", "kwargs", "there"), JUMPS, ids=lambda v: v if isinstance(v, str) else "")
def test_functions_that_choose_by_equality(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], there: list[int]
) -> None:
    """Values, shapes and dtypes are NumPy's, and the elements that the results are have derivatives."""
    leaf = fg.tensor(args[0], requires_grad=True)
    made, wanted = getattr(np, name)(leaf, *args[1:], **kwargs), getattr(np, name)(*args, **kwargs)
    parts, wants = (r if isinstance(r, tuple) else (r,) for r in (made, wanted))
    for part, want in zip(parts, wants, strict=True):
        np.testing.assert_array_equal(part, want)
        assert part.dtype == want.dtype
    assert parts[0].requires_grad
    g = fg.grad(fg.sum(parts[0]), leaf)
    assert np.flatnonzero(g).tolist() == there


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS, ids=lambda v: v if isinstance(v, str) else "")
def test_functions_of_the_table(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Values, shapes and dtypes are NumPy's, and the derivative is not lost."""
    f: Any = np
    for part in name.split("."):
        f = getattr(f, part)
    leaves: list[Any] = []

    def leaf(a: np.ndarray) -> Any:
        leaves.append(fg.tensor(a, requires_grad=True))
        return leaves[-1]

    made, wanted = f(*swapped(args, leaf), **kwargs), f(*args, **kwargs)
    if isinstance(wanted, (list, tuple)):
        assert [np.shape(r) for r in made] == [np.shape(r) for r in wanted]
    got, want = joined(made), joined(wanted)
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12)
    assert np.shape(got) == np.shape(want)
    assert got.dtype == want.dtype
    if name in CONSTANT or want.dtype.kind != "f":
        return
    assert got.requires_grad
    generator = np.random.default_rng(5)
    weight, directions = generator.normal(size=np.shape(want)), [generator.normal(size=x.shape) for x in leaves]
    gradients = fg.grad(got, leaves, grad_outputs=fg.tensor(weight), allow_unused=True)

    def moved(h: float) -> Any:
        along = iter(directions)
        return (weight * joined(f(*swapped(args, lambda a: a + h * next(along)), **kwargs))).sum()

    slope = sum((np.asarray(g) * d).sum() for g, d in zip(gradients, directions, strict=True) if g is not None)
    np.testing.assert_allclose(slope, (moved(1e-6) - moved(-1e-6)) / 2e-6, rtol=1e-6, atol=1e-8)
