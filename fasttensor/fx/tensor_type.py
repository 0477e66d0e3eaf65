"""Types of tensors by their dimensions, for gradual typing of graphs."""

__all__ = ["TensorType", "is_consistent", "is_more_precise", "Dyn"]


class _DynType:
    """A dimension or type that is not known."""

    def __init__(self):
        self.__name__ = "_DynType"

    def __eq__(self, other):
        return isinstance(other, self.__class__)

    def __hash__(self):
        return hash("Dyn")

    def __str__(self):
        return "Dyn"

    __repr__ = __str__


Dyn = _DynType()


class TensorType:
    """The type of tensors with these dimensions: ``TensorType((2, Dyn))``.

    >>> TensorType((1, Dyn))
    TensorType[(1, Dyn)]
    """

    def __init__(self, dim):
        self.__origin__ = TensorType
        self.__args__ = dim

    def __repr__(self):
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other):
        return isinstance(other, self.__class__) and list(self.__args__) == list(other.__args__)

    def __hash__(self):
        return hash(tuple(self.__args__))

    @staticmethod
    def __class_getitem__(*args):
        return TensorType(tuple(args[0]) if len(args) == 1 and isinstance(args[0], tuple) else args)


def _related(t1, t2, dynamic):
    if t1 == t2 or dynamic(t1, t2):
        return True
    return (isinstance(t1, TensorType) and isinstance(t2, TensorType) and len(t1.__args__) == len(t2.__args__)
            and all(_related(a, b, dynamic) for a, b in zip(t1.__args__, t2.__args__)))


def is_consistent(t1, t2):
    """Whether two types can be of the same tensor: they are equal but for what is not known."""
    return _related(t1, t2, lambda a, b: a == Dyn or b == Dyn)


def is_more_precise(t1, t2):
    """Whether the first type says all that the second does."""
    return _related(t1, t2, lambda a, b: b == Dyn)
