"""Operators on functions of one argument, as operators on functions of several."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ferrograd._kit import public as _public
from ferrograd.autograd._boxes import is_traced, recorded
from ferrograd.autograd._kit import subval, subvals


def get_name(f: Any) -> str:
    """The name of a function."""
    return str(getattr(f, "__name__", "[unknown name]"))


def get_doc(f: Any) -> str:
    """The documentation of a function."""
    return str(getattr(f, "__doc__", ""))


def wraps(fun: Any, namestr: str = "{fun}", docstr: str = "{doc}", **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that gives a function a name and a documentation made from those of ``fun``."""

    def named(f: Any) -> Any:
        with suppress(AttributeError, KeyError, ValueError):
            f.__name__ = namestr.format(fun=get_name(fun), **kwargs)
            f.__doc__ = docstr.format(fun=get_name(fun), doc=get_doc(fun), **kwargs)
        return f

    return named


_DOC = """    {op} of function {fun} with respect to argument number {argnum}.

    It takes the arguments of {fun}.
    """


def wrap_nary_f(fun: Any, op: Any, argnum: Any) -> Callable[[Any], Any]:
    """A decorator that names the result of the operator ``op`` on ``fun``."""
    return wraps(fun, "{op}_of_{fun}_wrt_argnum_{argnum}", _DOC, op=get_name(op), argnum=argnum)


def unary_to_nary(unary_operator: Callable[..., Any]) -> Callable[..., Any]:
    """The operator on functions of several arguments that acts on the argument ``argnum``, or on a tuple of several."""

    @wraps(unary_operator)
    def nary_operator(fun: Callable[..., Any], argnum: Any = 0, *nary_op_args: Any, **nary_op_kwargs: Any) -> Any:
        if type(argnum) not in (int, tuple, list):
            raise TypeError(f"argnum is an int, or a tuple or list of ints, not {argnum!r}")
        name = get_name(fun)

        @wrap_nary_f(fun, unary_operator, argnum)
        def nary_f(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if is_traced(args):
                # In a trace a derivative is one operation.
                return recorded(nary_f, args, kwargs)

            def unary_f(x: Any) -> Any:
                __tracebackhide__ = True
                several = not isinstance(argnum, int)
                return fun(*(subvals(args, zip(argnum, x)) if several else subval(args, argnum, x)), **kwargs)  # noqa: B905

            unary_f.__name__ = name
            x = args[argnum] if isinstance(argnum, int) else tuple(args[i] for i in argnum)
            return unary_operator(unary_f, x, *nary_op_args, **nary_op_kwargs)

        return nary_f

    # It is pickled by the name of the operator.
    for name in ("__qualname__", "__module__"):
        setattr(nary_operator, name, getattr(unary_operator, name, getattr(nary_operator, name)))
    return nary_operator


__all__ = [
    "get_doc",
    "get_name",
    "unary_to_nary",
    "wrap_nary_f",
    "wraps",
]

__dir__ = _public.names(globals())
