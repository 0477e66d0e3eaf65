"""What tests share: the oracle, comparisons, the rows of the operation table."""
import math

import pytest

import fasttensor
from fasttensor._optable.dtypes import BY_NAME
from fasttensor._optable.table import OPS

# Absolute and relative tolerances by dtype.
TOLERANCE = {"float16": (1e-3, 1e-2), "bfloat16": (1e-2, 2e-2), "float32": (2e-5, 2e-4), "float64": (1e-9, 1e-7),
             "complex64": (2e-5, 2e-4), "complex128": (1e-9, 1e-7)}


def oracle():
    """PyTorch, or a skipped test where it is not installed."""
    torch = pytest.importorskip("torch", reason="needs PyTorch to compare with")
    torch.set_num_threads(1)
    return torch


def dtype_name(value):
    """"float32" of a dtype, or of a tensor's dtype, of either library."""
    return str(getattr(value, "dtype", value)).rsplit(".", 1)[-1]


def to_oracle(value):
    """PyTorch's value of a fasttensor value, containers included."""
    import torch
    if isinstance(value, fasttensor.Tensor):
        plain = value.detach()
        if dtype_name(plain) == "bfloat16":
            out = torch.from_numpy(plain.float().numpy().copy()).to(torch.bfloat16)
        else:
            out = torch.from_numpy(plain.numpy().copy())
        return out.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(to_oracle(v) for v in value)
    if isinstance(value, dict):
        return {k: to_oracle(v) for k, v in value.items()}
    return value


def from_oracle(value):
    """fasttensor's value of a PyTorch value, containers included."""
    import torch
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        if plain.dtype == torch.bfloat16:
            out = fasttensor.from_numpy(plain.float().numpy().copy()).to(fasttensor.bfloat16)
        else:
            out = fasttensor.from_numpy(plain.numpy().copy())
        return out.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(from_oracle(v) for v in value)
    if isinstance(value, dict):
        return {k: from_oracle(v) for k, v in value.items()}
    return value


def to_lists(value):
    """Plain numbers in nested lists, from a tensor of either library, an array or a sequence."""
    if hasattr(value, "detach"):
        value = value.detach()
    return value.tolist() if hasattr(value, "tolist") else value


def assert_close(actual, expected, rtol=None, atol=None, what=""):
    """Fails unless shapes agree and values do within the tolerance of the actual's dtype; NaN equals NaN."""
    default = TOLERANCE.get(dtype_name(actual), (0, 0)) if hasattr(actual, "dtype") else (1e-9, 1e-7)
    atol = default[0] if atol is None else atol
    rtol = default[1] if rtol is None else rtol
    if hasattr(actual, "shape") and hasattr(expected, "shape"):
        assert tuple(actual.shape) == tuple(expected.shape), (
            f"{what} shape {tuple(actual.shape)}, expected {tuple(expected.shape)}")
    if hasattr(actual, "dtype") and hasattr(expected, "dtype") and not isinstance(expected, (list, tuple)):
        assert dtype_name(actual) == dtype_name(expected), (
            f"{what} dtype {dtype_name(actual)}, expected {dtype_name(expected)}")
    _compare(to_lists(actual), to_lists(expected), rtol, atol, what, ())


def _compare(a, e, rtol, atol, what, at):
    if isinstance(e, (list, tuple)):
        assert isinstance(a, (list, tuple)) and len(a) == len(e), f"{what} at {at}: {a!r}, expected {e!r}"
        for i, (x, y) in enumerate(zip(a, e)):
            _compare(x, y, rtol, atol, what, (*at, i))
        return
    if a == e:
        return
    parts = [(a.real, e.real), (a.imag, e.imag)] if isinstance(e, complex) or isinstance(a, complex) else [(a, e)]
    for x, y in parts:
        both_nan = math.isnan(x) and math.isnan(y)
        assert both_nan or x == y or abs(x - y) <= atol + rtol * abs(y), f"{what} at {at}: {a!r}, expected {e!r}"


def rows(kinds=("float",), public=True):
    """pytest parameters (row, dtype name) of the operation table."""
    return [pytest.param(op, name, id=f"{op.name}-{name}") for op in OPS if not (public and op.private)
            for name in op.dtypes if BY_NAME[name].kind in kinds]
