"""Functions with gradients of their own under ``vmap``: by a rule of the caller's, or lane by lane."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ferrograd import _core, _tree
from ferrograd._autograd.nested import filled, laid_out, replaced
from ferrograd._core import ArgumentError, LanesError, Tensor

Values = Sequence[Tensor | None]


class VmapInfo(NamedTuple):
    """What a ``vmap`` of a function's own is told: how many lanes there are, and what is said of random numbers."""

    batch_size: int
    randomness: str


def by_rule(rule: Callable[..., Any], name: str, values: tuple[Any, ...]) -> Any:
    """The call by the function's own ``vmap``, which sees the innermost lanes as the first axis."""
    found: list[Tensor] = []
    layout = [laid_out(value, found, True) for value in values]
    lanes = _core.lanes_of(found)
    assert lanes is not None, "it is called for a tensor with lanes"
    outside = [lanes.leave(x, 0) if lanes.has(x) else x for x in found]
    axes = tuple(filled(layout, [0 if lanes.has(x) else None for x in found]))
    given = (replaced(value, place, outside) for value, place in zip(values, layout, strict=True))
    result = rule(VmapInfo(len(lanes), lanes.randomness), axes, *given)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise ArgumentError(
            f"{name}.vmap: Expected the vmap staticmethod to have two returns, an output and out_dims with pytree "
            f"structure compatible with the output, not {type(result).__name__}"
        )
    output, out_axes = result
    spread = _tree.spread(out_axes, output, f"{name}.vmap: out_dims")
    parts = zip(_tree.leaves(output), spread, strict=True)
    inside = (y if axis is None or not isinstance(y, Tensor) else lanes.enter(y, axis) for y, axis in parts)
    return _tree.rebuilt(output, inside)


def one_by_one(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], refusal: LanesError) -> Any:
    """The call for each of the innermost lanes. What is no tensor in the output is that of the first."""
    found: list[Tensor] = []
    layout = laid_out([args, kwargs], found, True)
    lanes = _core.lanes_of(found)
    if lanes is None or not len(lanes):
        raise refusal
    outside = [lanes.leave(x, 0) if lanes.has(x) else None for x in found]
    results: list[list[Tensor]] = []
    for lane in range(len(lanes)):
        at: list[Any] = [x if out is None else out[lane] for x, out in zip(found, outside, strict=True)]
        a, k = replaced([args, kwargs], layout, at)
        before = [x.inplace_version for x in at]
        output = call(*a, **k)
        if before != [x.inplace_version for x in at]:
            raise ArgumentError("vmap: a function that asks for values cannot write into its arguments") from refusal
        results.append([])
        place = laid_out(output, results[-1], True)
        if lane == 0:
            first, places = output, place
    return replaced(first, places, [_together(lanes, parts) for parts in zip(*results, strict=True)])


class _Lane(threading.local):
    """The lanes at which rules run on this thread, for the contexts that they read from."""

    def __init__(self) -> None:
        self.stack: list[tuple[_core.FunctionCall, _core.Lanes, int]] = []


_LANE = _Lane()


def seen(call: _core.FunctionCall, tensors: list[Tensor]) -> list[Tensor]:
    """What a context kept, as a rule sees it that runs for one lane."""
    for owner, lanes, lane in _LANE.stack:
        if owner is call:
            tensors = [_one(lanes, lane, x) for x in tensors]
    return tensors


def ruled(call: _core.FunctionCall, rule: Callable[[Values], Values], given: Values) -> Values:
    """What a rule gives: for all lanes at once, or for each where it asks for values."""
    try:
        return rule(given)
    except LanesError:
        lanes = _core.lanes_of([*(x for x in given if x is not None), *seen(call, call.saved())])
        if lanes is None or not len(lanes):
            raise
    results: list[Values] = []
    for lane in range(len(lanes)):
        _LANE.stack.append((call, lanes, lane))
        try:
            results.append(ruled(call, rule, [x if x is None else _one(lanes, lane, x) for x in given]))
        finally:
            _LANE.stack.pop()
    return [_together(lanes, parts) for parts in zip(*results, strict=True)]


def has_values(x: Tensor) -> bool:
    """Whether any element in any lane is not zero."""
    while (lanes := _core.lanes_of([x])) is not None:
        x = lanes.leave(x, 0)
    return bool(np.any(np.asarray(x.detach())))


def _one(lanes: _core.Lanes, lane: int, x: Tensor) -> Tensor:
    """The tensor in one lane."""
    part: Tensor = lanes.leave(x, 0)[lane] if lanes.has(x) else x
    return part


def _together(lanes: _core.Lanes, parts: Values) -> Any:
    """A tensor with lanes, from that of each lane; None if all are."""
    known = [x for x in parts if x is not None]
    if not known:
        return None
    return lanes.enter(_core.native.stack([_core.native.zeros_like(known[0]) if x is None else x for x in parts]), 0)
