"""L0: the table of elementwise operations, its expressions, and the code that is generated from them.

Standard library only, and importable before the build: put the folder that holds `_optable` on
`sys.path` and import `_optable.codegen`.
"""

from .derive import derivatives
from .table import INDEX, OPS, Op

__all__ = ["INDEX", "OPS", "Op", "derivatives"]
