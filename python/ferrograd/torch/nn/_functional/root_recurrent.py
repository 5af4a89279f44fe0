"""torch's functions of recurrent networks: the layers and the cells, with their weights as arguments."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError
from ferrograd._functions import recurrent
from ferrograd._functions.recurrent import Weights
from ferrograd._kit.ops import ops
from ferrograd._kit.specialize import specialize
from ferrograd.torch._tensor import Tensor

__all__ = [
    "gru",
    "gru_cell",
    "lstm",
    "lstm_cell",
    "rnn_relu",
    "rnn_relu_cell",
    "rnn_tanh",
    "rnn_tanh_cell",
]


def _weights(params: Any, has_biases: bool, count: int) -> list[Weights]:
    """The parameters of each layer and direction, from a flat list."""
    each, rest = divmod(len(params), count)
    own = 4 if has_biases else 2
    if rest or each not in (own, own + 1):
        raise ArgumentError(f"{len(params)} parameters are not {own} for each of {count} layers and directions")
    found = []
    for i in range(count):
        part = params[i * each : (i + 1) * each]
        biases = part[2:4] if has_biases else [None, None]
        found.append(Weights(part[0], part[1], biases[0], biases[1], part[own] if each > own else None))
    return found


def _layers(
    input: Tensor,
    hx: Any,
    params: Any,
    has_biases: Any,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool | None = None,
    *,
    _kind: str,
) -> tuple[Tensor, ...]:
    sizes = None
    if not isinstance(has_biases, bool | int):
        # The second argument of packed sequences says how many run at each step, and the others move by one place.
        sizes = [int(n) for n in hx.tolist()]
        hx, params, has_biases = params, has_biases, num_layers
        num_layers, dropout, train, bidirectional = int(dropout), float(train), bidirectional, bool(batch_first)
    directions = 2 if bidirectional else 1
    weights = _weights(list(params), bool(has_biases), num_layers * directions)
    layers = [weights[i : i + directions] for i in range(0, len(weights), directions)]
    turned = sizes is None and bool(batch_first)
    state = tuple(hx) if isinstance(hx, list | tuple) else (hx,)
    x = ops.swapaxes(input, 0, 1) if turned else input
    y, end = recurrent.run(_kind, layers, x, state, sizes, dropout if train else 0.0)
    return ops.swapaxes(y, 0, 1) if turned else y, *end


def _cell(
    input: Tensor,
    hx: Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    *,
    _kind: str,
) -> Any:
    state = tuple(hx) if isinstance(hx, list | tuple) else (hx,)
    found = recurrent.cell(_kind, Weights(w_ih, w_hh, b_ih, b_hh), input, state)
    return found if len(found) > 1 else found[0]


_LAYERS = """The outputs of the last layer of {}, and the last states.

The input is [time, batch, size], with ``batch_first`` [batch, time, size]; packed it is [elements, size] and the
numbers of sequences at each step follow it. ``params`` has the weights of each layer and direction, one after the
other."""
_CELL = "The next state of {}: a step with these weights and biases."
lstm, gru, rnn_tanh, rnn_relu = (
    specialize(name, _LAYERS.format(what), _layers, _kind=name.upper())
    for name, what in (
        ("lstm", "an LSTM"),
        ("gru", "a GRU"),
        ("rnn_tanh", "a network with tanh"),
        ("rnn_relu", "a network with relu"),
    )
)
lstm_cell, gru_cell, rnn_tanh_cell, rnn_relu_cell = (
    specialize(f"{name}_cell", _CELL.format(what), _cell, _kind=name.upper())
    for name, what in (
        ("lstm", "an LSTM"),
        ("gru", "a GRU"),
        ("rnn_tanh", "a network with tanh"),
        ("rnn_relu", "a network with relu"),
    )
)
