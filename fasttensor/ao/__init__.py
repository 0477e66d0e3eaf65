"""``torch.ao``: lower precision by quantization, of which only what stands in unquantized models is here."""
from . import quantization

__all__ = ["quantization"]
