"""``torch.distributed.fsdp``: modules cut up over several processes, of which there are none."""
from enum import Enum

from fasttensor.nn import Module

from . import _missing

__all__ = ["BackwardPrefetch", "CPUOffload", "FSDPModule", "FullyShardedDataParallel", "MixedPrecision", "ShardingStrategy", "StateDictType",
           "fully_shard"]


class FSDPModule:
    """What ``fully_shard`` makes of a module. Never made: ``isinstance`` answers False."""

    def __new__(cls, *args, **kwargs):
        _missing("fsdp.FSDPModule")()


class FullyShardedDataParallel(Module):
    """A module cut up over processes. Never made: ``isinstance`` answers False."""

    def __init__(self, *args, **kwargs):
        _missing("fsdp.FullyShardedDataParallel")()


class ShardingStrategy(Enum):
    """What is cut up."""

    FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, _HYBRID_SHARD_ZERO2 = range(1, 6)


class BackwardPrefetch(Enum):
    """When parameters are fetched in the backward pass."""

    BACKWARD_PRE, BACKWARD_POST = 1, 2


class StateDictType(Enum):
    """Which parts of a state_dict a process holds."""

    FULL_STATE_DICT, LOCAL_STATE_DICT, SHARDED_STATE_DICT = 1, 2, 3


class _Options:
    def __init__(self, **options):
        self.__dict__.update(options)


class CPUOffload(_Options):
    """Whether parameters wait in the CPU's memory."""


class MixedPrecision(_Options):
    """The dtypes of parameters, gradients and buffers."""


fully_shard = _missing("fsdp.fully_shard")
