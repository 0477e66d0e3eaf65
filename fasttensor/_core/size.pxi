# The shape of a tensor as Python sees it; included in tensor.pyx.

cdef object whole_numbers(object items):
    """Ints of what Python takes as indices."""
    cdef list found = list(items)
    for place, item in enumerate(found):
        if type(item) is not int:
            if not hasattr(type(item), "__index__"):
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {place} is '{type(item).__name__}')")
            found[place] = int(item.__index__())
    return found


class Size(tuple):
    """The shape of a tensor: a tuple of ints with ``numel()``.

    >>> torch.ones(2, 3).shape.numel()
    6
    """
    __slots__ = ()

    def __new__(cls, iterable=(), /):
        return tuple.__new__(cls, whole_numbers(iterable))

    def numel(self):
        """The product of the sizes."""
        n = 1
        for size in self:
            n *= size
        return n

    def __repr__(self):
        return "torch.Size([" + ", ".join(map(repr, self)) + "])"

    def __getitem__(self, index):
        got = tuple.__getitem__(self, index)
        return Size(got) if isinstance(index, slice) else got

    def __add__(self, other):
        return Size(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other):
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, other):
        return Size(tuple.__mul__(self, other))

    __rmul__ = __mul__

    def __reduce__(self):
        return Size, (tuple(self),)


cdef extern from *:
    """
    /* What Size(...) of a list of these numbers gives, without calling a class written in Python. */
    static PyObject *ft_size_of(PyObject *type, int rank, const Py_ssize_t *sizes) {
        PyObject *made = ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, rank);
        int d;
        for (d = 0; made && d < rank; d++) {
            PyObject *n = PyLong_FromSsize_t(sizes[d]);
            if (!n) { Py_DECREF(made); return NULL; }
            PyTuple_SET_ITEM(made, d, n);
        }
        return made;
    }
    """
    object ft_size_of(object cls, int rank, const Py_ssize_t *sizes)

cdef object _Size = Size


cdef inline object size_of(int rank, const Py_ssize_t *sizes):
    return ft_size_of(_Size, rank, sizes)
