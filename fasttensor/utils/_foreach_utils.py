"""What optimizers written for PyTorch ask before they choose between loops over tensors and functions over lists."""

__all__ = []


def _get_foreach_kernels_supported_devices():
    return ["cuda"]


def _get_fused_kernels_supported_devices():
    return ["cpu", "cuda"]


def _device_has_foreach_support(device):
    return device.type in _get_foreach_kernels_supported_devices()


def _has_foreach_support(tensors, device):
    return _device_has_foreach_support(device) and all(t is None or t.device.type == device.type for t in tensors)


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """{(device, dtype): (lists of the tensors there, their indices)}, by the tensors of the first list."""
    groups = {}
    for i, first in enumerate(tensorlistlist[0]):
        lists, indices = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for found, tensors in zip(lists, tensorlistlist):
            if tensors:
                found.append(tensors[i])
        if with_indices:
            indices.append(i)
    return groups
