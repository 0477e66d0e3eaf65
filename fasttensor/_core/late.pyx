"""Attributes of Tensor whose module is imported when they are first looked up."""

cdef extern from *:
    """
    /* None stands for an attribute that is looked up on the class. */
    static PyObject *ft_bind(PyObject *value, PyObject *x, PyObject *cls) {
        descrgetfunc get = Py_TYPE(value)->tp_descr_get;
        if (get == NULL) return Py_NewRef(value);
        return get(value, x == Py_None ? NULL : x, cls);
    }
    static int ft_assign(PyObject *value, PyObject *x, PyObject *to) {
        return Py_TYPE(value)->tp_descr_set(value, x, to);
    }
    """
    object ft_bind(object value, object x, object cls)
    int ft_assign(object value, object x, void *to) except -1


cdef class Late:
    """Stands in the class for an attribute until it is used: then `load(name)` puts the real one in
    its place and returns it, so that later look-ups find no trace of this."""
    cdef object load
    cdef readonly str name

    def __cinit__(self, load, str name):
        self.load = load
        self.name = name

    def __get__(self, x, cls):
        return ft_bind(self.load(self.name), x, cls)

    # For who takes it out of the class's __dict__.
    def __call__(self, *args, **kwargs):
        return self.load(self.name)(*args, **kwargs)

    def __getattr__(self, attribute):
        return getattr(self.load(self.name), attribute)


cdef class LateProperty(Late):
    """The same for a property, which answers assignments too."""

    def __set__(self, x, value):
        ft_assign(self.load(self.name), x, <void *>value)

    def __delete__(self, x):
        ft_assign(self.load(self.name), x, NULL)
