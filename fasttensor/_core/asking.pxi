# Who is asked for calls, and switching the gates of override.pxi on and off; included in dispatch.pyx after it.

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
    if not found and not (ft_has_modes() and ft_asking != FT_NOBODY):
        return hook("dispatch_call")(function, args, named)
    ft_inside = 0
    try:
        if ft_has_modes() and ft_asking != FT_NOBODY:
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
    global _kept, ft_dispatch_classes
    if not ft_dispatch_classes and ft_type_dispatches(<PyTypeObject *>cls):
        ft_dispatch_classes = 1
        _kept = True
        put_gates()
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


def keep_asking():
    """From now on functions look for ``__torch_function__``, as where a class that has it was met."""
    global _kept
    if not _kept:
        _kept = True
        put_gates()


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
        cdef tuple values = (*args, *kwargs.values()) if kwargs else <tuple>args
        if ft_overridden(ft_items(values, 0), len(values)):         # asked once: the answer may be that this one call passes
            return ask(self.function, args, <PyObject *>kwargs)
        return self.native(*args, **kwargs)


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
# The gates cost something, so they are put in place only when a class exists that wants to be asked. A tensor of a subclass tells of its class when
# it is made, in Tensor's own constructor; a class that is no tensor passes through no code of this library before a function meets its object, and a
# function without a gate refuses it. Python 3.11 has no other place that hears of new classes: type's watchers, audit hooks and __init_subclass__ do not
# see them. So the class statement is watched, which is no measurable
# part of the 6 us that one takes; Python's own function does the work, and may be wrapped further.
cdef object _build_class = None


def set_mode_class(cls):
    """Say which classes have the method for another purpose."""
    global _mode_class
    _mode_class = cls


cdef bint is_duck(object cls):
    return (_protocol in cls.__dict__ and asks(cls) and not issubclass(cls, (Tensor, _mode_class) if _mode_class else Tensor)
            and cls.__module__.partition(".")[0] not in ("torch", "fasttensor"))


@cython.binding(False)
def build_class(function, name, /, *bases, **kwargs):
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
