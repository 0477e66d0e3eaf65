"""Collective operations with gradients: RuntimeError when called, as there is one process."""
from fasttensor.distributed import all_gather, all_reduce, all_to_all, broadcast, gather, reduce, reduce_scatter, scatter

__all__ = ["all_gather", "all_reduce", "all_to_all", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"]
