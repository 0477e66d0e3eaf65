"""``torch.overrides``: classes and modes whose ``__torch_function__`` is called in place of the library's functions.

>>> import fasttensor as torch
>>> class Logged(torch.overrides.TorchFunctionMode):
...     def __torch_function__(self, func, types, args=(), kwargs=None):
...         print(torch.overrides.resolve_name(func))
...         return func(*args, **(kwargs or {}))
>>> with Logged():
...     x = torch.ones(2)
torch.ones
"""
import contextlib
import functools
import inspect
import warnings

import fasttensor
from fasttensor import Tensor
from fasttensor._core import dispatch
from fasttensor.functional import overriding

__all__ = ["get_ignored_functions", "get_overridable_functions", "get_testing_overrides", "handle_torch_function", "has_torch_function",
           "has_torch_function_unary", "has_torch_function_variadic", "resolve_name", "is_tensor_like", "is_tensor_method_or_property",
           "wrap_torch_function", "enable_reentrant_dispatch", "get_default_nowrap_functions", "TorchFunctionMode", "BaseTorchFunctionMode"]


def is_tensor_like(inp):
    """Whether an object is a Tensor or has ``__torch_function__``."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def has_torch_function(relevant_args):
    """Whether a mode, or the class of one of the arguments, is to be asked for a call."""
    return dispatch.asks_of(relevant_args)


def has_torch_function_unary(relevant_arg):
    """`has_torch_function` of one argument."""
    return dispatch.asks_of((relevant_arg,))


def has_torch_function_variadic(*relevant_args):
    """`has_torch_function` of the arguments."""
    return dispatch.asks_of(relevant_args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What the innermost mode, then the classes of the relevant arguments, make of a call of `public_api`.

    Raises TypeError where all of them return NotImplemented.
    """
    return dispatch.ask_for(public_api, tuple(relevant_args), args, kwargs)


def _get_overloaded_args(relevant_args, get_type_fn=None):
    return dispatch.asked_for(relevant_args)


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
    """The readable name of a function, ``torch.Tensor.shape.__get__``; None where it has none."""
    return overriding.function_name(f)


def is_tensor_method_or_property(func):
    """Whether `func`, as ``__torch_function__`` is given it, is a method or property of Tensor."""
    return getattr(func, "__name__", None) == "__get__" or any(value is func for value in _functions()[Tensor].values())


def get_default_nowrap_functions():
    """The functions whose results ``Tensor.__torch_function__`` leaves as they are."""
    return {Tensor._base.__get__, Tensor.grad.__get__}


@functools.cache
def _functions():
    from fasttensor._assemble import load_all
    load_all()
    found = {space: overriding.functions_in(space) for space in namespaces()}
    for name, value in list(vars(Tensor).items()):
        if type(value).__name__ in ("wrapper_descriptor", "method_descriptor") and not overriding.silent(name):
            found[Tensor][name] = value
        elif type(value).__name__ in ("getset_descriptor", "property") and name != "__dict__":
            found[Tensor][name] = value.__get__
    return found


def namespaces():
    """The namespaces whose functions can be overridden."""
    return (fasttensor, fasttensor.nn.functional, Tensor, fasttensor.linalg, fasttensor.fft, fasttensor.special)


def get_overridable_functions():
    """{namespace: functions} that look for ``__torch_function__``."""
    return {space: list(functions.values()) for space, functions in _functions().items()}


def get_ignored_functions():
    """The public functions that do not look for it."""
    return {value for space in namespaces() for name, value in list(vars(space).items())
            if overriding.silent(name) and callable(value) and not isinstance(value, type)}


def get_testing_overrides():
    """{function: another of the same signature that returns -1} for all functions that look for ``__torch_function__``."""
    return {function: _dummy(function) for functions in _functions().values() for function in functions.values()}


def _dummy(function):
    def dummy(*args, **kwargs):
        return -1
    with contextlib.suppress(ValueError, TypeError):
        dummy.__signature__ = inspect.signature(function)
    return dummy


class TorchFunctionMode:
    """A context in which ``__torch_function__(self, func, types, args, kwargs)`` is called for every public function.

    While it runs, the mode is left, so that it may call functions; those entered outside of it are asked then.
    """
    inner = None

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__}: a TorchFunctionMode defines __torch_function__(self, func, types, args=(), kwargs=None)")

    def __enter__(self):
        dispatch.push_mode(self)
        return self

    def __exit__(self, kind, error, trace):
        dispatch.pop_mode()

    @classmethod
    def push(cls, *args, **kwargs):
        """An object of the class, to be entered."""
        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


dispatch.set_mode_class(TorchFunctionMode)


@contextlib.contextmanager
def _pop_mode_temporarily():
    mode = dispatch.pop_mode()
    try:
        yield mode
    finally:
        dispatch.push_mode(mode)


def _get_current_function_mode():
    return (dispatch.modes_entered() or [None])[-1]


def _get_current_function_mode_stack():
    return dispatch.modes_entered()


@contextlib.contextmanager
def enable_reentrant_dispatch():
    """Ask classes and modes again inside of a block that runs where they are not."""
    before = dispatch.set_asking(0)
    try:
        yield
    finally:
        dispatch.set_asking(before)
