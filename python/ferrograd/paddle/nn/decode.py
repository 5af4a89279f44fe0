"""Sequences made step by step: the decoders of ``paddle.nn`` and the loop that runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from ferrograd._core import ArgumentError, paddle as ops
from ferrograd._kit import arguments as _arguments, public as _public, tree as _tree
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn._functional.many_classes import gather_tree

__all__ = ["BeamSearchDecoder", "Decoder", "dynamic_decode"]

#: The log-probability of what must not be chosen. A finite number: sums of it with others stay ordered.
_NEVER = -1e9


class Decoder:
    """The base of decoders. :func:`dynamic_decode` calls the methods that a subclass defines."""

    def initialize(self, inits: Any) -> tuple[Any, Any, Tensor]:
        """The first inputs, the first states, and which sequences are finished before the first step."""
        raise NotImplementedError

    def step(self, time: Tensor, inputs: Any, states: Any, **kwargs: Any) -> tuple[Any, Any, Any, Tensor]:
        """The outputs of one step, the next states, the next inputs, and which sequences are finished."""
        raise NotImplementedError

    def finalize(self, outputs: Any, final_states: Any, sequence_lengths: Tensor) -> tuple[Any, Any]:
        """The outputs and states to return, from the outputs of all steps stacked along axis 0. May be left out."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether :meth:`step` says of all sequences whether they are finished; else a finished one stays finished."""
        return False


