"""Helpers that programs import from ``autograd.util``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._kit import public as _public
from ferrograd._kit.warning import warn
from ferrograd.autograd._kit import func, subval, subvals, toposort
from ferrograd.autograd.test_util import check_grads

__all__ = ["func", "quick_grad_check", "subval", "subvals", "toposort"]


def quick_grad_check(
    fun: Callable[..., Any],
    arg0: Any,
    extra_args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    verbose: bool = True,
    eps: float = 1e-4,
    rtol: float = 1e-4,
    atol: float = 1e-6,
    rs: Any = None,
) -> None:
    """Checks the gradient of ``fun`` by its first argument. ``test_util.check_grads`` has taken its place."""
    warn("quick_grad_check is deprecated: use autograd.test_util.check_grads")
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)


__dir__ = _public.names(globals())
