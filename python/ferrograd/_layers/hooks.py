"""Hooks of modules, which their owner holds by number."""

from __future__ import annotations

from itertools import count
from typing import Any


class RemovableHandle:
    """Removes a hook from the dict that holds it; a context manager that does so at its end."""

    _numbers = count()

    def __init__(self, hooks: dict[int, Any], *, extra_dict: Any = None) -> None:
        self.id = next(self._numbers)
        self._fg_held = [hooks, *([] if extra_dict is None else [extra_dict])]

    def hooks_dict_ref(self) -> dict[int, Any]:
        """The dict that holds the hook, with the others of its kind."""
        return self._fg_held[0]

    def remove(self) -> None:
        """Removes the hook. A second call does nothing."""
        for held in self._fg_held:
            held.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def add(hooks: dict[int, Any], hook: Any, *flags: dict[int, bool], first: bool = False) -> RemovableHandle:
    """Adds a hook, before the others if it is to be the ``first``, and sets the ``flags`` that it has."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if first:
        rest = [(number, other) for number, other in hooks.items() if number != handle.id]
        for number, other in rest:
            del hooks[number]
            hooks[number] = other
    for flag in flags:
        flag[handle.id] = True
    handle._fg_held += flags
    return handle
