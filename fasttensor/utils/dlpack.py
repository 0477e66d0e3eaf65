"""DLPack under its older names; ``torch.from_dlpack`` and ``Tensor.__dlpack__`` are the present ones."""
from fasttensor import from_dlpack
from fasttensor.functional.dlpack_devices import DLDeviceType

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


def to_dlpack(tensor):
    """A DLPack capsule over a tensor's memory."""
    return tensor.__dlpack__(stream=None)
