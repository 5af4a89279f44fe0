"""What completion offers in a module, and what an error says of a name that a module lacks."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from types import FrameType, FunctionType, ModuleType
from typing import Any, ClassVar

#: The page about libraries that run on the dialects, and what they miss.
_PAGE = "https://ferrograd.github.io/ferrograd/libraries.html"
#: A part of a path that is private. The core says itself where its functions are.
_PRIVATE = re.compile(r"\._(?!core\b)[a-z]")
#: By dialect: the function that gets a module and a name that it lacks, since names of its library may mean nothing
#: here.
absent: dict[str, Callable[[str, str], Any]] = {}


def _package(module: str) -> str:
    """The package below ferrograd that a module belongs to, by the module's name; empty for ferrograd itself."""
    return module.partition(".")[2].partition(".")[0]


class MissingName(AttributeError):
    """A name that a module lacks. Its text says where the name is, and is made when it is shown.

    It is shown and pickled as the AttributeError that it is.
    """

    #: Where a name that a module lacks is. The package hands it in, since it has to know all modules.
    places: ClassVar[Callable[[str, str], list[str]]] = staticmethod(lambda module, name: [])

    def __init__(self, module: str, name: str) -> None:
        super().__init__(module, name)
        # Names of the library itself are those of no other library, so no library asks for them by mistake.
        self._asked = asked_for(sys._getframe(1)) if _package(module) in absent else ""

    def __str__(self) -> str:
        return self._found() + self._asked

    def _found(self) -> str:
        module, name = self.args
        text = f"module {module!r} has no attribute {name!r}"
        if name.startswith("_") or sys.is_finalizing():
            return text
        if places := type(self).places(module, name):
            return f"{text}: it is {', or '.join(places)}"
        from difflib import get_close_matches

        close = get_close_matches(name, dir(sys.modules[module]), n=1)
        return f"{text}. Did you mean {close[0]!r}?" if close else text

    def __reduce__(self) -> tuple[Any, ...]:
        return AttributeError, (str(self),)


MissingName.__name__ = MissingName.__qualname__ = AttributeError.__name__
MissingName.__module__ = AttributeError.__module__


def asked_for(frame: FrameType | None) -> str:
    """Which library asked for a name, and the page that says what differs; nothing if the main program asked.

    ``frame`` is the innermost frame of the program; those of ferrograd and of the import system are skipped.
    """
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("ferrograd", "importlib"):
        frame = frame.f_back
    library = "" if frame is None else str(frame.f_globals.get("__name__", "")).partition(".")[0]
    in_package = frame is not None and frame.f_globals.get("__package__")
    return f" (asked for by {library}; what differs: {_PAGE})" if in_package else ""


def names(module: dict[str, Any]) -> Callable[[], list[str]]:
    """The ``__dir__`` of a module with these globals: what it exports, and its public submodules. It owns its exports.

    >>> import ferrograd.func as func
    >>> [name for name in dir(func) if name.startswith("hess")]
    ['hessian', 'hessian_diagonal']
    """

    owned(module, module["__all__"])

    def __dir__() -> list[str]:
        inside = module["__name__"] + "."
        below = {n for n, v in module.items() if isinstance(v, ModuleType) and v.__name__ == inside + n and n[0] != "_"}
        return sorted({*module["__all__"], *below})

    if look_up := absent.get(_package(module["__name__"])):
        module["__getattr__"] = _with_absent(module["__name__"], module.get("__getattr__"), look_up)
    return __dir__


def _with_absent(
    module: str, own: Callable[[str], Any] | None, look_up: Callable[[str, str], Any]
) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module of such a dialect: its own, and then the names that mean nothing here."""

    def __getattr__(name: str) -> Any:
        if own is not None:
            try:
                return own(name)
            except AttributeError as error:
                missing = error
        if name == "__path__":
            # Modules of PyTorch may be below one that is no package here.
            return []
        if name.startswith("__"):
            raise MissingName(module, name)
        try:
            return look_up(module, name)
        except AttributeError:
            if own is not None:
                raise missing from None
            raise

    return __getattr__


def owned(door: dict[str, Any], names: Iterable[str]) -> None:
    """Sets the ``__module__`` of functions and classes of a public module that private modules define to the public
    one.

    So help shows where they are to be found, and pickles of them name no private module. Those of another room, which
    several doors may have, are left as they are.
    """
    room = ".".join(door["__name__"].split(".")[:2]) + "."
    for name in names:
        value = door.get(name)
        place = value.__module__ if isinstance(value, FunctionType | type) else ""
        if place.startswith(room) and _PRIVATE.search(place):
            value.__module__ = door["__name__"]


def gathered(door: dict[str, Any], package: ModuleType, *others: ModuleType) -> list[str]:
    """The names that the modules of a package export, and other modules. The door gets them, and they say so.

    Of the package these are the public modules that have been imported. What they define replaces what the door has
    under the same names.
    """
    inside = [module for name, module in vars(package).items() if isinstance(module, ModuleType) and name[0] != "_"]
    found = {name: getattr(m, name) for m in (*inside, *others) for name in m.__all__ if name[0] != "_"}
    door.update(found)
    owned(door, found)
    return [*found]
