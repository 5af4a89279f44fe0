"""torch's sums of products: of matrices, of vectors, of lists of indices. Each is a tensor method too."""

from __future__ import annotations

from numbers import Number
from typing import Any

from ferrograd import _core
from ferrograd._autograd.autocast import in_float32
from ferrograd._core import ArgumentError, ShapeError, torch as ops
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.out import into
from ferrograd.torch._functions.arithmetic import _whole
from ferrograd.torch._functions.reduce import _of_axes, _summed
from ferrograd.torch._tensor import Tensor

__all__ = [
    "addbmm",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "cdist",
    "chain_matmul",
    "cross",
    "dot",
    "einsum",
    "ger",
    "inner",
    "mm",
    "outer",
    "trace",
    "vdot",
]


def _factors_last(given: tuple[Any, ...], beta: Any, alpha: Any, name: str) -> tuple[Any, ...]:
    """Three tensors, beta and alpha. Older programs give beta, and then alpha, by place before the last two tensors:
    ``x.addmm_(0.5, 2, a, b)`` and ``addmm(0.5, x, 2, a, b)``.
    """
    tensors = tuple(x for x in given if isinstance(x, _core.Tensor))
    numbers = [x for x in given if not isinstance(x, _core.Tensor)]
    if not numbers:
        if len(tensors) != 3:
            raise TypeError(f"{name}() takes 3 tensors, and beta and alpha by keyword, not {len(tensors)} tensors")
        return (*tensors, *(_whole(factor, tensors, name) for factor in (beta, alpha)))
    is_old = len(tensors) == 3 and len(numbers) < 3 and all(isinstance(x, _core.Tensor) for x in given[-2:])
    if not is_old or any(not isinstance(x, Number) for x in numbers):
        wrong = next((x for x in numbers if not isinstance(x, Number)), numbers[-1])
        raise ArgumentError(f"{name}: three tensors are wanted, not {type(wrong).__name__}")
    if beta != 1 or alpha != 1:
        raise TypeError(f"{name}() got beta or alpha by place and by keyword")
    return (*tensors, *(_whole(factor, tensors, name) for factor in (*numbers, 1)))[:5]


def _plus_product(function: str, given: tuple[Any, ...], beta: Any, alpha: Any, product: str) -> Tensor:
    """A function that adds the product of two tensors, in the notation of einsum, to one that broadcasts to it."""
    input, x, y, *factors = _factors_last(given, beta, alpha, function)
    factors_of, out = product.split("->")
    first, second = factors_of.split(",")
    _of_axes(function, len(first), **{"the first factor": x})
    _of_axes(function, len(second), **{"the second factor": y})
    result: Tensor = getattr(ops, function)(input, x, y, *factors)
    sizes = dict(zip(first + second, (*x.shape, *y.shape), strict=True))
    if tuple(result.shape) != tuple(sizes[letter] for letter in out):
        raise ShapeError(f"{function}: input of shape {tuple(input.shape)} does not broadcast to the product")
    return result


def addbmm(input: Tensor, batch1: Any, batch2: Any, *others: Any, beta: complex = 1, alpha: complex = 1) -> Tensor:
    """``beta * input + alpha * sum(batch1 @ batch2)``, the sum over the batch. With beta 0 the input is ignored."""
    return _plus_product("addbmm", (input, batch1, batch2, *others), beta, alpha, "bij,bjk->ik")


