"""fasttensor: PyTorch's programs on a library small enough to read.

    import fasttensor as torch
"""

import os as _os

# libgomp reads these when it is loaded: by default its workers spin for milliseconds between
# regions, which collapses whenever another process wants the core. The variables are taken back
# afterwards, so that child processes are not affected.
_set = [name for name, value in (("GOMP_SPINCOUNT", "1000"),) if name not in _os.environ]
if _set:
    _os.environ["GOMP_SPINCOUNT"] = "1000"

from fasttensor._core import cpucheck as _cpucheck  # noqa: E402

_cpucheck.check()

from fasttensor._core import parallel as _parallel  # noqa: E402

for _name in _set:
    del _os.environ[_name]

from fasttensor import _assemble  # noqa: E402

_assemble.fill(globals())

from fasttensor.version import __version__  # noqa: E402 - PyTorch's, which scripts check; fasttensor.version.fasttensor is this library's

_assemble.dispatch.watch_classes()
