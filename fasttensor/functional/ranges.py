"""Functions that make tensors from formulas: ranges, identity matrices, triangles' indices."""

import math
import warnings

from fasttensor._core.device import get_default_device
from fasttensor._core.dispatch import backend_of
from fasttensor._core.dtype import DTYPES, get_default_dtype
from fasttensor._core.element import check_holds
from fasttensor._core.tensor import Tensor
from fasttensor.autograd.checks import int_of, real_number
from fasttensor.autograd.outputs import fit
from fasttensor.cpu import creation as kernels
from fasttensor.functional.common import need_out
from fasttensor.functional.creation import COMPLEX_OF, as_dtype, dtype_code, finish, makers, need_pinning, number, only_strided

_int64, _bool, _uint8 = DTYPES["int64"], DTYPES["bool"], DTYPES["uint8"]
_CODE_OF_INT64 = dtype_code(_int64)


def _range_dtype(op, dtype, *numbers):
    dtype = as_dtype(dtype)
    if dtype is None:
        return _int64 if all(isinstance(n, int) for n in numbers) else get_default_dtype()
    if dtype is _bool or dtype.is_complex:
        raise NotImplementedError(
            f'"{op}_cpu" not implemented for {dtype.name}: use an integer or floating-point dtype'
        )
    return dtype


