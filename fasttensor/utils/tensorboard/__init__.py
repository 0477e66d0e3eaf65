"""``torch.utils.tensorboard``: ``SummaryWriter`` over the tensorboardX package, or over tensorboard for the common part."""

__all__ = ["SummaryWriter", "FileWriter"]


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module 'torch.utils.tensorboard' has no attribute {name!r}")
    from . import writer
    writer.backend_name()       # a missing package is told here, where it is imported
    value = globals()[name] = getattr(writer, name)
    return value
