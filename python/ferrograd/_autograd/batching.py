"""``Function`` under ``vmap``: by the ``vmap`` rule of the user, or one batch element after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ferrograd import _core
from ferrograd._autograd.nested import collect_tensors, fill, replace_tensors
from ferrograd._core import ArgumentError, Tensor, VmapError
from ferrograd._kit import tree as _tree

Values = Sequence[Tensor | None]


class VmapInfo(NamedTuple):
    """The first argument of a user's ``vmap`` rule: the batch size, and the ``randomness`` argument of ``vmap``."""

    batch_size: int
    randomness: str


def call_vmap_rule(rule: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a user's ``vmap`` rule. It gets the innermost batch axis as axis 0 of each batched tensor.

    The axes that it is told are those of ``args``; a batched tensor in ``kwargs`` has its batch axis in front too.
    """
    values = (*args, *kwargs.values())
    found: list[Tensor] = []
    positions = [collect_tensors(value, found, True) for value in values]
    level = _core.batches(found)[0]
    outside = [level.leave(x, 0) if level.has(x) else x for x in found]
    axes = tuple(fill(positions, [0 if level.has(x) else None for x in found]))[: len(args)]
    given = [replace_tensors(value, place, outside) for value, place in zip(values, positions, strict=True)]
    named = dict(zip(kwargs, given[len(args) :], strict=True))
    result = rule(VmapInfo(len(level), level.randomness), axes, *given[: len(args)], **named)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise ArgumentError(
            f"{name}.vmap: Expected the vmap staticmethod to have two returns, an output and out_dims with pytree "
            f"structure compatible with the output, not {type(result).__name__}"
        )
    output, out_axes = result
    spread = _tree.spread(out_axes, output, f"{name}.vmap returned an incompatible (output, out_dims) tuple: out_dims")
    parts = zip(_tree.leaves(output), spread, strict=True)
    inside = (y if axis is None or not isinstance(y, Tensor) else level.enter(y, axis) for y, axis in parts)
    return _tree.rebuilt(output, inside)


def call_per_element(
    call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], refusal: VmapError
) -> Any:
    """Runs ``call`` for each element of the innermost batch and stacks the tensors of the results.

    Values that are not tensors are those of the first result. ``refusal`` is raised again if nothing is batched.
    """
    found: list[Tensor] = []
    positions = collect_tensors([args, kwargs], found, True)
    level = next(iter(_core.batches(found)), ())
    if not level:
        raise refusal
    outside = [level.leave(x, 0) if _differs(level, x) else None for x in found]
    results: list[list[Tensor]] = []
    for index in range(len(level)):
        at: list[Any] = [x if out is None else out[index] for x, out in zip(found, outside, strict=True)]
        a, k = replace_tensors([args, kwargs], positions, at)
        before = [x.inplace_version for x in at]
        output = call(*a, **k)
        if before != [x.inplace_version for x in at]:
            raise ArgumentError("vmap: a function that asks for values cannot write into its arguments") from refusal
        results.append([])
        place = collect_tensors(output, results[-1], True)
        if index == 0:
            first, places = output, place
    return replace_tensors(first, places, [_stacked(level, parts) for parts in zip(*results, strict=True)])


class _Running(threading.local):
    """The batch elements for which rules run on this thread, each with the call whose saved tensors it reads."""

    def __init__(self) -> None:
        self.stack: list[tuple[_core.FunctionCall, _core.Batch, int]] = []


_RUNNING = _Running()


def current_element(call: _core.FunctionCall, tensors: list[Tensor]) -> list[Tensor]:
    """Saved tensors of a call as its running rule sees them: one batch element of each, if it runs per element."""
    for owner, level, index in _RUNNING.stack:
        if owner is call:
            tensors = [_element(level, index, x) for x in tensors]
    return tensors


def run_rule(call: _core.FunctionCall, rule: Callable[[Values], Values], given: Values) -> Values:
    """Runs a rule on the whole batch, or per element if it asks for values (``item``, ``numpy``)."""
    __tracebackhide__ = True
    try:
        return rule(given)
    except VmapError:
        found = [*(x for x in given if x is not None), *current_element(call, call.saved())]
        level = next(iter(_core.batches(found)), ())
        if not level:
            raise
    results: list[Values] = []
    for index in range(len(level)):
        _RUNNING.stack.append((call, level, index))
        try:
            results.append(run_rule(call, rule, [x if x is None else _element(level, index, x) for x in given]))
        finally:
            _RUNNING.stack.pop()
    return [_stacked(level, parts) for parts in zip(*results, strict=True)]


def has_nonzero(x: Tensor) -> bool:
    """Whether any element is not zero, over all batch axes."""
    for level in _core.batches([x]):
        x = level.leave(x, 0)
    return bool(np.any(np.asarray(x.detach())))


def _element(level: _core.Batch, index: int, x: Tensor) -> Tensor:
    """One batch element of a tensor; the tensor itself if it is not batched and has no gradient."""
    part: Tensor = level.leave(x, 0)[index] if _differs(level, x) else x
    return part


def _differs(level: _core.Batch, x: Tensor) -> bool:
    """Whether each element of the batch has its own value or gradient of a tensor."""
    return level.has(x) or x.requires_grad


def _stacked(level: _core.Batch, parts: Values) -> Any:
    """The batched tensor made of one tensor per element, where None is zeros; None if all are None."""
    known = [x for x in parts if x is not None]
    if not known:
        return None
    return level.enter(_core.native.stack([_core.native.zeros_like(known[0]) if x is None else x for x in parts]), 0)
