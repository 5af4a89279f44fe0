"""The Python classes and functions that the core uses, and what lower rooms get from the package.

The core asks for each of them by its role, once, when it first needs it.
"""

from __future__ import annotations

import errno
import os
from importlib import import_module
from typing import Any

from ferrograd import _core
from ferrograd._kit import public

#: By role: the module below ``ferrograd`` that is imported, and the name in it (the module itself without one).
_ROLES = {
    "sizes": ("_tensor.shape", "SIZES"),
    "size_method": ("_tensor.shape", "SizeMethod"),
    "devices": ("_tensor.device", "DEVICES"),
    "dtype": ("_tensor.dtypes", "dtype"),
    "dtype_of": ("_tensor.dtypes", "dtype_of"),
    "numpy_bfloat16": ("_tensor.dtypes", "NUMPY_BFLOAT16"),
    "show": ("_tensor.repr", "show"),
    "html": ("_tensor.repr", "html"),
    "reduce": ("_tensor.pickling", "reduce"),
    "ufunc": ("_numpy.protocol", "ufunc"),
    "function": ("_numpy.protocol", "function"),
    "namespace": ("", ""),
    "pictures": ("paddle._base.backward_graph_files", "pictures"),
    "warn_of_nothing": ("_autograd.untracked", "warn"),
    "warn_of_create_graph": ("torch._base.warned", "create_graph"),
    "warn_of_list": ("torch._base.warned", "list_of_tracked"),
    "is_within": ("_kit.adapters", "is_within"),
    "ask": ("torch._base.overriding", "asked"),
    "gradient_context": ("_compile.gradient", "context"),
    "torch_tensor": ("torch._base.typed_tensors", "made"),
}


def _load(role: str) -> Any:
    """The object for a role. Raises MemoryError if memory ends while its module is imported."""
    path, name = _ROLES[role]
    try:
        module = import_module(f"ferrograd.{path}".rstrip("."))
    except OSError as e:
        if e.errno != errno.ENOMEM:
            raise
        raise MemoryError(f"ferrograd.{path} cannot be imported: {e}") from e
    return getattr(module, name) if name else module


def _places(module: str, name: str) -> list[str]:
    """Where a name is that a module lacks; programs that find all names do not import what knows it."""
    return import_module("ferrograd._native.places").found(module, name)


def _str(error: _core.FerrogradError) -> str:
    return _about("text", error)


def _short_name(error: _core.FerrogradError) -> str:
    """The name of the section about the error on the page of errors, such as ``"freedgrapherror"``."""
    return _about("short_name", error)


def _url(error: _core.FerrogradError) -> str:
    """Where to read about the error."""
    return _about("url", error)


def _rendered(error: _core.FerrogradError) -> list[str]:
    return _about("rendered", error)


def _about(what: str, error: _core.FerrogradError) -> Any:
    """What ``errors`` says of an error; programs without errors do not import it."""
    return getattr(import_module("ferrograd._native.errors"), what)(error)


_core.FerrogradError.__str__ = _str  # type: ignore[method-assign]
_core.FerrogradError.short_name = property(_short_name)  # type: ignore[assignment,method-assign]
_core.FerrogradError.url = property(_url)  # type: ignore[assignment,method-assign]
_core.FerrogradError._render_traceback_ = _rendered  # type: ignore[method-assign]
public.MissingName.places = staticmethod(_places)
_core.register(_load)
_core.set_own_code(os.path.join(os.path.dirname(os.path.dirname(_load.__code__.co_filename)), ""))
