"""Compiled functions: what a program depends on, and the functions that keep programs."""

from ferrograd._compile.function import CompiledFunction, CompileError, compile, forget
from ferrograd._compile.loaded import LoadedFunction, load_compiled
from ferrograd._compile.printing import debug_print

__all__ = ["CompileError", "CompiledFunction", "LoadedFunction", "compile", "debug_print", "forget", "load_compiled"]
