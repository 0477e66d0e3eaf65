# `__torch_dispatch__`: who takes over operations; included in dispatch.pyx after asking.pxi. The gates are those of override.pxi.

cdef bint dispatches(object x) noexcept:
    """Whether an object's class takes over operations with ``__torch_dispatch__``."""
    return ft_dispatch_classes and ft_type_dispatches(Py_TYPE(x))


cdef bint dispatching() noexcept:
    """Whether a mode takes over operations in this thread."""
    return ft_has_dispatch_modes()


def push_dispatch_mode(mode):
    """Ask `mode` first for every operation in this thread, until `pop_dispatch_mode`."""
    global _entered, ft_dispatch_stack
    _entered += 1
    put_gates()
    if ft_dispatch_stack == NULL:
        stack = []
        Py_INCREF(stack)
        ft_dispatch_stack = <PyObject *>stack
    (<list>ft_dispatch_stack).append(mode)


def pop_dispatch_mode():
    """Undo the last `push_dispatch_mode` of this thread; returns its mode."""
    global _entered
    if ft_dispatch_stack == NULL or not <list>ft_dispatch_stack:
        raise RuntimeError("no TorchDispatchMode is entered in this thread")
    mode = (<list>ft_dispatch_stack).pop()
    _entered -= 1
    take_gates()
    return mode


def set_aside_mode():
    """Take the innermost mode off while it runs."""
    return (<list>ft_dispatch_stack).pop()


def put_back_mode(mode):
    """Undo `set_aside_mode`."""
    (<list>ft_dispatch_stack).append(mode)


def dispatch_modes_entered():
    """The modes of this thread, the innermost last."""
    return list(<list>ft_dispatch_stack) if ft_dispatch_stack != NULL else []


def set_dispatch_off(int on):
    """Let operations run without asking, or (0) ask again; returns what it was."""
    global ft_dispatch_off
    cdef int before = ft_dispatch_off
    ft_dispatch_off = on
    return before


def run_past(function, args, dict kwargs):
    """Call a function that would be asked for; the functions that it calls are asked for."""
    global ft_dispatch_past
    ft_dispatch_past = 1
    try:
        return function(*args, **kwargs)
    finally:
        ft_dispatch_past = 0


def dispatched_for(values):
    """The first value of each class that takes over operations, subclasses first; None where there is none and no mode."""
    cdef list found = [], parts
    if ft_dispatch_off:
        return None
    if ft_dispatch_classes:
        for x in values:
            parts = list(x) if isinstance(x, (tuple, list)) else [x]
            for y in parts:
                if dispatches(y) and not any([type(y) is type(z) for z in found]):
                    found.insert(next((i for i, z in enumerate(found) if issubclass(type(y), type(z))), len(found)), y)
    return found if found or ft_has_dispatch_modes() else None


@cython.binding(False)
def _disabled_torch_dispatch_impl(func, types, args=(), kwargs=None):
    """In the place of a class's ``__torch_dispatch__``: its tensors are computed with as plain ones."""
    before = set_dispatch_off(1)
    try:
        return func(*args, **(kwargs or {}))
    finally:
        set_dispatch_off(before)


_dispatch_protocol = "__torch_dispatch__"
ft_dispatch_protocol, ft_dispatch_disabled = <PyObject *>_dispatch_protocol, <PyObject *>_disabled_torch_dispatch_impl
