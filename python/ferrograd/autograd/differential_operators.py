"""Operators on functions: gradients, Jacobians, Hessians, and products with them.

``argnum`` is the position of the argument that is differentiated, or a tuple of positions, for which the result is a
tuple too. Arguments are numbers, arrays, and lists, tuples and dicts of them; gradients have their structure.
"""

from __future__ import annotations

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd._autograd.checkpoint import checkpoint as _checkpoint
from ferrograd._core import native as ops
from ferrograd._kit import public as _public
from ferrograd._kit.warning import warn
from ferrograd.autograd import core
from ferrograd.autograd._record import Recording
from ferrograd.autograd._spaces import vspace
from ferrograd.autograd._values import holds_tensor
from ferrograd.autograd.wrap_util import unary_to_nary

make_vjp = unary_to_nary(core.make_vjp)
make_jvp = unary_to_nary(core.make_jvp)


@unary_to_nary
def grad(fun: Callable[[Any], Any], x: Any) -> Any:
    """The function that computes the gradient of ``fun``, whose result is one real number.

    >>> from ferrograd.autograd import grad
    >>> float(grad(lambda x: x**3)(2.0))
    12.0

    Raises:
        TypeError: the result is not one real number, or the argument is an ``int``.
    """
    __tracebackhide__ = True
    record = Recording(fun, x)
    record.scalar("Grad")
    return record.gradient()


@unary_to_nary
def value_and_grad(fun: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """The function that computes the value of ``fun`` and its gradient: what ``scipy.optimize`` takes with
    ``jac=True``."""
    __tracebackhide__ = True
    record = Recording(fun, x)
    record.scalar("value_and_grad")
    return record.value, record.gradient()


@unary_to_nary
def elementwise_grad(fun: Callable[[Any], Any], x: Any) -> Any:
    """The function that computes the sum of the rows of the Jacobian: the derivative of each element, where ``fun``
    computes element by element."""
    __tracebackhide__ = True
    record = Recording(fun, x)
    if any(y.dtype.kind == "c" for y in record.outputs):
        raise TypeError("Elementwise_grad only applies to real-output functions.")
    return record.gradient()


@unary_to_nary
def deriv(fun: Callable[[Any], Any], x: Any) -> Any:
    """The function that computes the sum of the columns of the Jacobian, in forward mode."""
    return core.make_jvp(fun, x)(vspace(x).ones())[1]


@unary_to_nary
def jacobian(fun: Callable[[Any], Any], x: Any) -> Any:
    """The function that computes the Jacobian, with the axes of the result first and then those of the argument.

    All rows are computed in one pass.
    """
    __tracebackhide__ = True
    record = Recording(fun, x)
    return record.settled(record.as_argument(record.rows()))


@unary_to_nary
def holomorphic_grad(fun: Callable[[Any], Any], x: Any) -> Any:
    """The function that computes the complex derivative of a holomorphic function."""
    if not vspace(x).iscomplex:
        warn("Input to holomorphic_grad is not complex")
    return grad(lambda x: np.real(fun(x)))(x)


def grad_named(fun: Callable[..., Any], argname: str) -> Callable[..., Any]:
    """The gradient with respect to the argument of a name."""
    found: Callable[..., Any] = grad(fun, list(inspect.signature(fun).parameters).index(argname))
    return found


@unary_to_nary
def hessian(fun: Callable[[Any], Any], x: Any) -> Any:
    """The function that computes the Hessian, with the axes of the argument twice."""
    return jacobian(jacobian(fun))(x)


@unary_to_nary
def make_hvp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The function that computes, at a point, the function from a vector to its product with the Hessian, and the
    gradient."""
    return core.make_vjp(grad(fun), x)


def _tensordot(x: Any, y: Any, axes: int) -> Any:
    return ops.tensordot(x, y, axes) if holds_tensor([x, y]) else np.tensordot(x, y, axes)


def hessian_tensor_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """The function of the arguments and a tensor, in this order, that computes the product of Hessian and tensor."""
    fun_grad = grad(fun, argnum)

    def vector_dot_grad(*args: Any, **kwargs: Any) -> Any:
        *args_, vector = args
        return _tensordot(fun_grad(*args_, **kwargs), vector, np.ndim(vector))

    found: Callable[..., Any] = grad(vector_dot_grad, argnum)
    return found


def tensor_jacobian_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """The function of the arguments and a tensor, in this order, that computes the product of tensor and Jacobian."""

    def vector_dot_fun(*args: Any, **kwargs: Any) -> Any:
        *args_, vector = args
        return _tensordot(vector, fun(*args_, **kwargs), np.ndim(vector))

    found: Callable[..., Any] = jacobian(vector_dot_fun, argnum)
    return found


hessian_vector_product, vector_jacobian_product = hessian_tensor_product, tensor_jacobian_product


@unary_to_nary
def make_jvp_reversemode(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], Any]:
    """The function that computes, at a point, the function from a tangent to its product with the Jacobian.

    ``fun`` runs once for all tangents.
    """
    return Recording(fun, x).jvp


def _half_square(x: Any) -> Any:
    return 0.5 * np.sum(x**2, axis=-1)


def make_ggnvp(
    f: Callable[..., Any], g: Callable[[Any], Any] = _half_square, f_argnum: int = 0
) -> Callable[..., Callable[[Any], Any]]:
    """The function that computes, at a point, the function from a vector to its product with the Gauss-Newton matrix of
    the Jacobian of ``f`` and the Hessian of ``g``.
    """

    @unary_to_nary
    def make(f: Callable[[Any], Any], x: Any) -> Callable[[Any], Any]:
        record = Recording(f, x)
        g_hvp, _ = core.make_vjp(grad(g), record.value)
        return lambda v: record.vjp(g_hvp(record.jvp(v)))

    found: Callable[..., Callable[[Any], Any]] = make(f, f_argnum)
    return found


@unary_to_nary
def grad_and_aux(fun: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """The function that computes the gradient of the first of two results of ``fun``, and the second as it is."""
    __tracebackhide__ = True
    aux: list[Any] = []

    def first(x: Any) -> Any:
        ans, second = fun(x)
        aux.append(second)
        return ans

    record = Recording(first, x)
    return record.gradient(retain=True), record.settled(aux[0])


def multigrad_dict(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function that computes the gradients with respect to all arguments, by their names."""
    signature = inspect.signature(fun)

    def gradfun(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()

        def of_arguments(arguments: dict[str, Any]) -> Any:
            call = inspect.BoundArguments(signature, OrderedDict(arguments))
            return fun(*call.args, **call.kwargs)

        return OrderedDict(grad(of_arguments)(dict(bound.arguments)))

    return gradfun


def checkpoint(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function without its inner values, which are computed again for the gradient: less memory, more time."""

    @functools.wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        is_inside = holds_tensor([*args, *kwargs.values()])
        return _checkpoint(fun, *args, **kwargs) if is_inside else fun(*args, **kwargs)

    return wrapped


__all__ = [
    "checkpoint",
    "deriv",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]

__dir__ = _public.names(globals())
