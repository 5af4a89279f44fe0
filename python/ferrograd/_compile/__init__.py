"""Compiled functions: what a program depends on, and the functions that keep programs."""

from ferrograd._compile.function import CompiledFunction, CompileError, compile, forget

__all__ = ["CompileError", "CompiledFunction", "compile", "forget"]
