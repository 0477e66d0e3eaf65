"""Makes `torch` mean fasttensor in a process that was started anew."""
import os
import sys

if __name__ == "torch":             # found in this folder, not as a part of fasttensor
    del sys.modules["torch"]        # this file: it only sends on
    try:
        import fasttensor
    except ModuleNotFoundError as _error:
        if _error.name != "fasttensor":
            raise
        sys.path.append(os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3)))
        import fasttensor
    fasttensor.as_torch()