def addmm(input: Tensor, mat1: Any, mat2: Any, *others: Any, beta: complex = 1, alpha: complex = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` of two matrices. With beta 0 the input is ignored."""
    return _plus_product("addmm", (input, mat1, mat2, *others), beta, alpha, "ij,jk->ik")


def addmv(input: Tensor, mat: Any, vec: Any, *others: Any, beta: complex = 1, alpha: complex = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)`` of a matrix and a vector. With beta 0 the input is ignored."""
    return _plus_product("addmv", (input, mat, vec, *others), beta, alpha, "ij,j->i")


def addr(input: Tensor, vec1: Any, vec2: Any, *others: Any, beta: complex = 1, alpha: complex = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``. With beta 0 the input is ignored."""
    return _plus_product("addr", (input, vec1, vec2, *others), beta, alpha, "i,k->ik")


def baddbmm(input: Tensor, batch1: Any, batch2: Any, *others: Any, beta: complex = 1, alpha: complex = 1) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)`` of two batches of matrices. With beta 0 the input is ignored."""
    return _plus_product("baddbmm", (input, batch1, batch2, *others), beta, alpha, "bij,bjk->bik")


def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product of vectors of three elements along ``dim``, by default the first axis of three elements."""
    input, other = _arguments.tensor(input, "cross", "input"), _arguments.tensor(other, "cross", "other")
    if input.ndim != other.ndim:
        raise ShapeError(f"cross: inputs must have the same number of dimensions, not {input.ndim} and {other.ndim}")
    if dim is None:
        dim = next((axis for axis, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise ShapeError(f"cross: no axis of size 3 in a tensor of shape {tuple(input.shape)}")
    return ops.cross(input, other, dim)


def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of the elements of two vectors."""
    input, tensor = _arguments.tensor(input, "dot", "input"), _arguments.tensor(tensor, "dot", "tensor")
    if input.ndim != 1 or tensor.ndim != 1:
        raise ShapeError(
            f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors; matmul takes matrices, too"
        )
    return ops.dot(input, tensor)


def einsum(*operands: Any) -> Any:
    """Sums of products of elements by a formula, or by a list of axes behind each tensor and one for the result.

    >>> import ferrograd.torch as torch
    >>> x = torch.ones(2, 3)
    >>> torch.einsum("ij,kj->ik", x, x).tolist() == torch.einsum(x, [0, 1], x, [2, 1], [0, 2]).tolist()
    True
    """
    return ops.einsum(*_arguments.formula(operands))


def inner(input: Tensor, other: Tensor) -> Tensor:
    """The products summed over the last axes, which have one size; with a tensor without axes, the products."""
    input, other = _arguments.tensor(input, "inner", "input"), _arguments.tensor(other, "inner", "other")
    if input.ndim and other.ndim and input.shape[-1] != other.shape[-1]:
        raise ShapeError(
            f"inner: the sizes of the last axes must match, not {tuple(input.shape)} and {tuple(other.shape)}"
        )
    return ops.inner(input, other)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The products of all pairs of elements of two vectors."""
    _of_axes("outer", 1, input=input, vec2=vec2)
    return ops.outer(input, vec2)


def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """As :func:`outer`."""
    _of_axes("ger", 1, input=input, vec2=vec2)
    return ops.outer(input, vec2)


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
    _of_axes("trace", 2, input=input)
    return ops.trace(_summed(input, "trace"))


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The sum of the products of the elements of two vectors. Of complex ones the first is conjugated."""
    _of_axes("vdot", 1, input=input, other=other)
    return ops.vdot(input, other)


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices."""
    for x, name in ((input, "input"), (mat2, "mat2")):
        if _arguments.tensor(x, "mm", name).ndim != 2:
            raise ShapeError(f"mm: {name} must be a matrix, got {x.ndim}-D tensor")
    return ops.matmul(input, mat2)


@in_float32
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "") -> Tensor:
    """The ``p``-norms of the differences of all pairs of rows. ``compute_mode`` changes nothing."""
    return ops.cdist(x1, x2, p)


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of matrices in the order that takes the fewest multiplications."""
    for x in matrices:
        if _arguments.tensor(x, "chain_matmul", "matrices").ndim != 2:
            raise ShapeError(f"chain_matmul: matrices are wanted, not a {x.ndim}-D tensor")
    result: Tensor = into(out, ops.linalg.multi_dot(list(matrices)))
    return result
