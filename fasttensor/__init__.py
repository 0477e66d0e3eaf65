"""fasttensor: PyTorch's programs on a library small enough to read.

    import fasttensor as torch
"""

from fasttensor._core import cpucheck as _cpucheck

_cpucheck.check()

from fasttensor import _assemble  # noqa: E402

_assemble.fill(globals())

from fasttensor.version import __version__  # noqa: E402 - PyTorch's, which scripts check; fasttensor.version.fasttensor is this library's

_assemble.dispatch.watch_classes()
