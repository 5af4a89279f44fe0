"""The worker that passes wrong arguments to every public function written in Python, in the dialects too.

``python -m tests.reliability.bad_calls BLACKBOX SHARE MODULE:NAME...``, as :mod:`tests.reliability.bad_arguments`.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ferrograd as fg
from ferrograd import _core, paddle

from tests.reliability import limit
from tests.reliability.bad_arguments import MEMORY, PROMISED, Walk, brief

#: Functions written in Python raise the library's exceptions or Python's built-in ones, or warn. DLPack's protocol has
#: BufferError for what cannot be exported.
ALLOWED = (*PROMISED, ValueError, BufferError, ImportError, OSError, NotImplementedError, Warning)

#: Functions that read and write files would use any path they are given; ``spawn`` and its other name would start any
#: number of processes. ``assert_close`` and its like are there to raise AssertionError.
#: ``main`` and ``parse_args`` end the process, and SciPy's ``yn`` is a SystemError where its warning of a number that
#: is no integer is an error.
LEFT_OUT = {
    "assert_allclose",
    "assert_close",
    "check_equivalent",
    "main",
    "parse_args",
    "yn",
    "save",
    "load",
    "spawn",
    "start_processes",
}


def modules() -> list[str]:
    """The public modules."""
    found = ["ferrograd", *(m.name for m in pkgutil.walk_packages(fg.__path__, "ferrograd."))]
    return [m for m in found if not any(part.startswith("_") for part in m.split("."))]


def is_of_c(value: object) -> bool:
    return isinstance(value, types.BuiltinFunctionType)


def functions() -> dict[str, Callable[..., Any]]:
    """The public functions that are defined in Python: each under the first of its names, ``module:name``."""
    found: dict[Callable[..., Any], str] = {}
    for module in modules():
        place = importlib.import_module(module)
        for name in getattr(place, "__all__", [n for n in vars(place) if not n.startswith("_")]):
            value = getattr(place, name)
            # Where a program has subclasses of tensors, functions in Python stand in the place of some in C.
            value = value.__wrapped__ if is_of_c(getattr(value, "__wrapped__", None)) else value
            own = isinstance(value, types.FunctionType) and value.__module__.startswith("ferrograd")
            if own and name not in LEFT_OUT:
                found.setdefault(value, f"{module}:{name}")
    return {name: function for function, name in found.items()}


class Call(Walk):
    """Calls one function with one wrong parameter at a time."""

    def attempt(self, args: list[Any]) -> None:
        label = f"{self.names[0]}({', '.join(map(brief, args))})"
        os.pwrite(self.box, label.encode("utf8", "replace").ljust(2000)[:2000], 0)
        try:
            self.function(*args)
        except ALLOWED as e:
            if isinstance(e, _core.InternalError):
                self.note(label, f"a defect: {e}")
        except BaseException as e:
            self.note(label, f"{type(e).__name__} is not promised: {e}")
        finally:
            _core.set_grad_mode(True)

    def wrongly(self) -> None:
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        params = [p for p in inspect.signature(self.function).parameters.values() if p.kind in kinds]
        self.attempt([])
        self.attempt([None] * 30)
        for i in range(len(params)):
            for value in self.values("Tensors"):
                x = fg.tensor([1.0, 2.0], requires_grad=True)
                args = [x * x if p.default is p.empty else p.default for p in params[: i + 1]]
                args[i] = value
                args += [x * x for p in params[i + 1 :] if p.default is p.empty]
                self.attempt(args)


def main() -> None:
    """Walks the functions named on the command line."""
    limit.memory(MEMORY)
    box = os.open(Path(sys.argv[1]), os.O_RDWR | os.O_CREAT)
    Walk.share = int(sys.argv[2])
    every = functions()
    zeros = paddle.nn.initializer.Constant(0.0)
    for name in sys.argv[3:]:
        # To draw the weights of whole networks would take most of the time.
        paddle.nn.initializer.set_global_initializer(zeros, zeros)
        Call([name.replace(":", ".")], every[name], box).wrongly()


if __name__ == "__main__":
    main()
