"""Modules as plain data: what ``torch.jit.save`` writes.

A module is the name of its class, and its attributes. Data has no code. A file of somebody else makes modules whose
classes the program has imported, with attributes that are data, functions of torch, or objects of plain classes from
the package of the module that has them. Of these classes nothing runs while the file is read, but for hashes of keys.
"""

from __future__ import annotations

import enum
import pickle
import sys
from collections import OrderedDict
from importlib import import_module
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ferrograd._core import FerrogradError, TorchTensor
from ferrograd._kit.warning import warn
from ferrograd._tensor.device import TorchDevice
from ferrograd._tensor.dtypes import dtype
from ferrograd._tensor.shape import TorchSize
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter

#: What a file holds as it is.
_PLAIN = (type(None), bool, int, float, complex, str, bytes, TorchTensor, Parameter, dtype, TorchDevice, TorchSize)
_CONTAINERS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "dict": dict,
    "OrderedDict": OrderedDict,
}
#: Where functions of torch are looked for that modules have as attributes.
_SPACES = ("_core.torch", "torch.nn.functional")
#: The tables of hooks of a module, and those that a call runs.
_TABLES = {name for name in vars(Module()) if "hook" in name}
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")


class _Unknown(Exception):
    """A value that is no data."""


def described(module: Module) -> list[Any]:
    """The modules below a module and itself, which is the first, as names of classes and attributes.

    A warning names attributes that are no data: they are left out.

    Raises:
        FerrogradError: a class that a program cannot find by its name, or hooks.
    """
    found, lost = [module], []
    records = []
    for one in found:
        name = f"{type(one).__module__}.{type(one).__qualname__}"
        if _class_of(type(one).__module__, type(one).__qualname__) is not type(one):
            raise FerrogradError(
                f"torch.jit.save: the class {name} is not found by its name; define it at the top of a file"
            )
        if any(vars(one)[table] for table in _HOOKS):
            raise FerrogradError(f"torch.jit.save: {name} has hooks, which are functions; remove them first")
        state = {}
        for key, value in vars(one).items():
            if key not in _TABLES:
                try:
                    state[key] = _written(value, found, type(one).__module__)
                except _Unknown:
                    lost.append(f"{name}.{key}")
        records.append((type(one).__module__, type(one).__qualname__, state))
    if lost:
        warn(f"torch.jit.save: these attributes are no data, and the file lacks them: {', '.join(lost)}")
    return records


def _written(value: Any, found: list[Module], home: str) -> Any:
    """A value of a module that is defined at ``home`` as data. Modules are numbers in the list."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Module):
        number = next((i for i, one in enumerate(found) if one is value), len(found))
        if number == len(found):
            found.append(value)
        return ("module", number)
    kind = type(value).__name__
    if _CONTAINERS.get(kind) is type(value):
        items = value.items() if isinstance(value, dict) else value
        # An item of a dictionary is a pair.
        return (kind, [_written(item, found, home) for item in items])
    if isinstance(value, enum.Enum):
        return ("enum", type(value).__module__, type(value).__qualname__, value.name)
    if isinstance(value, (FunctionType, BuiltinFunctionType)):
        name = value.__name__
        if any(_function(space, name) is value for space in _SPACES):
            return ("function", name)
    if _is_plain(type(value), home):
        names = type(value).__module__, type(value).__qualname__
        return ("object", *names, {name: _written(part, found, home) for name, part in vars(value).items()})
    raise _Unknown


def _is_plain(kind: Any, home: str) -> bool:
    """Whether a class is of the package of ``home``, and its objects are their attributes alone."""
    module, path = getattr(kind, "__module__", ""), getattr(kind, "__qualname__", "")
    return (
        isinstance(kind, type)
        and module.partition(".")[0] == home.partition(".")[0]
        and _class_of(module, path) is kind
        and type(kind) is type
        and not issubclass(kind, Module)
        and kind.__dictoffset__ != 0
        and kind.__new__ is object.__new__
        and not hasattr(kind, "__del__")
    )


def _function(space: str, name: str) -> Any:
    """A function of tensors by its name, as torch has it; None if there is none."""
    module = import_module(f"ferrograd.{space}")
    if name not in module.__all__:
        return None
    return getattr(import_module("ferrograd.torch") if space == "_core.torch" else module, name, None)


def _class_of(module: str, path: str) -> Any:
    """A class of a module that the program has imported; None if there is none."""
    if module.startswith("ferrograd.torch.nn."):
        import_module(module)
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = vars(found).get(part) if found is not None else None
    return found


def restored(records: Any) -> Module:
    """The first of the modules that :func:`described` gave.

    Raises:
        UnpicklingError: damaged data, or a class that the program has not imported.
    """
    made = []
    for module, path, _ in records:
        kind = _class_of(module, path)
        if module not in sys.modules:
            raise pickle.UnpicklingError(
                f"the file has a {path} of {module}: import {module} before the file is loaded"
            )
        if not isinstance(kind, type) or not issubclass(kind, Module):
            raise pickle.UnpicklingError(f"the file names {module}.{path}, which is no class of modules here")
        one = object.__new__(kind)
        Module._fg_set_up(one)
        made.append(one)
    for one, (home, _, state) in zip(made, records, strict=True):
        for key, value in state.items():
            vars(one)[key] = _read(value, made, home)
    return made[0]


def _read(value: Any, made: list[Module], home: str) -> Any:
    """The value that :func:`_written` wrote."""
    if type(value) is not tuple:
        return value
    kind = value[0]
    if kind == "module":
        return made[value[1]]
    if kind == "enum":
        known = _class_of(value[1], value[2])
        if not isinstance(known, enum.EnumMeta):
            raise pickle.UnpicklingError(f"the file names {value[1]}.{value[2]}, which is no enumeration here")
        return known[value[3]]
    if kind == "function":
        found = next((f for space in _SPACES if (f := _function(space, value[1])) is not None), None)
        if found is None:
            raise pickle.UnpicklingError(f"the file names the function {value[1]}, which is not here")
        return found
    if kind == "object":
        known = _class_of(value[1], value[2])
        if not _is_plain(known, home):
            raise pickle.UnpicklingError(f"the file names {value[1]}.{value[2]}, which is no plain class of {home}")
        one = object.__new__(known)
        for name, part in value[3].items():
            vars(one)[name] = _read(part, made, home)
        return one
    return _CONTAINERS[kind](_read(item, made, home) for item in value[1])
