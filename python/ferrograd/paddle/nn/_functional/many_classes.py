"""Paddle's losses and outputs for many classes, and its search in trees of beams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, ShapeError, paddle as ops
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "adaptive_log_softmax_with_loss",
    "class_center_sample",
    "gather_tree",
    "hsigmoid_loss",
    "margin_cross_entropy",
]


def _constant(values: Any) -> Tensor:
    return _core.make(np.ascontiguousarray(values), None, False, PADDLE)


def _labels(label: Any, function: str, classes: int) -> Any:
    """Labels as a vector of an array, each of them a class."""
    found = _arguments.tensor(label, function, "label").detach().numpy().reshape(-1)
    if found.dtype.kind not in "iu" or ((found < 0) | (found >= classes)).any():
        raise ArgumentError(f"{function}: labels are integers from 0 to {classes - 1}")
    return found.astype(np.int64)


def hsigmoid_loss(
    input: Tensor,
    label: Tensor,
    num_classes: int,
    weight: Tensor,
    bias: Tensor | None = None,
    path_table: Tensor | None = None,
    path_code: Tensor | None = None,
    is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Minus the logarithm of the probability of a path through a binary tree, [batch, 1].

    At each node on the way to its label a sample [batch, features] turns by the sigmoid of its product with a row of
    the weight. The tree is complete, or ``path_table`` has the rows of each sample, -1 after the last, and
    ``path_code`` the turns. ``is_sparse`` changes nothing.
    """
    if num_classes < 2:
        raise ArgumentError(f"Expected num_classes >= 2 (got {num_classes})")
    if (path_table is None) != (path_code is None):
        raise ArgumentError("hsigmoid_loss: path_table and path_code are given together")
    if path_table is None or path_code is None:
        codes = _labels(label, "hsigmoid_loss", num_classes) + num_classes
        bits = np.arange(int(2 * num_classes - 1).bit_length() - 1)
        rows = np.where(bits < np.floor(np.log2(codes))[:, None], (codes[:, None] >> (bits + 1)) - 1, -1)
        turns = (codes[:, None] >> bits) & 1
    else:
        rows, turns = (np.asarray(x.detach().numpy(), np.int64) for x in (path_table, path_code))
    places = _constant(np.maximum(rows, 0))
    input = ops.expand_dims(_arguments.tensor(input, "hsigmoid_loss", "input"), 1)
    nodes = ops.take(_arguments.tensor(weight, "hsigmoid_loss", "weight"), places, 0)
    scores = ops.sum(ops.multiply(nodes, input), -1)
    if bias is not None:
        scores = ops.add(scores, ops.take(ops.reshape(bias, [-1]), places, 0))
    scores = ops.clip(scores, -40.0, 40.0)
    losses = ops.subtract(ops.softplus(scores), ops.multiply(scores, ops.cast(_constant(turns), scores.dtype)))
    return ops.sum(ops.where(_constant(rows >= 0), losses, 0.0), -1, True)


def margin_cross_entropy(
    logits: Tensor,
    label: Tensor,
    margin1: float = 1.0,
    margin2: float = 0.5,
    margin3: float = 0.0,
    scale: float = 64.0,
    group: Any = None,
    return_softmax: bool = False,
    reduction: str | None = "mean",
) -> Any:
    """The cross entropy of cosines [batch, classes], of which that of the label, ``cos(t)``, is made smaller first.

    It becomes ``cos(margin1 * t + margin2) - margin3``; all are multiplied by ``scale``. With ``return_softmax`` also
    their softmax. There is one process, so there is no ``group``.
    """
    if reduction not in ("mean", "sum", "none", None):
        raise ArgumentError(f"margin_cross_entropy: reduction is 'mean', 'sum' or None, not {reduction!r:.40}")
    logits = _arguments.tensor(logits, "margin_cross_entropy", "logits")
    if logits.ndim != 2:
        raise ShapeError(f"margin_cross_entropy: logits are [batch, classes], not of the shape {list(logits.shape)}")
    classes = logits.shape[-1]
    index = _constant(_labels(label, "margin_cross_entropy", classes))
    mine = ops.equal(ops.arange(0, classes, 1, "int64"), ops.expand_dims(index, -1))
    # The angles of other classes are not needed, and 0 has a derivative.
    angle = ops.acos(ops.where(mine, logits, 0.0))
    moved = ops.subtract(ops.cos(ops.add(ops.multiply(angle, margin1), margin2)), margin3)
    scores = ops.multiply(ops.where(mine, moved, logits), scale)
    loss = ops.cross_entropy(scores, index, None, -100, "none" if reduction is None else reduction, 0.0, -1)
    if reduction in ("none", None):
        loss = ops.expand_dims(loss, -1)
    return (loss, ops.softmax(scores, -1)) if return_softmax else loss


