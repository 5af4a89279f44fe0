"""Floats among the arguments of a compiled function that differ from call to call."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, native
from ferrograd._kit.dialect import NATIVE, dialect_of


class Watch:
    """What a trace learns about the arguments that it has as tensors: those that it needs as floats are pinned."""

    def __init__(self) -> None:
        self.pinned: set[Any] = set()
        self.is_open = True
        self._made: list[weakref.ref[Number]] = []

    def note(self, number: Number) -> None:
        self._made.append(weakref.ref(number))

    def close(self) -> None:
        """Ends the trace. What somebody still has is a float from now on."""
        self.is_open = False
        for ref in self._made:
            if (number := ref()) is not None:
                number._pinned()


class Number:
    """A float that is a tensor where it meets tensors.

    Sums, differences, products and quotients with it are ops of the trace. Whoever asks for its value, with ``float``,
    a comparison or in any other way, gets it, and pins it: then the program is one for this value.
    """

    def __init__(self, value: float, tensor: Tensor, names: frozenset[Any], watch: Watch) -> None:
        self._value = value
        self._tensor = tensor
        self._names = names
        self._fg_watch = watch
        watch.note(self)

    # Code asks whether its argument is a float.
    __class__ = property(lambda self: float)

    def _pinned(self) -> float:
        """The value."""
        self._fg_watch.pinned |= self._names
        return self._value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array"):
            raise AttributeError(name)
        return getattr(self._pinned(), name)

    def __reduce_ex__(self, _: Any) -> Any:
        return float, (self._pinned(),)

    def __neg__(self) -> Any:
        return (
            Number(-self._value, -self._tensor, self._names, self._fg_watch) if self._fg_watch.is_open else -self._value
        )

    def _like(self, x: Tensor) -> Tensor:
        """The tensor in the dtype and the class of another. The number is rounded as that of an operand is."""
        dtype = "float32" if x.dtype.itemsize == 4 else "float64"
        tensor = native.cast(self._tensor, dtype)
        dialect = dialect_of(x)
        # A sum with a negative zero of that class has every bit of the number.
        return tensor if dialect == NATIVE else _core.make(-0.0, dtype, False, dialect) + tensor


def _applied(symbol: Callable[[Any, Any], Any], number: Number, other: Any, reflected: bool) -> Any:
    """``number symbol other``, or the reverse."""

    def ordered(a: Any, b: Any) -> Any:
        return symbol(b, a) if reflected else symbol(a, b)

    if number._fg_watch.is_open:
        if isinstance(other, Tensor):
            if other.dtype.kind == "f" and other.dtype.itemsize >= 4 and _core.autocast_dtype() is None:
                return ordered(number._like(other), other)
        elif type(other) is Number or type(other) in (int, float, bool):
            divisor = number if reflected else other
            # Python refuses to divide by zero, a tensor does not.
            if not (symbol is operator.truediv and type(divisor) is Number):
                if type(other) is not Number:
                    value = float(other)
                    other = Number(value, _core.make(value, "float64", False, NATIVE), frozenset(), number._fg_watch)
                value, tensor = ordered(number._value, other._value), ordered(number._tensor, other._tensor)
                return Number(value, tensor, number._names | other._names, number._fg_watch)
    return ordered(number._pinned(), _plain(other))


def _plain(x: Any) -> Any:
    return x._pinned() if type(x) is Number else x


def _arithmetic(symbol: Callable[[Any, Any], Any], reflected: bool) -> Callable[[Number, Any], Any]:
    def method(self: Number, other: Any) -> Any:
        if isinstance(other, (Tensor, float, int, complex, np.generic, np.ndarray)):
            return _applied(symbol, self, other, reflected)
        return NotImplemented

    return method


def _by_value(name: str) -> Callable[..., Any]:
    of_float = getattr(float, name)

    def method(self: Number, *args: Any) -> Any:
        result = of_float(self._pinned(), *map(_plain, args))
        if result is NotImplemented and len(args) == 1 and isinstance(args[0], (Tensor, np.ndarray, np.generic)):
            return getattr(operator, name.replace("__r", "__", 1) if name.startswith("__r") else name)(
                *((args[0], self._value) if name.startswith("__r") else (self._value, args[0]))
            )
        return result

    return method


for _name in ("add", "sub", "mul", "truediv"):
    setattr(Number, f"__{_name}__", _arithmetic(getattr(operator, _name), False))
    setattr(Number, f"__r{_name}__", _arithmetic(getattr(operator, _name), True))
for _name in (
    *("abs", "bool", "float", "int", "trunc", "floor", "ceil", "round", "hash", "repr", "str", "format", "pos"),
    *("eq", "ne", "lt", "le", "gt", "ge", "pow", "rpow", "mod", "rmod", "floordiv", "rfloordiv", "divmod", "rdivmod"),
):
    setattr(Number, f"__{_name}__", _by_value(f"__{_name}__"))


def with_numbers(args: Any, kwargs: Any, floats: Mapping[Any, int], used: list[Tensor], watch: Watch) -> Any:
    """The arguments with numbers in place of floats."""

    def number(name: Any, value: Any) -> Any:
        return Number(value, used[floats[name]], frozenset([name]), watch) if name in floats else value

    return tuple(number(i, x) for i, x in enumerate(args)), {name: number(name, x) for name, x in kwargs.items()}
