"""The tolerances with which :func:`torch.testing.assert_close` compares tensors, for suites that scale them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._tensor.dtypes import dtype
from ferrograd.torch._tensor import Tensor

__all__ = ["default_tolerances", "get_tolerances"]

#: The default tolerances (relative, absolute) of the dtypes; those of others are zero.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def default_tolerances(*inputs: Any) -> tuple[float, float]:
    """The larger ones of the tolerances (relative, absolute) of the dtypes of tensors, or of dtypes.

    Raises TypeError for anything else.

    >>> import ferrograd.torch as torch
    >>> default_tolerances(torch.float32, torch.tensor(1.0, dtype=torch.float64))
    (1.3e-06, 1e-05)
    """
    found = [_TOLERANCES.get(_name(value), (0.0, 0.0)) for value in inputs]
    return max((r for r, _ in found), default=0.0), max((a for _, a in found), default=0.0)


def get_tolerances(
    *inputs: Any, rtol: float | None = None, atol: float | None = None, id: tuple[Any, ...] = ()
) -> tuple[float, float]:
    """``(rtol, atol)`` where both are given, else the :func:`default_tolerances`.

    Raises ValueError where one of them is given alone, with ``id``, the keys of the item.

    >>> import ferrograd.torch as torch
    >>> get_tolerances(torch.ones(2), torch.ones(2), rtol=1e-3, atol=0.0)
    (0.001, 0.0)
    """
    if (rtol is None) != (atol is None):
        where = "".join(f"[{key!r}]" for key in id)
        raise ValueError("rtol and atol must both be specified or both be unspecified" + (where and f", item {where}"))
    return default_tolerances(*inputs) if rtol is None or atol is None else (rtol, atol)


def _name(value: Any) -> str:
    if isinstance(value, (Tensor, np.ndarray)):
        value = value.dtype
    if isinstance(value, (np.dtype, dtype)):
        return str(value.name)
    raise TypeError(f"Expected a torch.Tensor or a torch.dtype, but got {type(value)} instead.")
