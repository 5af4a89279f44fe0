"""Arguments that answer for a function of torch by ``__torch_function__``, where the function has refused them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from ferrograd._kit import adapters


def accept_synonyms(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which also takes synonyms of its parameters, and asks arguments with ``__torch_function__``."""
    return adapters.accept_synonyms(f, answer)


def answer(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result that an argument with ``__torch_function__`` gives; NotImplemented if there is none.

    Nothing is asked if a function of torch called this one, because that function asks by itself.
    """
    torch: Any = sys.modules.get("ferrograd.torch")
    given = _flat(args, kwargs)
    if torch is None or not torch.overrides.has_torch_function(given) or adapters.is_within(3):
        return NotImplemented
    values = (value for place in (torch, torch.linalg, torch.special) for value in vars(place).values())
    public = next(value for value in values if _is_around(value, function))
    return torch.overrides.handle_torch_function(public, given, *args, **kwargs)


def _is_around(function: Any, inner: Any) -> bool:
    """Whether a function is another one, or wraps it."""
    while function is not None and function is not inner:
        function = getattr(function, "__wrapped__", None)
    return function is inner


def _flat(args: Iterable[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments, and the items of lists among them."""
    return [y for x in (*args, *kwargs.values()) for y in (x if isinstance(x, (list, tuple)) else (x,))]
