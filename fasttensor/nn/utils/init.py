"""Modules without initial values."""
from .. import init
from ..module import Module


def skip_init(module_cls, *args, **kwargs):
    """A module of a class that takes `device`, made without drawing initial values.

    >>> nn.utils.skip_init(nn.Linear, 2, 3).weight.shape
    torch.Size([3, 2])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    import inspect              # takes longer than all of nn.utils
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    before, init._skipping = init._skipping, True
    try:
        return module_cls(*args, **kwargs)
    finally:
        init._skipping = before
