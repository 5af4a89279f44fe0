"""``paddle.flops`` of a network."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ferrograd._autograd.modes import no_grad
from ferrograd._core import paddle as ops
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd.paddle import nn
from ferrograd.paddle.hapi.summary import table
from ferrograd.paddle.nn.layer.layers import Layer

__all__ = ["flops"]

_COLUMNS = ("Layer Name", "Input Shape", "Output Shape", "Params", "Flops")


def _conv(layer: Any, inputs: Any, output: Any) -> int:
    taps = inputs[0].shape[1] / layer._groups * math.prod(layer.weight.shape[2:])
    return int(output.size * (taps + (layer.bias is not None)))


def _adaptive(layer: Any, inputs: Any, output: Any) -> int:
    window = math.prod(n // m for n, m in zip(inputs[0].shape[2:], output.shape[2:], strict=True))
    return int((window + 1) * output.size)


_COUNTS: dict[str, Callable[[Any, Any, Any], int]] = {
    **{f"Conv{n}D{kind}": _conv for n in (1, 2, 3) for kind in ("", "Transpose")},
    **{f"AvgPool{n}D": lambda layer, inputs, output: int(output.size) for n in (1, 2, 3)},
    **{f"AdaptiveAvgPool{n}D": _adaptive for n in (1, 2, 3)},
    **dict.fromkeys(("BatchNorm", "BatchNorm2D"), lambda layer, inputs, output: int(2 * inputs[0].size)),
    "LeakyReLU": lambda layer, inputs, output: int(inputs[0].size),
    "Linear": lambda layer, inputs, output: int(layer.weight.shape[0] * output.size),
    **dict.fromkeys(("Dropout", "ReLU", "ReLU6"), lambda layer, inputs, output: 0),
}


@_arguments.typed(net=Layer)
def flops(
    net: Layer,
    input_size: Any,
    custom_ops: Mapping[type[Layer], Callable[[Any, Any, Any], None]] | None = None,
    print_detail: bool = False,
) -> int:
    """Prints and returns how many products a network needs for random numbers of ``input_size``, by Paddle's counts.

    A function of ``custom_ops`` takes a layer of its class, its inputs and its output, and adds to ``layer.total_ops``.
    Other layers that have no count are counted as 0, which is printed.

    >>> import ferrograd.paddle as paddle
    >>> paddle.flops(paddle.nn.Sequential(paddle.nn.Linear(3, 2), paddle.nn.ReLU()), [1, 3])
    Total Flops: 6     Total Params: 8
    6
    """
    own = {getattr(nn, name): count for name, count in _COUNTS.items()}
    leaves = [layer for layer in net.sublayers(include_self=True) if not list(layer.children())]
    for kind in dict.fromkeys(type(layer) for layer in leaves):
        if kind not in own and kind not in (custom_ops or {}):
            print(f"Cannot find suitable count function for {kind}. Treat it as zero FLOPs.")
    rows: dict[Layer, tuple[str, ...]] = {}
    totals: dict[Layer, int] = {}

    def note(layer: Any, inputs: Any, output: Any) -> None:
        if custom_ops and type(layer) in custom_ops:
            layer.__dict__["total_ops"] = totals.get(layer, 0)
            custom_ops[type(layer)](layer, inputs, output)
            totals[layer] = int(layer.__dict__.pop("total_ops"))
        else:
            count = own.get(type(layer), lambda *_: 0)
            totals[layer] = totals.get(layer, 0) + count(layer, inputs, output)
        out = output[0] if isinstance(output, list | tuple) else output
        parameters = sum(int(p.size) for p in layer.parameters())
        shapes = str(list(inputs[0].shape)), str(list(out.shape))
        rows[layer] = (layer.full_name(), *shapes, str(parameters), str(totals[layer]))

    handles = [layer.register_forward_post_hook(note) for layer in leaves]
    before = net.training
    try:
        net.eval()
        with no_grad():
            net(ops.randn(list(input_size)))
    finally:
        (net.train if before else net.eval)()
        for handle in handles:
            handle.remove()
    if print_detail:
        print("\n".join(_table(list(rows.values()))))
    total = sum(totals.values())
    print(f"Total Flops: {total}     Total Params: {sum(int(row[3]) for row in rows.values())}")
    return total


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in (*rows, _COLUMNS)) + 5 for i in range(len(_COLUMNS))]
    return table(_COLUMNS, rows, widths, sum(widths) + len(_COLUMNS) - 1)


__dir__ = _public.names(globals())
