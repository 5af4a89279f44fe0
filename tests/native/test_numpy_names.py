"""NumPy's functions that are none of the core: by their names in ``ferrograd``, of tensors and of lists."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func
from ferrograd._core import ArgumentError, IndexOutOfRange, ShapeError
from ferrograd._numpy import functions

V = [3.0, 1.0, 2.0, 1.0]
HOLES = [[1.0, math.nan, 3.0], [4.0, 2.0, math.nan]]
CALLS: dict[str, tuple[Any, ...]] = {
    "append": (V, [5.0]),
    "argpartition": (V, 2),
    "atleast_1d": (2.5,),
    "atleast_2d": (V,),
    "atleast_3d": (V,),
    "average": (V, 0, [1.0, 2.0, 0.0, 1.0]),
    "bartlett": (6,),
    "blackman": (6,),
    "delete": (V, [1, 3]),
    "diag_indices": (3,),
    "digitize": (V, [2.5, 1.5, 0.5]),
    "dsplit": (np.ones((1, 2, 4)), 2),
    "flatnonzero": ([0, 2, 0, 1],),
    "geomspace": (1.0, 1000.0, 7),
    "gradient": (V, 0.5),
    "hamming": (6,),
    "hanning": (6,),
    "hsplit": (np.array(HOLES), 3),
    "insert": (V, [0, 4], [7.0, 8.0]),
    "intersect1d": (V, [1.0, 2.0, 9.0]),
    "kaiser": (6, 8.6),
    "lexsort": ([V, [1, 1, 0, 0]],),
    "logspace": (0.0, 2.0, 5),
    "nanargmax": (HOLES, 1),
    "nanargmin": (HOLES,),
    "nancumprod": (HOLES, 1),
    "nancumsum": (HOLES,),
    "nanmax": (HOLES, 0),
    "nanmedian": (HOLES,),
    "nanmin": (HOLES, (0, 1)),
    "nanpercentile": (HOLES, 30),
    "nanprod": (HOLES,),
    "nanstd": (HOLES, 1),
    "nanvar": (HOLES, 0),
    "partition": (V, 2),
    "percentile": (V, [25, 50]),
    "polyfit": ([0.0, 1.0, 2.0, 4.0], V, 2),
    "polyval": ([1.0, -2.0], V),
    "ravel_multi_index": (([0, 1], [1, 2]), (2, 3)),
    "setdiff1d": (V, [1.0]),
    "tri": (3, 4, 1),
    "tril_indices": (3, -1),
    "triu_indices": (3, 1, 4),
    "union1d": (V, [0.5]),
    "unique": (V,),
    "unravel_index": ([5, 1], (2, 3)),
    "vsplit": (np.array(HOLES), [1]),
}


def test_every_name_is_here() -> None:
    assert functions.__all__ == fg._OF_NUMPY == sorted(CALLS)
    assert not set(CALLS) & vars(fg._core.native).keys()


@pytest.mark.parametrize("name", CALLS)
def test_of_lists_and_of_tensors(name: str) -> None:
    """The results are tensors with NumPy's values and dtypes, also where no argument is a tensor."""
    wanted = getattr(np, name)(*CALLS[name])
    lists = CALLS[name]
    tensors = [
        fg.tensor(np.asarray(a)) if name not in LISTS and isinstance(a, (list, np.ndarray)) else a for a in lists
    ]
    for arguments in (lists, tensors):
        made = getattr(fg, name)(*arguments)
        parts, wants = (list(r) if isinstance(r, (list, tuple)) else [r] for r in (made, wanted))
        for part, want in zip(parts, wants, strict=True):
            assert isinstance(part, fg.Tensor)
            np.testing.assert_allclose(np.asarray(part), want, rtol=1e-13, atol=1e-14)
            assert (part.dtype, tuple(part.shape)) == (np.asarray(want).dtype, np.shape(want))


#: Those whose lists are shapes, sections, places or lists of arrays.
LISTS = {"vsplit", "lexsort", "insert", "delete", "percentile"}


@pytest.mark.parametrize(
    ("name", "call"),
    {
        "average": lambda v: fg.average(v, weights=v * v),
        "delete": lambda v: fg.delete(v, 1),
        "gradient": fg.gradient,
        "insert": lambda v: fg.insert(v, 1, v[0] * v[1]),
        "nanmax": lambda v: fg.nanmax(v * v),
        "nanvar": fg.nanvar,
        "percentile": lambda v: fg.percentile(v * v, 40.0),
        "polyfit": lambda v: fg.polyfit(v, v * v * v, 1),
        "polyval": lambda v: fg.polyval(v, v),
        "partition": lambda v: fg.partition(v * v, 1),
    }.items(),
)
def test_derivatives_and_transforms(name: str, call: Callable[[Any], Any]) -> None:
    x = fg.tensor(np.array([[0.5, 1.5, -1.0, 2.5], [1.0, 0.25, 3.0, -2.0]]))
    fg.testing.check(call, x[0], order=2)
    if name not in NUMBERS:
        together = func.vmap(call)(x)
        np.testing.assert_allclose(together.numpy(), np.stack([call(row).numpy() for row in x]), rtol=1e-13)
    compiled = fg.compile(lambda v: fg.sum(call(v) ** 2)) if name not in NUMBERS else None
    if compiled is not None:
        for row in x:
            np.testing.assert_allclose(compiled(row).item(), fg.sum(call(row) ** 2).item(), rtol=1e-13)


#: Those that ask for numbers.
NUMBERS = {"polyfit"}


