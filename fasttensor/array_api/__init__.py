"""The Python array API standard (2025.12) over tensors: what ``Tensor.__array_namespace__()`` returns.

Functions have the standard's names and arguments, and its promotion of dtypes: a 0-d array counts like any other.
The operators of tensors are PyTorch's, in which it does not; ``x.size`` is PyTorch's method. The standard's uint16, uint32
and uint64 do not exist here.

>>> import fasttensor as torch
>>> xp = torch.ones(2).__array_namespace__()
>>> xp.sum(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=1, keepdims=True)
tensor([[3.],
        [7.]])

https://data-apis.org/array-api/2025.12
"""
from fasttensor import bool, complex64, complex128, e, float32, float64, inf, int8, int16, int32, int64, nan, newaxis, pi, uint8

from . import creation, data_types, elementwise, fft, linalg, manipulation, searching, statistical
from .creation import *  # noqa: F403
from .data_types import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .info import __array_namespace_info__
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import *  # noqa: F403
from .searching import *  # noqa: F403
from .statistical import *  # noqa: F403

__array_api_version__ = "2025.12"
__all__ = ["__array_api_version__", "__array_namespace_info__", "bool", "complex64", "complex128", "e", "float32", "float64", "inf", "int8", "int16",
           "int32", "int64", "nan", "newaxis", "pi", "uint8", "fft", "linalg", "matmul", "matrix_transpose", "tensordot", "vecdot",
           *creation.__all__, *data_types.__all__, *elementwise.__all__, *manipulation.__all__, *searching.__all__, *statistical.__all__]
