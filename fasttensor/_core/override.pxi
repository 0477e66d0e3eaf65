# `__torch_function__`: who asks for calls of public functions, and how they are asked. Included in dispatch.pyx.
#
# Nothing here runs before the first tensor of a subclass, class with the method, or mode: `armed` is 0 until then, and
# functional/overriding has put no gate before any function.
from cpython.object cimport PyObject

cdef extern from *:
    """
    enum { FT_ASKING, FT_NO_SUBCLASS, FT_NOBODY };
    static FT_THREAD int ft_asking = FT_ASKING;
    static FT_THREAD int ft_inside = 0;            /* in the library's own work, such as a backward sweep */
    static FT_THREAD PyObject *ft_mode_stack = NULL;
    static PyObject *ft_protocol = NULL;            /* "__torch_function__" */
    static PyObject *ft_disabled = NULL;            /* what a class has in its place that never asks */
    static PyTypeObject *ft_plain = NULL;           /* Tensor itself */
    /* the same for `__torch_dispatch__` */
    static FT_THREAD PyObject *ft_dispatch_stack = NULL;
    static FT_THREAD int ft_dispatch_off = 0;      /* an operation runs that nobody takes over */
    static FT_THREAD int ft_dispatch_past = 0;     /* the next gate lets its call pass, those inside do not */
    static int ft_dispatch_classes = 0;             /* a class with the method has been met */
    static PyObject *ft_dispatch_protocol = NULL, *ft_dispatch_disabled = NULL;

    static inline int ft_has_modes(void) { return ft_mode_stack && PyList_GET_SIZE(ft_mode_stack) > 0; }

    /* A compiled subclass (vmap's) is the library's own. */
    static inline int ft_type_asks(PyTypeObject *t) {
        PyObject *found;
        if (!(t->tp_flags & Py_TPFLAGS_HEAPTYPE) || t == ft_plain) return 0;
        found = _PyType_Lookup(t, ft_protocol);
        return found && found != ft_disabled;
    }

    static inline int ft_type_dispatches(PyTypeObject *t) {
        PyObject *found;
        if (!(t->tp_flags & Py_TPFLAGS_HEAPTYPE) || t == ft_plain) return 0;
        /* other libraries' tensors have a method of this name too */
        if (!ft_plain || !PyType_IsSubtype(t, ft_plain)) return 0;
        found = _PyType_Lookup(t, ft_dispatch_protocol);
        return found && found != ft_dispatch_disabled;
    }

    static inline int ft_has_dispatch_modes(void) { return ft_dispatch_stack && PyList_GET_SIZE(ft_dispatch_stack) > 0 && !ft_dispatch_off; }

    static int ft_any_asks(PyObject *const *v, Py_ssize_t n, int deep) {
        for (Py_ssize_t i = 0; i < n; i++) {
            PyTypeObject *t = Py_TYPE(v[i]);
            if (ft_type_asks(t)) return 1;
            if (!deep) {
                /* a list of numbers holds no tensors */
                if (t == &PyLong_Type || t == &PyFloat_Type) return 0;
            } else if (PyTuple_Check(v[i])) {
                if (ft_any_asks(&PyTuple_GET_ITEM(v[i], 0), PyTuple_GET_SIZE(v[i]), 0)) return 1;
            } else if (PyList_Check(v[i])) {
                if (ft_any_asks(((PyListObject *)v[i])->ob_item, PyList_GET_SIZE(v[i]), 0)) return 1;
            }
        }
        return 0;
    }

    static int ft_any_dispatches(PyObject *const *v, Py_ssize_t n, int deep) {
        for (Py_ssize_t i = 0; i < n; i++) {
            PyTypeObject *t = Py_TYPE(v[i]);
            if (ft_type_dispatches(t)) return 1;
            if (!deep) {
                if (t == &PyLong_Type || t == &PyFloat_Type) return 0;
            } else if (PyTuple_Check(v[i])) {
                if (ft_any_dispatches(&PyTuple_GET_ITEM(v[i], 0), PyTuple_GET_SIZE(v[i]), 0)) return 1;
            } else if (PyList_Check(v[i])) {
                if (ft_any_dispatches(((PyListObject *)v[i])->ob_item, PyList_GET_SIZE(v[i]), 0)) return 1;
            }
        }
        return 0;
    }

    static inline int ft_overridden(PyObject *const *v, Py_ssize_t n) {
        if (ft_inside) return 0;
        if (ft_asking != FT_NOBODY) {
            if (ft_has_modes()) return 1;
            if (ft_asking == FT_ASKING && ft_any_asks(v, n, 1)) return 1;
        }
        if (ft_dispatch_off || !(ft_dispatch_classes || ft_dispatch_stack)) return 0;
        if (ft_dispatch_past) { ft_dispatch_past = 0; return 0; }
        return ft_has_dispatch_modes() || (ft_dispatch_classes && ft_any_dispatches(v, n, 1));
    }

    #define FT_SLOT_GETITEM 31
    static PyObject *(*ft_ask)(PyObject *function, PyObject *args, PyObject *kwargs);

    /* --- gates before compiled functions: the entry by which Python calls them --- */
    static struct { int flags; vectorcallfunc entry; } ft_entries[8];
    static int ft_n_entries = 0;

    static vectorcallfunc ft_entry(PyObject *f) {
        /* functions of equal flags share one entry, whichever module they are of */
        int flags = PyCFunction_GET_FLAGS(f);
        for (int i = 0; i < ft_n_entries; i++) if (ft_entries[i].flags == flags) return ft_entries[i].entry;
        return NULL;
    }

    static PyObject *ft_gate(PyObject *f, PyObject *const *args, size_t nargs, PyObject *names) {
        Py_ssize_t n = PyVectorcall_NARGS(nargs), k = names ? PyTuple_GET_SIZE(names) : 0, i;
        PyObject *positional, *named, *made = NULL;
        if (!ft_overridden(args, n + k)) return ft_entry(f)(f, args, nargs, names);
        positional = PyTuple_New(n);
        named = PyDict_New();
        if (!positional || !named) goto done;
        for (i = 0; i < n; i++) { Py_INCREF(args[i]); PyTuple_SET_ITEM(positional, i, args[i]); }
        for (i = 0; i < k; i++) if (PyDict_SetItem(named, PyTuple_GET_ITEM(names, i), args[n + i]) < 0) goto done;
        made = ft_ask(f, positional, named);
    done:
        Py_XDECREF(positional);
        Py_XDECREF(named);
        return made;
    }

    static int ft_set_gate(PyObject *f, int on) {
        PyCFunctionObject *c = (PyCFunctionObject *)f;
        if (on == (c->vectorcall == ft_gate)) return 1;
        if (!on) { c->vectorcall = ft_entry(f); return 1; }
        if (!c->vectorcall) return 0;
        if (!ft_entry(f)) {
            if (ft_n_entries == 8) return 0;
            ft_entries[ft_n_entries].flags = PyCFunction_GET_FLAGS(f);
            ft_entries[ft_n_entries++].entry = c->vectorcall;
        }
        c->vectorcall = ft_gate;
        return 1;
    }

    /* --- gates before the attributes of the compiled class --- */
    typedef struct { getter get; setter set; void *closure; PyObject *reading, *writing, *deleting; } ft_attribute;

    static PyObject *ft_read(PyObject *x, void *at) {
        ft_attribute *a = at;
        PyObject *args, *made;
        if (!ft_overridden(&x, 1)) return a->get(x, a->closure);
        if (!(args = PyTuple_Pack(1, x))) return NULL;
        made = ft_ask(a->reading, args, NULL);
        Py_DECREF(args);
        return made;
    }

    static int ft_write(PyObject *x, PyObject *to, void *at) {
        ft_attribute *a = at;
        PyObject *args, *made;
        if (!ft_overridden(&x, 1)) return a->set(x, to, a->closure);
        if (!(args = to ? PyTuple_Pack(2, x, to) : PyTuple_Pack(1, x))) return -1;
        made = ft_ask(to ? a->writing : a->deleting, args, NULL);
        Py_DECREF(args);
        Py_XDECREF(made);
        return made ? 0 : -1;
    }

    static int ft_gate_attribute(PyObject *descriptor, int on) {
        PyGetSetDef *d = ((PyGetSetDescrObject *)descriptor)->d_getset;
        ft_attribute *a;
        if (on == (d->get == ft_read)) return 0;
        if (!on) {
            a = d->closure;
            d->get = a->get; d->set = a->set; d->closure = a->closure;
            Py_DECREF(a->reading); Py_DECREF(a->writing); Py_DECREF(a->deleting);
            PyMem_Free(a);
            return 0;
        }
        if (!(a = PyMem_Malloc(sizeof *a))) { PyErr_NoMemory(); return -1; }
        a->get = d->get; a->set = d->set; a->closure = d->closure;
        a->reading = PyObject_GetAttrString(descriptor, "__get__");
        a->writing = PyObject_GetAttrString(descriptor, "__set__");
        a->deleting = PyObject_GetAttrString(descriptor, "__delete__");
        if (!a->reading || !a->writing || !a->deleting) { PyMem_Free(a); return -1; }
        d->closure = a;
        d->get = ft_read;
        if (d->set) d->set = ft_write;
        return 0;
    }

    /* --- gates in the operators' slots --- */
    static PyObject *(*ft_binary_before[64])(PyObject *, PyObject *);
    static PyObject *(*ft_unary_before[16])(PyObject *);
    static PyObject *ft_binary_names[64][2], *ft_unary_names[16];

    static PyObject *ft_binary(int slot, PyObject *a, PyObject *b) {
        PyObject *both[2] = {a, b}, *args, *made;
        int tensor_first;
        if (!ft_overridden(both, 2)) return ft_binary_before[slot](a, b);
        tensor_first = PyObject_TypeCheck(a, ft_plain);
        if (!(args = tensor_first ? PyTuple_Pack(2, a, b) : PyTuple_Pack(2, b, a))) return NULL;
        made = ft_ask(ft_binary_names[slot][!tensor_first], args, NULL);
        Py_DECREF(args);
        if (!made && PyErr_ExceptionMatches(PyExc_TypeError) && slot != FT_SLOT_GETITEM) {     /* Python asks the other operand */
            PyErr_Clear();
            Py_RETURN_NOTIMPLEMENTED;
        }
        return made;
    }

    static PyObject *ft_unary(int slot, PyObject *a) {
        PyObject *args, *made;
        if (!ft_overridden(&a, 1)) return ft_unary_before[slot](a);
        if (!(args = PyTuple_Pack(1, a))) return NULL;
        made = ft_ask(ft_unary_names[slot], args, NULL);
        Py_DECREF(args);
        return made;
    }

    #define FT_B(i) static PyObject *ft_binary_##i(PyObject *a, PyObject *b) { return ft_binary(i, a, b); }
    #define FT_U(i) static PyObject *ft_unary_##i(PyObject *a) { return ft_unary(i, a); }
    FT_B(0) FT_B(1) FT_B(2) FT_B(3) FT_B(4) FT_B(5) FT_B(6) FT_B(7) FT_B(8) FT_B(9) FT_B(10) FT_B(11) FT_B(12) FT_B(13) FT_B(14) FT_B(15)
    FT_B(16) FT_B(17) FT_B(18) FT_B(19) FT_B(20) FT_B(21) FT_B(22) FT_B(23) FT_B(24) FT_B(25) FT_B(26) FT_B(27) FT_B(28) FT_B(29) FT_B(30) FT_B(31)
    FT_U(0) FT_U(1) FT_U(2) FT_U(3)
    #define FT_P(i) ft_binary_##i
    static PyObject *(*ft_binary_gates[])(PyObject *, PyObject *) = {
        FT_P(0), FT_P(1), FT_P(2), FT_P(3), FT_P(4), FT_P(5), FT_P(6), FT_P(7), FT_P(8), FT_P(9), FT_P(10), FT_P(11), FT_P(12), FT_P(13), FT_P(14),
        FT_P(15), FT_P(16), FT_P(17), FT_P(18), FT_P(19), FT_P(20), FT_P(21), FT_P(22), FT_P(23), FT_P(24), FT_P(25), FT_P(26), FT_P(27), FT_P(28),
        FT_P(29), FT_P(30), FT_P(31)};
    static PyObject *(*ft_unary_gates[])(PyObject *) = {ft_unary_0, ft_unary_1, ft_unary_2, ft_unary_3};
    """
    enum:
        FT_ASKING, FT_NO_SUBCLASS, FT_NOBODY
    int ft_asking, ft_inside
    PyObject *ft_mode_stack
    PyObject *ft_protocol
    PyObject *ft_disabled
    PyTypeObject *ft_plain
    bint ft_has_modes()
    bint ft_type_asks(PyTypeObject *t)
    int ft_dispatch_off, ft_dispatch_past, ft_dispatch_classes
    PyObject *ft_dispatch_stack
    PyObject *ft_dispatch_protocol
    PyObject *ft_dispatch_disabled
    bint ft_type_dispatches(PyTypeObject *t)
    bint ft_has_dispatch_modes()
    bint ft_overridden(PyObject **v, Py_ssize_t n)
    object (*ft_ask)(object function, object args, PyObject *kwargs)
    bint ft_set_gate(object f, bint on)
    int ft_gate_attribute(object descriptor, bint on) except -1
    binary_slot *ft_binary_before
    unary_slot *ft_unary_before
    binary_slot *ft_binary_gates
    unary_slot *ft_unary_gates
    PyObject *(*ft_binary_names)[2]
    PyObject **ft_unary_names
    PyTypeObject *Py_TYPE(object o)
    void Py_INCREF(object o)
    PyObject **ft_items "&PyTuple_GET_ITEM" (tuple t, Py_ssize_t i)
