"""What PyTorch's programs ask about libraries and devices underneath."""


class _Backend:
    """One backend's switches: programs read and set them, and nothing here depends on them."""

    def __init__(self, available, **flags):
        self.__dict__.update(flags)
        self._available = available

    def is_available(self):
        """Whether the backend can be used."""
        return self._available


cudnn = _Backend(False, enabled=False, benchmark=False, deterministic=False, allow_tf32=False, version=lambda: None)
mps = _Backend(False, is_built=lambda: False)
mkl = _Backend(False)
mkldnn = _Backend(False, enabled=False)
openmp = _Backend(True)
cuda = _Backend(False, matmul=_Backend(False, allow_tf32=False), is_built=lambda: False)
