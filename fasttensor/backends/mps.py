"""``torch.backends.mps``: Apple's GPUs, which are not supported."""
__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer", "get_name", "get_core_count"]


def is_available():
    """False."""
    return False


def is_built():
    """False."""
    return False


def is_macos_or_newer(major, minor):
    """False: there is no such device to ask about."""
    return False


def is_macos13_or_newer(minor=0):
    """False: there is no such device to ask about."""
    return False


def get_name():
    """RuntimeError: there is no such device."""
    raise RuntimeError("mps: this library does not support Apple's GPUs")


get_core_count = get_name
