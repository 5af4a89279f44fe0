"""Recurrent networks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, ShapeError, paddle as ops
from ferrograd._functions import recurrent
from ferrograd._functions.recurrent import Weights
from ferrograd._kit import arguments as _arguments, public as _public, tree as _tree
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn.initializer import Uniform
from ferrograd.paddle.nn.layer.container import LayerList
from ferrograd.paddle.nn.layer.layers import Layer

__all__ = ["GRU", "LSTM", "RNN", "BiRNN", "GRUCell", "LSTMCell", "RNNCellBase", "SimpleRNN", "SimpleRNNCell"]

_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


def _mode(activation: str) -> str:
    if activation not in ("tanh", "relu"):
        raise ValueError(f"activation for SimpleRNNCell should be tanh or relu, but get {activation}")
    return f"RNN_{activation.upper()}"


def _check_features(layer: Any, inputs: Tensor) -> None:
    """Raises unless the last axis of the inputs has the size that the layer was made for."""
    name = type(layer).__name__
    shape = list(_arguments.tensor(inputs, name, "inputs").shape)
    if not shape or shape[-1] != layer.input_size:
        raise ShapeError(f"{name}: the inputs {shape} must have input_size={layer.input_size} in their last axis")


class RNNCellBase(Layer):
    """The base of the steps of recurrent networks."""

    def get_initial_states(
        self, batch_ref: Tensor, shape: Any = None, dtype: Any = None, init_value: float = 0.0, batch_dim_idx: int = 0
    ) -> Any:
        """States with one value, for a batch as large as that of a tensor."""
        shape = self.state_shape if shape is None else shape
        if shape and isinstance(shape[0], list | tuple):
            return tuple(self.get_initial_states(batch_ref, one, dtype, init_value, batch_dim_idx) for one in shape)
        sizes = [batch_ref.shape[batch_dim_idx], *shape]
        return ops.full(sizes, init_value, batch_ref.dtype if dtype is None else dtype)


class _Cell(RNNCellBase):
    """The weights of one step, and the step."""

    _kind: str

    def _fg_set(self, input_size: int, hidden_size: int, attrs: tuple[Any, ...], proj_size: int = 0) -> None:
        super().__init__()
        _arguments.sizes(self, input_size=input_size, hidden_size=hidden_size)
        if hidden_size <= 0:
            raise ValueError(
                f"hidden_size of {type(self).__name__} must be greater than 0, but now equals to {hidden_size}"
            )
        self.input_size, self.hidden_size, self.proj_size = input_size, hidden_size, proj_size
        if not 0 <= proj_size < max(hidden_size, 1):
            raise ValueError(f"proj_size is from 0 to before hidden_size, {hidden_size}, not {proj_size}")
        bound = 1.0 / math.sqrt(hidden_size)
        gates, inside = _GATES[self._kind] * hidden_size, proj_size or hidden_size
        shapes = {
            "weight_ih": [gates, input_size],
            "weight_hh": [gates, inside],
            "bias_ih": [gates],
            "bias_hh": [gates],
        }
        for (name, shape), attr in zip(shapes.items(), attrs, strict=True):
            first = Uniform(-bound, bound)
            bias = name.startswith("bias")
            setattr(self, name, self.create_parameter(shape, attr, is_bias=bias, default_initializer=first))
        if proj_size:
            first = Uniform(-bound, bound)
            self.weight_ho = self.create_parameter([hidden_size, proj_size], None, default_initializer=first)

    @property
    def weights(self) -> Weights:
        """The parameters as the step takes them."""
        projection = ops.matrix_transpose(self.weight_ho) if self.proj_size else None
        return Weights(self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, projection)

    @property
    def state_shape(self) -> Any:
        """The shape of the state of one example, of an LSTM those of two."""
        if self._kind != "LSTM":
            return (self.hidden_size,)
        return ((self.proj_size or self.hidden_size,), (self.hidden_size,))

    def forward(self, inputs: Tensor, states: Any = None) -> Any:
        """The output, which is the new hidden state, and the new state."""
        _check_features(self, inputs)
        states = self.get_initial_states(inputs) if states is None else states
        given = tuple(states) if self._kind == "LSTM" else (states,)
        found = recurrent.cell(self._kind, self.weights, inputs, given)
        return found[0], found if self._kind == "LSTM" else found[0]

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.input_size}, {self.hidden_size}"


class SimpleRNNCell(_Cell):
    """The step ``h = tanh(W x + b + V h + c)``, or with ``activation="relu"`` with relu."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        object.__setattr__(self, "_kind", _mode(activation))
        self._fg_set(input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr))
        self.activation = activation

    def extra_repr(self) -> str:
        """The sizes, and the activation if it is not tanh."""
        return super().extra_repr() + ("" if self.activation == "tanh" else f", activation={self.activation}")


