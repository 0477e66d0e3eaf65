"""torch.nn.functional: what the families of fasttensor.functional and the operation table give it."""
from fasttensor._assemble import gather
from fasttensor.autograd import generated_functions as _table

globals().update(_table.NAMESPACES["nn.functional"])
globals().update((name, _table.METHODS[name]) for name in (
    "relu_", "elu_", "selu_", "celu_", "hardtanh_", "leaky_relu_", "threshold_") if name in _table.METHODS)
gather("NN_FUNCTIONAL", globals())