def test_complex_half_and_empty() -> None:
    z = fg.tensor([1 + 2j, 3j, math.nan])
    assert fg.nanvar(z, ddof=1).item() == np.nanvar(z.numpy(), ddof=1)
    assert fg.polyval([1, 1j], z[:2]).tolist() == np.polyval([1, 1j], z[:2].numpy()).tolist()
    assert fg.average(fg.tensor([1.0, 3.0], dtype=fg.float16)).dtype == fg.float16
    assert fg.append(fg.zeros([0, 2]), fg.ones([1, 2]), axis=0).tolist() == [[1.0, 1.0]]
    assert fg.insert(fg.zeros([0]), 0, [1.0, 2.0]).tolist() == [1.0, 2.0]
    assert fg.insert([3, 4], [True, False], 5).tolist() == [5, 3, 4]
    assert fg.atleast_3d(1.0, [2.0])[1].shape == (1, 1, 1)
    assert fg.nanargmax(fg.tensor([[1, 5, 2]]), axis=1).tolist() == [1]


def test_bins_and_orders_are_numpys() -> None:
    generator = np.random.default_rng(0)
    x = generator.integers(-3, 4, (3, 50)).astype("float64")
    x[0, 0], x[1, 1] = math.nan, math.inf
    for edges in ([-2.0, 0.0, 0.0, 1.0], [2.0, 1.0, 1.0, -2.0], [0.5], []):
        for right in (False, True):
            found = fg.digitize(fg.tensor(x), edges, right)
            assert (found.tolist(), found.dtype) == (np.digitize(x, edges, right).tolist(), fg.int64)
            batched = fg.func.vmap(lambda row, edges=edges, right=right: fg.digitize(row, edges, right))
            assert batched(fg.tensor(x)).tolist() == found.tolist()
            assert fg.compile(fg.digitize)(fg.tensor(x), edges, right).tolist() == found.tolist()
    assert fg.digitize(fg.tensor(0.1, dtype="float32"), [0.1]).item() == np.digitize(np.float32(0.1), [0.1])
    for axis in (-1, 0, 1):
        keys = [x, np.abs(x), x > 0]
        expected = np.lexsort(keys, axis)
        assert fg.lexsort([fg.tensor(key) for key in keys], axis).tolist() == expected.tolist()
    rows = fg.func.vmap(lambda a, b: fg.lexsort([a, b]))(fg.tensor(x), fg.tensor(x > 0))
    assert rows.tolist() == np.lexsort([x, x > 0]).tolist()
    assert fg.lexsort(fg.tensor(x)).tolist() == np.lexsort(x).tolist()
    z = x[2] + 1j * np.roll(x[2], 1)
    assert fg.lexsort([fg.tensor(z), fg.tensor(z.real > 0)]).tolist() == np.lexsort([z, z.real > 0]).tolist()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: fg.partition(x, 3), ValueError, "partition: kth=3 is out of bounds for an axis of size 3"),
        (lambda x: fg.partition(x, 1.5), TypeError, "integer"),
        (lambda x: fg.polyfit(x, x[:2], 1), ArgumentError, "polyfit: a degree from 0"),
        (lambda x: fg.polyfit(x, x, -1), ArgumentError, "polyfit: a degree from 0"),
        (lambda x: fg.polyfit(x, x, 1, full=True), TypeError, "polyfit: full= is not taken"),
        (lambda x: fg.insert(x, 5, 1.0), IndexOutOfRange, "insert: index 5 is out of bounds"),
        (lambda x: fg.delete(x, 5), IndexOutOfRange, "delete: index 5 is out of bounds"),
        (lambda x: fg.delete(x, x.detach()), IndexOutOfRange, "delete: arrays used as indices must be of integer"),
        (lambda x: fg.partition(x[0], 0), IndexOutOfRange, "partition: "),
        (lambda x: fg.nanmax(x, initial=0.0), TypeError, "nanmax: initial= is not taken"),
        (lambda x: fg.nanargmax(x * math.nan), ValueError, "All-NaN slice"),
        (lambda x: fg.digitize(x, [1.0, 3.0, 2.0]), ValueError, "monotonically"),
        (lambda x: fg.lexsort([]), ShapeError, "lexsort: takes keys of one shape"),
        (lambda x: fg.lexsort([x, x[:2]]), ShapeError, "lexsort: takes keys of one shape"),
        (lambda x: fg.lexsort([x], 1), IndexOutOfRange, "^lexsort: "),
        (lambda x: fg.geomspace(x, 3.0), TypeError, r"numpy.geomspace has no gradient for Tensors; detach\(\)"),
        (lambda x: fg.intersect1d(x, x, return_indices=True), TypeError, "return_indices= is not taken"),
        (lambda x: fg.nanmax(x, axis=7), IndexOutOfRange, "^nanmax: "),
        (lambda x: np.nanmax(x, axis=7), IndexOutOfRange, "^nanmax: "),
        (lambda x: fg.append(x, [[1.0]], axis=0), ShapeError, "^append: "),
        (lambda x: fg.average(x, weights=[1.0, 2.0]), ValueError, "average: weights have the shape"),
    ],
)
def test_refusals(call: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(fg.tensor([1.0, 2.0, 3.0], requires_grad=True))


def test_errors_of_gradient_name_no_dialect() -> None:
    with pytest.raises(fg.ArgumentError, match=r"^gradient only supports edge_order=1 and edge_order=2, got 3"):
        fg.gradient(fg.ones((4,)), edge_order=3)
    with pytest.raises(fg.ArgumentError, match=r"^gradient expected each dimension size to be at least edge_order"):
        fg.gradient(fg.ones((1,)))
