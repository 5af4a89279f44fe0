"""Losses that are made of other functions, which both dialects have."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError, DtypeError, ShapeError, Tensor, native as ops
from ferrograd._functions.array_api import result_type
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import dialect_of


def _reduced(loss: Tensor, reduction: str) -> Any:
    if reduction not in ("none", "mean", "sum"):
        raise ArgumentError(f"{reduction} is not a valid value for reduction")
    return loss if reduction == "none" else ops.mean(loss) if reduction == "mean" else ops.sum(loss)


def _signed(x: Tensor) -> Any:
    """The tensor, or unsigned integers as signed ones: their differences and negatives would wrap."""
    return ops.astype(x, "int64") if isinstance(x, Tensor) and x.dtype.kind == "u" else x


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-08,
    reduction: str = "mean",
) -> Any:
    """The negative log-likelihood of counts whose rate is ``input``, or with ``log_input`` the exponential of it.

    The term ``log(target!)`` is left out, or with ``full`` approximated.
    """
    loss = ops.exp(input) - target * input if log_input else input - target * ops.log(input + eps)
    if full:
        stirling = target * ops.log(target) - target + 0.5 * ops.log(2 * math.pi * target)
        loss = loss + ops.where(target <= 1, 0.0, stirling)
    return _reduced(loss, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-06, reduction: str = "mean"
) -> Any:
    """The negative log-likelihood of targets that are normal with mean ``input`` and variance ``var``.

    The variance is at least ``eps``. ``full`` adds the constant term.
    """
    shape = tuple(_arguments.tensor(input, "gaussian_nll_loss", "input").shape)
    if not isinstance(var, Tensor):
        var = ops.full_like(input, var)
    if not _core.all_hold(ops.logical_not(var < 0)):
        raise ArgumentError("var has negative entry/entries")
    sizes = tuple(var.shape)
    if sizes != shape:
        if shape[:-1] == sizes:
            var = ops.expand_dims(var, -1)
        elif len(sizes) != len(shape) or any(b not in (1, a) for a, b in zip(shape, sizes, strict=True)):
            raise ShapeError("var is of incorrect size")
    # The gradient is that of the variance as it is given.
    with no_grad():
        raised = ops.clamp(var, eps, None) - var
    var = var + raised
    loss = 0.5 * (ops.log(var) + ops.square(_signed(input) - _signed(target)) / var)
    return _reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    reduction: str = "mean",
) -> Any:
    """``input`` where the target is 1, ``max(margin - input, 0)`` where it is -1."""
    far = ops.where(target == 1, 0.0, ops.relu(margin - input))
    near = ops.where(target == -1, 0.0, input)
    return _reduced(far + near, reduction)


def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Any:
    """``log(1 + exp(-target * input))`` with targets 1 and -1."""
    return _reduced(ops.softplus(-_signed(target) * _signed(input)), reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Any:
    """The mean over the last axis of the binary cross entropy of logits and targets 0 and 1."""
    loss = -(target * ops.log_sigmoid(input) + (1 - _signed(target)) * ops.log_sigmoid(-_signed(input)))
    loss = loss if weight is None else loss * weight
    return _reduced(ops.mean(loss, -1), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    reduction: str = "mean",
) -> Any:
    """``1 - cos`` of the vectors where the target is 1, ``max(cos - margin, 0)`` where it is -1."""
    # Torch's cosine has this constant under each root.
    eps = 1e-12
    axis = _arguments.tensor(target, "cosine_embedding_loss", "target").ndim
    if axis > 1 or input1.ndim != axis + 1 or input2.ndim != axis + 1:
        raise ShapeError(
            f"cosine_embedding_loss: {axis}D target tensor expects {axis + 1}D input tensors, but found inputs with "
            f"sizes {list(input1.shape)} and {list(input2.shape)}."
            if axis < 2
            else f"cosine_embedding_loss: 0D or 1D target tensor expected, multi-target not supported, not {axis}D"
        )
    if input1.dtype != input2.dtype:
        wide = result_type(input1, input2, "float32")
        input1, input2 = ops.cast(input1, wide), ops.cast(input2, wide)
    # Each vector is divided by its own length, since squares and the product of both may overflow.
    unit1, unit2 = (x / ops.hypot(ops.norm(x, 2.0, axis, True), eps**0.5) for x in (input1, input2))
    cosine = ops.sum(unit1 * unit2, axis)
    near = ops.where(target == 1, 1 - cosine, 0.0)
    far = ops.where(target == -1, ops.relu(cosine - margin), 0.0)
    return _reduced(near + far, reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    reduction: str = "mean",
) -> Any:
    """``max(-target * (input1 - input2) + margin, 0)``."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise ShapeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    loss = ops.relu(-_signed(target) * (_signed(input1) - _signed(input2)) + margin)
    return _reduced(loss, reduction)


