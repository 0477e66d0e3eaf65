"""Layers and losses of neural networks, and the functions behind them."""
from . import attention, functional, grad, init, modules, parallel, parameter, utils
from .functional import LinearCrossEntropyOptions
from .modules import *  # noqa: F403
from .modules import Module
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [*modules.__all__, "Buffer", "DataParallel", "LinearCrossEntropyOptions", "Module", "Parameter",
           "UninitializedBuffer", "UninitializedParameter", "attention", "factory_kwargs", "functional", "grad", "init", "modules",
           "parallel", "parameter", "utils"]


def factory_kwargs(kwargs):
    """Canonical `device`, `dtype` and `memory_format` out of a constructor's keyword arguments.

    TypeError for any other name, or one given twice.

    >>> nn.factory_kwargs({"dtype": torch.float64})
    {'dtype': torch.float64}
    """
    if kwargs is None:
        return {}
    names = ("device", "dtype", "memory_format")
    unknown = set(kwargs) - {*names, "factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    result = dict(kwargs.get("factory_kwargs", {}))
    for name in names:
        if name in kwargs:
            if name in result:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            result[name] = kwargs[name]
    return result
