"""Lists and dicts of modules, which both dialects have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import index
from typing import Any, TypeVar

from ferrograd._layers.module import BaseModule, indented

L = TypeVar("L", bound="ListOfModules")


class ListOfModules(BaseModule):
    """A module that holds modules under the names "0", "1", … and is a list of them."""

    def _fg_adopt(self, name: str, module: Any) -> None:
        """Adds a module with the checks of the dialect."""
        raise NotImplementedError

    def _fg_key(self, at: Any) -> str:
        """The name of the module at an index."""
        names = list(self._modules)
        if not -len(names) <= index(at) < len(names):
            raise IndexError(f"index {at} is out of range")
        return names[index(at)]

    def _fg_selected(self: L, at: slice) -> L:
        """A list of the modules in a slice."""
        return type(self)(list(self._modules.values())[at])  # type: ignore[call-arg]

    def __getitem__(self, at: Any) -> Any:
        return self._fg_selected(at) if isinstance(at, slice) else self._modules[self._fg_key(at)]

    def __setitem__(self, at: Any, module: Any) -> None:
        setattr(self, self._fg_key(at), module)

    def __delitem__(self, at: Any) -> None:
        gone = set(list(self._modules)[at] if isinstance(at, slice) else [self._fg_key(at)])
        self._fg_renumber([m for name, m in self._modules.items() if name not in gone])

    def _fg_renumber(self, modules: list[Any]) -> None:
        self._modules.clear()
        self._modules.update((str(i), m) for i, m in enumerate(modules))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._modules.values()))

    def __iadd__(self: L, modules: Any) -> L:
        return self.extend(modules)

    def append(self: L, module: Any) -> L:
        """Adds a module at the end."""
        self._fg_adopt(str(len(self)), module)
        return self

    def insert(self: L, index: int, module: Any) -> L:
        """Adds a module before an index."""
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        self.append(module)
        modules = list(self._modules.values())
        modules.insert(index, modules.pop())
        self._fg_renumber(modules)
        return self

    def extend(self: L, modules: Iterable[Any]) -> L:
        """Adds modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend should be called with an iterable, but got {type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key: Any) -> Any:
        """Removes and returns the module at an index, or a list of those in a slice."""
        found = self[key]
        del self[key]
        return found


class ChainOfModules(ListOfModules):
    """Modules of which each takes the output of the one before it."""

    def forward(self, input: Any) -> Any:
        """The output of the last module."""
        for module in self._modules.values():
            input = module(input)
        return input


def grouped_repr(modules: ListOfModules) -> str:
    """The text of a list in which equal neighbours are shown once, with their number."""
    lines = []
    for text, group in groupby(enumerate(modules), lambda pair: repr(pair[1])):
        first, *others = [i for i, _ in group]
        many = f"({first}-{others[-1]}): {len(others) + 1} x " if others else f"({first}): "
        lines.append(f"\n  {many}{indented(text)}")
    name = modules._get_name()
    return f"{name}({''.join(lines)}\n)" if lines else f"{name}()"


class DictOfModules(BaseModule):
    """A module that is a dict of modules by their names."""

    def _fg_adopt(self, name: str, module: Any) -> None:
        """Adds a module with the checks of the dialect."""
        raise NotImplementedError

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self._fg_adopt(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Removes all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Removes and returns a module."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """The names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()
