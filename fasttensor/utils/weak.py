"""Dictionaries that hold their keys weakly and tell them apart by identity: tensors compare element by element."""
import weakref
from collections.abc import MutableMapping

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that equals references to the same object, and hashes by where that lies.

    >>> t = torch.ones(2)
    >>> WeakIdRef(t) == WeakIdRef(t), WeakIdRef(t) == WeakIdRef(torch.ones(2))
    (True, False)
    """

    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._id = id(key)

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        a = self()
        b = other() if isinstance(other, weakref.ref) else None
        return a is b if a is not None and b is not None else self is other


class WeakIdKeyDictionary(MutableMapping):
    """A dict by identity whose entries go with their keys.

    dict: a mapping to begin with. ref_type: the class of the references. Raises KeyError for other objects, TypeError for what cannot be
    referred to weakly.

    >>> marks, t = WeakIdKeyDictionary(), torch.ones(2)
    >>> marks[t] = "ours"
    >>> t in marks, torch.ones(2) in marks, len(marks)
    (True, False, 1)
    >>> del t
    >>> len(marks)
    0
    """

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data, self.ref_type = {}, ref_type
        own = weakref.ref(self)

        def remove(reference):
            found = own()
            if found is not None:
                found.data.pop(reference, None)
        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key):
        try:
            return self.data[self.ref_type(key)]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key, value):
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key):
        try:
            del self.data[self.ref_type(key)]
        except KeyError:
            raise KeyError(key) from None

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError:
            return False

    def __iter__(self):
        # over a copy of the references: keys may die meanwhile
        return (key for key in [reference() for reference in list(self.data)] if key is not None)

    def __len__(self):
        return len(self.data)

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"

    def __copy__(self):
        return type(self)(self, self.ref_type)

    copy = __copy__

    def __deepcopy__(self, memo):
        from copy import deepcopy
        made = type(self)(None, self.ref_type)
        for key, value in self.items():
            made[key] = deepcopy(value, memo)
        return made

    def keyrefs(self):
        """The references, in a list."""
        return list(self.data)

    def _merged(self, first, second):
        made = type(self)(first, self.ref_type)
        made.update(second)
        return made

    def __or__(self, other):
        return self._merged(self, other) if hasattr(other, "items") else NotImplemented

    def __ror__(self, other):
        return self._merged(other, self) if hasattr(other, "items") else NotImplemented

    def __ior__(self, other):
        self.update(other)
        return self

    def __eq__(self, other):
        if not isinstance(other, WeakIdKeyDictionary):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor; calling it gives the tensor or None.

    >>> t = torch.ones(2)
    >>> TensorWeakRef(t)() is t
    True
    """

    def __init__(self, tensor):
        import fasttensor
        if not isinstance(tensor, fasttensor.Tensor):
            raise AssertionError(f"expected a Tensor, got a {type(tensor).__name__}")
        self.ref = weakref.ref(tensor)

    def __call__(self):
        return self.ref()
