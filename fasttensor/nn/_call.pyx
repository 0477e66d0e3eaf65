"""The hot path of Module: its call, and attributes that are parameters, children or buffers.

`self.weight` is no ordinary attribute: ordinary lookup fails, formats an error, and only then asks
`__getattr__`. Here the three registries come first, for 40 ns in place of 500.

A call needs a dozen entries of dicts that hardly ever change: hooks, parameters, the functions that a layer's `forward`
names. They are looked up again where a dict's version says that it changed.
"""
cimport cython
from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.object cimport PyObject, PyObject_GenericGetAttr
from cpython.ref cimport Py_DECREF, Py_INCREF

from fasttensor.autograd.products cimport try_linear

cdef extern from *:
    """
    /* Equal numbers mean the same dict with the same entries. Python 3.12 deprecates them. */
    #if PY_VERSION_HEX < 0x030C0000 && !defined(PYPY_VERSION)
    #define FT_DICT_VERSION(d) (((PyDictObject *)(d))->ma_version_tag)
    #else
    #define FT_DICT_VERSION(d) 0
    #endif
    #define FT_DICT_USED(d) (((PyDictObject *)(d))->ma_used)
    """
    unsigned long long FT_DICT_VERSION(PyObject *d)
    Py_ssize_t FT_DICT_USED(PyObject *d)

cdef extern from "Python.h":
    ctypedef object (*getattrofunc)(object, object)
    ctypedef object (*ternaryfunc)(object, object, PyObject *)
    ctypedef struct PyTypeObject:
        getattrofunc tp_getattro
        ternaryfunc tp_call
        unsigned int tp_version_tag
    PyObject *_PyType_Lookup(PyTypeObject *t, object name)
    PyTypeObject *Py_TYPE(object o)
    bint PyFunction_Check(object o)
    bint PyDict_Check(object o)
    PyObject *PyFunction_GetCode(object f)
    object PyObject_VectorcallDict(object f, PyObject **arguments, size_t n, PyObject *kwargs)
    object PyObject_CallOneArg(object f, object argument)
    void PyType_Modified(PyTypeObject *t)
    PyObject **_PyObject_GetDictPtr(object o)
    int Py_EnterRecursiveCall(const char *where) except *
    void Py_LeaveRecursiveCall()

cdef enum:
    MOST = 8            # positional arguments that are passed without a bound method
    KNOWN = 16          # forwards that are known

# The forwards whose calls skip the interpreter for as long as they, and the function that they call, are what they were
# (autocast, profilers and users replace them).
cdef enum Kind:
    OTHER, LINEAR, SEQUENTIAL, ACTIVATION

cdef struct Forward:
    PyObject *forward
    PyObject *code
    Kind kind
    bint inplace            # a second argument self.inplace
    PyObject *namespace     # the module's where it finds its function, NULL where it calls none
    unsigned long long seen     # the namespace's version in which the function is what it was
    PyObject *name
    PyObject *function
    PyObject *function_code     # NULL for compiled functions

cdef Forward known[KNOWN]
cdef int known_count = 0
cdef list kept = []         # what `known` points to
cdef tuple GLOBAL_HOOKS = ()
cdef object CALL_WITH_HOOKS = None
cdef object TAKE_CALL = None        # a tracer's: gets every call of a module,
cdef object TAKE_ATTRIBUTE = None   # and every parameter, child or buffer that is read as an attribute
cdef tuple HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


cdef extern from *:
    """
    static destructor ft_module_dealloc_rest;

    /* Cython's own empties the dict: but others may hold it, as after `other.__dict__ = one.__dict__`. */
    static void ft_module_dealloc(PyObject *o) {
        PyObject_GC_UnTrack(o);
        Py_CLEAR(*_PyObject_GetDictPtr(o));
        ft_module_dealloc_rest(o);
    }

    static void ft_keep_dicts(PyObject *type) {
        ft_module_dealloc_rest = ((PyTypeObject *)type)->tp_dealloc;
        ((PyTypeObject *)type)->tp_dealloc = ft_module_dealloc;
    }
    """
    void ft_keep_dicts(object type)


