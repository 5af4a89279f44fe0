"""Functions that torch's optimizers call before and after steps, and before and after states are saved and loaded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ferrograd import _core
from ferrograd._layers.hooks import RemovableHandle, add
from ferrograd._optim import fused as _fused

Hooks = dict[int, Callable[..., Any]]
#: The kinds of hooks that a step has.
_STEP = ("step_pre", "step_post")
#: The attributes that hold the hooks of an optimizer, which have torch's names because wrappers make them, too.
HOOKS = {
    "step_pre": "_optimizer_step_pre_hooks",
    "step_post": "_optimizer_step_post_hooks",
    "save_pre": "_optimizer_state_dict_pre_hooks",
    "save_post": "_optimizer_state_dict_post_hooks",
    "load_pre": "_optimizer_load_state_dict_pre_hooks",
    "load_post": "_optimizer_load_state_dict_post_hooks",
}
#: Hooks of every optimizer, by kind.
_global_hooks: dict[str, Hooks] = {"step_pre": {}, "step_post": {}}


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(optimizer, args, kwargs)`` before each step of every optimizer; see
    :meth:`Optimizer.register_step_pre_hook`.
    """
    return add(_global_hooks["step_pre"], hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(optimizer, args, kwargs)`` after each step of every optimizer."""
    return add(_global_hooks["step_post"], hook)


def with_hooks(step: Callable[..., Any], is_traceable: bool = False) -> Callable[..., Any]:
    """The method ``step`` with hooks before and after it. A step inside a step has none.

    Compiled functions cannot take steps with hooks, or steps that are not traceable: what they count in Python would
    be counted once.
    """

    @functools.wraps(step)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if self._fg_is_stepping:
            return step(self, *args, **kwargs)
        if not is_traceable or any(_global_hooks[kind] or hooks_of(self, kind) for kind in _STEP):
            _core.give_up_trace(_fused.NOT_TRACED)
        self._opt_called = self._fg_is_stepping = True
        try:
            for hook in [*_global_hooks["step_pre"].values(), *hooks_of(self, "step_pre").values()]:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not isinstance(changed, tuple) or len(changed) != 2:
                        raise RuntimeError(
                            f"a step pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                        )
                    args, kwargs = changed
            result = step(self, *args, **kwargs)
            for hook in [*hooks_of(self, "step_post").values(), *_global_hooks["step_post"].values()]:
                hook(self, args, kwargs)
            return result
        finally:
            self._fg_is_stepping = False

    return hooked


def hooks_of(optimizer: Any, kind: str) -> Hooks:
    """The hooks of an optimizer of one kind. A wrapper of optimizers may not have called ``Optimizer.__init__``."""
    found: Hooks = vars(optimizer).setdefault(HOOKS[kind], {})
    return found
