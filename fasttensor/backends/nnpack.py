"""``torch.backends.nnpack``: not used here; its switch is remembered."""
from .switches import flags_of

__all__ = ["is_available", "flags", "set_flags"]

_state = {"enabled": True}
flags = flags_of(_state)


def is_available():
    """False."""
    return False


def set_flags(_enabled):
    """Set the switch; returns the former value."""
    before = (_state["enabled"],)
    _state["enabled"] = _enabled
    return before
