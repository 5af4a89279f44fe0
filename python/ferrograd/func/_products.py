"""Products with the Hessian, its diagonal, and derivatives of any order along a direction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import tree as _tree
from ferrograd.func._gradients import value_and_grad_as
from ferrograd.func._jacobians import basis, joined, size, spans
from ferrograd.func._record import Record, matching, real, several


def hvp(f: Callable[..., Any], primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The value of ``f(*primals)`` and the product of its Hessian with ``tangents``: ``(value, product)``.

    ``f`` returns one element. ``primals`` and ``tangents`` are tuples of the same structure, and so is the product; a
    single argument needs no tuple. It runs forward mode over reverse mode at the cost of a few gradients.

    >>> from ferrograd.func import hvp
    >>> hvp(lambda x: (x**3).sum(), (fg.tensor([1.0, 2.0]),), (fg.tensor([1.0, 1.0]),))[1][0].tolist()
    [6.0, 12.0]
    """
    __tracebackhide__ = True
    alone = not isinstance(primals, (tuple, list, Iterator))
    primals, tangents = several(primals, tangents)
    both = value_and_grad_as("hvp", f, range(len(primals)))
    record = Record("hvp", both, primals, argnums=range(len(primals)))
    moved = matching(tangents, record.wrt, record.inside, "hvp: the tangents")
    value, _ = record.value
    product = record.pushed(moved)[1]
    return value, product[0] if alone else product


def vhp(f: Callable[..., Any], primals: Any, cotangents: Any) -> tuple[Any, Any]:
    """The value of ``f(*primals)`` and the product of ``cotangents`` with its Hessian: reverse mode over forward mode.

    Hessians are symmetric, so it equals :func:`hvp` up to rounding. See there for the arguments.

    >>> from ferrograd.func import vhp
    >>> vhp(lambda x: (x**3).sum(), (fg.tensor([1.0, 2.0]),), (fg.tensor([1.0, 1.0]),))[1][0].tolist()
    [6.0, 12.0]
    """
    __tracebackhide__ = True
    alone = not isinstance(primals, (tuple, list, Iterator))
    primals, cotangents = several(primals, cotangents)
    record = Record("vhp", f, primals, argnums=range(len(primals)))
    y = record.scalar()
    moved = matching(cotangents, record.wrt, record.inside, "vhp: the cotangents")
    slope = record.push(moved, record=True)[0]
    outputs, seeds = ([], []) if slope is None else ([slope], [_core.native.ones_like(y)])
    product = record.as_wrt(record.pull(seeds, outputs, record=record.recorded(moved)))
    return record.value, product[0] if alone else product


def hessian_diagonal(
    f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The function that computes the second derivative of ``f`` with respect to each element of its arguments.

    ``f`` returns one element. The result has the structure and shapes of the arguments at ``argnums``. ``chunk_size``
    rows of the Hessian are computed in one pass; only their diagonal is kept.

    >>> from ferrograd.func import hessian_diagonal
    >>> hessian_diagonal(lambda x: (x**3).sum() * x[0])(fg.tensor([1.0, 2.0])).tolist()
    [12.0, 12.0]
    """

    @wraps(f)
    def diagonal(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True

        def gradients(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            return value_and_grad_as("hessian_diagonal", f, argnums)(*args, **kwargs)[1]

        record = Record("hessian_diagonal", gradients, args, kwargs, argnums)
        found = []
        for k, x in enumerate(record.inside):
            parts = []
            for start, end in spans(record.what, size(x), size(x), chunk_size):
                with _core.Level(end - start) as level:
                    tangents: list[Tensor | None] = [None] * len(record.inside)
                    tangents[k] = level.enter(basis(x, start, end), 0)
                    moved = record.push(tangents)[k]
                    rows = level.leave(_core.native.zeros_like(x) if moved is None else moved, 0)
                parts.append(_core.native.diagonal(rows.reshape([end - start, size(x)]), start))
            found.append(joined(parts).reshape(list(x.shape)) if parts else _core.native.zeros_like(x))
        return record.as_wrt(found)

    return diagonal


def taylor(f: Callable[..., Any], x: Any, v: Any, order: int) -> list[Any]:
    """The derivatives of ``f(x + t v)`` with respect to ``t`` at 0, of orders 0 to ``order``: a list of results.

    ``x`` and ``v`` have the same structure. Divided by ``k!`` the results are the Taylor coefficients. ``f`` is called
    once and power series are propagated through its graph, so the cost is polynomial in ``order``.

    Raises:
        ArgumentError: ``order`` is negative or above 170, the largest number with a finite factorial in float64.

    >>> from ferrograd.func import taylor
    >>> [y.item() for y in taylor(lambda x: x**3, fg.tensor(2.0), fg.tensor(1.0), 3)]
    [8.0, 12.0, 12.0, 6.0]
    """
    __tracebackhide__ = True
    if not isinstance(order, int) or not 0 <= order <= 170:
        raise ArgumentError(f"taylor: order must be an int from 0 to 170, not {order!r}")
    at = [real(a, "taylor: x") for a in _tree.leaves(x)]
    along = matching(v, x, at, "taylor: v")

    def moved(*at: Tensor) -> Any:
        __tracebackhide__ = True
        return f(_tree.rebuilt(x, iter(at)))

    record = Record("taylor", moved, tuple(at), argnums=range(len(at)))
    recorded = record.recorded(along)
    found = _core.taylor(record.outputs, record.inside, along, order, recorded) if order else []
    return [record.value, *map(record.filled, found)]


__all__ = ["hessian_diagonal", "hvp", "taylor", "vhp"]
