"""Recurrent networks."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from ferrograd._core import ArgumentError
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.ops import ops
from ferrograd._kit.warning import warn
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import init
from ferrograd.torch.nn._functional import root_recurrent
from ferrograd.torch.nn.modules.linear import optional, parameter
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter
from ferrograd.torch.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

#: The number of gates of each kind of network.
_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


def _mode(nonlinearity: str) -> str:
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
    return f"RNN_{nonlinearity.upper()}"


class RNNBase(Module):
    """The weights of a recurrent network of any kind, and its loop over sequences."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: object = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _arguments.sizes(self, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._fg_check()
        size, gates = proj_size or hidden_size, _GATES[mode] * hidden_size
        for layer in range(num_layers):
            inside = input_size if layer == 0 else size * self._fg_directions
            for suffix in self._fg_suffixes(layer):
                setattr(self, f"weight_ih_{suffix}", parameter([gates, inside], dtype, device))
                setattr(self, f"weight_hh_{suffix}", parameter([gates, size], dtype, device))
                if bias:
                    setattr(self, f"bias_ih_{suffix}", parameter([gates], dtype, device))
                    setattr(self, f"bias_hh_{suffix}", parameter([gates], dtype, device))
                if proj_size:
                    setattr(self, f"weight_hr_{suffix}", parameter([proj_size, hidden_size], dtype, device))
        self.reset_parameters()

    def _fg_check(self) -> None:
        """Raises for arguments that make no network."""
        if self.mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}")
        if not 0 <= self.dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if self.dropout > 0 and self.num_layers == 1:
            warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={self.dropout} and num_layers={self.num_layers}"
            )
        for name in ("bias", "batch_first"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} should be of type bool, got: {type(getattr(self, name)).__name__}")
        for name in ("input_size", "hidden_size", "num_layers"):
            value = getattr(self, name)
            if not isinstance(value, int):
                raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    @property
    def _fg_directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _fg_suffixes(self, layer: int) -> list[str]:
        """The ends of the names of a layer's weights, for each direction."""
        return [f"l{layer}", f"l{layer}_reverse"][: self._fg_directions]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        kinds = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if self.bias else [])]
        kinds += ["weight_hr"] if self.proj_size else []
        suffixes = [suffix for layer in range(self.num_layers) for suffix in self._fg_suffixes(layer)]
        return [[getattr(self, f"{kind}_{suffix}") for kind in kinds] for suffix in suffixes]

    @property
    def _flat_weights(self) -> list[Any]:
        """The weights of all layers in one list, each as it is at present, also where it is parametrized."""
        return [weight for weights in self.all_weights for weight in weights]

    def flatten_parameters(self) -> None:
        """Does nothing: weights need no other layout here."""

    def reset_parameters(self) -> None:
        """Draws all weights anew."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _fg_state_sizes(self) -> list[int]:
        """The size of each tensor of the state."""
        return [self.proj_size or self.hidden_size]

    def _fg_initial(self, hx: Any, input: Tensor, batch: int, batched: bool, order: Any) -> tuple[Tensor, ...]:
        """The state before the first step: the one given, checked, or zeros."""
        rows, sizes = self.num_layers * self._fg_directions, self._fg_state_sizes()
        if hx is None:
            return tuple(ops.zeros([rows, batch, size], input.dtype) for size in sizes)
        given = hx if isinstance(hx, tuple | list) else (hx,)
        found = []
        for name, h, size in zip(("hidden", "cell"), given, sizes, strict=False):
            wanted_rank, kind = (3, "batched") if batched else (2, "unbatched")
            if h.ndim != wanted_rank:
                what = "hx" if len(sizes) == 1 else "hx and cx"
                ranks = [t.ndim for t in given]
                got = f"{ranks[0]}-D tensor" if len(sizes) == 1 else f"({ranks[0]}-D, {ranks[-1]}-D) tensors"
                raise RuntimeError(
                    f"For {kind} {3 if batched else 2}-D input, {what} should also be {wanted_rank}-D but got {got}"
                )
            h = h if batched else ops.expand_dims(h, 1)
            if tuple(h.shape) != (rows, batch, size):
                shown = "hidden" if len(sizes) == 1 else f"{name}[{0 if name == 'hidden' else 1}]"
                shown = f"Expected {shown} size {(rows, batch, size)}, got {list(h.shape)}"
                raise RuntimeError(shown)
            found.append(h if order is None else ops.index_select(h, 1, order))
        if len(found) != len(sizes):
            raise RuntimeError(f"{type(self).__name__}: the state has {len(sizes)} tensors, not {len(given)}")
        return tuple(found)

    def _fg_check_input(self, input: Tensor, packed: bool) -> None:
        name = "RNN" if self.mode.startswith("RNN") else self.mode
        if packed and input.ndim != 2:
            raise RuntimeError(f"input must have 2 dimensions, got {input.ndim}")
        if input.ndim not in (2, 3):
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.ndim}D tensor instead")
        weight = self.weight_ih_l0
        if input.dtype != weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The outputs of the last layer for every step, and the last state.

        The input is [time, batch, size], with ``batch_first`` [batch, time, size], without a batch [time, size], or
        packed. The state is [layers * directions, batch, size]; an LSTM's is a pair.
        """
        sequence = input if isinstance(input, PackedSequence) else None
        x, counts, sizes, order, back = input, None, None, None, None
        if sequence is not None:
            x, counts, order, back = sequence
            sizes = [int(n) for n in counts.tolist()]
            if any(a < b for a, b in pairwise([*sizes, 1])):
                raise RuntimeError(f"batch_sizes of packed sequences are positive and never grow, unlike {sizes}")
        self._fg_check_input(x, sequence is not None)
        batched = sequence is not None or x.ndim == 3
        turned = self.batch_first and batched and sequence is None
        x = x if batched else ops.expand_dims(x, 1)
        x = ops.swapaxes(x, 0, 1) if turned else x
        if not x.shape[0]:
            raise ArgumentError(f"Expected sequence length to be larger than 0 in RNN, not an input of {input.shape}")
        state = self._fg_initial(hx, x, sizes[0] if sizes else x.shape[1], batched, order)
        weights = self._flat_weights
        rest = (weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        run = getattr(root_recurrent, self.mode.lower())
        y, *end = run(x, state, *rest, False) if counts is None else run(x, counts, state, *rest)
        if sequence is not None:
            end = end if back is None else [ops.index_select(s, 1, back) for s in end]
            return sequence._replace(data=y), tuple(end) if len(end) > 1 else end[0]
        y = ops.swapaxes(y, 0, 1) if turned else y
        if not batched:
            y, end = ops.squeeze(y, 1), [ops.squeeze(s, 1) for s in end]
        return y, tuple(end) if len(end) > 1 else end[0]

    def extra_repr(self) -> str:
        """The sizes and the arguments that are not the default."""
        shown = f"{self.input_size}, {self.hidden_size}"
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0}
        for name, value in {**usual, "bidirectional": False}.items():
            if getattr(self, name) != value:
                shown += f", {name}={getattr(self, name)}"
        return shown


