"""DataParallel, which on one device is the module itself."""
from .module import Module


class DataParallel(Module):
    """Calls `module`: with one device there is nothing to split. Its state_dict has the prefix "module."."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids, self.output_device = [], output_device

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Call a module on one device."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))


class DistributedDataParallel(Module):
    """Needs other processes, which there are none of: RuntimeError when it is made. Here for `isinstance`."""

    def __init__(self, module, *args, **kwargs):
        raise RuntimeError("DistributedDataParallel: fasttensor runs in one process (torch.distributed.is_available() is False): train the module "
                           f"itself, a {type(module).__name__}, or wrap it in DataParallel")
