"""torch.nn.functional: what the families of fasttensor.functional and the operation table give it."""
from fasttensor._assemble import gather

# All at once: a module with __getattr__ answers each F.relu 15 ns later.
gather("NN_FUNCTIONAL", globals())
_threshold = globals()["threshold"]        # as traced programs name it
native_channel_shuffle = channel_shuffle = globals()["channel_shuffle"]
