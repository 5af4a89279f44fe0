"""torch's functions on shapes that the core does not have. Each is a tensor method too."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, DtypeError, IndexOutOfRange, ShapeError, torch as ops
from ferrograd._functions.shapes import windows
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.parts import part_of
from ferrograd._kit.specialize import specialize
from ferrograd._tensor.shape import TorchSize
from ferrograd.torch._tensor import Tensor

__all__ = [
    "adjoint",
    "as_strided",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "conj",
    "constant_pad_nd",
    "dsplit",
    "hsplit",
    "meshgrid",
    "repeat",
    "repeat_interleave",
    "resolve_conj",
    "resolve_neg",
    "roll",
    "split",
    "squeeze",
    "swapaxes",
    "swapdims",
    "t",
    "take_along_dim",
    "tensor_split",
    "transpose",
    "unbind",
    "unfold",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "view",
    "view_as",
    "view_as_complex",
    "view_as_real",
    "vsplit",
]


def _each(f: Any, tensors: tuple[Any, ...], name: str) -> Any:
    """``f`` of a single tensor, or the tuple of ``f`` of each of several."""
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return f(tensors[0])
    many = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return tuple(f(_arguments.tensor(x, name, f"argument {i}")) for i, x in enumerate(many))


def atleast_1d(*tensors: Any) -> Any:
    """The tensor with at least one axis; a tuple for several tensors."""
    return _each(lambda x: x if x.ndim else ops.reshape(x, [1]), tensors, "atleast_1d")


def atleast_2d(*tensors: Any) -> Any:
    """The tensor with at least two axes, new ones in front; a tuple for several tensors."""
    return _each(lambda x: x if x.ndim > 1 else ops.reshape(x, [1, -1]), tensors, "atleast_2d")


def atleast_3d(*tensors: Any) -> Any:
    """The tensor with at least three axes; a vector of n elements becomes [1, n, 1]. A tuple for several tensors."""

    def one(x: Tensor) -> Tensor:
        if x.ndim > 2:
            return x
        shape = list(x.shape)
        return ops.reshape(x, [1, *shape, 1] if x.ndim == 1 else shape + [1] * (3 - x.ndim) if x.ndim else [1, 1, 1])

    return _each(one, tensors, "atleast_3d")


def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with matrices along its diagonal, and zeros elsewhere. Of none it has one row without elements."""
    return ops.block_diag(tensors)


def broadcast_shapes(*shapes: Any) -> TorchSize:
    """The shape that these shapes, or sizes of one axis, broadcast to.

    Raises:
        ShapeError: two shapes have different sizes at an axis, none of them 1, or a size is negative.
        TypeError: a size is no integer.
    """
    read = [TorchSize(shape if isinstance(shape, (tuple, list)) else [shape]) for shape in shapes]
    common = [1] * max(map(len, read), default=0)
    for i, shape in enumerate(read):
        for at in range(-1, -1 - len(shape), -1):
            if shape[at] < 0:
                raise ShapeError("broadcast_shapes: Attempting to broadcast a dimension with negative length!")
            if common[at] == 1:
                common[at] = shape[at]
            elif shape[at] not in (1, common[at]):
                raise ShapeError(
                    "broadcast_shapes: Shape mismatch: objects cannot be broadcast to a single shape. "
                    f"Attempting to broadcast a dimension of length {shape[at]} at {at}! Mismatching argument at "
                    f"index {i} had {tuple(shape)}; but expected shape should be broadcastable to {common}"
                )
    return TorchSize(common)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors in the shape that they broadcast to, as views. One that has the shape is returned itself.

    Raises:
        ShapeError: the tensors have no common shape.

    >>> import ferrograd.torch as torch
    >>> [tuple(x.shape) for x in torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))]
    [(2, 3), (2, 3)]
    """
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors
    many = [_arguments.tensor(x, "broadcast_tensors", f"argument {i}") for i, x in enumerate(given)]
    pairs = zip(many, ops.broadcast_tensors(*many), strict=True)
    return tuple(x if x.shape == wide.shape else ops.broadcast_to(x, wide.shape) for x, wide in pairs)


def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose: the last two axes swapped, and complex numbers conjugated. A view of real numbers."""
    turned = ops.matrix_transpose(input)
    return ops.conj(turned) if turned.dtype.kind == "c" else turned


