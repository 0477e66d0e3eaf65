"""Tensors as Python numbers and nested lists."""
from libc.stdint cimport int64_t
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.element cimport read_element


cdef object row(char *p, Py_ssize_t n, Py_ssize_t step, int code):
    """One innermost row as a list; the common dtypes without a branch an element."""
    cdef list out = PyList_New(n)
    cdef Py_ssize_t i
    cdef object item
    if code == FLOAT32:
        for i in range(n):
            item = (<float *>(p + i * step))[0]
            Py_INCREF(item)
            PyList_SET_ITEM(out, i, item)
    elif code == FLOAT64:
        for i in range(n):
            item = (<double *>(p + i * step))[0]
            Py_INCREF(item)
            PyList_SET_ITEM(out, i, item)
    elif code == INT64:
        for i in range(n):
            item = (<int64_t *>(p + i * step))[0]
            Py_INCREF(item)
            PyList_SET_ITEM(out, i, item)
    else:
        for i in range(n):
            item = read_element(p + i * step, code)
            Py_INCREF(item)
            PyList_SET_ITEM(out, i, item)
    return out


cdef object nested(Tensor x, int dim, char *p):
    cdef Py_ssize_t step = x.steps[dim] * ITEMSIZE[x.code], i
    if dim == x.rank - 1:
        return row(p, x.sizes[dim], step, x.code)
    return [nested(x, dim + 1, p + i * step) for i in range(x.sizes[dim])]


def to_list(Tensor x not None):
    """The values as nested lists, one level a dimension; a plain number for a 0-d tensor."""
    if x.dev == META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if x.dev == BATCHED:
        raise RuntimeError("vmap: It looks like you're calling .tolist() on a Tensor. We don't support vmap over calling .tolist() on a"
                           " Tensor: each sample has its own values.")
    if x.dev != CPU:
        x = x.cpu()
    if x.rank == 0:
        return read_element(x.ptr, x.code)
    return nested(x, 0, x.ptr)


cdef list edges_of(Tensor x, int dim, char *p, Py_ssize_t edge):
    cdef Py_ssize_t n = x.sizes[dim], step = x.steps[dim] * ITEMSIZE[x.code], i
    cdef list out
    if dim == x.rank - 1:
        if n <= 2 * edge:
            return row(p, n, step, x.code)
        return row(p, edge, step, x.code) + [...] + row(p + (n - edge) * step, edge, step, x.code)
    if n <= 2 * edge:
        return [edges_of(x, dim + 1, p + i * step, edge) for i in range(n)]
    out = [edges_of(x, dim + 1, p + i * step, edge) for i in range(edge)]
    out.append(...)
    out.extend([edges_of(x, dim + 1, p + i * step, edge) for i in range(n - edge, n)])
    return out


def to_edges(Tensor x not None, Py_ssize_t edge):
    """Nested lists of the first and last `edge` indices of each dimension, an Ellipsis between them."""
    if x.dev == BATCHED:
        raise RuntimeError("vmap: a batched tensor cannot be printed element by element")
    return edges_of(x, 0, x.ptr, edge)
