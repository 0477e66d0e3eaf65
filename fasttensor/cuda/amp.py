"""``torch.cuda.amp``, found in ``fasttensor.amp`` on first use."""
import sys

__all__ = []


def amp_definitely_not_available():
    """Whether there is no device on which the lower precision would be used."""
    from fasttensor import cuda
    return not cuda.is_available()


def __getattr__(name):
    if name in ("autocast_mode", "grad_scaler", "common"):      # modules of PyTorch with the same names
        return sys.modules[__name__]
    from fasttensor.amp.devices import names
    found = names("cuda")
    if name in found:
        return found[name]
    raise AttributeError(f"module 'torch.cuda.amp' has no attribute {name!r}")
