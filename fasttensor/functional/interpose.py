"""Public functions that are watched while somebody asks for it, at no cost while nobody does.

A Python function is watched by giving it another code object, so that every reference to it, also one that a
program imported by name, is watched; compiled ones are replaced in the public namespaces. The first to ask
installs the watch and the last to leave takes it away.
"""

import threading
from types import FunctionType

from fasttensor._core import dispatch
from fasttensor._core.tensor import Tensor
from fasttensor.autograd import watching

__all__ = []
METHODS = {}

TABLE = "fasttensor.autograd.generated_functions"       # its functions are announced by the driver itself

_lock = threading.RLock()
_users = {"casts": 0, "all": 0}
_watched = {}       # id of a function -> Watched
_casting = []       # those that autocast converts for
_more = []          # functions that are announced though they are no operations
_replaced = []      # (namespace, name, the compiled function that stood there)


def _shell(*args, **kwargs):
    return "watched".run(*args, **kwargs)


def _gated(*args, **kwargs):
    inside = "watched"
    return inside(*args, **kwargs)


class Watched:
    """One function under watch: what it is called, what autocast does to its arguments, how to run it."""
    __slots__ = ("function", "name", "original", "plain", "code", "cast", "listened", "gate", "gated", "gate_code")

    def __init__(self, function, name):
        self.function, self.name, self.cast, self.listened, self.gate, self.gated = function, name, None, False, None, False
        self.original = function
        if isinstance(function, FunctionType):
            self.original = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__,
                                         function.__closure__)
            self.original.__kwdefaults__ = function.__kwdefaults__
            self.original.__qualname__ = function.__qualname__          # what errors about arguments say; else the code's own
            self.plain = function.__code__
            self.code = self.shell(_shell.__code__, self)

    def shell(self, code, inside):
        """Code for the function that calls `inside`."""
        constants = tuple(inside if value == "watched" else value for value in code.co_consts)
        # a function keeps its cells, so its code must name as many
        return code.replace(co_consts=constants, co_freevars=self.plain.co_freevars, co_name=self.function.__name__)

    def settle(self):
        """Give the function the code for who watches it now."""
        watched = self.listened or self.cast is not None and _users["casts"] > 0
        if self.gated:
            self.gate.native = self.run if watched else self.original
        self.function.__code__ = self.gate_code if self.gated else self.code if watched else self.plain

    def run(self, *args, **kwargs):
        if self.cast is not None:
            return self.cast(self, args, kwargs)
        return self.call(args, kwargs)

    def call(self, args, kwargs):
        """The function itself, announced if somebody listens."""
        if self.listened:
            return watching.operation(self.name, self.original, args, kwargs)
        return self.original(*args, **kwargs)


def namespaces():
    """The modules and the class whose functions are operations."""
    import fasttensor
    from fasttensor._assemble import load_all
    from fasttensor.nn import functional
    load_all()
    return (fasttensor, functional, fasttensor.linalg, fasttensor.fft, fasttensor.special, Tensor)


def prefix_of(space):
    """What PyTorch puts before the names of a namespace's operations: linalg.inv is aten::linalg_inv."""
    last = space.__name__.rpartition(".")[2]
    return last + "_" if last in ("linalg", "fft", "special") else ""


def functions(name):
    """Every Python function that is public under an operation's name."""
    found = []
    for space in namespaces():
        prefix = prefix_of(space)
        if name.startswith(prefix):
            function = vars(space).get(name.removeprefix(prefix))
            if isinstance(function, FunctionType) and all(function is not other for other in found):
                found.append(function)
    return found


def watched(function, name):
    """The watch over a function, made on first use."""
    found = _watched.get(id(function))
    if found is None:
        found = _watched[id(function)] = Watched(function, name)
    elif found.name is None:
        found.name = name
    return found


