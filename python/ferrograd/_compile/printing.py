"""Values that a compiled function prints in each of its calls."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit.tree import leaves, rebuilt

__all__ = ["debug_print"]


def debug_print(text: str, *args: Any, **kwargs: Any) -> None:
    """Prints ``text.format(*args, **kwargs)``, in a compiled function in each of its calls.

    ``print`` runs only while a function is traced, and gives the trace up if it is shown a tensor. The tensors are
    printed without their record. What is no tensor is printed in each call as it was while the function was traced.

    Args:
        text: what to print, with a place for each argument, as ``str.format`` has it.
        args: tensors and other values, also in lists, tuples and dicts.
        kwargs: the same with names.

    >>> @fg.compile
    ... def f(x):
    ...     y = x * 2.0
    ...     fg.debug_print("y is {}, {n}", y, n=3)
    ...     return y.sum()
    >>> f(fg.tensor([1.0, 2.0])).item()
    y is Tensor([2., 4.], dtype=float32), 3
    6.0
    >>> f(fg.tensor([5.0, 6.0])).item()
    y is Tensor([10., 12.], dtype=float32), 3
    22.0
    """
    if not isinstance(text, str):
        raise ArgumentError(f"debug_print: text must be a string, not {type(text).__name__}")
    known = leaves((args, kwargs))
    tensors = [x for x in known if isinstance(x, Tensor)]
    # The tensors are not kept.
    others = [None if isinstance(x, Tensor) else x for x in known]
    is_tensor = [isinstance(x, Tensor) for x in known]
    structure = rebuilt((args, kwargs), iter([0.0] * len(known)))

    def show(values: list[Tensor]) -> None:
        given = iter(values)
        all_values = (next(given) if own else x for own, x in zip(is_tensor, others, strict=True))
        shown, named = rebuilt(structure, all_values)
        print(text.format(*shown, **named))

    if _core.tell_in_each_run(show, tensors):
        show(_core.told(tensors))