def _is_contiguous(x: Tensor) -> bool:
    """Whether the elements are contiguous in C order."""
    step = 1
    for size, stride in zip(reversed(x.shape), reversed(x.strides), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the memory of ``input`` with this shape and these strides, counted in elements.

    It starts at the first element of ``input``, or at ``storage_offset`` in the whole memory. Gradients of elements
    that are read twice add up. If the view leaves ``input``, it is a view of the tensor that ``input`` views, and
    gradients flow to that tensor.

    Raises:
        IndexOutOfRange: the strides leave the memory.

    >>> import ferrograd.torch as torch
    >>> x = torch.arange(6).reshape(2, 3)
    >>> x.T.as_strided((2, 2), (1, 2)).tolist(), x[1].as_strided((2,), (1,)).tolist()
    ([[0, 2], [1, 3]], [3, 4])
    """
    start = _arguments.tensor(input, "as_strided", "input").storage_offset()
    offset = start if storage_offset is None else _arguments.integer(storage_offset, "as_strided", "storage_offset")
    base = input._base
    if _is_contiguous(input):
        try:
            return ops.as_strided(input, size, stride, offset - start)
        except IndexOutOfRange:
            if base is None:
                raise
    tracked = input.requires_grad and _core.is_grad_enabled()
    if base is None or not _is_contiguous(base) or tracked > base.requires_grad:
        base = input._memory()
    if tracked > base.requires_grad:
        # Only the view is tracked, so its elements are taken from it.
        place = start - base.storage_offset()
        base = ops.as_strided_scatter(base, input, list(input.shape), input.stride(), place)
        return ops.as_strided(base, size, stride, offset)
    return ops.as_strided(base, size, stride, offset - base.storage_offset())


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: a conjugate is computed where it is asked for, not kept for later."""
    return _arguments.tensor(input, "resolve_conj", "input")


def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: see :func:`resolve_conj`."""
    return _arguments.tensor(input, "resolve_neg", "input")


def conj(input: Tensor) -> Tensor:
    """The complex conjugate of each element; a real tensor itself."""
    x = _arguments.tensor(input, "conj", "input")
    return ops.conj(x) if x.dtype.kind == "c" else x


def _split(name: str, input: Tensor, parts: Any, axis: int, least: int) -> tuple[Tensor, ...]:
    if _arguments.tensor(input, name, "input").ndim < least:
        raise ShapeError(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with "
            f"{input.ndim} dimensions"
        )
    if isinstance(parts, int) and (parts < 1 or input.shape[axis] % parts):
        raise ShapeError(
            f"torch.{name} attempted to split along dimension {axis}, but the size of the dimension "
            f"{input.shape[axis]} is not divisible by the split_size {parts}!"
        )
    return tuple(ops.tensor_split(input, parts, axis))


def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along axis 1 (axis 0 of a vector): a number of equal ones, or the parts between indices."""
    axis = min(_arguments.tensor(input, "hsplit", "input").ndim, 2) - 1
    return _split("hsplit", input, indices_or_sections, axis, 1)


def view(input: Tensor, *shape: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """A view of the same memory with another shape, in which one size may be -1, or with another dtype.

    With a dtype the bytes of an untracked tensor are read as its numbers. If these are larger or smaller, the last axis
    has fewer or more of them.

    Raises:
        ShapeError: another number of elements, or elements that lie in memory so that only ``reshape`` can copy them;
            bytes that make up no numbers of the dtype.
        DtypeError: another dtype for a tensor that requires grad, while ops are recorded. Bytes have no gradient.

    >>> import ferrograd.torch as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> x.view(torch.int32)[0] = 0
    >>> x.tolist()
    [0.0, 2.0]
    """
    x: Any = _arguments.tensor(input, "view", "input")
    shape = shape if size is None else (size,)
    if len(shape) == 1 and not isinstance(shape[0], (int, list, tuple)) and hasattr(shape[0], "itemsize"):
        dtype = shape[0]
    if dtype is not None:
        if x.dtype == dtype:
            return view(x, list(x.shape))
        if x.requires_grad and _core.is_grad_enabled():
            raise DtypeError(
                "view: the bytes of a tensor that requires grad have no gradient; to(dtype) converts the numbers, and "
                "x.detach().view(dtype) reads the bytes"
            )
        read: Tensor | None = x.detach()._reread(dtype)
        if read is None:
            raise ShapeError(
                f"view: elements of shape {list(x.shape)} with the strides {list(x.stride())} make up none of {dtype}: "
                "the last axis has to be contiguous, and its bytes, the other strides and the offset multiples of its "
                "size"
            )
        return read
    found: Tensor = ops.reshape(x, list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else list(shape))
    if not x.is_contiguous() and not _can_view(x, found.shape):
        raise ShapeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return found


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """A view of the same memory with the shape of another tensor."""
    return view(input, list(_arguments.tensor(other, "view_as", "other").shape))


def view_as_real(input: Tensor) -> Tensor:
    """The parts of complex numbers along a new last axis of two. A write to them is one to the tensor.

    >>> import ferrograd.torch as torch
    >>> x = torch.tensor([1 + 2j])
    >>> torch.view_as_real(x)[0, 1] = 5.0
    >>> x.tolist()
    [(1+5j)]
    """
    x: Any = _arguments.tensor(input, "view_as_real", "input")
    kind = {"complex64": "float32", "complex128": "float64"}.get(x.dtype.name)
    read = _in_place(x, lambda x: x.unsqueeze(-1), kind)
    if read is not None:
        return read
    return part_of(x, ops.view_as_real(x), view_as_real, lambda part, _: ops.view_as_complex(part))


def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of floats along the last axis as complex numbers. A write to them is one to the tensor.

    >>> import ferrograd.torch as torch
    >>> x = torch.tensor([[1.0, 2.0]])
    >>> torch.view_as_complex(x)[0] = 3j
    >>> x.tolist()
    [[0.0, 3.0]]
    """
    x: Any = _arguments.tensor(input, "view_as_complex", "input")
    kind = {"float32": "complex64", "float64": "complex128"}.get(x.dtype.name)
    read = _in_place(x, lambda x: x, kind if x.ndim and x.shape[-1] == 2 else None)
    if read is None:
        return part_of(x, ops.view_as_complex(x), view_as_complex, lambda part, _: ops.view_as_real(part))
    return read.squeeze(-1)


def _in_place(x: Any, shaped: Callable[[Any], Any], kind: str | None) -> Any:
    """The memory of a tensor as numbers of another dtype; None if that is recorded, or has to be copied."""
    if kind is None or (x.requires_grad and _core.is_grad_enabled()) or _core.batches([x]):
        return None
    return shaped(x.detach())._reread(kind)


def _can_view(x: Any, shape: Any) -> bool:
    """Whether a tensor of a shape can have the elements of ``x`` in their memory."""
    if 0 in shape:
        return True
    sizes = [int(n) for n in shape]
    # Runs of axes of ``x`` that lie in memory like one, from the last; each is cut into whole axes of the shape.
    run = 1
    axes = [(n, s) for n, s in zip(x.shape, x.stride(), strict=True) if n != 1]
    for i in reversed(range(len(axes))):
        run *= axes[i][0]
        if i and axes[i - 1][1] == axes[i][0] * axes[i][1]:
            continue
        while run > 1 and sizes:
            last = sizes.pop()
            if run % last:
                return False
            run //= last
        if run > 1:
            return False
    return all(n == 1 for n in sizes)


def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along axis 0 of a tensor with at least two axes. See :func:`hsplit`."""
    return _split("vsplit", input, indices_or_sections, 0, 2)


def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along axis 2. See :func:`hsplit`."""
    return _split("dsplit", input, indices_or_sections, 2, 3)


def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """The elements moved by ``shifts`` places along ``dims``; those beyond the end come in at the start.

    A single shift without ``dims`` moves all elements in C order.

    Raises:
        ArgumentError: there is no shift, or not one for each of ``dims``.

    >>> import ferrograd.torch as torch
    >>> x = torch.tensor([[1, 2], [3, 4]])
    >>> torch.roll(x, 1).tolist(), torch.roll(x, 1, 0).tolist()
    ([[4, 1], [2, 3]], [[3, 4], [1, 2]])
    """
    by, along = (list(v) if isinstance(v, list | tuple) else [v] for v in (shifts, () if dims is None else dims))
    if not by:
        raise ArgumentError("roll: `shifts` required")
    if len(by) != len(along) and (along or len(by) > 1):
        raise ArgumentError(f"roll: shifts and dimensions must align. shifts: {len(by)}, dims:{len(along)}")
    return ops.roll(input, by, along or None)


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Elements by their indices along an axis, or in the flat tensor. The other axes broadcast."""
    if dim is None:
        indices = ops.reshape(indices, [-1])
    return ops.take_along_axis(input, indices, dim)


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """A number of parts along an axis, or the parts between indices.

    If the size is not divisible by the number, the first parts are longer by one. The number or the indices may be an
    int64 tensor.
    """
    _arguments.tensor(input, "tensor_split", "input")
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.dtype != np.int64 or indices_or_sections.ndim > 1:
            raise ArgumentError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor "
                f"of dtype int64, but got {indices_or_sections.ndim} dimensions of dtype {indices_or_sections.dtype}"
            )
        indices_or_sections = indices_or_sections.tolist()
    return ops.tensor_split(input, indices_or_sections, dim)


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """A view of all windows of ``size`` elements along an axis, ``step`` apart. The last axis runs inside a window.

    >>> import ferrograd.torch as torch
    >>> torch.arange(5).unfold(0, 2, 2).tolist()
    [[0, 1], [2, 3]]
    """
    return windows(input, dimension, size, step)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinate tensors of a grid. The first vector runs along axis 0, or with ``indexing="xy"`` along axis 1."""
    many = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    return tuple(ops.meshgrid(list(many), indexing))


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along an axis: all of one size (the last may be smaller), or of a list of sizes."""
    sizes = split_size_or_sections
    if isinstance(sizes, list | tuple) or (isinstance(sizes, _core.Tensor) and sizes.ndim):
        return tuple(ops.split_sizes(tensor, _arguments.integers(sizes, "split", "split_size_or_sections"), dim))
    return tuple(ops.split_every(tensor, operator.index(sizes), dim))


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """The tensor without its axes of size 1, or without those among ``dim``."""
    return ops.squeeze(input) if dim is None else ops.squeeze(input, _arguments.axes_of_size_one(input, "squeeze", dim))


def t(input: Tensor) -> Tensor:
    """The transpose of a matrix. A tensor with fewer axes gives a view of itself."""
    if _arguments.tensor(input, "t", "input").ndim > 2:
        raise ArgumentError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return ops.matrix_transpose(input) if input.ndim == 2 else ops.transpose(input)


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


def repeat(input: Tensor, *sizes: Any, repeats: Any = None) -> Tensor:
    """The tensor repeated along each axis as often as ``repeats`` says, which may be given as several numbers.

    Raises ``ShapeError`` where there are fewer numbers than axes; :func:`tile` takes these.
    """
    repeats = sizes if repeats is None else (repeats,)
    times = repeats[0] if len(repeats) == 1 and not isinstance(repeats[0], int) else repeats
    if isinstance(times, tuple | list) and len(times) < _arguments.tensor(input, "repeat", "input").ndim:
        raise ShapeError(
            f"repeat: Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: "
            f"{len(times)} numbers for the shape {list(input.shape)}"
        )
    return ops.tile(input, times)


def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    """``input`` with ``value`` before and after its last axes. ``pad`` has a pair for each, from the last axis on."""
    input, pairs = _arguments.tensor(input, "constant_pad_nd", "input"), _arguments.pairs(pad, "constant_pad_nd", "pad")
    return ops.pad(input, [(0, 0)] * (input.ndim - len(pairs)) + pairs[::-1], "constant", value)


def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, output_size: int | None = None
) -> Tensor:
    """The elements, each repeated. ``output_size`` is checked against the size that the counts give."""
    if repeats is None:
        counts = _arguments.tensor(input, "repeat_interleave", "input")
        if counts.ndim != 1:
            raise ShapeError(f"repeat_interleave: without an input the counts are a vector, got {list(counts.shape)}")
        input, repeats, dim = ops.arange(counts.shape[0]), counts, 0
    found = ops.repeat_interleave(input, repeats, dim)
    size = found.shape[0 if dim is None else dim]
    if output_size is not None and output_size != size:
        raise ShapeError(f"repeat_interleave: Invalid output_size, expected {size} but got {output_size}")
    return found


def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """The same as ``split_with_sizes``."""
    name = "unsafe_split_with_sizes"
    sizes = _arguments.integers(split_sizes, name, "split_sizes")
    return split(_arguments.tensor(input, name, "input"), sizes, dim)
