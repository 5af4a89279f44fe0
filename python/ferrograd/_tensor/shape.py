"""The classes of ``Tensor.shape``: tuples, in Paddle lists, that compare and join with both."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from functools import partial
from typing import Any, SupportsIndex, overload


class Size(tuple[int, ...]):
    """The sizes of a tensor's axes: a tuple that equals a list of the same numbers and concatenates with lists.

    >>> import ferrograd as fg
    >>> shape = fg.zeros([2, 3]).shape
    >>> shape == (2, 3), shape == [2, 3], [1] + shape, shape + [4], shape[1:]
    (True, True, (1, 2, 3), (2, 3, 4), (3,))
    """

    __slots__ = ()
    _prefix = ""

    def __eq__(self, other: object) -> bool:
        """Equal to a tuple or a list of the same numbers."""
        return tuple.__eq__(self, tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        """Not equal."""
        return not self == other

    __hash__ = tuple.__hash__

    def __add__(self, other: Iterable[int]) -> Size:  # type: ignore[override]
        """The sizes followed by others."""
        if not isinstance(other, (tuple, list)):
            return NotImplemented
        return type(self)(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Iterable[int]) -> Size:
        """Other sizes followed by these."""
        if not isinstance(other, (tuple, list)):
            return NotImplemented
        return type(self)((*other, *self))

    def __mul__(self, n: SupportsIndex) -> Size:
        """The sizes repeated."""
        return tuple.__new__(type(self), tuple.__mul__(self, n))

    __rmul__ = __mul__

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, key: slice[Any, Any, Any], /) -> Size: ...
    def __getitem__(self, key: Any, /) -> Any:
        """One size, or a slice of them."""
        part = tuple.__getitem__(self, key)
        return tuple.__new__(type(self), part) if isinstance(key, slice) else part

    def __repr__(self) -> str:
        """The text of a tuple, or of the dialect's own class."""
        return f"{self._prefix}({list(self)})" if self._prefix else tuple.__repr__(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """The class and the numbers."""
        return type(self), (tuple(self),)

    def numel(self) -> int:
        """The number of elements of a tensor with this shape."""
        n = 1
        for d in self:
            n *= d
        return n


class PaddleSize(list[int]):
    """The shape of a tensor of the Paddle dialect: a list of its own, which equals a tuple of the same numbers.

    >>> import ferrograd.paddle as paddle
    >>> shape = paddle.zeros([2, 3]).shape
    >>> shape[0] = -1
    >>> shape, shape == (-1, 3), (1,) + shape
    (paddle.Size([-1, 3]), True, paddle.Size([1, -1, 3]))
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Equal to a list or a tuple of the same numbers."""
        return list.__eq__(self, list(other) if isinstance(other, tuple) else other)

    def __ne__(self, other: object) -> bool:
        """Not equal."""
        return not self == other

    __hash__ = None

    def __add__(self, other: Iterable[int]) -> PaddleSize:  # type: ignore[override]
        """The sizes followed by others."""
        return PaddleSize([*self, *other]) if isinstance(other, (tuple, list)) else NotImplemented

    def __radd__(self, other: Iterable[int]) -> PaddleSize:
        """Other sizes followed by these."""
        return PaddleSize([*other, *self]) if isinstance(other, (tuple, list)) else NotImplemented

    def __mul__(self, n: SupportsIndex) -> PaddleSize:
        """The sizes repeated."""
        return PaddleSize(list.__mul__(self, n))

    __rmul__ = __mul__

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, key: slice[Any, Any, Any], /) -> PaddleSize: ...
    def __getitem__(self, key: Any, /) -> Any:
        """One size, or a slice of them."""
        part = list.__getitem__(self, key)
        return PaddleSize(part) if isinstance(key, slice) else part

    def __repr__(self) -> str:
        """Paddle's text."""
        return f"paddle.Size({list(self)})"

    def numel(self) -> int:
        """The number of elements of a tensor with this shape."""
        return math.prod(self)


class TorchSize(Size):
    """The shape of a tensor of the torch dialect: integers, which it makes of tensors and arrays that are integers."""

    __slots__ = ()
    _prefix = "torch.Size"

    def __new__(cls, sizes: Iterable[SupportsIndex] = ()) -> TorchSize:
        """The sizes as integers.

        Raises:
            TypeError: one of them is no integer.
        """
        made = tuple.__new__(cls, sizes)
        if set(map(type, made)) <= {int}:
            return made
        whole = []
        for i, n in enumerate(made):
            try:
                whole.append(int(operator.index(n)))
            except TypeError:
                text = f"torch.Size() takes an iterable of 'int' (item {i} is '{type(n).__name__}')"
                raise TypeError(text) from None
        return tuple.__new__(cls, whole)


#: What makes a shape of sizes that are integers, by dialects.
SIZES = (Size, PaddleSize, partial(tuple.__new__, TorchSize))


class SizeMethod:
    """``x.size`` of the torch dialect: ``x.size()`` is the shape, ``x.size(dim)`` the size of one axis."""

    __slots__ = ("_shape",)

    def __init__(self, shape: Size) -> None:
        self._shape = shape

    def __call__(self, dim: int | None = None) -> int | Size:
        """The shape, or the size of one axis."""
        if dim is None:
            return self._shape
        try:
            return self._shape[dim]
        except IndexError:
            n = len(self._shape)
            text = f"size: Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
            raise IndexError(text) from None
