"""Calling a module with other tensors in place of its own."""
import contextlib

from fasttensor import Tensor

from ..module import Module

_ABSENT = object()      # stands for a name that a module did not have


def _owner(module, name):
    where, _, last = name.rpartition(".")
    return module.get_submodule(where), last


def _tied_names(module):
    """Sets of names that stand for one tensor."""
    seen = {}
    for name, t in (*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)):
        seen.setdefault(id(t), set()).add(name)
    return [names for names in seen.values() if len(names) > 1]


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, *, tie_weights=False, strict=False, stack_weights=False):
    given = dict(parameters_and_buffers)
    if tie_weights:
        for names in _tied_names(module):
            values = [given[n] for n in names if n in given]
            if values:
                if any(v is not values[0] for v in values):
                    raise ValueError(f"functional_call got multiple values for keys {sorted(names)}, which are tied. "
                                     "Consider using tie_weights=False")
                for n in names:
                    given.setdefault(n, values[0])
    own = {n for n, _ in (*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False))}
    if strict and own != set(given):
        problems = [(what, sorted(names)) for what, names in (("Unexpected", set(given) - own), ("Missing", own - set(given))) if names]
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(
            f"{what} key(s): {', '.join(map(repr, names))}." for what, names in problems))
    saved = []
    try:
        for name, value in given.items():
            owner, last = _owner(module, name)
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"{value!r} is not an instance of torch.Tensor: functional_call needs tensors, for {name!r} too")
            registry = next((r for r in (owner._parameters, owner._buffers) if last in r), None)
            if registry is None:
                registry = owner.__dict__
                if hasattr(owner, last) and not isinstance(getattr(owner, last), Tensor):
                    raise TypeError(f"attribute `{last}`: {getattr(owner, last)!r} is not an instance of torch.Tensor")
            saved.append((registry, last, registry.get(last, _ABSENT)))
            registry[last] = value
        yield
    finally:
        for registry, last, old in reversed(saved):
            if old is _ABSENT:
                registry.pop(last, None)
            else:
                registry[last] = old


def functional_call(module, parameters_and_buffers, args, kwargs=None, *, tie_weights=True, strict=False):
    """Call a module with some parameters and buffers, by dotted name, replaced for this call.

    >>> m = nn.Linear(1, 1, bias=False)
    >>> nn.utils.stateless.functional_call(m, {"weight": torch.tensor([[2.]])}, (torch.ones(1, 1),))
    tensor([[2.]])
    """
    if not isinstance(module, Module):
        raise TypeError(f"functional_call: expected a Module, got {type(module).__name__}")
    if isinstance(parameters_and_buffers, (list, tuple)):
        merged = {}
        for part in parameters_and_buffers:
            if set(part) & set(merged):
                raise ValueError(f"{sorted(set(part) & set(merged))} appear in multiple dictionaries; behavior of "
                                 "functional call is ambiguous")
            merged.update(part)
        parameters_and_buffers = merged
    args = args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))