def _bounds(op, start, end, step):
    start, end, step = number(op, "start", start), number(op, "end", end), number(op, "step", step)
    for value in (start, end, step):
        if isinstance(value, complex):
            raise RuntimeError(f"{op}: bounds and step must be real, got {value}")
    if step == 0:
        raise RuntimeError(f"{op}: step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"{op}: unsupported range: {start} -> {end}")
    if (end < start) if step > 0 else (end > start):
        raise RuntimeError(f"{op}: upper bound and lower bound inconsistent with step sign: from {start} to {end} by {step}")
    return start, end, step


def _length(op, steps, rounded):
    """The number of values, from the real number of steps."""
    if not abs(steps) <= 1 << 62:
        raise RuntimeError(f"{op}: invalid size, possible overflow? The range has {steps} steps")
    return rounded(steps)


def finish_range(name, made, out, requires_grad, device=None):
    # an output with the right number of elements keeps its shape and is filled in its order, as in PyTorch
    if out is not None:
        if out.numel() == made.numel():
            made = made.view(out.shape)
        elif name == "arange" and out.numel():       # the only range that warns
            fit(out, made.shape, name)
    return finish(made, out, requires_grad, device)


def arange(
    *bounds,
    start=None,
    end=None,
    step=None,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """Values from ``start`` (0) by ``step`` (1) to below ``end``: ``ceil((end - start) / step)`` of them.

    The dtype is int64 when all three are ints, else the default floating-point type.
    Raises RuntimeError for a zero step, an infinite range, or bounds that the step leads away from.

    >>> torch.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("arange", layout)
    if (
        len(bounds) == 1
        and type(bounds[0]) is int
        and 0 <= bounds[0] < 1 << 59
        and start is end is step is out is dtype is device is None
        and get_default_device().type == "cpu"
    ):
        made = kernels.arange(0, 1, bounds[0], _CODE_OF_INT64)
        if requires_grad:
            made.requires_grad = True
        return made
    if len(bounds) > 3 or not bounds and end is None:
        raise TypeError(
            f"arange() received an invalid combination of arguments - got {len(bounds)} bounds, but expected (end), (start, end) or (start, end, step)"
        )
    if len(bounds) == 1 and start is None and end is None:
        end = bounds[0]
    elif len(bounds) == 1 and start is None:
        start = bounds[0]
    elif len(bounds) >= 2:
        start, end = bounds[:2]
        step = bounds[2] if len(bounds) == 3 else step
    elif len(bounds) == 1:
        end = bounds[0]
    start, end, step = _bounds("arange", 0 if start is None else start, end, 1 if step is None else step)
    need_out("arange", out)
    dtype = _range_dtype("arange", out.dtype if dtype is None and out is not None else dtype, start, end, step)
    if dtype is _int64:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("arange: step must be nonzero, but is rounded to 0 in int64: give a floating-point dtype")
        n = max(-((start - end) // step), 0)
    else:
        n = _length("arange", (float(end) - float(start)) / step, math.ceil)
        if not dtype.is_floating_point:
            start, step = int(start), int(step)
    if n > 1 << 59:
        raise RuntimeError(f"arange: Storage size calculation overflowed with sizes=[{n}]")
    return finish_range("arange", makers(out, device).arange(start, step, n, dtype_code(dtype)), out, requires_grad, device)


def range(
    start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):
    """Values from ``start`` by ``step`` up to and including ``end``: ``floor((end - start) / step) + 1`` of them.

    Deprecated: prefer ``arange``. The default dtype is the default floating-point type. Raises RuntimeError for a zero step, an infinite
    range, or bounds that the step leads away from.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     print(torch.range(1, 2, 0.5))
    tensor([1.0000, 1.5000, 2.0000])
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("range", layout)
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's range "
        "builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    if end is None:
        raise TypeError('range() missing 1 required positional argument: "end"')
    need_out("range", out)
    start, end, step = _bounds("range", start, end, step)
    dtype = _range_dtype("range", dtype, 0.5)
    n = _length("range", (float(end) - float(start)) / step, int) + 1
    return finish_range("range", makers(out, device).arange(start, step, n, dtype_code(dtype)), out, requires_grad, device)


def _unknown_ends(start, end, out, device):
    """Bounds of a range on meta, where the value of a meta tensor is not known and only the length matters."""
    if any(isinstance(value, Tensor) and value.is_meta for value in (start, end)) and makers(out, device) is backend_of("meta"):
        return 0, 0
    return start, end


def _line_arguments(op, start, end, steps, dtype, *more):
    start, end = number(op, "start", start), number(op, "end", end)
    if not isinstance(steps, int):
        steps = number(op, "steps", steps)
    if isinstance(steps, float):
        raise TypeError(f"{op}(): argument 'steps' must be int, not float")
    if steps < 0:
        raise RuntimeError(f"{op}: number of steps must be non-negative, got {steps}")
    dtype = as_dtype(dtype)
    complex_input = any(isinstance(v, complex) for v in (start, end, *more))
    if dtype is None:
        dtype = COMPLEX_OF.get(get_default_dtype().name, DTYPES["complex64"]) if complex_input else get_default_dtype()
    elif complex_input and not dtype.is_complex:
        raise RuntimeError(
            f"torch.{op}(): inferred dtype of complex bounds can't be safely cast to passed dtype {dtype}"
        )
    elif dtype is _bool:
        raise NotImplementedError(f'"{op}_cpu" not implemented for bool: use an integer or floating-point dtype')
    if steps > 1:
        start, end = _held(dtype, start), _held(dtype, end)
    return start, end, int(steps), dtype


def _held(dtype, bound):
    """A bound that the dtype holds; RuntimeError for others. Negative ones of uint8 are its bytes."""
    if dtype is _uint8 and -256 < bound < 0:
        return bound + 256
    check_holds(dtype, bound)
    return bound


def linspace(
    start, end, steps, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):
    """``steps`` evenly spaced values from ``start`` to ``end``, both included.

    Shape (steps,); the default float dtype (complex for complex bounds), or `dtype`. RuntimeError for negative `steps`, TypeError for a float.

    >>> torch.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if pin_memory:
        need_pinning()
    steps = int_of(steps, "linspace", "steps")
    if layout is not None:
        only_strided("linspace", layout)
    need_out("linspace", out)
    if dtype is None and out is not None:
        dtype = out.dtype
    start, end = _unknown_ends(start, end, out, device)
    start, end, steps, dtype = _line_arguments("linspace", start, end, steps, dtype)
    return finish_range("linspace", makers(out, device).linspace(start, end, steps, dtype_code(dtype)), out, requires_grad, device)


def logspace(
    start,
    end,
    steps,
    base=10.0,
    *,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """``base`` raised to ``steps`` evenly spaced exponents from ``start`` to ``end``.

    Shape (steps,); the default float dtype (complex for complex bounds), or `dtype`. RuntimeError for negative `steps`, TypeError for a float.

    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    if pin_memory:
        need_pinning()
    steps = int_of(steps, "logspace", "steps")
    real_number(base, "logspace", "base")
    if layout is not None:
        only_strided("logspace", layout)
    need_out("logspace", out)
    if dtype is None and out is not None:
        dtype = out.dtype
    start, end = _unknown_ends(start, end, out, device)
    start, end, steps, dtype = _line_arguments("logspace", start, end, steps, dtype, base)
    if dtype.is_complex or isinstance(base, complex):
        exponents = makers(out, device).linspace(start, end, steps, dtype_code(DTYPES["complex128"]))
        return finish_range("logspace", (exponents * math.log(base)).exp().to(dtype), out, requires_grad, device)
    if not dtype.is_floating_point:
        start, end = int(start), int(end)
    return finish_range("logspace", makers(out, device).logspace(start, end, steps, float(base), dtype_code(dtype)), out, requires_grad, device)


def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """The n x m matrix (m = n by default) with ones on its diagonal and zeros elsewhere.

    The default float dtype, or `dtype`. RuntimeError for negative sizes.

    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    if pin_memory:
        need_pinning()
    n = int_of(n, "eye", "n")
    if m is not None:
        m = int_of(m, "eye", "m")
    if layout is not None:
        only_strided("eye", layout)
    m = n if m is None else m
    for name, value in (("n", n), ("m", m)):
        if value < 0:
            raise RuntimeError(f"eye: {name} must be greater or equal to 0, got {value}")
    dtype = as_dtype(dtype)
    if dtype is None:
        need_out("eye", out)
        dtype = get_default_dtype() if out is None else out.dtype
    return finish(makers(out, device).eye(n, m, dtype_code(dtype)), out, requires_grad, device)


def _triangle(op, row, col, offset, dtype, device, upper):
    dtype = _int64 if dtype is None else as_dtype(dtype)
    if row < 0 or col < 0:
        raise RuntimeError(f"{op}: row and col must be non-negative, got {row} and {col}")
    if dtype.name not in ("int32", "int64"):
        raise NotImplementedError(f'"{op}" not implemented for {dtype.name}: use int32 or int64')
    # the upper triangle is what the lower one below it leaves
    count = row * col - _lower(row, col, offset - 1) if upper else _lower(row, col, offset)
    if count > 1 << 58:
        raise RuntimeError(f"{op}: Storage size calculation overflowed with sizes=[2, {count}]")
    return finish_range("tril_indices", makers(None, device).triangle_indices(row, col, offset, upper, count, dtype_code(dtype)), None, False, device)


def _lower(rows, cols, offset):
    """How many elements lie on and below a diagonal: row i has min(max(i + offset + 1, 0), cols) of them."""
    first = max(-offset, 0)                             # rows before have none
    full = min(max(cols - offset - 1, first), rows)     # rows from here have all
    if first >= rows:
        return 0
    return (full - first) * (first + full + 1 + 2 * offset) // 2 + (rows - full) * cols


def tril_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False):
    """Row and column numbers, int64 of shape (2, count), of a row x col matrix's lower triangle, row by row.

    ``offset`` moves the triangle's edge above the main diagonal, or below if negative. Raises RuntimeError for negative sizes.

    >>> torch.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    if pin_memory:
        need_pinning()
    row = int_of(row, "tril_indices", "row")
    col = int_of(col, "tril_indices", "col")
    offset = int_of(offset, "tril_indices", "offset")
    return _triangle("tril_indices", row, col, offset, dtype, device, False)


def triu_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False):
    """Row and column numbers, int64 of shape (2, count), of a row x col matrix's upper triangle, row by row.

    ``offset`` moves the triangle's edge above the main diagonal, or below if negative. Raises RuntimeError for negative sizes.

    >>> torch.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    if pin_memory:
        need_pinning()
    row = int_of(row, "triu_indices", "row")
    col = int_of(col, "triu_indices", "col")
    offset = int_of(offset, "triu_indices", "offset")
    return _triangle("triu_indices", row, col, offset, dtype, device, True)


__all__ = ["arange", "range", "linspace", "logspace", "eye", "tril_indices", "triu_indices"]
METHODS = {}
