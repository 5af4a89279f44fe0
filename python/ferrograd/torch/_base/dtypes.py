"""Dtypes under torch's names."""

from __future__ import annotations

from ferrograd._kit.dialect import TORCH
from ferrograd._tensor.dtypes import dtype, dtype_of

__all__ = [
    "bfloat16",
    "bits1x8",
    "bits2x4",
    "bits4x2",
    "bits8",
    "bits16",
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
    "float4_e2m1fn_x2",
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
    "int1",
    "int2",
    "int3",
    "int4",
    "int5",
    "int6",
    "int7",
    "int8",
    "int16",
    "int32",
    "int64",
    "long",
    "qint8",
    "qint32",
    "quint2x4",
    "quint4x2",
    "quint8",
    "short",
    "uint1",
    "uint2",
    "uint3",
    "uint4",
    "uint5",
    "uint6",
    "uint7",
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
float4_e2m1fn_x2 = dtype_of("float4_e2m1fn_x2", TORCH)
quint4x2 = dtype_of("quint4x2", TORCH)
quint2x4 = dtype_of("quint2x4", TORCH)
bits8 = dtype_of("bits8", TORCH)
bits16 = dtype_of("bits16", TORCH)
bits1x8 = dtype_of("bits1x8", TORCH)
bits2x4 = dtype_of("bits2x4", TORCH)
bits4x2 = dtype_of("bits4x2", TORCH)
int1 = dtype_of("int1", TORCH)
int2 = dtype_of("int2", TORCH)
int3 = dtype_of("int3", TORCH)
int4 = dtype_of("int4", TORCH)
int5 = dtype_of("int5", TORCH)
int6 = dtype_of("int6", TORCH)
int7 = dtype_of("int7", TORCH)
uint1 = dtype_of("uint1", TORCH)
uint2 = dtype_of("uint2", TORCH)
uint3 = dtype_of("uint3", TORCH)
uint4 = dtype_of("uint4", TORCH)
uint5 = dtype_of("uint5", TORCH)
uint6 = dtype_of("uint6", TORCH)
uint7 = dtype_of("uint7", TORCH)
