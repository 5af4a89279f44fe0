"""Paddle's sums of products: of matrices and of vectors. Each is a tensor method too."""

from __future__ import annotations

import string
from typing import Any

from ferrograd._core import ArgumentError, IndexOutOfRange, ShapeError, paddle as ops
from ferrograd._kit import arguments as _arguments
from ferrograd.paddle._tensor import Tensor

__all__ = ["addmm", "cdist", "cross", "dot", "einsum", "matmul", "tensordot"]


def cross(x: Tensor, y: Tensor, axis: int = 9, name: str | None = None) -> Tensor:
    """The cross product along an axis of size 3, by default (9) the first such axis."""
    x = _arguments.tensor(x, "cross", "x")
    if axis != 9:
        return ops.cross(x, y, axis)
    if 3 not in x.shape:
        raise ShapeError(f"cross: no axis of {list(x.shape)} has size 3")
    return ops.cross(x, y, list(x.shape).index(3))


def dot(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """The inner product of two vectors; of two matrices of one shape, row by row.

    >>> import ferrograd.paddle as paddle
    >>> paddle.dot(paddle.ones([2, 3]), paddle.ones([2, 3])).tolist()
    [3.0, 3.0]
    """
    x, y = _arguments.tensor(x, "dot", "x"), _arguments.tensor(y, "dot", "y")
    if x.shape != y.shape or x.ndim not in (1, 2):
        raise ShapeError(
            f"dot: {list(x.shape)} and {list(y.shape)} are not two vectors (or two lists of them) of one size"
        )
    return ops.dot(x, y) if x.ndim == 1 else ops.vecdot(ops.conj(x), y, -1)


def matmul(
    x: Tensor, y: Tensor, transpose_x: bool = False, transpose_y: bool = False, name: str | None = None
) -> Tensor:
    """The matrix product, with each matrix transposed first if asked for."""
    if transpose_x and x.ndim > 1:
        x = ops.matrix_transpose(x)
    if transpose_y and y.ndim > 1:
        y = ops.matrix_transpose(y)
    return ops.matmul(x, y)


def tensordot(x: Tensor, y: Tensor, axes: Any = 2, name: str | None = None) -> Tensor:
    """The sum of products over pairs of axes.

    ``axes`` is a number (the last axes of ``x`` and the first of ``y``), a list of axes in both, or a pair of lists.
    The shorter list of a pair is continued with the axes of the longer one.
    """
    x, y = _arguments.tensor(x, "tensordot", "x"), _arguments.tensor(y, "tensordot", "y")
    if isinstance(axes, Tensor):
        axes = axes.tolist()
    if isinstance(axes, int):
        if axes > min(x.ndim, y.ndim):
            raise IndexOutOfRange(f"tensordot: axes={axes} is more than the axes of {list(x.shape)} or {list(y.shape)}")
        return ops.tensordot(x, y, axes)
    if not isinstance(axes, list | tuple):
        raise ArgumentError(f"tensordot: axes must be an int or lists of ints, not {type(axes).__name__}")
    pair = [axes] if all(isinstance(a, int) for a in axes) else axes
    if len(pair) > 2:
        raise ArgumentError(f"tensordot: axes are two lists, not {len(pair)}")
    lists = [_arguments.integers(a, "tensordot", "axes") if isinstance(a, list | tuple | Tensor) else [a] for a in pair]
    ours, theirs = (lists[0], lists[-1]) if lists else ([], [])
    if len(ours) < len(theirs):
        ours = ours + theirs[len(ours) :]
    theirs = theirs + ours[len(theirs) :]
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        # An axis of size 1 broadcasts against the other one.
        if -x.ndim <= a < x.ndim and -y.ndim <= b < y.ndim and x.shape[a] != y.shape[b]:
            if x.shape[a] == 1:
                y = ops.sum(y, b, True)
            elif y.shape[b] == 1:
                x = ops.sum(x, a, True)
            else:
                raise ShapeError(f"tensordot: pair {i} of axes has sizes {x.shape[a]} and {y.shape[b]}")
    return ops.tensordot(x, y, [ours, theirs])


def addmm(
    input: Tensor, x: Tensor, y: Tensor, beta: float = 1.0, alpha: float = 1.0, name: str | None = None
) -> Tensor:
    """``beta * input + alpha * (x @ y)`` of two matrices. ``input`` is a vector or matrix that broadcasts.

    Raises:
        ShapeError: ``x`` or ``y`` is no matrix, or ``input`` has another number of axes than 1 or 2.

    >>> import ferrograd.paddle as paddle
    >>> addmm(paddle.ones([2]), paddle.ones([1, 3]), paddle.ones([3, 2])).tolist()
    [[4.0, 4.0]]
    """
    given = [_arguments.tensor(t, "addmm", name) for t, name in ((input, "input"), (x, "x"), (y, "y"))]
    ranks = [t.ndim for t in given]
    if ranks[1:] != [2, 2] or ranks[0] not in (1, 2):
        raise ShapeError(f"addmm: a vector or matrix and two matrices, not {[list(t.shape) for t in given]}")
    return ops.addmm(input, x, y, beta=beta, alpha=alpha)


def cdist(x: Tensor, y: Tensor, p: float = 2.0, compute_mode: str = "", name: str | None = None) -> Tensor:
    """The ``p``-norms of the differences of all pairs of rows. ``compute_mode`` changes nothing."""
    return ops.cdist(x, y, p)


def einsum(equation: str, *operands: Any) -> Tensor:
    """The sum of products that a formula describes, as :func:`ferrograd.einsum`.

    A letter that the result has twice puts the elements on the diagonal, with zeros beside it.

    >>> import ferrograd.paddle as paddle
    >>> paddle.einsum("i->ii", paddle.to_tensor([1.0, 2.0])).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    if not isinstance(equation, str):
        return ops.einsum(equation, *operands)
    if not operands:
        raise ArgumentError("einsum: Required at least one operand in Einsum API, but received 0")
    formula, arrow, result = equation.replace(" ", "").partition("->")
    if "->" in result:
        raise ArgumentError("einsum: Invalid equation: multiple `->` were found.")
    if len(formula.split(",")) != len(operands):
        segments = f"but found {len(formula.split(','))} segments in the label equation."
        raise ArgumentError(f"einsum: Invalid equation: the number of operands is {len(operands)}, {segments}")
    letters = result.replace(".", "")
    once = "".join(dict.fromkeys(letters))
    if not arrow or once == letters:
        return ops.einsum(equation, *operands)
    fresh = iter(sorted(set(string.ascii_letters) - set(equation)))
    first, second = "", ""
    names = []
    for letter in result:
        if letter in first and letter != ".":
            names.append(letter + next(fresh))
            second += names[-1][1]
        else:
            first, second = first + letter, second + letter
    found: Tensor = ops.einsum(f"{formula}->{first}", *operands)
    sizes = _sizes(first, found)
    diagonals = [ops.eye(sizes[name[0]], dtype=found.dtype) for name in names]
    return ops.einsum(f"{first},{','.join(names)}->{second}", found, *diagonals)


def _sizes(labels: str, x: Tensor) -> dict[str, int]:
    """The size of the axis of each letter: those before "..." name the first axes, and the others the last."""
    before, _, after = labels.partition("...")
    shape = list(x.shape)
    return dict(zip(before, shape, strict=False)) | dict(zip(reversed(after), reversed(shape), strict=False))
