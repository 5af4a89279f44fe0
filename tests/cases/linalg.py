"""Linear algebra on matrices in the last two axes.

Factorisations are unique up to signs: the rows differentiate functions of them that do not depend on the signs, and
``tests/ops/test_linalg_edges.py`` checks their values.
"""

from typing import Any

import ferrograd as fg
import numpy as np

from tests.cases import Case, normal


def transposed(x: Any) -> Any:
    return x.swapaxes(-1, -2) if isinstance(x, np.ndarray) else fg.matrix_transpose(x)


def symmetric(x: Any) -> tuple[Any]:
    """A symmetric matrix from a square one."""
    return ((x + transposed(x)) * 0.5,)


def positive(x: Any) -> tuple[Any]:
    """A positive definite matrix from a square one."""
    return (
        x @ transposed(x) + 3 * np.eye(x.shape[-1])
        if isinstance(x, np.ndarray)
        else fg.matmul(x, transposed(x)) + fg.tensor(3 * np.eye(x.shape[-1])),
    )


def solve_triangular(a: Any, b: Any, upper: bool = True, left: bool = True, unitriangular: bool = False) -> Any:
    a = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        a = a - np.eye(a.shape[-1]) * a + np.eye(a.shape[-1])
    return np.linalg.solve(a, b) if left else transposed(np.linalg.solve(transposed(a), transposed(b)))


def projector(q: Any) -> Any:
    """``q diag(1, 2, …) q^T``, which does not depend on the signs of the columns."""
    weights = fg.tensor(np.arange(1.0, q.shape[-1] + 1))
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


CASES = [
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
]
