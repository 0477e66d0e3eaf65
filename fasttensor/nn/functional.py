"""torch.nn.functional: what the families of fasttensor.functional and the operation table give it."""
from fasttensor._assemble import families
from fasttensor.autograd import generated_functions as _table

_IN_PLACE = ("relu_", "elu_", "selu_", "celu_", "hardtanh_", "leaky_relu_", "threshold_")


def _gather():
    found = dict(_table.NAMESPACES.get("nn.functional", {}))
    found.update((name, _table.METHODS[name]) for name in _IN_PLACE if name in _table.METHODS)
    for family in families():
        found.update((name, getattr(family, name)) for name in getattr(family, "NN_FUNCTIONAL", ()))
    return found


globals().update(_gather())
