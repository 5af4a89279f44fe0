"""``torch._foreach_add`` and the functions like it: methods of tensors, called for each tensor of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._core import ArgumentError, TorchTensor, torch as ops
from ferrograd._kit import public as _public


def function(name: str) -> Callable[..., Any]:
    """The function of a name that begins with ``_foreach_``.

    A list among its arguments has one value for each tensor. It gives a tuple, or None if it writes to the tensors.

    Raises:
        AttributeError: tensors have no such method.

    >>> import ferrograd.torch as torch
    >>> [x.tolist() for x in torch._foreach_mul([torch.ones(1), torch.ones(2)], [2.0, 3.0])]
    [[2.0], [3.0, 3.0]]
    """
    op = name.removeprefix("_foreach_")
    method: Any = ops.linalg.vector_norm if op == "norm" else getattr(TorchTensor, op, None)
    if method is None:
        raise _public.MissingName("ferrograd.torch", name)

    def each(self: Any, *args: Any, **options: Any) -> Any:
        found = []
        for i, tensor in enumerate(self):
            given = [_part(value, i, len(self), name) for value in args]
            named = {key: _part(value, i, len(self), name) for key, value in options.items()}
            if op in ("addcmul", "addcdiv", "addcmul_", "addcdiv_") and len(given) == 3:
                named["value"] = given.pop()
            found.append(method(tensor, *given, **named))
        return None if op.endswith("_") else tuple(found)

    each.__name__ = each.__qualname__ = name
    return each


def _part(value: Any, i: int, count: int, name: str) -> Any:
    if not isinstance(value, list | tuple):
        return value
    if len(value) != count:
        raise ArgumentError(f"{name}: a list of {len(value)} values for {count} tensors")
    return value[i]
