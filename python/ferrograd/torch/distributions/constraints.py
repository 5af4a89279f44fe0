"""``torch.distributions.constraints``, with the classes that libraries know by their private names."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._distributions.constraints import *
from ferrograd._distributions.constraints import __all__ as __all__
from ferrograd._distributions.constraints import _Boolean as _Boolean
from ferrograd._distributions.constraints import _CorrCholesky as _CorrCholesky
from ferrograd._distributions.constraints import _Dependent as _Dependent
from ferrograd._distributions.constraints import _GreaterThan as _GreaterThan
from ferrograd._distributions.constraints import _GreaterThanEq as _GreaterThanEq
from ferrograd._distributions.constraints import _HalfOpenInterval as _HalfOpenInterval
from ferrograd._distributions.constraints import _IndependentConstraint as _IndependentConstraint
from ferrograd._distributions.constraints import _IntegerGreaterThan as _IntegerGreaterThan
from ferrograd._distributions.constraints import _IntegerInterval as _IntegerInterval
from ferrograd._distributions.constraints import _Interval as _Interval
from ferrograd._distributions.constraints import _LessThan as _LessThan
from ferrograd._distributions.constraints import _LowerCholesky as _LowerCholesky
from ferrograd._distributions.constraints import _LowerTriangular as _LowerTriangular
from ferrograd._distributions.constraints import _Multinomial as _Multinomial
from ferrograd._distributions.constraints import _OneHot as _OneHot
from ferrograd._distributions.constraints import _PositiveDefinite as _PositiveDefinite
from ferrograd._distributions.constraints import _PositiveSemidefinite as _PositiveSemidefinite
from ferrograd._distributions.constraints import _Real as _Real
from ferrograd._distributions.constraints import _Simplex as _Simplex
from ferrograd._distributions.constraints import _Square as _Square
from ferrograd._distributions.constraints import _Symmetric as _Symmetric

__dir__ = _public.names(globals())
