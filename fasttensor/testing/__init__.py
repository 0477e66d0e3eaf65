"""Tools for tests of programs that use tensors: `assert_close` and `make_tensor`."""
from .comparison import assert_allclose, assert_close
from .creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