def adaptive_log_softmax_with_loss(
    input: Tensor,
    label: Tensor,
    head_weight: Tensor,
    tail_weights: Sequence[Sequence[Tensor]],
    cutoffs: Sequence[int],
    head_bias: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The logarithms of the probabilities of labels, and minus their mean. Rare classes are in groups of their own.

    The head has the classes below the first cutoff and one entry for each further group, whose classes have two small
    weights: E. Grave et al. (2017), "Efficient softmax approximation for GPUs". The last cutoff is the number of
    classes.
    """
    function = "adaptive_log_softmax_with_loss"
    input, label = _arguments.tensor(input, function, "input"), _arguments.tensor(label, function, "label")
    if label.ndim > 1 or input.ndim != label.ndim + 1:
        raise ShapeError(
            f"{function}: input is [batch, features] and label [batch], or both without the batch, not "
            f"{list(input.shape)} and {list(label.shape)}"
        )
    x = input if label.ndim else ops.expand_dims(input, 0)
    ends = _arguments.integers(cutoffs, function, "cutoffs")
    classes = _labels(label, function, ends[-1])
    if len(classes) != x.shape[0]:
        raise ShapeError("Input and label should have the same size in the batch dimension.")
    head = ops.log_softmax(ops.linear(x, head_weight, head_bias, False), -1)
    entry = np.where(classes < ends[0], classes, ends[0] + np.searchsorted(ends, classes, side="right") - 1)
    output = _at(head, entry)
    for low, high, (first, second) in zip(ends[:-1], ends[1:], tail_weights[: len(ends) - 1], strict=True):
        rows = np.flatnonzero((low <= classes) & (classes < high))
        if len(rows):
            inside = ops.linear(ops.linear(ops.take(x, _constant(rows), 0), first, None, False), second, None, False)
            found = _at(ops.log_softmax(inside, -1), classes[rows] - low)
            output = ops.index_add(output, 0, _constant(rows), found)
    loss = ops.negative(ops.mean(output))
    return (output if label.ndim else ops.squeeze(output, [0])), loss


def _at(x: Tensor, columns: Any) -> Tensor:
    """The element of each row in one column."""
    return ops.squeeze(ops.take_along_axis(x, _constant(np.asarray(columns, np.int64)[:, None]), 1), [1])


def class_center_sample(label: Tensor, num_classes: int, num_samples: int, group: Any = None) -> tuple[Tensor, Tensor]:
    """Labels counted among some classes, and these classes: all that are labels, and random others up to a number."""
    if num_samples > num_classes:
        raise ArgumentError(f"Expected num_samples less than or equal to {num_classes}, got num_samples {num_samples}")
    labels = _labels(label, "class_center_sample", num_classes)
    if not labels.size:
        raise ArgumentError("class_center_sample: there are no labels")
    known = np.unique(labels)
    rest = np.setdiff1d(np.arange(num_classes), known)
    order = ops.randperm(len(rest)).numpy()[: max(num_samples - len(known), 0)]
    chosen = np.sort(np.concatenate([known, rest[order]]))
    places = ops.cast(_constant(np.searchsorted(chosen, labels)), label.dtype)
    return places, ops.cast(_constant(chosen), label.dtype)


def gather_tree(ids: Tensor, parents: Tensor) -> Tensor:
    """The sequences of a beam search, all [length, batch, beams], from the choices and the beams that they continue."""
    ids, parents = _arguments.tensor(ids, "gather_tree", "ids"), _arguments.tensor(parents, "gather_tree", "parents")
    if ids.ndim != 3 or tuple(ids.shape) != tuple(parents.shape):
        raise ShapeError(
            "gather_tree: ids and parents are both [length, batch, beams], not "
            f"{list(ids.shape)} and {list(parents.shape)}"
        )
    chosen: list[Tensor] = []
    beam = None
    for choice, parent in zip(ops.unbind(ids, 0)[::-1], ops.unbind(parents, 0)[::-1], strict=True):
        chosen.append(choice if beam is None else ops.take_along_axis(choice, beam, -1))
        beam = parent if beam is None else ops.take_along_axis(parent, beam, -1)
    return ops.stack(chosen[::-1], 0) if chosen else ops.clone(ids)
