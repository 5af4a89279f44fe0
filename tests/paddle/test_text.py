"""``paddle.text``: sequences of tags with the highest score."""

from __future__ import annotations

import itertools
from typing import Any

import ferrograd as fg
import ferrograd.paddle as paddle
import numpy as np
import pytest


def score(potentials: Any, transitions: Any, tags: tuple[int, ...], has_ends: bool) -> float:
    """The score of a sequence by its definition."""
    total = sum(potentials[t, tag] for t, tag in enumerate(tags))
    total += sum(transitions[a, b] for a, b in itertools.pairwise(tags))
    return float(total + (transitions[-1, tags[0]] + transitions[-2, tags[-1]] if has_ends else 0.0))


@pytest.mark.parametrize("has_ends", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_all_sequences_is_found(seed: int, has_ends: bool) -> None:
    rng = np.random.default_rng(seed)
    lengths = [4, 1, 3]
    potentials, transitions = rng.standard_normal((3, 5, 3)), rng.standard_normal((3, 3))
    given = paddle.to_tensor(potentials), paddle.to_tensor(transitions), paddle.to_tensor(lengths)
    scores, tags = paddle.text.viterbi_decode(*given, include_bos_eos_tag=has_ends)
    assert (tags.dtype, list(tags.shape)) == (paddle.int64, [3, 4])
    for row, n in enumerate(lengths):
        every = itertools.product(range(3), repeat=n)
        best = max(every, key=lambda own: score(potentials[row], transitions, own, has_ends))
        assert tags[row].tolist() == [*best, *[0] * (4 - n)]
        assert float(scores[row]) == pytest.approx(score(potentials[row], transitions, best, has_ends))


def test_scores_have_gradients_and_tags_have_none() -> None:
    potentials = paddle.to_tensor([[[1.0, 0.0], [0.0, 0.5]]], stop_gradient=False)
    decoder = paddle.text.ViterbiDecoder(paddle.to_tensor([[1.0, 0.0], [0.0, 1.0]]), include_bos_eos_tag=False)
    scores, tags = decoder(potentials, paddle.to_tensor([2]))
    assert tags.stop_gradient
    scores.sum().backward()
    assert potentials.grad.tolist() == [[[1.0, 0.0], [1.0, 0.0]]]


def test_lengths_and_shapes_that_do_not_fit_are_refused() -> None:
    x, w = paddle.zeros([2, 3, 4]), paddle.zeros([4, 4])
    for lengths in ([0, 1], [4, 1], [1], [1.0, 2.0]):
        with pytest.raises(fg.FerrogradError, match="lengths has a number from 1 to 3 for each of 2 sequences"):
            paddle.text.viterbi_decode(x, w, paddle.to_tensor(lengths))
    with pytest.raises(fg.ShapeError, match="transitions of shape"):
        paddle.text.viterbi_decode(x, paddle.zeros([3, 4]), paddle.to_tensor([1, 1]))
    with pytest.raises(AttributeError, match="data sets are no part of the library"):
        paddle.text.Imdb  # noqa: B018
