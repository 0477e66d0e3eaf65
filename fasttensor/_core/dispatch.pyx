"""Slots through which the core reaches operations of higher layers, and the kernels of a device.

The core defines what a Tensor is but no operation; `a + b` goes through `binary_slots()[SLOT_ADD]`,
which the autograd layer fills when it is imported. Kernels are found by device and name, and
their module is imported on first use.
"""
import builtins
from importlib import import_module
from sys import modules
from cpython.object cimport PyTypeObject
from fasttensor._core.tensor cimport Tensor, describe, META
from fasttensor._core.dual cimport HIDDEN, OFF, dual_on, hidden, set_dual_on, set_hidden

cdef extern from *:
    """
    #ifdef __linux__      /* three words fit into the room for thread-local data that needs no call to find */
    #define FT_THREAD __thread __attribute__((tls_model("initial-exec")))
    #else
    #define FT_THREAD __thread
    #endif
    static FT_THREAD int ft_grad_on = 1;
    static FT_THREAD int ft_inference_on = 0;
    static FT_THREAD int ft_grad_asked = 0;     /* what enable_grad says inside inference mode, where nothing is recorded */
    static FT_THREAD int ft_vmap_depth = 0;
    """
    int ft_grad_on
    int ft_inference_on
    int ft_grad_asked
    int ft_vmap_depth

cdef binary_slot _binary[64]
cdef unary_slot _unary[16]
cdef copy_slot _copy[4]
cdef dict _hooks = {}
cdef object _finder = None


cdef binary_slot *binary_slots() noexcept:
    return _binary


cdef unary_slot *unary_slots() noexcept:
    return _unary


cdef void set_copy(int dev, copy_slot f) noexcept:
    _copy[dev] = f


cdef bint internal_overlap(Tensor x) noexcept:
    """Whether an element of x stands for several: a dimension was expanded."""
    cdef int d
    if x.contig:
        return False
    for d in range(x.rank):
        if x.steps[d] == 0 and x.sizes[d] > 1:
            return True
    return False


cdef bint copy_into(Tensor dst, Tensor src) except False:
    """dst[...] = src, on whichever device is not the CPU."""
    cdef int d, k, dev = dst.dev if dst.dev != 0 else src.dev
    if dst.store is not None and dst.store.read_only:
        refuse_write(dst)
    if _copy[dev] == NULL:
        raise RuntimeError(f"copy: no kernels for {describe(dst)} on device {backend_name(dev)!r} are loaded")
    if internal_overlap(dst):
        raise RuntimeError(f"copy: more than one element of the written-to tensor {describe(dst)} refers to a single memory"
                           " location: clone() it before writing")
    for d in range(src.rank):
        k = dst.rank - src.rank + d
        if src.sizes[d] != 1 and (k < 0 or src.sizes[d] != dst.sizes[k]):
            raise RuntimeError(f"copy: shape of {describe(src)} does not broadcast to {describe(dst)}")
    return _copy[dev](dst, src)


cdef bint refuse_write(Tensor x) except False:
    raise RuntimeError(f"copy: {describe(x)} shows memory that is not writable (a read-only array or buffer): clone() it first")


cdef bint grad_enabled() noexcept nogil:
    return ft_grad_on


cdef void set_grad_enabled_flag(bint on) noexcept nogil:
    global ft_grad_on
    ft_grad_on = on


cdef bint inference_enabled() noexcept nogil:
    return ft_inference_on


cdef void set_inference_flag(bint on) noexcept nogil:
    global ft_inference_on
    ft_inference_on = on


cdef bint inside_vmap() noexcept nogil:
    return ft_vmap_depth != 0


cdef void enter_vmap(int change) noexcept nogil:
    """Count the vmaps that this thread is inside of: +1 on the way in, -1 on the way out."""
    global ft_vmap_depth
    ft_vmap_depth += change


cdef object find_hook(str name):
    found = _hooks.get(name)
    if found is None and _finder is not None:
        _finder(name)
        found = _hooks.get(name)
    return found


cdef object hook(str name):
    found = find_hook(name)
    if found is None:
        raise RuntimeError(f"fasttensor is not fully imported: nothing provides {name!r} yet")
    return found


