"""``torch.func`` without ``vmap``: the transforms of :mod:`ferrograd.func` with torch's arguments and checks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any, Concatenate, Literal, TypeVar, overload

from ferrograd._autograd.modes import enable_grad, no_grad
from ferrograd._core import ArgumentError, ShapeError
from ferrograd._kit import arguments as _arguments, tree as _tree
from ferrograd.func._jacobians import columns, rows
from ferrograd.func._record import Record, check_function, chosen, matching
from ferrograd.torch._base import transforming
from ferrograd.torch._tensor import Tensor

Function = Callable[..., Any]
#: A function whose transform has its parameters and its result.
F = TypeVar("F", bound=Callable[Concatenate[Tensor, ...], Tensor])
P = TypeVar("P", bound=Callable[..., Any])
Argnums = int | tuple[int, ...]

VJP = "vjp(f, *primals)"
JVP = "jvp(f, primals, tangents)"
JACREV = "vjp(f, *primals) of jacrev"
JACFWD = "jvp(f, primals, tangents) of jacfwd"


def _over_tensors(what: str, derived: Function, argnums: Argnums, reals: bool = False) -> Function:
    """The transformed function, which raises unless the differentiated arguments are tensors, and real if ``reals``."""

    @wraps(derived)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not isinstance(argnums, int | tuple):
            raise ArgumentError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
        for i, x in enumerate(x for k in chosen(what, args, argnums) for x in _tree.leaves(args[k])):
            if not isinstance(x, Tensor):
                raise ArgumentError(f"Thing passed to transform API must be Tensor, got {_arguments.kind_of(x, True)}")
            if reals and x.dtype.kind == "c":
                raise ArgumentError(
                    f"{what}: Expected all inputs to be real but received complex tensor at flattened input idx: {i}; "
                    "write the function in terms of the real and the imaginary part"
                )
        return derived(*args, **kwargs)

    return call


def _check_aux(aux: Any) -> None:
    """Raises unless the auxiliary value of a function holds tensors only."""
    for x in _tree.leaves(aux):
        if not isinstance(x, Tensor):
            raise ArgumentError(
                f"has_aux: Expected tensors, got unsupported type {type(x)}: the auxiliary value is a tensor or a "
                "structure of tensors, and ferrograd.func takes any other"
            )


def _of_scalar(
    what: str, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Argnums, has_aux: bool
) -> Record:
    """The record of a function whose output is a 0-d tensor."""
    return Record(what, _scalar(func, has_aux), args, kwargs, argnums, has_aux, scope=transforming.reverse)


def _scalar(f: Function, has_aux: bool) -> Function:
    """The function; raises unless its output is a 0-d tensor."""

    @wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = f(*args, **kwargs)
        if has_aux and not (isinstance(result, tuple) and len(result) == 2):
            raise ArgumentError(
                "grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True"
            )
        if has_aux:
            _check_aux(result[1])
        y = result[0] if has_aux else result
        if not isinstance(y, Tensor):
            raise ArgumentError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(y)}")
        if len(y.shape):
            raise ShapeError(
                "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{len(y.shape)} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        return result

    return call


@overload
def grad(func: F, argnums: int = ..., has_aux: Literal[False] = ...) -> F: ...
@overload
def grad(func: Any, argnums: Argnums = ..., has_aux: bool = ...) -> Any: ...
def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The function that computes the gradient of a function with a 0-d output; see :func:`ferrograd.func.grad`.

    >>> import ferrograd.torch as torch
    >>> torch.func.grad(torch.sin)(torch.tensor(0.0)).item()
    1.0
    """
    check_function("grad", func)

    @wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        record = _of_scalar("grad", func, args, kwargs, argnums, has_aux)
        found = record.as_wrt(record.gradient())
        return (found, record.settled(record.aux)) if has_aux else found

    return _over_tensors("grad", gradient, argnums)


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """Like :func:`grad`, but returns ``(gradient, output)``, or with ``has_aux`` ``(gradient, (output, aux))``.

    >>> import ferrograd.torch as torch
    >>> [t.item() for t in torch.func.grad_and_value(lambda x: x * x)(torch.tensor(3.0))]
    [6.0, 9.0]
    """
    check_function("grad_and_value", func)

    @wraps(func)
    def both(*args: Any, **kwargs: Any) -> Any:
        record = _of_scalar("grad_and_value", func, args, kwargs, argnums, has_aux)
        found = record.as_wrt(record.gradient())
        return found, record.with_aux if has_aux else record.value

    return _over_tensors("grad_and_value", both, argnums)


