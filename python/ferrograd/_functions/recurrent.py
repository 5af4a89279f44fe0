"""Recurrent networks: the steps of each kind and the loop over a batch of sequences, which both dialects have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ferrograd._core import Tensor, native as ops

State = tuple[Tensor, ...]
#: A step: the part of the gates that does not depend on the state, and the state, make the next state. Its first
#: tensor is the output.
Step = Callable[[Tensor, State], State]


@dataclass(frozen=True)
class Weights:
    """The parameters of one direction of a layer."""

    input: Tensor
    hidden: Tensor
    input_bias: Tensor | None = None
    hidden_bias: Tensor | None = None
    #: LSTM only: what maps the hidden state to a smaller one.
    projection: Tensor | None = None


def _parts(gates: Tensor, count: int) -> Sequence[Any]:
    """The gates, which lie one after the other along the last axis."""
    return ops.chunk(gates, count, -1) if gates.shape[-1] else [gates] * count


def simple_step(activation: Callable[[Tensor], Tensor]) -> Callable[[Weights], Step]:
    """The step ``h = activation(x + W h)`` of a network with one gate."""

    def of(w: Weights) -> Step:
        hidden = ops.matrix_transpose(w.hidden)

        def step(x: Tensor, state: State) -> State:
            return (activation(ops.add(x, ops.matmul(state[0], hidden))),)

        return step

    return of


def lstm_step(w: Weights) -> Step:
    """The step of an LSTM, whose gates are input, forget, cell and output."""

    hidden = ops.matrix_transpose(w.hidden)

    def step(x: Tensor, state: State) -> State:
        h, c = state
        i, f, g, o = _parts(ops.add(x, ops.matmul(h, hidden)), 4)
        c = ops.add(ops.multiply(ops.sigmoid(f), c), ops.multiply(ops.sigmoid(i), ops.tanh(g)))
        h = ops.multiply(ops.sigmoid(o), ops.tanh(c))
        return (h if w.projection is None else ops.linear(h, w.projection)), c

    return step


def gru_step(w: Weights) -> Step:
    """The step of a GRU, whose gates are reset, update and new."""

    def step(x: Tensor, state: State) -> State:
        h = state[0]
        xr, xz, xn = _parts(x, 3)
        hr, hz, hn = _parts(ops.linear(h, w.hidden, w.hidden_bias), 3)
        r, z = ops.sigmoid(ops.add(xr, hr)), ops.sigmoid(ops.add(xz, hz))
        n = ops.tanh(ops.add(xn, ops.multiply(r, hn)))
        return (ops.add(n, ops.multiply(z, ops.subtract(h, n))),)

    return step


KINDS: dict[str, Callable[[Weights], Step]] = {
    "RNN_TANH": simple_step(ops.tanh),
    "RNN_RELU": simple_step(ops.relu),
    "LSTM": lstm_step,
    "GRU": gru_step,
}


def _from_input(kind: str, w: Weights, x: Tensor) -> Tensor:
    """The part of the gates that does not depend on the state: it has both biases, except in a GRU."""
    bias, other = w.input_bias, w.hidden_bias
    if kind != "GRU" and other is not None:
        bias = other if bias is None else ops.add(bias, other)
    return ops.linear(x, w.input, bias)


def cell(kind: str, w: Weights, x: Tensor, state: State) -> tuple[Any, ...]:
    """One step of a network."""
    return KINDS[kind](w)(_from_input(kind, w, x), state)


def _resized(state: State, full: State, count: int) -> State:
    """The state of the first ``count`` sequences; those that begin now take theirs from ``full``."""
    have = state[0].shape[0]
    if count == have:
        return state
    if count < have:
        return tuple(s[:count] for s in state)
    return tuple(ops.concat([s, f[have:count]], 0) for s, f in zip(state, full, strict=True))


def _in_one_op(kind: str, w: Weights, gates: Tensor, initial: State, backwards: bool) -> tuple[Tensor, State] | None:
    """The outputs and the last state of an LSTM over sequences of one length, or None if another loop has to run."""
    tensors = (gates, w.hidden, *initial)
    of_floats = gates.dtype.kind == "f" and all(t.dtype == gates.dtype for t in tensors)
    if kind != "LSTM" or w.projection is not None or not of_floats or not all(gates.shape):
        return None
    outputs, c = ops.lstm_layer(ops.flip(gates, 0) if backwards else gates, w.hidden, *initial)
    h = outputs[-1]
    return ops.flip(outputs, 0) if backwards else outputs, (h, c)


def _scan(step: Step, xs: Sequence[Tensor], initial: State, backwards: bool) -> tuple[list[Any], State]:
    """The outputs of all steps and the last state of each sequence.

    The sequences are sorted by length, longest first: ``xs[t]`` has those that are longer than ``t``.
    """
    outputs: list[Any] = [None] * len(xs)
    state = initial if not backwards else tuple(s[: xs[-1].shape[0]] for s in initial)
    ended: list[State] = []
    for t in range(len(xs))[:: -1 if backwards else 1]:
        count = xs[t].shape[0]
        if count < state[0].shape[0]:
            ended.append(tuple(s[count:] for s in state))
        state = step(xs[t], _resized(state, initial, count))
        outputs[t] = state[0]
    for end in reversed(ended):
        state = tuple(ops.concat([s, e], 0) for s, e in zip(state, end, strict=True))
    return outputs, state


def run(
    kind: str,
    layers: Sequence[Sequence[Weights]],
    x: Tensor,
    initial: State,
    sizes: Sequence[int] | None = None,
    dropout: float = 0.0,
) -> tuple[Any, State]:
    """The outputs of the last layer and the last states of a network over a batch of sequences.

    ``x`` is [time, batch, size]. With ``sizes`` it is packed, [elements, size]: ``sizes[t]`` elements at time ``t``.
    ``layers`` has the weights of one or two directions for each layer, and the tensors of ``initial`` have a row for
    each. Between layers elements are dropped with the probability ``dropout``.
    """
    ends: list[State] = []
    for number, directions in enumerate(layers):
        if number and dropout:
            x = ops.dropout(x, dropout, True)
        found = []
        for backwards, w in enumerate(directions):
            gates = _from_input(kind, w, x)
            start = tuple(s[len(ends)] for s in initial)
            done = _in_one_op(kind, w, gates, start, bool(backwards)) if sizes is None else None
            if done is None:
                xs = ops.unstack(gates, 0) if sizes is None else ops.split_sizes(gates, list(sizes), 0)
                each, end = _scan(KINDS[kind](w), list(xs), start, bool(backwards))
                done = ops.stack(each, 0) if sizes is None else ops.concat(each, 0), end
            found.append(done[0])
            ends.append(done[1])
        x = found[0] if len(found) == 1 else ops.concat(found, -1)
    return x, tuple(ops.stack(list(states), 0) for states in zip(*ends, strict=True))