def call_hook(str name, *args):
    """Call what provides a hook."""
    return hook(name)(*args)


def set_hook(str name, function):
    """Provide what a Tensor protocol needs from a higher layer, e.g. "repr"."""
    _hooks[name] = function


def add_hooks(dict functions):
    """Provide hooks of a module that was imported late: what is set already stays."""
    for name, function in functions.items():
        _hooks.setdefault(name, function)


def set_finder(function):
    """`function(name)` imports what provides a hook that nothing has set, and sets it."""
    global _finder
    _finder = function


# These stand in the slots of modules that are imported late: importing what provides the hook fills the slot.
cdef object late_matmul(object a, object b):
    hook("matmul")
    if _binary[SLOT_MATMUL] == late_matmul:
        raise RuntimeError("fasttensor is not fully imported: nothing fills the slot of @")
    return _binary[SLOT_MATMUL](a, b)


cdef object late_getitem(object a, object index):
    hook("unbind")
    if _binary[SLOT_GETITEM] == late_getitem:
        raise RuntimeError("fasttensor is not fully imported: nothing fills the slot of x[i]")
    return _binary[SLOT_GETITEM](a, index)


_binary[SLOT_MATMUL], _binary[SLOT_GETITEM] = late_matmul, late_getitem


def install(cls, dict methods):
    """Add Python-level methods to an extension class.

    Special methods that fill type slots must be defined in the class itself.
    """
    install_into_type(cls, methods)


def set_type_name(type cls, bytes name):
    """Show a compiled class under the name by which programs know it, in `repr`, messages and pickles."""
    _names_of_types.append(name)        # the class keeps only the address
    (<PyTypeObject *>cls).tp_name = name


cdef list _names_of_types = []


cdef extern from *:
    """
    static int ft_install(PyTypeObject *type, PyObject *methods) {
        if (PyDict_Update(type->tp_dict, methods) < 0) return -1;
        PyType_Modified(type);
        return 0;
    }
    static int ft_open(PyTypeObject *type) {
    #ifdef Py_TPFLAGS_IMMUTABLETYPE
        type->tp_flags &= ~Py_TPFLAGS_IMMUTABLETYPE;
    #endif
        PyType_Modified(type);
        return 0;
    }
    """
    int ft_install(type cls, dict methods) except -1
    int ft_open(type cls) except -1


def allow_attributes(type cls):
    """Let programs set attributes of an extension class, as they do with PyTorch's Tensor, which is a Python class."""
    ft_open(cls)


cdef extern from *:
    """
    static void ft_writable_dict(PyObject *getset) { ((PyGetSetDescrObject *)getset)->d_getset->set = PyObject_GenericSetDict; }
    """
    void ft_writable_dict(object getset)


def make_dict_writable(type cls):
    """Let programs give instances of a compiled class another `__dict__`, as they may those of PyTorch's tensors."""
    ft_writable_dict(cls.__dict__["__dict__"])


cdef install_into_type(type cls, dict methods):
    ft_install(cls, methods)


cdef str backend_name(int dev):
    return ("cpu", "cuda", "meta", "vmap")[dev]


class Backend:
    """The kernels of one device; `backend(x).softmax` imports the module that has it on first use."""

    def __init__(self, name):
        self._name = name
        self._index = None

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if self._index is None:
            self._index = import_module("fasttensor." + self._name).KERNELS
        if name not in self._index:
            raise NotImplementedError(f"{name}: no kernel for device {self._name!r}; move the tensor with .cpu()")
        function = getattr(import_module(f"fasttensor.{self._name}.{self._index[name]}"), name)
        setattr(self, name, function)
        return function


cdef class Guarded:
    """A kernel of the CPU that refuses meta tensors, which have no memory that it could read."""
    cdef object function
    cdef readonly str __name__
    cdef readonly object __doc__

    def __init__(self, str name, function):
        self.function, self.__name__, self.__doc__ = function, name, getattr(function, "__doc__", None)

    def __call__(self, *args, **named):
        check_memory(self.__name__, args)
        if named:
            check_memory(self.__name__, named.values())
        return self.function(*args, **named)


