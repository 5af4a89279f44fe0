"""Dtypes under torch's names."""

from __future__ import annotations

from ferrograd._dialects.numbers import TORCH
from ferrograd._tensor.dtypes import dtype, dtype_of

__all__ = [
    "bfloat16",
    "bool",
    "cdouble",
    "cfloat",
    "chalf",
    "complex32",
    "complex64",
    "complex128",
    "double",
    "dtype",
    "float",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "half",
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "long",
    "qint8",
    "qint32",
    "quint8",
    "short",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

bool = dtype_of("bool", TORCH)
uint8 = dtype_of("uint8", TORCH)
uint16 = dtype_of("uint16", TORCH)
uint32 = dtype_of("uint32", TORCH)
uint64 = dtype_of("uint64", TORCH)
int8 = dtype_of("int8", TORCH)
int16 = short = dtype_of("int16", TORCH)
int32 = int = dtype_of("int32", TORCH)
int64 = long = dtype_of("int64", TORCH)
float16 = half = dtype_of("float16", TORCH)
bfloat16 = dtype_of("bfloat16", TORCH)
float32 = float = dtype_of("float32", TORCH)
float64 = double = dtype_of("float64", TORCH)
complex64 = cfloat = dtype_of("complex64", TORCH)
complex128 = cdouble = dtype_of("complex128", TORCH)

# No tensor has the dtypes from here on: programs compare the dtypes of tensors with them.
complex32 = chalf = dtype_of("complex32", TORCH)
float8_e4m3fn = dtype_of("float8_e4m3fn", TORCH)
float8_e4m3fnuz = dtype_of("float8_e4m3fnuz", TORCH)
float8_e5m2 = dtype_of("float8_e5m2", TORCH)
float8_e5m2fnuz = dtype_of("float8_e5m2fnuz", TORCH)
float8_e8m0fnu = dtype_of("float8_e8m0fnu", TORCH)
qint8 = dtype_of("qint8", TORCH)
qint32 = dtype_of("qint32", TORCH)
quint8 = dtype_of("quint8", TORCH)