class BeamSearchDecoder(Decoder):
    """Keeps the ``beam_size`` most probable sequences of each batch entry.

    Args:
        cell: a step of a recurrent network, called with inputs and states of shape ``[batch * beam_size, ...]``.
        start_token: the number that each sequence begins with.
        end_token: the number that ends a sequence.
        beam_size: how many sequences are kept.
        embedding_fn: makes the inputs of a step from the numbers of the step before; without it these are the inputs.
        output_fn: makes logits over the vocabulary from the cell's outputs; without it these are the logits.

    >>> import ferrograd.paddle as paddle
    >>> nn = paddle.nn
    >>> cell = nn.GRUCell(input_size=4, hidden_size=4)
    >>> decoder = nn.BeamSearchDecoder(
    ...     cell, start_token=0, end_token=1, beam_size=2, embedding_fn=nn.Embedding(6, 4), output_fn=nn.Linear(4, 6)
    ... )
    >>> ids, states, lengths = nn.dynamic_decode(decoder, cell.get_initial_states(paddle.ones([3, 4])),
    ...                                          max_step_num=4, return_length=True)
    >>> ids.shape[0], ids.shape[2], list(lengths.shape)
    (3, 2, [3, 2])
    """

    class OutputWrapper(NamedTuple):
        """What one step gives for each beam: its score, the number chosen, and the beam that it continues."""

        scores: Tensor
        predicted_ids: Tensor
        parent_ids: Tensor

    class StateWrapper(NamedTuple):
        """The state of the search, for each beam."""

        cell_states: Any
        log_probs: Tensor
        finished: Tensor
        lengths: Tensor

    def __init__(
        self,
        cell: Callable[..., Any],
        start_token: int,
        end_token: int,
        beam_size: int,
        embedding_fn: Callable[..., Any] | None = None,
        output_fn: Callable[..., Any] | None = None,
    ) -> None:
        self.cell, self.embedding_fn, self.output_fn = cell, embedding_fn, output_fn
        self.start_token = _arguments.integer(start_token, "BeamSearchDecoder", "start_token")
        self.end_token = _arguments.integer(end_token, "BeamSearchDecoder", "end_token")
        self.beam_size = _arguments.integer(beam_size, "BeamSearchDecoder", "beam_size")
        if self.beam_size < 1:
            raise ArgumentError(f"BeamSearchDecoder: beam_size must be at least 1, got {beam_size}")

    @staticmethod
    def tile_beam_merge_with_batch(x: Tensor, beam_size: int) -> Tensor:
        """Each batch entry ``beam_size`` times in a row, for what the cell reads besides its inputs.

        >>> import ferrograd.paddle as paddle
        >>> paddle.nn.BeamSearchDecoder.tile_beam_merge_with_batch(paddle.to_tensor([[1, 2], [3, 4]]), 2).tolist()
        [[1, 2], [1, 2], [3, 4], [3, 4]]
        """
        return ops.repeat_interleave(x, beam_size, 0)

    def _split_batch_beams(self, x: Tensor) -> Tensor:
        """From ``[batch * beams, ...]`` to ``[batch, beams, ...]``."""
        return ops.reshape(x, [x.shape[0] // self.beam_size, self.beam_size, *x.shape[1:]])

    def _merge_batch_beams(self, x: Tensor) -> Tensor:
        """From ``[batch, beams, ...]`` to ``[batch * beams, ...]``."""
        return ops.reshape(x, [x.shape[0] * x.shape[1], *x.shape[2:]])

    def _expand_to_beam_size(self, x: Tensor) -> Tensor:
        """From ``[batch, ...]`` to ``[batch, beams, ...]``."""
        return self._split_batch_beams(self.tile_beam_merge_with_batch(x, self.beam_size))

    def _fg_inputs(self, ids: Tensor) -> Any:
        return ids if self.embedding_fn is None else self.embedding_fn(ids)

    def initialize(self, initial_cell_states: Any) -> tuple[Any, StateWrapper, Tensor]:
        """Begins the search with ``start_token``, from states of shape ``[batch, ...]``."""
        states = _tree.mapped(self._expand_to_beam_size, initial_cell_states)
        first = _tree.leaves(states)[0]
        shape = [first.shape[0], self.beam_size]
        ids = ops.full(shape, self.start_token, "int64")
        # All beams of an entry are the same at first, so that only one of them may be continued.
        log_probs = ops.full(shape, _NEVER, first.dtype)
        log_probs[:, 0] = 0.0
        finished = ops.full(shape, False, "bool")
        return self._fg_inputs(ids), self.StateWrapper(states, log_probs, finished, ops.zeros_like(ids)), finished

    def step(
        self, time: Tensor, inputs: Any, states: StateWrapper, **kwargs: Any
    ) -> tuple[OutputWrapper, StateWrapper, Any, Tensor]:
        """Calls the cell for all beams and keeps the most probable continuations. ``kwargs`` go to the cell."""
        outputs, cell_states = self.cell(
            _tree.mapped(self._merge_batch_beams, inputs),
            _tree.mapped(self._merge_batch_beams, states.cell_states),
            **kwargs,
        )
        logits = _tree.mapped(self._split_batch_beams, outputs)
        cell_states = _tree.mapped(self._split_batch_beams, cell_states)
        if self.output_fn is not None:
            logits = self.output_fn(logits)
        vocabulary = logits.shape[-1]
        if not 0 <= self.end_token < vocabulary:
            raise ArgumentError(
                f"BeamSearchDecoder: end_token is {self.end_token}, but output_fn gives logits of {vocabulary} numbers"
            )

        # A finished beam can only be continued with its end, which costs nothing.
        ended = ops.full([vocabulary], _NEVER, logits.dtype)
        ended[self.end_token] = 0.0
        log_probs = ops.where(ops.unsqueeze(states.finished, -1), ended, ops.log_softmax(logits, -1))
        scores = ops.reshape(
            log_probs + ops.unsqueeze(states.log_probs, -1), [logits.shape[0], self.beam_size * vocabulary]
        )
        scores, chosen = ops.topk(scores, self.beam_size)
        parents, ids = chosen // vocabulary, chosen % vocabulary

        rows = ops.unsqueeze(ops.arange(logits.shape[0]), 1)
        finished, lengths = states.finished[rows, parents], states.lengths[rows, parents]
        state = self.StateWrapper(
            _tree.mapped(lambda x: x[rows, parents], cell_states),
            scores,
            finished | (ids == self.end_token),
            lengths + ops.cast(~finished, "int64"),
        )
        return self.OutputWrapper(scores, ids, parents), state, self._fg_inputs(ids), state.finished

    def finalize(
        self, outputs: OutputWrapper, final_states: StateWrapper, sequence_lengths: Tensor
    ) -> tuple[Tensor, StateWrapper]:
        """The numbers of each beam, followed back from its last step."""
        return gather_tree(outputs.predicted_ids, outputs.parent_ids), final_states

    @property
    def tracks_own_finished(self) -> Literal[True]:
        """Always: the beams change places."""
        return True


def dynamic_decode(
    decoder: Decoder,
    inits: Any = None,
    max_step_num: int | None = None,
    output_time_major: bool = False,
    impute_finished: bool = False,
    is_test: bool = False,
    return_length: bool = False,
    **kwargs: Any,
) -> tuple[Any, ...]:
    """Calls ``decoder.step`` until all sequences are finished, or ``max_step_num + 1`` times.

    Args:
        decoder: a :class:`BeamSearchDecoder`, or another :class:`Decoder`.
        inits: what ``decoder.initialize`` takes.
        max_step_num: the number of the last step, from 0; None: no limit.
        output_time_major: whether the outputs are ``[time, batch, ...]`` instead of ``[batch, time, ...]``.
        impute_finished: whether sequences keep the states from before their last step, if the decoder does not track
            which are finished.
        is_test: accepted; here it makes no difference.
        return_length: whether the lengths of the sequences are returned, too.
        **kwargs: further arguments of ``decoder.step``.

    Returns:
        The outputs and the last states, as ``decoder.finalize`` gives them, and with ``return_length`` the lengths.

    >>> import ferrograd.paddle as paddle
    >>> class Countdown(paddle.nn.Decoder):
    ...     def initialize(self, inits):
    ...         return inits, inits, inits == 0
    ...     def step(self, time, inputs, states):
    ...         return states, states - 1, states - 1, states == 1
    >>> outputs, states, lengths = paddle.nn.dynamic_decode(
    ...     Countdown(), paddle.to_tensor([1, 3]), impute_finished=True, return_length=True)
    >>> outputs.tolist(), states.tolist(), lengths.tolist()
    ([[1, 1, 1], [3, 2, 1]], [1, 1], [0, 2])
    """
    if not callable(getattr(decoder, "initialize", None)):
        raise TypeError(f"dynamic_decode: decoder is a Decoder, not {type(decoder).__name__}")
    inputs, states, finished = decoder.initialize(inits)
    lengths = ops.zeros_like(finished, "int64")
    steps: list[Any] = []
    time = ops.zeros([1], "int64")
    while not bool(finished.all()) and (max_step_num is None or len(steps) <= max_step_num):
        outputs, next_states, inputs, ended = decoder.step(time, inputs, states, **kwargs)
        if decoder.tracks_own_finished:
            lengths = getattr(next_states, "lengths", lengths)
        else:
            # As in Paddle, the step in which a sequence ends is not counted and, with impute_finished, not kept.
            ended = ended | finished
            lengths = lengths + ops.cast(~ended, "int64")
            if impute_finished:
                next_states = _kept(ended, states, next_states)
        steps.append(outputs)
        states, finished, time = next_states, ended, time + 1
    if not steps:
        raise ArgumentError("dynamic_decode: all sequences are finished before the first step")

    together = zip(*map(_tree.leaves, steps), strict=True)
    outputs = _tree.rebuilt(steps[0], (ops.stack(list(parts), 0) for parts in together))
    if type(decoder).finalize is not Decoder.finalize:
        outputs, states = decoder.finalize(outputs, states, lengths)
    if not output_time_major:
        outputs = _tree.mapped(lambda x: ops.transpose(x, [1, 0, *range(2, x.ndim)]), outputs)
    return (outputs, states, lengths) if return_length else (outputs, states)


def _kept(finished: Tensor, states: Any, next_states: Any) -> Any:
    """The next states, with those of finished sequences as they were."""

    def choose(old: Tensor, new: Tensor) -> Tensor:
        return ops.where(ops.reshape(finished, [*finished.shape, *[1] * (old.ndim - finished.ndim)]), old, new)

    return _tree.rebuilt(states, map(choose, _tree.leaves(states), _tree.leaves(next_states)))


__dir__ = _public.names(globals())
