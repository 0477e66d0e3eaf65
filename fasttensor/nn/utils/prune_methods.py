"""The ways to choose what to prune; `prune` puts them on modules."""
import numbers
from abc import ABC, abstractmethod

import fasttensor as ft

from ..parameter import Parameter


def _validate_amount(amount):
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, numbers.Integral) and amount < 0) or \
            (not isinstance(amount, numbers.Integral) and not 0.0 <= float(amount) <= 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_against_size(amount, size):
    if isinstance(amount, numbers.Integral) and amount > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")


def _count(amount, size):
    return amount if isinstance(amount, numbers.Integral) else round(amount * size)


def _structured(t):
    if t.dim() <= 1:
        raise ValueError("Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                         f"{t.shape} with {t.dim()} dims")


def _check_dim(t, dim):
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


class BasePruningMethod(ABC):
    """A way to choose what to prune: subclasses define `compute_mask` and PRUNING_TYPE.

    A pruned module has the parameter NAME_orig, the buffer NAME_mask and, before each call, NAME = their product.

    >>> layer = nn.utils.prune.l1_unstructured(nn.Linear(4, 2), 'weight', 3)
    >>> sorted(layer.state_dict())
    ['bias', 'weight_mask', 'weight_orig']
    """

    _tensor_name = None

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """A mask of t's shape: `default_mask` with more zeros."""

    def apply_mask(self, module):
        """The original parameter times its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, self._tensor_name + "_mask")
        orig = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=orig.dtype) * orig

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Put the parameter `name` of a module under this method; a second time adds to the mask."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        old = [(k, h) for k, h in module._forward_pre_hooks.items()
               if isinstance(h, BasePruningMethod) and h._tensor_name == name]
        orig = getattr(module, name)
        if importance_scores is not None:
            if importance_scores.shape != orig.shape:
                raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
        else:
            importance_scores = orig
        if not old:
            if not isinstance(orig, Parameter):
                raise AttributeError(f"'{name}' is not a parameter of {type(module).__name__}")
            module.register_parameter(name + "_orig", orig)
            del module._parameters[name]
            default_mask = ft.ones_like(orig)
        else:
            key, hook = old[0]
            del module._forward_pre_hooks[key]
            default_mask = getattr(module, name + "_mask").detach().clone()
            if isinstance(hook, PruningContainer):
                hook.add_pruning_method(method)
                method = hook
            else:
                container = PruningContainer(hook)
                container.add_pruning_method(method)
                container._tensor_name = name
                method = container
        try:
            with ft.no_grad():
                mask = method.compute_mask(importance_scores, default_mask=default_mask)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not old:
                module.register_parameter(name, orig)
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A tensor with what this method chooses set to zero."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        return t * self.compute_mask(scores, default_mask=ft.ones_like(t) if default_mask is None else default_mask)

    def remove(self, module):
        """Make the pruned tensor the parameter again."""
        weight = self.apply_mask(module)
        if hasattr(module, self._tensor_name):
            delattr(module, self._tensor_name)
        orig = module._parameters[self._tensor_name + "_orig"]
        orig.data = weight.data
        del module._parameters[self._tensor_name + "_orig"], module._buffers[self._tensor_name + "_mask"]
        setattr(module, self._tensor_name, orig)


class PruningContainer(BasePruningMethod):
    """Several methods on one parameter, one after another.

    Made by pruning a parameter that is pruned already: masks multiply.

    >>> layer = nn.Linear(4, 2)
    >>> for _ in range(2):
    ...     layer = nn.utils.prune.l1_unstructured(layer, 'weight', 2)
    >>> (layer.weight == 0).sum()
    tensor(4)
    """

    def __init__(self, *args):
        self._pruning_methods = ()
        if len(args) == 1 and isinstance(args[0], BasePruningMethod):
            self._tensor_name = args[0]._tensor_name
            self.add_pruning_method(args[0])
        else:
            for method in args:
                self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Add a method for the same parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name is not None and self._tensor_name != method._tensor_name:
            raise ValueError("Can only add pruning methods acting on the parameter named "
                             f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, i):
        return self._pruning_methods[i]

    def compute_mask(self, t, default_mask):
        """The last method's choice among what is not pruned yet."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        kind = method.PRUNING_TYPE
        if kind == "unstructured":
            part = mask == 1
        elif kind == "structured":
            dim = method.dim % t.dim()
            kept = mask.sum([d for d in range(t.dim()) if d != dim]) != 0
            part = (slice(None),) * dim + (kept,)
        elif kind == "global":
            part = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        result = mask.clone()
        result[part] = method.compute_mask(t[part], default_mask=mask[part]).to(dtype=mask.dtype)
        return result


class Identity(BasePruningMethod):
    """Prunes nothing.

    The parameter gets a mask of ones, for tools that expect one.

    >>> method = nn.utils.prune.Identity()
    >>> method.prune(torch.tensor([1., 2.]))
    tensor([1., 2.])
    """
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random.

    `amount` is a number of elements, or a fraction in [0, 1] (ValueError otherwise).

    >>> method = nn.utils.prune.RandomUnstructured(0.5)
    >>> (method.prune(torch.ones(4)) == 0).sum()
    tensor(2)
    """
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        _validate_amount(amount)
        self.amount = amount

    def compute_mask(self, t, default_mask):
        n = _count(self.amount, t.nelement())
        _validate_against_size(n, t.nelement())
        mask = default_mask.clone()
        if n:
            mask.view(-1)[ft.topk(ft.rand_like(t).view(-1), k=n).indices] = 0
        return mask


class L1Unstructured(BasePruningMethod):
    """Prunes the elements of least magnitude.

    `amount` is a number of elements, or a fraction in [0, 1] (ValueError otherwise). Han et al., 2015.

    >>> nn.utils.prune.L1Unstructured(2).prune(torch.tensor([1., -3., 2., 0.5]))
    tensor([ 0., -3.,  2.,  0.])
    """
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        _validate_amount(amount)
        self.amount = amount

    def compute_mask(self, t, default_mask):
        n = _count(self.amount, t.nelement())
        _validate_against_size(n, t.nelement())
        mask = default_mask.clone(memory_format=ft.contiguous_format)
        if n:
            mask.view(-1)[ft.topk(t.abs().reshape(-1), k=n, largest=False).indices] = 0
        return mask


def _rows_mask(t, dim, chosen):
    """A mask of t's shape with ones in the chosen places of dimension `dim`."""
    mask = ft.zeros_like(t)
    index = [slice(None)] * t.dim()
    index[dim] = chosen
    mask[tuple(index)] = 1
    return mask


class RandomStructured(BasePruningMethod):
    """Prunes whole rows, columns or channels at random.

    `amount` is a number of slices, or a fraction in [0, 1] (ValueError otherwise).

    >>> (nn.utils.prune.RandomStructured(1, dim=0).prune(torch.ones(3, 2)).sum(1) == 0).sum()
    tensor(1)
    """
    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        _validate_amount(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t, default_mask):
        _structured(t)
        _check_dim(t, self.dim)
        size = t.shape[self.dim]
        n = _count(self.amount, size)
        _validate_against_size(n, size)
        if n == 0:
            return default_mask
        prob = ft.rand(size)
        # What stays are the places above the n-th smallest draw.
        return default_mask * _rows_mask(t, self.dim, prob > ft.kthvalue(prob, k=n).values).to(default_mask.dtype)


class LnStructured(BasePruningMethod):
    """Prunes the rows, columns or channels of least n-norm.

    `amount` is a number of slices, or a fraction in [0, 1] (ValueError otherwise). `n` is any order that `norm` takes.

    >>> nn.utils.prune.LnStructured(1, n=2, dim=0).prune(torch.tensor([[1., 2.], [0.5, 0.5]]))
    tensor([[1., 2.],
            [0., 0.]])
    """
    PRUNING_TYPE = "structured"

    def __init__(self, amount, n, dim=-1):
        _validate_amount(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def compute_mask(self, t, default_mask):
        _structured(t)
        _check_dim(t, self.dim)
        size = t.shape[self.dim]
        n = _count(self.amount, size)
        _validate_against_size(n, size)
        if n == 0:
            return default_mask
        dims = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = ft.norm(t, p=self.n, dim=dims)
        return default_mask * _rows_mask(t, self.dim, ft.topk(norms, k=size - n, largest=True).indices).to(default_mask.dtype)


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask.

    The mask has the parameter's shape, 0 where it is pruned.

    >>> nn.utils.prune.CustomFromMask(torch.tensor([1, 0])).prune(torch.tensor([3., 4.]))
    tensor([3., 0.])
    """
    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"mask shape {self.mask.shape} does not match {default_mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)
