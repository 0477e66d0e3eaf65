"""Special functions (``torch.special``): the operation table's rows of that namespace and their relatives."""

from fasttensor._assemble import gather
from fasttensor.autograd.generated_functions import NAMESPACES

globals().update(NAMESPACES.get("special", {}))
gather("SPECIAL", globals())
