"""The named tuples that functions return: ``torch.return_types.max``, and ``max_out`` where the results were written into ``out=``."""
from fasttensor.functional.results import OUT_RESULTS, RESULTS

_ALL = {**RESULTS, **OUT_RESULTS}
globals().update(_ALL)
__all__ = ["all_return_types", *sorted(name for name in _ALL if not name.startswith("_"))]
all_return_types = [_ALL[name] for name in __all__[1:]]
