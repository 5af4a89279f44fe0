"""``paddle.summary`` of a network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn.layer.container import LayerList, Sequential
from ferrograd.paddle.nn.layer.layers import Layer

__all__ = ["summary"]

_COLUMNS = ("Layer (type)", "Input Shape", "Output Shape", "Param #")
_WIDTHS = (15, 20, 20, 15)
_MIB = 1024.0**2


@_arguments.typed(net=Layer)
def summary(net: Layer, input_size: Any = None, dtypes: Any = None, input: Any = None) -> dict[str, int]:
    """Prints the layers with the shapes of their inputs and outputs; returns the numbers of parameters.

    The network is called once, with ``input`` (a list or dict is one argument) or with zeros of ``input_size``. A layer
    that it calls twice has the shapes of the last call. The sizes are those of float32, and each output counts twice,
    for its gradient.

    >>> import ferrograd.paddle as paddle
    >>> found = paddle.summary(paddle.nn.Linear(3, 2), (1, 3))  # doctest: +ELLIPSIS
    -...
    >>> found
    {'total_params': 8, 'trainable_params': 8}
    """
    rows: dict[str, tuple[Any, Any, int]] = {}
    whole: dict[str, tuple[Any, Any, int]] = {}
    handles = []
    inputs = [input] if input is not None else _zeros(input_size, dtypes)

    def noting(rows: dict[str, tuple[Any, Any, int]]) -> Any:
        def note(layer: Any, given: Any, outputs: Any) -> None:
            number = layer.full_name().rsplit("_", 1)[-1]
            name = f"{type(layer).__name__}-{int(number) + 1 if number.isdecimal() else len(rows) + 1}"
            own = sum(int(p.size) for p in layer.parameters(include_sublayers=False))
            rows[name] = (_shapes(given), _shapes(outputs), own)

        return note

    for layer in net.sublayers():
        if not isinstance(layer, Sequential | LayerList):
            handles.append(layer.register_forward_post_hook(noting(rows)))
    handles.append(net.register_forward_post_hook(noting(whole)))
    before = net.training
    try:
        net.eval()
        with no_grad():
            net(*inputs)
    finally:
        (net.train if before else net.eval)()
        for handle in handles:
            handle.remove()
    sizes = {p: int(p.size) for p in net.parameters()}
    total, trainable = sum(sizes.values()), sum(n for p, n in sizes.items() if not p.stop_gradient)
    # A layer that computes with the parameters of its parts, as LSTM does, calls none of them.
    _print(rows or whole, total, trainable, _elements(_shapes(inputs)))
    return {"total_params": total, "trainable_params": trainable}


def _shapes(value: Any) -> Any:
    """The shape of a tensor, and those in a list, tuple or dict."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [_shapes(part) for part in value]
    return list(value.shape) if isinstance(value, Tensor) else []


def _elements(shapes: Any) -> int:
    """How many elements tensors of these shapes have together."""
    parts = [part for part in shapes if isinstance(part, list)]
    return sum(map(_elements, parts)) if parts else int(math.prod(shapes))


def _is_shape(size: Any) -> bool:
    return all(n is None or isinstance(n, int) for n in size)


def _zeros(size: Any, dtypes: Any) -> list[Any]:
    """Zeros for each argument: of one shape, or of those in a list, where a tuple of shapes is a tuple of tensors."""
    size = [size] if isinstance(size, int) else size
    sizes = [size] if size and _is_shape(size) else list(size or [])
    kinds = dtypes if isinstance(dtypes, list | tuple) else [dtypes] * len(sizes)

    def made(one: Any, kind: Any) -> Any:
        if not _is_shape(one):
            return tuple(made(part, kind) for part in one)
        shape = [1 if n in (None, -1) else n for n in one]
        return _core.make(np.zeros(shape, str(kind or "float32")), None, False, PADDLE)

    return [made(one, kind) for one, kind in zip(sizes, kinds, strict=True)]


def _print(rows: dict[str, tuple[Any, Any, int]], total: int, trainable: int, given: int) -> None:
    texts = [(name, str(a), str(b), f"{n:,}") for name, (a, b, n) in rows.items()]
    widths = [max(least, *(len(row[i]) for row in texts)) for i, least in enumerate(_WIDTHS)]
    whole = max(75, sum(widths) + 5)
    lines = table(_COLUMNS, texts, widths, whole)
    lines += [f"Total params: {total:,}", f"Trainable params: {trainable:,}"]
    lines += [f"Non-trainable params: {total - trainable:,}", "-" * whole]
    sizes = [given, 2 * sum(_elements(outputs) for _, outputs, _ in rows.values()), total]
    names = ("Input size", "Forward/backward pass size", "Params size", "Estimated Total Size")
    for name, n in zip(names, (*sizes, sum(sizes)), strict=True):
        lines.append(f"{name} (MB): {4 * n / _MIB:0.2f}")
    print("\n".join([*lines, "-" * whole]) + "\n")


def table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], widths: list[int], whole: int) -> list[str]:
    """The lines of a table of texts, with columns of these widths and rules of ``whole`` characters."""
    head, *body = (
        " ".join(f"{text:^{width}}" for text, width in zip(row, widths, strict=True)) for row in (columns, *rows)
    )
    return ["-" * whole, head, "=" * whole, *body, "=" * whole]


__dir__ = _public.names(globals())
