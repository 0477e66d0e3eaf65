"""Linear algebra (``torch.linalg``), gathered from the families of functions."""

from fasttensor._assemble import gather_late

gather_late("LINALG", globals(), __name__)
