"""``torch._functorch``: its modules under the names that libraries import."""
import sys

import fasttensor.func.vmap  # noqa: F401

__all__ = ["vmap"]

vmap = sys.modules["fasttensor.func.vmap"]      # the module; the package's attribute is the function
