"""``torch.autograd.profiler_util``, found in ``fasttensor.profiler`` on first use."""


def __getattr__(name):
    from importlib import import_module
    names = import_module("fasttensor.profiler.legacy").NAMES
    if name in names:
        return names[name]
    raise AttributeError(f"module 'torch.autograd.profiler_util' has no attribute {name!r}")
