"""The named tuples that functions return: ``torch.return_types.max`` and the like."""
from fasttensor.functional.results import RESULTS

globals().update(RESULTS)
__all__ = ["all_return_types", *RESULTS]
all_return_types = list(RESULTS.values())
