"""The dtypes of the library, in the order of their codes.

Standard library only: the build imports this before anything is compiled.
"""

from typing import NamedTuple


class Dtype(NamedTuple):
    """One dtype: its code, suffix in generated names, and the suffix of the type it computes in."""

    name: str
    code: int
    suffix: str
    compute: str
    real: str
    itemsize: int
    kind: str  # "bool", "int", "float" or "complex"


DTYPES = (
    Dtype("bool", 0, "bool", "bool", "bool", 1, "bool"),
    Dtype("uint8", 1, "u8", "u8", "u8", 1, "int"),
    Dtype("int8", 2, "i8", "i8", "i8", 1, "int"),
    Dtype("int16", 3, "i16", "i16", "i16", 2, "int"),
    Dtype("int32", 4, "i32", "i32", "i32", 4, "int"),
    Dtype("int64", 5, "i64", "i64", "i64", 8, "int"),
    Dtype("float16", 6, "f16", "f32", "f16", 2, "float"),
    Dtype("bfloat16", 7, "bf16", "f32", "bf16", 2, "float"),
    Dtype("float32", 8, "f32", "f32", "f32", 4, "float"),
    Dtype("float64", 9, "f64", "f64", "f64", 8, "float"),
    Dtype("complex64", 10, "c64", "c64", "f32", 8, "complex"),
    Dtype("complex128", 11, "c128", "c128", "f64", 16, "complex"),
)
BY_NAME = {d.name: d for d in DTYPES}
BY_SUFFIX = {d.suffix: d for d in DTYPES}

BOOL = ("bool",)
INT = ("uint8", "int8", "int16", "int32", "int64")
SIGNED = ("int8", "int16", "int32", "int64")
HALF = ("float16", "bfloat16")
SINGLE = ("float32", "float64")
FLOAT = HALF + SINGLE
COMPLEX = ("complex64", "complex128")
REAL = INT + FLOAT
NUMERIC = REAL + COMPLEX
ALL = BOOL + NUMERIC