def _only_tensors(result: Any, call: str) -> None:
    """Raises unless the result of a differentiated function holds tensors only."""
    for y in _tree.leaves(result):
        if not isinstance(y, Tensor):
            raise ArgumentError(f"{call}: expected f(*primals) to return only tensors, got unsupported type {type(y)}")
        if call in (JACREV, JACFWD) and y.dtype.kind == "c":
            raise ArgumentError(
                f"{call.split()[-1]}: Expected all outputs to be real but received an output of dtype {y.dtype}; "
                "torch.view_as_real makes a real one of it, and ferrograd.func.jacfwd takes it"
            )
        if call not in (JVP, JACFWD) and y.dtype.kind not in "fc":
            raise ArgumentError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{y.dtype}"
            )
    if not _tree.leaves(result):
        raise ArgumentError(f"{call}: Expected f to be a function that has non-empty output (got output = {result})")


def _checked(f: Function, has_aux: bool, call: str) -> Function:
    """The function; raises unless its output is tensors, for ``vjp`` of floats."""

    @wraps(f)
    def checked(*args: Any, **kwargs: Any) -> Any:
        result = f(*args, **kwargs)
        if has_aux and not (isinstance(result, tuple) and len(result) == 2):
            raise ArgumentError(f"{call}: output of function f should be a tuple: (output, aux) if has_aux is True")
        if has_aux:
            _check_aux(result[1])
        _only_tensors(result[0] if has_aux else result, call)
        return result

    return checked


def _matched(tree: Any, like: Any, text: str) -> list[Any]:
    """The leaves of a structure; raises with ``text`` unless it is the structure of ``like``."""
    try:
        return _tree.matched(tree, like, "")
    except ArgumentError:
        raise ArgumentError(text) from None


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The output of ``func(*primals)`` and its vector-Jacobian product; with ``has_aux`` also the auxiliary value.

    The vector-Jacobian product takes a cotangent in the structure of the output, or one argument for each tensor of it.
    It returns a tuple with one product for each primal. With ``create_graph=False`` its results are not tracked.

    >>> import ferrograd.torch as torch
    >>> y, pullback = torch.func.vjp(torch.square, torch.tensor([1.0, 2.0]))
    >>> pullback(torch.tensor([1.0, 1.0]))[0].tolist()
    [2.0, 4.0]
    """

    def recorded(*primals: Any) -> Record:
        f, places = _checked(func, has_aux, VJP), range(len(primals))
        return Record("vjp", f, primals, None, places, has_aux, lasting=True, scope=transforming.reverse)

    record = _over_tensors("vjp", recorded, tuple(range(len(primals))))(*primals)
    value = record.value

    def pulled(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        # PyTorch takes the two switches by position too.
        if 1 < len(cotangents) <= 3 and all(isinstance(switch, bool) for switch in cotangents[1:]):
            cotangents, create_graph = cotangents[:1], cotangents[2] if len(cotangents) == 3 else create_graph
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        _check_cotangents(given, value)
        with enable_grad() if create_graph else no_grad() if create_graph is False else nullcontext():
            seeds = matching(given, record.result, record.outputs, "vjp: the cotangent")
            return record.as_wrt(record.pull(seeds))

    return (value, pulled, record.settled(record.aux)) if has_aux else (value, pulled)


def _check_cotangents(cotangents: Any, value: Any) -> None:
    """Raises unless cotangents have the structure and shapes of the output."""
    found = _matched(
        cotangents,
        value,
        "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
        f"cotangents: {_tree.shown(cotangents)}, primal output: {_tree.shown(value)}",
    )
    for i, (g, y) in enumerate(zip(found, _tree.leaves(value), strict=True)):
        if isinstance(g, Tensor) and g.shape != y.shape:
            raise ShapeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of "
                f"{y.shape}."
            )


def jvp(func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The output of ``func(*primals)`` and its derivative along ``tangents``; with ``has_aux`` the auxiliary value.

    With ``strict`` an output that does not depend on the primals is an error instead of zeros.

    >>> import ferrograd.torch as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.func.jvp(torch.square, (x,), (x,))[1].tolist()
    [2.0, 8.0]
    """
    if not isinstance(primals, tuple):
        raise ArgumentError(f"{JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    text = (
        f"{JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple "
        "of 3 tensors, tangents also must be. Got primals with structure "
        f"{_tree.shown(primals)} and tangents with structure {_tree.shown(tangents)}"
    )
    if not isinstance(tangents, tuple):
        raise ArgumentError(text)
    _matched(tangents, primals, text)
    _matched(primals, tangents, text)
    for what, given in (("primals", primals), ("tangents", tangents)):
        for x in _tree.leaves(given):
            if not isinstance(x, Tensor):
                raise ArgumentError(f"{JVP}: Expected {what} to only contain Tensors, got {type(x)}")
    if not _tree.leaves(primals):
        raise ArgumentError(f"{JVP}: Expected primals to contain at least one Tensor.")

    def pushed(*primals: Any) -> Any:
        f = _checked(func, has_aux, JVP)
        places = range(len(primals))
        record = Record(JVP, f, primals, None, places, has_aux, writable=True, scope=transforming.forward)
        moved = record.push(matching(tangents, record.wrt, record.inside, f"{JVP}: the tangents"))
        if strict and any(t is None for t in moved):
            raise ArgumentError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. "
                "This is not allowed with strict=True."
            )
        return record, record.filled(moved)

    record, moved = _over_tensors(JVP, pushed, tuple(range(len(primals))))(*primals)
    if has_aux:
        value, aux = record.with_aux
        return value, moved, aux
    return record.value, moved


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """The output of ``func(*primals)`` and the linear function that maps tangents to derivatives.

    >>> import ferrograd.torch as torch
    >>> y, along = torch.func.linearize(torch.square, torch.tensor(3.0))
    >>> along(torch.tensor(1.0)).item()
    6.0
    """

    def recorded(*primals: Any) -> Record:
        options: dict[str, Any] = {"writable": True, "lasting": True, "scope": transforming.forward}
        return Record("linearize", func, primals, argnums=range(len(primals)), **options)

    record = _over_tensors("linearize", recorded, tuple(range(len(primals))))(*primals)

    def along(*tangents: Any) -> Any:
        return record.pushed(matching(tangents, record.wrt, record.inside, "linearize: the tangents"))

    return record.value, along


