"""``torch.distributed.device_mesh``: arrangements of processes, of which there is one."""
from .tensor import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
