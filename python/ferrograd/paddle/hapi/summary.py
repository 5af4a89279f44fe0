"""``paddle.summary`` of a network."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _arguments, _core, _public
from ferrograd._autograd.modes import no_grad
from ferrograd._dialects.numbers import PADDLE
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn.layer.layers import Layer

__all__ = ["summary"]

_COLUMNS = ("Layer (type)", "Input Shape", "Output Shape", "Param #")


@_arguments.typed(net=Layer)
def summary(net: Layer, input_size: Any = None, dtypes: Any = None, input: Any = None) -> dict[str, int]:
    """Prints the layers with the shapes of their inputs and outputs; returns the numbers of parameters.

    The network is called once, with ``input`` or with zeros of ``input_size``.

    >>> import ferrograd.paddle as paddle
    >>> found = paddle.summary(paddle.nn.Linear(3, 2), (1, 3))  # doctest: +ELLIPSIS
    -...
    >>> found
    {'total_params': 8, 'trainable_params': 8}
    """
    rows: list[tuple[str, Any, Any, int]] = []
    handles = []
    total = trainable = 0

    def note(layer: Any, inputs: Any, outputs: Any) -> None:
        shown = [list(x.shape) for x in inputs if isinstance(x, Tensor)]
        out = [list(x.shape) for x in (outputs if isinstance(outputs, list | tuple) else [outputs]) if _is_tensor(x)]
        own = sum(int(p.size) for p in layer.parameters(include_sublayers=False))
        name = f"{type(layer).__name__}-{len(rows) + 1}"
        rows.append((name, shown, out[0] if len(out) == 1 else out, own))

    for layer in net.sublayers(include_self=True):
        if not list(layer.children()):
            handles.append(layer.register_forward_post_hook(note))
    for p in net.parameters():
        total += int(p.size)
        trainable += 0 if p.stop_gradient else int(p.size)
    before = net.training
    try:
        net.eval()
        with no_grad():
            net(*(_given(input) if input is not None else _zeros(input_size, dtypes)))
    finally:
        (net.train if before else net.eval)()
        for handle in handles:
            handle.remove()
    _print(rows, total, trainable)
    return {"total_params": total, "trainable_params": trainable}


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def _given(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _zeros(size: Any, dtypes: Any) -> list[Any]:
    single = bool(size) and not isinstance(size[0], list | tuple)
    sizes = [size] if single else list(size or [])
    kinds = dtypes if isinstance(dtypes, list | tuple) else [dtypes] * len(sizes)
    made = [
        np.zeros([1 if n in (None, -1) else n for n in one], str(k or "float32"))
        for one, k in zip(sizes, kinds, strict=True)
    ]
    return [_core.make(one, None, False, PADDLE) for one in made]


def _print(rows: list[tuple[str, Any, Any, int]], total: int, trainable: int) -> None:
    lines = table(_COLUMNS, [(name, str(a), str(b), f"{n:,}") for name, a, b, n in rows])
    lines += [f"Total params: {total:,}", f"Trainable params: {trainable:,}"]
    lines += [f"Non-trainable params: {total - trainable:,}", "-" * len(lines[0])]
    print("\n".join(lines) + "\n")


def table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """The lines of a table of texts."""
    widths = [max(len(row[i]) for row in (*rows, columns)) + 5 for i in range(len(columns))]
    whole = sum(widths) + len(columns) - 1
    return ["-" * whole, _line(columns, widths), "=" * whole, *(_line(row, widths) for row in rows), "=" * whole]


def _line(texts: tuple[str, ...], widths: list[int]) -> str:
    return " ".join(f"{text:^{width}}" for text, width in zip(texts, widths, strict=True))


__dir__ = _public.names(globals())