class LSTMCell(_Cell):
    """The step of long short-term memory. The state is a pair: hidden state and cell."""

    _kind = "LSTM"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        proj_size: int = 0,
        name: str | None = None,
    ) -> None:
        self._fg_set(input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr), proj_size)


class GRUCell(_Cell):
    """The step of gated recurrent units."""

    _kind = "GRU"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        self._fg_set(input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr))


class RNN(Layer):
    """Calls a cell, which may be your own, with every step of a batch of sequences."""

    def __init__(self, cell: Any, is_reverse: bool = False, time_major: bool = False) -> None:
        super().__init__()
        self.cell, self.is_reverse, self.time_major = cell, is_reverse, time_major

    def forward(
        self, inputs: Tensor, initial_states: Any = None, sequence_length: Tensor | None = None, **kwargs: Any
    ) -> Any:
        """The outputs of all steps and the last state. After the end of a sequence the state stays as it is."""
        x = inputs if self.time_major else ops.swapaxes(inputs, 0, 1)
        steps = ops.unbind(x, 0)
        if sequence_length is not None and list(sequence_length.shape) != [x.shape[1]]:
            raise ShapeError(
                f"RNN: sequence_length has a number for each of {x.shape[1]} sequences, not the shape "
                f"{list(sequence_length.shape)}"
            )
        states = self.cell.get_initial_states(x, batch_dim_idx=1) if initial_states is None else initial_states
        outputs: list[Any] = [None] * len(steps)
        for t in range(len(steps))[:: -1 if self.is_reverse else 1]:
            output, new = self.cell(steps[t], states, **kwargs)
            if sequence_length is not None:
                alive = ops.expand_dims(sequence_length > t, -1)
                kept = [ops.where(alive, a, b) for a, b in zip(_tree.leaves(new), _tree.leaves(states), strict=True)]
                new = _tree.rebuilt(new, iter(kept))
            outputs[t], states = output, new
        return ops.stack(outputs, 0 if self.time_major else 1), states


class BiRNN(Layer):
    """Calls one cell forwards and one backwards; their outputs are joined along the last axis."""

    def __init__(self, cell_fw: Any, cell_bw: Any, time_major: bool = False) -> None:
        super().__init__()
        self.cell_fw, self.cell_bw, self.time_major = cell_fw, cell_bw, time_major

    def forward(
        self, inputs: Tensor, initial_states: Any = None, sequence_length: Tensor | None = None, **kwargs: Any
    ) -> Any:
        """The outputs of all steps, and the last states of both cells."""
        given = (None, None) if initial_states is None else initial_states
        found = []
        for cell, start, backwards in ((self.cell_fw, given[0], False), (self.cell_bw, given[1], True)):
            # A layer of its own would be one more sublayer, so the loop is borrowed.
            loop = RNN.__new__(RNN)
            loop._fg_set_up()
            object.__setattr__(loop, "cell", cell)
            loop.is_reverse, loop.time_major = backwards, self.time_major
            found.append(loop.forward(inputs, start, sequence_length, **kwargs))
        (forward, last), (backward, first) = found
        return ops.concat([forward, backward], -1), (last, first)


