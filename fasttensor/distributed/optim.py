"""Optimizers over several processes, of which there are none: RuntimeError when one is made, False from ``isinstance``."""
from fasttensor.optim import Optimizer

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]


class _Absent:
    def __init__(self, *args, **kwargs):
        raise RuntimeError(f"torch.distributed.optim.{type(self).__name__}: fasttensor runs in one process (torch.distributed.is_available() is False): "
                           "use the optimizer of torch.optim itself")


class DistributedOptimizer(_Absent):
    """Updates parameters that other processes hold."""


class PostLocalSGDOptimizer(_Absent, Optimizer):
    """Averages the processes' models now and then."""


class ZeroRedundancyOptimizer(_Absent, Optimizer):
    """Keeps a part of the optimizer's state on each process."""
