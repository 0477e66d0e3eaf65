"""fasttensor under PyTorch's name: programs that say ``import torch`` run as they are.

``python -m fasttensor script.py`` and ``as_torch()`` both come here.
"""
import os
import sys

import fasttensor

from .finder import Missing, Names

__all__ = ["as_torch"]

# Found by child processes that start anew (multiprocessing's spawn): their sys.path is a copy of ours.
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "path")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(fasttensor.__file__)))


def as_torch():
    """From now on ``import torch``, its submodules and ``from torch... import ...`` mean fasttensor.

    The modules are fasttensor's own, so that objects, ``isinstance`` and pickles are the same under both names.
    Processes that multiprocessing starts follow. Returns fasttensor; a second call changes nothing.

    Raises RuntimeError where PyTorch itself is imported already: two libraries cannot share the name.

    >>> import fasttensor
    >>> torch = fasttensor.as_torch()                         # doctest: +SKIP
    >>> from torch.utils.data import DataLoader               # doctest: +SKIP
    """
    known = sys.modules.get("torch")
    if known is fasttensor:
        return fasttensor
    if known is not None:
        raise RuntimeError(
            f"as_torch: PyTorch {getattr(known, '__version__', '')} is already imported, from {getattr(known, '__file__', None)}. Call "
            "fasttensor.as_torch() before anything imports torch, or run the program as `python -m fasttensor script.py`.")
    sys.meta_path.insert(0, Names())
    sys.meta_path.append(Missing())
    if PATH not in sys.path:
        sys.path.insert(1, PATH)        # after the program's own folder
    if ROOT not in map(os.path.abspath, sys.path):
        sys.path.append(ROOT)
    sys.modules["torch"] = fasttensor
    fasttensor.__name__ = "torch"       # programs ask for it; the import system goes by the module's spec
    fasttensor.torch = fasttensor       # PyTorch's module has itself as an attribute, and code says torch.torch
    return fasttensor
