"""Special functions (``torch.special``): the operation table's rows of that namespace and their relatives."""

from fasttensor._assemble import gather_late

gather_late("SPECIAL", globals(), __name__)
