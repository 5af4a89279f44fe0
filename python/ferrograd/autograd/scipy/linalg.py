"""``scipy.linalg``: its functions, with derivatives where they have some."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as _np
import scipy.linalg as _scipy

import ferrograd.autograd.numpy as _anp
from ferrograd import linalg as _linalg
from ferrograd._core import native as _ops
from ferrograd._kit import public as _public
from ferrograd.autograd._values import constant as _constant
from ferrograd.autograd.extend import (
    defjvp as _defjvp,
    defjvp_argnums as _defjvp_argnums,
    defvjp as _defvjp,
    defvjp_argnums as _defvjp_argnums,
    primitive as _primitive,
)
from ferrograd.autograd.numpy import _wrapped

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Any other name."""


def _answered(name: str, compute: Callable[[Any], Any]) -> Any:
    """SciPy's function of one matrix, for which ``compute`` answers inside of a derivative."""
    f = getattr(_scipy, name)

    def answered(a: Any, *args: Any, **kwargs: Any) -> Any:
        if not _wrapped.has_tensor((a,)):
            return f(a, *args, **kwargs)
        # The other arguments say what is checked and what is overwritten.
        return compute(_constant(a))

    answered.__name__, answered.__doc__ = name, f"``scipy.linalg.{name}``."
    return answered


det, expm, inv = _answered("det", _linalg.det), _answered("expm", _ops.matrix_exp), _answered("inv", _linalg.inv)

solve_sylvester = _primitive(_scipy.solve_sylvester)
sqrtm = _primitive(_scipy.sqrtm)
solve_banded = _primitive(_scipy.solve_banded)


def _sqrtm_vjp(ans: Any, A: Any, disp: bool = True, blocksize: int = 64) -> Callable[[Any], Any]:
    return lambda g: solve_sylvester(_anp.transpose(ans), _anp.transpose(ans), g)


_defvjp(sqrtm, _sqrtm_vjp)
_defjvp(sqrtm, lambda t, ans, A, disp=True, blocksize=64: solve_sylvester(ans, ans, t))


def _sylvester_vjp(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
    a, b, _ = args

    def vjp(g: Any) -> list[Any]:
        of_q = solve_sylvester(_anp.transpose(a), _anp.transpose(b), g)
        slopes = (lambda: -of_q @ _anp.transpose(ans), lambda: -_anp.transpose(ans) @ of_q, lambda: of_q)
        return [slopes[i]() for i in argnums]

    return vjp


def _sylvester_jvp(argnums: Any, tangents: Any, ans: Any, args: Any, kwargs: Any) -> Any:
    a, b, _ = args
    moved = dict(zip(argnums, tangents, strict=True))
    parts = {0: lambda t: -t @ ans, 1: lambda t: -ans @ t, 2: lambda t: t}
    return solve_sylvester(a, b, sum(parts[i](t) for i, t in moved.items()))


_defvjp_argnums(solve_sylvester, _sylvester_vjp)
_defjvp_argnums(solve_sylvester, _sylvester_jvp)


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """``scipy.linalg.solve_triangular``."""
    if not _wrapped.has_tensor((a, b)):
        return _scipy.solve_triangular(a, b, trans, lower, unit_diagonal, overwrite_b, check_finite)
    a, b = _constant(a), _constant(b)
    if trans not in (0, "N"):
        a = a.mT if trans in (1, "T") else _ops.conj(a.mT)
        lower = not lower
    is_vector = b.ndim == 1
    made = _linalg.solve_triangular(a, b[:, None] if is_vector else b, upper=not lower, unitriangular=unit_diagonal)
    return made[:, 0] if is_vector else made


def _rows_of(l_and_u: Any) -> range:
    """The distance of each row of a banded matrix from the diagonal: above it first."""
    return range(l_and_u[1], -l_and_u[0] - 1, -1)


def _shifted(x: Any, by: int) -> Any:
    """The rows, moved up by ``by`` places (down, if it is negative), with zeros in the place of others."""
    zeros = _np.zeros((abs(by), *_np.shape(x)[1:]))
    return _anp.concatenate([x[by:], zeros]) if by >= 0 else _anp.concatenate([zeros, x[:by]])


def _transposed(l_and_u: Any, a: Any) -> Any:
    """The banded form of the transpose."""
    rows = [_shifted(row, distance) for row, distance in zip(a, _rows_of(l_and_u), strict=True)]
    return (l_and_u[1], l_and_u[0]), _anp.stack(rows[::-1])


def _banded_by_matrix(ans: Any, l_and_u: Any, a: Any, b: Any, **options: Any) -> Callable[[Any], Any]:
    def vjp(g: Any) -> Any:
        v = solve_banded(*_transposed(l_and_u, a), g)
        # The element in row k of column j is that of the matrix in row j - distance.
        rows = [_shifted(v, -distance) * ans for distance in _rows_of(l_and_u)]
        return -_anp.stack([row if _np.ndim(row) == 1 else _anp.sum(row, axis=1) for row in rows])

    return vjp


def _banded_by_values(ans: Any, l_and_u: Any, a: Any, b: Any, **options: Any) -> Callable[[Any], Any]:
    return lambda g: solve_banded(*_transposed(l_and_u, a), g)


_defvjp(solve_banded, _banded_by_matrix, _banded_by_values, argnums=[1, 2])

_own = {
    "det": det,
    "expm": expm,
    "inv": inv,
    "solve_banded": solve_banded,
    "solve_sylvester": solve_sylvester,
    "solve_triangular": solve_triangular,
    "sqrtm": sqrtm,
}
_names = _wrapped.namespace(_scipy, _own)
globals().update(_names)
__all__ = sorted(_own | _names)

__dir__ = _public.names(globals())
