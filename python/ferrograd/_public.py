"""What completion offers in a module, and what an error says of a name that a module lacks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

# Where names are, below ``ferrograd``, by library. A name is looked for in this order.
_PLACES = {
    "": ("", "func", "linalg", "fft", "optim", "testing", "distributed"),
    "torch": (
        "torch",
        "torch.autograd",
        "torch.nn",
        "torch.optim",
        "torch.nn.functional",
        "torch.linalg",
        "torch.fft",
        "torch.special",
        "torch.utils.data",
        "torch.distributions",
    ),
    "paddle": (
        "paddle",
        "paddle.nn",
        "paddle.optimizer",
        "paddle.autograd",
        "paddle.nn.functional",
        "paddle.linalg",
        "paddle.fft",
        "paddle.io",
        "paddle.distribution",
    ),
}


class MissingName(AttributeError):
    """A name that a module lacks. Its text says where the name is, and is made when it is shown.

    It is shown and pickled as the AttributeError that it is.
    """

    def __str__(self) -> str:
        module, name = self.args
        text = f"module {module!r} has no attribute {name!r}"
        if name.startswith("_") or sys.is_finalizing():
            return text
        if places := found(module, name):
            return f"{text}: it is {', or '.join(places)}"
        from difflib import get_close_matches

        close = get_close_matches(name, dir(sys.modules[module]), n=1)
        return f"{text}. Did you mean {close[0]!r}?" if close else text

    def __reduce__(self) -> tuple[Any, ...]:
        return AttributeError, (str(self),)


MissingName.__name__ = MissingName.__qualname__ = AttributeError.__name__
MissingName.__module__ = AttributeError.__module__


def found(module: str, name: str) -> list[str]:
    """Where a name is: in the library of the module, or else in the others."""

    def within(library: str) -> list[str]:
        paths = [f"ferrograd.{place}".rstrip(".") for place in _PLACES[library]]
        return [f"{path}.{name}" for path in paths if name in import_module(path).__all__]

    own = module.partition(".")[2]
    if own:
        return within(own)[:1] or within("")[:1]
    # Two native places may have a function of one name: one of a function, say, and one of a matrix.
    places = within("") or _of_numpy(name) or within("torch")[:1] + within("paddle")[:1]
    function = getattr(import_module("numpy"), name, None)
    if places or isinstance(function, type) or not callable(function):
        return places
    return [f"numpy.{name}(x.detach()), without a gradient"]


def _of_numpy(name: str) -> list[str]:
    """What has the meaning that the name has in NumPy: a function here, or NumPy's own, which knows tensors."""
    table = import_module("ferrograd._numpy.table")
    if name in table.RENAMED:
        return [f"ferrograd.{table.RENAMED[name]}"]
    function = getattr(import_module("numpy"), name, None)
    known = import_module("ferrograd._numpy.functions").SPECIAL
    if callable(function) and (name in table.FUNCTIONS or name in table.NO_DERIVATIVE or function in known):
        return [f"numpy.{name}, which takes tensors"]
    return []


def names(module: dict[str, Any]) -> Callable[[], list[str]]:
    """The ``__dir__`` of a module with these globals: what it exports, and its public submodules.

    >>> import ferrograd.func as func
    >>> [name for name in dir(func) if name.startswith("hess")]
    ['hessian', 'hessian_diagonal']
    """

    def __dir__() -> list[str]:
        inside = module["__name__"] + "."
        below = {n for n, v in module.items() if isinstance(v, ModuleType) and v.__name__ == inside + n and n[0] != "_"}
        return sorted({*module["__all__"], *below})

    return __dir__
