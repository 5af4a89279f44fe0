"""Linear algebra on matrices in the last two axes.

Factorisations are unique up to signs (complex ones up to factors of absolute value 1): the rows differentiate functions
of them that do not depend on the signs, and ``tests/ops/test_linalg_edges.py`` checks their values.
"""

from typing import Any

import ferrograd as fg
import numpy as np
import scipy.linalg

from tests.cases import Case, normal, uniform


def transposed(x: Any) -> Any:
    """The transpose, of complex matrices the conjugate one."""
    return np.conj(x).swapaxes(-1, -2) if isinstance(x, np.ndarray) else fg.conj(fg.matrix_transpose(x))


def symmetric(x: Any) -> tuple[Any]:
    """A symmetric (or Hermitian) matrix from a square one."""
    return ((x + transposed(x)) * 0.5,)


def positive(x: Any) -> tuple[Any]:
    """A positive definite matrix from a square one."""
    return (
        x @ transposed(x) + 3 * np.eye(x.shape[-1])
        if isinstance(x, np.ndarray)
        else fg.matmul(x, transposed(x)) + 3 * fg.eye(x.shape[-1], dtype=fg.float64),
    )


def solve_triangular(a: Any, b: Any, upper: bool = True, left: bool = True, unitriangular: bool = False) -> Any:
    a = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        a = a - np.eye(a.shape[-1]) * a + np.eye(a.shape[-1])
    return np.linalg.solve(a, b) if left else np.linalg.solve(a.T, b.T).T


def projector(q: Any) -> Any:
    """``q diag(1, 2, …) q^H``, which does not depend on the signs of the columns."""
    weights = fg.arange(1, q.shape[-1] + 1, dtype=fg.float64)
    return fg.matmul(q * weights, transposed(q))


def decomposed(result: Any) -> list[Any]:
    """The singular values of a decomposition, and a function of each basis that does not depend on signs."""
    u, s, vh = result
    return [s, projector(u), projector(transposed(vh))]


NO_ORACLE = "signs are free: tests/ops/test_linalg_edges.py multiplies the factors back"
A, B = normal(3, 3), normal(2, 3, 3, seed=1)
SQUARE = normal(3, 3, seed=3) + 3 * np.eye(3)

RECTANGLE = normal(3, 2)


def vector_norm(x: Any, ord: Any, axis: Any) -> Any:
    """NumPy's norm, which takes at most two axes; two axes mean a matrix norm."""
    flat = x.reshape(-1) if axis is None or isinstance(axis, tuple) else x
    return np.linalg.norm(flat, ord, axis if isinstance(axis, int) else None)


def first(result: Any) -> Any:
    return result[0]


def lu(x: Any) -> Any:
    p, low, high = scipy.linalg.lu(x)
    return p.astype(x.dtype), low, high


def lu_factor(x: Any) -> Any:
    both, pivots = scipy.linalg.lu_factor(x)
    return both, pivots.astype(np.int32) + 1


def lu_unpack(x: Any, pivots: Any) -> Any:
    m, k = x.shape[0], min(x.shape)
    rows = list(range(m))
    for i, j in enumerate(pivots):
        rows[i], rows[j - 1] = rows[j - 1], rows[i]
    return np.eye(m)[:, np.argsort(rows)].T, np.tril(x, -1)[:, :k] + np.eye(m, k), np.triu(x)[:k]


def ldl_factor_ex(x: Any, hermitian: bool = False) -> Any:
    kind = "dsytrf" if x.dtype.kind == "f" else "zhetrf" if hermitian else "zsytrf"
    both, pivots, info = getattr(scipy.linalg.lapack, kind)(x, lower=1)
    return np.tril(both), pivots, np.int32(info)


LU, PIVOTS = lu_factor(normal(3, 3, seed=3))


def lu_solve(x: Any, pivots: Any, y: Any, left: bool, adjoint: bool) -> Any:
    p, low, high = lu_unpack(x, pivots)
    a = transposed(p @ low @ high) if adjoint else p @ low @ high
    return np.linalg.solve(a, y) if left else np.linalg.solve(a.T, y.T).T


