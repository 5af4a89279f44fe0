"""``repr`` of tensors: natively with NumPy's print options, as Paddle or as torch; and HTML for notebooks."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ferrograd._core.native import get_default_dtype
from ferrograd._kit import html as _html
from ferrograd._kit.dialect import PADDLE, TORCH

Format = Callable[[Any], str]
#: Bytes that have to be there before NumPy writes a number. It takes some of them where a thread writes its first one,
#: and the C library ends the process if it has none.
_ROOM = 1 << 21


@dataclass
class Options:
    """The print options of a dialect."""

    precision: int
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None

    def change(self, **options: Any) -> None:
        """Sets the options that are not None."""
        for name, value in options.items():
            if value is not None:
                setattr(self, name, value)


PADDLE_OPTIONS = Options(precision=8)
TORCH_OPTIONS = Options(precision=4)


def show(
    a: np.ndarray[Any, Any],
    dtype: str,
    shape: Sequence[int],
    dialect: int,
    name: str,
    tracked: bool,
    op: str | None,
    batch_shape: Sequence[int],
    transforms: Sequence[tuple[int, bool]] = (),
) -> str:
    """The ``repr`` of a tensor with the values ``a``. Elements that are not shown are not read.

    ``a`` is a vector where NumPy has no arrays of the shape, which then has no elements. ``transforms`` are the running
    ones that know the tensor, outermost first: the number of each, and whether it is a ``vmap``.
    """
    np.empty(_ROOM, np.uint8)
    if dialect == TORCH and sum(is_vmap for _, is_vmap in transforms) == len(batch_shape):
        differentiated = len(transforms) > len(batch_shape)
        if differentiated:
            tracked, op = False, None
        text = _torch(a, dtype, (*batch_shape, *shape), name, tracked, op)
        for number, is_vmap in transforms:
            kind, batch = ("BatchedTensor", " bdim=0,") if is_vmap else ("GradTrackingTensor", "")
            text = f"{kind}(lvl={number},{batch} value=\n{textwrap.indent(text, '    ')}\n)"
        return text
    if batch_shape or dialect != PADDLE:
        return _native(a, dtype, shape, name, tracked, batch_shape)
    return _paddle(a, dtype, shape, tracked)


def _native(
    a: np.ndarray[Any, Any], dtype: str, shape: Sequence[int], name: str, tracked: bool, batch_shape: Sequence[int]
) -> str:
    text = name + "(" + np.array2string(a, separator=", ", prefix=name + "(")
    if (a.size == 0 and len(shape) + len(batch_shape) != 1) or a.size > np.get_printoptions()["threshold"]:
        text += f", shape={tuple(shape)}"
    text += f", dtype={dtype}"
    if tracked:
        text += ", requires_grad=True"
    if batch_shape:
        text += f", batch_shape={tuple(batch_shape)}"
    return text + ")"


def html(
    a: np.ndarray[Any, Any],
    dtype: str,
    shape: Sequence[int],
    dialect: int,
    name: str,
    tracked: bool,
    op: str | None,
    batch_shape: Sequence[int],
    transforms: Sequence[tuple[int, bool]],
) -> str:
    """HTML for notebooks: shape, dtype, op, the range of a small tensor, the values, and a picture of a matrix."""
    known: dict[str, object] = {"shape": tuple(shape), "dtype": dtype, "requires_grad": tracked}
    if op is not None:
        known["op"] = op
    if 0 < a.size <= 10_000 and a.dtype.kind in "fiu":
        finite = a[np.isfinite(a)]
        if finite.size:
            digits = ".6g" if a.dtype.kind == "f" else "d"
            known["min"], known["max"] = format(finite.min(), digits), format(finite.max(), digits)
        if finite.size < a.size:
            known["not finite"] = a.size - finite.size
    line = _html.facts(name, known)
    if a.ndim in (1, 2) and a.size and a.dtype.kind in "fiub" and a.dtype.names is None:
        small = a.ndim == 1 or min(a.shape) < 2 or a.size > 1_000_000
        image = "" if small else _html.picture(a, "the values as colours: red above zero, blue below")
        return f'<div>{line}<div style="display:flex;gap:1em;align-items:start">{_html.numbers(a)}{image}</div></div>'
    with np.printoptions(threshold=100, linewidth=80):
        values = np.array2string(a, separator=", ")
    values = values if len(values) <= 1200 else values[:1200] + " ..."
    return f'<div>{line}<pre style="margin:.3em 0 0">{_html.escape(values)}</pre></div>'


def _shown(n: int, options: Options, summary: bool) -> Iterator[int | None]:
    """The shown indices of an axis of size ``n``; None stands for the gap."""
    edge = options.edgeitems
    if not summary or n <= 2 * edge:
        yield from range(n)
        return
    yield from range(edge)
    yield None
    yield from range(n - edge, n)


def _edges(a: np.ndarray[Any, Any], options: Options, summary: bool) -> np.ndarray[Any, Any]:
    """The shown elements as a vector."""
    if a.size == 0 or not a.ndim:
        return a.reshape(-1)
    # One step for all axes: it copies no more than the shown elements, also of a broadcast array beyond all memory.
    return a[np.ix_(*([i for i in _shown(n, options, summary) if i is not None] for n in a.shape))].reshape(-1)


def _nested(
    a: np.ndarray[Any, Any], indent: int, options: Options, summary: bool, width: int, one: Format, gap: str
) -> str:
    """The elements in nested brackets, in the line layout of Paddle and torch."""
    if a.ndim == 0:
        return one(a[()])
    if a.ndim == 1:
        items = [gap if i is None else one(a[i]) for i in _shown(a.shape[0], options, summary)]
        line = max(1, (options.linewidth - indent) // (width + 2))
        lines = [", ".join(items[i : i + line]) for i in range(0, len(items), line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [
        "..." if i is None else _nested(a[i], indent + 1, options, summary, width, one, gap)
        for i in _shown(a.shape[0], options, summary)
    ]
    return "[" + ("," + "\n" * (a.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _paddle(a: np.ndarray[Any, Any], dtype: str, shape: Sequence[int], tracked: bool) -> str:
    o = PADDLE_OPTIONS

    def bare(v: Any) -> str:
        kind = a.dtype.kind
        if kind == "c":
            form = "e" if o.sci_mode else "f"
            sign = "+" if v.imag >= 0 else ""
            return f"({v.real:.{o.precision}{form}}{sign}{v.imag:.{o.precision}{form}}j)"
        if kind != "f":
            return str(v)
        if o.sci_mode:
            return f"{v:.{o.precision}e}"
        return f"{v:.0f}." if math.isinf(v) or v == math.floor(v) else f"{v:.{o.precision}f}"

    def safe(v: Any) -> str:
        return "nan" if v != v and a.dtype.kind == "f" else bare(v)

    # An array without elements may have any number of empty rows.
    summary = a.ndim > 0 and math.prod(n or 1 for n in a.shape) > o.threshold
    # Paddle computes the width from the edge items even if it shows all elements.
    shown = _edges(a, o, True)
    width = max((len(safe(v)) for v in shown), default=0)
    signed = a.dtype.kind in "fi" and bool((shown < 0).any())

    def one(v: Any) -> str:
        text = safe(v)
        if len(text) >= width:
            return text
        return (text if not signed or v < 0 else " " + text).ljust(width)

    body = _nested(a, len("Tensor("), o, summary, width, one, "...")
    return (
        f"Tensor(shape={list(shape)}, dtype={dtype}, place=Place(cpu), stop_gradient={not tracked},\n"
        + " " * 7
        + body
        + ")"
    )


def _torch_format(values: np.ndarray[Any, Any], o: Options) -> tuple[int, Format]:
    """The width, and the function that formats one element, computed from the shown elements."""
    if values.dtype.kind != "f":
        return max((len(str(v)) for v in values), default=1), str
    numbers = [float(v) for v in values if v != 0 and math.isfinite(v)]
    width, whole, scientific = 1, True, False
    if numbers:
        low, high = min(map(abs, numbers)), max(map(abs, numbers))
        whole = all(v == math.ceil(v) for v in numbers)
        scientific = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4 if o.sci_mode is None else o.sci_mode

    def one(v: Any) -> str:
        if scientific:
            return f"{v:.{o.precision}e}"
        if whole:
            return f"{v:.0f}." if math.isfinite(v) else f"{v:.0f}"
        return f"{v:.{o.precision}f}"

    return max((len(one(v)) for v in numbers), default=width), one


def _torch(a: np.ndarray[Any, Any], dtype: str, shape: Sequence[int], name: str, tracked: bool, op: str | None) -> str:
    o = TORCH_OPTIONS
    prefix = "tensor(" if name in ("Tensor", "Parameter", "Buffer") else f"{name}("
    suffixes = []
    default = str(get_default_dtype())
    if a.size == 0:
        body = "[]"
        if len(shape) != 1:
            suffixes.append(f"size={tuple(shape)}")
        if dtype != default:
            suffixes.append(f"dtype=torch.{dtype}")
    else:
        summary = a.size > o.threshold
        shown = _edges(a, o, summary)
        if a.dtype.kind == "c":
            left, real = _torch_format(shown.real, o)
            right, imag = _torch_format(shown.imag, o)

            def one(v: Any) -> str:
                tail = (imag(v.imag).rjust(right) + "j").lstrip()
                return real(v.real).rjust(left) + (tail if tail[0] in "+-" else "+" + tail)

            width = left + right + 1
        else:
            width, plain = _torch_format(shown, o)

            def one(v: Any) -> str:
                return plain(v).rjust(width)

        body = _nested(a, len(prefix), o, summary, width, one, " ...")
        if dtype not in (default, "int64", "bool", "complex64"):
            suffixes.append(f"dtype=torch.{dtype}")
    if op is not None:
        suffixes.append(f"grad_fn=<{op}>")
    elif tracked:
        suffixes.append("requires_grad=True")
    text = prefix + body
    last = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > o.linewidth:
            text += ",\n" + " " * len(prefix) + suffix
            last = len(prefix) + len(suffix)
        else:
            text += ", " + suffix
            last += len(suffix) + 2
    return text + ")"
