"""Which kernel attention runs on: here there is one for each case, and the choice is accepted for programs that make it."""
import contextlib
import enum


class SDPBackend(enum.IntEnum):
    """PyTorch's names of attention kernels."""
    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Accepts a list of kernels, or one; `scaled_dot_product_attention` picks by the arguments alone.

    >>> with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
    ...     F.scaled_dot_product_attention(torch.ones(1, 2, 2), torch.ones(1, 2, 2), torch.ones(1, 2, 2)).shape
    torch.Size([1, 2, 2])
    """
    for backend in backends if isinstance(backends, (list, tuple)) else [backends]:
        if not isinstance(backend, SDPBackend):
            raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    yield