def lstsq(x: Any, y: Any) -> Any:
    z, left, rank, values = np.linalg.lstsq(x, y)
    return z, left, np.array(rank, np.int64), values


def reflections(x: Any, tau: Any) -> Any:
    """The product of the reflections, all of its columns."""
    q = np.eye(x.shape[0], dtype=x.dtype)
    for i, t in enumerate(tau):
        v = np.concatenate([np.zeros(i), [1.0], x[i + 1 :, i]])
        q = q @ (np.eye(len(v)) - t * np.outer(v, v.conj()))
    return q


def householder_product(x: Any, tau: Any) -> Any:
    return reflections(x, tau)[:, : x.shape[1]]


def geqrf(x: Any) -> Any:
    (factors, tau), _ = scipy.linalg.qr(x, mode="raw")
    return factors, tau


def ormqr(x: Any, tau: Any, y: Any, left: bool, transpose: bool) -> Any:
    q = transposed(reflections(x, tau)) if transpose else reflections(x, tau)
    return q @ y if left else y @ q


def complex_normal(*shape: int, seed: int = 0) -> np.ndarray:
    return normal(*shape, seed=seed) + 1j * normal(*shape, seed=seed + 50)


def indefinite(x: np.ndarray) -> np.ndarray:
    """Full matrices with small elements on the diagonal, some of whose pivots have two rows."""
    return transposed(np.tril(x, -1)) + np.tril(x, -1) + np.diag(np.diag(x).real) / 10


def ldl_solve(x: np.ndarray, hermitian: bool) -> Case:
    """Equations with the factors of a matrix with one pivot, of two rows, because the tests shift lists of pivots."""
    both, pivots, _ = ldl_factor_ex(x, hermitian)
    y = normal(len(x), 2, seed=1).astype(x.dtype)
    return Case(
        "linalg.ldl_solve",
        (both, pivots, y),
        {"hermitian": hermitian},
        ref=lambda *_, **__: np.linalg.solve(x, y),
        rtol=1e-11,
    )


INDEFINITE = indefinite(normal(4, 4, seed=3))
CINDEFINITE = indefinite(complex_normal(3, 3, seed=3))


def polar(x: Any) -> Any:
    return scipy.linalg.polar(x)


def whole(result: Any) -> list[Any]:
    """What does not depend on the order of eigenvalues or the phases of vectors: sums of powers, ``v diag(w²) v⁻¹``."""
    w, v = result
    return [fg.sum(w, -1), fg.sum(w * w, -1), fg.matmul(v * (w * w).unsqueeze(-2), fg.linalg.inv(v))]


CA, CB = complex_normal(3, 3), complex_normal(2, 3, 3, seed=1)
CSQUARE = complex_normal(3, 3, seed=3) + 3 * np.eye(3)
CLU, CPIVOTS = lu_factor(complex_normal(3, 3, seed=3))

