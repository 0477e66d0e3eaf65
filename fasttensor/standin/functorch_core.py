"""``torch._C._functorch``: what libraries that bring their own containers to vmap call of its machinery."""
from fasttensor._core.tensor import Tensor
from fasttensor.autograd.batched import Batched, levels, value_at
from fasttensor.func.vmap import _add_batch_dim

__all__ = ["is_batchedtensor", "is_functorch_wrapped_tensor", "is_gradtrackingtensor", "get_unwrapped", "maybe_get_level", "maybe_current_level",
           "_add_batch_dim", "_remove_batch_dim"]


def is_batchedtensor(x):
    """Whether vmap has made this tensor: one sample's shape over the memory of all."""
    return isinstance(x, Batched)


is_functorch_wrapped_tensor = is_batchedtensor


def is_gradtrackingtensor(x):
    """False: gradients inside of transforms are the ordinary engine's."""
    return False


def get_unwrapped(x):
    """The tensor of all samples, which lie along dimension 0."""
    for level in reversed(levels()):
        value = value_at(x, level)
        if value is not None:
            return value
    raise RuntimeError(f"get_unwrapped: expected a tensor that vmap has made, got a {type(x).__name__}")


def maybe_get_level(x):
    """The number of the vmap that made a tensor, the outermost's is 1; -1 for other tensors."""
    found = [i for i, level in enumerate(levels(), 1) if isinstance(x, Tensor) and value_at(x, level) is not None]
    return found[-1] if found else -1


def maybe_current_level():
    """How many vmaps are open; None outside."""
    return len(levels()) or None


def _remove_batch_dim(x, level, batch_size, out_dim):
    """All samples of what the function of a vmap returns, along `out_dim`."""
    value = value_at(x, level)
    if value is None:
        value = x.unsqueeze(0).expand(batch_size, *x.shape)
    return value.movedim(0, out_dim) if out_dim else value
