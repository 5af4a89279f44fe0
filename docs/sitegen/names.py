"""The public names of the library: the module that each object is documented in, and where else it is."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

import ferrograd
from ferrograd import _core

#: Constants of these types are listed with their value and have no entry of their own.
PLAIN = (bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, type(None))


@dataclass
class Module:
    """A public module: the names that are documented there, and those that are documented elsewhere, with the place."""

    name: str
    module: ModuleType
    own: dict[str, Any] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    submodules: list[str] = field(default_factory=list)


def public_modules() -> list[str]:
    """The dotted names of all modules without a part that begins with an underscore.

    Those of ``ferrograd.autograd`` are left out: their functions are those of NumPy, SciPy and HIPS autograd.
    """
    found = [m.name for m in pkgutil.walk_packages(ferrograd.__path__, "ferrograd.")]
    found = [name for name in found if not name.startswith("ferrograd.autograd")]
    return ["ferrograd", *(n for n in found if not any(part.startswith("_") for part in n.split(".")))]


@cache
def entries() -> dict[str, list[str]]:
    """The ops of public namespaces: by every name, all names of the same op."""
    public = [names for names, _, _ in _core.registry() if names[0].partition(".")[0] in dir(ferrograd)]
    return {name: names for names in public for name in names}


def op_of(value: Any) -> str | None:
    """The first name of the op that a builtin function applies."""
    module = getattr(value, "__module__", None) or ""
    if not inspect.isbuiltin(value) or not module.startswith("ferrograd._core."):
        return None
    place = module.removeprefix("ferrograd._core.").partition(".")[2]
    names = entries().get(f"{place}.{value.__name__}".lstrip("."))
    return names[0] if names else None


def is_documented(value: Any) -> bool:
    """Whether a value has an entry of its own: a function or a class, not a constant."""
    return callable(value) and not isinstance(value, PLAIN)


@cache
def modules() -> dict[str, Module]:
    """All public modules, native ones first, then those with short names. The first that has an object owns it."""
    names = sorted(
        public_modules(),
        key=lambda n: (n.count(".") > 0 and n.split(".")[1] in ("paddle", "torch"), n.count("."), n),
    )
    places: dict[int, str] = {}
    kept: list[Any] = []
    found: dict[str, Module] = {}
    for name in names:
        page = Module(name, importlib.import_module(name))
        found[name] = page
        offered = dir(page.module) if "__dir__" in vars(page.module) else getattr(page.module, "__all__", [])
        for key in sorted(offered):
            value = getattr(page.module, key)
            if inspect.ismodule(value):
                page.submodules.append(key)
            elif not is_documented(value):
                page.constants[key] = value
            elif (op := op_of(value)) is not None:
                page.elsewhere[key] = f"ferrograd.{op}"
            elif id(value) in places:
                page.elsewhere[key] = places[id(value)]
            else:
                places[id(value)] = f"{name}.{key}"
                kept.append(value)
                page.own[key] = value
    return found
