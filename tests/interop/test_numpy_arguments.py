"""Functions take NumPy's integers wherever they take Python's."""

from typing import Any

import ferrograd as fg
import numpy as np
import pytest

from tests import check
from tests.cases import Case, all_cases


def converted(value: Any, integer: type[np.integer] = np.int64) -> Any:
    """The same argument with NumPy's integers; None if it has no integer, or one that NumPy cannot hold."""
    if type(value) is int:
        return integer(value) if abs(value) < 2**63 else None
    if isinstance(value, (list, tuple)) and value and all(type(v) is int for v in value):
        return type(value)(map(integer, value))
    return None


ROWS = [c for c in all_cases() if any(converted(v) is not None for v in c.kw.values())]


@pytest.mark.parametrize("case", ROWS, ids=lambda c: c.id)
def test_numpy_integers(case: Case) -> None:
    f = check.function(case.op)
    check.seed(0)
    want = check.flat(f(*check.tensors(case), **case.kw))
    for integer in (np.int64, np.int16):
        kw = {k: v if converted(v) is None else converted(v, integer) for k, v in case.kw.items()}
        check.seed(0)
        got = check.flat(f(*check.tensors(case), **kw))
        for g, w in zip(got, want, strict=True):
            np.testing.assert_array_equal(np.asarray(g), np.asarray(w))


def test_shapes_and_axes_as_arrays() -> None:
    x: Any = fg.tensor(np.zeros((2, 6)))
    assert x.reshape(np.array([3, 4])).shape == (3, 4)
    assert x.sum(axis=np.array([0, 1])).shape == ()
    assert x.reshape(fg.tensor(3), fg.tensor([4])).shape == (3, 4)
    assert fg.zeros(np.int64(3)).shape == (3,)
    joined: Any = x.shape[:1] + (np.int8(2),)  # noqa: RUF005
    assert fg.zeros(joined).shape == (2, 2)