cdef inline dict dict_of(object self):
    # The base class has a dict at a fixed place: one addition, no call of `__dict__`.
    return <dict><object>_PyObject_GetDictPtr(self)[0]


def set_dict(ModuleBase self not None, dict value not None):
    """`self.__dict__ = value`, which Python does not offer for compiled classes."""
    cdef PyObject **place = _PyObject_GetDictPtr(self)
    Py_INCREF(value)
    cdef PyObject *old = place[0]
    place[0] = <PyObject *>value
    Py_DECREF(<object>old)


def set_hooks(tuple registries, call_with_hooks):
    """Say where hooks of all modules are, and what to call when there are any hooks."""
    global GLOBAL_HOOKS, CALL_WITH_HOOKS
    GLOBAL_HOOKS, CALL_WITH_HOOKS = registries, call_with_hooks


def take_over(call, attribute):
    """Let a tracer have ``call(module, args, kwargs)`` and ``attribute(module, name, value)``; returns who had them."""
    global TAKE_CALL, TAKE_ATTRIBUTE
    before = TAKE_CALL, TAKE_ATTRIBUTE
    TAKE_CALL, TAKE_ATTRIBUTE = call, attribute
    return before


def attribute_found(module, name, value):
    """What an attribute that was found in a registry is to the program."""
    return value if TAKE_ATTRIBUTE is None else TAKE_ATTRIBUTE(module, name, value)


def call_plainly(ModuleBase module not None, tuple args, dict kwargs):
    """A call that nobody takes over: hooks and forward."""
    look(module, dict_of(module))
    return CALL_WITH_HOOKS(module, args, kwargs) if hooked(module) else module.forward(*args, **kwargs)


cdef add_known(object forward, Kind kind, dict namespace, str name):
    global known_count
    cdef Forward *f = &known[known_count]
    if known_count == KNOWN:
        raise RuntimeError("nn: make room for more known forwards")
    code = forward.__code__
    f.forward, f.code, f.kind, f.namespace, f.seen, f.function_code = <PyObject *>forward, <PyObject *>code, kind, NULL, 0, NULL
    kept.extend((forward, code))
    if name is not None:
        function = namespace[name]
        # where a gate for __torch_function__ stands before the function already, what lies behind it
        function_code = getattr(function, "__wrapped__", function).__code__ if PyFunction_Check(function) else None
        kept.extend((namespace, name, function, function_code))
        f.namespace, f.name, f.function = <PyObject *>namespace, <PyObject *>name, <PyObject *>function
        if function_code is not None:
            f.function_code = <PyObject *>function_code
    known_count += 1


def set_linear(forward, dict functional):
    """Say which `forward` is ``functional.linear(input, self.weight, self.bias)``."""
    add_known(forward, LINEAR, functional, "linear")


def set_sequential(forward, iterate):
    """Say which `forward` calls one module of ``self`` after another, which `iterate` finds in ``self._modules``."""
    add_known(forward, SEQUENTIAL, None, None)
    kept.append(iterate)
    known[known_count - 1].function = <PyObject *>iterate


def set_activation(forward, dict namespace, str name, bint inplace):
    """Say which `forward` is ``name(input)``, or with `inplace`, ``name(input, self.inplace)``, of the given namespace."""
    add_known(forward, ACTIVATION, namespace, name)
    known[known_count - 1].inplace = inplace


cdef inline bint unchanged(Forward *f) except -1:
    """Whether the forward and the function that it calls are what they were."""
    cdef unsigned long long version
    if PyFunction_GetCode(<object>f.forward) != f.code:
        return False
    if f.namespace == NULL:
        return True
    version = FT_DICT_VERSION(f.namespace)
    if version == 0 or version != f.seen:
        if PyDict_GetItemWithError(<object>f.namespace, <object>f.name) != f.function:
            return False
        f.seen = version
    return f.function_code == NULL or PyFunction_GetCode(<object>f.function) == f.function_code


