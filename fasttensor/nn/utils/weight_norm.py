"""Weight normalization in its first form, on a module's attributes; parametrizations.weight_norm replaces it."""
import warnings

import fasttensor as ft

from ..parameter import Parameter
from ..parameter import is_lazy


def norm_except_dim(v, pow=2, dim=0):
    """The norm of v over all dimensions but `dim` (None or -1: over all), kept for broadcasting."""
    if dim is None or dim == -1:
        return ft.linalg.vector_norm(v, pow)
    dims = [i for i in range(v.dim()) if i != dim % v.dim()]
    return ft.linalg.vector_norm(v, pow, dims, keepdim=True) if dims else v.abs()


class WeightNorm:
    """The hook that computes weight = g v / |v| before each call."""

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight from its two parts."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / norm_except_dim(v, 2, self.dim))

    @staticmethod
    def apply(module, name, dim):
        """Split the parameter `name` of a module in two."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        fn = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError("The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the "
                             "dummy forward before applying weight normalization")
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, 2, fn.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, fn.compute_weight(module))
        module.register_forward_pre_hook(fn)
        return fn

    def remove(self, module):
        """Make the weight one parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    """Learn a weight's length and direction apart: Salimans and Kingma, 2016. Deprecated in PyTorch.

    >>> m = nn.utils.weight_norm(nn.Linear(20, 40))
    >>> m.weight_g.shape, m.weight_v.shape
    (torch.Size([40, 1]), torch.Size([40, 20]))
    """
    warnings.warn("`torch.nn.utils.weight_norm` is deprecated in favor of "
                  "`torch.nn.utils.parametrizations.weight_norm`.", FutureWarning, stacklevel=2)
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module, name="weight"):
    """Undo `weight_norm`; ValueError where there is none.

    Returns the module.

    >>> layer = nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(2, 3)))
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
