"""Dtypes under torch's names."""

from __future__ import annotations

import numpy as np

__all__ = [
    "bool",
    "cdouble",
    "cfloat",
    "complex64",
    "complex128",
    "double",
    "float",
    "float32",
    "float64",
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "long",
    "short",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

bool = np.dtype("bool")
uint8 = np.dtype("uint8")
uint16 = np.dtype("uint16")
uint32 = np.dtype("uint32")
uint64 = np.dtype("uint64")
int8 = np.dtype("int8")
int16 = short = np.dtype("int16")
int32 = int = np.dtype("int32")
int64 = long = np.dtype("int64")
float32 = float = np.dtype("float32")
float64 = double = np.dtype("float64")
complex64 = cfloat = np.dtype("complex64")
complex128 = cdouble = np.dtype("complex128")
