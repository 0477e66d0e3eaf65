"""Versions: which PyTorch this stands for, and this library's own (``fasttensor.version.fasttensor``)."""
from .torch_version import TorchVersion

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu", "fasttensor"]

fasttensor = "0.1.0"
__version__ = TorchVersion(f"2.13.0+fasttensor.{fasttensor}")
cuda = hip = rocm = xpu = None
debug = False
git_version = "unknown"
