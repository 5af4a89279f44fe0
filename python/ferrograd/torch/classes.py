"""``torch.classes``: classes that are compiled for TorchScript. There are none here."""

from __future__ import annotations

from typing import Any, NoReturn

from ferrograd._kit import public as _public

__all__: list[str] = []

#: The libraries of classes that have been loaded: none.
loaded_libraries: set[str] = set()


def load_library(path: Any) -> NoReturn:
    """Raises OSError, as for a file that is not there: compiled classes are made for PyTorch's own tensors."""
    raise OSError(f"torch.classes.load_library: {path} is compiled for PyTorch")


class _Namespace:
    """A namespace, which has no classes."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(f"Class {self._name}.{name} not registered: no compiled classes are here")


def __getattr__(name: str) -> _Namespace:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _Namespace(name)


__dir__ = _public.names(globals())