def _refuse_projection(other: dict[str, Any]) -> None:
    """Raises for every argument in a list of those that are unknown."""
    if "proj_size" in other:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
    if other:
        raise TypeError(f"__init__() got an unexpected keyword argument {next(iter(other))!r}")


class RNN(RNNBase):
    """The Elman network ``h = tanh(W x + b + V h + c)``, or with ``nonlinearity="relu"`` with relu.

    >>> import ferrograd.torch as torch
    >>> y, h = torch.nn.RNN(3, 4)(torch.ones(5, 2, 3))
    >>> y.shape, h.shape
    (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: object = None,
        dtype: Any = None,
        **other: Any,
    ) -> None:
        _refuse_projection(other)
        rest = (bias, batch_first, dropout, bidirectional, 0, device, dtype)
        super().__init__(_mode(nonlinearity), input_size, hidden_size, num_layers, *rest)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory. The state is a pair: hidden state and cell.

    >>> import ferrograd.torch as torch
    >>> y, (h, c) = torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True)(torch.ones(5, 2, 3))
    >>> y.shape, c.shape
    (torch.Size([5, 2, 8]), torch.Size([4, 2, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: object = None,
        dtype: Any = None,
    ) -> None:
        rest = (bias, batch_first, dropout, bidirectional, proj_size, device, dtype)
        super().__init__("LSTM", input_size, hidden_size, num_layers, *rest)

    def _fg_state_sizes(self) -> list[int]:
        return [self.proj_size or self.hidden_size, self.hidden_size]


class GRU(RNNBase):
    """Gated recurrent units."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: object = None,
        dtype: Any = None,
        **other: Any,
    ) -> None:
        _refuse_projection(other)
        rest = (bias, batch_first, dropout, bidirectional, 0, device, dtype)
        super().__init__("GRU", input_size, hidden_size, num_layers, *rest)


