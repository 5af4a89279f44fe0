"""``vmap``: a function of one example applied to a whole batch."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, overload

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import P, R, no_grad
from ferrograd._core import ArgumentError, IndexOutOfRange, ShapeError, Tensor
from ferrograd._kit import tree as _tree
from ferrograd.func._executors import Executors, Meter, Progress, mapped, refuse_recorded
from ferrograd.func._record import check_function, tensor, write


@overload
def vmap(f: Callable[P, R], in_axes: Any = ..., out_axes: Any = ..., **options: Any) -> Callable[P, R]: ...
@overload
def vmap(f: Any, in_axes: Any = ..., out_axes: Any = ..., **options: Any) -> Any: ...
def vmap(  # type: ignore[misc]
    f: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    chunk_size: int | None = None,
    randomness: str | None = None,
    axis_size: int | None = None,
    executor: Executors | None = None,
    retries: int = 0,
    progress: Progress = False,
) -> Any:
    """A function that applies ``f`` to every example of a batch at once.

    * ``in_axes``: the batch axis of each positional argument, or None for an argument that all examples share. One
      number holds for all arguments, and for all tensors of a structure. An array of NumPy with an axis is taken as a
      tensor. Keyword arguments, and other values that are not tensors, are shared.
    * ``out_axes``: the batch axis of each result, or None for a result that is the same for all examples; then it need
      not be a tensor.
    * ``chunk_size``: the number of examples computed at a time; None computes all.
    * ``randomness``: ``"same"`` or ``"different"`` random numbers for all examples, or ``"error"``. By default numbers
      drawn for a batched tensor are different, others the same.
    * ``axis_size``: the batch size, needed if no argument is batched.
    * ``executor``: a ``concurrent.futures.Executor``, or what has its ``submit``, whose workers compute the chunks; by
      default there are 16. ``f`` is sent by cloudpickle if that is installed. A chunk whose worker fails or dies is
      sent again up to ``retries`` times; then its error is raised. A function that makes an executor is called again
      where a death has broken one. Nothing is recorded, so no argument may require a gradient, and ``f`` cannot write
      to its arguments.
    * ``progress``: True for a bar of tqdm, or a function of (examples done, examples in total).

    Inside ``f`` a tensor has the shape of one example, and gradients are those of one example:
    ``vmap(grad(loss), (None, 0))`` computes per-example gradients. Calls nest. Functions that depend on values
    (``item``, ``bool``) are refused inside. What ``f`` writes in place to a batched argument is written to the
    caller's tensor.

    Raises:
        ShapeError: no argument is batched, or the batch sizes differ.
        IndexOutOfRange: an argument does not have the batch axis.

    >>> from ferrograd.func import vmap
    >>> vmap(fg.matmul, in_axes=(0, None))(fg.ones((5, 2, 3)), fg.ones((3, 4))).shape
    (5, 2, 4)
    """
    check_function("vmap", f)
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise ArgumentError(f"vmap: chunk_size must be None or a positive int, not {chunk_size!r}")
    if axis_size is not None:
        whole = isinstance(axis_size, int) and not isinstance(axis_size, bool)
        if not whole or not 0 <= axis_size <= sys.maxsize:
            raise ArgumentError(f"vmap: axis_size must be None or an int that is not negative, not {axis_size!r}")
    if executor is not None and randomness in ("same", "different"):
        raise ArgumentError("vmap: workers draw random numbers of their own; with an executor randomness must be None")
    if randomness not in (None, "error", "same", "different"):
        raise ArgumentError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    @wraps(f)
    def batched(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        values = _tree.leaves(args)
        wanted = list(in_axes) if isinstance(in_axes, list) else in_axes
        axes = _tree.spread(tuple(wanted) if isinstance(wanted, list) else wanted, args, "vmap: in_axes")
        values = _tensors(values, axes)
        axes = [_axis(x, a) for x, a in zip(values, axes, strict=True)]
        batch_size = _batch_size(f, args, values, axes, axis_size)

        def some(start: int, end: int) -> tuple[Any, list[Any]]:
            __tracebackhide__ = True
            part = [
                x if a is None or (start, end) == (0, batch_size) else _core.native.narrow(x, a, start, end - start)
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
                        # A returned argument shares its memory, as outside of vmap.
                        left = _core.native.moveaxis(*arguments[id(y)], axis)
                    found.append(left)
                return result, found

        def _outward(result: Any) -> list[Any]:
            # A tuple of one axis fits a single tensor too.
            one = isinstance(result, Tensor) and isinstance(out_axes, tuple) and len(out_axes) == 1
            return _tree.spread(out_axes[0] if one else out_axes, result, "vmap: out_axes")

        meter = Meter("vmap", batch_size, progress)
        if executor is not None:
            refuse_recorded("vmap", (args, kwargs))
            step = -(-batch_size // CHUNKS) if chunk_size is None else chunk_size
            tasks = [
                (
                    [
                        x if a is None else _core.native.narrow(x, a, at, min(step, batch_size - at))
                        for x, a in zip(values, axes, strict=True)
                    ],
                    min(step, batch_size - at),
                )
                for at in range(0, batch_size, step or 1)
            ]
            if tasks:
                call = _Chunk(f, args, kwargs, axes, out_axes, randomness)
                parts = []
                computed = mapped("vmap", call, tasks, executor, retries, "chunk")
                for (_, count), part in zip(tasks, computed, strict=True):
                    parts.append(part)
                    meter.add(count)
                result = parts[0]
                pieces = zip(*map(_tree.leaves, parts), strict=True)
                return _tree.rebuilt(result, iter(_joined(pieces, _outward(result))))
        if chunk_size is None or batch_size <= chunk_size:
            result, found = some(0, batch_size)
            meter.add(batch_size)
            return _tree.rebuilt(result, iter(found))
        state = _core.native.mersenne.streams() if randomness == "same" else None
        parts = []
        for at in range(0, batch_size, chunk_size):
            if state is not None:
                _core.native.mersenne.set_streams(state)
            end = min(at + chunk_size, batch_size)
            parts.append(some(at, end))
            meter.add(end - at)
        result = parts[0][0]
        pieces = zip(*(found for _, found in parts), strict=True)
        return _tree.rebuilt(result, iter(_joined(pieces, _outward(result))))

    return batched


#: How many chunks the workers of an executor get.
CHUNKS = 16


class _Chunk:
    """Applies a function to a part of the batch, in a worker."""

    def __init__(
        self, f: Callable[..., Any], args: Any, kwargs: Any, axes: list[int | None], out_axes: Any, randomness: Any
    ) -> None:
        self.f, self.kwargs, self.axes, self.out_axes, self.randomness = f, kwargs, axes, out_axes, randomness
        # The structure of the arguments; their values come with each chunk.
        self.args = _tree.mapped(lambda _: 0, args)

    def __call__(self, values: list[Any], size: int) -> Any:
        in_axes = _tree.rebuilt(self.args, iter(self.axes))
        args = _tree.rebuilt(self.args, iter(values))
        options: dict[str, Any] = {"randomness": self.randomness, "axis_size": size}
        with no_grad():
            result = vmap(self.f, in_axes, self.out_axes, **options)(*args, **self.kwargs)
        return _tree.mapped(lambda y: y.detach() if isinstance(y, Tensor) else y, result)


def _joined(pieces: Iterable[tuple[Any, ...]], axes: list[Any]) -> list[Any]:
    """The results of the chunks, concatenated along their batch axes."""
    return [p[0] if a is None else _core.native.concat(list(p), a) for p, a in zip(pieces, axes, strict=True)]


def _tensors(values: list[Any], axes: list[Any]) -> list[Any]:
    """The values with tensors in place of the arrays that have a batch axis. An array given twice is one tensor."""
    made: dict[int, Tensor] = {}
    return [
        made.setdefault(id(x), _core.make(x, None, False, 0))
        if isinstance(x, np.ndarray) and x.ndim and a is not None
        else x
        for x, a in zip(values, axes, strict=True)
    ]


def _axis(x: Any, axis: Any) -> int | None:
    """The batch axis of an argument, counted from the front; None if it is shared."""
    if axis is None or not isinstance(x, Tensor):
        return None
    if not isinstance(axis, int):
        raise ArgumentError(f"vmap: in_axes holds ints and None, not {axis!r}")
    rank = len(x.shape)
    if not -rank <= axis < rank:
        raise IndexOutOfRange(f"vmap: an argument of shape {tuple(x.shape)} has no axis {axis}")
    return axis % rank


def shown_batches(
    f: Callable[..., Any], args: Sequence[Any], values: Sequence[Any], axes: Sequence[int | None]
) -> list[str]:
    """The size of the batch of each argument that has one, for an error: ``values`` are the leaves of the arguments."""
    return [
        f"{name} of shape {tuple(x.shape)} has {x.shape[a]} in axis {a}"
        for name, x, a in zip(_argument_names(f, args), values, axes, strict=True)
        if a is not None
    ]


def _argument_names(f: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """The name of each leaf of the arguments of ``f``: that of its parameter, and its place in the argument."""
    try:
        own = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        own = []
    by_place = [p.name for p in own if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [*by_place, *(f"argument {i}" for i in range(len(by_place), len(args)))]
    return [place for arg, name in zip(args, names, strict=False) for place in _tree.places(arg, name)]


def _batch_size(
    f: Callable[..., Any], args: Any, values: Sequence[Any], axes: Sequence[int | None], axis_size: int | None
) -> int:
    """The batch size of the arguments."""
    sizes: set[int] = {x.shape[a] for x, a in zip(values, axes, strict=True) if a is not None}
    if axis_size is not None:
        sizes.add(axis_size)
    if len(sizes) != 1:
        if not sizes:
            raise ShapeError("vmap: no argument has a batch axis")
        each = shown_batches(f, args, values, axes)
        if axis_size is not None:
            each.append(f"axis_size is {axis_size}")
        raise ShapeError(f"vmap: the arguments have batches of different sizes: {', '.join(each)}")
    return sizes.pop()


def _left(level: _core.Batch, y: Any, axis: Any) -> Any:
    """A result with its batch axis at ``axis``; a shared result (axis None) as it is."""
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
            "it is not the same for the whole batch"
        )
    return y


__all__ = ["vmap"]
