"""Layers that hold others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public
from ferrograd._layers.containers import ChainOfModules, DictOfModules, ListOfModules
from ferrograd.paddle.nn.layer.layers import Layer

__all__ = ["LayerDict", "LayerList", "ParameterDict", "ParameterList", "Sequential"]


class Sequential(ChainOfModules, Layer):
    """Layers in a row: each takes the output of the one before it. Pairs or an OrderedDict give them names.

    >>> import ferrograd.paddle as paddle
    >>> paddle.nn.Sequential(paddle.nn.Linear(2, 3), paddle.nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, dtype=float32)
      (1): ReLU()
    )
    """

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], OrderedDict):
            named = list(layers[0].items())
        elif layers and isinstance(layers[0], list | tuple):
            named = list(layers)
        else:
            named = [(str(i), layer) for i, layer in enumerate(layers)]
        for name, layer in named:
            self.add_sublayer(name, layer)

    def _fg_adopt(self, name: str, module: Any) -> None:
        self.add_sublayer(name, module)

    def _fg_selected(self, at: slice) -> Any:
        return type(self)(*list(self._modules.values())[at])

    def _fg_key(self, at: Any) -> str:
        return at if isinstance(at, str) else super()._fg_key(at)


class LayerList(ListOfModules, Layer):
    """A list of layers."""

    def __init__(self, sublayers: Iterable[Layer] | None = None) -> None:
        super().__init__()
        if sublayers is not None:
            self.extend(sublayers)

    def _fg_adopt(self, name: str, module: Any) -> None:
        self.add_sublayer(name, module)


class LayerDict(DictOfModules, Layer):
    """A dict of layers."""

    def __init__(self, sublayers: Any = None) -> None:
        super().__init__()
        if sublayers is not None:
            self.update(sublayers)

    def _fg_adopt(self, name: str, module: Any) -> None:
        self.add_sublayer(name, module)

    def update(self, sublayers: Any) -> None:
        """Adds the layers of a mapping or of pairs."""
        if not isinstance(sublayers, Iterable):
            raise ArgumentError(f"update: a mapping of layers or pairs is wanted, not {type(sublayers).__name__}")
        for key, layer in dict(sublayers.items() if hasattr(sublayers, "items") else sublayers).items():
            self[key] = layer


class ParameterList(Layer):
    """A list of parameters."""

    def __init__(self, parameters: Iterable[Any] | None = None) -> None:
        super().__init__()
        for parameter in parameters or ():
            self.append(parameter)

    def __getitem__(self, at: int) -> Any:
        return list(self._parameters.values())[at]

    def __setitem__(self, at: int, parameter: Any) -> None:
        setattr(self, list(self._parameters)[at], parameter)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._parameters.values()))

    def append(self, parameter: Any) -> ParameterList:
        """Adds a parameter at the end."""
        self.add_parameter(str(len(self._parameters)), parameter)
        return self


class ParameterDict(Layer):
    """A dict of parameters."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return self._parameters[key]

    def __setitem__(self, key: str, parameter: Any) -> None:
        self.add_parameter(key, parameter)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def update(self, parameters: Any) -> None:
        """Adds the parameters of a mapping or of pairs."""
        for key, value in dict(parameters.items() if hasattr(parameters, "items") else parameters).items():
            self[key] = value


__dir__ = _public.names(globals())