@cython.auto_pickle(False)
cdef class ModuleBase:
    """What a Module is to C: a dict, and a call."""
    cdef dict __dict__
    cdef object __weakref__
    # what was found in the dict when it had the version `seen`
    cdef unsigned long long seen, seen_parameters
    cdef unsigned int seen_type
    cdef PyObject *hooks[4]
    cdef PyObject *parameters
    cdef PyObject *modules
    cdef PyObject *weight
    cdef PyObject *bias
    cdef PyObject *inplace
    cdef bint hidden                # "forward", "weight" or "bias" is an attribute of its own

    def __call__(self, *args, **kwargs):
        return module_call(self, args, <PyObject *>kwargs)

    def __getnewargs__(self):
        # tells copy and pickle that what the object holds beside its dict need not be kept
        return ()


ft_keep_dicts(ModuleBase)


cdef bint look(ModuleBase m, dict d) except False:
    """Find what a call needs in the module's dict."""
    cdef int i
    for i in range(4):
        m.hooks[i] = PyDict_GetItemWithError(d, HOOKS[i])
        if m.hooks[i] == NULL or not PyDict_Check(<object>m.hooks[i]):
            raise AttributeError(f"{type(m).__name__} was called before Module.__init__() ran: call super().__init__() first")
    m.parameters, m.modules = PyDict_GetItemWithError(d, "_parameters"), PyDict_GetItemWithError(d, "_modules")
    m.inplace = PyDict_GetItemWithError(d, "inplace")
    m.hidden = (PyDict_GetItemWithError(d, "forward") != NULL or PyDict_GetItemWithError(d, "weight") != NULL
                or PyDict_GetItemWithError(d, "bias") != NULL)
    m.seen, m.seen_parameters = FT_DICT_VERSION(<PyObject *>d), 0
    return True


cdef inline bint hooked(ModuleBase m) except -1:
    """Whether there are hooks, of the module or of all modules."""
    cdef int i
    if FT_DICT_USED(m.hooks[0]) or FT_DICT_USED(m.hooks[1]) or FT_DICT_USED(m.hooks[2]) or FT_DICT_USED(m.hooks[3]):
        return True
    for i in range(len(GLOBAL_HOOKS)):
        if FT_DICT_USED(<PyObject *>GLOBAL_HOOKS[i]):
            return True
    return False


cdef inline PyObject *parameter(ModuleBase m, str name) except? NULL:
    """A registered parameter, which an attribute of the class would hide."""
    return NULL if _PyType_Lookup(Py_TYPE(m), name) != NULL else PyDict_GetItemWithError(<object>m.parameters, name)


cdef object call_known(ModuleBase m, Forward *f, object input):
    """What a known forward gives for one argument; None where its Python has to see to it."""
    cdef unsigned long long version
    cdef PyTypeObject *t = Py_TYPE(m)
    if not unchanged(f):
        return None
    if f.kind == LINEAR:
        if m.parameters == NULL:
            return None
        version = FT_DICT_VERSION(m.parameters)
        if version == 0 or version != m.seen_parameters or t.tp_version_tag == 0 or t.tp_version_tag != m.seen_type:
            m.weight = parameter(m, "weight")
            m.bias = parameter(m, "bias")
            m.seen_parameters, m.seen_type = version, t.tp_version_tag
        if m.weight == NULL or m.bias == NULL:
            return None
        return try_linear(input, <object>m.weight, <object>m.bias)
    if f.kind == SEQUENTIAL:
        if m.modules == NULL or _PyType_Lookup(t, "__iter__") != f.function:
            return None
        return call_children(<dict><object>m.modules, input)
    if not f.inplace or (m.inplace != NULL and <object>m.inplace is False):
        return PyObject_CallOneArg(<object>f.function, input)
    return None


