"""Tools around the library: `fasttensor.utils.data` and others, imported on first use."""

_MODULES = ("benchmark", "checkpoint", "data", "tensorboard")


def __getattr__(name):
    if name in _MODULES:
        from importlib import import_module
        return import_module("fasttensor.utils." + name)
    raise AttributeError(f"module 'fasttensor.utils' has no attribute {name!r}")
