"""Batching: a function of single values applied to all lanes at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ferrograd import _core, _tree
from ferrograd._core import ArgumentError, IndexOutOfRange, ShapeError, Tensor
from ferrograd.func._record import tensor, write


def vmap(
    f: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    chunk_size: int | None = None,
    randomness: str | None = None,
    axis_size: int | None = None,
) -> Callable[..., Any]:
    """A function that applies ``f`` to all lanes of its arguments at once.

    ``in_axes`` is the axis of each positional argument that holds its lanes, or None where all lanes share the
    argument; one number stands for all, and for all tensors of a structure. What is no tensor, and keyword arguments,
    are shared. The results have their lanes at ``out_axes``; None there says that a result is the same for all lanes.
    What is no tensor may be returned where the axis is None. With ``chunk_size`` so many lanes are computed at a time.
    Random numbers are different in all lanes where they are drawn for a tensor with lanes, else the same;
    ``randomness`` makes them ``"same"`` or ``"different"`` everywhere, or an ``"error"``.
    ``axis_size`` is the number of lanes, which is needed where no argument has them.

    Inside ``f`` a tensor has the shape of one lane, and gradients are those of one lane:
    ``vmap(grad(loss), (None, 0))`` computes the gradients of samples. Calls nest. What depends on values (``item``,
    ``bool``) is refused inside. What ``f`` writes in place to an argument with lanes is written to the argument.

    Raises:
        ShapeError: nothing has lanes, or there are different numbers of them.
        IndexOutOfRange: an argument without the axis.

    >>> from ferrograd.func import vmap
    >>> vmap(fg.matmul, in_axes=(0, None))(fg.ones((5, 2, 3)), fg.ones((3, 4))).shape
    (5, 2, 4)
    """
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise ArgumentError(f"vmap: chunk_size must be None or a positive int, not {chunk_size!r}")
    if axis_size is not None:
        whole = isinstance(axis_size, int) and not isinstance(axis_size, bool)
        if not whole or not 0 <= axis_size <= sys.maxsize:
            raise ArgumentError(f"vmap: axis_size must be None or an int that is not negative, not {axis_size!r}")
    if randomness not in (None, "error", "same", "different"):
        raise ArgumentError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    @wraps(f)
    def over_lanes(*args: Any, **kwargs: Any) -> Any:
        values = _tree.leaves(args)
        wanted = list(in_axes) if isinstance(in_axes, list) else in_axes
        axes = _tree.spread(tuple(wanted) if isinstance(wanted, list) else wanted, args, "vmap: in_axes")
        axes = [_axis(x, a) for x, a in zip(values, axes, strict=True)]
        lanes = _lanes(values, axes, axis_size)

        def some(start: int, end: int) -> tuple[Any, list[Any]]:
            part = [
                x if a is None or (start, end) == (0, lanes) else _core.native.narrow(x, a, start, end - start)
                for x, a in zip(values, axes, strict=True)
            ]
            with _core.Level(end - start, randomness) as level:
                # An argument that is passed twice is one tensor inside too.
                entered = {(id(x), a): (x, level.enter(x, a)) for x, a in zip(part, axes, strict=True) if a is not None}
                inside = [x if a is None else entered[id(x), a][1] for x, a in zip(part, axes, strict=True)]
                result = f(*_tree.rebuilt(args, iter(inside)), **kwargs)
                arguments = {}
                for (_, a), (x, new) in entered.items():
                    if new.inplace_version:
                        write(x, level.leave(new, a))
                    arguments[id(new)] = x, a
                found = []
                for y, axis in zip(_tree.leaves(result), _outward(result), strict=True):
                    left = _left(level, y, axis)
                    if id(y) in arguments:
                        # The argument comes out itself, as outside of a vmap: in the same memory.
                        left = _core.native.moveaxis(*arguments[id(y)], axis)
                    found.append(left)
                return result, found

        def _outward(result: Any) -> list[Any]:
            # A tuple of one axis goes with a single tensor too.
            one = isinstance(result, Tensor) and isinstance(out_axes, tuple) and len(out_axes) == 1
            return _tree.spread(out_axes[0] if one else out_axes, result, "vmap: out_axes")

        if chunk_size is None or lanes <= chunk_size:
            result, found = some(0, lanes)
            return _tree.rebuilt(result, iter(found))
        state = _core.native.get_rng_state() if randomness == "same" else None
        parts = []
        for at in range(0, lanes, chunk_size):
            if state is not None:
                _core.native.set_rng_state(state)
            parts.append(some(at, min(at + chunk_size, lanes)))
        result = parts[0][0]
        pieces = zip(*(found for _, found in parts), strict=True)
        whole = [
            p[0] if a is None else _core.native.concat(list(p), a)
            for p, a in zip(pieces, _outward(result), strict=True)
        ]
        return _tree.rebuilt(result, iter(whole))

    return over_lanes


def _axis(x: Any, axis: Any) -> int | None:
    """The axis that an argument's lanes are on, counted from the front."""
    if axis is None or not isinstance(x, Tensor):
        return None
    if not isinstance(axis, int):
        raise ArgumentError(f"vmap: in_axes holds ints and None, not {axis!r}")
    rank = len(x.shape)
    if not -rank <= axis < rank:
        raise IndexOutOfRange(f"vmap: an argument of shape {tuple(x.shape)} has no axis {axis}")
    return axis % rank


def _lanes(values: Sequence[Any], axes: Sequence[int | None], axis_size: int | None) -> int:
    """How many lanes the arguments have."""
    sizes: set[int] = {x.shape[a] for x, a in zip(values, axes, strict=True) if a is not None}
    if axis_size is not None:
        sizes.add(axis_size)
    if len(sizes) != 1:
        text = f"the arguments have different numbers of lanes: {sorted(sizes)}" if sizes else "nothing has lanes"
        raise ShapeError(f"vmap: {text}")
    return sizes.pop()


def _left(level: _core.Lanes, y: Any, axis: Any) -> Any:
    """A result with its lanes as an axis, or as it is where all lanes share it."""
    if axis is not None:
        if isinstance(axis, bool) or not isinstance(axis, int):
            raise ArgumentError(f"vmap: out_axes holds ints and None, not {axis!r}")
        y = tensor(y, "vmap: the result of the function")
        rank = len(y.shape) + 1
        if not -rank <= axis < rank:
            raise IndexOutOfRange(f"vmap: axis {axis} is out of range for {rank} dimensions")
        return level.leave(y, axis)
    if isinstance(y, Tensor) and level.has(y):
        raise ArgumentError(
            "vmap: the function can not return a BatchedTensor when out_dim is None (out_axes, out_dims): "
            "it is not the same for all lanes"
        )
    return y


__all__ = ["vmap"]
