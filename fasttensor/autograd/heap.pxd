from cpython.ref cimport PyObject
from fasttensor._core.tensor cimport Node

cdef struct Heap:
    Py_ssize_t n, room
    PyObject **item

cdef bint push(Heap *h, Node node) except False
cdef Node pop(Heap *h)
cdef void clear(Heap *h)
