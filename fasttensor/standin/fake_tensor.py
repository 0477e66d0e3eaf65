"""PyTorch's tensors without values, of which there are none here: libraries ask whether a tensor is one."""

import contextlib

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake", "unset_fake_temporarily"]


class FakeTensor:
    """Never made."""


def is_fake(x):
    """False."""
    return False


class FakeTensorMode:
    """A block in which operations would compute shapes only. NotImplementedError: tensors on the device "meta" do that here."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("FakeTensorMode: make the tensors and modules on device='meta', which computes shapes and dtypes only")


@contextlib.contextmanager
def unset_fake_temporarily():
    """A block without fake tensors, as every block is; gives None."""
    yield None
