"""The operation table: every row, in the order of their codes.

Standard library only: the build reads it before anything is compiled.
"""

from . import rows_activation, rows_arith, rows_compare, rows_float, rows_special
from .op import Op

OPS = rows_arith.ROWS + rows_float.ROWS + rows_special.ROWS + rows_activation.ROWS + rows_compare.ROWS
INDEX = {op.name: i for i, op in enumerate(OPS)}

__all__ = ["INDEX", "OPS", "Op"]
