"""``torch.cpu.amp``, found in ``fasttensor.amp`` on first use."""


def __getattr__(name):
    from fasttensor.amp.devices import names
    found = names("cpu")
    if name in found:
        return found[name]
    raise AttributeError(f"module 'torch.cpu.amp' has no attribute {name!r}")
