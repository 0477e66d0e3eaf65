"""The named tuples that functions return: ``torch.return_types.max`` and the like."""
from fasttensor.functional.results import RESULTS

globals().update(RESULTS)
# PyTorch has types of their own for results written into out=.
globals().update((name + "_out", kind) for name, kind in RESULTS.items() if name != "histogramdd")
__all__ = ["all_return_types", *RESULTS, *(name + "_out" for name in RESULTS if name != "histogramdd")]
all_return_types = list(RESULTS.values())
