"""Lists of tensors as one tensor and back, which libraries take from ``torch._utils``."""
from fasttensor import cat, empty

__all__ = []


def _flatten_dense_tensors(tensors):
    """The elements of all tensors, one after another.

    >>> import fasttensor as torch
    >>> _flatten_dense_tensors([torch.ones(2), torch.zeros(1, 2)])
    tensor([1., 1., 0., 0.])
    """
    flat = [t.contiguous().view(-1) for t in tensors]
    return cat(flat) if flat else empty(0)


def _unflatten_dense_tensors(flat, tensors):
    """Views of a flat tensor in the shapes of `tensors`: what ``_flatten_dense_tensors`` has put together."""
    parts, start = [], 0
    for t in tensors:
        parts.append(flat.narrow(0, start, t.numel()).view_as(t))
        start += t.numel()
    return tuple(parts)
