"""``torch.jit``: functions and modules run as the Python they are, and are returned unchanged."""
import typing

from fasttensor.futures import Future
from fasttensor.nn import Module

__all__ = ["Attribute", "Error", "Future", "ScriptFunction", "ScriptModule", "annotate", "enable_onednn_fusion", "export", "fork", "freeze", "ignore",
           "interface", "isinstance", "onednn_fusion_enabled", "optimize_for_inference", "script", "script_if_tracing", "set_fusion_strategy",
           "strict_fusion", "trace", "trace_module", "unused", "wait", "is_scripting", "is_tracing", "Final", "script_method", "optimized_execution"]

_isinstance = isinstance
Final = typing.Final


class Error(RuntimeError):
    """An error inside a compiled function; never raised here."""


class ScriptModule(Module):
    """A compiled module: there is none, `script` returns the module itself."""


class ScriptFunction:
    """A compiled function: there is none, `script` returns the function itself."""


class Attribute:
    """A value with a type for the compiler."""

    def __init__(self, value, type=None):
        self.value, self.type = value, type


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Returns the function, module or class as it is.

    >>> import fasttensor as torch
    >>> @torch.jit.script
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(1))
    tensor([2.])
    """
    if not callable(obj) and not _isinstance(obj, (dict, list)):
        raise TypeError(f"jit.script: expected a function, module or class, got {type(obj).__name__}")
    return obj


def trace(func, example_inputs=None, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True, _force_outplace=False,
          _module_class=None, _compilation_unit=None, example_kwarg_inputs=None, _store_inputs=True):
    """Runs `func` once on the examples, so that its errors show here as with PyTorch, and returns it as it is."""
    import fasttensor
    if example_kwarg_inputs is None and example_inputs is None:
        raise RuntimeError("jit.trace: give example_inputs or example_kwarg_inputs")
    args = () if example_inputs is None else (example_inputs,) if _isinstance(example_inputs, (fasttensor.Tensor, dict)) else tuple(example_inputs)
    with fasttensor.random.fork_rng(), fasttensor.no_grad():
        func(*args, **(example_kwarg_inputs or {}))
    return func


def trace_module(mod, inputs, *args, **kwargs):
    """Runs the methods that `inputs` names on their examples, and returns the module as it is."""
    for name, example in inputs.items():
        trace(getattr(mod, name) if name != "forward" else mod, example)
    return mod


def ignore(drop=False, **kwargs):
    """Returns the function as it is, or a decorator that does."""
    return drop if callable(drop) else lambda fn: fn




def export(fn):
    """Returns the function as it is."""
    return fn


unused = interface = script_if_tracing = script_method = export


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """Returns the module, which must not be in training mode, as it is."""
    if mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before freezing.")
    return mod


def optimize_for_inference(mod, other_methods=None):
    """Returns the module, in eval mode."""
    return mod.eval()


def annotate(the_type, the_value):
    """The value."""
    return the_value


def isinstance(obj, target_type):
    """Whether an object is of a type, where list[int] and the like look at the elements too."""
    origin, parts = getattr(target_type, "__origin__", None), getattr(target_type, "__args__", ())
    if _isinstance(target_type, tuple):
        return any(isinstance(obj, t) for t in target_type)
    if origin in (list, set):
        return _isinstance(obj, origin) and all(isinstance(v, parts[0]) for v in obj)
    if origin is dict:
        return _isinstance(obj, dict) and all(isinstance(k, parts[0]) and isinstance(v, parts[1]) for k, v in obj.items())
    if origin is tuple:
        return _isinstance(obj, tuple) and len(obj) == len(parts) and all(map(isinstance, obj, parts))
    if parts and origin is None or str(origin) == "typing.Union":
        return any(isinstance(obj, t) for t in parts)
    return _isinstance(obj, target_type)


def fork(func, *args, **kwargs):
    """Runs the function now; returns a Future that holds what it returned."""
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future):
    """What a Future holds."""
    return future.wait()


def is_scripting():
    """False: nothing is compiled."""
    return False


def is_tracing():
    """False: nothing is traced."""
    return False


def enable_onednn_fusion(enabled):
    """Accepted; nothing is fused by a compiler."""


def onednn_fusion_enabled():
    """False."""
    return False


def set_fusion_strategy(strategy):
    """Accepted; nothing is fused by a compiler."""
    return []


class strict_fusion:
    """A context manager that does nothing."""

    def __init__(self, *args):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


optimized_execution = strict_fusion



class _Broadcasting:
    """``BroadcastingList2[int]``: how TorchScript's annotations write one number or several."""

    def __getitem__(self, kind):
        return kind


def __getattr__(name):
    if name == "annotations":
        import sys
        return sys.modules[__name__]
    if name in ("_script_if_tracing", "_overload", "_overload_method", "_drop"):      # decorators that libraries call by these names
        return export
    if name in ("Any", "Dict", "List", "Optional", "Tuple", "Union"):       # of torch.jit.annotations
        return getattr(typing, name)
    if name.startswith("BroadcastingList"):
        return _Broadcasting()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
