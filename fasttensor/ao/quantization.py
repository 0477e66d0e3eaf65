"""``torch.ao.quantization``: marks where a model would be quantized. There are no quantized dtypes, so they pass everything on."""
from fasttensor.nn import Module

__all__ = ["QuantStub", "DeQuantStub"]


class QuantStub(Module):
    """Where values would be quantized: passes them on, as PyTorch's does before a model is converted.

    >>> import fasttensor as torch
    >>> QuantStub()(torch.ones(1))
    tensor([1.])
    """

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class DeQuantStub(QuantStub):
    """Where values would be dequantized: passes them on."""


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise AttributeError(f"torch.ao.quantization.{name}: there are no quantized dtypes here; train and run in float32 or bfloat16 (docs/coverage.md)")
