"""ParameterList and ParameterDict."""
import operator

import fasttensor as ft

from ..module import Module
from ..parameter import Parameter


def _as_parameter(value):
    if isinstance(value, ft.Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _describe(value, by_type=False):
    if isinstance(value, ft.Tensor):
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        size = "x".join(map(str, value.shape))
        return f"{kind} containing: [{value.type() if by_type else value.dtype} of size {size}]"
    return f"Object of type: {type(value).__name__}"


class ParameterList(Module):
    """A list of parameters; tensors that are put in become Parameters, other objects stay what they are.

    >>> ps = nn.ParameterList([torch.zeros(2), torch.zeros(3)])
    >>> len(ps), len(list(ps.parameters()))
    (2, 2)
    """

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _key(self, index):
        index = operator.index(index)
        if not -self._size <= index < self._size:
            raise IndexError(f"index {index} is out of range")
        return str(index + self._size if index < 0 else index)

    def __getitem__(self, index):
        if isinstance(index, slice):
            result = type(self)()
            for i in range(*index.indices(self._size)):
                result.append(self[i])
            return result
        return getattr(self, self._key(index))

    def __setitem__(self, index, value):
        setattr(self, self._key(index), _as_parameter(value))

    def __len__(self):
        return self._size

    def __iter__(self):
        return (self[i] for i in range(self._size))

    def __iadd__(self, values):
        return self.extend(values)

    def __dir__(self):
        return [k for k in super().__dir__() if not k.isdigit()]

    def append(self, value):
        """Add a value at the end; returns self."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Add the values of an iterable at the end; returns self."""
        if not hasattr(values, "__iter__") or isinstance(values, ft.Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self):
        return "\n".join(f"  ({i}): {_describe(v)}" for i, v in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters; tensors that are put in become Parameters, other objects stay what they are.

    >>> d = nn.ParameterDict({"a": torch.zeros(2)})
    >>> d["a"].requires_grad
    True
    """

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key, value):
        name = self._key_to_attr(key)
        self._keys[key] = None
        setattr(self, name, _as_parameter(value))

    def __delitem__(self, key):
        name = self._key_to_attr(key)
        del self._keys[key]
        delattr(self, name)

    @staticmethod
    def _key_to_attr(key):
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string "
                            f"(type is '{type(key).__name__}').")
        return key

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def copy(self):
        """A ParameterDict with the same values."""
        return ParameterDict({k: self[k] for k in self._keys})

    def setdefault(self, key, default=None):
        """The value of a key, set to `default` where there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self):
        """Remove everything."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Take out and return a value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Take out and return the last pair."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key, default=None):
        """The value of a key, or `default`."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys, default=None):
        """A new ParameterDict with the same value for each of `keys`."""
        return ParameterDict((k, default) for k in keys)

    def keys(self):
        """The keys."""
        return self._keys.keys()

    def items(self):
        """Pairs of key and value."""
        return ((k, self[k]) for k in self._keys)

    def values(self):
        """The values."""
        return (self[k] for k in self._keys)

    def update(self, parameters):
        """Add or replace values from a mapping or an iterable of pairs."""
        if not hasattr(parameters, "__iter__") or isinstance(parameters, ft.Tensor):
            raise TypeError("ParametersDict.update should be called with an iterable of key/value pairs, but got "
                            + type(parameters).__name__)
        if hasattr(parameters, "items"):
            parameters = parameters.items()
        for i, pair in enumerate(parameters):
            pair = tuple(pair)
            if len(pair) != 2:
                raise ValueError(f"ParameterDict update sequence element #{i} has length {len(pair)}; 2 is required")
            self[pair[0]] = pair[1]

    def extra_repr(self):
        return "\n".join(f"  ({k}): {_describe(v, True)}" for k, v in self.items())

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other):
        result = self.copy()
        result.update(other)
        return result

    def __ior__(self, other):
        self.update(other)
        return self

    def __ror__(self, other):
        result = ParameterDict(other)
        result.update(self)
        return result
