"""Types of traced values."""
from .proxy import Proxy

__all__ = ["annotate"]


def annotate(val, type):
    """Say the type of a traced value, of which its node had none; other values are handed back. RuntimeError where it had another."""
    if not isinstance(val, Proxy):
        return val
    if val.node.type:
        raise RuntimeError(f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type} and new type is {type}. This "
                           "could happen if you tried to annotate a function parameter value (in which case you should use the type slot on the "
                           "function signature) or you tried to annotate the same value twice")
    val.node.type = type
    return val
