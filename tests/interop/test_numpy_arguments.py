"""NumPy's integers stand wherever Python's do."""

from typing import Any

import numpy as np
import pytest

from tests import check
from tests.cases import Case, all_cases


def converted(value: Any) -> Any:
    """The same argument with NumPy's integers; None if there is no integer in it."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return np.int64(value)
    if isinstance(value, (list, tuple)) and value and all(type(v) is int for v in value):
        return np.array(value)
    return None


ROWS = [c for c in all_cases() if any(converted(v) is not None for v in c.kw.values())]


@pytest.mark.parametrize("case", ROWS, ids=lambda c: c.id)
def test_numpy_integers(case: Case) -> None:
    f = check.function(case.op)
    want = check.flat(f(*check.tensors(case), **case.kw))
    for change in (converted, lambda v: tuple(map(np.int32, v)) if isinstance(v, (list, tuple)) else np.int16(v)):
        kw = {k: v if converted(v) is None else change(v) for k, v in case.kw.items()}
        got = check.flat(f(*check.tensors(case), **kw))
        for g, w in zip(got, want, strict=True):
            np.testing.assert_array_equal(np.asarray(g), np.asarray(w))
