"""Functions that take functions: PyTorch's names, run as the loops and branches that they mean."""
from fasttensor.functional.control import cond, while_loop

from .associative_scan import associative_scan
from .map import map
from .scan import scan

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
