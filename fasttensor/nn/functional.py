"""torch.nn.functional: what the families of fasttensor.functional and the operation table give it."""
import importlib
import pkgutil

import fasttensor.functional as _families
from fasttensor.autograd import generated_functions as _table


_UNDERSCORE = ("relu_", "elu_", "selu_", "celu_", "hardtanh_", "leaky_relu_", "threshold_", "rrelu_")


def _gather():
    found = dict(_table.NAMESPACES.get("nn.functional", {}))
    for name in _UNDERSCORE:
        if name in _table.METHODS:
            found[name] = _table.METHODS[name]
    for info in pkgutil.iter_modules(_families.__path__):
        family = importlib.import_module(f"{_families.__name__}.{info.name}")
        for name in getattr(family, "NN_FUNCTIONAL", ()):
            found[name] = getattr(family, name)
    return found


globals().update(_gather())