@overload
def jacrev(func: F, argnums: int = ..., *, has_aux: Literal[False] = ..., chunk_size: int | None = ...) -> F: ...
@overload
def jacrev(func: Any, argnums: Argnums = ..., *, has_aux: bool = ..., chunk_size: int | None = ...) -> Any: ...
def jacrev(
    func: Function,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Function:
    """The function that computes the Jacobian in reverse mode; see :func:`ferrograd.func.jacrev`.

    ``_preallocate_and_copy`` changes nothing.

    >>> import ferrograd.torch as torch
    >>> torch.func.jacrev(torch.square)(torch.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ArgumentError("jacrev: `chunk_size` should be greater than 0.")

    @wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        f = _checked(func, has_aux, JACREV)
        record = Record("jacrev", f, args, kwargs, argnums, has_aux, scope=transforming.reverse)
        found = rows(record, chunk_size)
        return (found, record.settled(record.aux)) if has_aux else found

    return _over_tensors("jacrev", jacobian, argnums, reals=True)


@overload
def jacfwd(func: F, argnums: int = ..., has_aux: Literal[False] = ..., *, randomness: str = ...) -> F: ...
@overload
def jacfwd(func: Any, argnums: Argnums = ..., has_aux: bool = ..., *, randomness: str = ...) -> Any: ...
def jacfwd(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Function:
    """The function that computes the Jacobian in forward mode; see :func:`ferrograd.func.jacfwd`.

    The function runs once, not batched, so ``randomness`` changes nothing.

    >>> import ferrograd.torch as torch
    >>> torch.func.jacfwd(torch.square)(torch.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """

    @wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        f = _checked(func, has_aux, JACFWD)
        record = Record("jacfwd", f, args, kwargs, argnums, has_aux, writable=True, scope=transforming.forward)
        found = columns(record, None)
        return (found, record.settled(record.aux)) if has_aux else found

    return _over_tensors("jacfwd", jacobian, argnums, reals=True)


@overload
def hessian(func: F, argnums: int = ...) -> F: ...
@overload
def hessian(func: Any, argnums: Argnums = ...) -> Any: ...
def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """The function that computes the Hessian; see :func:`ferrograd.func.hessian`.

    >>> import ferrograd.torch as torch
    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacfwd(jacrev(func, argnums), argnums)


def functionalize(func: P, *, remove: str = "mutations") -> P:
    """A function with the same results. In torch a trace of it has no writes; here it may write, as everywhere.

    >>> import ferrograd.torch as torch
    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.ones(2)).tolist()
    [2.0, 2.0]
    """
    check_function("functionalize", func)
    if remove not in ("mutations", "mutations_and_views"):
        raise ArgumentError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are "
            "'mutations' and 'mutations_and_views'"
        )

    @wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with transforming.other:
            return func(*args, **kwargs)

    return wrapped  # type: ignore[return-value]


__all__ = ["functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]
