"""Gradients of common operators as public functions of tensors that a class has taken over, so that the class sees operators it
knows: ``f(gradient, *args)`` gives the gradient of each argument, None for those that have none."""
from importlib import import_module

from fasttensor._core.tensor import Tensor

__all__ = []


def _torch():
    return import_module("fasttensor")


def _times(g, x):
    return g * (x.conj() if isinstance(x, Tensor) and x.is_complex() else x)


def _summed(g, x, dims=None, keepdim=False, **_):
    if dims is None or isinstance(dims, (tuple, list)) and not dims:
        return g.expand(x.shape),
    if not keepdim:
        for d in sorted(d % x.dim() for d in ((dims,) if isinstance(dims, int) else dims)):
            g = g.unsqueeze(d)
    return g.expand(x.shape), None, None


def _mean(g, x, dims=None, keepdim=False, **_):
    found = _summed(g, x, dims, keepdim)
    return found[0] / (x.numel() // max(g.numel(), 1)), *found[1:]


def _permuted(g, x, dims):
    back = [0] * len(dims)
    for i, d in enumerate(dims):
        back[d % len(dims)] = i
    return g.permute(back), None


def _addmm(g, bias, a, b, beta=1, alpha=1):
    return g if beta == 1 else g * beta, _scaled(_torch().mm(g, b.t()), alpha), _scaled(_torch().mm(a.t(), g), alpha)


def _scaled(g, by):
    return g if by == 1 else g * by


FORMULAS = {
    "add": lambda g, a, b, alpha=1: (g, _scaled(g, alpha)),
    "sub": lambda g, a, b, alpha=1: (g, _scaled(g, -alpha)),
    "mul": lambda g, a, b: (_times(g, b), _times(g, a)),
    "neg": lambda g, a: (-g,),
    "mm": lambda g, a, b: (_torch().mm(g, b.t()), _torch().mm(a.t(), g)),
    "bmm": lambda g, a, b: (_torch().bmm(g, b.transpose(1, 2)), _torch().bmm(a.transpose(1, 2), g)),
    "addmm": _addmm,
    "t": lambda g, a: (g.t(),),
    "transpose": lambda g, a, i, j: (g.transpose(i, j), None, None),
    "permute": _permuted,
    "view": lambda g, a, size: (g.reshape(a.shape), None),
    "_unsafe_view": lambda g, a, size: (g.reshape(a.shape), None),
    "expand": lambda g, a, size: (g.sum_to_size(a.shape), None),
    "clone": lambda g, a: (g,),
    "alias": lambda g, a: (g,),
    "unsqueeze": lambda g, a, dim: (g.squeeze(dim), None),
    "squeeze": lambda g, a, dim=None: (g.reshape(a.shape), None),
    "sum": _summed,
    "mean": _mean,
}


def product(node, name, g, args, run):
    """The gradients of a product's node by the products that they are; other nodes run."""
    torch = _torch()
    flags = [e is not None for e, _ in node.next_functions]
    if name in ("MmBackward0", "BmmBackward0") and len(flags) == 2:
        a, b = args[:2]
        return (torch.matmul(g, b.mT) if flags[0] else None, torch.matmul(a.mT, g) if flags[1] else None)
    if name == "AddmmBackward0" and len(flags) == 3 and len(args) == 3:
        bias, a, b = args
        return (g if flags[0] else None, torch.mm(g, b.t()) if flags[1] else None, torch.mm(a.t(), g) if flags[2] else None)
    from fasttensor.functional import dispatching
    op = dispatching.operator_like("convolution_backward" if "onvol" in name else "product_backward", lambda *given: run(node, given[0]))
    return dispatching.take_over(op, (g, *args), {})
