"""``torch.distributed`` on one process: programs ask whether it is there, and are told that it is not.

What would need other processes raises a RuntimeError that says so. `nn.parallel.DataParallel` and
`utils.data.distributed.DistributedSampler` (with `num_replicas` and `rank`) work without it.
"""
from enum import Enum

__all__ = ["GroupMember", "ProcessGroup", "ReduceOp", "Work", "get_rank", "get_world_size", "group", "is_available", "is_gloo_available",
           "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched"]


class ReduceOp(Enum):
    """What collective operations would do to the values of all processes."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


class ProcessGroup:
    """A group of processes; there are none."""


class Work:
    """A collective operation under way; there are none."""


class group:
    """`group.WORLD`, all processes."""

    WORLD = None


class GroupMember:
    """`GroupMember.WORLD`, all processes."""

    WORLD = None
    NON_GROUP_MEMBER = -100


def is_available():
    """False: programs then run on one process.

    >>> import fasttensor
    >>> fasttensor.distributed.is_available()
    False
    """
    return False


def is_initialized():
    """False."""
    return False


is_gloo_available = is_mpi_available = is_nccl_available = is_ucc_available = is_xccl_available = is_torchelastic_launched = is_available


def get_rank(group=None):
    """ValueError, as in PyTorch before `init_process_group`."""
    raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")


def get_world_size(group=None):
    """ValueError, as in PyTorch before `init_process_group`."""
    raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")


def __getattr__(name):
    if name in ("nn", "tensor", "device_mesh", "optim", "rpc", "fsdp"):
        from importlib import import_module
        return import_module("fasttensor.distributed." + name)
    if name in ("DeviceMesh", "init_device_mesh"):
        from . import device_mesh
        return getattr(device_mesh, name)
    raise AttributeError(f"module 'fasttensor.distributed' has no attribute {name!r}")


def _missing(name):
    def function(*args, **kwargs):
        raise RuntimeError(f"torch.distributed.{name}: fasttensor runs in one process (torch.distributed.is_available() is False)")
    function.__name__ = function.__qualname__ = name
    function.__doc__ = "RuntimeError: there is one process."
    return function


_CALLS = ("init_process_group", "destroy_process_group", "new_group", "barrier", "monitored_barrier", "all_reduce", "all_gather",
          "all_gather_into_tensor", "all_gather_object", "all_to_all", "all_to_all_single", "broadcast", "broadcast_object_list", "gather",
          "gather_object", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list", "send", "recv", "isend", "irecv",
          "get_backend", "get_process_group_ranks", "get_global_rank", "get_group_rank", "batch_isend_irecv", "P2POp", "split_group")
globals().update((name, _missing(name)) for name in _CALLS)
__all__ += _CALLS
