"""``torch.testing``: assertions on tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._kit import public as _public
from ferrograd.torch._functions.create import tensor
from ferrograd.torch._functions.random import rand, randint
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.testing._comparison import get_tolerances

__all__ = ["assert_allclose", "assert_close", "make_tensor"]


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises AssertionError unless ``|actual - expected| <= atol + rtol * |expected|`` for all elements.

    Sequences and mappings are compared element by element. The tolerances are by default those of the dtype.

    >>> import ferrograd.torch as torch
    >>> torch.testing.assert_close(torch.tensor(1.0), torch.tensor(1.0 + 1e-7))
    """
    get_tolerances(rtol=rtol, atol=atol)

    def fail(text: str) -> None:
        raise AssertionError(msg(text) if callable(msg) else text if msg is None else msg)

    def compare(a: Any, b: Any, at: str) -> None:
        where = f"\n\nThe failure occurred for item {at}" if at else ""
        if isinstance(b, Mapping) and isinstance(a, Mapping):
            if a.keys() != b.keys():
                fail(f"The keys of the mappings do not match: {sorted(map(str, a.keys() ^ b.keys()))}{where}")
            for key in b:
                compare(a[key], b[key], f"{at}[{key!r}]")
        elif _is_sequence(a) and _is_sequence(b):
            if len(a) != len(b):
                fail(f"The length of the sequences mismatch: {len(a)} != {len(b)}{where}")
            for i, (one, other) in enumerate(zip(a, b, strict=True)):
                compare(one, other, f"{at}[{i}]")
        elif a is None or b is None or isinstance(a, (str, bool)) or isinstance(b, (str, bool)):
            if type(a) is not type(b) or a != b:
                fail(f"{a!r} is not {b!r}{where}")
        else:
            _compare_numbers(a, b, where)

    def _compare_numbers(a: Any, b: Any, where: str) -> None:
        if isinstance(a, Tensor) != isinstance(b, Tensor) and not allow_subclasses:
            fail(f"{type(a).__name__} is not {type(b).__name__}{where}")
        x, y = _array(a), _array(b)
        if x.shape != y.shape:
            fail(f"The values for attribute 'shape' do not match: {x.shape} != {y.shape}.{where}")
        both = isinstance(a, Tensor) and isinstance(b, Tensor)
        if check_dtype and both and a.dtype != b.dtype:
            fail(f"The values for attribute 'dtype' do not match: {a.dtype} != {b.dtype}.{where}")
        if check_stride and both and a.stride() != b.stride():
            fail(f"The values for attribute 'stride()' do not match: {a.stride()} != {b.stride()}.{where}")
        relative, absolute = get_tolerances(
            *(one.dtype if isinstance(one, Tensor) else array.dtype for one, array in ((a, x), (b, y))),
            rtol=rtol,
            atol=atol,
        )
        kind = np.result_type(x.dtype, y.dtype)
        if kind.kind in "fc":
            x, y = x.astype(kind), y.astype(kind)
        close = np.isclose(x, y, relative, absolute, equal_nan=equal_nan)
        if close.all():
            return
        with np.errstate(all="ignore"):
            wide = np.complex128 if kind.kind == "c" else np.float64
            off = np.abs(x.astype(wide) - y.astype(wide))
        place = np.unravel_index(int(np.argmax(np.where(close, -1, np.nan_to_num(off, nan=np.inf)))), x.shape)
        index = tuple(int(i) for i in place)
        total = f"{int((~close).sum())} / {close.size} ({100 * float((~close).mean()):.1f}%)"
        fail(
            "Tensor-likes are not close!\n\n"
            f"Mismatched elements: {total}\n"
            f"Greatest absolute difference: {float(off[index])} at index {index} (up to {absolute} allowed, "
            f"and up to {relative} times the expected value){where}"
        )

    compare(actual, expected, "")


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """:func:`assert_close` of numbers, arrays or tensors of any dtypes. torch deprecates it."""
    a, b = (x if isinstance(x, Tensor) else tensor(x) for x in (actual, expected))
    assert_close(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _array(value: Any) -> np.ndarray[Any, Any]:
    """The numbers of a tensor, an array or a number; NumPy has no bfloat16, so these are widened."""
    if isinstance(value, Tensor):
        value = value.detach()
        return np.asarray((value.float() if value.dtype.name == "bfloat16" else value).numpy())
    found = np.asarray(value)
    if found.dtype.kind not in "biufc":
        raise TypeError(f"assert_close: {type(value).__name__} is no tensor, array or number")
    return found


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of uniform random numbers: floats in [-9, 9), integers in [-9, 10), and of unsigned ones in [0, 10).

    ``noncontiguous`` tensors are every other element of a longer one. With ``exclude_zero`` zeros become the smallest
    positive number.

    >>> import ferrograd.torch as torch
    >>> torch.testing.make_tensor(2, 3, dtype=torch.float64, device="cpu").shape
    torch.Size([2, 3])
    """
    _core.check_device("make_tensor", device)
    sizes = list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else list(shape)
    kind = np.dtype(dtype)
    if noncontiguous and sizes:
        sizes[-1] *= 2
    if kind.kind == "b":
        made: Any = randint(0, 2, sizes).to(dtype)
    elif kind.kind in "iu":
        least = (-9 if kind.kind == "i" else 0) if low is None else int(low)
        made = randint(least, 10 if high is None else int(high), sizes).to(dtype)
    else:
        low, high = -9.0 if low is None else low, 9.0 if high is None else high
        made = rand(sizes, dtype=dtype) * (high - low) + low
    if exclude_zero:
        made[made == 0] = 1 if kind.kind != "f" else float(np.finfo(kind).tiny)
    if noncontiguous and sizes:
        made = made[..., ::2]
    return made.requires_grad_() if requires_grad else made


__dir__ = _public.names(globals())
