"""Arguments of functions and modules by their signatures."""
import inspect
import types
import typing

import fasttensor
from fasttensor.nn import Module

from . import naming

__all__ = ["ArgsKwargsPair", "check_for_mutable_operation", "get_signature_for_torch_op", "create_type_hint", "type_matches", "normalize_function",
           "normalize_module"]


class ArgsKwargsPair(typing.NamedTuple):
    """Positional and keyword arguments."""
    args: tuple
    kwargs: dict


def get_signature_for_torch_op(op, return_schemas=False):
    """The signatures of a function of the library, as a list, or None for other functions; with `return_schemas` also None for schemas."""
    found = None
    if naming.is_ours(op):
        try:
            found = [_without_out(inspect.signature(op))]
        except (TypeError, ValueError):
            found = None
    return (found, None) if return_schemas else found


def _without_out(signature):
    """A result's place, and numpy's names of arguments, are none of the operation's."""
    known = signature.parameters
    return signature.replace(parameters=[p for p in known.values() if p.name not in ("out", "axis", "keepdims") or p.name == "axis" and "dim" not in known])


def check_for_mutable_operation(target, args, kwargs):
    """NotImplementedError for a call of a function that changes its argument or writes to ``out=``."""
    name = getattr(target, "__name__", "")
    if naming.is_ours(target) and (name.endswith("_") and not name.endswith("__") or kwargs.get("out") is not None):
        raise NotImplementedError(f"Tried to trace mutable operation {name}{_signature_text(target)}. FX only supports functional code, so operations "
                                  "that mutate operands in-place (e.g. via `out` arguments) are not supported")


def _signature_text(function):
    try:
        return str(inspect.signature(function))
    except (TypeError, ValueError):
        return ""


def create_type_hint(x):
    """The type of a list or tuple by the types of what it holds: ``List[int]``; other things as they are."""
    if not isinstance(x, (list, tuple)):
        return x

    def made(kinds):
        return typing.List[kinds] if isinstance(x, list) else typing.Tuple[kinds, ...]
    if len(x) == 0:
        return made(typing.Any)
    base = x[0]
    for kind in x:
        if isinstance(kind, type) and isinstance(base, type) and issubclass(kind, base):
            continue
        if isinstance(kind, type) and isinstance(base, type) and issubclass(base, kind):
            base = kind
        else:
            return made(typing.Any)
    return made(base)


def type_matches(signature_type, argument_type):
    """Whether an argument of a type can be given where a signature has another."""
    if signature_type is argument_type or signature_type is inspect.Parameter.empty:
        return True
    origin = getattr(signature_type, "__origin__", None)
    if origin is typing.Union or isinstance(signature_type, types.UnionType):
        return any(type_matches(kind, argument_type) for kind in typing.get_args(signature_type))
    if origin in (list, tuple):
        inner = typing.get_args(signature_type)
        other = getattr(argument_type, "__origin__", None)
        if other in (list, tuple):
            given = [kind for kind in typing.get_args(argument_type) if kind is not ...]
            return bool(inner) and all(type_matches(inner[0], kind) for kind in given)
        return bool(inner) and argument_type is int and inner[0] is int
    if signature_type is float and argument_type is int or signature_type is int and argument_type is fasttensor.dtype:
        return True
    return isinstance(signature_type, type) and isinstance(argument_type, type) and issubclass(argument_type, signature_type)


def _normalized(signature, args, kwargs, only_kwargs):
    """`ArgsKwargsPair` with defaults; None for signatures with ``*args`` and their kin, or where the arguments do not fit."""
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(p.kind not in plain for p in signature.parameters.values()):
        return None
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    named = dict(bound.arguments)
    count = 0 if only_kwargs else len(args)
    return ArgsKwargsPair(tuple(list(named.values())[:count]), dict(list(named.items())[count:]))


def normalize_function(target, args, kwargs=None, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
    """The arguments of a call by the function's signature, defaults included; None where they cannot be told.

    >>> normalize_function(fasttensor.nn.functional.relu6, (1,), {}, normalize_to_only_use_kwargs=True)
    ArgsKwargsPair(args=(), kwargs={'input': 1, 'inplace': False})
    """
    kwargs = kwargs or {}
    if not naming.is_ours(target):
        return None
    places = naming.places_of(target)
    form = next((naming.forms()[place] for place in places if place in naming.forms()), None)
    found = get_signature_for_torch_op(target)
    if found is None:
        return None
    if form is not None and not any(name.startswith("*") for name in form.positional):       # as PyTorch's function of Python takes them
        known = {*form.positional, *form.keywords}
        found = [found[0].replace(parameters=[p for p in found[0].parameters.values() if p.name in known])]
    return _normalized(found[0], args, kwargs, normalize_to_only_use_kwargs)


def normalize_module(root, target, args, kwargs=None, normalize_to_only_use_kwargs=False):
    """The same for a call of a submodule of `root` that is one of ``nn``'s; None for others. RuntimeError where it is no module."""
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(f"Tried to normalize node with target {target} but root did not have that target!") from error
    if not isinstance(module, Module) or getattr(fasttensor.nn, type(module).__name__, None) is not type(module):
        return None
    signature = inspect.signature(type(module).forward)
    parameters = list(signature.parameters.values())[1:]
    return _normalized(signature.replace(parameters=parameters), args, kwargs or {}, normalize_to_only_use_kwargs)


def _args_kwargs_to_normalized_args_kwargs(sig, args, kwargs, normalize_to_only_use_kwargs):
    return _normalized(sig, args, kwargs, normalize_to_only_use_kwargs)