cdef object call_children(dict modules, object input):
    cdef PyObject *key
    cdef PyObject *child
    cdef Py_ssize_t place = 0, n = FT_DICT_USED(<PyObject *>modules)
    Py_EnterRecursiveCall(" while calling a module of a Sequential")
    try:
        while PyDict_Next(modules, &place, &key, &child):
            module = <object>child
            if Py_TYPE(module).tp_call == module_call:
                input = call_one(module, input)
            else:
                input = PyObject_CallOneArg(module, input)
            if FT_DICT_USED(<PyObject *>modules) != n:
                raise RuntimeError("dictionary changed size during iteration")
    finally:
        Py_LeaveRecursiveCall()
    return input


cdef inline object call_one(object self, object input):
    return module_call(self, (input,), NULL)


cdef object module_call(object self, object args, PyObject *kwargs):
    """The call of a module; `kwargs` is NULL where there are none."""
    cdef dict d = dict_of(self)
    cdef ModuleBase m = <ModuleBase>self
    cdef PyObject *found
    cdef PyObject *stack[MOST + 1]
    cdef Py_ssize_t n = len(<tuple>args), i
    cdef unsigned long long version = FT_DICT_VERSION(<PyObject *>d)
    if TAKE_CALL is not None:
        return TAKE_CALL(self, args, {} if kwargs == NULL else <object>kwargs)
    if version == 0 or version != m.seen:
        look(m, d)
    if hooked(m):
        return CALL_WITH_HOOKS(self, args, {} if kwargs == NULL else <object>kwargs)
    # As a rule `forward` is a function of the class, which needs no bound method.
    if n <= MOST and Py_TYPE(self).tp_getattro == module_getattro and (not m.hidden or PyDict_GetItemWithError(d, "forward") == NULL):
        found = _PyType_Lookup(Py_TYPE(self), "forward")
        if n == 1 and kwargs == NULL and not m.hidden:
            for i in range(known_count):
                if found == known[i].forward:
                    result = call_known(m, &known[i], (<tuple>args)[0])
                    if result is not None:
                        return result
                    break
        if found != NULL and PyFunction_Check(<object>found):
            stack[0] = <PyObject *>self
            for i in range(n):
                stack[i + 1] = <PyObject *>(<tuple>args)[i]
            return PyObject_VectorcallDict(<object>found, stack, n + 1, kwargs)
    forward = self.forward
    return forward(*args) if kwargs == NULL else forward(*args, **<object>kwargs)


cdef object module_getattro(object self, object name):
    cdef dict d = dict_of(self)
    cdef PyObject *registry
    cdef PyObject *found
    if PyDict_GetItemWithError(d, name) == NULL:
        for key in ("_parameters", "_modules", "_buffers"):
            registry = PyDict_GetItemWithError(d, key)
            if registry != NULL and isinstance(<object>registry, dict):
                found = PyDict_GetItemWithError(<object>registry, name)
                if found != NULL and _PyType_Lookup(Py_TYPE(self), name) == NULL:
                    return <object>found if TAKE_ATTRIBUTE is None else TAKE_ATTRIBUTE(self, name, <object>found)
    return PyObject_GenericGetAttr(self, name)


def speed_up(cls, module):      # untyped: a class may have another metaclass, as ABCMeta
    """Let a subclass of Module look attributes up here, unless it, or a class it comes from, does so itself."""
    # The slot that a class would inherit makes a dict of keywords for every call.
    if cls.__call__ is ModuleBase.__call__:
        (<PyTypeObject *>cls).tp_call = module_call
    for base in cls.__mro__:
        if base is module:
            continue
        if base is not object and base is not ModuleBase and ("__getattr__" in base.__dict__ or "__getattribute__" in base.__dict__):
            return
    # Python's own slot would go through __getattr__; assigning that to a class later puts it back.
    (<PyTypeObject *>cls).tp_getattro = module_getattro
    PyType_Modified(<PyTypeObject *>cls)
