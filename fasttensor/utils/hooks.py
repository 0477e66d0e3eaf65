"""What hooks return, where PyTorch keeps it."""
from fasttensor.nn.hooks import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook"]


def unserializable_hook(f):
    """Mark a hook that must not be kept when its tensor is saved."""
    f.__torch_unserializable__ = True
    return f
