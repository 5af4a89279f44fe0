"""``torch.autograd.gradcheck``: see :mod:`ferrograd.testing`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.warning import warn
from ferrograd.testing import GradcheckError, gradcheck, gradgradcheck
from ferrograd.testing._jacobians import CENTRAL, FunctionAtPoint, tracked, unit

__all__ = ["GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "gradcheck", "gradgradcheck"]


def _warn(name: str, grad_out: float) -> None:
    warn(
        f"{name} was part of PyTorch's private API and not meant to be exposed: use torch.autograd.functional.jacobian "
        "or gradcheck"
    )
    if grad_out != 1.0:
        raise ArgumentError(f"Expected grad_out to be 1.0: {name} no longer supports other values")


def _made(matrix: Any) -> Tensor:
    return _core.make(np.array(matrix), None, False, TORCH)


def get_analytical_jacobian(
    inputs: Sequence[Any], output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The Jacobians of ``output`` with respect to the inputs, ``[input elements, output elements]``, and three flags.

    The first flag says whether a second pass gives the same values. The others are True: gradients always have the
    sizes and dtypes of their inputs.
    """
    _warn("get_analytical_jacobian", grad_out)
    places = [inputs[i] for i in tracked(inputs)]

    def pulled() -> list[Any]:
        rows = [
            _core.grad([output], places, [unit(output, k)], TORCH, retain_graph=True, unused="zeros")
            for k in range(math.prod(output.shape))
        ]
        return [np.array([np.asarray(row[j]).ravel() for row in rows]).T for j in range(len(places))]

    first, second = pulled(), pulled()
    same = all(np.allclose(a, b, rtol=0, atol=nondet_tol) for a, b in zip(first, second, strict=True))
    return tuple(map(_made, first)), same, True, True


def get_numerical_jacobian(
    fn: Callable[[Any], Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Tensor, ...]:
    """The Jacobians of the first output of ``fn(inputs)`` by central differences of step ``eps``.

    They are with respect to ``target``, or all inputs, and have the shape ``[input elements, output elements]``.
    """
    _warn("get_numerical_jacobian", grad_out)
    given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    wanted = target if isinstance(target, (tuple, list)) else [target]
    which = [i for i in tracked(given) if target is None or any(given[i] is x for x in wanted)]
    problem = FunctionAtPoint(lambda *args: fn(args if isinstance(inputs, (tuple, list)) else args[0]), given, which)
    return tuple(_made(matrix.T) for matrix in problem.numerical(eps, CENTRAL)[0])


__dir__ = _public.names(globals())
