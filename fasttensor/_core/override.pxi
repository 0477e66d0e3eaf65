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

    static inline int ft_has_modes(void) { return ft_mode_stack && PyList_GET_SIZE(ft_mode_stack) > 0; }

    /* A compiled subclass (vmap's) is the library's own. */
    static inline int ft_type_asks(PyTypeObject *t) {
        PyObject *found;
        if (!(t->tp_flags & Py_TPFLAGS_HEAPTYPE) || t == ft_plain) return 0;
        found = _PyType_Lookup(t, ft_protocol);
        return found && found != ft_disabled;
    }

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

    static inline int ft_overridden(PyObject *const *v, Py_ssize_t n) {
        if (ft_inside || ft_asking == FT_NOBODY) return 0;
        if (ft_has_modes()) return 1;
        return ft_asking == FT_ASKING && ft_any_asks(v, n, 1);
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


cdef bint overridden(object x) noexcept:
    """Whether somebody asks for what is done with an object."""
    cdef PyObject *one = <PyObject *>x
    return ft_overridden(&one, 1)


cdef int set_inside(int on) noexcept:
    """Say that the library does its own work now, whose calls nobody asks for (or, with 0, a user's); returns what it was."""
    global ft_inside
    cdef int before = ft_inside
    ft_inside = on
    return before


cdef bint asks(object cls):
    return ft_type_asks(<PyTypeObject *>cls)


cdef dict _asked_as = {}        # compiled functions of properties: by what they go


cdef list asked(object values, bint deep):
    """The first value of each class that asks, subclasses before the classes that they come from."""
    cdef list found = [], inner
    cdef Py_ssize_t place
    for x in values:
        if deep and isinstance(x, (tuple, list)):
            inner = asked(x, False)
        elif asks(type(x)):
            inner = [x]
        else:
            continue
        for y in inner:
            if any([type(y) is type(z) for z in found]):
                continue
            place = len(found)
            for i, z in enumerate(found):
                if issubclass(type(y), type(z)):
                    place = i
                    break
            found.insert(place, y)
    return found


cdef object ask(object function, object args, PyObject *kwargs):
    """What the innermost mode, then the arguments' classes, make of a call."""
    global ft_inside
    cdef dict named = {} if kwargs == NULL else <dict><object>kwargs
    cdef list found = asked([*<tuple>args, *named.values()], True) if ft_asking == FT_ASKING else []
    cdef list modes
    cdef int before = ft_inside
    cdef object mode = None
    if type(function) is str:
        function = getattr(Tensor, function)
    elif _asked_as:
        function = _asked_as.get(function, function)
    types = tuple([type(x) for x in found])
    ft_inside = 0
    try:
        if ft_has_modes():
            modes = <list>ft_mode_stack
            mode = modes.pop()
            try:
                result = mode.__torch_function__(function, types, args, named)
            finally:
                modes.append(mode)
            if result is not NotImplemented:
                return result
        for x in found:
            result = x.__torch_function__(function, types, args, named)
            if result is not NotImplemented:
                return result
    finally:
        ft_inside = before
    who = [f"\n  - mode object {mode!r}"] if mode is not None else []
    who += [f"\n  - tensor subclass {kind!r}" for kind in types]
    raise TypeError(f"Multiple dispatch failed for {hook('function_name')(function)!r}; all __torch_function__ handlers returned NotImplemented:\n"
                    + "".join(who) + "\n\nno implementation found on types that implement __torch_function__")


cdef object ask_protocol(str name, tuple args):
    return ask(getattr(Tensor, name), args, NULL)


def ask_for(function, tuple relevant, tuple args, dict kwargs):
    """`ask` where only some of the arguments are looked at: torch.overrides.handle_torch_function."""
    global ft_inside
    cdef list found = asked(relevant, False) if ft_asking == FT_ASKING else [], modes
    types = tuple([type(x) for x in found])
    if ft_has_modes():
        modes = <list>ft_mode_stack
        mode = modes.pop()
        try:
            result = mode.__torch_function__(function, types, args, kwargs)
        finally:
            modes.append(mode)
        if result is not NotImplemented:
            return result
    for x in found:
        result = x.__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(f"no implementation found for {hook('function_name')(function)!r} on types that implement __torch_function__: {list(types)}")


def asked_for(values):
    """The values that `ask_for` would ask."""
    return asked(values, False) if ft_asking == FT_ASKING else []


def asks_of(values):
    """Whether a mode, or the class of one of the values, is asked in this thread."""
    return ft_asking != FT_NOBODY and (ft_has_modes() or len(asked_for(values)) > 0)


# --- switching it on and off ---
cdef int armed = 0              # whether the gates are in place
cdef bint _kept = False         # a class that asks has been met: they stay
cdef int _entered = 0           # modes that are entered, in all threads
cdef object _mode_class = ()


cdef bint meet_class(object cls) except False:
    """A tensor of a subclass is made."""
    global _kept
    if not _kept and asks(cls):
        _kept = True
        put_gates()
    return True


cdef put_gates():
    global armed
    cdef int i
    if armed:
        return
    hook("matmul")              # fill the slots that wait for an import
    hook("unbind")
    armed = 1
    for i in range(N_BINARY_SLOTS):
        ft_binary_before[i], _binary[i] = _binary[i], ft_binary_gates[i]
    for i in range(N_UNARY_SLOTS):
        ft_unary_before[i], _unary[i] = _unary[i], ft_unary_gates[i]
    hook("gate_all")(True)


cdef take_gates():
    global armed
    cdef int i
    if not armed or _kept or _entered:
        return
    armed = 0
    for i in range(N_BINARY_SLOTS):
        _binary[i] = ft_binary_before[i]
    for i in range(N_UNARY_SLOTS):
        _unary[i] = ft_unary_before[i]
    hook("gate_all")(False)


def name_operators(dict binary, dict unary):
    """Say which attribute of Tensor each operator is: {slot: (name, name of the reflected one)}, {slot: name}."""
    for i, (name, reflected) in binary.items():
        _operator_names.extend((name, reflected))
        ft_binary_names[<int>i][0], ft_binary_names[<int>i][1] = <PyObject *>name, <PyObject *>reflected
    for i, name in unary.items():
        _operator_names.append(name)
        ft_unary_names[<int>i] = <PyObject *>name


cdef list _operator_names = []          # keeps them


def is_armed():
    """Whether functions look for `__torch_function__`."""
    return armed != 0


cdef class Gate:
    """Before a Python function: asks for its calls, or lets them pass to `native`."""
    cdef public object function, native

    def __init__(self, function, native):
        self.function, self.native = function, native

    def __call__(self, *args, **kwargs):
        if ft_overridden(ft_items(args, 0), len(args)) or kwargs and any_overridden(kwargs):
            return ask(self.function, args, <PyObject *>kwargs)
        return self.native(*args, **kwargs)


cdef bint any_overridden(dict named):
    for x in named.values():
        if overridden(x):
            return True
    return False


def gate_function(function, bint on, asked_as=None):
    """Put a gate before a compiled function, or take it away; it goes by `asked_as` there. False where the function has no entry for one."""
    if asked_as is not None:
        _asked_as[function] = asked_as
    return bool(ft_set_gate(function, on))


def gate_attribute(descriptor, bint on):
    """The same for an attribute of the compiled class."""
    ft_gate_attribute(descriptor, on)


def push_mode(mode):
    """Ask `mode` first for every call in this thread, until `pop_mode`."""
    global _entered, ft_mode_stack
    _entered += 1
    put_gates()
    if ft_mode_stack == NULL:
        stack = []
        Py_INCREF(stack)
        ft_mode_stack = <PyObject *>stack
    (<list>ft_mode_stack).append(mode)


def pop_mode():
    """Undo the last `push_mode` of this thread; returns its mode."""
    global _entered
    mode = (<list>ft_mode_stack).pop()
    _entered -= 1
    take_gates()
    return mode


def modes_entered():
    """The modes of this thread, the innermost last."""
    return list(<list>ft_mode_stack) if ft_mode_stack != NULL else []


def set_asking(int state):
    """Who is asked in this thread: 0 modes and classes, 1 modes, 2 nobody. Returns what it was."""
    global ft_asking
    cdef int before = ft_asking
    ft_asking = state
    return before


def asking():
    """See `set_asking`."""
    return ft_asking


cdef class DisableTorchFunctionSubclass:
    """A context in which no class's ``__torch_function__`` is called; modes are."""
    cdef int before

    def __enter__(self):
        self.before = set_asking(max(ft_asking, FT_NO_SUBCLASS))

    def __exit__(self, kind=None, error=None, trace=None):
        set_asking(self.before)


cdef class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A context in which no ``__torch_function__`` is called, of classes or modes."""

    def __enter__(self):
        self.before = set_asking(FT_NOBODY)


# --- what classes have ---
cdef set _unwrapped = None      # attributes whose values stay what they are


cdef object call_ours(object function, object args, object kwargs):
    """The call without asking the classes of its arguments."""
    global ft_asking
    cdef int before = ft_asking
    ft_asking = max(before, FT_NO_SUBCLASS)
    try:
        torch = modules.get("torch")
        if torch is not None and torch is not modules.get("fasttensor"):
            function = hook("function_here")(function)
        return function(*args, **kwargs) if kwargs else function(*args)
    finally:
        ft_asking = before


def torch_function(cls, func, types, args=(), kwargs=None):
    """Tensor.__torch_function__: runs the function; tensors among the results become instances of the class."""
    global _unwrapped
    for kind in types:
        if not issubclass(cls, kind):
            return NotImplemented
    result = call_ours(func, args, kwargs)
    if cls is Tensor:
        return result
    if _unwrapped is None:
        _unwrapped = {Tensor.grad.__get__, Tensor._base.__get__}
    return result if func in _unwrapped else converted(result, cls)


cdef object converted(object value, object cls):
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else value.as_subclass(cls)
    if isinstance(value, (tuple, list)) and any([isinstance(x, (Tensor, tuple, list)) for x in value]):
        parts = [converted(x, cls) for x in value]
        return type(value)._make(parts) if hasattr(type(value), "_make") else type(value)(parts)
    return value


@cython.binding(False)
def _disabled_torch_function_impl(func, types, args=(), kwargs=None):
    """In the place of a class's ``__torch_function__``: its tensors are treated as plain ones."""
    return call_ours(func, args, kwargs)


ft_ask = ask
_protocol = "__torch_function__"
ft_protocol, ft_disabled, ft_plain = <PyObject *>_protocol, <PyObject *>_disabled_torch_function_impl, <PyTypeObject *>Tensor


# --- classes that are not tensors ---
cdef object _build_class = None


def set_mode_class(cls):
    """Say which classes have the method for another purpose."""
    global _mode_class
    _mode_class = cls


cdef bint is_duck(object cls):
    return (_protocol in cls.__dict__ and asks(cls) and not issubclass(cls, (Tensor, _mode_class) if _mode_class else Tensor)
            and cls.__module__.partition(".")[0] not in ("torch", "fasttensor"))


@cython.binding(False)
def build_class(function, name, *bases, **kwargs):
    """Python's own, which looks whether the new class has ``__torch_function__``."""
    global _kept
    made = _build_class(function, name, *bases, **kwargs)
    if not _kept and isinstance(made, type) and is_duck(made):
        _kept = True
        put_gates()
    return made


def watch_classes():
    """From now on a class statement that defines ``__torch_function__`` switches the gates on; so do classes that exist already."""
    global _build_class, _kept
    cdef list waiting = [object]
    if _build_class is not None:
        return
    _build_class, builtins.__build_class__ = builtins.__build_class__, build_class
    while waiting:
        for cls in type.__subclasses__(waiting.pop()):
            waiting.append(cls)
            if is_duck(cls):
                _kept = True
    if _kept:
        put_gates()
