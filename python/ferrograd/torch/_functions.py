"""torch's functions whose parameters, defaults or meaning differ from the core's. Each is a tensor method too."""

from __future__ import annotations

import operator
from numbers import Number
from typing import Any

from ferrograd import _arguments, _core
from ferrograd._core import ArgumentError, DtypeError, ShapeError
from ferrograd._core import torch as ops
from ferrograd._dialects.out_argument import with_out
from ferrograd._dialects.specialize import specialize
from ferrograd.torch import return_types
from ferrograd.torch._creation import _shape
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.return_types import ValuesAndIndices

__all__ = [
    "add",
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addr",
    "argwhere",
    "baddbmm",
    "bucketize",
    "clamp_max",
    "clamp_min",
    "cross",
    "cummax",
    "cummin",
    "dot",
    "einsum",
    "equal",
    "gather",
    "ger",
    "index_add",
    "index_put",
    "inner",
    "isin",
    "meshgrid",
    "mm",
    "nonzero",
    "nonzero_static",
    "outer",
    "put",
    "repeat",
    "scatter",
    "sgn",
    "sign",
    "sort",
    "split",
    "square",
    "squeeze",
    "stft",
    "sub",
    "subtract",
    "sum_to_size",
    "svd",
    "swapaxes",
    "swapdims",
    "t",
    "topk",
    "trace",
    "transpose",
    "unbind",
    "unsafe_chunk",
    "unsafe_split",
    "vdot",
]


def _factor_last(first: Any, others: tuple[Any, ...], factor: float, count: int, name: str) -> tuple[Any, ...]:
    """The tensors and the factor, a number or a tensor without axes. Older programs give it before the tensors:
    ``x.add_(0.5, y)``.
    """
    if len(others) > count:
        raise TypeError(f"{name}() got {len(others) + 2} arguments by place")
    if len(others) < count:
        return (first, *others, factor)
    if (isinstance(first, Tensor) and first.ndim) or factor != 1:
        raise TypeError(f"{name}(): a number is wanted before the tensors, and no other factor")
    return (*others, first)


def _whole(factor: Any, tensors: tuple[Any, ...], function: str) -> Any:
    """A factor of tensors as an integer or truth value if they are; raises if it is not whole beside integers."""
    if all(x.dtype.kind == "b" for x in tensors if isinstance(x, Tensor)):
        return bool(factor)
    if not isinstance(factor, float) or any(x.dtype.kind not in "biu" for x in tensors if isinstance(x, Tensor)):
        return factor
    if not factor.is_integer():
        raise ArgumentError(
            f"{function}: For integral input tensors, argument alpha must not be a floating point number, nor beta or "
            f"value, as {factor} is"
        )
    return int(factor)


def add(input: Any, other: Any, *others: Any, alpha: float = 1) -> Tensor:
    """``input + alpha * other``. Older programs write ``add(input, alpha, other)``."""
    other, alpha = _factor_last(other, others, alpha, 1, "add")
    alpha = alpha if alpha == 1 else _whole(alpha, (input, other), "add")
    if alpha != 1 and isinstance(input, Tensor) and isinstance(other, Tensor):
        return ops.addcmul(input, other, alpha)
    return ops.add(input, other if alpha == 1 else other * alpha)


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


def _of_axes(function: str, count: int, **tensors: Any) -> None:
    """Raises unless each tensor has this number of axes."""
    for name, x in tensors.items():
        if _arguments.tensor(x, function, name).ndim != count:
            raise ShapeError(f"{function}: {name} must be {count}-D, got a {x.ndim}-D tensor of shape {tuple(x.shape)}")


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


