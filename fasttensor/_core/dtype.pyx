"""Element types: PyTorch's names, sizes and promotion lattice."""

ITEMSIZE[:] = [1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16]

cdef tuple NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16",
                    "float32", "float64", "complex64", "complex128")
# Other names under which PyTorch offers the same objects.
ALIASES = {"half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32",
           "long": "int64", "cfloat": "complex64", "cdouble": "complex128"}
cdef list ALL = []
cdef int _default = FLOAT32


cdef class dtype:
    """An element type, for example ``fasttensor.float32``.

    Attributes: ``itemsize`` (bytes of one element), ``is_floating_point``, ``is_complex``, ``is_signed``.

    >>> torch.float16.itemsize, torch.float16.is_floating_point
    (2, True)
    """

    def __init__(self):
        raise TypeError("dtype objects are fixed: use one of fasttensor.float32, fasttensor.int64, ...")

    @property
    def is_floating_point(self):
        return is_float_code(self.code) if self.code >= 0 else self.name.startswith("float")

    @property
    def is_complex(self):
        return is_complex_code(self.code) or self.name == "complex32"

    @property
    def is_signed(self):
        return self.code != BOOL and not self.name.startswith(("uint", "quint"))

    def to_real(self):
        """The type of the real part."""
        return dtype_of(real_code(code_of(self)))

    def to_complex(self):
        """The complex type whose parts have this type."""
        return dtype_of(complex_code(code_of(self)))

    def __repr__(self):
        # PyTorch's spelling, since programs print and compare it.
        return "torch." + self.name

    def __reduce__(self):
        return by_name, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


def by_name(str name):
    """The dtype of a name such as "float32"."""
    return OTHERS[name] if name in OTHERS else ALL[NAMES.index(ALIASES.get(name, name))]


cdef _make():
    cdef int code
    cdef dtype made
    for code in range(NDTYPES):
        made = dtype.__new__(dtype)
        made.code, made.name, made.itemsize = code, NAMES[code], ITEMSIZE[code]
        ALL.append(made)
_make()
DTYPES = {made.name: made for made in ALL}

# Dtypes of PyTorch that no tensor has here. Programs list them in tables and compare with them; using one is an error.
OTHERS = {}
cdef _make_others():
    cdef dtype made
    cdef dict sizes = {"uint16": 2, "uint32": 4, "uint64": 8, "complex32": 4, "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1,
                       "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1, "float4_e2m1fn_x2": 1, "quint8": 1, "qint8": 1, "qint32": 4, "quint4x2": 1,
                       "quint2x4": 1}
    sizes.update((f"{kind}{bits}", 1) for kind in ("int", "uint") for bits in range(1, 8))
    for name, size in sizes.items():
        made = dtype.__new__(dtype)
        made.code, made.name, made.itemsize = -1, name, size
        OTHERS[name] = made
_make_others()


cdef int promote(int a, int b) noexcept nogil:
    """The smallest type that both convert to, as PyTorch's table has it."""
    cdef int low, high
    if a == b:
        return a
    low, high = (a, b) if a < b else (b, a)
    if category(low) != category(high):
        if high == COMPLEX64 and low == FLOAT64:
            return COMPLEX128
        return high
    if low == UINT8:        # no type below int16 holds both uint8 and int8
        return INT16 if high == INT8 else high
    if low == FLOAT16 and high == BFLOAT16:
        return FLOAT32
    return high


cdef int real_code(int code) noexcept nogil:
    return FLOAT32 if code == COMPLEX64 else FLOAT64 if code == COMPLEX128 else code


cdef int complex_code(int code) noexcept nogil:
    # float16 has no complex partner here; complex64 holds its products without loss.
    return code if code >= COMPLEX64 else COMPLEX128 if code == FLOAT64 else COMPLEX64


cdef int default_float() noexcept nogil:
    return _default


cdef int default_complex() noexcept nogil:
    return complex_code(_default)


cdef dtype dtype_of(int code):
    return <dtype>ALL[code]


cdef int code_of(object value) except -1:
    """The code of a dtype, or of one of Python's number types: float and complex are double precision, as in PyTorch."""
    if isinstance(value, dtype):
        if (<dtype>value).code < 0:
            raise NotImplementedError(f"{value}: there are no tensors of this dtype here; use another one, such as "
                                      f"{'torch.bfloat16' if value.is_floating_point else 'torch.complex64' if value.is_complex else 'torch.int32'}")
        return (<dtype>value).code
    if value is float:
        return FLOAT64
    if value is bool:
        return BOOL
    if value is int:
        return INT64
    if value is complex:
        return COMPLEX128
    raise TypeError(f"expected a fasttensor dtype such as fasttensor.float32, got {type(value).__name__} {value!r}")


def require_code(value):
    """The code of a dtype or number type; NotImplementedError for a dtype that no tensor has."""
    return code_of(value)


def get_default_dtype():
    """The floating-point type of new tensors made from Python floats.

    >>> import fasttensor
    >>> fasttensor.get_default_dtype()
    torch.float32
    """
    return dtype_of(_default)


def set_default_dtype(d):
    """Set the floating-point type of new tensors made from Python floats.

    Raises TypeError for a type that is not floating point.

    >>> torch.set_default_dtype(torch.float64)
    >>> torch.tensor(0.5).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    global _default
    cdef int code = code_of(d)
    if not is_float_code(code):
        raise TypeError(f"set_default_dtype: only floating-point types can be the default, got {d}")
    _default = code


def promote_types(type1, type2):
    """The smallest dtype to which both can be converted.

    >>> import fasttensor
    >>> fasttensor.promote_types(fasttensor.uint8, fasttensor.int8)
    torch.int16
    """
    return dtype_of(promote(code_of(type1), code_of(type2)))


def can_cast(from_, to):
    """Whether PyTorch's rules let a value of one dtype be stored in another without ``.to``.

    >>> import fasttensor
    >>> fasttensor.can_cast(fasttensor.float64, fasttensor.int32)
    False
    """
    return category(code_of(from_)) <= category(code_of(to))