class RNNCellBase(Module):
    """The weights of one step of a recurrent network."""

    _fg_kind: str
    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: object = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = num_chunks * hidden_size
        self.weight_ih = parameter([gates, input_size], dtype, device)
        self.weight_hh = parameter([gates, hidden_size], dtype, device)
        self.register_parameter("bias_ih", optional(bias, [gates], dtype, device))
        self.register_parameter("bias_hh", optional(bias, [gates], dtype, device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all weights anew."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _fg_step(self, input: Tensor, state: Any) -> tuple[Tensor, ...]:
        """The next state, with or without a batch."""
        name = type(self).__name__
        if _arguments.tensor(input, name, "input").ndim not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        if input.shape[-1] != self.input_size:
            got = f"got {input.shape[-1]} expected {self.input_size}"
            raise RuntimeError(f"{name}: input has inconsistent input_size: {got}")
        for h in state or ():
            if h.ndim not in (1, 2):
                raise ValueError(f"{name}: Expected hidden to be 1D or 2D, got {h.ndim}D instead")
            if h.shape[:-1] != input.shape[:-1] or h.shape[-1] != self.hidden_size:
                wanted = [*input.shape[:-1], self.hidden_size]
                raise ArgumentError(f"{name}: Expected hidden of shape {wanted}, got {list(h.shape)}")
        alone = input.ndim == 1
        if state is None:
            zeros = ops.zeros([*input.shape[:-1], self.hidden_size], input.dtype)
            state = (zeros, zeros) if self._fg_kind == "LSTM" else (zeros,)
        if alone:
            input, state = ops.expand_dims(input, 0), tuple(ops.expand_dims(h, 0) for h in state)
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        made = getattr(root_recurrent, f"{self._fg_kind.lower()}_cell")(input, tuple(state), *weights)
        found = made if isinstance(made, tuple) else (made,)
        return tuple(ops.squeeze(h, 0) for h in found) if alone else found

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """The next hidden state."""
        return self._fg_step(input, None if hx is None else (hx,))[0]

    def extra_repr(self) -> str:
        """The sizes and the arguments that are not the default."""
        shown = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else f", bias={self.bias}")
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return shown + ("" if nonlinearity == "tanh" else f", nonlinearity={nonlinearity}")


class RNNCell(RNNCellBase):
    """One step of :class:`RNN`."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: object = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity, self._fg_kind = nonlinearity, _mode(nonlinearity)


class LSTMCell(RNNCellBase):
    """One step of :class:`LSTM`: returns the hidden state and the cell."""

    _fg_kind = "LSTM"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: object = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """The next hidden state and cell."""
        return self._fg_step(input, hx)


class GRUCell(RNNCellBase):
    """One step of :class:`GRU`."""

    _fg_kind = "GRU"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: object = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)


__dir__ = _public.names(globals())
