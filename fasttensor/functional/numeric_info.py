"""`finfo` and `iinfo`: the limits of the dtypes."""

from math import e, inf, nan, pi

from fasttensor._core.dtype import DTYPES, dtype, get_default_dtype

__all__ = ["finfo", "iinfo", "e", "inf", "nan", "pi", "newaxis"]
METHODS = {}

newaxis = None      # an index that adds a dimension

# bits, eps, max, smallest normal, resolution; bfloat16 as float32 cut to 16 bits
_FLOAT = {
    "float16": (16, 2.0 ** -10, 65504.0, 2.0 ** -14, 0.001),
    "bfloat16": (16, 2.0 ** -7, (2 - 2.0 ** -7) * 2.0 ** 127, 2.0 ** -126, 0.01),
    "float32": (32, 2.0 ** -23, (2 - 2.0 ** -23) * 2.0 ** 127, 2.0 ** -126, 1e-6),
    "float8_e4m3fn": (8, 0.125, 448.0, 2.0 ** -6, 1.0), "float8_e4m3fnuz": (8, 0.125, 240.0, 2.0 ** -7, 1.0),
    "float8_e5m2": (8, 0.25, 57344.0, 2.0 ** -14, 1.0), "float8_e5m2fnuz": (8, 0.25, 57344.0, 2.0 ** -15, 1.0),
    "float64": (64, 2.0 ** -52, (2 - 2.0 ** -52) * 2.0 ** 1023, 2.0 ** -1022, 1e-15),
}


class finfo:
    """The limits of a floating-point dtype (of the parts, for a complex one).

    >>> torch.finfo(torch.float32).eps
    1.1920928955078125e-07
    """
    __module__ = "fasttensor"

    def __init__(self, type=None):
        d = get_default_dtype() if type is None else DTYPES["float64"] if type is float else type
        if not isinstance(d, dtype) or not (d.is_floating_point or d.is_complex):
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{d}'")
        name = d.to_real().name if d.is_complex else d.name
        self.dtype = name
        self.bits, self.eps, self.max, self.tiny, self.resolution = _FLOAT[name]
        self.min, self.smallest_normal = -self.max, self.tiny

    def __repr__(self):
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")


class iinfo:
    """The limits of an integer dtype: ``bits``, ``min``, ``max``. TypeError for bool and for dtypes that are no integers.

    >>> torch.iinfo(torch.int8).max
    127
    """
    __module__ = "fasttensor"

    def __init__(self, type):
        if not isinstance(type, dtype) or type.is_floating_point or type.is_complex or type is DTYPES["bool"]:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'")
        self.dtype, self.bits = type.name, 8 * type.itemsize
        self.max = (1 << (self.bits - type.is_signed)) - 1
        self.min = -self.max - 1 if type.is_signed else 0

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
