"""Tensors from Python numbers and nested sequences, without numpy.

Two passes over the data: one finds the dtype, one stores the values. Rows of one Python type,
the common case, cost a type check and a store an element.
"""
from cpython.object cimport PyObject
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.element cimport write_element, write_operand

cdef extern from "Python.h":
    bint PySequence_Check(object o)
    object PySequence_Fast(object o, const char *message)
    Py_ssize_t PySequence_Fast_GET_SIZE(object o)
    PyObject **PySequence_Fast_ITEMS(object o)
    Py_ssize_t PySequence_Size(object o) except -1
    bint PyFloat_CheckExact(object o)
    bint PyLong_CheckExact(object o)
    double PyFloat_AS_DOUBLE(object o)
    double PyLong_AsDouble(object o) except? -1.0
    long long PyLong_AsLongLong(object o) except? -1
    object PyNumber_Index(object o)

cdef extern from *:
    """
    static const long long ft_int_low[6] = {0, -255, -128, -32768, -2147483647LL - 1, 0};
    static const long long ft_int_high[6] = {1, 255, 127, 32767, 2147483647LL, 0};
    """
    const long long ft_int_low[6]
    const long long ft_int_high[6]


cdef int scalar_dtype(object data) except -2:
    """The dtype that one element asks for, -1 where it is not an element."""
    if PyFloat_CheckExact(data):
        return default_float()
    if PyLong_CheckExact(data):
        return INT64
    if isinstance(data, bool):
        return BOOL
    if isinstance(data, Tensor):
        return (<Tensor>data).code
    found = getattr(data, "dtype", None)        # numpy scalars, which may also be floats
    if found is not None and hasattr(found, "kind"):
        return numpy_code(found)
    if isinstance(data, float):
        return default_float()
    if isinstance(data, int):
        return INT64
    if isinstance(data, complex):
        return default_complex()
    return -1


NUMPY_CODES = {"bool": BOOL, "uint8": UINT8, "int8": INT8, "int16": INT16, "int32": INT32, "int64": INT64, "float16": FLOAT16,
               "float32": FLOAT32, "float64": FLOAT64, "complex64": COMPLEX64, "complex128": COMPLEX128, "bfloat16": BFLOAT16}


cdef dict seen_dtypes = {}           # numpy's dtypes that were asked for: their names are written anew at every look


cdef int numpy_code(object d) except -1:
    code = seen_dtypes.get(d)
    if code is not None:
        return code
    code = NUMPY_CODES.get(d.name)
    if code is not None and not d.isnative:
        raise ValueError(f"given numpy array has byte order different from the native byte order ({d.str}): convert it with .astype('{d.name}')")
    if code is None:
        raise TypeError(f"can't convert np.ndarray of type numpy.{d.name}. The only supported types are: "
                        "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint8, and bool.")
    if len(seen_dtypes) < 64:
        seen_dtypes[d] = code
    return code


cdef int infer(object data, int depth) except -2:
    """The dtype of nested data; -1 where it holds no element."""
    cdef int code, found = scalar_dtype(data)
    cdef object fast
    cdef PyObject **items
    cdef object item
    cdef Py_ssize_t i, n
    if found >= 0:
        return found
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not PySequence_Check(data) or isinstance(data, dict):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    if depth > MAX_DIMS:
        raise ValueError(f"too many dimensions '{type(data).__name__}': a tensor can have at most {MAX_DIMS}")
    fast = PySequence_Fast(data, b"not a sequence")
    items = PySequence_Fast_ITEMS(fast)
    n = PySequence_Fast_GET_SIZE(fast)
    found = -1
    i = 0
    while i < n:
        item = <object>items[i]
        # runs of one Python type are the common case
        if PyFloat_CheckExact(item) and found >= FLOAT16:
            found = promote(found, default_float())
        elif PyLong_CheckExact(item) and found == INT64:
            pass
        else:
            code = infer(item, depth + 1)
            if code >= 0:
                found = code if found < 0 else promote(found, code)
        i += 1
    return found


cdef int shape_of(object data, Py_ssize_t *sizes) except -1:
    cdef int rank = 0
    while PySequence_Check(data) and not isinstance(data, dict):
        if isinstance(data, (str, bytes)):
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if isinstance(data, Tensor) and (rank or (<Tensor>data).rank == 0):     # inside of a list it is one number
            break
        if getattr(data, "ndim", 1) == 0:       # numpy scalars and 0-d arrays
            break
        if rank == MAX_DIMS:
            raise ValueError(f"too many dimensions '{type(data).__name__}': a tensor can have at most {MAX_DIMS}")
        sizes[rank] = PySequence_Size(data)
        rank += 1
        if sizes[rank - 1] == 0:
            break
        data = data[0]
    return rank


