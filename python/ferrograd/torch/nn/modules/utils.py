"""Numbers or tuples of numbers, one for each axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ferrograd._kit import public as _public

__all__ = ["_ntuple", "_pair", "_quadruple", "_single", "_triple"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes a tuple of ``n`` numbers of one number."""

    def parse(x: Any) -> tuple[Any, ...]:
        """An iterable as a tuple, and one number repeated for each axis."""
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Removes a prefix from the keys of a state, in place: that of ``DataParallel`` is ``"module."``.

    >>> import ferrograd.torch as torch
    >>> state = torch.nn.ModuleDict({"module": torch.nn.Linear(1, 1)}).state_dict()
    >>> torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> list(state)
    ['weight', 'bias']
    """
    for key in list(state_dict):
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata: dict[str, Any] = getattr(state_dict, "_metadata", None) or {}
    for key in list(metadata):
        # The module itself has the key without the dot, and becomes the root.
        if key and (key == prefix.removesuffix(".") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)


__dir__ = _public.names(globals())
