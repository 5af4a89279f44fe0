"""``torch.jit``: Python runs as it is.

``script`` and ``trace`` return what they are given. ``save`` writes a module as its attributes and the names of its
classes, and ``load`` reads it. Of a file that PyTorch compiled ``load`` reads the weights; its program does not run.
"""

from __future__ import annotations

import builtins
import io
import os
import pickle
import re
import types
import typing
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import FerrogradError
from ferrograd._kit import public as _public
from ferrograd.torch._base import archives, module_files
from ferrograd.torch._base.written import write
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.futures import Future
from ferrograd.torch.nn.modules.lazy import LazyModuleMixin
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter

__all__ = [
    "Final",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

from typing import Final

from ferrograd._kit.warning import warn

T = TypeVar("T")


def script(obj: T, *args: Any, **kwargs: Any) -> T:
    """The function, class or module itself, with a warning: it runs as Python.

    >>> import warnings, ferrograd.torch as torch
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     double = torch.jit.script(lambda x: x * 2)
    >>> double(torch.ones(1)).item()
    2.0
    """
    given: Any = obj
    if isinstance(given, LazyModuleMixin) and given.has_uninitialized_params():
        raise RuntimeError(
            f"torch.jit.script: {type(obj).__name__} has parameters without shapes; run a forward pass before scripting"
        )
    warn("torch.jit.script: there is no TorchScript here; the program runs as Python")
    return obj


def script_if_tracing(fn: T) -> T:
    """The function itself."""
    return fn


_script_if_tracing = script_if_tracing


def export(fn: T) -> T:
    """The function itself."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself; with options, a decorator that returns it."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn: T) -> T:
    """The function itself."""
    return fn


def annotate(the_type: Any, the_value: T) -> T:
    """The value itself."""
    return the_value


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """A future with the result of the function, which is called here and now.

    >>> import ferrograd.torch as torch
    >>> future = torch.jit.fork(torch.add, torch.ones(1), 2)
    >>> torch.jit.wait(future).item()
    3.0
    """
    found: Future[T] = Future()
    found.set_result(func(*args, **kwargs))
    return found


def wait(future: Future[T]) -> T:
    """The result of a future."""
    if not builtins.isinstance(future, Future):
        raise TypeError(f"wait: a Future is wanted, not {type(future).__name__}")
    return future.wait()


_fork, _wait = fork, wait


def _overload(fn: T) -> T:
    """The function itself."""
    return fn


_overload_method = _overload


def optimize_for_inference(mod: T, other_methods: Any = None) -> T:
    """The module itself."""
    return mod


def freeze(mod: T, preserved_attrs: Any = None, optimize_numerics: bool = True) -> T:
    """The module itself."""
    return mod


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object is of a type, which may say what is in a list, tuple or dictionary.

    >>> import ferrograd.torch as torch
    >>> torch.jit.isinstance([torch.ones(1)], list[torch.Tensor]), torch.jit.isinstance({"a": 1}, dict[str, float])
    (True, False)
    """
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, kind) for kind in target_type)
    origin, inner = typing.get_origin(target_type), typing.get_args(target_type)
    if origin in (typing.Union, types.UnionType):
        return any(isinstance(obj, kind) for kind in inner)
    if origin is None:
        kind = type(None) if target_type is None else target_type
        return kind is Any or builtins.isinstance(obj, kind)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is tuple:
        if len(inner) == 2 and inner[1] is ...:
            return all(isinstance(x, inner[0]) for x in obj)
        return len(obj) == len(inner) and all(isinstance(x, kind) for x, kind in zip(obj, inner, strict=True))
    if issubclass(origin, dict):
        return all(isinstance(key, inner[0]) and isinstance(x, inner[1]) for key, x in obj.items())
    return all(isinstance(x, inner[0]) for x in obj)


def is_scripting() -> bool:
    """False: Python runs."""
    return False


def is_tracing() -> bool:
    """False: Python runs."""
    return False


def _refuse(function: str) -> NoReturn:
    raise FerrogradError(
        f"torch.jit.{function}: there is no TorchScript here. Call the function or module itself, and keep the numbers "
        "of a module with torch.save(module.state_dict(), file)"
    )


