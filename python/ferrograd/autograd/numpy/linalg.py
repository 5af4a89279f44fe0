"""``numpy.linalg``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as _np

from ferrograd import linalg as _linalg
from ferrograd._core import native as _ops
from ferrograd._kit import public as _public
from ferrograd.autograd._values import constant as _constant, plain as _plain
from ferrograd.autograd.numpy import _wrapped

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Any other name."""


def _hermitian(a: Any, UPLO: Any) -> Any:
    """The Hermitian matrices that one triangle of ``a`` stands for: the other one has no influence."""
    a = _constant(a)
    below = _ops.tril(a, -1) if str(UPLO).upper() == "L" else _adjoint(_ops.triu(a, 1))
    middle = _ops.real(_ops.diagonal(a, 0, -2, -1))
    return below + _adjoint(below) + _ops.diag_embed(middle, 0, -2, -1)


def _adjoint(a: Any) -> Any:
    return _ops.conj(_ops.matrix_transpose(a))


def eigh(a: Any, UPLO: Any = "L") -> Any:
    """``numpy.linalg.eigh``."""
    if not _wrapped.has_tensor((a,)):
        return _np.linalg.eigh(a, UPLO)
    found = _linalg.eigh(_hermitian(a, UPLO))
    return type(found)(found[0], found[1] * _phases(found[1], _np.linalg.eigh(_plain(a), UPLO)[1]))


def eig(a: Any) -> Any:
    """``numpy.linalg.eig``."""
    if not _wrapped.has_tensor((a,)):
        return _np.linalg.eig(a)
    found, theirs = _linalg.eig(_constant(a)), _np.linalg.eig(_plain(a))
    # Both find the same eigenvalues, but each in an order of its own.
    far = _np.abs(theirs[0][..., :, None] - _plain(found[0])[..., None, :])
    order = _constant(far.argmin(-1))
    values = _ops.take_along_axis(found[0], order, -1)
    vectors = _ops.take_along_axis(found[1], order[..., None, :], -1)
    return type(found)(values, vectors * _phases(vectors, theirs[1]))


def _phases(ours: Any, theirs: Any) -> Any:
    """The factors, of absolute value 1, by which NumPy's unit vectors (in columns) are multiples of ours."""
    products = _np.sum(_plain(ours).conj() * theirs, axis=-2, keepdims=True)
    sizes = _np.abs(products)
    return _constant(_np.where(sizes > 0, products / _np.where(sizes > 0, sizes, 1), 1))


def eigvalsh(a: Any, UPLO: Any = "L") -> Any:
    """``numpy.linalg.eigvalsh``."""
    if not _wrapped.has_tensor((a,)):
        return _np.linalg.eigvalsh(a, UPLO)
    return _linalg.eigvalsh(_hermitian(a, UPLO))


def svd(a: Any, full_matrices: Any = True, compute_uv: Any = True, hermitian: Any = False) -> Any:
    """``numpy.linalg.svd``."""
    if not _wrapped.has_tensor((a,)):
        return _np.linalg.svd(a, full_matrices, compute_uv, hermitian)
    if hermitian:
        raise NotImplementedError("svd(hermitian=True) has no derivative: use eigh")
    a = _constant(a)
    if not compute_uv:
        return _linalg.svdvals(a)
    found = _linalg.svd(a, full_matrices=full_matrices)
    count = found[1].shape[-1]
    phases = _phases(found[0], _np.linalg.svd(_plain(a), full_matrices)[0])
    u = found[0] * phases
    # A left and a right vector have the same factor, the others are free.
    vh = found[2] * _adjoint(_widened(phases[..., :count], found[2].shape[-2]))
    return type(found)(u, found[1], vh)


def _widened(phases: Any, size: int) -> Any:
    """The factors, filled up with ones to this number."""
    missing = size - phases.shape[-1]
    ones = _ops.ones([*phases.shape[:-1], missing], dtype=phases.dtype)
    return _ops.concat([phases, ones], -1) if missing > 0 else phases


_own = {"eig": eig, "eigh": eigh, "eigvalsh": eigvalsh, "svd": svd}
_names = _wrapped.namespace(_np.linalg, _own)
globals().update(_names)
__all__ = sorted(_own | _names)

__dir__ = _public.names(globals())
