"""The hooks of all modules, which a dialect registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Hooks = dict[int, Callable[..., Any]]
forward_pre: Hooks = {}
forward: Hooks = {}
takes_kwargs: dict[int, bool] = {}
always_called: dict[int, bool] = {}
backward_pre: Hooks = {}
backward: Hooks = {}
full_backward: Hooks = {}
#: What the call of a module, and its gradient, look into.
called = {"pre": forward_pre, "forward": forward, "back": backward, "full": full_backward, "full_pre": backward_pre}
#: By the kind of what is registered: parameter, module or buffer.
registration: dict[str, Hooks] = {"parameter": {}, "module": {}, "buffer": {}}


def registered(kind: str, module: Any, name: str, value: Any) -> Any:
    """What the hooks make of a parameter, module or buffer that a module is about to get."""
    for hook in list(registration[kind].values()):
        given = hook(module, name, value)
        value = value if given is None else given
    return value
