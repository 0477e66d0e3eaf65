"""DataParallel, which on one device is the module itself; cutting arguments up for devices."""
from fasttensor import Tensor, cat, device

from .module import Module


class DataParallel(Module):
    """Calls `module`: with one device there is nothing to split. Its state_dict has the prefix "module.".

    >>> nn.DataParallel(nn.Linear(2, 3))(torch.ones(1, 2)).shape
    torch.Size([1, 3])
    """

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


def _where(target):
    return device("cuda", target) if isinstance(target, int) else device(target)


def _pieces(value, targets, dim):
    """One value a target: tensors are cut, containers rebuilt around their items' pieces, all else is handed to everyone."""
    if isinstance(value, Tensor):
        return [piece.to(target) for piece, target in zip(value.chunk(len(targets), dim), targets)]
    if isinstance(value, dict) and value:
        return [type(value)(items) for items in zip(*(_pieces(item, targets, dim) for item in value.items()))]
    if isinstance(value, (list, tuple)) and value:
        make = (lambda items: type(value)(*items)) if hasattr(value, "_fields") else type(value)
        return [make(items) for items in zip(*(_pieces(item, targets, dim) for item in value))]
    return [value for _ in targets]


def scatter(inputs, target_gpus, dim=0):
    """Cut the tensors among `inputs` along `dim`, a piece for each GPU; what is no tensor goes to each of them.

    Raises RuntimeError where a GPU is not there.

    >>> scatter(("a", 1), [0, 1])
    [('a', 1), ('a', 1)]
    """
    return _pieces(inputs, [_where(target) for target in target_gpus], dim)


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """``scatter`` of positional and named arguments: a tuple and a dict for each GPU."""
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(positional), len(named))
    return tuple([*positional, *[()] * (count - len(positional))]), tuple([*named, *[{}] * (count - len(named))])


def gather(outputs, target_device, dim=0):
    """Join what GPUs have made, on one device: tensors along `dim`, and containers of them item by item.

    Raises AssertionError for tensors on the CPU, as PyTorch does.
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        if any(t.is_cpu for t in outputs):
            raise AssertionError("Gather function not implemented for CPU tensors")
        target = device("cpu") if target_device in ("cpu", -1) else _where(target_device)
        return cat([(t.view(1) if t.ndim == 0 else t).to(target) for t in outputs], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(o) != len(first) for o in outputs):
            raise ValueError("gather: all dicts must have the same number of keys")
        return type(first)((key, gather([o[key] for o in outputs], target_device, dim)) for key in first)
    items = [gather(list(group), target_device, dim) for group in zip(*outputs)]
    return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)
