"""What libraries take from ``torch._utils``: lists of tensors as one tensor and back, and the modules of devices."""
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


def _get_available_device_type():
    """The kind of accelerator that tensors can lie on: "cuda", or None."""
    from fasttensor import cuda
    return "cuda" if cuda.is_available() else None


def _get_device_module(device_type):
    """The module of a kind of device, such as ``torch.cuda``."""
    import fasttensor
    found = getattr(fasttensor, device_type, None)
    if found is None:
        raise RuntimeError(f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'.")
    return found
