"""Results with gradients that share memory with others or with arguments: views of what a program makes or gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ferrograd import _core
from ferrograd._core import Tensor


class Way(NamedTuple):
    """How a result is made."""

    #: Whether it is made of an argument, else of a tensor that the program makes; and the number of that tensor.
    is_given: bool
    number: int
    #: Which elements of the tensor it has; None if it is the tensor itself.
    part: _core.Alias | None = None
    #: Whether it has no gradient.
    is_detached: bool = False


def parted(outs: Sequence[Tensor], arguments: Sequence[Tensor]) -> tuple[list[Tensor], list[Way] | None]:
    """What a program makes instead of ``outs``, and how each of these follows from it. None if it makes ``outs``
    themselves.
    """
    if not any(x.requires_grad for x in outs):
        return list(outs), None
    own = {id(x) for x in arguments}
    given = {alias.memory: i for i, x in enumerate(arguments) if (alias := _core.alias(x)) and alias.is_whole}
    members: dict[int, list[tuple[Tensor, _core.Alias]]] = {}
    for x in outs:
        if (alias := _core.alias(x)) is not None and id(x) not in own:
            members.setdefault(alias.memory, []).append((x, alias))
    wholes = {memory: _whole(group) for memory, group in members.items() if memory not in given}
    made: list[Tensor] = []
    numbers: dict[int, int] = {}

    def number(x: Tensor) -> int:
        if id(x) not in numbers:
            numbers[id(x)] = len(made)
            made.append(x)
        return numbers[id(x)]

    def way(x: Tensor) -> Way:
        alias = None if id(x) in own else _core.alias(x)
        if alias is not None:
            i = given.get(alias.memory)
            whole = wholes[alias.memory] if i is None else arguments[i]
            if whole is not None and whole is not x and (whole.requires_grad or x.requires_grad):
                is_detached = _core.alias(whole).history != alias.history
                if not (is_detached and x.requires_grad):
                    return Way(i is not None, number(whole) if i is None else i, alias, is_detached)
        return Way(False, number(x))

    ways = [way(x) for x in outs]
    if all(way == Way(False, k) for k, way in enumerate(ways)):
        return made, None
    return made, ways


def _whole(group: list[tuple[Tensor, _core.Alias]]) -> Tensor | None:
    """The tensor that the others of a memory are views of. None if one alone has it, or without a gradient."""
    if len({id(x) for x, _ in group}) == 1 or not any(x.requires_grad for x, _ in group):
        return None
    for x, alias in group:
        if x.requires_grad:
            whole = x if alias.is_whole else alias.base
            own = None if whole is None else _core.alias(whole)
            if own is not None and own.is_whole and own.history == alias.history:
                return whole
    return None


def joined(ways: list[Way] | None, made: list[Tensor], arguments: Sequence[Tensor]) -> list[Tensor]:
    """The results of a function, from what its program made."""
    if ways is None:
        return made
    found = []
    for way in ways:
        x = arguments[way.number] if way.is_given else made[way.number]
        if way.is_detached:
            x = x.detach()
        found.append(x if way.part is None else way.part.of(x))
    return found
