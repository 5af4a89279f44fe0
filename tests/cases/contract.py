"""Products summed over shared axes: matrix products and their variants."""

from typing import Any

import numpy as np

from tests.cases import Case, normal


def linear(x: Any, weight: Any, bias: float = 0.0, transpose: bool = True) -> Any:
    return np.matmul(x, weight.T if transpose else weight) + bias


def formula(subscripts: str, *shapes: Any) -> Case:
    operands = tuple(normal(*shape, seed=i) for i, shape in enumerate(shapes))
    return Case("einsum", operands, ref=np.einsum, lead=(subscripts,))


CASES = [
    Case("cross", (normal(4, 3), normal(3, seed=1)), ref=np.cross),
    Case("cross", (normal(3, 2), normal(3, 2, seed=1)), {"axis": 0}, ref=lambda x, y, axis: np.cross(x, y, axis=axis)),
    Case("matmul", (normal(2, 3), normal(3, 4, seed=1)), ref=np.matmul),
    Case("bmm", (normal(2, 3, 4), normal(2, 4, 5, seed=1)), ref=np.matmul),
    Case("mv", (normal(3, 4), normal(4, seed=1)), ref=np.matmul),
    Case("matmul", (normal(3), normal(3, seed=1)), ref=np.matmul),
    Case("matmul", (normal(5, 2, 3), normal(3, seed=1)), ref=np.matmul),
    Case("matmul", (normal(5, 2, 3), normal(3, 4, seed=1)), ref=np.matmul),
    Case("matmul", (normal(3), normal(5, 3, 2, seed=1)), ref=np.matmul),
    Case("matmul", (normal(3), normal(3, 2, seed=1)), ref=np.matmul),
    Case("matmul", (normal(5, 1, 2, 3), normal(4, 3, 2, seed=1)), ref=np.matmul),
    Case("matmul", (normal(2, 0), normal(0, 3, seed=1)), ref=np.matmul),
    Case("matmul", (normal(0, 3), normal(3, 2, seed=1)), ref=np.matmul),
    Case("matmul", (np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)), ref=np.matmul, order=0),
    Case("dot", (normal(3), normal(3, seed=1)), ref=np.dot),
    Case("dot", (normal(3, 3), normal(3, 3, seed=1)), ref=np.dot),
    Case("dot", (normal(2, 3), normal(3, 4, seed=1)), ref=np.dot),
    Case("dot", (normal(2, 3), normal(3, seed=1)), ref=np.dot),
    Case("dot", (normal(3), normal(2, 3, 2, seed=1)), ref=np.dot),
    Case("dot", (normal(2, 1, 3), normal(2, 3, 2, seed=1)), ref=np.dot),
    Case("dot", (np.array(2.0), normal(2, 3)), ref=np.dot),
    Case("dot", (normal(2, 0), normal(0, 3)), ref=np.dot),
    Case("dot", (normal(0), normal(0)), ref=np.dot),
    Case("dot", (np.arange(5), np.arange(5)), ref=np.dot, order=0),
    Case("vecdot", (normal(2, 3, 4), normal(2, 3, 4, seed=1)), {"axis": 1}, ref=lambda x, y, axis: (x * y).sum(axis)),
    Case("vecdot", (normal(2, 3), normal(3, seed=1)), ref=lambda x, y: (x * y).sum(-1)),
    Case("vecdot", (normal(3, 2), normal(3, 1, seed=1)), {"axis": 0}, ref=lambda x, y, axis: (x * y).sum(axis)),
    Case("inner", (normal(2, 3), normal(4, 3, seed=1)), ref=np.inner),
    Case("inner", (normal(2, 3), normal(seed=1)), ref=np.inner),
    Case("outer", (normal(2), normal(3, seed=1)), ref=np.outer),
    Case("outer", (normal(2, 2), normal(seed=1)), ref=np.outer),
    Case("kron", (normal(2, 3), normal(3, 2, seed=1)), ref=np.kron),
    Case("kron", (normal(2), normal(3, 2, seed=1)), ref=np.kron),
    Case("kron", (normal(), normal(3, 2, seed=1)), ref=np.kron),
    Case("kron", (normal(2, 2), normal(2, 65, seed=1)), ref=np.kron),
    Case("kron", (normal(2, 1, 2), normal(3, 1, 2, seed=1)), ref=np.kron),
    Case("linear", (normal(4, 3), normal(2, 3, seed=1), normal(2, seed=2)), ref=linear),
    Case("linear", (normal(2, 4, 3), normal(3, 2, seed=1)), {"transpose": False}, ref=linear),
    Case(
        "addmm",
        (normal(2), normal(3, 4, seed=1), normal(4, 2, seed=2)),
        {"beta": 2, "alpha": 0.5},
        ref=lambda i, x, y, beta, alpha: beta * i + alpha * (x @ y),
    ),
    Case(
        "addmm",
        (normal(2), normal(3, 4, seed=1), normal(4, 2, seed=2)),
        {"beta": 0},
        ref=lambda i, x, y, beta: beta * i + x @ y,
    ),
    Case("addmv", (normal(3), normal(3, 4, seed=1), normal(4, seed=2)), ref=lambda i, x, y: i + x @ y),
    Case("addr", (normal(3, 4), normal(3, seed=1), normal(4, seed=2)), ref=lambda i, x, y: i + np.outer(x, y)),
    Case(
        "baddbmm",
        (normal(2, 3, 2), normal(2, 3, 4, seed=1), normal(2, 4, 2, seed=2)),
        {"beta": 2, "alpha": 0.5},
        ref=lambda i, x, y, beta, alpha: beta * i + alpha * (x @ y),
    ),
    Case(
        "addbmm",
        (normal(3, 2), normal(2, 3, 4, seed=1), normal(2, 4, 2, seed=2)),
        {"alpha": 2},
        ref=lambda i, x, y, alpha: i + alpha * (x @ y).sum(0),
    ),
    Case("tensordot", (normal(2, 3, 4), normal(3, 4, 5, seed=1)), ref=np.tensordot),
    Case("tensordot", (normal(2, 3), normal(4, 2, seed=1)), {"axes": (0, 1)}, ref=np.tensordot),
    Case("tensordot", (normal(2, 3, 4), normal(4, 3, 5, seed=1)), {"axes": ((1, 2), (1, 0))}, ref=np.tensordot),
    Case("tensordot", (normal(2), normal(3, seed=1)), {"axes": 0}, ref=np.tensordot),
    formula("ij,jk->ik", (2, 3), (3, 4)),
    formula("ii", (3, 3)),
    formula("ii->i", (3, 3)),
    formula("iij->j", (2, 2, 3)),
    formula("...ij,...jk", (2, 1, 2, 3), (4, 3, 2)),
    formula("bij , bjk , kl -> bl", (2, 2, 3), (2, 3, 2), (2, 4)),
    formula("ij,ij->ij", (2, 3), (1, 3)),
    formula("i,j->ji", (2,), (3,)),
    formula("ab,bc,cd,ad->", (2, 3), (3, 2), (2, 3), (2, 3)),
    formula("i...->...", (2, 3)),
    Case("vdot", (normal(2, 3), normal(3, 2, seed=1)), ref=np.vdot),
    Case(
        "tensordot",
        (normal(1, 2, 3), normal(2, 4, 3, seed=1)),
        {"axes": ([0, 2], [1, 2])},
        ref=lambda x, y, axes: np.tensordot(x[0], y.sum(1), ([1], [1])),
    ),
]
