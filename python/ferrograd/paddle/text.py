"""``paddle.text``: the best sequences of tags. Data sets are no part of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, ShapeError, paddle as ops
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn.layer.layers import Layer

__all__ = ["ViterbiDecoder", "viterbi_decode"]

_SETS = ("Conll05st", "Imdb", "Imikolov", "Movielens", "UCIHousing", "WMT14", "WMT16", "datasets")


def __getattr__(name: str) -> Any:
    if name in _SETS:
        text = "data sets are no part of the library: read files in a paddle.io.Dataset"
        raise AttributeError(f"module 'paddle.text' has no attribute {name!r}: {text}")
    raise AttributeError(f"module 'paddle.text' has no attribute {name!r}")


def viterbi_decode(
    potentials: Tensor, transition_params: Tensor, lengths: Tensor, include_bos_eos_tag: bool = True, name: Any = None
) -> tuple[Tensor, Tensor]:
    """The sequence of tags with the highest score, for each of a batch of sequences: the scores and the tags.

    The score of a sequence is the sum of the potentials of its tags, [batch, steps, tags], and of the transitions from
    each tag to the next one, [tags, tags]. With ``include_bos_eos_tag`` the last tag comes before the first step, and
    the row of the last but one has the transitions of the last step. ``lengths`` says how many steps each sequence has.
    The scores, [batch], have gradients, which those of Paddle have not. The tags, [batch, the largest length], are
    int64, and 0 behind the end.

    Source: G. D. Forney, "The Viterbi algorithm", Proceedings of the IEEE 61 (1973).

    >>> import ferrograd.paddle as paddle
    >>> potentials = paddle.to_tensor([[[1.0, 0.0], [0.0, 0.5]]])
    >>> stay = paddle.to_tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> score, tags = paddle.text.viterbi_decode(potentials, stay, paddle.to_tensor([2]), False)
    >>> float(score), tags.tolist()
    (2.0, [[0, 0]])
    """
    potentials = _arguments.tensor(potentials, "viterbi_decode", "potentials")
    transitions = _arguments.tensor(transition_params, "viterbi_decode", "transition_params")
    if potentials.ndim != 3 or tuple(transitions.shape) != (potentials.shape[2],) * 2:
        raise ShapeError(
            "viterbi_decode wants potentials of shape [batch, steps, tags] and transitions of shape [tags, tags], not "
            f"{list(potentials.shape)} and {list(transitions.shape)}"
        )
    batch, most, count = potentials.shape
    counts = np.asarray(_arguments.tensor(lengths, "viterbi_decode", "lengths").detach().numpy())
    if (
        counts.shape != (batch,)
        or counts.dtype.kind not in "iu"
        or (batch and not 1 <= counts.min() <= counts.max() <= most)
    ):
        raise ArgumentError(f"viterbi_decode: lengths has a number from 1 to {most} for each of {batch} sequences")
    if include_bos_eos_tag and count < 2:
        raise ArgumentError("viterbi_decode: with include_bos_eos_tag there are at least two tags")
    if not batch:
        return potentials.sum([1, 2]), _core.make(np.zeros((0, 0), np.int64), None, False, PADDLE)
    steps = int(counts.max())
    best = potentials[:, 0] + transitions[-1] if include_bos_eos_tag else potentials[:, 0]
    came_from = np.zeros((steps, batch, count), np.int64)
    for t in range(steps):
        if t > 0:
            scores = best.unsqueeze(2) + transitions
            came_from[t] = ops.argmax(scores.detach(), 1).numpy()
            best = ops.where(_rows(counts > t), ops.max(scores, 1) + potentials[:, t], best)
        if include_bos_eos_tag:
            best = ops.where(_rows(counts == t + 1), best + transitions[-2], best)
    tags = np.zeros((batch, steps), np.int64)
    last = np.asarray(ops.argmax(best.detach(), 1).numpy())
    for t in reversed(range(steps)):
        if t + 1 < steps:
            last = np.where(counts > t + 1, came_from[t + 1][np.arange(batch), last], last)
        tags[:, t] = np.where(counts > t, last, 0)
    return ops.max(best, 1), _core.make(tags, None, False, PADDLE)


def _rows(holds: np.ndarray) -> Tensor:
    """Truth values of sequences, as a column beside the scores of their tags."""
    found: Tensor = _core.make(holds[:, None], None, False, PADDLE)
    return found


class ViterbiDecoder(Layer):
    """:func:`viterbi_decode` with these transitions.

    >>> import ferrograd.paddle as paddle
    >>> decoder = paddle.text.ViterbiDecoder(paddle.zeros([3, 3]), include_bos_eos_tag=False)
    >>> decoder(paddle.eye(3).unsqueeze(0), paddle.to_tensor([3]))[1].tolist()
    [[0, 1, 2]]
    """

    def __init__(self, transitions: Tensor, include_bos_eos_tag: bool = True, name: Any = None) -> None:
        super().__init__()
        self.transitions = transitions
        self.include_bos_eos_tag = include_bos_eos_tag

    def forward(self, potentials: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The scores and the tags."""
        return viterbi_decode(potentials, self.transitions, lengths, self.include_bos_eos_tag)


__dir__ = _public.names(globals())
