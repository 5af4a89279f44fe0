"""Compiled functions: what a program depends on, and the functions that keep programs.

A program from a file runs without what traces functions, which is imported when a name of it is first asked for.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

__all__ = ["CompileError", "CompiledFunction", "LoadedFunction", "compile", "debug_print", "forget", "load_compiled"]

if TYPE_CHECKING:
    from ferrograd._compile.function import CompiledFunction, CompileError, compile, forget
    from ferrograd._compile.loaded import LoadedFunction, load_compiled
    from ferrograd._compile.printing import debug_print
else:
    _MODULES = {"LoadedFunction": "loaded", "load_compiled": "loaded", "debug_print": "printing"}

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(_import_module(f"{__name__}.{_MODULES.get(name, 'function')}"), name)
        globals()[name] = value
        return value
