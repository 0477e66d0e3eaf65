"""Linear algebra (``torch.linalg``), gathered from the families of functions."""

from fasttensor._assemble import gather

gather("LINALG", globals())
