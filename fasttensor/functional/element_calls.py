"""Python functions over the elements of CPU tensors: slow, and without gradients."""
from fasttensor._core.tensor import Tensor, description

__all__ = []


def _write(name, self, function, others):
    if self.requires_grad:
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if not self.is_cpu:
        raise TypeError(f"{name}() is only implemented on CPU tensors, got {description(self)} on {self.device}")
    if not callable(function):
        raise TypeError(f"{name}(): argument 'callable' must be callable, not {type(function).__name__}")
    for other in others:
        if not isinstance(other, Tensor) or other.dtype is not self.dtype:
            raise TypeError(f"{name}(): expected tensors of {self.dtype}, got {description(other)}")
    columns = [self, *(other.expand(self.shape) for other in others)]
    values = [function(*row) for row in zip(*(column.reshape(-1).tolist() for column in columns))]
    if values:
        from fasttensor.functional.data import tensor
        self.copy_(tensor(values, dtype=self.dtype).reshape(self.shape))
    return self


def apply_(self, callable):
    """Replaces each element x by ``callable(x)``; CPU tensors only.

    >>> torch.tensor([1.0, 4.0]).apply_(lambda x: x + 1)
    tensor([2., 5.])
    """
    return _write("apply_", self, callable, ())


def map_(self, tensor, callable):
    """Replaces each element a by ``callable(a, b)`` with b from `tensor`, which broadcasts; CPU tensors only.

    Raises TypeError for a tensor of another dtype, RuntimeError for one that requires grad.

    >>> torch.tensor([1.0, 4.0]).map_(torch.tensor([2.0]), lambda a, b: a * b)
    tensor([2., 8.])
    """
    return _write("map_", self, callable, (tensor,))


def map2_(self, x, y, callable):
    """Replaces each element a by ``callable(a, b, c)`` with b from `x` and c from `y`, which broadcast; CPU tensors only.

    Raises TypeError for tensors of another dtype, RuntimeError for one that requires grad.

    >>> torch.tensor([1.0, 4.0]).map2_(torch.tensor([2.0]), torch.tensor([0.5]), lambda a, b, c: a * b + c)
    tensor([2.5000, 8.5000])
    """
    return _write("map2_", self, callable, (x, y))


METHODS = {"apply_": apply_, "map_": map_, "map2_": map2_}
