"""Gates before the public functions, methods and attributes, for ``__torch_function__``.

The core decides who is asked (`_core/override.pxi`); here is which functions have a gate, and what they are called.
A gate before a Python function is another code object, as in `interpose`; before a compiled one, another entry for
Python's calls; every reference to the function meets it.
"""
import functools
import sys
from types import BuiltinFunctionType, FunctionType

from fasttensor._core import dispatch
from fasttensor._core.tensor import Tensor
from fasttensor.functional import interpose

__all__ = []
METHODS = {}

# Questions about the library, switches, and what makes tensors of a class: nobody is asked for them.
SILENT = frozenset(
    "__init__ __new__ __hash__ __iter__ __delitem__ __torch_function__ __getattr__ __dir__ __dict__ __init_subclass__ __subclasshook__"
    " _make_subclass _make_wrapper_subclass"
    " as_subclass gather_late is_tensor is_storage typename seed manual_seed initial_seed from_numpy broadcast_shapes memory_stats"
    " reset_peak_memory_stats empty_cache is_grad_enabled is_inference_mode_enabled is_warn_always_enabled is_vulkan_available init_num_threads"
    " are_deterministic_algorithms_enabled is_deterministic_algorithms_warn_only_enabled use_deterministic_algorithms"
    " compiled_with_cxx11_abi cond while_loop _assert _check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_type"
    " _check_value _check_with _canonical_mask _none_or_dtype from_dlpack vmap".split())
BINARY = (("add", "add"), ("sub", "__rsub__"), ("mul", "mul"), ("div", "__rtruediv__"), ("__floordiv__", "__rfloordiv__"), ("remainder", "__rmod__"),
          ("__pow__", "__rpow__"), ("matmul", "__rmatmul__"), ("__and__", "bitwise_and"), ("__or__", "bitwise_or"), ("__xor__", "bitwise_xor"),
          ("__lshift__", "__rlshift__"), ("__rshift__", "__rrshift__"), ("lt", "gt"), ("le", "ge"), ("__eq__", "__eq__"), ("ne", "ne"), ("gt", "lt"),
          ("ge", "le"), ("add_", "add_"), ("sub_", "sub_"), ("mul_", "mul_"), ("div_", "div_"), ("floor_divide_", "floor_divide_"),
          ("remainder_", "remainder_"), ("__ipow__", "__ipow__"), ("__iand__", "__iand__"), ("__ior__", "__ior__"), ("__ixor__", "__ixor__"),
          ("__ilshift__", "__ilshift__"), ("__irshift__", "__irshift__"), ("__getitem__", "__getitem__"))
SPACES = {"fasttensor": "torch", "fasttensor.nn.functional": "torch.nn.functional", "fasttensor.linalg": "torch.linalg",
          "fasttensor.fft": "torch.fft", "fasttensor.special": "torch.special", "fasttensor.nn.init": "torch.nn.init"}

_gated = set()          # compiled functions and attributes with a gate


def silent(name):
    """Whether nobody is asked for a function of this name."""
    return name in SILENT or name.startswith(("set_", "get_")) and name not in ("get_device", "set_")


def functions_in(space):
    """{name: function} of the functions in a namespace that can have a gate."""
    return {name: value for name, value in list(vars(space).items()) if can_be_gated(name, value)}


def can_be_gated(name, value):
    """Whether a value that goes by a name in a public namespace is one of this library's functions that are asked for."""
    if silent(name) or getattr(value, "__name__", None) in SILENT:      # programs put a method under another name to replace it
        return False
    if isinstance(value, FunctionType):
        return value.__module__.partition(".")[0] == "fasttensor" and value.__module__ not in OUTSIDE and not value.__code__.co_flags & interpose.GENERATOR
    return type(value).__name__ == "cython_function_or_method"


OUTSIDE = ("fasttensor._assemble", "fasttensor.overrides", "fasttensor.functional.overriding", "fasttensor.functional.interpose")


def spaces():
    """The namespaces that are imported, Tensor last."""
    return [sys.modules[name] for name in SPACES if name in sys.modules] + [Tensor]


def gate_all(on):
    """Put the gates before all that is imported, or take them away."""
    for space in spaces():
        gate(functions_in(space), on)
    for name, value in list(vars(Tensor).items()):
        if type(value).__name__ == "getset_descriptor" and name != "__dict__":
            dispatch.gate_attribute(value, on)
        elif type(value) is property:
            gate_property(value, on)


def gate_property(descriptor, on):
    """The same for a property; where its function is a public one too, it goes by that."""
    for function, asked_as in ((descriptor.fget, "__get__"), (descriptor.fset, "__set__")):
        if function is None or not can_be_gated("", function):
            continue
        asked_as = None if function.__name__ in public_names() else getattr(descriptor, asked_as)
        if isinstance(function, FunctionType):
            interpose.gate(function, on, asked_as)
        else:
            dispatch.gate_function(function, on, asked_as)


@functools.cache
def public_names():
    """The names of the functions of `fasttensor`."""
    names = sys.modules["fasttensor._names"].NAMES          # the index of the layer above
    return frozenset(" ".join(names["__all__"].values()).split())


def gate(functions, on=True):
    """The same for functions by name."""
    for function in functions.values():
        if isinstance(function, FunctionType):
            interpose.gate(function, on)
        else:
            dispatch.gate_function(function, on)


def gate_new(found):
    """Gates for what a family has just put into a namespace."""
    gate({name: value for name, value in found.items() if can_be_gated(name, value)})
    for value in found.values():
        if type(value) is property:
            gate_property(value, True)


def function_name(function):
    """The name by which PyTorch knows a function: torch.add, torch.Tensor.shape.__get__; None for others."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", None)
    if name in ("__get__", "__set__", "__delete__") and owner is not None:
        attribute = next((n for n, value in vars(Tensor).items() if value is owner), None) or getattr(owner, "__name__", None)
        return attribute and f"torch.Tensor.{attribute}.{name}"
    for space in spaces():
        if name is not None and vars(space).get(name) is function:
            return f"{SPACES.get(space.__name__, 'torch.Tensor')}.{name}"
    for space in spaces():
        for other, value in list(vars(space).items()):
            if value is function:
                return f"{SPACES.get(space.__name__, 'torch.Tensor')}.{other}"
    return getattr(function, "__qualname__", name)


def function_here(function):
    """This library's function for one of PyTorch's own, which PyTorch hands to our ``__torch_function__``; else the function itself."""
    owner = getattr(function, "__objclass__", None) or getattr(getattr(function, "__self__", None), "__objclass__", None)
    module = getattr(function, "__module__", None) or getattr(owner, "__module__", None) or ""
    if owner is Tensor or module.partition(".")[0] != "torch" and not (isinstance(function, BuiltinFunctionType) and "torch" in repr(owner)):
        return function
    from fasttensor.ops import find
    name = function.__name__
    if name in ("__get__", "__set__", "__delete__"):
        return getattr(getattr(Tensor, function.__self__.__name__), name)
    return find(name, method=owner is not None)


HOOKS = {"gate_all": gate_all, "gate_new": gate_new, "function_name": function_name, "function_here": function_here}
dispatch.name_operators(dict(enumerate(BINARY)), {0: "neg", 1: "abs", 2: "__invert__", 3: "positive"})
