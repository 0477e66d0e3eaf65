"""Switches that are remembered, as attributes of a module and inside a context."""
import contextlib

__all__ = ["flags_of", "remembered"]


def flags_of(state):
    """``flags(**values)``: a context in which switches of the dict have other values."""
    @contextlib.contextmanager
    def flags(**values):
        unknown = set(values) - set(state)
        if unknown:
            raise TypeError(f"flags() got an unexpected keyword argument {sorted(unknown)[0]!r}: known are {', '.join(state)}")
        before = dict(state)
        state.update({name: value for name, value in values.items() if value is not None})
        try:
            yield
        finally:
            state.update(before)
    return flags


def remembered(initial):
    """(set, get): functions that remember a value."""
    held = [initial]

    def set_value(value):
        held[0] = value
    return set_value, lambda: held[0]
