"""torch's names for the order of elements in memory, and the methods that take them."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, TorchTensor, torch as ops
from ferrograd._functions.casts import real_part
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.adapters import add_methods
from ferrograd.torch._base.answers import accept_synonyms
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
#: PyTorch's name for what programs wanted before there were other formats.
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

#: The order of the axes in memory.
_ORDERS = {"channels_last": (0, 2, 3, 1), "channels_last_3d": (0, 2, 3, 4, 1)}

_core: Any = TorchTensor
_contiguous, _is_contiguous, _clone, _to = _core.contiguous, _core.is_contiguous, _core.clone, _core.to
_cpu = _core.cpu


def _order(x: Any, memory_format: Any) -> tuple[int, ...] | None:
    """The order of the axes in memory that a format wants; None for the order of the axes."""
    if memory_format is None or memory_format is contiguous_format or memory_format is preserve_format:
        return None
    order = _ORDERS.get(getattr(memory_format, "name", ""))
    if order is None:
        raise ArgumentError(f"{memory_format!r:.60} is no memory format")
    if x.ndim != len(order):
        raise ArgumentError(f"required rank {len(order)} tensor to use {memory_format.name} format")
    return order


@accept_synonyms
def clone(input: Any, *, memory_format: Any = None) -> Any:
    """A copy, through which the gradient flows."""
    x = _arguments.tensor(input, "clone", "input")
    return _clone(x) if _order(x, memory_format) is None else x.contiguous(memory_format).clone()


class Methods:
    """Methods of torch's tensor class."""

    def contiguous(self: Any, memory_format: Any = None) -> Any:
        """The tensor itself if its elements have this order in memory, else a copy in which they have."""
        order = _order(self, memory_format)
        if order is None:
            return _contiguous(self)
        back = [order.index(i) for i in range(len(order))]
        return ops.permute(_contiguous(ops.permute(self, order)), back)

    def is_contiguous(self: Any, memory_format: Any = None) -> bool:
        """Whether the elements have this order in memory without gaps."""
        order = _order(self, memory_format)
        return bool(_is_contiguous(self if order is None else ops.permute(self.detach(), order)))

    clone = clone

    def cpu(self: Any, memory_format: Any = None) -> Any:
        """The tensor itself, or one whose elements have this order in memory: the CPU is the only device."""
        found = _cpu(self)
        return found if _order(found, memory_format) is None else found.contiguous(memory_format)

    def to(self: Any, *args: Any, memory_format: Any = None, **kwargs: Any) -> Any:
        """The tensor cast to a dtype, or to that of another tensor; copied if asked for. On ``"meta"`` it has none.

        Of complex numbers a real dtype gets the real part, with a warning.
        """
        if self.dtype.kind == "c" and _to(ops.zeros([], "bool"), *args, **kwargs).dtype.kind not in "bc":
            self = real_part(self)
        try:
            found = _to(self, *args, **kwargs)
        except ArgumentError:
            if not asks_for_meta(args, kwargs):
                raise
            return like(self).to(*args, **kwargs)
        return found if _order(found, memory_format) is None else found.contiguous(memory_format)

    @property
    def layout(self) -> layout:
        """``torch.strided``: all elements are stored, by strides."""
        return strided


add_methods(TorchTensor, Methods)
