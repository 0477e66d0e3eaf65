"""``torch.distributed.tensor``: tensors over several processes, of which there are none."""

__all__ = ["DTensor", "Shard", "Replicate", "Partial", "Placement", "DeviceMesh", "distribute_tensor", "distribute_module", "implicit_replication",
           "init_device_mesh"]


def _refuse(name):
    raise RuntimeError(f"torch.distributed.{name}: fasttensor runs in one process (torch.distributed.is_available() is False)")


class DTensor:
    """A tensor over several processes. Never made: ``isinstance`` answers False."""

    def __new__(cls, *args, **kwargs):
        _refuse("tensor.DTensor")


class DeviceMesh:
    """An arrangement of processes. Never made."""

    def __new__(cls, *args, **kwargs):
        _refuse("device_mesh.DeviceMesh")


class Placement:
    """How a tensor lies on the processes."""


class Shard(Placement):
    """Cut along a dimension."""

    def __init__(self, dim=0):
        self.dim = dim


class Replicate(Placement):
    """A copy on each process."""


class Partial(Placement):
    """Summands on each process."""

    def __init__(self, reduce_op="sum"):
        self.reduce_op = reduce_op


def distribute_tensor(*args, **kwargs):
    """RuntimeError: there is one process."""
    _refuse("tensor.distribute_tensor")


def distribute_module(*args, **kwargs):
    """RuntimeError: there is one process."""
    _refuse("tensor.distribute_module")


def implicit_replication():
    """RuntimeError: there is one process."""
    _refuse("tensor.experimental.implicit_replication")


def init_device_mesh(*args, **kwargs):
    """RuntimeError: there is one process."""
    _refuse("device_mesh.init_device_mesh")
