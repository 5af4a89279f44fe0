"""Transforms for first derivatives: gradients, vector-Jacobian and Jacobian-vector products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, Literal, TypeVar, overload

from ferrograd._autograd.modes import P
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import tree as _tree
from ferrograd.func._blocks import in_blocks
from ferrograd.func._executors import Progress
from ferrograd.func._record import FT, Record, chosen, matching, several

T = TypeVar("T", bound=Tensor)


@overload
def grad(f: FT, argnums: int = ..., has_aux: Literal[False] = ...) -> FT: ...
@overload
def grad(f: Any, argnums: int | Sequence[int] = ..., has_aux: bool = ...) -> Any: ...
def grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of ``f`` with respect to the arguments at positions ``argnums``.

    ``f`` returns a tensor of one element, or with ``has_aux`` a pair of it and an auxiliary value; then the result is
    a pair of gradient and auxiliary value. The differentiated arguments are float tensors, numbers, or nested lists,
    tuples, dicts and dataclasses of them; the gradient has their structure, or is a tuple for several ``argnums``.
    Transforms nest to any order. Tensors that ``f`` closes over can be differentiated too, outside of it.

    Raises:
        ShapeError: ``f`` returns several elements.
        DtypeError: a differentiated argument is not of a float dtype.

    >>> from ferrograd.func import grad
    >>> grad(grad(lambda x: x**3))(fg.tensor(2.0)).item()
    12.0
    """

    @wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        record = Record("grad", f, args, kwargs, argnums, has_aux)
        found = record.as_wrt(record.gradient())
        return (found, record.settled(record.aux)) if has_aux else found

    return gradient


