"""Vector spaces: what can be added and scaled, as a program's own rules of gradients use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from ferrograd._core import Tensor, native as ops
from ferrograd._kit import tree as _tree


class VSpace:
    """A vector space that values lie in. ``vspace(value)`` finds the one of a value by its type.

    A class derived from it defines ``zeros``, ``_add``, ``_scalar_mul`` and what else it has, and is registered for a
    type of values.
    """

    mappings: ClassVar[dict[type, Callable[[Any], VSpace]]] = {}
    iscomplex = False

    def __init__(self, value: Any) -> None:
        pass

    @classmethod
    def register(cls, value_type: type, vspace_maker: Callable[[Any], VSpace] | None = None) -> None:
        """Makes this the space of values of a type."""
        VSpace.mappings[value_type] = vspace_maker or cls

    def zeros(self) -> Any:
        """The zero of the space."""
        raise NotImplementedError(f"{self!r} has no zeros")

    def ones(self) -> Any:
        """The sum of the standard basis."""
        raise NotImplementedError(f"{self!r} has no ones")

    def standard_basis(self) -> Iterator[Any]:
        """The vectors of an orthonormal basis."""
        raise NotImplementedError(f"{self!r} has no standard_basis")

    def randn(self) -> Any:
        """A random vector."""
        raise NotImplementedError(f"{self!r} has no randn")

    def add(self, x_prev: Any, x_new: Any) -> Any:
        """The sum of two vectors."""
        return self._add(x_prev, x_new)

    def mut_add(self, x_prev: Any, x_new: Any) -> Any:
        """The sum of two vectors, of which the first may be written to; None stands for zero."""
        return self._mut_add(self.zeros() if x_prev is None else x_prev, x_new)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """The vector times a number."""
        return self._scalar_mul(x, a)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """The inner product of two vectors, a real number."""
        return self._inner_prod(x, y)

    def covector(self, x: Any) -> Any:
        """The vector as a linear function: the conjugate of complex numbers."""
        return self._covector(x)

    def _add(self, x: Any, y: Any) -> Any:
        return x + y

    def _mut_add(self, x: Any, y: Any) -> Any:
        return self._add(x, y)

    def _scalar_mul(self, x: Any, a: Any) -> Any:
        return x * a

    def _inner_prod(self, x: Any, y: Any) -> Any:
        raise NotImplementedError(f"{self!r} has no inner product")

    def _covector(self, x: Any) -> Any:
        return x

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}_{vars(self)}"


class ArrayVSpace(VSpace):
    """Arrays of floats of one shape and dtype. Numbers are arrays without axes."""

    def __init__(self, value: Any) -> None:
        found = value if isinstance(value, Tensor) else np.asarray(value)
        self.shape = tuple(found.shape)
        self.dtype = found.dtype

    @property
    def size(self) -> int:
        """The number of elements; a complex one counts twice."""
        return int(np.prod(self.shape))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def zeros(self) -> Any:
        return np.zeros(self.shape, self.dtype)

    def ones(self) -> Any:
        return np.ones(self.shape, self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        for at in np.ndindex(*self.shape):
            for part in (1.0, 1.0j) if self.iscomplex else (1.0,):
                unit = np.zeros(self.shape, self.dtype)
                unit[at] = part
                yield unit

    def randn(self) -> Any:
        return np.array(np.random.randn(*self.shape)).astype(self.dtype)

    def _inner_prod(self, x: Any, y: Any) -> Any:
        return ops.sum(x * y) if isinstance(x, Tensor) or isinstance(y, Tensor) else np.sum(x * y)


class ComplexArrayVSpace(ArrayVSpace):
    """Arrays of complex numbers of one shape and dtype, as a space over the reals."""

    iscomplex = True

    @property
    def size(self) -> int:
        return 2 * int(np.prod(self.shape))

    def ones(self) -> Any:
        return np.full(self.shape, 1.0 + 1.0j, self.dtype)

    def randn(self) -> Any:
        return super().randn() + 1.0j * super().randn()

    def _inner_prod(self, x: Any, y: Any) -> Any:
        product = super()._inner_prod(np.conj(x), y)
        return ops.real(product) if isinstance(product, Tensor) else np.real(product)

    def _covector(self, x: Any) -> Any:
        return np.conj(x)


class ContainerVSpace(VSpace):
    """Lists, tuples and dicts whose parts are vectors. ``shape`` has the space of each part at its place."""

    def __init__(self, value: Any) -> None:
        self.shape = _tree.mapped(vspace, value)

    @property
    def spaces(self) -> list[VSpace]:
        """The spaces of the parts."""
        return _tree.leaves(self.shape)

    @property
    def size(self) -> int:
        """The sum of the sizes of the parts."""
        return sum(space.size for space in self.spaces)  # type: ignore[attr-defined]

    def _map(self, f: Callable[..., Any], *vectors: Any) -> Any:
        columns = [_tree.matched(v, self.shape, "vspace") for v in vectors]
        return _tree.rebuilt(self.shape, map(f, self.spaces, *columns))

    def zeros(self) -> Any:
        return self._map(lambda space: space.zeros())

    def ones(self) -> Any:
        return self._map(lambda space: space.ones())

    def randn(self) -> Any:
        return self._map(lambda space: space.randn())

    def standard_basis(self) -> Iterator[Any]:
        zeros = [space.zeros() for space in self.spaces]
        for i, space in enumerate(self.spaces):
            for unit in space.standard_basis():
                yield _tree.rebuilt(self.shape, iter([*zeros[:i], unit, *zeros[i + 1 :]]))

    def _add(self, x: Any, y: Any) -> Any:
        return self._map(lambda space, a, b: space.add(a, b), x, y)

    def _scalar_mul(self, x: Any, a: Any) -> Any:
        return self._map(lambda space, part: space.scalar_mul(part, a), x)

    def _inner_prod(self, x: Any, y: Any) -> Any:
        return sum(_tree.leaves(self._map(lambda space, a, b: space.inner_prod(a, b), x, y)))

    def _covector(self, x: Any) -> Any:
        return self._map(lambda space, part: space.covector(part), x)


def _of_array(value: Any) -> VSpace:
    return ComplexArrayVSpace(value) if value.dtype.kind == "c" else ArrayVSpace(value)


def vspace(value: Any) -> Any:
    """The vector space that a value lies in.

    >>> from ferrograd.autograd.extend import vspace
    >>> vspace({"a": 1.0, "b": np.ones(3)}).size
    4

    Raises:
        TypeError: values of this type are no vectors.
    """
    if (make := VSpace.mappings.get(type(value))) is not None:
        return make(value)
    if isinstance(value, (Tensor, np.ndarray)):
        return _of_array(value)
    if isinstance(value, (list, tuple, dict)):
        return ContainerVSpace(value)
    raise TypeError(f"Can't find vector space for value {value} of type {type(value)}")


VSpace.register(np.ndarray, _of_array)
_KINDS: dict[type[VSpace], tuple[type, ...]] = {
    ArrayVSpace: (float, np.longdouble, np.float64, np.float32, np.float16),
    ComplexArrayVSpace: (complex, np.clongdouble, np.complex64, np.complex128),
    ContainerVSpace: (list, tuple, dict),
}
for _space, _types in _KINDS.items():
    for _type in _types:
        _space.register(_type)
