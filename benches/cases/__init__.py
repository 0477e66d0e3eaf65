"""The structured operations by family: {family: {case: source}}, each timed on small and on large operands.

A source is one expression in PyTorch's API over the operands of `families.OPERANDS`. A case is named after the public
function that it times, with a dot and what is particular to it.
"""
from . import arithmetic, layers, linear, ordering, placing, reducing, transforms

MODULES = reducing, ordering, placing, arithmetic, linear, layers, transforms
CASES = {family: cases for module in MODULES for family, cases in module.CASES.items()}
GRADIENTS = {name for module in MODULES for name in module.GRADIENTS}      # of these the backward sweep is timed too
