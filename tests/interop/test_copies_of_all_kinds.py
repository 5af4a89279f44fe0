"""Copies and pickles of tensors of every kind, dtype and dialect, with every protocol."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

from tests.dialects import ALL, Dialect

KINDS: dict[str, Callable[[Any], Any]] = {
    "a leaf": lambda x: x,
    "a view": lambda x: x[1:, ::2],
    "transposed": lambda x: x.mT,
    "reversed": lambda x: x[::-1],
    "one element": lambda x: x[0, 0],
    "no elements": lambda x: x[:0],
    "broadcast": lambda x: fg.broadcast_to(x, (2, *x.shape)),
    "detached": lambda x: x.detach(),
}
DTYPES = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {n}": lambda t, n=n: pickle.loads(pickle.dumps(t, n))  # type: ignore[misc]
        for n in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
}


@pytest.mark.parametrize("d", ALL, ids=repr)
@pytest.mark.parametrize("how", COPIES)
def test_copies(how: str, d: Dialect) -> None:
    for dtype in DTYPES:
        for name, make in KINDS.items():
            x = make(d.tensor(np.arange(12).reshape(3, 4).astype(dtype), track=dtype.startswith("float")))
            y = COPIES[how](x)
            where = f"{name} of {dtype}"
            assert type(y) is type(x), where
            assert y.dtype == x.dtype, where
            assert tuple(y.shape) == tuple(x.shape), where
            assert y.stop_gradient == x.stop_gradient, where
            np.testing.assert_array_equal(np.asarray(y.detach()), np.asarray(x.detach()), where)


@pytest.mark.parametrize("how", COPIES)
def test_shared_parts_stay_shared(how: str) -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    both = COPIES[how]({"a": [x], "b": (x, {"c": x})})
    assert both["a"][0] is both["b"][0] is both["b"][1]["c"]
    assert (both["a"][0] is x) == (how == "copy")
