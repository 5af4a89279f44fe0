"""The backend by which einops knows our tensors. It is registered when einops is imported."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_BACKENDS = "einops._backends"


def _register(backends: Any, fg: Any) -> None:
    """Defines the backend, by the functions of ``fg``. einops looks for subclasses of its class."""

    class FerrogradBackend(backends.AbstractBackend):  # type: ignore[misc]
        framework_name = "ferrograd"

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, fg.Tensor)

        def from_numpy(self, x: Any) -> Any:
            return fg.tensor(x)

        def to_numpy(self, x: Any) -> Any:
            return x.detach().numpy()

        def arange(self, start: int, stop: int) -> Any:
            return fg.arange(start, stop)

        def shape(self, x: Any) -> tuple[int, ...]:
            return tuple(x.shape)

        def reshape(self, x: Any, shape: Sequence[int]) -> Any:
            return fg.reshape(x, tuple(shape))

        def transpose(self, x: Any, axes: Sequence[int]) -> Any:
            return fg.permute_dims(x, tuple(axes))

        def reduce(self, x: Any, operation: str, axes: Sequence[int]) -> Any:
            return getattr(fg, operation)(x, axis=tuple(axes))

        def stack_on_zeroth_dimension(self, tensors: list[Any]) -> Any:
            return fg.stack(tensors)

        def add_axis(self, x: Any, new_position: int) -> Any:
            return fg.expand_dims(x, axis=new_position)

        def tile(self, x: Any, repeats: Sequence[int]) -> Any:
            return fg.tile(x, tuple(repeats))

        def concat(self, tensors: list[Any], axis: int) -> Any:
            return fg.concat(tensors, axis=axis)

        def is_float_type(self, x: Any) -> bool:
            return bool(fg.isdtype(x.dtype, "real floating"))

        def einsum(self, pattern: str, *x: Any) -> Any:
            return fg.einsum(pattern, *x)

    # A class does not keep its subclasses alive.
    backends.FerrogradBackend = FerrogradBackend


class _Loader:
    """Loads the module of backends, and then registers ours."""

    def __init__(self, loader: Loader, library: ModuleType) -> None:
        self.loader = loader
        self.library = library

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        _register(module, self.library)


class _Finder:
    """Finds the module of backends, and no other."""

    def __init__(self, library: ModuleType) -> None:
        self.library = library

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _BACKENDS:
            return None
        spec: Any = PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            spec.loader = _Loader(spec.loader, self.library)
        return spec


def watch(library: ModuleType) -> None:
    """Registers a backend of this library now if einops is imported, and otherwise as soon as it is."""
    if _BACKENDS in sys.modules:
        _register(sys.modules[_BACKENDS], library)
    else:
        sys.meta_path.insert(0, _Finder(library))
