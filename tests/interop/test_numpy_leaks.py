"""No float that depends on a tracked tensor leaves NumPy's functions without its graph, whichever argument it was."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

from tests.interop.numpy_page import ARGUMENTS, OWN_ARGUMENTS, functions

Place = tuple[int, ...]

#: The memory that these functions return was never written.
UNWRITTEN = {"empty_like"}


def places(arguments: Any, at: Place = ()) -> Iterator[Place]:
    """Where the arrays of floats lie in nested arguments."""
    for i, a in enumerate(arguments):
        if isinstance(a, (list, tuple)):
            yield from places(a, (*at, i))
        elif isinstance(a, np.ndarray) and a.dtype == np.float64:
            yield (*at, i)


def part(arguments: Any, place: Place) -> Any:
    for i in place:
        arguments = arguments[i]
    return arguments


def exchanged(arguments: Any, place: Place, value: Any) -> Any:
    """The arguments with one of them exchanged, and copies of the others."""
    made = [copy.deepcopy(a) for a in arguments]
    made[place[0]] = value if len(place) == 1 else exchanged(arguments[place[0]], place[1:], value)
    return type(arguments)(made)


def floats(result: Any) -> list[Any]:
    """The tensors and arrays of floats in a result."""
    if isinstance(result, (list, tuple)):
        return [one for r in result for one in floats(r)]
    kind = result.dtype.kind if isinstance(result, (fg.Tensor, np.ndarray, np.generic)) else ""
    return [result] if kind in ("f", "c") else []


@pytest.mark.parametrize("name", functions())
def test_each_argument_keeps_the_graph_or_is_refused(name: str) -> None:
    f = functions()[name]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for arguments in [OWN_ARGUMENTS[name]] if name in OWN_ARGUMENTS else ARGUMENTS:
            if isinstance(f, np.ufunc) and f.nin != len(arguments):
                continue
            for place in places(arguments):
                check(name, f, arguments, place)


def check(name: str, f: Any, arguments: Any, place: Place) -> None:
    """Calls a function with one tracked argument: what changes with the argument is tracked, or the call is refused."""
    x = part(arguments, place)
    try:
        low, high = (floats(f(*exchanged(arguments, place, x + h))) for h in (-1e-6, 1e-6))
    except Exception:
        # NumPy itself does not take these arguments.
        return
    tracked = fg.tensor(x, requires_grad=True)
    try:
        # Lists beside tensors become arrays of their numbers.
        with fg.numpy_conversion("raise"):
            found = floats(f(*exchanged(arguments, place, tracked)))
    except (TypeError, ValueError, fg.FerrogradError):
        # Whether a refusal says what to write instead is tested for the page.
        return
    assert len(found) == len(low)
    for one, before, after in zip(found, low, high, strict=True):
        assert one.shape == before.shape
        if not np.array_equal(before, after, equal_nan=True) and name not in UNWRITTEN:
            assert getattr(one, "requires_grad", False), (name, place)


LISTS: dict[str, tuple[Any, ...]] = {
    "append": ([0.1, 0.7], [0.3]),
    "average": ([0.1, 0.7], 0, [0.3, 0.6]),
    "bincount": ([0, 1, 1], [0.1, 0.2, 0.7]),
    "clip": ([0.1, 0.7], [0.2, 0.3], [0.6, 0.6]),
    "convolve": ([0.1, 0.7], [0.3, 0.6]),
    "cross": ([0.1, 0.7, 0.2], [0.3, 0.6, 0.9]),
    "dot": ([[0.1, 0.7], [0.3, 0.6]], [0.3, 0.6]),
    "gradient": ([0.1, 0.7, 0.2], [0.3, 0.6, 0.9]),
    "inner": ([0.1, 0.7], [0.3, 0.6]),
    "interp": ([0.1, 0.7], [0.05, 0.9], [0.3, 0.6]),
    "kron": ([0.1, 0.7], [0.3, 0.6]),
    "linalg.solve": ([[2.1, 0.7], [0.3, 1.6]], [0.3, 0.6]),
    "outer": ([0.1, 0.7], [0.3, 0.6]),
    "polyval": ([0.1, 0.7], [0.3, 0.6]),
    "quantile": ([0.1, 0.7], [0.3, 0.6]),
    "tensordot": ([[0.1, 0.7], [0.3, 0.6]], [[0.1, 0.7], [0.3, 0.6]], 1),
    "trapezoid": ([0.1, 0.7], [0.3, 0.6]),
    "where": ([True, False], [0.1, 0.7], [0.3, 0.6]),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_beside_a_tensor_are_arrays_with_numpys_dtype(name: str) -> None:
    f = functions().get(name)
    if f is None:
        pytest.skip("this NumPy has no such function")
    arguments = LISTS[name]
    want = f(*arguments)
    for i, a in enumerate(arguments):
        if np.result_type(np.asarray(a)).kind != "f":
            continue
        x = fg.tensor(np.asarray(a), requires_grad=True)
        made = f(*exchanged(arguments, (i,), x))
        assert made.requires_grad
        np.testing.assert_allclose(made.detach(), want, rtol=1e-14)


def test_numbers_beside_a_tensor_have_numpys_dtype() -> None:
    x: Any = fg.tensor(np.array([0.1, 0.7]), requires_grad=True)
    rows: list[tuple[Any, list[float]]] = [
        (np.append(x, 0.3), [0.1, 0.7, 0.3]),
        (np.stack([x[0], 0.3]), [0.1, 0.3]),
        (np.linspace(x[0], 0.3, 3), [0.1, 0.2, 0.3]),
    ]
    for row, want in rows:
        np.testing.assert_allclose(row.detach(), np.array(want), rtol=1e-14)
    made: Any = np.interp(0.5, [0.1, 0.7], x)
    assert made.requires_grad
    np.testing.assert_allclose(made.detach(), np.interp(0.5, [0.1, 0.7], [0.1, 0.7]), rtol=1e-14)
