"""Comparing tensors, numbers, and containers of them: `assert_close`."""
import cmath
import math
import numbers
import warnings
from collections.abc import Mapping, Sequence

from fasttensor import Tensor, as_tensor, bool as bool_, promote_types

__all__ = ["assert_close", "assert_allclose"]

# rtol and atol by dtype; what is not here (integers, bool) must be equal.
TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
              "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7)}


class Differ(Exception):
    """Two values are not close; `path` are the keys that lead to them."""

    def __init__(self, text, path):
        super().__init__(text)
        self.text, self.path = text, path


class Options:
    """The arguments of assert_close."""

    def __init__(self, **given):
        self.__dict__.update(given)
        if (self.rtol is None) != (self.atol is None):
            missing = "atol" if self.atol is None else "rtol"
            raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")

    def tolerances(self, *names):
        """(rtol, atol): the given ones, or the largest of those of the dtypes."""
        if self.rtol is not None:
            return self.rtol, self.atol
        return tuple(map(max, zip(*(TOLERANCES.get(name, (0.0, 0.0)) for name in names))))


def up_to(tolerance):
    return f" (up to {tolerance} allowed)"


def compare_tensors(a, b, options, path):
    """Raise Differ where two tensors differ in an attribute or by more than the tolerances."""
    def attribute(name, ours, theirs):
        if ours != theirs:
            raise Differ(f"The values for attribute '{name}' do not match: {ours} != {theirs}.", path)

    attribute("shape", a.shape, b.shape)
    if options.check_device:
        attribute("device", a.device, b.device)
    if options.check_dtype:
        attribute("dtype", a.dtype, b.dtype)
    if options.check_layout:
        attribute("layout", a.layout, b.layout)
    if options.check_stride:
        attribute("stride()", a.stride(), b.stride())
    rtol, atol = options.tolerances(a.dtype.name, b.dtype.name)
    a, b = a.detach().cpu(), b.detach().cpu()
    dtype = promote_types(a.dtype, b.dtype)
    a, b = a.to(dtype), b.to(dtype)
    close = a.isclose(b, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if not bool(close.all()):
        raise Differ(tensor_text(a, b, close, rtol, atol), path)


def tensor_text(a, b, close, rtol, atol):
    exact = rtol == 0 and atol == 0
    if a.ndim == 0:
        return scalar_text(a.item(), b.item(), rtol, atol)
    if not (a.is_floating_point() or a.is_complex()):
        a, b = a.long(), b.long()
    wrong = close.numel() - int(close.sum())
    lines = [f"Tensor-likes are not {'equal' if exact else 'close'}!", "",
             f"Mismatched elements: {wrong} / {close.numel()} ({wrong / close.numel():.1%})"]
    apart = (a - b).abs()
    relative = apart / b.abs()
    for kind, values, tolerance in (("absolute", apart, atol), ("relative", relative, rtol)):
        values = values.clone()
        values[close] = 0           # NaN that count as equal
        place = int(values.flatten().argmax())
        largest = values.flatten()[place].item()
        index = []
        for n in reversed(values.shape):
            place, i = divmod(place, n)
            index.insert(0, i)
        lines.append(f"Greatest {kind} difference: {largest} at index {tuple(index)}{'' if exact else up_to(tolerance)}")
    return "\n".join(lines)


def scalar_text(a, b, rtol, atol):
    exact = rtol == 0 and atol == 0
    apart = abs(a - b)
    relative = math.inf if b == 0 else apart / abs(b)
    return (f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {b} but got {a}.\n"
            f"Absolute difference: {apart}{'' if exact else up_to(atol)}\nRelative difference: {relative}{'' if exact else up_to(rtol)}")


def compare_numbers(a, b, options, path):
    """Raise Differ where two Python numbers differ."""
    if options.check_dtype and type(a) is not type(b):
        raise Differ(f"The (d)types do not match: {type(a)} != {type(b)}.", path)
    kinds = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
    rtol, atol = options.tolerances(*(next(name for kind, name in kinds.items() if isinstance(v, kind)) for v in (a, b)))
    nan = cmath.isnan(a) and cmath.isnan(b)
    if options.equal_nan and nan or a == b:
        return
    if nan or not cmath.isfinite(a) or not cmath.isfinite(b) or abs(a - b) > atol + rtol * abs(b):
        raise Differ(scalar_text(a, b, rtol, atol), path)


def is_array(x):
    return type(x).__module__ == "numpy" and hasattr(x, "dtype") and hasattr(x, "ndim")


def is_number(x):
    return isinstance(x, (bool, int, float, complex)) or isinstance(x, numbers.Number) and is_array(x)


def compare(a, b, options, path=()):
    """Raise Differ where two values differ, TypeError for what cannot be compared."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        missing, more = [k for k in b if k not in a], [k for k in a if k not in b]
        if missing or more:
            text = "The keys of the mappings do not match:"
            if missing:
                text += f"\nMissing keys in the actual mapping: {sorted(missing, key=str)}"
            if more:
                text += f"\nAdditional keys in the actual mapping: {sorted(more, key=str)}"
            raise Differ(text, path)
        for key in a:
            compare(a[key], b[key], options, (*path, key))
        return
    if isinstance(a, Sequence) and isinstance(b, Sequence) and not isinstance(a, str) and not isinstance(b, str):
        if len(a) != len(b):
            raise Differ(f"The length of the sequences mismatch: {len(a)} != {len(b)}", path)
        for i, pair in enumerate(zip(a, b)):
            compare(*pair, options, (*path, i))
        return
    if a is None or b is None:
        if a is not b:
            raise Differ(f"None mismatch: {a} is not {b}", path)
        return
    if is_number(a) and is_number(b):
        a, b = (x.item() if is_array(x) else x for x in (a, b))
        return compare_numbers(a, b, options, path)
    if (isinstance(a, Tensor) or is_array(a)) and (isinstance(b, Tensor) or is_array(b)):
        related = issubclass(type(a), type(b)) or issubclass(type(b), type(a))
        if related if options.allow_subclasses else type(a) is type(b):
            return compare_tensors(as_tensor(a), as_tensor(b), options, path)
    where = f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}" if path else ""
    raise TypeError(f"No comparison pair was able to handle inputs of type {type(a)} and {type(b)}.{where}")


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True, check_dtype=True,
                 check_layout=True, check_stride=False, msg=None):
    """AssertionError unless ``|actual - expected| <= atol + rtol * |expected|`` for every element.

    Takes tensors, arrays, numbers, None, and nested sequences and mappings of them. Without tolerances they follow the
    dtypes: 1.3e-6 and 1e-5 for float32, 1e-7 for float64, none for integers. `msg` replaces the message, or a function
    changes it. Raises ValueError where only one tolerance is given, TypeError for what cannot be compared.

    >>> import fasttensor as torch
    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
    """
    __tracebackhide__ = True        # pytest shows the caller
    options = Options(allow_subclasses=allow_subclasses, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=check_device,
                      check_dtype=check_dtype, check_layout=check_layout, check_stride=check_stride)
    try:
        compare(actual, expected, options)
        return
    except Differ as difference:
        text = difference.text
        if difference.path:
            text += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in difference.path)}"
    raise AssertionError(text if msg is None else msg(text) if callable(msg) else msg)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """`assert_close` under its older name, which compares across dtypes and devices."""
    warnings.warn("`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
                  "`torch.testing.assert_close()` instead.", FutureWarning, stacklevel=2)
    if not isinstance(actual, Tensor):
        actual = as_tensor(actual)
    if not isinstance(expected, Tensor):
        expected = as_tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None and actual.dtype is not bool_:
        rtol, atol = TOLERANCES.get(actual.dtype.name, (0.0, 0.0))
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False, check_stride=False, msg=msg or None)
