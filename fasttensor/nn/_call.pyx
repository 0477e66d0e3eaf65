"""The hot path of Module: its call, and attributes that are parameters, children or buffers.

`self.weight` is no ordinary attribute: ordinary lookup fails, formats an error, and only then asks
`__getattr__`. Here the three registries come first, for 40 ns in place of 500.
"""
cimport cython
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject, PyObject_GenericGetAttr
from cpython.ref cimport Py_DECREF, Py_INCREF

from fasttensor.autograd.products cimport try_linear

cdef extern from "Python.h":
    ctypedef object (*getattrofunc)(object, object)
    ctypedef object (*ternaryfunc)(object, object, PyObject *)
    ctypedef struct PyTypeObject:
        getattrofunc tp_getattro
        ternaryfunc tp_call
    PyObject *_PyType_Lookup(PyTypeObject *t, object name)
    PyTypeObject *Py_TYPE(object o)
    bint PyFunction_Check(object o)
    PyObject *PyFunction_GetCode(object f)
    object PyObject_VectorcallDict(object f, PyObject **arguments, size_t n, PyObject *kwargs)
    Py_ssize_t PyDict_Size(object d) except -1
    void PyType_Modified(PyTypeObject *t)
    PyObject **_PyObject_GetDictPtr(object o)

cdef object LINEAR_FORWARD = None       # Linear.forward as it is written in Python, and the function that it calls
cdef object LINEAR = None
cdef tuple CODES = (None, None)
cdef dict FUNCTIONAL = {}
cdef tuple GLOBAL_HOOKS = ()
cdef object CALL_WITH_HOOKS = None


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


def set_linear(forward, dict functional):
    """Say which `forward` is ``functional.linear(input, self.weight, self.bias)``: its calls go straight to the kernel
    for as long as that function is what it was (autocast, profilers and users replace it)."""
    global LINEAR_FORWARD, LINEAR, CODES, FUNCTIONAL
    LINEAR_FORWARD, FUNCTIONAL, LINEAR = forward, functional, functional["linear"]
    CODES = (forward.__code__, LINEAR.__code__)


cdef object call_linear(dict d, object input):
    """What Linear.forward gives; None where its Python has to see to it."""
    cdef PyObject *parameters = PyDict_GetItem(d, "_parameters")
    cdef PyObject *weight
    cdef PyObject *bias
    if (parameters == NULL or PyDict_GetItem(FUNCTIONAL, "linear") != <PyObject *>LINEAR
            or PyFunction_GetCode(LINEAR_FORWARD) != <PyObject *>CODES[0] or PyFunction_GetCode(LINEAR) != <PyObject *>CODES[1]
            or PyDict_GetItem(d, "weight") != NULL or PyDict_GetItem(d, "bias") != NULL):
        return None
    weight = PyDict_GetItem(<object>parameters, "weight")
    bias = PyDict_GetItem(<object>parameters, "bias")
    if weight == NULL or bias == NULL:
        return None
    return try_linear(input, <object>weight, <object>bias)


@cython.auto_pickle(False)
cdef class ModuleBase:
    """What a Module is to C: a dict, and a call."""
    cdef dict __dict__
    cdef object __weakref__

    def __call__(self, *args, **kwargs):
        return module_call(self, args, <PyObject *>kwargs)


cdef enum:
    MOST = 8            # positional arguments that are passed without a bound method


cdef object module_call(object self, object args, PyObject *kwargs):
    """The call of a module; `kwargs` is NULL where there are none."""
    cdef dict d = dict_of(self)
    cdef PyObject *found
    cdef PyObject *stack[MOST + 1]
    cdef Py_ssize_t n = len(<tuple>args), i
    cdef bint hooked = False
    for name in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"):
        found = PyDict_GetItem(d, name)
        if found == NULL:
            raise AttributeError(f"{type(self).__name__} was called before Module.__init__() ran: call super().__init__() first")
        if PyDict_Size(<object>found):
            hooked = True
    for registry in GLOBAL_HOOKS:
        if PyDict_Size(registry):
            hooked = True
    if hooked:
        return CALL_WITH_HOOKS(self, args, {} if kwargs == NULL else <object>kwargs)
    # As a rule `forward` is a function of the class, which needs no bound method.
    if n <= MOST and Py_TYPE(self).tp_getattro == module_getattro and PyDict_GetItem(d, "forward") == NULL:
        found = _PyType_Lookup(Py_TYPE(self), "forward")
        if found == <PyObject *>LINEAR_FORWARD and n == 1 and kwargs == NULL:
            result = call_linear(d, (<tuple>args)[0])
            if result is not None:
                return result
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
    if PyDict_GetItem(d, name) == NULL:
        for key in ("_parameters", "_modules", "_buffers"):
            registry = PyDict_GetItem(d, key)
            if registry != NULL and isinstance(<object>registry, dict):
                found = PyDict_GetItem(<object>registry, name)
                if found != NULL:
                    return <object>found
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
