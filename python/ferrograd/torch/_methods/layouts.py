"""torch's names for the order of elements in memory, and the methods that take them."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, TorchTensor, torch as ops
from ferrograd._functions.casts import real_part
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.adapters import add_methods
from ferrograd.torch._base.answers import accept_synonyms
from ferrograd.torch._base.formats import ORDERS
from ferrograd.torch._base.meta import asks_for_meta, like

__all__ = [
    "channels_last",
    "channels_last_3d",
    "clone",
    "contiguous_format",
    "layout",
    "legacy_contiguous_format",
    "memory_format",
    "preserve_format",
    "sparse_bsc",
    "sparse_bsr",
    "sparse_coo",
    "sparse_csc",
    "sparse_csr",
    "strided",
]


class _Named:
    """A name of torch's that prints itself."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class memory_format(_Named):
    """An order of the elements in memory."""


class layout(_Named):
    """A way to store a tensor: all elements, by strides."""


contiguous_format = memory_format("contiguous_format")
#: PyTorch's name for the layout that programs asked for before there were others.
legacy_contiguous_format = contiguous_format
preserve_format = memory_format("preserve_format")
#: The channels of images, which are axis 1 of 4, next to each other in memory.
channels_last = memory_format("channels_last")
#: The channels of volumes, which are axis 1 of 5, next to each other in memory.
channels_last_3d = memory_format("channels_last_3d")
strided = layout("strided")
# No tensor has these layouts: programs compare the layouts of tensors with them.
sparse_coo, sparse_csr, sparse_csc = layout("sparse_coo"), layout("sparse_csr"), layout("sparse_csc")
sparse_bsr, sparse_bsc = layout("sparse_bsr"), layout("sparse_bsc")

_core: Any = TorchTensor
_contiguous, _is_contiguous, _clone, _to = _core.contiguous, _core.is_contiguous, _core.clone, _core.to
_cpu = _core.cpu


def _order(x: Any, memory_format: Any) -> tuple[int, ...] | None:
    """The order of the axes in memory that a format wants; None where it wants the one that is there."""
    if memory_format is None or memory_format is preserve_format:
        return None
    if memory_format is contiguous_format:
        return tuple(range(x.ndim))
    order = ORDERS.get(getattr(memory_format, "name", ""))
    if order is None:
        raise ArgumentError(f"{memory_format!r:.60} is no memory format")
    if x.ndim != len(order):
        raise ArgumentError(f"required rank {len(order)} tensor to use {memory_format.name} format")
    return order


def _lies_in(x: Any, order: tuple[int, ...]) -> bool:
    """Whether the elements lie without gaps in an order of the axes."""
    strides, step = x.stride(), 1
    for axis in reversed(order):
        if x.shape[axis] != 1 and strides[axis] != step:
            return not x.numel()
        step *= x.shape[axis]
    return True


def _formatted(x: Any, found: Any, memory_format: Any) -> Any:
    """The result for a tensor, in a format. The tensor itself has the format that PyTorch tells by its strides."""
    order = _order(found, memory_format)
    if order is None:
        return found
    if found is not x:
        return found.contiguous(memory_format)
    return x if x._has_channels_last() == (memory_format is not contiguous_format) else x._clone_in_order(order)


@accept_synonyms
def clone(input: Any, *, memory_format: Any = None) -> Any:
    """A copy, through which the gradient flows. The format names the order in memory: by default that of the tensor."""
    x = _arguments.tensor(input, "clone", "input")
    order = _order(x, memory_format)
    return _clone(x) if order is None else x._clone_in_order(order)


class Methods:
    """Methods of torch's tensor class."""

    def contiguous(self: Any, memory_format: Any = None) -> Any:
        """The tensor itself if its elements have this order in memory, else a copy in which they have.

        Raises:
            ArgumentError: ``torch.preserve_format``, which names no order.
        """
        if memory_format is None or memory_format is contiguous_format:
            return _contiguous(self)
        order = _order(self, memory_format)
        if order is None:
            raise ArgumentError("preserve memory format is unsupported by the contiguous operator")
        return self if _lies_in(self, order) else self._clone_in_order(order)

    def is_contiguous(self: Any, memory_format: Any = None) -> bool:
        """Whether the elements have this order in memory without gaps."""
        if memory_format is None or memory_format is contiguous_format:
            return bool(_is_contiguous(self))
        order = ORDERS.get(getattr(memory_format, "name", ""))
        if order is None:
            raise ArgumentError(f"is_contiguous: {memory_format!r:.60} names no order in memory")
        return self.ndim == len(order) and _lies_in(self, order)

    clone = clone

    def cpu(self: Any, memory_format: Any = None) -> Any:
        """The tensor itself, or one whose elements have this order in memory: the CPU is the only device."""
        return _formatted(self, _cpu(self), memory_format)

    def to(self: Any, *args: Any, memory_format: Any = None, **kwargs: Any) -> Any:
        """The tensor cast to a dtype, or to that of another tensor; copied if asked for. On ``"meta"`` it has none.

        The format names the order of a copy in memory: by default that of the tensor. Of complex numbers a real dtype
        gets the real part, with a warning.
        """
        if self.dtype.kind == "c" and _to(ops.zeros([], "bool"), *args, **kwargs).dtype.kind not in "bc":
            self = real_part(self)
        try:
            found = _to(self, *args, **kwargs)
        except ArgumentError:
            if not asks_for_meta(args, kwargs):
                raise
            return like(self).to(*args, **kwargs)
        return found if memory_format is None else _formatted(self, found, memory_format)

    @property
    def layout(self) -> layout:
        """``torch.strided``: all elements are stored, by strides."""
        return strided


add_methods(TorchTensor, Methods)