cdef bint check_memory(str name, object args) except False:
    for a in args:
        if isinstance(a, Tensor):
            if (<Tensor>a).dev == META:
                raise RuntimeError(f"{name}: Expected all tensors to be on the same device, but found at least two devices, cpu and meta!"
                                   f" ({describe(a)} is on meta)")
        elif type(a) is list or type(a) is tuple:
            check_memory(name, a)
    return True


class GuardedBackend(Backend):
    """The CPU's kernels once there are meta tensors."""

    def __getattr__(self, name):
        function = Backend.__getattr__(self, name)
        if not isinstance(function, type):
            function = Guarded(name, function)
            setattr(self, name, function)
        return function


cdef list _backends = [Backend("cpu"), Backend("cuda"), Backend("meta"), None]
cdef object _cpu = _backends[0]


def begin_meta():
    """Called before the first meta tensor is made: until then the CPU's kernels need not look for any."""
    import_module("fasttensor.meta")
    for name in [name for name in _cpu.__dict__ if not name.startswith("_")]:
        delattr(_cpu, name)
    _cpu.__class__ = GuardedBackend


def backend(x):
    """The kernels of a tensor's device; inside vmap, those that look for batched arguments first."""
    if ft_vmap_depth:
        return _backends[3]
    if isinstance(x, Tensor):
        return _backends[(<Tensor>x).dev]
    return _cpu


def plain_backend(x):
    """The kernels of a tensor's device, inside vmap too."""
    return _backends[(<Tensor>x).dev] if isinstance(x, Tensor) else _cpu


def backend_of(str kind):
    """The kernels of a kind of device, "cpu", "cuda" or "meta"."""
    return _backends[("cpu", "cuda", "meta").index(kind)]


def set_batched_backend(kernels):
    """Provide the kernels for batched tensors."""
    _backends[3] = kernels


def is_grad_enabled():
    """Whether operations are recorded in this thread.

    >>> import fasttensor
    >>> fasttensor.is_grad_enabled()
    True
    """
    return bool(ft_grad_asked) if ft_inference_on else bool(ft_grad_on) and not hidden()


def is_recording():
    """Whether operations get nodes in this thread: with gradients on, or for tangents of dual numbers."""
    return bool(ft_grad_on)


cpdef int _set_grad_enabled(int on):
    """Switch recording in this thread; returns what sets it back.

    Beside 0 and 1 there are HIDDEN and OFF. Inside a level of dual numbers 0 means HIDDEN, where tangents still
    pass, as in PyTorch; OFF is without them too. Inside inference mode the switch is remembered and nothing is recorded.
    """
    global ft_grad_on, ft_grad_asked
    cdef int before = ft_grad_on
    if ft_inference_on:
        before, ft_grad_asked = ft_grad_asked, on == 1
        return before
    if dual_on():
        before = OFF if not ft_grad_on else HIDDEN if hidden() else 1
        if on == 0 and ft_grad_on:
            on = HIDDEN
        set_hidden(on == HIDDEN)
    elif on == HIDDEN:
        on = 0
    ft_grad_on = on == 1 or on == HIDDEN
    return before


def _set_dual(bint on):
    """Enter or leave a level of dual numbers in this thread, where what no_grad has switched off is HIDDEN."""
    global ft_grad_on
    if on and not ft_grad_on and not ft_inference_on:
        ft_grad_on = 1
        set_hidden(True)
    elif not on and hidden():
        ft_grad_on = 0
        set_hidden(False)
    set_dual_on(on)


def is_inference_mode_enabled():
    """Whether inference mode is on in this thread.

    >>> with torch.inference_mode():
    ...     print(torch.is_inference_mode_enabled())
    True
    """
    return bool(ft_inference_on)


cpdef bint _set_inference_mode(bint on):
    global ft_inference_on, ft_grad_asked
    cdef bint before = ft_inference_on
    ft_inference_on, ft_grad_asked = on, 0
    return before


include "modes.pxi"
include "override.pxi"
include "asking.pxi"
include "taking_over.pxi"
