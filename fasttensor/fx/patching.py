"""What a tracer puts in the place of functions that are recorded and not looked into, while it runs."""
import builtins
import functools

from fasttensor.utils import _pytree as pytree

from .proxy import Proxy

__all__ = []


def _proxy_in(args, kwargs):
    return next((x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, Proxy)), None)


def recorded_function(function):
    """The function, of whose calls with traced values a node is made."""
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        proxy = _proxy_in(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made
    wrapped.__fx_already_patched = True
    return wrapped


def recorded_method(cls, name):
    """A method, of whose calls with traced values a node is made."""
    function = getattr(cls, name)

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        proxy = _proxy_in(args, kwargs)
        return function(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_method", name, args, kwargs)
    wrapped.__fx_already_patched = True
    return wrapped


class Patches:
    """Names of namespaces and classes that stand for something else until `undo`."""

    def __init__(self):
        self.made, self.visited = [], set()

    def put(self, namespace, name, function):
        """Set a name of a module's namespace, which may be one of the builtins."""
        missing = object()
        before = namespace.get(name, missing)
        namespace[name] = function

        def back():
            if before is missing:
                del namespace[name]
            else:
                namespace[name] = before
        self.made.append(back)

    def wrapped(self, functions, methods):
        """Put in place what `wrap` marked."""
        for (_, name), namespace in functions.copy().items():
            function = namespace.get(name, getattr(builtins, name, None))
            if callable(function) and not hasattr(function, "__fx_already_patched"):
                self.put(namespace, name, recorded_function(function))
        for cls, name in methods:
            before = vars(cls).get(name)
            setattr(cls, name, recorded_method(cls, name))
            self.made.append(functools.partial(delattr, cls, name) if before is None else functools.partial(setattr, cls, name, before))

    def autowrap(self, namespace, ids):
        """Put in place the functions of a namespace that the tracer records of its own."""
        if id(namespace) in self.visited:
            return
        self.visited.add(id(namespace))
        for name, value in list(namespace.items()):
            if name[0] != "_" and callable(value) and id(value) in ids:
                self.put(namespace, name, recorded_function(value))

    def undo(self):
        """Take everything back."""
        while self.made:
            self.made.pop()()
        self.visited.clear()
