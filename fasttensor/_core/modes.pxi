# Contexts that switch recording; included in dispatch.pyx, which has the switches. Programs enter one at every inference
# step, where a class written in Python costs as much as a small layer. How they decorate functions is in autograd/grad_mode.py.
cimport cython
from cpython.object cimport PyObject

cdef extern from *:
    """
    #define FT_TYPE(t) ((PyTypeObject *)(t))

    static void ft_name_type(PyObject *type, const char *name) { FT_TYPE(type)->tp_name = name; }

    /* `no_grad()` needs no tuple of arguments and no initialisation. */
    static PyObject *ft_make_mode(PyObject *type, PyObject *const *args, size_t nargs, PyObject *names) {
        Py_ssize_t n = PyVectorcall_NARGS(nargs), k = names ? PyTuple_GET_SIZE(names) : 0, i;
        PyObject *positional, *named, *made = NULL;
        if (!n && !k) return FT_TYPE(type)->tp_alloc(FT_TYPE(type), 0);     /* all that a mode has are numbers */
        positional = PyTuple_New(n);
        named = k ? PyDict_New() : NULL;
        if (!positional || (k && !named)) goto done;
        for (i = 0; i < n; i++) { Py_INCREF(args[i]); PyTuple_SET_ITEM(positional, i, args[i]); }
        for (i = 0; i < k; i++) if (PyDict_SetItem(named, PyTuple_GET_ITEM(names, i), args[n + i]) < 0) goto done;
        made = PyType_Type.tp_call(type, positional, named);
    done:
        Py_XDECREF(positional);
        Py_XDECREF(named);
        return made;
    }

    typedef PyObject *(*ft_new)(PyObject *, PyObject *, PyObject *);
    static ft_new ft_set_new(PyObject *type, ft_new f) {
        ft_new before = (ft_new)FT_TYPE(type)->tp_new;
        FT_TYPE(type)->tp_new = (newfunc)f;
        FT_TYPE(type)->tp_vectorcall = NULL;        /* Cython's would go past tp_new */
        return before;
    }

    static void ft_quick(PyObject *type) { FT_TYPE(type)->tp_vectorcall = ft_make_mode; }
    """
    ctypedef object (*ft_new)(object cls, object args, PyObject *kwargs)
    void ft_name_type(object cls, const char *name)
    ft_new ft_set_new(object cls, ft_new f)
    void ft_quick(object cls)


cdef class Mode:
    """A context manager and decorator."""
    cdef int before                     # what recording was
    cdef bint before_inference

    @property
    def prev(self):
        """Whether operations were recorded when the context was entered."""
        return self.before == 1

    def __call__(self, function):
        return hook("decorate_mode")(self, function)

    def __reduce__(self):
        return type(self), ()

    def clone(self):
        """Another context like this, for one call of a decorated function."""
        return type(self)()


cdef class no_grad(Mode):
    """Operations inside are not recorded.

    >>> import fasttensor as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    @cython.binding(False)
    def __enter__(self):
        self.before = _set_grad_enabled(False)

    @cython.binding(False)
    def __exit__(self, kind=None, error=None, trace=None):
        _set_grad_enabled(self.before)


cdef class enable_grad(Mode):
    """Operations inside are recorded, inside a ``no_grad`` block too.

    >>> import fasttensor as torch
    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    @cython.binding(False)
    def __enter__(self):
        self.before = _set_grad_enabled(True)

    @cython.binding(False)
    def __exit__(self, kind=None, error=None, trace=None):
        _set_grad_enabled(self.before)


cdef class set_grad_enabled(Mode):
    """Recording on or off by a flag: at once as a function call, until the end of a ``with`` block as a context.

    TypeError unless the flag is a bool.

    >>> import fasttensor as torch
    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """
    cdef readonly bint mode

    def __init__(self, mode):
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled(): argument 'enabled' must be bool, not {type(mode).__name__}")
        self.mode = mode
        self.before = _set_grad_enabled(self.mode)

    def __call__(self, function):
        _set_grad_enabled(self.before)
        return Mode.__call__(self, function)

    @cython.binding(False)
    def __enter__(self):
        _set_grad_enabled(self.mode)

    @cython.binding(False)
    def __exit__(self, kind=None, error=None, trace=None):
        _set_grad_enabled(self.before)

    def __reduce__(self):
        return type(self), (self.mode,)

    def __repr__(self):
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    def clone(self):
        return type(self)(self.mode)


cdef class inference_mode(Mode):
    """Like ``no_grad``, and the tensors made inside can never be recorded: no version counting, no views to track.

    >>> import fasttensor as torch
    >>> with torch.inference_mode():
    ...     y = torch.ones(1) + 1
    >>> y.is_inference()
    True
    """
    cdef readonly bint mode

    def __init__(self, mode=True):
        self.mode = bool(mode)

    @cython.binding(False)
    def __enter__(self):
        self.before = _set_grad_enabled(OFF)
        self.before_inference = _set_inference_mode(self.mode)
        if not self.mode:
            _set_grad_enabled(1)

    @cython.binding(False)
    def __exit__(self, kind=None, error=None, trace=None):
        _set_grad_enabled(OFF)
        _set_inference_mode(self.before_inference)
        _set_grad_enabled(self.before)

    def __reduce__(self):
        return type(self), (self.mode,)

    def clone(self):
        return type(self)(self.mode)


cdef ft_new _new_no_grad, _new_enable_grad, _new_inference_mode


cdef object decorating(object made, object args, PyObject *kwargs):
    """``no_grad(function)`` is ``no_grad()(function)``."""
    given = {} if kwargs == NULL else <dict><object>kwargs
    if len(args) + len(given) > 1 or (given and "orig_func" not in given):
        raise TypeError(f"{type(made).__name__}() takes a function to decorate or nothing, got {len(args) + len(given)} arguments")
    function = args[0] if args else given.get("orig_func")
    return made if function is None else made(function)


cdef object new_no_grad(object cls, object args, PyObject *kwargs):
    made = _new_no_grad(cls, (), NULL)
    return decorating(made, args, kwargs) if args or kwargs != NULL else made


cdef object new_enable_grad(object cls, object args, PyObject *kwargs):
    made = _new_enable_grad(cls, (), NULL)
    return decorating(made, args, kwargs) if args or kwargs != NULL else made


cdef object new_inference_mode(object cls, object args, PyObject *kwargs):
    made = _new_inference_mode(cls, (), NULL)
    if args and callable(args[0]):
        (<inference_mode>made).mode = True
        return made(args[0])
    return made


_new_no_grad, _new_enable_grad = ft_set_new(no_grad, new_no_grad), ft_set_new(enable_grad, new_enable_grad)
_new_inference_mode = ft_set_new(inference_mode, new_inference_mode)
ft_quick(no_grad)
ft_quick(enable_grad)
ft_name_type(no_grad, "fasttensor.autograd.grad_mode.no_grad")
ft_name_type(enable_grad, "fasttensor.autograd.grad_mode.enable_grad")
ft_name_type(set_grad_enabled, "fasttensor.autograd.grad_mode.set_grad_enabled")
ft_name_type(inference_mode, "fasttensor.autograd.grad_mode.inference_mode")
