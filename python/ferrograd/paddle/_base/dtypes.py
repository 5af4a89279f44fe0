"""Dtypes under Paddle's names."""

from __future__ import annotations

from ferrograd._kit.dialect import PADDLE
from ferrograd._tensor.dtypes import dtype, dtype_of

__all__ = [
    "bfloat16",
    "bool",
    "cdouble",
    "cfloat",
    "complex64",
    "complex128",
    "double",
    "dtype",
    "float",
    "float16",
    "float32",
    "float64",
    "half",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

bool = dtype_of("bool", PADDLE)
uint8 = dtype_of("uint8", PADDLE)
uint32 = dtype_of("uint32", PADDLE)
uint64 = dtype_of("uint64", PADDLE)
int8 = dtype_of("int8", PADDLE)
int16 = dtype_of("int16", PADDLE)
int32 = dtype_of("int32", PADDLE)
int64 = dtype_of("int64", PADDLE)
float16 = dtype_of("float16", PADDLE)
bfloat16 = dtype_of("bfloat16", PADDLE)
float32 = dtype_of("float32", PADDLE)
float64 = dtype_of("float64", PADDLE)
complex64 = dtype_of("complex64", PADDLE)
complex128 = dtype_of("complex128", PADDLE)
half, float, double = float16, float32, float64
cfloat, cdouble = complex64, complex128
#: Paddle keeps bfloat16 under this name too.
uint16 = bfloat16
