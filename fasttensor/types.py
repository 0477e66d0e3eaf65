"""Types that annotations name."""
import os
from builtins import (  # noqa: F401 - PyTorch names them here
    bool as _bool,
    bytes as _bytes,
    complex as _complex,
    float as _float,
    int as _int,
    str as _str,
)
from collections.abc import Sequence
from typing import IO, TypeAlias

from fasttensor import Size, Tensor, device, dtype, layout
from fasttensor.storage import TypedStorage, UntypedStorage

__all__ = ["Number", "Device", "FileLike", "Storage"]

Number: TypeAlias = int | float | bool
Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Storage: TypeAlias = TypedStorage | UntypedStorage


class SymInt:
    """A size that a compiler does not know yet. Never made: sizes here are ints, and ``isinstance`` answers False."""

    def __init__(self, node):
        raise RuntimeError("SymInt: nothing is traced here, so sizes and numbers are Python's: use int(), float() or bool()")


class SymFloat:
    """A number that a compiler does not know yet. Never made."""

    def __init__(self, node):
        raise RuntimeError("SymFloat: nothing is traced here, so sizes and numbers are Python's: use int(), float() or bool()")


class SymBool:
    """A condition that a compiler does not know yet. Never made."""

    def __init__(self, node):
        raise RuntimeError("SymBool: nothing is traced here, so sizes and numbers are Python's: use int(), float() or bool()")


_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = _TensorOrTensors
_dtype, _device, _layout = dtype, device, layout
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_symsize = _size
_dispatchkey = str