cdef class Filler:
    """Writes nested data to memory, in order."""
    cdef char *at
    cdef int code
    cdef int rank
    cdef int size
    cdef Py_ssize_t *sizes

    cdef bint level(self, object data, int dim) except False:
        cdef object fast
        cdef PyObject **items
        cdef Py_ssize_t i, n = self.sizes[dim]
        if not PySequence_Check(data) or isinstance(data, dict):
            raise TypeError("not a sequence")
        if isinstance(data, Tensor) and (<Tensor>data).rank == 0:
            raise TypeError("not a sequence")
        fast = PySequence_Fast(data, b"not a sequence")
        if PySequence_Fast_GET_SIZE(fast) != n:
            raise ValueError(f"expected sequence of length {n} at dim {dim} (got {PySequence_Fast_GET_SIZE(fast)})")
        items = PySequence_Fast_ITEMS(fast)
        if dim == self.rank - 1:
            return self.row(items, n)
        for i in range(n):
            self.level(<object>items[i], dim + 1)
        return True

    cdef bint row(self, PyObject **items, Py_ssize_t n) except False:
        cdef Py_ssize_t i
        cdef object item
        if self.code == FLOAT32:
            for i in range(n):
                item = <object>items[i]
                (<float *>self.at)[i] = <float>(PyFloat_AS_DOUBLE(item) if PyFloat_CheckExact(item) else number(item))
            self.at += n * 4
        elif self.code == FLOAT64:
            for i in range(n):
                item = <object>items[i]
                (<double *>self.at)[i] = PyFloat_AS_DOUBLE(item) if PyFloat_CheckExact(item) else number(item)
            self.at += n * 8
        elif self.code == INT64:
            for i in range(n):
                (<long long *>self.at)[i] = integer(<object>items[i])
            self.at += n * 8
        else:
            for i in range(n):
                self.one(<object>items[i])
        return True

    cdef bint one(self, object item) except False:
        cdef long long v
        if isinstance(item, Tensor):
            item = only(<Tensor>item)
        if is_complex_code(self.code):
            write_operand(self.at, self.code, complex(item))
        elif is_float_code(self.code):
            write_operand(self.at, self.code, number(item))
        elif self.code == BOOL:
            if isinstance(item, (list, tuple, str, dict)) or item is None:
                raise TypeError(f"'{type(item).__name__}' object cannot be interpreted as a bool element")
            if not isinstance(item, (int, float, complex)) and type(item).__name__ not in ("bool", "bool_"):     # numpy's
                item = PyNumber_Index(item)
            self.at[0] = 1 if item else 0
        else:
            if isinstance(item, float):
                write_element(self.at, self.code, item)
                self.at += self.size
                return True
            v = integer(item)
            if self.code != INT64 and not ft_int_low[self.code] <= v <= ft_int_high[self.code]:
                raise RuntimeError(f"value cannot be converted to type {dtype_of(self.code).name} without overflow: {v}")
            write_element(self.at, self.code, v)
        self.at += self.size
        return True


cdef object only(Tensor x):
    if x.count != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars, got {describe(x)}")
    return x.item()


cdef double number(object item) except? -1.0:
    if PyLong_CheckExact(item):
        return PyLong_AsDouble(item)
    if isinstance(item, Tensor):
        item = only(<Tensor>item)
    if isinstance(item, complex) or isinstance(item, (list, tuple, str)):
        raise TypeError(f"must be real number, not {type(item).__name__}")
    return float(item)


cdef long long integer(object item) except? -1:
    cdef double f
    if not PyLong_CheckExact(item):
        if isinstance(item, Tensor):
            item = only(<Tensor>item)
        if isinstance(item, float):
            f = float(item)
            if not -9223372036854775808.0 <= f < 9223372036854775808.0:
                raise RuntimeError(f"value cannot be converted to type int64 without overflow: {item}")
            return <long long>f
        if isinstance(item, complex):
            raise TypeError(f"must be real number, not {type(item).__name__}")
        item = PyNumber_Index(item)
    try:
        return PyLong_AsLongLong(item)
    except OverflowError:
        raise ValueError(f"Overflow when unpacking long long: {item}") from None


def from_nested(data, dtype=None):
    """A CPU tensor with the values of a number or of nested sequences of numbers."""
    cdef Py_ssize_t sizes[64]
    cdef Filler filler
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    cdef int rank = shape_of(data, sizes)
    cdef int code = infer(data, 0) if dtype is None else code_of(dtype)
    cdef Tensor out = new_tensor(rank, sizes, default_float() if code < 0 else code, CPU)
    if rank and isinstance(data, (list, tuple)) and len(data) and isinstance(data[0], (Tensor,)) and (<Tensor>data[0]).rank:
        check_rows(data)
    filler = Filler.__new__(Filler)
    filler.at, filler.code, filler.rank, filler.size, filler.sizes = out.ptr, out.code, rank, ITEMSIZE[out.code], sizes
    if rank:
        filler.level(data, 0)
    else:
        filler.one(data)
    return out


cdef bint check_rows(object data) except False:
    for row in data:
        if isinstance(row, Tensor) and (<Tensor>row).count != 1:
            raise ValueError(f"only one element tensors can be converted to Python scalars, got {describe(row)}: join tensors with stack or cat")
    return True