def gate(function, on, asked_as=None):
    """Put a gate for ``__torch_function__`` before a Python function, or take it away. It goes by `asked_as` there."""
    entry = watched(function, None)
    if entry.gate is None:
        entry.gate = dispatch.Gate(asked_as or function, entry.original)
        entry.gate_code = entry.shell(_gated.__code__, entry.gate)
    if entry.gated != on:
        entry.gated = on
        entry.settle()
        if on:      # signatures are read from it
            function.__dict__.setdefault("__wrapped__", entry.original)
        elif function.__dict__.get("__wrapped__") is entry.original:
            del function.__wrapped__


def set_casts(casts):
    """Say how autocast treats operations: {name: f(watched, args, kwargs)}."""
    for name, cast in casts.items():
        for function in functions(name):
            watched(function, SPELLED.get(name, name)).cast = cast
    _casting[:] = [entry for entry in _watched.values() if entry.cast is not None]


def use_casts():
    """Begin to cast the arguments of the operations named to `set_casts`, until `drop_casts`."""
    with _lock:
        _users["casts"] += 1
        if _users["casts"] == 1:
            watching.route_operators(True)
            for entry in _casting:
                entry.settle()


def drop_casts():
    """Undo `use_casts`."""
    with _lock:
        _users["casts"] -= 1
        if _users["casts"] == 0:
            watching.route_operators(False)
            for entry in _casting:
                entry.settle()


def also_announce(function, name):
    """Announce a function that is no operation, such as an optimizer's step, too."""
    _more.append(watched(function, name))
    if _users["all"]:
        _more[-1].listened = True
        _more[-1].settle()


def listen(listener):
    """Announce every public operation to `listener`, until `stop_listening`."""
    with _lock:
        _users["all"] += 1
        if _users["all"] == 1:
            _announce_all()
        watching.listen(listener)


def stop_listening(listener):
    """Undo `listen`."""
    with _lock:
        watching.stop_listening(listener)
        _users["all"] -= 1
        if _users["all"] == 0:
            for entry in _watched.values():
                if entry.listened:
                    entry.listened = False
                    entry.settle()
            while _replaced:
                space, name, function = _replaced.pop()
                _put(space, name, function)


def _put(space, name, function):
    if space is Tensor:
        dispatch.install(Tensor, {name: function})
    else:
        setattr(space, name, function)


def _announce_all():
    for entry in _more:
        entry.listened = True
        entry.settle()
    for space in namespaces():
        for name, function in list(vars(space).items()):
            module = getattr(function, "__module__", None) or ""
            if quiet(name) or module == "fasttensor._assemble":
                continue
            if isinstance(function, FunctionType):
                if module.partition(".")[0] == "fasttensor" and not function.__code__.co_flags & GENERATOR:
                    entry = watched(function, operation_name(space, name))
                    entry.listened = True
                    entry.settle()
            elif module != TABLE and type(function).__name__ in COMPILED:
                _replaced.append((space, name, function))
                _put(space, name, _announcing(function, operation_name(space, name)))


def _announcing(function, name):
    def announced(*args, **kwargs):
        return watching.operation(name, function, args, kwargs)
    announced.__name__ = announced.__qualname__ = name
    announced.__doc__ = function.__doc__
    return announced


def operation_name(space, name):
    """PyTorch's name of what a function does: aten::NAME without the first part."""
    name = prefix_of(space) + name
    return SPELLED.get(name, name)


def quiet(name):
    """Questions about tensors, settings and ways out of tensors are no operations."""
    return name in QUIET or name.startswith(("is_", "get_", "set_", "register_", "has_", "_"))


GENERATOR = 0x20        # a generator's code must not change into a plain function's
COMPILED = ("cython_function_or_method", "method_descriptor", "builtin_function_or_method")
SPELLED = {"cross_entropy": "cross_entropy_loss", "grid_sample": "grid_sampler", "__getitem__": "index", "__setitem__": "index_put_",
           "concat": "cat", "concatenate": "cat", "divide": "div", "true_divide": "div"}
QUIET = frozenset(
    "numel nelement size stride dim ndimension element_size storage untyped_storage data_ptr storage_offset tolist numpy result_type"
    " broadcast_shapes manual_seed seed initial_seed memory_stats reset_peak_memory_stats empty_cache can_cast promote_types"
    " from_dlpack backward requires_grad_ retain_grad as_subclass type".split())
