"""Functions of functions: batching and tangents.

>>> import ferrograd as fg
>>> from ferrograd.func import jvp, vmap
>>> vmap(lambda row: row.sum())(fg.ones((2, 3))).shape
(2,)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd import _core
from ferrograd._modes import enable_grad, is_grad_enabled

__all__ = ["jvp", "vmap"]


def _each(axes: Any, count: int, what: str) -> list[Any]:
    """One axis for each of ``count`` values."""
    if not isinstance(axes, (tuple, list)):
        return [axes] * count
    if len(axes) != count:
        raise _core.ArgumentError(f"vmap: {what} has {len(axes)} entries for {count} values")
    return list(axes)


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """A function that applies ``f`` to all lanes of its arguments at once.

    ``in_axes`` is the axis of each positional argument that holds its lanes, or None where all lanes share the
    argument; one number stands for all. The results have their lanes at ``out_axes``. Inside ``f`` a tensor has the
    shape of one lane, and gradients are those of one lane. Calls nest. What depends on values (``item``, ``bool``) is
    refused inside.

    >>> vmap(fg.matmul, in_axes=(0, None))(fg.ones((5, 2, 3)), fg.ones((3, 4))).shape
    (5, 2, 4)
    """

    def over_lanes(*args: Any, **kwargs: Any) -> Any:
        axes = _each(in_axes, len(args), "in_axes")
        axes = [a if isinstance(x, _core.Tensor) else None for a, x in zip(axes, args, strict=True)]
        sizes = set()
        for x, axis in zip(args, axes, strict=True):
            if axis is not None:
                if not -len(x.shape) <= axis < len(x.shape):
                    raise _core.IndexOutOfRange(f"vmap: an argument of shape {tuple(x.shape)} has no axis {axis}")
                sizes.add(x.shape[axis])
        if len(sizes) != 1:
            text = f"the arguments have different numbers of lanes: {sorted(sizes)}" if sizes else "nothing has lanes"
            raise _core.ShapeError(f"vmap: {text}")
        with _core.Level(sizes.pop()) as level:
            inside = [x if a is None else level.enter(x, a) for x, a in zip(args, axes, strict=True)]
            result = f(*inside, **kwargs)
            several = isinstance(result, (tuple, list))
            found = list(result) if several else [result]
            outside = [level.leave(y, a) for y, a in zip(found, _each(out_axes, len(found), "out_axes"), strict=True)]
        return type(result)(outside) if several else outside[0]

    return over_lanes


def jvp(f: Callable[..., Any], primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The value of ``f`` at ``primals``, and its derivative along ``tangents``, in forward mode.

    ``primals`` and ``tangents`` are tuples of tensors of the same shapes. Where recording is on, both results can be
    differentiated again, in either mode.

    >>> jvp(lambda x: x * x, (fg.tensor(3.0),), (fg.tensor(10.0),))[1].item()
    60.0
    """
    record = is_grad_enabled()
    with enable_grad():
        inside = [_core.fresh(x) for x in primals]
        result = f(*inside)
    several = isinstance(result, (tuple, list))
    values = list(result) if several else [result]
    moved = _core.push(values, inside, list(tangents), record)
    moved = [_core.native.zeros(y.shape, dtype=y.dtype) if t is None else t for y, t in zip(values, moved, strict=True)]
    return (result, type(result)(moved)) if several else (result, moved[0])
