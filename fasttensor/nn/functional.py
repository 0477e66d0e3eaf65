"""torch.nn.functional: what the families of fasttensor.functional and the operation table give it."""
from fasttensor._assemble import gather
from fasttensor.autograd import generated_functions as _table

globals().update(_table.NAMESPACES["nn.functional"])
gather("NN_FUNCTIONAL", globals())
native_channel_shuffle = channel_shuffle = globals()["channel_shuffle"]
