"""``torch._C._nn``: the functions of torch.nn.functional, and how ``to`` reads its arguments."""
from fasttensor.nn import functional
from fasttensor.nn.module_convert import parse_to

__all__ = []
_fx_namespace = "nn.functional"         # for torch.fx: whose functions these are


def _parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) of the arguments of ``to``; None for what they leave as it is."""
    device, dtype, non_blocking, memory_format = parse_to(args, kwargs)
    return device, dtype, bool(non_blocking), memory_format


def __getattr__(name):
    return getattr(functional, "logsigmoid" if name == "log_sigmoid" else name)