def trace(
    func: T, example_inputs: Any = None, *args: Any, example_kwarg_inputs: dict[str, Any] | None = None, **kwargs: Any
) -> T:
    """The function or module itself, with a warning: it runs as Python, so what it decides by values is not fixed.

    It is called once with the examples, an argument or a tuple of them, so what is wrong with it is seen here.

    >>> import warnings, ferrograd.torch as torch
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     double = torch.jit.trace(lambda x: x * 2, torch.ones(1))
    >>> double(torch.ones(2)).tolist()
    [2.0, 2.0]
    """
    warn("torch.jit.trace: there is no TorchScript here; the program runs as Python")
    call: Any = func
    if example_kwarg_inputs is not None:
        call(**example_kwarg_inputs)
    elif example_inputs is not None:
        call(*example_inputs if builtins.isinstance(example_inputs, tuple | list) else (example_inputs,))
    return func


def trace_module(mod: T, inputs: Any = None, *args: Any, **kwargs: Any) -> T:
    """The module itself, with a warning: see :func:`trace`."""
    warn("torch.jit.trace_module: there is no TorchScript here; the program runs as Python")
    return mod


class ScriptModule(Module):
    """The class of modules of TorchScript: those that :func:`load` read from files of PyTorch."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("ScriptModule")


class ScriptFunction:
    """The class of functions of TorchScript. No function here is one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("ScriptFunction")


#: The entry of an archive that says that its modules are ours, and the release of their form.
MARK = "ferrograd_modules"


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Writes a module: its parameters, buffers and other attributes, and the names of its classes.

    The file holds no program. :func:`load` makes modules of the same classes, so a program that loads it imports them
    first. Attributes are kept that are tensors, numbers, text, modules, functions of torch, members of enumerations,
    and containers of these; a warning names others. PyTorch does not read the file. ``_extra_files`` are more entries
    by their names: text or bytes.

    >>> import io, ferrograd.torch as torch
    >>> file = io.BytesIO()
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Tanh())
    >>> torch.jit.save(model, file)
    >>> _ = file.seek(0)
    >>> x = torch.ones(3, 2)
    >>> torch.equal(torch.jit.load(file)(x), model(x))
    True

    Raises:
        FerrogradError: something that is no module, such as a function; a module with hooks; a class that is defined
            inside a function.
    """
    if not builtins.isinstance(m, Module):
        raise FerrogradError(
            f"torch.jit.save: modules are saved, not {type(m).__name__}: there is no TorchScript here. The method save "
            "of a compiled function, torch.compile(function), writes the program of one call"
        )
    extra = {f"extra/{name}": x.encode() if hasattr(x, "encode") else x for name, x in (_extra_files or {}).items()}
    write(module_files.described(m), f, 2, {MARK: b"1", **extra})


class RecursiveScriptModule(ScriptModule):
    """A module of TorchScript that was read from a file: its weights and attributes, without a program that runs.

    ``state_dict()``, ``named_parameters()`` and the like are those of any module, and :attr:`code` is the text of the
    program. ``model.load_state_dict(scripted.state_dict())`` gives the weights to a module of the same layers.
    """

    def __init__(self, original_name: str, code: str) -> None:
        Module.__init__(self)
        self.original_name, self.code = original_name, code

    def _get_name(self) -> str:
        return f"RecursiveScriptModule({self.original_name})"

    def forward(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises, and says how to go on from the weights."""
        raise FerrogradError(
            f"{self.original_name}: there is no TorchScript here, so a scripted module does not run. Make the module "
            "in Python as its code, the attribute code, says, and model.load_state_dict(scripted.state_dict())"
        )


def load(f: Any, map_location: Any = None, _extra_files: Any = None) -> Any:
    """The module in a file of :func:`save`, or of PyTorch's ``torch.jit.save``.

    The first is a module of the class that was saved; a program imports its classes before. A file makes nothing but
    modules of known classes, with the attributes that it says, and runs no code of its own.

    The second has the weights, and does not run. The state is that of the module that was scripted, so
    ``model.load_state_dict(torch.jit.load(file).state_dict())`` goes on from it. ``_extra_files`` gets the files of its
    names.

    Raises:
        UnpicklingError: a damaged file, one without a module, or a class that is not imported.
    """
    if map_location is not None:
        _core.check_device("load", map_location)
    if builtins.isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return load(file, _extra_files=_extra_files)
    try:
        archive, end = archives.open_archive(f)
        found = module_of(archive)
        for name in _extra_files or ():
            if f"extra/{name}" in archive.entries:
                _extra_files[name] = archive.text(f"extra/{name}")
    except (pickle.UnpicklingError, OSError, MemoryError):
        raise
    except Exception as error:
        raise pickle.UnpicklingError(f"torch.jit.load: the file is damaged: {error!r}") from error
    f.seek(end)
    return found


