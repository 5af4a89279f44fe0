"""Jacobians and Hessians: all rows, or all columns, in one batched pass over the graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, Literal, overload

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import tree as _tree
from ferrograd.func._executors import Executors, Meter, Progress, mapped, refuse_recorded
from ferrograd.func._record import FT, Record, check_function

Argnums = int | Sequence[int]

#: A pass over a batch of rows is limited so that none of its inputs and outputs has more elements than this.
ELEMENTS = 1 << 24


def size(x: Tensor) -> int:
    """The number of elements of a tensor of any dialect."""
    return math.prod(x.shape)


def spans(what: str, n: int, widest: int, chunk_size: int | None) -> Iterator[tuple[int, int]]:
    """The (start, end) of each pass over ``n`` rows; ``widest`` is the largest number of elements in a row."""
    if chunk_size is None:
        chunk_size = max(ELEMENTS // max(widest, 1), 1)
    elif not isinstance(chunk_size, int) or chunk_size < 1:
        raise ArgumentError(f"{what}: chunk_size must be None or a positive int, not {chunk_size!r}")
    for start in range(0, n, chunk_size):
        yield start, min(start + chunk_size, n)


def basis(x: Tensor, start: int, end: int) -> Tensor:
    """The unit vectors ``start`` to ``end``, each in the shape of ``x``, stacked on a new axis 0."""
    eye = _core.native.eye(end - start, size(x), start, dtype=x.dtype)
    return eye if x.ndim == 1 else eye.reshape([end - start, *x.shape])


def joined(parts: Sequence[Tensor], axis: int = 0) -> Tensor:
    """The results of the passes, concatenated."""
    return parts[0] if len(parts) == 1 else _core.native.concat(list(parts), axis)


class Workers:
    """Compute the chunks of a Jacobian, each from a record of its own."""

    def __init__(self, executor: Executors, retries: int, call: tuple[Any, ...]) -> None:
        self.executor, self.retries, self.call = executor, retries, call


#: The least number of chunks that workers get.
CHUNKS = 16


def chunks(
    record: Record,
    of: Callable[..., list[Tensor]],
    n: int,
    widest: int,
    chunk_size: int | None,
    k: int,
    workers: Workers | None,
    meter: Meter,
) -> Iterator[list[Tensor]]:
    """``of(record, k, start, end)`` for each chunk of ``n`` rows or columns, here or by workers."""
    if workers is None:
        for start, end in spans(record.what, n, widest, chunk_size):
            part = of(record, k, start, end)
            meter.add(end - start)
            yield part
        return
    if chunk_size is None:
        chunk_size = max(min(-(-n // CHUNKS), ELEMENTS // max(widest, 1)), 1)
    tasks = [(k, start, end) for start, end in spans(record.what, n, widest, chunk_size)]
    found = mapped(record.what, _Chunk(of, workers.call), tasks, workers.executor, workers.retries, "chunk")
    for (_, start, end), part in zip(tasks, found, strict=True):
        meter.add(end - start)
        yield part


class _Chunk:
    """Records a function in a worker, and computes one chunk of its Jacobian."""

    def __init__(self, of: Callable[..., list[Tensor]], call: tuple[Any, ...]) -> None:
        self.of, self.call = of, call

    def __call__(self, k: int, start: int, end: int) -> list[Tensor]:
        with no_grad():
            return [x.detach() for x in self.of(Record(*self.call), k, start, end)]


def _some_rows(record: Record, k: int, start: int, end: int) -> list[Tensor]:
    """For each argument: the rows ``start`` to ``end`` of output ``k``."""
    y = record.outputs[k]
    seeds: list[Tensor | None] = [None] * len(record.outputs)
    if end - start == size(y) == 1:
        seeds[k] = _core.native.ones_like(y)
        return record.pull(seeds)
    if end - start == 1:
        # One row is no batch, so that a rule of the user may ask for values.
        seeds[k] = basis(y, start, end)[0]
        return [_core.native.expand_dims(g, 0) for g in record.pull(seeds)]
    seeds[k] = basis(y, start, end)
    return record.pull(seeds, batch_size=end - start)


def _some_columns(record: Record, k: int, start: int, end: int) -> list[Tensor]:
    """For each output: the columns ``start`` to ``end`` of argument ``k``, on the last axis."""
    if end - start == 1:
        tangents: list[Tensor | None] = [None] * len(record.inside)
        tangents[k] = basis(record.inside[k], start, end)[0]
        pushed = zip(record.outputs, record.push(tangents), strict=True)
        return [_core.native.expand_dims(_core.native.zeros_like(y) if t is None else t, -1) for y, t in pushed]
    with _core.Level(end - start) as level:
        tangents = [None] * len(record.inside)
        tangents[k] = level.enter(basis(record.inside[k], start, end), 0)
        pushed = zip(record.outputs, record.push(tangents), strict=True)
        return [level.leave(_core.native.zeros_like(y) if t is None else t, -1) for y, t in pushed]


def rows(record: Record, chunk_size: int | None, progress: Progress = False, workers: Workers | None = None) -> Any:
    """The Jacobian in reverse mode: for each output, blocks in the structure of the arguments."""
    record.check_rows()
    inside, lengths = record.inside, list(map(size, record.outputs))
    widest, meter = max(map(size, inside), default=0), Meter(record.what, sum(lengths), progress)
    found = []
    for k, (y, n) in enumerate(zip(record.outputs, lengths, strict=True)):
        shape = list(y.shape)
        parts = list(chunks(record, _some_rows, n, max(widest, n), chunk_size, k, workers, meter))
        if parts:
            blocks = [
                g if list(g.shape) == [*shape, *x.shape] else g.reshape([*shape, *x.shape])
                for x, g in zip(inside, map(joined, zip(*parts, strict=True)), strict=True)
            ]
        else:
            blocks = [_core.native.zeros([*shape, *x.shape], dtype=x.dtype) for x in inside]
        found.append(record.as_wrt(blocks))
    return _tree.rebuilt(record.result, iter(found))


def columns(record: Record, chunk_size: int | None, progress: Progress = False, workers: Workers | None = None) -> Any:
    """The Jacobian in forward mode: for each output, blocks in the structure of the arguments."""
    outputs, meter = record.outputs, Meter(record.what, sum(map(size, record.inside)), progress)
    found: list[list[Tensor]] = [[] for _ in outputs]
    for k, x in enumerate(record.inside):
        n, widest = size(x), max(map(size, [*outputs, x]))
        parts = list(chunks(record, _some_columns, n, widest, chunk_size, k, workers, meter))
        for i, (y, blocks) in enumerate(zip(outputs, found, strict=True)):
            shape = [*y.shape, *x.shape]
            whole = joined([part[i] for part in parts], -1).reshape(shape) if parts else None
            blocks.append(_core.native.zeros(shape, dtype=y.dtype) if whole is None else whole)
    return _tree.rebuilt(record.result, map(record.as_wrt, found))


@overload
def jacrev(f: FT, argnums: int = ..., has_aux: Literal[False] = ..., **options: Any) -> FT: ...
@overload
def jacrev(f: Any, argnums: Argnums = ..., has_aux: bool = ..., **options: Any) -> Any: ...
def jacrev(  # type: ignore[misc]
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    progress: Progress = False,
    executor: Executors | None = None,
    retries: int = 0,
) -> Callable[..., Any]:
    """The function that computes the Jacobian of ``f`` in reverse mode, one row per element of the output.

    The result has the structure of the output. In place of each of its tensors stands the structure of the arguments
    at ``argnums``, with tensors of shape ``[*output shape, *argument shape]``. ``chunk_size`` rows are computed in one
    pass; None chooses a number that limits the memory. ``progress`` is True for a bar of tqdm, or a function of (rows
    done, rows in total). See :func:`grad` for ``has_aux``.

    With an ``executor``, a ``concurrent.futures.Executor`` or what has its ``submit``, workers compute the chunks. Each
    calls ``f`` again, so this pays for many rows. ``f`` is sent by cloudpickle if that is installed. A chunk whose
    worker fails or dies is sent again up to ``retries`` times; then its error is raised. A function that makes an
    executor is called again where a death has broken one. The result is not recorded, so no argument may require a
    gradient.

    >>> from ferrograd.func import jacrev
    >>> jacrev(lambda x: x * x)(fg.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    workers = (executor, retries)
    return _jacobian(
        "jacrev", f, argnums, lambda *of: rows(of[0], chunk_size, progress, of[1]), has_aux, workers=workers
    )


@overload
def jacfwd(f: FT, argnums: int = ..., has_aux: Literal[False] = ..., **options: Any) -> FT: ...
@overload
def jacfwd(f: Any, argnums: Argnums = ..., has_aux: bool = ..., **options: Any) -> Any: ...
def jacfwd(  # type: ignore[misc]
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    progress: Progress = False,
    executor: Executors | None = None,
    retries: int = 0,
) -> Callable[..., Any]:
    """Like :func:`jacrev`, in forward mode: one column per element of the arguments.

    >>> from ferrograd.func import jacfwd
    >>> jacfwd(lambda x: x * x)(fg.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    workers = (executor, retries)
    return _jacobian(
        "jacfwd", f, argnums, lambda *of: columns(of[0], chunk_size, progress, of[1]), has_aux, True, workers
    )


@overload
def jacobian(f: FT, argnums: int = ..., has_aux: Literal[False] = ..., **options: Any) -> FT: ...
@overload
def jacobian(f: Any, argnums: Argnums = ..., has_aux: bool = ..., **options: Any) -> Any: ...
def jacobian(  # type: ignore[misc]
    f: Callable[..., Any],
    argnums: Argnums = 0,
    mode: Literal["forward", "reverse"] | None = None,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    progress: Progress = False,
    executor: Executors | None = None,
    retries: int = 0,
) -> Callable[..., Any]:
    """Like :func:`jacrev`, in the mode that needs fewer passes: forward if the arguments have fewer elements.

    ``mode="forward"`` or ``mode="reverse"`` chooses the mode.

    >>> from ferrograd.func import jacobian
    >>> jacobian(lambda x: fg.outer(x, x))(fg.tensor([1.0, 2.0])).shape
    (2, 2, 2)
    """
    if mode not in (None, "forward", "reverse"):
        raise ArgumentError(f"jacobian: mode must be 'forward', 'reverse' or None, not {mode!r}")

    def both(record: Record, workers: Workers | None) -> Any:
        forward = sum(map(size, record.inside)) < sum(map(size, record.outputs)) if mode is None else mode == "forward"
        return (columns if forward else rows)(record, chunk_size, progress, workers)

    return _jacobian("jacobian", f, argnums, both, has_aux, workers=(executor, retries))


def _jacobian(
    what: str,
    f: Callable[..., Any],
    argnums: Argnums,
    of: Callable[[Record, Workers | None], Any],
    has_aux: bool,
    writable: bool = False,
    workers: tuple[Executors | None, int] = (None, 0),
) -> Callable[..., Any]:
    @wraps(f)
    def derivative(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        executor, retries = workers
        call = (what, f, args, kwargs, argnums, has_aux, writable)
        if executor is not None:
            refuse_recorded(what, (args, kwargs))
        record = Record(*call)
        found = of(record, None if executor is None else Workers(executor, retries, call))
        return (found, record.settled(record.aux)) if has_aux else found

    return derivative


@overload
def hessian(f: FT, argnums: int = ..., has_aux: Literal[False] = ..., **options: Any) -> FT: ...
@overload
def hessian(f: Any, argnums: Argnums = ..., has_aux: bool = ..., **options: Any) -> Any: ...
def hessian(  # type: ignore[misc]
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    progress: Progress = False,
    executor: Executors | None = None,
    retries: int = 0,
) -> Callable[..., Any]:
    """The function that computes the Hessian of ``f``: forward mode over reverse mode.

    The result nests the structures of the output, the arguments and the arguments again; see :func:`jacrev`, also for
    ``has_aux``, ``progress``, ``executor`` and ``retries``. ``chunk_size`` columns are computed in one pass.

    >>> from ferrograd.func import hessian
    >>> hessian(lambda x: (x**3).sum())(fg.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    check_function("hessian", f)
    options: dict[str, Any] = {"chunk_size": chunk_size, "progress": progress, "executor": executor, "retries": retries}
    return jacfwd(jacrev(f, argnums, has_aux), argnums, has_aux, **options)


__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]
