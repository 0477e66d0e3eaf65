"""Modules that hold modules."""
import warnings
import operator
from collections import OrderedDict
from itertools import islice

from .._call import set_sequential
from ..module import Module


class Container(Module):
    """Deprecated: a Module with the given children.

    Kept for old programs, with a warning: Sequential, ModuleList and ModuleDict hold modules.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True):
    ...     nn.Container(layer=nn.Linear(1, 1)).layer
    Linear(in_features=1, out_features=1, bias=True)
    """

    def __init__(self, **kwargs):
        warnings.warn("`nn.Container` is deprecated. Subclass `nn.Module` instead.", FutureWarning, stacklevel=2)
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


def _position(index, n):
    index = operator.index(index)
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of range")
    return index % n if n else 0


class _Listed(Module):
    """What Sequential and ModuleList share: children named "0", "1", ..."""

    def _renumber(self, modules):
        # In place: optimizers of hooks may hold the dict.
        self._modules.clear()
        self._modules.update((str(i), m) for i, m in enumerate(modules))

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __dir__(self):
        return [k for k in super().__dir__() if not k.isdigit()]

    def _name_at(self, index):
        index = _position(index, len(self))
        return next(islice(self._modules, index, None))

    def _new_like(self, items):
        raise NotImplementedError

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._new_like(list(self._modules.items())[index])
        return self._modules[self._name_at(index)]

    def __setitem__(self, index, module):
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index):
        if isinstance(index, slice):
            for name in list(self._modules)[index]:
                delattr(self, name)
        else:
            delattr(self, self._name_at(index))
        self._renumber(list(self._modules.values()))

    def append(self, module):
        """Add a module at the end; returns self."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index, module):
        """Add a module before position `index`; returns this."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        modules = list(self._modules.values())
        if not -len(modules) <= index <= len(modules):
            raise IndexError(f"Index out of range: {index}")
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def pop(self, key):
        """Take out and return the module at a position."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Listed):
    """Calls its modules one after another; takes modules or one OrderedDict of named modules.

    >>> m = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    >>> m(torch.ones(2, 4)).shape, len(m)
    (torch.Size([2, 3]), 2)
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input):
        for module in self:
            input = module(input)
        return input

    def _new_like(self, items):
        return type(self)(OrderedDict(items))

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        result = Sequential()
        for m in (*self, *other):
            result.append(m)
        return result

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(other)

    def __mul__(self, times):
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        result = Sequential()
        for _ in range(times):
            for m in self:
                result.append(m)
        return result

    __rmul__ = __mul__

    def __imul__(self, times):
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        modules = list(self)
        for _ in range(times - 1):
            for m in modules:
                self.append(m)
        return self

    def extend(self, sequential):
        """Add the modules of another Sequential at the end; returns self."""
        for m in list(sequential):
            self.append(m)
        return self


set_sequential(Sequential.forward, Sequential.__iter__)


class ModuleList(_Listed):
    """A list of modules whose parameters count as its own; it has no forward.

    >>> layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def insert(self, index, module):
        """Add a module before position `index`."""
        super().insert(index, module)

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _new_like(self, items):
        return type(self)([m for _, m in items])

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        result = ModuleList()
        for i, m in enumerate((*self, *other)):
            result.add_module(str(i), m)
        return result

    def extend(self, modules):
        """Add modules of an iterable at the end; returns self."""
        if not hasattr(modules, "__iter__"):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for m in list(modules):
            self.append(m)
        return self

    def __repr__(self):
        # Runs of equal modules are shown once, as "(0-3): 4 x Linear(...)".
        runs = []
        for i, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return self._get_name() + "()"
        lines = [f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}" for a, b, text in runs]
        return self._get_name() + "(\n  " + "\n  ".join(line.replace("\n", "\n  ") for line in lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules whose parameters count as its own; it has no forward.

    >>> d = nn.ModuleDict({"fc": nn.Linear(2, 3)})
    >>> "fc" in d, d["fc"].out_features
    (True, 3)
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key):
        """Take out and return a module."""
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """Pairs of name and module."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Add or replace modules from a mapping or an iterable of pairs."""
        if not hasattr(modules, "__iter__"):
            raise TypeError("ModuleDict.update should be called with an iterable of key/value pairs, but got "
                            + type(modules).__name__)
        if hasattr(modules, "items"):
            modules = modules.items()
        for i, pair in enumerate(modules):
            if not hasattr(pair, "__iter__"):
                raise TypeError(f"ModuleDict update sequence element #{i} should be Iterable; is {type(pair).__name__}")
            pair = tuple(pair)
            if len(pair) != 2:
                raise ValueError(f"ModuleDict update sequence element #{i} has length {len(pair)}; 2 is required")
            self[pair[0]] = pair[1]


from .container_parameters import ParameterDict, ParameterList  # noqa: E402, F401  PyTorch keeps them here