def _classes(input: Tensor, function: str) -> int:
    """The number of classes, the size of the last axis."""
    if not input.ndim:
        raise ArgumentError(f"{function}: input has an axis of classes, and a tensor without axes has none")
    if not input.shape[-1]:
        raise ShapeError(f"{function}: Expected at least one class on the last axis of {list(input.shape)}")
    return int(input.shape[-1])


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Any:
    """The mean over the classes of ``max(margin - x[target] + x, 0)**p``, without the class of the target."""
    if p not in (1, 2):
        raise ArgumentError("only p == 1 and p == 2 supported")
    input = ops.reshape(input, [1]) if input.ndim == 0 else input
    classes = _classes(input, "multi_margin_loss")
    if math.prod(target.shape) != math.prod(input.shape[:-1]):
        raise ShapeError(
            f"multi_margin_loss: Expected a class for each sample: targets of shape {list(target.shape)} for inputs of "
            f"shape {list(input.shape)}"
        )
    # The class of one sample may have an axis.
    target = ops.reshape(target, list(input.shape[:-1]))
    at = ops.expand_dims(target, -1)
    violations = ops.pow(ops.relu(margin - _core.from_zero(ops.gather, input, -1, at) + input), p)
    if weight is not None:
        if list(weight.shape) != [classes]:
            raise ShapeError(
                f"multi_margin_loss: inconsistent weight size, expected [{classes}] but got {list(weight.shape)}"
            )
        violations = violations * ops.reshape(ops.index_select(weight, 0, ops.reshape(target, [-1])), list(at.shape))
    others = ops.where(ops.one_hot(target, classes) == 1, 0.0, violations)
    return _reduced(ops.sum(others, -1) / classes, reduction)


