"""Tensors and submodules of a module, got and set by dotted names past what assignment checks; containers of other libraries use it."""
import fasttensor as torch

__all__ = []

_MISSING = object()         # the value of a name that a module does not have; setting it takes the name away


def _registry(module, name):
    """The dict of `module` that holds `name`."""
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    return next((found for found in (module._parameters, module._buffers) if name in found), module.__dict__)


def swap_tensor(module, name, tensor, allow_missing=False):
    """Put `tensor` in the place of the one of this name, and return that.

    `allow_missing`: a name that the module does not have gives, and takes, a mark of absence. Raises AttributeError without it, TypeError
    for what is no tensor and no module, KeyError for dotted and empty names.

    >>> m = torch.nn.Linear(1, 1, bias=False)
    >>> old = swap_tensor(m, "weight", torch.ones(1, 1))
    >>> m.weight, old.shape
    (tensor([[1.]]), torch.Size([1, 1]))
    """
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    registry = _registry(module, name)
    old = registry.get(name, _MISSING)
    if old is _MISSING:
        if hasattr(module, name):
            old = getattr(module, name)
        elif not allow_missing:
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    if old is not _MISSING and old is not None and not isinstance(old, torch.Tensor):
        raise TypeError(f"attribute `{name}`: {old} is not an instance of torch.Tensor")
    if tensor is _MISSING:
        registry.pop(name, None)
    else:
        registry[name] = tensor
    return old


def set_tensor(module, name, tensor):
    """`swap_tensor` that also makes new attributes and returns nothing."""
    swap_tensor(module, name, tensor, allow_missing=True)


def swap_submodule(module, name, submodule):
    """Put `submodule` in the place of the one of this name, and return that."""
    if "." in name or name == "":
        raise KeyError(f"submodule name can't be empty or contain \".\", got {name!r}")
    if name not in module._modules:
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    old = module._modules[name]
    module._modules[name] = submodule
    return old


class NamedMemberAccessor:
    """Tensors and submodules of a tree of modules by their dotted names.

    >>> tree = NamedMemberAccessor(torch.nn.Sequential(torch.nn.Linear(1, 1)))
    >>> tree.set_tensor("0.bias", torch.tensor([2.]))
    >>> tree.get_tensor("0.bias")
    tensor([2.])
    """

    def __init__(self, module):
        self.module = module

    def _at(self, name):
        where, _, last = name.rpartition(".")
        return self.get_submodule(where), last

    def get_submodule(self, name):
        """The module of this name, "" is the root."""
        return self.module.get_submodule(name)

    def swap_submodule(self, path, value):
        """`swap_submodule` at a dotted name."""
        owner, last = self._at(path)
        return swap_submodule(owner, last, value)

    def get_tensor(self, name):
        """The tensor of this name. Raises AttributeError where there is none, TypeError for something else."""
        owner, last = self._at(name)
        tensor = getattr(owner, last)
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{tensor} is not an instance of torch.Tensor")
        return tensor

    def set_tensor(self, name, value):
        """Set one tensor."""
        owner, last = self._at(name)
        set_tensor(owner, last, value)

    def swap_tensor(self, name, value, *, allow_missing=False):
        """Set one tensor; returns the old one."""
        owner, last = self._at(name)
        return swap_tensor(owner, last, value, allow_missing=allow_missing)

    def del_tensor(self, name):
        """Take one tensor's name away."""
        owner, last = self._at(name)
        if last not in _registry(owner, last):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{last}`")
        swap_tensor(owner, last, _MISSING)

    def get_tensors(self, names):
        """The tensors of these names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names, values):
        """Set tensors one by one."""
        for name, value in zip(names, values, strict=True):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors):
        """Set tensors by name."""
        self.set_tensors(list(named_tensors), list(named_tensors.values()))

    def swap_tensors(self, names, values, *, allow_missing=False):
        """Set tensors one by one; returns the old ones."""
        return [self.swap_tensor(name, value, allow_missing=allow_missing) for name, value in zip(names, values, strict=True)]

    def swap_tensors_dict(self, named_tensors, *, allow_missing=False):
        """Set tensors by name; returns (the old ones, the names that were missing). An error leaves all as it was."""
        before, missing = {}, []
        try:
            for name, tensor in named_tensors.items():
                before[name] = self.swap_tensor(name, tensor, allow_missing=True)
                if before[name] is _MISSING:
                    missing.append(name)
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        except Exception:
            for name, tensor in before.items():
                self.swap_tensor(name, tensor, allow_missing=True)
            raise
        return before, missing

    def del_tensors(self, names):
        """Take names away."""
        for name in names:
            self.del_tensor(name)

    def check_keys(self, keys):
        """(the tree's names that `keys` lacks, the names that the tree lacks)"""
        own, given = {name for name, _ in self.named_tensors(remove_duplicate=False)}, set(keys)
        return sorted(own - given), sorted(given - own)

    def named_parameters(self, remove_duplicate=True):
        """The tree's parameters."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate=True):
        """The tree's buffers."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate=True):
        """The tree's parameters and buffers."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate=True):
        """The modules of the tree."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
