"""Tensors over memory that other objects own: numpy arrays and anything with the buffer protocol."""
import warnings
from cpython.buffer cimport PyObject_GetBuffer, PyBuffer_Release, PyObject_CheckBuffer, PyBUF_STRIDES, PyBUF_FORMAT, PyBUF_WRITABLE, PyBUF_SIMPLE
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.storage cimport Storage, foreign_storage
from fasttensor._core.nested cimport numpy_code


cdef class Export:
    """Holds a buffer for as long as a storage needs it."""
    cdef Py_buffer view
    cdef bint held

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)


cdef dict FORMAT_CODES = {"?": BOOL, "B": UINT8, "b": INT8, "c": UINT8, "h": INT16, "i": INT32, "l": INT64 if sizeof(long) == 8 else INT32, "q": INT64,
                          "e": FLOAT16, "f": FLOAT32, "d": FLOAT64, "Zf": COMPLEX64, "Zd": COMPLEX128, "F": COMPLEX64, "D": COMPLEX128}


cdef Export take_buffer(object source, int flags):
    """A buffer that may be written to if the source allows. Without PyBUF_FORMAT numpy need not write the element type out."""
    cdef Export export = Export.__new__(Export)
    try:
        PyObject_GetBuffer(source, &export.view, flags | PyBUF_WRITABLE)
    except (BufferError, ValueError):
        PyObject_GetBuffer(source, &export.view, flags)
    export.held = True
    return export


cdef bint mark_read_only(Storage store, str what) except False:
    store.read_only = True
    warnings.warn(f"The given {what} is not writable: the tensor shares its memory, and a write through the tensor is refused. "
                  "Copy the data if you mean to write.", UserWarning, stacklevel=3)
    return True


def has_buffer(source):
    """Whether an object offers the buffer protocol."""
    return PyObject_CheckBuffer(source)


def from_array(array, bint warn=True):
    """A tensor that shares the memory of a numpy array, or of any object with a strided buffer.

    Raises TypeError for an element type that has no dtype here, and ValueError for strides that are negative or not multiples of the element's size.
    """
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d, code
    found = getattr(array, "dtype", None)
    code = -1
    if found is not None and hasattr(found, "isnative"):
        code = numpy_code(found)
        if code == BFLOAT16:
            array = array.view("int16")
    cdef Export export = take_buffer(array, PyBUF_STRIDES if code >= 0 else PyBUF_STRIDES | PyBUF_FORMAT)
    cdef Py_buffer *view = &export.view
    cdef object own = array.strides if hasattr(array, "__array_interface__") else None
    if code < 0:
        text = "B" if view.format == NULL else (<bytes>view.format).decode()
        if text[:1] in "@=<":
            text = text[1:]
        if text not in FORMAT_CODES:
            raise TypeError(f"can't convert a buffer of format {text!r}: the supported types are float64, float32, float16, complex64, "
                            "complex128, int64, int32, int16, int8, uint8, and bool.")
        code = FORMAT_CODES[text]
    if view.ndim > MAX_DIMS:
        raise ValueError(f"a tensor can have at most {MAX_DIMS} dimensions, the array has {view.ndim}")
    cdef Py_ssize_t nbytes = view.itemsize
    for d in range(view.ndim):
        sizes[d] = view.shape[d]
        if view.strides[d] < 0 and sizes[d] > 1:
            raise ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
                             "supported. (You can probably work around this by making a copy of your array with array.copy().)")
        if view.strides[d] % ITEMSIZE[code] and sizes[d] > 1:
            raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory.")
        steps[d] = view.strides[d] // ITEMSIZE[code]
        if sizes[d] > 1:
            nbytes += (sizes[d] - 1) * view.strides[d]
        elif own is not None and own[d] >= 0:       # a buffer's strides of such dimensions are made up
            steps[d] = <Py_ssize_t>own[d] // ITEMSIZE[code]
        elif steps[d] < 0:
            steps[d] = 0
    cdef Storage store = foreign_storage(view.buf, nbytes, export)
    if view.readonly and warn:
        mark_read_only(store, "NumPy array")
    return from_storage(store, code, view.ndim, sizes, steps, 0)


def from_flat_buffer(source, dtype, Py_ssize_t count=-1, Py_ssize_t offset=0):
    """A 1-d tensor over the bytes of a buffer, shared."""
    cdef int code = code_of(dtype)
    cdef Py_ssize_t size = ITEMSIZE[code], length
    if not PyObject_CheckBuffer(source):
        raise ValueError(f"object does not implement Python buffer protocol: {type(source).__name__}")
    cdef Export export = take_buffer(source, PyBUF_SIMPLE)
    length = export.view.len
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if offset < 0 or offset >= length:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) - 1")
    if count < 0:
        if (length - offset) % size:
            raise ValueError(f"buffer length ({length} bytes) after offset ({offset} bytes) must be a multiple of element size ({size})")
        count = (length - offset) // size
    elif count > (length - offset) // size:
        raise ValueError(f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than"
                         f" actual buffer length ({length} bytes)")
    cdef Storage store = foreign_storage(<char *>export.view.buf + offset, count * size, export)
    cdef Py_ssize_t one = 1
    if export.view.readonly:
        mark_read_only(store, "buffer")
    return from_storage(store, code, 1, &count, &one, 0)


def same_memory(Tensor a not None, Tensor b not None):
    """Whether two tensors start at the same address."""
    return a.ptr == b.ptr