@overload
def value_and_grad(
    f: Callable[Concatenate[T, P], T], argnums: int = ..., has_aux: Literal[False] = ..., **options: Any
) -> Callable[Concatenate[T, P], tuple[T, T]]: ...
@overload
def value_and_grad(f: Any, argnums: int | Sequence[int] = ..., has_aux: bool = ..., **options: Any) -> Any: ...
def value_and_grad(  # type: ignore[misc]
    f: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    batch_argnums: int | Sequence[int] | None = None,
    blocks: int = 8,
    executor: Any = None,
    retries: int = 0,
    progress: Progress = False,
    deterministic: bool = True,
) -> Callable[..., tuple[Any, Any]]:
    """Like :func:`grad`, but returns ``(value, gradient)``.

    With ``has_aux`` the value is the pair that ``f`` returned.

    With ``batch_argnums`` the arrays at these positions are cut along axis 0 into ``blocks``, and the results are the
    sums of the values and the gradients of all blocks. They are added in the order of the blocks, so their bits do not
    depend on who computes which block:

    * this process, one after the other, if there is no ``executor``;
    * the workers of a ``concurrent.futures.Executor`` or what has its ``submit``. The function is sent by cloudpickle
      if that is installed. A block whose worker fails or dies is sent again up to ``retries`` times; then its error is
      raised. The death of a worker breaks some executors, such as the standard process pool. If ``executor`` is a
      function that makes one, another takes its place, and what the function has made is shut down in the end.
    * the processes of a :class:`ferrograd.distributed.Communicator`, each its share; all have the results. With
      ``deterministic=False`` MPI adds the sums of the processes in any order, which sends less.

    ``SyncBatchNorm`` in training takes its statistics from all blocks, also added in their order. Then a process
    computes its blocks at once, as by ``vmap``; all must have one size.

    ``progress`` is True for a bar of tqdm, or a function of (blocks done, blocks in total). The results are not
    recorded, so no argument may require a gradient.

    >>> from ferrograd.func import value_and_grad
    >>> value, slope = value_and_grad(lambda x: (x * x).sum())(fg.tensor([1.0, 2.0]))
    >>> value.item(), slope.tolist()
    (5.0, [2.0, 4.0])
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     summed = value_and_grad(lambda w, x: (w * x).sum(), batch_argnums=1, executor=pool)
    ...     value, slope = summed(fg.tensor(2.0), fg.arange(100.0))
    >>> value.item(), slope.item()
    (9900.0, 4950.0)
    """
    if batch_argnums is None:
        if executor is not None:
            raise ArgumentError("value_and_grad: with an executor, batch_argnums says which arguments are cut")
        return value_and_grad_as("value_and_grad", f, argnums, has_aux)
    if has_aux:
        raise ArgumentError("value_and_grad: blocks of samples have no auxiliary value; has_aux must be False")
    both = value_and_grad_as("value_and_grad", f, argnums)

    @wraps(f)
    def summed(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        options = (batch_argnums, blocks, executor, retries, progress, deterministic)
        places = chosen("value_and_grad", args, argnums)
        value, *slopes = in_blocks("value_and_grad", both, args, kwargs, places, *options)
        wrt = args[places[0]] if isinstance(argnums, int) else tuple(args[i] for i in places)
        return value, _tree.rebuilt(wrt, iter(slopes))

    return summed


def value_and_grad_as(
    what: str, f: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """:func:`value_and_grad` whose errors name the transform ``what``."""

    @wraps(f)
    def both(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        __tracebackhide__ = True
        record = Record(what, f, args, kwargs, argnums, has_aux)
        found = record.as_wrt(record.gradient())
        return record.with_aux if has_aux else record.value, found

    return both


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of ``f(*primals)`` and its vector-Jacobian product: ``(value, pullback)``.

    With ``has_aux`` the auxiliary value of ``f`` is the third result. ``pullback(cotangent)`` takes a cotangent with
    the structure and shapes of the value. It returns a tuple with the product for each of ``primals``. It can be called
    repeatedly.

    >>> from ferrograd.func import vjp
    >>> value, pullback = vjp(lambda x, y: x * y, fg.tensor(2.0), fg.tensor(5.0))
    >>> [g.item() for g in pullback(fg.tensor(1.0))]
    [5.0, 2.0]
    """
    __tracebackhide__ = True
    record = Record("vjp", f, primals, argnums=range(len(primals)), has_aux=has_aux, lasting=True)

    def pullback(cotangent: Any) -> Any:
        seeds = matching(cotangent, record.result, record.outputs, "vjp: the cotangent")
        return record.as_wrt(record.pull(seeds))

    if has_aux:
        value, aux = record.with_aux
        return value, pullback, aux
    return record.value, pullback


def _moved(what: str, f: Callable[..., Any], primals: Any, has_aux: bool = False, lasting: bool = False) -> Record:
    __tracebackhide__ = True
    places = range(len(primals))
    return Record(what, f, primals, argnums=places, has_aux=has_aux, writable=True, lasting=lasting)


def jvp(f: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """The value of ``f(*primals)`` and its directional derivative, in forward mode: ``(value, derivative)``.

    ``primals`` and ``tangents`` are tuples of the same structure with tensors of the same shapes; a single argument
    needs no tuple. The derivative along ``tangents`` has the structure of the value. With ``has_aux`` the auxiliary
    value of ``f`` is the third result. ``f`` may write to its arguments in place.

    Raises:
        ShapeError: the shape of a tangent is not that of its primal.

    >>> from ferrograd.func import jvp
    >>> jvp(lambda x: x * x, (fg.tensor(3.0),), (fg.tensor(10.0),))[1].item()
    60.0
    """
    __tracebackhide__ = True
    primals, tangents = several(primals, tangents)
    record = _moved("jvp", f, primals, has_aux)
    moved = record.pushed(matching(tangents, record.wrt, record.inside, "jvp: the tangents"))
    if has_aux:
        value, aux = record.with_aux
        return value, moved, aux
    return record.value, moved


def linearize(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of ``f(*primals)`` and its linearization: ``(value, along)``.

    ``along(*tangents)`` is the derivative along a tangent for each of ``primals``. ``f`` runs once; ``along`` can be
    called repeatedly.

    >>> from ferrograd.func import linearize
    >>> value, along = linearize(lambda x: x * x, fg.tensor(3.0))
    >>> value.item(), along(fg.tensor(1.0)).item(), along(fg.tensor(10.0)).item()
    (9.0, 6.0, 60.0)
    """
    __tracebackhide__ = True
    record = _moved("linearize", f, primals, lasting=True)

    def along(*tangents: Any) -> Any:
        return record.pushed(matching(tangents, record.wrt, record.inside, "linearize: the tangents"))

    return record.value, along


__all__ = ["grad", "jvp", "linearize", "value_and_grad", "vjp"]
