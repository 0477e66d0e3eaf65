"""``torch.cuda._utils``: the number of a device."""

__all__ = []


def _get_device_index(device, optional=False, allow_cpu=False):
    """The number of a GPU given as int, str or device. With `optional`, one without a number means the current GPU."""
    import fasttensor
    from fasttensor.cuda import current_device
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    if device is not None:
        device = fasttensor.device(device)
        if device.type == "cpu" and allow_cpu:
            return -1
        if device.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        if device.index is not None:
            return device.index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return current_device()