def addcdiv(input: Tensor, tensor1: Any, tensor2: Tensor, *others: Any, value: float = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``. Older programs write ``addcdiv(input, value, tensor1, tensor2)``."""
    tensor1, tensor2, value = _factor_last(tensor1, (tensor2, *others), value, 2, "addcdiv")
    return ops.addcdiv(input, tensor1, tensor2, value)


def addcmul(input: Tensor, tensor1: Any, tensor2: Tensor, *others: Any, value: float = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``. Older programs write ``addcmul(input, value, tensor1, tensor2)``."""
    tensor1, tensor2, value = _factor_last(tensor1, (tensor2, *others), value, 2, "addcmul")
    return ops.addcmul(input, tensor1, tensor2, _whole(value, (input, tensor1, tensor2), "addcmul"))


def argwhere(input: Tensor) -> Tensor:
    """The indices of the nonzero elements: a matrix with one row each."""
    if _arguments.tensor(input, "argwhere", "input").ndim:
        return ops.argwhere(input)
    return ops.zeros([int(bool(input.item())), 0], "int64")


def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """How many of the rising boundaries are below each element, or with ``right`` not above it."""
    found = ops.bucketize(_tensor(input), boundaries, right)
    return ops.cast(found, "int32") if out_int32 else found


def clamp_max(input: Tensor, max: Any) -> Tensor:
    """The smaller of ``input`` and ``max``, elementwise."""
    return ops.clamp(input, None, max)


def clamp_min(input: Tensor, min: Any) -> Tensor:
    """The larger of ``input`` and ``min``, elementwise."""
    return ops.clamp(input, min, None)


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


def cummax(input: Tensor, dim: int) -> ValuesAndIndices:
    """The cumulative maximum along an axis and its indices."""
    return return_types.cummax(*ops.cummax(input, dim))


def cummin(input: Tensor, dim: int) -> ValuesAndIndices:
    """The cumulative minimum along an axis and its indices."""
    return return_types.cummin(*ops.cummin(input, dim))


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


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    input, other = _arguments.tensor(input, "equal", "input"), _arguments.tensor(other, "equal", "other")
    if tuple(input.shape) != tuple(other.shape):
        return False
    equal = ops.equal(input, other)
    # A program is for one answer. Inside of vmap there is none.
    return _core.all_hold(equal) if _core.program_modes(tracing=True) is not None else bool(ops.all(equal))


def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Elements along an axis by their indices. The gradient is dense; ``sparse_grad`` changes nothing."""
    return ops.gather(input, dim, index)


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """``input`` with ``alpha * source`` added to its slices ``index`` along an axis."""
    input, source = _arguments.tensor(input, "index_add", "input"), _arguments.tensor(source, "index_add", "source")
    axis = _arguments.axis(dim, "index_add", max(input.ndim, 1))
    sizes, given = list(input.shape), list(source.shape)
    if sizes and (len(sizes) != len(given) or sizes[:axis] + sizes[axis + 1 :] != given[:axis] + given[axis + 1 :]):
        raise ShapeError(
            f"index_add: source tensor shape must match self tensor shape, excluding the specified dimension. Got "
            f"self.shape = {sizes} source.shape = {given}"
        )
    return ops.index_add(input, dim, index, source if alpha == 1 else source * alpha)


def index_put(input: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """The tensor with values written to, or with ``accumulate`` added to, the elements at a tuple of index tensors."""
    if isinstance(indices, (list, tuple)):
        indices = tuple(map(_mask, indices))
    return ops.index_put(input, indices, values, accumulate)


def _mask(index: Any) -> Any:
    """An index of dtype uint8 as a mask; any other as it is."""
    return ops.cast(index, "bool") if isinstance(index, Tensor) and index.dtype == "uint8" else index


@with_out
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is equal to one of ``test_elements``."""
    among = test_elements if isinstance(test_elements, Tensor) else ops.full([1], test_elements)
    found = ops.any(ops.equal(ops.expand_dims(_tensor(elements), -1), ops.reshape(among, [-1])), -1)
    return ops.logical_not(found) if invert else found


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else ops.full([], x)


def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1: the sign of each element; of truth values they themselves."""
    try:
        return ops.sign(input)
    except DtypeError:
        return ops.clone(input)


def sgn(input: Tensor) -> Tensor:
    """As :func:`sign`; of a complex number that of modulus 1 in its direction."""
    try:
        return ops.sgn(input)
    except DtypeError:
        return ops.clone(input)


def square(input: Tensor) -> Tensor:
    """The square of each element; of truth values an integer."""
    try:
        return ops.square(input)
    except DtypeError:
        return ops.square(_summed(input, "square"))


def sum_to_size(input: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """The sum down to a shape that broadcasts to the tensor's. Integers and truth values are summed in int64."""
    found = ops.sum_to_size(_summed(input, "sum_to_size"), _shape(sizes, size))
    return found if found.shape != input.shape else ops.cast(found, input.dtype)


def _summed(input: Tensor, function: str) -> Tensor:
    """The tensor in the dtype of its sums."""
    kind = _arguments.tensor(input, function, "input").dtype.kind
    return ops.cast(input, "int64") if kind in "iub" else input


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


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinate tensors of a grid. The first vector runs along axis 0, or with ``indexing="xy"`` along axis 1."""
    many = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    return tuple(ops.meshgrid(list(many), indexing))


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices."""
    for x, name in ((input, "input"), (mat2, "mat2")):
        if _arguments.tensor(x, "mm", name).ndim != 2:
            raise ShapeError(f"mm: {name} must be a matrix, got {x.ndim}-D tensor")
    return ops.matmul(input, mat2)


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the nonzero elements: a matrix with one row each, or a tuple with one vector per axis."""
    has_axes = _arguments.tensor(input, "nonzero", "input").ndim
    if not as_tuple:
        return argwhere(input)
    return tuple(ops.nonzero(input if has_axes else ops.reshape(input, [1])))


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first ``size`` rows of :func:`nonzero`; rows of ``fill_value`` follow if there are fewer."""
    found, size = argwhere(input), _arguments.integer(size, "nonzero_static", "size")
    if size < 0:
        raise ArgumentError(f"nonzero_static: size must not be negative, got {size}")
    missing = ops.full([max(size - found.shape[0], 0), found.shape[1]], fill_value, "int64")
    return ops.concat([found[:size], missing], 0)


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """The tensor with ``source`` written to, or with ``accumulate`` added to, positions in its flat form."""
    flat = ops.index_put(ops.reshape(input, [-1]), (index,), source, accumulate)
    return ops.reshape(flat, input.shape)


def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """``input`` with elements of ``src`` (or the number ``value``) written at indices along an axis.

    With ``reduce`` they are added ("add") to the elements that are there, or multiplied ("multiply") with them.
    """
    if (src is None) == (value is None):
        raise ArgumentError("scatter: either src or value is expected")
    src = value if src is None else src
    if reduce is None:
        return ops.scatter(input, dim, index, src)
    kinds = {"add": "sum", "multiply": "prod"}
    if reduce not in kinds:
        raise ArgumentError(f"scatter: reduce argument must be either add or multiply, got {reduce!r}")
    reduced: Tensor = ops.scatter_reduce(input, dim, index, src, kinds[reduce])
    return reduced


def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> ValuesAndIndices:
    """The elements sorted along an axis, and their indices before."""
    return return_types.sort(*ops.sort_with_index(input, dim, descending, stable))


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along an axis: all of one size (the last may be smaller), or of a list of sizes."""
    sizes = split_size_or_sections
    if isinstance(sizes, list | tuple) or (isinstance(sizes, _core.Tensor) and sizes.ndim):
        return tuple(ops.split_sizes(tensor, _arguments.integers(sizes, "split", "split_size_or_sections"), dim))
    return tuple(ops.split_every(tensor, operator.index(sizes), dim))


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """The tensor without its axes of size 1, or without those among ``dim``."""
    return ops.squeeze(input) if dim is None else ops.squeeze(input, _arguments.axes_of_size_one(input, "squeeze", dim))


def sub(input: Any, other: Any, *others: Any, alpha: float = 1) -> Tensor:
    """``input - alpha * other``. Older programs write ``sub(input, alpha, other)``."""
    other, alpha = _factor_last(other, others, alpha, 1, "sub")
    alpha = alpha if alpha == 1 else _whole(alpha, (input, other), "sub")
    return ops.sub(input, other if alpha == 1 else other * alpha)


subtract = specialize("subtract", "The same as :func:`sub`.", sub)


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """The singular value decomposition ``U diag(S) V.H``, with all columns unless ``some``.

    Without ``compute_uv`` ``U`` and ``V`` are zeros. ``linalg.svd`` gives the conjugate transpose of ``V`` instead.
    """
    if not compute_uv:
        values = ops.linalg.svdvals(input)
        batch, (m, n) = list(input.shape[:-2]), input.shape[-2:]
        return return_types.svd(ops.zeros([*batch, m, m], input.dtype), values, ops.zeros([*batch, n, n], input.dtype))
    u, s, vt = ops.linalg.svd(input, not some)
    return return_types.svd(u, s, ops.conj(ops.matrix_transpose(vt)))


def t(input: Tensor) -> Tensor:
    """The transpose of a matrix. Of a tensor with fewer axes, a view of it as it is."""
    if _arguments.tensor(input, "t", "input").ndim > 2:
        raise ArgumentError(f"t: expects a tensor with at most 2 axes, {list(input.shape)} has {input.ndim}")
    return ops.matrix_transpose(input) if input.ndim == 2 else ops.transpose(input)


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> ValuesAndIndices:
    """The ``k`` largest (or smallest) elements along an axis and their indices."""
    return return_types.topk(*ops.topk(input, k, dim, largest, sorted))


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two axes swapped."""
    return ops.swapaxes(input, dim0, dim1)


swapdims = specialize("swapdims", "Two axes swapped.", transpose)


def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two axes swapped."""
    return ops.swapaxes(input, axis0, axis1)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis."""
    return tuple(ops.unbind(input, dim))


def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """The same as ``chunk``."""
    return tuple(ops.chunk(input, chunks, dim))


def unsafe_split(tensor: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """The same as ``split``."""
    return split(tensor, split_size, dim)


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The frequencies of short parts of signals. Real signals need ``return_complex``, as in torch."""
    if align_to_window:
        raise ArgumentError("stft: align_to_window is not taken")
    if return_complex is None:
        _arguments.tensor(input, "stft", "input")
        if not any(isinstance(x, Tensor) and x.is_complex() for x in (input, window)):
            raise ArgumentError("stft requires the return_complex parameter be given for real inputs")
        return_complex = True
    return ops.stft(
        input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex
    )


def repeat(input: Tensor, *sizes: Any, repeats: Any = None) -> Tensor:
    """The tensor repeated along each axis as often as ``repeats`` says, which may be given as several numbers."""
    repeats = sizes if repeats is None else (repeats,)
    times = repeats[0] if len(repeats) == 1 and not isinstance(repeats[0], int) else repeats
    return ops.tile(input, times)
