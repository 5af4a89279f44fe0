"""Creation: tensors made from shapes, ranges and constants."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases import Case

X = np.arange(6.0).reshape(2, 3)


def made(op: str, ref: Callable[..., Any], **kw: Any) -> Case:
    return Case(op, (), kw, ref=ref, order=0)


def like(name: str) -> Callable[..., Any]:
    return lambda x, dtype=None: getattr(np, name)(x, dtype=dtype)


CASES = [
    made("zeros", lambda shape: np.zeros(shape, np.float32), shape=(2, 3)),
    made("zeros", np.zeros, shape=(0, 3), dtype="int16"),
    made("ones", lambda shape: np.ones(shape, np.float32), shape=(2, 3)),
    made("ones", np.ones, shape=5, dtype="bool"),
    made("empty", lambda shape: np.zeros(shape, np.float32), shape=(2, 3)),
    made("full", lambda shape, fill_value: np.full(shape, fill_value, np.float32), shape=(2, 3), fill_value=1.5),
    made("full", np.full, shape=(2, 3), fill_value=7),
    made("full", np.full, shape=(), fill_value=True),
    *(Case(f"{name}_like", (X,), ref=like(f"{name}_like"), order=0) for name in ("zeros", "ones")),
    *(Case(f"{name}_like", (X,), {"dtype": "int8"}, ref=like(f"{name}_like"), order=0) for name in ("zeros", "ones")),
    Case("empty_like", (X,), ref=np.zeros_like, order=0),
    Case("full_like", (X,), {"fill_value": 7}, ref=np.full_like, order=0),
    made("arange", np.arange, stop=5),
    made("arange", np.arange, start=2, stop=9, step=3),
    made("arange", np.arange, start=9, stop=2, step=-3),
    made("arange", np.arange, start=2, stop=9, step=-1),
    made("arange", np.arange, start=0, stop=1, step=0.1, dtype="float64"),
    made("arange", lambda stop: np.arange(stop, dtype=np.float32), stop=2.5),
    made("arange", np.arange, stop=5, dtype="float64"),
    made("linspace", np.linspace, start=-1, stop=3, num=9, dtype="float64"),
    made("linspace", np.linspace, start=0, stop=7, num=7, endpoint=False, dtype="float64"),
    made("linspace", np.linspace, start=2, stop=5, num=1, dtype="float64"),
    made("linspace", np.linspace, start=2, stop=5, num=0, dtype="float64"),
    made("linspace", np.linspace, start=5, stop=-4, num=4, dtype="int64"),
    made("eye", lambda n_rows: np.eye(n_rows, dtype=np.float32), n_rows=3),
    made(
        "eye", lambda n_rows, n_cols, k, dtype: np.eye(n_rows, n_cols, k, dtype), n_rows=3, n_cols=5, k=2, dtype="int32"
    ),
    made(
        "eye", lambda n_rows, n_cols, k, dtype: np.eye(n_rows, n_cols, k, dtype), n_rows=3, n_cols=2, k=-1, dtype="bool"
    ),
    made("eye", lambda n_rows, k, dtype: np.eye(n_rows, k=k, dtype=dtype), n_rows=2, k=-9, dtype="float64"),
    made("eye", lambda n_rows, k, dtype: np.eye(n_rows, k=k, dtype=dtype), n_rows=2, k=2**70, dtype="float64"),
    made("eye", lambda n_rows, k, dtype: np.eye(n_rows, k=k, dtype=dtype), n_rows=2, k=-(2**200), dtype="float64"),
    Case("set_default_dtype", (), {"dtype": "float32"}, order=0, note="tests/ops/test_create.py"),
    Case("get_default_dtype", (), order=0, note="tests/ops/test_create.py"),
]
