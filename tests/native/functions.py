"""A leaf and a custom function, which the tests of functions, hooks and checkpoints share."""

from __future__ import annotations

from typing import Any

import ferrograd as fg


def leaf(data: Any) -> Any:
    """A tracked float64 tensor."""
    return fg.tensor(data, dtype=fg.float64, requires_grad=True)


class Cube(fg.Function):
    """x³, with a backward that can be differentiated."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 3 * x**2
