"""A binary heap of nodes by sequence number, the latest on top."""
from cpython.ref cimport PyObject, Py_INCREF, Py_DECREF
from libc.stdlib cimport realloc, free
from fasttensor._core.tensor cimport Node
from fasttensor._core.storage cimport no_room


cdef bint push(Heap *h, Node node) except False:
    cdef Py_ssize_t i = h.n, up
    cdef PyObject **item
    if h.n == h.room:
        item = <PyObject **>realloc(h.item, (2 * h.room + 16) * sizeof(PyObject *))
        if item == NULL:        # the old block is still the heap's
            raise no_room(f"backward: no memory for the queue of {h.n} nodes")
        h.item, h.room = item, 2 * h.room + 16
    Py_INCREF(node)
    h.n += 1
    while i > 0:
        up = (i - 1) >> 1
        if (<Node>h.item[up]).seq >= node.seq:
            break
        h.item[i] = h.item[up]
        i = up
    h.item[i] = <PyObject *>node
    return True


cdef Node pop(Heap *h):
    cdef PyObject *top = h.item[0]
    cdef PyObject *last
    cdef Py_ssize_t i = 0, k
    cdef Node node = <Node>top
    Py_DECREF(node)
    h.n -= 1
    if h.n:
        last = h.item[h.n]
        while True:
            k = 2 * i + 1
            if k >= h.n:
                break
            if k + 1 < h.n and (<Node>h.item[k + 1]).seq > (<Node>h.item[k]).seq:
                k += 1
            if (<Node>h.item[k]).seq <= (<Node>last).seq:
                break
            h.item[i] = h.item[k]
            i = k
        h.item[i] = last
    return node


cdef void clear(Heap *h):
    while h.n:
        h.n -= 1
        Py_DECREF(<object>h.item[h.n])
    free(h.item)
    h.item = NULL
    h.room = 0