#: Complex matrices.
COMPLEX = [
    *[
        Case("linalg.matrix_norm", (complex_normal(3, 2),), {"ord": ord}, ref=lambda x, ord: np.linalg.norm(x, ord))
        for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    ],
    *[
        Case("linalg.vector_norm", (complex_normal(3, 2),), {"ord": ord, "axis": axis}, ref=vector_norm)
        for ord, axis in ((2, None), (2, 0), (3, 1), (np.inf, 0), (-np.inf, 1), (1, (0, 1)))
    ],
    Case("linalg.norm", (complex_normal(3, 2),), ref=lambda x: np.linalg.norm(x)),
    Case("linalg.solve", (CSQUARE, complex_normal(3, 2, seed=1)), ref=np.linalg.solve, rtol=1e-11),
    Case("linalg.solve", (CSQUARE, normal(3, 2, seed=1)), ref=np.linalg.solve, rtol=1e-11),
    Case("linalg.inv", (CB + 3 * np.eye(3),), ref=np.linalg.inv, rtol=1e-10),
    Case("linalg.inv", (CSQUARE.astype(np.complex64),), ref=np.linalg.inv, rtol=1e-5, order=0),
    Case("linalg.det", (CA,), ref=np.linalg.det),
    Case(
        "linalg.det", (np.outer([1.0, 2j, 3.0], [1.0, -1.0, 2j]),), ref=lambda x: np.zeros((), complex), note="rank one"
    ),
    Case("linalg.slogdet", (CB,), ref=lambda x: tuple(np.linalg.slogdet(x))),
    Case("linalg.logdet", (CA,), ref=lambda x: np.log(np.linalg.det(x))),
    Case("linalg.cholesky", (CA,), prepare=positive, ref=np.linalg.cholesky),
    Case(
        "linalg.cholesky",
        (CB,),
        {"upper": True},
        prepare=positive,
        ref=lambda x, upper: transposed(np.linalg.cholesky(x)),
    ),
    Case(
        "linalg.cholesky_solve",
        (complex_normal(3, 2), CSQUARE),
        ref=lambda x, y: np.linalg.solve(np.tril(y) @ transposed(np.tril(y)), x),
        rtol=1e-10,
    ),
    Case("linalg.solve_triangular", (CSQUARE, complex_normal(3, 2, seed=1)), ref=solve_triangular),
    Case("linalg.solve_triangular", (CSQUARE, complex_normal(2, 3, seed=1)), {"left": False}, ref=solve_triangular),
    Case("linalg.matrix_power", (CSQUARE,), {"n": -2}, ref=np.linalg.matrix_power, rtol=1e-10),
    Case(
        "linalg.qr",
        (complex_normal(4, 3),),
        pick=lambda r: [fg.real(fg.diagonal(r[1])) ** 2, projector(r[0])],
        note=NO_ORACLE,
    ),
    Case("linalg.qr", (complex_normal(2, 4),), pick=lambda r: [fg.matmul(transposed(r[1]), r[1])], note=NO_ORACLE),
    Case(
        "linalg.qr",
        (complex_normal(4, 2),),
        {"mode": "complete"},
        pick=lambda r: [fg.matmul(r[0] * fg.tensor([1.0, 2, 5, 5]), transposed(r[0]))],
        note=NO_ORACLE,
    ),
    Case(
        "linalg.svd", (complex_normal(4, 3),), {"full_matrices": False}, pick=decomposed, note=NO_ORACLE, grad_tol=1e-5
    ),
    Case(
        "linalg.svd",
        (complex_normal(2, 2, 3),),
        {"full_matrices": False},
        pick=decomposed,
        note=NO_ORACLE,
        grad_tol=1e-5,
    ),
    Case(
        "linalg.svd",
        (complex_normal(3, 3),),
        pick=lambda r: fg.matmul(r[0], r[2]),
        note=NO_ORACLE,
        grad_tol=1e-5,
    ),
    Case("linalg.svdvals", (complex_normal(4, 3),), ref=lambda x: np.linalg.svd(x, compute_uv=False)),
    Case("linalg.eigh", (CA,), prepare=symmetric, pick=lambda r: [r[0], projector(r[1])], note=NO_ORACLE),
    Case(
        "linalg.eigh",
        (CB,),
        {"UPLO": "U"},
        prepare=symmetric,
        pick=lambda r: [projector(r[1])],
        note=NO_ORACLE,
        grad_tol=1e-5,
    ),
    Case("linalg.eigvalsh", (CA,), prepare=symmetric, ref=np.linalg.eigvalsh),
    Case("linalg.lu", (complex_normal(2, 3, 4),), ref=lu),
    Case("linalg.lu_factor", (complex_normal(2, 4, 3),), ref=lu_factor, pick=lambda r: r[0]),
    *[
        Case("linalg.ldl_factor_ex", (CINDEFINITE,), {"hermitian": hermitian}, ref=ldl_factor_ex, pick=first)
        for hermitian in (False, True)
    ],
    ldl_solve(CINDEFINITE[:2, :2], True),
    *[
        Case("linalg.lu_solve", (CLU, CPIVOTS, complex_normal(3, 3)), {"left": left, "adjoint": adjoint}, ref=lu_solve)
        for left in (True, False)
        for adjoint in (True, False)
    ],
    Case("linalg.pinv", (complex_normal(4, 3),), ref=np.linalg.pinv),
    Case(
        "linalg.pinv",
        (complex_normal(3, 1), complex_normal(1, 3, seed=1)),
        prepare=lambda x, y: (x @ y,),
        ref=np.linalg.pinv,
    ),
    Case("linalg.cond", (CSQUARE,), {"p": 1}, ref=np.linalg.cond),
    Case("linalg.matrix_exp", (CSQUARE,), ref=scipy.linalg.expm),
    Case("linalg.vander", (complex_normal(3),), ref=lambda x: np.vander(x, increasing=True)),
    Case("linalg.lstsq", (complex_normal(4, 2), complex_normal(4, 3, seed=1)), ref=lstsq, pick=first),
    *[Case("geqrf", (complex_normal(*shape),), ref=geqrf) for shape in ((4, 3), (3, 3), (2, 4))],
    Case("linalg.qr", (complex_normal(40, 36),), ref=np.linalg.qr, order=0),
    Case("linalg.householder_product", (complex_normal(4, 3), complex_normal(3, seed=1)), ref=householder_product),
    *[
        Case(
            "ormqr",
            (complex_normal(3, 2), complex_normal(2, seed=2), complex_normal(3, 3, seed=1)),
            {"left": left, "transpose": t},
            ref=ormqr,
        )
        for left in (True, False)
        for t in (True, False)
    ],
    Case("linalg.polar", (complex_normal(4, 3),), ref=polar),
    Case("linalg.matrix_sqrth", (CA,), prepare=positive, ref=scipy.linalg.sqrtm, rtol=1e-11),
    *[
        Case("linalg.eig", (x,), pick=whole, note=NO_ORACLE)
        for x in (normal(4, 4), CB, CSQUARE.astype(np.complex64)[:0, :0])
    ],
    Case("linalg.eigvals", (CA,), pick=lambda w: [w.sum(), (w * w * w).sum()], note=NO_ORACLE),
]