class _Object:
    """An object of TorchScript as a pickle makes it: the path of its class, and its attributes."""

    path = ""

    def __new__(cls, *args: Any) -> _Object:
        return super().__new__(cls)

    def __init__(self, *args: Any) -> None:
        self.state: dict[str, Any] = {}

    def __setstate__(self, state: Any) -> None:
        self.state = state if builtins.isinstance(state, dict) else {}


class _ScriptUnpickler(archives.Unpickler):
    """Reads a module of TorchScript. Its classes are named by where their program stands."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == "__torch__":
            return type(name, (_Object,), {"path": f"{module}.{name}"})
        if module == "torch.jit._pickle" and name in _TAGS:
            return _first
        return super().find_class(module, name)


#: Functions that say the type of a container, or of its elements.
_TAGS = {"build_boollist", "build_doublelist", "build_intlist", "build_tensorlist", "restore_type_tag"}


def _first(data: Any, *_: Any) -> Any:
    return data


def module_of(archive: archives.Archive) -> Any:
    """The module that an archive holds."""
    if MARK in archive.entries:
        if archive.text(MARK) != b"1":
            raise pickle.UnpicklingError("the file is of a newer release of ferrograd")
        data = io.BytesIO(archive.text("data.pkl"))
        with no_grad():
            return module_files.restored(archives.Unpickler(data, archive.memory, True).load())
    if "data.pkl" not in archive.entries or "constants.pkl" not in archive.entries:
        raise pickle.UnpicklingError("the file holds no module of TorchScript")
    with no_grad():
        found = _ScriptUnpickler(io.BytesIO(archive.text("data.pkl")), archive.memory, True).load()
    if not builtins.isinstance(found, _Object):
        raise pickle.UnpicklingError("the file holds no module of TorchScript")
    return _made(found, archive, {})


def _made(found: _Object, archive: archives.Archive, known: dict[int, Any]) -> RecursiveScriptModule:
    """A module with the weights, modules and other attributes of an object."""
    if id(found) in known:
        return known[id(found)]
    code = _code(found.path, archive)
    parameters, buffers = _listed(code, "parameters"), _listed(code, "buffers")
    made: Any = known.setdefault(id(found), RecursiveScriptModule(type(found).__name__, code))
    for name, value in found.state.items():
        if builtins.isinstance(value, _Object):
            made._modules[name] = _made(value, archive, known)
        elif builtins.isinstance(value, Tensor) and parameters is not None and name in parameters:
            # A tensor of two names is one parameter.
            made._parameters[name] = known.setdefault(id(value), Parameter(value.detach(), value.requires_grad))
        elif builtins.isinstance(value, Tensor) and (buffers is None or name in buffers):
            made._buffers[name] = value
        elif value is None and name in (*(parameters or ()), *(buffers or ())):
            made.register_parameter(name, None)
        elif not hasattr(type(made), name):
            vars(made)[name] = value
    return made


def _code(path: str, archive: archives.Archive) -> str:
    """The text of a class of TorchScript."""
    module, _, name = path.rpartition(".")
    entry = f"code/{module.replace('.', '/')}.py"
    text = archive.text(entry).decode(errors="replace") if entry in archive.entries else ""
    begin = re.search(rf"^class {re.escape(name)}\(", text, re.MULTILINE)
    if begin is None:
        return ""
    end = re.search(r"^(class|def) ", text[begin.end() :], re.MULTILINE)
    return text[begin.start() : begin.end() + end.start() if end else None]


def _listed(code: str, what: str) -> list[str] | None:
    """The names of parameters or buffers that a class lists; None where it lists none of the kind."""
    found = re.search(rf"^  __{what}__ = \[(.*?)\]", code, re.MULTILINE)
    return None if found is None else re.findall(r'"([^"]*)"', found[1])


__dir__ = _public.names(globals())
