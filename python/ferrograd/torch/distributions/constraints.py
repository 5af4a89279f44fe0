"""``torch.distributions.constraints``, with the classes that libraries know by their private names."""

from __future__ import annotations

from ferrograd._distributions.constraints import *
from ferrograd._distributions.constraints import (
    __all__ as __all__,
    _Boolean as _Boolean,
    _CorrCholesky as _CorrCholesky,
    _Dependent as _Dependent,
    _GreaterThan as _GreaterThan,
    _GreaterThanEq as _GreaterThanEq,
    _HalfOpenInterval as _HalfOpenInterval,
    _IndependentConstraint as _IndependentConstraint,
    _IntegerGreaterThan as _IntegerGreaterThan,
    _IntegerInterval as _IntegerInterval,
    _Interval as _Interval,
    _LessThan as _LessThan,
    _LowerCholesky as _LowerCholesky,
    _LowerTriangular as _LowerTriangular,
    _Multinomial as _Multinomial,
    _OneHot as _OneHot,
    _PositiveDefinite as _PositiveDefinite,
    _PositiveSemidefinite as _PositiveSemidefinite,
    _Real as _Real,
    _Simplex as _Simplex,
    _Square as _Square,
    _Symmetric as _Symmetric,
)
from ferrograd._kit import public as _public

__dir__ = _public.names(globals())