CASES = [
    *COMPLEX,
    Case("linalg.polar", (normal(2, 4, 3),), ref=lambda x: tuple(map(np.stack, zip(*map(polar, x), strict=True)))),
    Case("linalg.polar", (2 * np.eye(3),), ref=polar, note="equal singular values"),
    Case("linalg.matrix_sqrth", (A,), prepare=positive, ref=scipy.linalg.sqrtm, rtol=1e-11),
    Case("linalg.matrix_sqrth", (2 * np.eye(3),), prepare=symmetric, ref=scipy.linalg.sqrtm, note="equal eigenvalues"),
    *[
        Case("linalg.matrix_norm", (RECTANGLE,), {"ord": ord}, ref=lambda x, ord: np.linalg.norm(x, ord, (-2, -1)))
        for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    ],
    Case(
        "linalg.matrix_norm",
        (normal(3, 2, 4),),
        {"ord": 1, "axis": (2, 0), "keepdims": True},
        ref=lambda x, ord, axis, keepdims: np.linalg.norm(x, ord, axis, keepdims),
    ),
    *[
        Case("linalg.vector_norm", (RECTANGLE,), {"ord": ord, "axis": axis}, ref=vector_norm)
        for ord, axis in ((2, None), (3, 1), (np.inf, 0), (1, (0, 1)))
    ],
    Case("linalg.norm", (RECTANGLE,), ref=lambda x: np.linalg.norm(x)),
    Case("linalg.norm", (RECTANGLE,), {"ord": 1}, ref=lambda x, ord: np.linalg.norm(x, ord)),
    Case(
        "linalg.norm",
        (normal(2, 3, 4),),
        {"ord": "nuc", "axis": (0, 2)},
        ref=lambda x, ord, axis: np.linalg.norm(x, ord, axis),
    ),
    Case("linalg.norm", (normal(5),), {"ord": 3}, ref=lambda x, ord: np.linalg.norm(x, ord)),
    Case("linalg.solve", (SQUARE, normal(3, 2, seed=1)), ref=np.linalg.solve, rtol=1e-11),
    Case("linalg.solve", (SQUARE, normal(3, seed=1)), ref=np.linalg.solve, rtol=1e-11),
    Case("linalg.solve", (B, normal(4, 1, 3, 2, seed=1)), ref=np.linalg.solve, rtol=1e-10, grad_tol=1e-5),
    Case("linalg.solve", (B + 3 * np.eye(3), normal(3, seed=1)), ref=lambda a, b: np.linalg.solve(a, b)),
    Case("linalg.inv", (SQUARE,), ref=np.linalg.inv, rtol=1e-11),
    Case("linalg.inv", (B + 3 * np.eye(3),), ref=np.linalg.inv, rtol=1e-10),
    Case("linalg.det", (A,), ref=np.linalg.det),
    Case("linalg.det", (normal(2, 2, 4, 4),), ref=np.linalg.det, rtol=1e-11),
    Case("linalg.det", (np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 2.0]),), ref=lambda x: np.zeros(()), note="rank one"),
    Case("linalg.det", (np.zeros((3, 3)),), ref=np.linalg.det, note="zero"),
    Case("linalg.det", (np.array([np.diag([1.0, 0, 2, 3]), np.eye(4)]),), ref=np.linalg.det, note="one singular"),
    Case("linalg.slogdet", (A,), ref=lambda x: tuple(np.linalg.slogdet(x)), pick=lambda r: r[1]),
    Case("linalg.slogdet", (B,), ref=lambda x: tuple(np.linalg.slogdet(x)), pick=lambda r: r[1]),
    Case("linalg.logdet", (B,), prepare=positive, ref=lambda x: np.linalg.slogdet(x)[1]),
    Case("linalg.cholesky", (A,), prepare=positive, ref=np.linalg.cholesky),
    Case(
        "linalg.cholesky",
        (B,),
        {"upper": True},
        prepare=positive,
        ref=lambda x, upper: transposed(np.linalg.cholesky(x)),
    ),
    Case(
        "linalg.cholesky_solve",
        (normal(3, 2), SQUARE),
        ref=lambda x, y: np.linalg.solve(np.tril(y) @ np.tril(y).T, x),
        rtol=1e-10,
    ),
    Case(
        "linalg.cholesky_solve",
        (normal(3, 2), SQUARE),
        {"upper": True},
        ref=lambda x, y, upper: np.linalg.solve(np.triu(y).T @ np.triu(y), x),
        rtol=1e-10,
    ),
    Case("linalg.solve_triangular", (SQUARE, normal(3, 2, seed=1)), ref=solve_triangular),
    Case("linalg.solve_triangular", (SQUARE, normal(4, 3, 2, seed=1)), {"upper": False}, ref=solve_triangular),
    Case("linalg.solve_triangular", (SQUARE, normal(2, 3, seed=1)), {"left": False}, ref=solve_triangular),
    Case("linalg.solve_triangular", (A, normal(3, 2, seed=1)), {"unitriangular": True}, ref=solve_triangular),
    Case("linalg.solve_triangular", (SQUARE, normal(3, seed=1)), ref=solve_triangular),
    Case("linalg.solve_triangular", (SQUARE, normal(3, seed=1)), {"left": False}, ref=solve_triangular),
    Case(
        "linalg.solve_triangular",
        (SQUARE, normal(3, seed=1)),
        {"lower": True},
        ref=lambda a, b, lower: solve_triangular(a, b, upper=not lower),
    ),
    Case(
        "linalg.solve_triangular",
        (SQUARE + normal(2, 1, 1), normal(3, seed=1)),
        {"lower": True},
        ref=lambda a, b, lower: np.stack([solve_triangular(one, b, upper=not lower) for one in a]),
        rtol=1e-10,
    ),
    Case(
        "linalg.cholesky_solve",
        (normal(3), SQUARE),
        ref=lambda x, y: np.linalg.solve(np.tril(y) @ np.tril(y).T, x),
        rtol=1e-10,
    ),
    Case("linalg.matrix_power", (B,), {"n": 3}, ref=np.linalg.matrix_power),
    Case("linalg.matrix_power", (SQUARE,), {"n": -2}, ref=np.linalg.matrix_power, rtol=1e-10),
    Case("linalg.matrix_power", (SQUARE,), {"n": 0}, ref=np.linalg.matrix_power, order=0),
    Case(
        "linalg.qr",
        (normal(4, 3),),
        pick=lambda r: [fg.matmul(transposed(r[1]), r[1]), projector(r[0])],
        note=NO_ORACLE,
    ),
    Case("linalg.qr", (normal(2, 3, 3),), pick=lambda r: [projector(r[0])], note=NO_ORACLE),
    Case("linalg.qr", (normal(2, 4),), pick=lambda r: [fg.matmul(transposed(r[1]), r[1])], note=NO_ORACLE),
    Case(
        "linalg.qr",
        (normal(4, 2),),
        {"mode": "complete"},
        pick=lambda r: [
            fg.matmul(r[0] * fg.tensor([1.0, 2, 5, 5]), transposed(r[0])),
            fg.matmul(transposed(r[1]), r[1]),
        ],
        note=NO_ORACLE,
    ),
    Case("linalg.svd", (normal(4, 3),), {"full_matrices": False}, pick=decomposed, note=NO_ORACLE, grad_tol=1e-5),
    Case("linalg.svd", (normal(2, 2, 3),), {"full_matrices": False}, pick=decomposed, note=NO_ORACLE, grad_tol=1e-5),
    Case(
        "linalg.svd",
        (normal(4, 2),),
        pick=lambda r: [r[1], fg.matmul(r[0] * fg.tensor([1.0, 2, 5, 5]), transposed(r[0]))],
        note=NO_ORACLE,
    ),
    Case("linalg.svdvals", (normal(4, 3),), ref=lambda x: np.linalg.svd(x, compute_uv=False)),
    Case("linalg.svdvals", (normal(2, 3, 4),), ref=lambda x: np.linalg.svd(x, compute_uv=False)),
    Case("linalg.eigh", (A,), prepare=symmetric, pick=lambda r: [r[0], projector(r[1])], note=NO_ORACLE),
    Case(
        "linalg.eigh",
        (B,),
        {"UPLO": "U"},
        prepare=symmetric,
        pick=lambda r: [projector(r[1])],
        note=NO_ORACLE,
        grad_tol=1e-5,
    ),
    Case("linalg.eigvalsh", (A,), prepare=symmetric, ref=np.linalg.eigvalsh),
    Case("linalg.eigvalsh", (B,), {"UPLO": "U"}, prepare=symmetric, ref=np.linalg.eigvalsh),
    Case("linalg.lu", (SQUARE,), ref=lu),
    Case("linalg.lu", (normal(2, 3, 4),), ref=lu),
    Case("linalg.lu", (normal(4, 2),), ref=lu),
    Case("linalg.lu_factor", (SQUARE,), ref=lu_factor, pick=lambda r: r[0]),
    Case("linalg.lu_factor", (normal(2, 4, 3),), ref=lu_factor, pick=lambda r: r[0]),
    Case("linalg.ldl_factor_ex", (INDEFINITE,), ref=ldl_factor_ex, pick=first),
    Case("linalg.ldl_factor_ex", (normal(3, 3),), ref=ldl_factor_ex, pick=first),
    Case("linalg.ldl_factor_ex", (np.zeros((2, 2)),), ref=ldl_factor_ex, order=0),
    ldl_solve(INDEFINITE[:2, :2], False),
    Case("linalg.lu_factor", (normal(3, 0),), ref=lambda x: (x, np.zeros(0, np.int32)), order=0),
    Case("lu_unpack", (normal(3, 4), np.array([2, 3, 3])), ref=lu_unpack),
    *[
        Case("linalg.lu_solve", (LU, PIVOTS, normal(3, 3)), {"left": left, "adjoint": adjoint}, ref=lu_solve)
        for left in (True, False)
        for adjoint in (True, False)
    ],
    Case("linalg.pinv", (normal(4, 3),), ref=np.linalg.pinv),
    Case("linalg.pinv", (normal(2, 3, 4),), ref=np.linalg.pinv),
    Case("linalg.pinv", (normal(3, 1), normal(1, 3, seed=1)), prepare=lambda x, y: (x @ y,), ref=np.linalg.pinv),
    Case("linalg.pinv", (normal(0, 3),), ref=np.linalg.pinv, order=0),
    Case("linalg.matrix_rank", (normal(2, 3, 4),), ref=np.linalg.matrix_rank, order=0),
    Case("linalg.matrix_rank", (np.ones((3, 3)),), ref=np.linalg.matrix_rank, order=0),
    *[Case("linalg.cond", (SQUARE,), {"p": p}, ref=np.linalg.cond) for p in (None, -2, 1, -1, np.inf, "fro")],
    Case("linalg.cond", (np.ones((2, 2)),), {"p": 1}, ref=lambda x, p: np.array(np.inf), order=0),
    Case("linalg.multi_dot", ([normal(2, 3), normal(3, 4, seed=1), normal(4, seed=2)],), ref=np.linalg.multi_dot),
    Case("linalg.matrix_exp", (SQUARE,), ref=scipy.linalg.expm),
    Case("linalg.matrix_exp", (B * np.array([1.0, 20.0])[:, None, None],), ref=scipy.linalg.expm, rtol=1e-10),
    Case("linalg.matrix_exp", (normal(0, 2, 2),), ref=lambda x: x, order=0),
    Case("linalg.tensorinv", (normal(4, 6, 8, 3),), ref=np.linalg.tensorinv, rtol=1e-9, grad_tol=1e-4),
    Case("linalg.tensorsolve", (normal(2, 3, 6), normal(2, 3, seed=1)), ref=np.linalg.tensorsolve, rtol=1e-10),
    Case("linalg.vander", (normal(3),), ref=lambda x: np.vander(x, increasing=True)),
    Case("linalg.vander", (normal(3),), {"N": 5}, ref=lambda x, N: np.vander(x, N, increasing=True)),
    Case("linalg.lstsq", (normal(4, 2), normal(4, seed=1)), ref=lstsq, pick=first),
    Case("linalg.lstsq", (normal(4, 2), normal(4, 3, seed=1)), ref=lstsq, pick=first),
    Case("linalg.lstsq", (normal(2, 4), normal(2, 3, seed=1)), ref=lstsq, pick=first),
    *[Case("geqrf", (normal(*shape),), ref=geqrf, grad_tol=1e-5) for shape in ((4, 3), (3, 3), (2, 4))],
    Case("geqrf", (normal(40, 36),), ref=geqrf, order=0),
    Case("geqrf", (np.triu(normal(3, 3)),), ref=geqrf, order=0),
    Case("geqrf", (np.zeros((2, 0, 3)),), ref=lambda x: (x, np.zeros((2, 0))), order=0),
    Case("linalg.householder_product", (normal(4, 3), uniform(0.5, 2, 3)), ref=householder_product),
    Case("linalg.householder_product", (normal(4, 3), uniform(0.5, 2, 2)), ref=householder_product),
    *[
        Case(
            "ormqr", (normal(3, 2), uniform(0.5, 2, 2), normal(3, 3, seed=1)), {"left": left, "transpose": t}, ref=ormqr
        )
        for left in (True, False)
        for t in (True, False)
    ],
    Case("linalg.cholesky_ex", (A,), prepare=positive, ref=lambda x: (np.linalg.cholesky(x), np.int32(0)), pick=first),
    Case("linalg.cholesky_ex", (-np.eye(2),), ref=lambda x: (x * np.nan, np.int32(1)), order=0),
    Case("linalg.inv_ex", (SQUARE,), ref=lambda x: (np.linalg.inv(x), np.int32(0)), pick=first),
    Case("linalg.inv_ex", (np.ones((2, 2)),), ref=lambda x: (x * np.nan, np.int32(2)), order=0),
    Case("linalg.solve_ex", (SQUARE, B[0]), ref=lambda x, y: (np.linalg.solve(x, y), np.int32(0)), pick=first),
]
