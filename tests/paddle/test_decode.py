"""``paddle.nn.dynamic_decode`` and the decoders."""

from __future__ import annotations

import itertools
from typing import Any

import ferrograd.paddle as paddle
import numpy as np
import pytest
from ferrograd.paddle import nn

VOCABULARY, END = 4, 1


def search(beam_size: int, cell: Any = nn.GRUCell, end_token: int = END) -> tuple[Any, Any]:
    paddle.seed(3)
    step = cell(3, 3)
    return step, nn.BeamSearchDecoder(
        step, 0, end_token, beam_size, nn.Embedding(VOCABULARY, 3), nn.Linear(3, VOCABULARY)
    )


def score(decoder: Any, states: Any, ids: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
    """The log-probability of one sequence, and its numbers up to the first end."""
    total, last, made = 0.0, decoder.start_token, []
    for number in ids:
        out, states = decoder.cell(decoder.embedding_fn(paddle.to_tensor([last])), states)
        total += nn.functional.log_softmax(decoder.output_fn(out), -1)[0, number].item()
        made.append(number)
        last = number
        if number == END:
            break
    return total, tuple(made)


@pytest.mark.parametrize("cell", [nn.SimpleRNNCell, nn.GRUCell, nn.LSTMCell])
def test_a_wide_beam_search_finds_the_best_of_all_sequences(cell: Any) -> None:
    step, decoder = search(VOCABULARY**2, cell)
    start = step.get_initial_states(paddle.ones([2, 3]))
    ids, states, lengths = nn.dynamic_decode(decoder, start, max_step_num=2, return_length=True)

    one = step.get_initial_states(paddle.ones([1, 3]))
    every = {score(decoder, one, s) for s in itertools.product(range(VOCABULARY), repeat=3)}
    best = sorted(every, reverse=True)[:5]
    for batch in range(2):
        np.testing.assert_allclose(states.log_probs[batch, :5].numpy(), [s for s, _ in best], rtol=1e-5)
        for beam, (_, sequence) in enumerate(best):
            length = lengths[batch, beam].item()
            assert tuple(ids[batch, :length, beam].tolist()) == sequence
            # Every token after the end of a sequence is the end token.
            assert set(ids[batch, length:, beam].tolist()) <= {END}


def test_outputs_can_be_time_major() -> None:
    step, decoder = search(2)
    start = step.get_initial_states(paddle.ones([3, 3]))
    by_batch = nn.dynamic_decode(decoder, start, max_step_num=4)[0]
    by_time = nn.dynamic_decode(decoder, start, max_step_num=4, output_time_major=True)[0]
    assert by_time.tolist() == by_batch.transpose([1, 0, 2]).tolist()


def test_the_search_ends_when_all_beams_have_ended() -> None:
    step, decoder = search(1)
    decoder.output_fn = lambda x: paddle.to_tensor([0.0, 5.0, 0.0, 0.0]) + 0 * x.sum(-1, keepdim=True)
    ids, states = nn.dynamic_decode(decoder, step.get_initial_states(paddle.ones([2, 3])))
    assert ids.tolist() == [[[END]], [[END]]]
    assert states.finished.all()


def test_scores_can_be_differentiated() -> None:
    step, decoder = search(2)
    _, states = nn.dynamic_decode(decoder, step.get_initial_states(paddle.ones([1, 3])), max_step_num=2)
    states.log_probs.sum().backward()
    assert all(np.abs(p.grad.numpy()).sum() > 0 for p in (step.weight_hh, decoder.output_fn.weight))


def test_what_the_cell_reads_is_tiled() -> None:
    x = paddle.to_tensor([[1, 2], [3, 4]])
    assert nn.BeamSearchDecoder.tile_beam_merge_with_batch(x, 2).tolist() == [[1, 2], [1, 2], [3, 4], [3, 4]]


def test_arguments_of_no_use_are_refused() -> None:
    step, decoder = search(2, end_token=VOCABULARY)
    with pytest.raises(ValueError, match="end_token is 4, but output_fn gives logits of 4 numbers"):
        nn.dynamic_decode(decoder, step.get_initial_states(paddle.ones([1, 3])), max_step_num=1)
    with pytest.raises(ValueError, match="beam_size must be at least 1, got 0"):
        nn.BeamSearchDecoder(step, 0, 1, 0)
    with pytest.raises(ValueError, match="start_token must be an int, not 'a'"):
        nn.BeamSearchDecoder(step, "a", 1, 2)  # type: ignore[arg-type]


class Doubling(nn.Decoder):
    """Doubles numbers until they are above four."""

    def initialize(self, inits: Any) -> Any:
        return inits, inits, inits > 4

    def step(self, time: Any, inputs: Any, states: Any, **kwargs: Any) -> Any:
        doubled = states * 2
        return {"time": time + 0 * states, "value": doubled}, doubled, doubled, doubled > 4


@pytest.mark.parametrize(
    ("impute_finished", "values", "states"), [(False, [6, 12, 24], [8, 24]), (True, [6, 6, 6], [4, 3])]
)
def test_a_decoder_of_ones_own_keeps_what_is_finished(
    impute_finished: bool, values: list[int], states: list[int]
) -> None:
    outputs, last, lengths = nn.dynamic_decode(
        Doubling(), paddle.to_tensor([1, 3]), impute_finished=impute_finished, return_length=True
    )
    assert outputs["time"].tolist() == [[0, 1, 2], [0, 1, 2]]
    assert outputs["value"].tolist() == [[2, 4, 8], values]
    assert last.tolist() == states
    assert lengths.tolist() == [2, 0]


def test_nothing_to_decode_is_refused() -> None:
    with pytest.raises(ValueError, match="finished before the first step"):
        nn.dynamic_decode(Doubling(), paddle.to_tensor([5, 6]))
