"""Modules that hold others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from operator import index
from typing import Any

from ferrograd._kit import public as _public
from ferrograd._layers.containers import ChainOfModules, DictOfModules, ListOfModules, grouped_repr
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Sequential(ChainOfModules, Module):
    """Modules in a row: each takes the output of the one before it. An OrderedDict gives them names.

    >>> import ferrograd.torch as torch
    >>> torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU())
    Sequential(
      (0): Flatten(start_dim=1, end_dim=-1)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def _fg_adopt(self, name: str, module: Any) -> None:
        self.add_module(name, module)

    def insert(self, index: int, module: Any) -> Sequential:
        """Adds a module before an index."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}, and this is a {type(module).__name__}")
        return super().insert(index, module)

    def _fg_selected(self, at: slice) -> Any:
        return type(self)(OrderedDict(list(self._modules.items())[at]))

    def _fg_joined(self, other: Any) -> Any:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)!s} is given.")
        return other

    def __add__(self, other: Any) -> Sequential:
        return Sequential(*self, *self._fg_joined(other))

    def __iadd__(self, other: Any) -> Any:
        return self.extend(self._fg_joined(other))

    def _fg_times(self, other: Any) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return other

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*list(self) * self._fg_times(other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Any:
        return self.extend(list(self) * (self._fg_times(other) - 1))


class ModuleList(ListOfModules, Module):
    """A list of modules.

    >>> import ferrograd.torch as torch
    >>> torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(3)])
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _fg_adopt(self, name: str, module: Any) -> None:
        self.add_module(name, module)

    def _get_abs_string_index(self, idx: Any) -> str:
        """The name of the module at a place, which may be counted from the end."""
        return self._fg_key(idx)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        return grouped_repr(self)


def _pairs(what: str, given: Any) -> list[tuple[str, Any]]:
    """The items of a mapping, or pairs."""
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{what}.update should be called with an iterable of key/value pairs, but got {type(given).__name__}"
        )
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        return list(given.items())
    found = []
    for i, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{what} update sequence element #{i} should be Iterable; is {type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{what} update sequence element #{i} has length {len(pair)}; 2 is required")
        found.append(pair)
    return found


class ModuleDict(DictOfModules, Module):
    """A dict of modules.

    >>> import ferrograd.torch as torch
    >>> layers = torch.nn.ModuleDict({"first": torch.nn.Linear(2, 3)})
    >>> "first" in layers, [name for name, _ in layers.named_parameters()]
    (True, ['first.weight', 'first.bias'])
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def _fg_adopt(self, name: str, module: Any) -> None:
        self.add_module(name, module)

    def update(self, modules: Any) -> None:
        """Adds the modules of a mapping or of pairs, in place of those with the same names."""
        for key, module in _pairs("ModuleDict", modules):
            self[key] = module


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _line(key: object, value: object, is_dict: bool = False) -> str:
    """The line of ``repr`` for an element of a list or dict of parameters. A dict names dtypes by old classes."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    sizes = "x".join(map(str, value.shape))
    dtype = value.type() if is_dict else value.dtype
    return f"  ({key}): {kind} containing: [{dtype} of size {sizes}]"


class ParameterList(Module):
    """A list of parameters. A tensor becomes a parameter; anything else is kept as it is."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._fg_size = 0
        if values is not None:
            self.extend(values)

    def _fg_key(self, at: Any) -> str:
        at, n = index(at), self._fg_size
        if not -n <= at < n:
            raise IndexError(f"index {at} is out of range")
        return str(at % n)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return type(self)([self[i] for i in range(self._fg_size)[at]])
        return getattr(self, self._fg_key(at))

    def __setitem__(self, at: Any, value: Any) -> None:
        setattr(self, self._fg_key(at), _as_parameter(value))

    def __len__(self) -> int:
        return self._fg_size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(self._fg_size)])

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Adds a value at the end."""
        self._fg_size += 1
        self[self._fg_size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Adds values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """One line for each element."""
        return "\n".join(_line(i, value) for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises: a list has no output."""
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters. A tensor becomes a parameter; anything else is kept as it is."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    @staticmethod
    def _fg_name(key: object) -> str:
        """The key, which must be a string."""
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}')."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        if self._fg_name(key) not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[self._fg_name(key)] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[self._fg_name(key)]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._keys))

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self) -> Any:
        """The names."""
        return self._keys.keys()

    def items(self) -> Any:
        """The names and values."""
        return [(key, self[key]) for key in self._keys]

    def values(self) -> Any:
        """The values."""
        return [self[key] for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name, or a default."""
        return getattr(self, key) if key in self._keys else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a name, which is set to a default first if it is not there."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        """Removes and returns a value."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Removes and returns the last name and value."""
        key = list(self._keys)[-1]
        return key, self.pop(key)

    def clear(self) -> None:
        """Removes all values."""
        for key in list(self._keys):
            del self[key]

    def copy(self) -> ParameterDict:
        """A dict with the same values."""
        return ParameterDict(OrderedDict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dict with one value for all names."""
        return ParameterDict((key, default) for key in keys)

    def update(self, parameters: Any) -> None:
        """Sets the values of a mapping or of pairs. Those of a plain dict are set in the order of their keys."""
        pairs = _pairs("ParameterDict", parameters)
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs.sort(key=lambda pair: pair[0])
        for key, value in pairs:
            self[key] = value

    def __or__(self, other: ParameterDict) -> ParameterDict:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        """One line for each value."""
        return "\n".join(_line(key, value, is_dict=True) for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises: a dict has no output."""
        raise RuntimeError("ParameterDict should not be called.")


__dir__ = _public.names(globals())