class RNNBase(LayerList):
    """Several layers of cells, in one or two directions."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        attrs: tuple[Any, ...] = (None,) * 4,
        proj_size: int = 0,
    ) -> None:
        super().__init__()
        if direction not in ("forward", "bidirect", "bidirectional"):
            raise ValueError(
                f"direction should be forward or bidirect (or bidirectional), received direction = {direction}"
            )
        _arguments.sizes(self, input_size=input_size, hidden_size=hidden_size)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.num_directions = 1 if direction == "forward" else 2
        self.time_major, self.dropout, self.proj_size = time_major, dropout, proj_size
        self.state_components = 2 if mode == "LSTM" else 1
        size = proj_size or hidden_size

        names = ("weight_ih_attr", "weight_hh_attr", "bias_ih_attr", "bias_hh_attr")
        given: dict[str, Any] = dict(zip(names, attrs, strict=True))

        def cell(inside: int) -> _Cell:
            if mode == "LSTM":
                return LSTMCell(inside, hidden_size, **given, proj_size=proj_size)
            if mode == "GRU":
                return GRUCell(inside, hidden_size, **given)
            return SimpleRNNCell(inside, hidden_size, mode[4:].lower(), **given)

        for layer in range(num_layers):
            inside = input_size if layer == 0 else size * self.num_directions
            cells = [cell(inside) for _ in range(self.num_directions)]
            self.append(RNN(cells[0], False, time_major) if len(cells) == 1 else BiRNN(cells[0], cells[1], time_major))
            for each, end in zip(cells, ("", "_reverse"), strict=False):
                for name, value in list(each.named_parameters()):
                    setattr(self, f"{name}_l{layer}{end}", value)

    def _cells(self) -> list[list[_Cell]]:
        return [[c for c in layer.children() if isinstance(c, _Cell)] for layer in self]

    def flatten_parameters(self) -> None:
        """Does nothing: weights need no other layout here."""

    def forward(self, inputs: Tensor, initial_states: Any = None, sequence_length: Any = None) -> Any:
        """The outputs of the last layer for every step, and the last states.

        The inputs are [batch, time, size], or with ``time_major`` [time, batch, size]. The states are
        [layers * directions, batch, size]; an LSTM's are a pair. Steps after the end of a sequence give zeros.
        """
        _check_features(self, inputs)
        if inputs.ndim != 3:
            axes = "[time, batch, size]" if self.time_major else "[batch, time, size]"
            raise ShapeError(f"{type(self).__name__}: the inputs are {axes}, not {list(inputs.shape)}")
        x = inputs if self.time_major else ops.swapaxes(inputs, 0, 1)
        time, batch = x.shape[0], x.shape[1]
        rows = self.num_layers * self.num_directions
        widths = [self.proj_size or self.hidden_size, self.hidden_size][: self.state_components]
        if initial_states is None:
            states = tuple(ops.zeros([rows, batch, width], x.dtype) for width in widths)
        else:
            states = tuple(initial_states) if self.state_components == 2 else (initial_states,)
        layers = [[c.weights for c in cells] for cells in self._cells()]
        dropout = self.dropout if self.training else 0.0
        if sequence_length is None:
            y, end = recurrent.run(self.mode, layers, x, states, None, dropout)
        else:
            y, end = self._packed(x, states, layers, sequence_length, dropout, time)
        y = y if self.time_major else ops.swapaxes(y, 0, 1)
        return y, end if self.state_components == 2 else end[0]

    def _packed(self, x: Tensor, states: Any, layers: Any, lengths: Any, dropout: float, time: int) -> Any:
        """The outputs and states of sequences of different lengths: they are sorted, packed and put back."""
        sizes = np.asarray(lengths.numpy() if isinstance(lengths, Tensor) else lengths).ravel()
        if len(sizes) != x.shape[1]:
            raise ShapeError(
                f"{self.mode}: sequence_length has a number for each of {x.shape[1]} sequences, not {len(sizes)}"
            )
        if not 0 < sizes.max() <= time:
            raise ArgumentError(f"{self.mode}: the largest sequence_length is from 1 to {time}, not {sizes.max()}")
        order = np.argsort(-sizes, kind="stable")

        def taken(t: Any, which: Any) -> Tensor:
            return ops.index_select(t, 1, _core.make(which, "int64", False, PADDLE))

        counts = [int((sizes > t).sum()) for t in range(int(sizes.max()))]
        sorted_x = taken(x, order)
        data = ops.concat([sorted_x[t, :n] for t, n in enumerate(counts)], 0)
        y, end = recurrent.run(self.mode, layers, data, tuple(taken(s, order) for s in states), counts, dropout)
        steps = [
            ops.pad(part, [(0, len(sizes) - n), (0, 0)])
            for part, n in zip(ops.split_sizes(y, counts, 0), counts, strict=True)
        ]
        steps += [ops.zeros_like(steps[0])] * (time - len(counts))
        back = np.argsort(order)
        return taken(ops.stack(steps, 0), back), tuple(taken(s, back) for s in end)

    def extra_repr(self) -> str:
        """The sizes and the arguments that are not the default."""
        shown = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("num_layers", 1), ("time_major", False), ("dropout", 0)):
            shown += "" if getattr(self, name) == usual else f", {name}={getattr(self, name)}"
        return shown


class SimpleRNN(RNNBase):
    """The Elman network ``h = tanh(W x + b + V h + c)``, or with ``activation="relu"`` with relu."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        sizes = (input_size, hidden_size, num_layers)
        super().__init__(_mode(activation), *sizes, direction, time_major, dropout, attrs)
        self.activation = activation


class LSTM(RNNBase):
    """Long short-term memory. The state is a pair: hidden state and cell.

    >>> import ferrograd.paddle as paddle
    >>> y, (h, c) = paddle.nn.LSTM(3, 4, num_layers=2)(paddle.ones([2, 5, 3]))
    >>> list(y.shape), list(c.shape)
    ([2, 5, 4], [2, 2, 4])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        proj_size: int = 0,
        name: str | None = None,
    ) -> None:
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        sizes = (input_size, hidden_size, num_layers)
        super().__init__("LSTM", *sizes, direction, time_major, dropout, attrs, proj_size)


class GRU(RNNBase):
    """Gated recurrent units."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        super().__init__("GRU", input_size, hidden_size, num_layers, direction, time_major, dropout, attrs)


__dir__ = _public.names(globals())
