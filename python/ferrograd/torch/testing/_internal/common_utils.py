"""The base of PyTorch's own tests."""

from __future__ import annotations

import unittest
from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from ferrograd.torch._tensor import Tensor
from ferrograd.torch.testing import assert_close

__all__ = ["TestCase", "run_tests"]

run_tests = unittest.main


class TestCase(unittest.TestCase):
    """A test case whose ``assertEqual`` compares tensors with the tolerances of their dtypes."""

    def assertEqual(
        self,
        x: Any,
        y: Any,
        msg: Any = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_layout: bool = False,
        exact_stride: bool = False,
    ) -> None:
        """Raises AssertionError unless both are equal; containers are compared item by item."""
        same, equal = super().assertEqual, self.assertEqual
        checks: dict[str, Any] = {"atol": atol, "rtol": rtol, "equal_nan": equal_nan, "exact_dtype": exact_dtype}
        checks.update(exact_device=exact_device, exact_layout=exact_layout, exact_stride=exact_stride)
        if isinstance(x, Mapping) and isinstance(y, Mapping):
            same(x.keys(), y.keys(), msg)
            for key in x:
                equal(x[key], y[key], msg, **checks)
        elif all(isinstance(v, Sequence) and not isinstance(v, str | bytes) for v in (x, y)):
            same(len(x), len(y), msg)
            for a, b in zip(x, y, strict=True):
                equal(a, b, msg, **checks)
        elif any(isinstance(v, Tensor | np.ndarray) for v in (x, y)) or all(isinstance(v, Number) for v in (x, y)):
            named = {name.replace("exact", "check"): value for name, value in checks.items()}
            assert_close(x, y, msg=msg, **named)
        else:
            same(x, y, msg)
