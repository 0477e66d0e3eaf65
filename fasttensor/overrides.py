"""``torch.overrides``: tensor-like classes with ``__torch_function__``, whose function a library calls in place of its own.

Functions of fasttensor do not look for ``__torch_function__`` themselves: subclasses of Tensor inherit them, and
functions that users write can offer the protocol with the helpers here.
"""
import functools

from fasttensor import Tensor

__all__ = ["has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "handle_torch_function", "is_tensor_like",
           "is_tensor_method_or_property", "resolve_name", "wrap_torch_function", "get_ignored_functions", "get_overridable_functions"]


def is_tensor_like(inp):
    """Whether an object is a Tensor or has ``__torch_function__``."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def _overriding(arguments):
    """The first argument of each class with a ``__torch_function__``, subclasses before their parents."""
    found = []
    for argument in arguments:
        kind = type(argument)
        if getattr(kind, "__torch_function__", None) is None or any(type(f) is kind for f in found):
            continue
        place = next((i for i, f in enumerate(found) if issubclass(kind, type(f))), len(found))
        found.insert(place, argument)
    return found


def has_torch_function(relevant_args):
    """Whether one of the arguments has ``__torch_function__``."""
    return bool(_overriding(relevant_args))


def has_torch_function_unary(relevant_arg):
    """Whether the argument has ``__torch_function__``."""
    return bool(_overriding((relevant_arg,)))


def has_torch_function_variadic(*relevant_args):
    """Whether one of the arguments has ``__torch_function__``."""
    return bool(_overriding(relevant_args))


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What the first ``__torch_function__`` that accepts returns; TypeError where none does."""
    found = _overriding(relevant_args)
    types = tuple(map(type, found))
    for argument in found:
        result = argument.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(f"no implementation found for '{resolve_name(public_api)}' on types that implement __torch_function__: {list(types)}")


def wrap_torch_function(dispatcher):
    """A decorator: the function gives way to ``__torch_function__`` of the arguments that ``dispatcher(*args)`` returns."""
    def decorate(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(run, relevant, *args, **kwargs)
            return function(*args, **kwargs)
        return run
    return decorate


def resolve_name(f):
    """The readable name of a function, or None."""
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None)
    if name is None:
        return None
    module = (getattr(f, "__module__", None) or "").replace("fasttensor", "torch", 1)
    return f"{module}.{name}" if module else name


def is_tensor_method_or_property(func):
    """Whether an object is a method or property of Tensor."""
    return any(getattr(Tensor, name, None) is func for name in vars(Tensor))


def get_overridable_functions():
    """The functions that look for ``__torch_function__``: none of this library."""
    return {}


def get_ignored_functions():
    """The functions that do not look for it, which are all."""
    import fasttensor
    return {getattr(fasttensor, name) for name in fasttensor.__all__ if callable(getattr(fasttensor, name))}
