"""What PyTorch's programs ask about libraries and devices underneath; nothing here depends on the switches."""
from importlib import import_module

__all__ = ["cpu", "cuda", "cudnn", "cusparselt", "kleidiai", "mha", "miopen", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum", "quantized",
           "xnnpack"]


_frozen = True       # as PyTorch answers from the start


def disable_global_flags():
    """Switches can be changed inside ``flags`` contexts only; remembered, as nothing depends on the switches."""
    global _frozen
    _frozen = True


def flags_frozen():
    """Whether `disable_global_flags` was called."""
    return _frozen


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module 'fasttensor.backends' has no attribute {name!r}")
    return import_module("fasttensor.backends." + name)


def __dir__():
    return [*globals(), *__all__]
