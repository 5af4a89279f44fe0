"""Functions of NumPy arrays with derivatives, for libraries that want arrays, such as SciPy's optimizers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import Tensor
from ferrograd._kit import tree as _tree
from ferrograd._kit.dialect import NATIVE
from ferrograd.func._gradients import value_and_grad_as
from ferrograd.func._jacobians import hessian, jacobian
from ferrograd.func._products import hvp
from ferrograd.func._record import check_function, chosen

Array = np.ndarray[Any, Any]


class ArrayFunction:
    """What :func:`for_numpy` returns: a function of arrays, with its derivatives as methods of the same arguments.

    >>> from ferrograd.func import for_numpy
    >>> g = for_numpy(lambda x, k: k * (x**3).sum())
    >>> g.value_and_grad(np.array([1.0, 2.0]), 2.0)
    (18.0, array([ 6., 24.]))
    >>> g.hessp(np.array([1.0, 2.0]), np.array([1.0, 1.0]), 2.0)
    array([12., 24.])
    """

    def __init__(self, f: Callable[..., Any], argnums: int | Sequence[int], tensor: Callable[[Any], Tensor]) -> None:
        check_function("for_numpy", f)
        self._f, self._argnums, self._tensor = f, argnums, tensor
        self.__doc__ = f.__doc__

    def __call__(self, *args: Any) -> Any:
        """The value: an array, or a float for a tensor without axes; containers of tensors keep their structure."""
        given = self._given(args)
        with no_grad():
            return _arrays(self._f(*given))

    def value_and_grad(self, *args: Any) -> tuple[float, Any]:
        """The value of a function with one element as a float, and its gradient."""
        both, given = value_and_grad_as("for_numpy", self._f, self._argnums), self._given(args)
        with no_grad():
            value, slope = both(*given)
            return float(value), _arrays(slope, keeps_axes=True)

    def grad(self, *args: Any) -> Any:
        """The gradient of a function with one element; a tuple for several ``argnums``."""
        return self.value_and_grad(*args)[1]

    def jac(self, *args: Any) -> Any:
        """The Jacobian, of shape ``[*value's shape, *argument's shape]``.

        With several ``argnums`` these arguments are the numbers of one vector, as ``curve_fit`` has them: the last axis
        of the Jacobian counts them.
        """
        given = self._given(args)
        with no_grad():
            found = jacobian(self._f, self._argnums)(*given)
            if isinstance(self._argnums, int):
                return _arrays(found, keeps_axes=True)
            return np.stack([_arrays(part, keeps_axes=True) for part in found], -1)

    def hess(self, *args: Any) -> Any:
        """The Hessian of a function with one element, of shape ``[*argument's shape, *argument's shape]``."""
        given = self._given(args)
        with no_grad():
            return _arrays(hessian(self._scalar, self._argnums)(*given), keeps_axes=True)

    def hessp(self, x: Any, p: Any, *args: Any) -> Any:
        """The product of the Hessian of a function of ``x`` and ``args``, with one element, with a vector ``p``."""
        x, *rest = self._given((x, *args))
        direction = self._tensor(np.asarray(p))
        with no_grad():
            product = hvp(lambda x: self._scalar(x, *rest), x, direction)[1]
            return _arrays(product, keeps_axes=True)

    def _given(self, args: tuple[Any, ...]) -> list[Any]:
        """The arguments, with tensors in place of the differentiated ones and of other arrays. While they are used, a
        derivative that would be lost is an error.
        """
        places = chosen("for_numpy", args, self._argnums)
        return [
            self._tensor(np.asarray(a)) if i in places or isinstance(a, np.ndarray) else a for i, a in enumerate(args)
        ]

    def _scalar(self, *args: Any) -> Tensor:
        """The value without axes of one element."""
        found: Tensor = _core.native.reshape(self._f(*args), [])
        return found


def _arrays(tree: Any, keeps_axes: bool = False) -> Any:
    """Tensors as arrays that can be written to; those without axes as numbers, unless ``keeps_axes``."""

    def plain(x: Any) -> Any:
        found = np.array(x.detach()) if isinstance(x, Tensor) else x
        return found if keeps_axes or np.ndim(found) else getattr(found, "item", lambda: found)()

    return _tree.mapped(plain, tree)


def _native(values: Any) -> Tensor:
    """The tensor of an array; integers become float64, since nothing is differentiated by integers."""
    values = np.asarray(values)
    return _core.make(values.astype(np.float64) if values.dtype.kind in "iu" else values, None, False, NATIVE)


def for_numpy(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, *, tensor: Callable[[Any], Tensor] = _native
) -> ArrayFunction:
    """``f`` as a function of NumPy arrays that returns arrays, with its derivatives as methods.

    Libraries that check whether they are given arrays, such as SciPy, take neither tensors nor functions that return
    them. The result has

    * ``value_and_grad``, for ``minimize(g.value_and_grad, x0, jac=True)``;
    * ``grad``, ``hess`` and ``hessp``, for ``minimize(g, x0, jac=g.grad, hess=g.hess)`` or ``hessp=g.hessp``;
    * ``jac``, for ``root(g, x0, jac=g.jac)``, ``least_squares`` and ``fsolve`` (``fprime``). For ``solve_ivp``, whose
      functions begin with the time, ``argnums`` is 1. For ``curve_fit``, whose functions take the points and then each
      parameter, ``argnums`` counts the parameters, as ``(1, 2)``.

    The differentiated arguments are those at ``argnums``. They and all other arrays become tensors by ``tensor``, which
    is that of another dialect if ``f`` is written in it, such as ``torch.tensor``; integers become float64 by default.
    Nothing is recorded: there are no derivatives of what it returns.

    Raises:
        ConversionError: inside of a transform, where an argument depends on what is differentiated.

    >>> from ferrograd.func import for_numpy
    >>> g = for_numpy(lambda x: ((x - 1.0) ** 2).sum())
    >>> g(np.zeros(2)), g.grad(np.zeros(2)), g.hess(np.zeros(2))[0]
    (2.0, array([-2., -2.]), array([2., 0.]))
    """
    return ArrayFunction(f, argnums, tensor)


__all__ = ["ArrayFunction", "for_numpy"]
