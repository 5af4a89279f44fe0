"""``torch.return_types``: the named tuples that functions return."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from ferrograd._kit import public as _public
from ferrograd.torch._tensor import Tensor

__all__ = [
    "aminmax",
    "cummax",
    "cummin",
    "frexp",
    "geqrf",
    "histogram",
    "histogramdd",
    "kthvalue",
    "linalg_cholesky_ex",
    "linalg_eig",
    "linalg_eigh",
    "linalg_inv_ex",
    "linalg_ldl_factor",
    "linalg_ldl_factor_ex",
    "linalg_lstsq",
    "linalg_lu",
    "linalg_lu_factor",
    "linalg_lu_factor_ex",
    "linalg_qr",
    "linalg_slogdet",
    "linalg_solve_ex",
    "linalg_svd",
    "lu_unpack",
    "max",
    "median",
    "min",
    "mode",
    "nanmedian",
    "slogdet",
    "sort",
    "svd",
    "topk",
    "triangular_solve",
]

T = TypeVar("T", bound=type[Any])


def _printed(cls: T) -> T:
    """Lets a named tuple print as PyTorch's do."""

    def text(self: Any) -> str:
        fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{fields})"

    cls.__repr__ = text  # type: ignore[assignment]
    return cls


@_printed
class ValuesAndIndices(NamedTuple):
    """Selected elements and their indices."""

    values: Tensor
    indices: Tensor


class cummax(ValuesAndIndices):
    """The largest elements so far."""

    __slots__ = ()


class cummin(ValuesAndIndices):
    """The smallest elements so far."""

    __slots__ = ()


class kthvalue(ValuesAndIndices):
    """The elements at a place of the rising order."""

    __slots__ = ()


class max(ValuesAndIndices):
    """The largest elements."""

    __slots__ = ()


class median(ValuesAndIndices):
    """The medians."""

    __slots__ = ()


class min(ValuesAndIndices):
    """The smallest elements."""

    __slots__ = ()


class mode(ValuesAndIndices):
    """The most frequent elements."""

    __slots__ = ()


class nanmedian(ValuesAndIndices):
    """The medians without NaN."""

    __slots__ = ()


class sort(ValuesAndIndices):
    """The elements in order."""

    __slots__ = ()


class topk(ValuesAndIndices):
    """The largest elements, or the smallest."""

    __slots__ = ()


@_printed
class aminmax(NamedTuple):
    """The smallest and the largest elements."""

    min: Tensor
    max: Tensor


@_printed
class frexp(NamedTuple):
    """Numbers as ``mantissa * 2**exponent``."""

    mantissa: Tensor
    exponent: Tensor


@_printed
class geqrf(NamedTuple):
    """The triangle and the vectors of reflections in one matrix, and the factors of the reflections."""

    a: Tensor
    tau: Tensor


@_printed
class histogram(NamedTuple):
    """How many elements lie in each bin, and the ends of the bins."""

    hist: Tensor
    bin_edges: Tensor


@_printed
class histogramdd(NamedTuple):
    """How many points lie in each cell, and the ends of the cells along each axis."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]


@_printed
class linalg_cholesky_ex(NamedTuple):
    """A Cholesky factor, and for each matrix 0 if it has one."""

    L: Tensor
    info: Tensor


@_printed
class linalg_eig(NamedTuple):
    """Eigenvalues and eigenvectors."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@_printed
class linalg_eigh(NamedTuple):
    """Eigenvalues, rising, and eigenvectors."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@_printed
class linalg_inv_ex(NamedTuple):
    """An inverse, and for each matrix 0 if it has one."""

    inverse: Tensor
    info: Tensor


@_printed
class linalg_ldl_factor(NamedTuple):
    """The factors ``L`` and ``D`` in one matrix, and the rows that were exchanged."""

    LD: Tensor
    pivots: Tensor


@_printed
class linalg_ldl_factor_ex(NamedTuple):
    """As :class:`linalg_ldl_factor`, and for each matrix 0, or the first place on the diagonal of ``D`` that is 0."""

    LD: Tensor
    pivots: Tensor
    info: Tensor


@_printed
class linalg_lstsq(NamedTuple):
    """The solution of linear equations in the sense of least squares."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


@_printed
class linalg_lu(NamedTuple):
    """The factors of ``P @ L @ U``."""

    P: Tensor
    L: Tensor
    U: Tensor


@_printed
class linalg_lu_factor(NamedTuple):
    """Both triangles of a factorisation in one matrix, and the rows that were exchanged."""

    LU: Tensor
    pivots: Tensor


@_printed
class linalg_lu_factor_ex(NamedTuple):
    """As :class:`linalg_lu_factor`, and for each matrix the first pivot that is zero, counted from 1, or 0."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


@_printed
class linalg_qr(NamedTuple):
    """Orthonormal columns and an upper triangle."""

    Q: Tensor
    R: Tensor


@_printed
class linalg_slogdet(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: Tensor
    logabsdet: Tensor


@_printed
class linalg_solve_ex(NamedTuple):
    """A solution of linear equations, and for each matrix 0 if there is one."""

    result: Tensor
    info: Tensor


@_printed
class linalg_svd(NamedTuple):
    """The singular vectors, as columns of ``U`` and rows of ``Vh``, and the singular values ``S``."""

    U: Tensor
    S: Tensor
    Vh: Tensor


@_printed
class lu_unpack(NamedTuple):
    """The factors of ``P @ L @ U``."""

    P: Tensor
    L: Tensor
    U: Tensor


@_printed
class slogdet(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: Tensor
    logabsdet: Tensor


@_printed
class svd(NamedTuple):
    """The singular vectors, as columns of ``U`` and ``V``, and the singular values ``S``."""

    U: Tensor
    S: Tensor
    V: Tensor


@_printed
class triangular_solve(NamedTuple):
    """The solution of linear equations, and the matrix that they have."""

    solution: Tensor
    cloned_coefficient: Tensor


__dir__ = _public.names(globals())
