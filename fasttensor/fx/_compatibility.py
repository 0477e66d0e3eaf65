"""Marks of which functions stay as they are."""

__all__ = ["compatibility"]

_BACK_COMPAT_OBJECTS = {}
_MARKED_WITH_COMPATIBILITY = {}


def compatibility(is_backward_compatible):
    """A decorator that notes whether a function stays as it is.

    >>> compatibility(is_backward_compatible=True)(len) is len
    True
    """
    def mark(function):
        _MARKED_WITH_COMPATIBILITY.setdefault(function)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(function)
        return function
    return mark