def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Any:
    """The sum of ``max(1 - x[label] + x[other], 0)`` over labels and other classes, divided by their number.

    The labels of a row are those before its first -1.
    """
    if input.ndim == 0:
        input, target = ops.reshape(input, [1]), ops.reshape(target, [1])
    classes = _classes(input, "multilabel_margin_loss")
    if list(target.shape[:-1]) != list(input.shape[:-1]):
        raise ShapeError(
            f"multilabel_margin_loss: Expected labels for each sample: targets of shape {list(target.shape)} for "
            f"inputs of shape {list(input.shape)}"
        )
    valid = ops.cumsum(ops.cast(target == -1, "int64"), -1) == 0
    labels = ops.where(valid, target, 0)
    hot = ops.one_hot(labels, classes) * ops.cast(ops.expand_dims(valid, -1), "int64")
    other = ops.expand_dims(ops.sum(hot, -2) == 0, -2)
    found = ops.expand_dims(_core.from_zero(ops.gather, input, -1, labels), -1)
    violations = ops.relu(1 - found + ops.expand_dims(input, -2))
    counted = ops.logical_and(ops.expand_dims(valid, -1), other)
    loss = ops.sum(ops.where(counted, violations, 0.0), [-2, -1]) / classes
    return _reduced(loss, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """``max(d(anchor, positive) - d(anchor, negative) + margin, 0)`` with the distance of the ``p``-norm.

    With ``swap`` the negative is compared with the anchor or the positive, whichever is nearer.
    """

    def distance(x: Tensor, y: Tensor) -> Any:
        return ops.pairwise_distance(x, y, p, eps)

    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """:func:`triplet_margin_loss` with another distance, by default that of the 2-norm."""
    return _triplet(anchor, positive, negative, distance_function or ops.pairwise_distance, margin, swap, reduction)


def _triplet(
    anchor: Tensor, positive: Tensor, negative: Tensor, distance: Any, margin: float, swap: bool, reduction: str
) -> Any:
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ShapeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    far = distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return _reduced(ops.relu(distance(anchor, positive) - far + margin), reduction)


#: The logarithm of no probability. It is finite, so that its derivatives are zeros and not NaN.
_NEVER = -1e30


def ctc_loss(
    log_probs: Tensor,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """Connectionist temporal classification: minus the logarithm of the probability of all paths to the targets.

    ``log_probs`` are [time, batch, classes], the targets [batch, most] or all in one vector. With the reduction mean
    each loss is divided by the length of its target first. An impossible target has an infinite loss, or with
    ``zero_infinity`` none.
    """
    if log_probs.ndim != 3:
        raise ShapeError(f"ctc_loss: log_probs are [time, batch, classes], not of shape {list(log_probs.shape)}")
    steps, batch, classes = log_probs.shape
    dialect = dialect_of(log_probs)

    given = _integers("ctc_loss", targets, "targets", dialect)
    times = _lengths("ctc_loss", input_lengths, batch, steps, "input_lengths", dialect)
    is_padded = given.ndim == 2
    most = given.shape[1] if is_padded else math.prod(given.shape)
    sizes = _lengths("ctc_loss", target_lengths, batch, most, "target_lengths", dialect)
    if not 0 <= blank < classes:
        raise ArgumentError("blank must be in label range")
    starts = ops.arange(batch) * most if is_padded else ops.cumsum(sizes) - sizes
    # A program is for targets of all lengths that a matrix has room for.
    most = most if is_padded and _core.is_tracing() else int(ops.max(sizes)) if batch else 0
    places = ops.arange(most)
    is_label = ops.less(places, ops.reshape(sizes, [batch, 1]))
    at = ops.where(is_label, ops.reshape(starts, [batch, 1]) + places, 0)
    found = (
        ops.where(is_label, ops.take(ops.reshape(given, [-1]), at), blank) if most else ops.zeros([batch, 0], "int64")
    )
    # The labels with a blank before, between and after them.
    pairs = ops.reshape(ops.stack([found, ops.full_like(found, blank)], -1), [batch, 2 * most])
    labels = ops.concat([ops.full([batch, 1], blank, "int64"), pairs], 1)
    if not _core.all_hold(ops.logical_and(ops.greater_equal(labels, 0), ops.less(labels, classes))):
        raise ArgumentError(f"ctc_loss: targets are classes from 0 to {classes - 1}")
    width = 2 * most + 1
    # A label may follow another at once, without the blank between, if it is not the same.
    later, own = labels[:, 2:], labels[:, : max(width - 2, 0)]
    skips = ops.logical_and(ops.not_equal(later, blank), ops.not_equal(later, own))
    skips = ops.concat([ops.zeros([batch, min(width, 2)], "bool"), skips], 1)
    index = ops.broadcast_to(ops.reshape(labels, [batch, 1, width]), [batch, steps, width])
    alpha = ops.ctc_alpha(ops.take_along_axis(ops.swapaxes(log_probs, 0, 1), index, 2), skips)
    # Without a step there is nothing to read.
    rows = ops.reshape(alpha, [batch, steps * width]) if steps else ops.full([batch, width], _NEVER, log_probs.dtype)
    last = ops.maximum(times - 1, 0) * width + 2 * sizes
    ends = ops.take_along_axis(rows, ops.reshape(last, [batch, 1]), 1)
    before = ops.take_along_axis(rows, ops.reshape(ops.maximum(last - 1, 0), [batch, 1]), 1)
    has_labels, has_steps = ops.greater(sizes, 0), ops.greater(times, 0)
    both = ops.logaddexp(ends, ops.where(ops.reshape(has_labels, [batch, 1]), before, _NEVER))
    loss = -ops.reshape(both, [batch])
    # Without a step only the empty target is possible.
    loss = ops.where(ops.logical_or(has_steps, has_labels), loss, 0.0)
    loss = ops.where(ops.logical_or(has_steps, ops.logical_not(has_labels)), loss, -_NEVER)
    impossible = loss.detach() > -_NEVER / 2
    loss = ops.where(impossible, 0.0 if zero_infinity else math.inf, loss)
    if reduction == "mean":
        return ops.mean(loss / ops.maximum(sizes, 1))
    return _reduced(loss, reduction)


def _integers(function: str, given: Any, name: str, dialect: int) -> Tensor:
    """Integers as a tensor of int64."""
    values: Any = given.detach() if isinstance(given, Tensor) else np.asarray(given)
    if values.dtype.kind not in "iu" and math.prod(values.shape):
        raise DtypeError(f"{function}: {name} must be integers, not of dtype {values.dtype}")
    if isinstance(values, Tensor):
        return ops.astype(values, "int64")
    return cast(Tensor, _core.make(values.astype(np.int64), None, False, dialect))


def _lengths(function: str, given: Any, batch: int, most: int, name: str, dialect: int) -> Tensor:
    """One length for each member of the batch."""
    lengths = _integers(function, given, name, dialect)
    lengths = lengths if lengths.ndim else ops.reshape(lengths, [1])
    if list(lengths.shape) != [batch]:
        size = math.prod(lengths.shape)
        raise ArgumentError(f"{function}: {name} must be of size batch_size, {batch}, got {size}")
    if not _core.all_hold(ops.logical_and(ops.greater_equal(lengths, 0), ops.less_equal(lengths, most))):
        raise ArgumentError(f"{function}: expected {name} to have values between 0 and {most}, got {lengths.tolist()}")
    return lengths


def rnnt_loss(
    log_probs: Tensor,
    labels: Tensor,
    input_lengths: Any,
    label_lengths: Any,
    blank: int = 0,
    fastemit: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """The loss of a transducer: minus the logarithm of the probability of all paths to the labels.

    ``log_probs`` are [batch, time, most labels + 1, classes]: a path emits a label, which moves it along the third
    axis, or a blank, which moves it in time, and it ends with a blank. ``fastemit`` adds this share to the gradient of
    the probabilities of labels: J. Yu et al., "FastEmit" (2021).
    """
    function = "rnnt_loss"
    if _arguments.tensor(log_probs, function, "input").ndim != 4 or 0 in log_probs.shape[1:]:
        raise ShapeError(f"{function}: the input is [batch, time, labels + 1, classes], not {list(log_probs.shape)}")
    batch, steps, width, classes = log_probs.shape
    given = np.asarray(labels.detach().numpy(), np.int64)
    if given.shape != (batch, width - 1):
        raise ShapeError(f"{function}: the labels are {[batch, width - 1]}, not {list(given.shape)}")
    if not 0 <= blank < classes or given.min(initial=0) < 0 or given.max(initial=0) >= classes:
        raise ArgumentError(f"{function}: labels and the blank are classes from 0 to {classes - 1}")
    dialect = dialect_of(log_probs)
    times = _lengths(function, input_lengths, batch, steps, "input_lengths", dialect).numpy()
    if batch and times.min() < 1:
        raise ArgumentError(f"{function}: a sequence has at least one step")
    sizes = _lengths(function, label_lengths, batch, width - 1, "label_lengths", dialect).numpy()

    def constant(values: Any) -> Any:
        return _core.make(np.ascontiguousarray(values), None, False, dialect)

    # Row n has the places that n moves lead to: u labels and n - u blanks.
    moves = np.arange(steps + width - 1)[:, None] - np.arange(width)
    inside = (moves >= 0) & (moves < steps)
    rows = np.broadcast_to(np.clip(moves, 0, steps - 1), (batch, *moves.shape))
    index = np.broadcast_to(given[:, None, :, None], (batch, steps, width - 1, 1))
    emitted = ops.squeeze(ops.take_along_axis(log_probs[:, :, :-1], constant(index), 3), 3)
    if fastemit:
        more = emitted + fastemit * (emitted - emitted.detach())
        emitted = ops.where(ops.isfinite(emitted), more, emitted)
    blanks = ops.take_along_axis(log_probs[..., blank], constant(rows), 1)
    emitted = ops.take_along_axis(emitted, constant(rows[..., :-1]), 1)
    never = ops.full([batch, 1], -math.inf, log_probs.dtype)
    alpha = ops.where(constant(inside[0] & (moves[0] == 0)), 0.0, ops.broadcast_to(never, [batch, width]))
    seen = [alpha]
    for n in range(1, len(moves)):
        label = ops.concat([never, alpha[:, :-1] + emitted[:, n - 1]], 1)
        alpha = ops.where(constant(inside[n]), ops.logaddexp(alpha + blanks[:, n - 1], label), never)
        seen.append(alpha)
    ends = ops.stack(seen, 1) + blanks
    last = (constant(np.arange(batch)), constant(times - 1 + sizes), constant(sizes))
    return _reduced(-ends[last], reduction)
