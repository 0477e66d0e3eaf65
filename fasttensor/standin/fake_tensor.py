"""PyTorch's tensors without values, of which there are none here: libraries ask whether a tensor is one."""

__all__ = ["FakeTensor", "is_fake"]


class FakeTensor:
    """Never made."""


def is_fake(x):
    """False."""
    return False
