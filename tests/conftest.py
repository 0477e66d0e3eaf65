"""What every test module gets: the built package, a fixed seed, and a check for leaked tensors."""
import gc
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# `python -m pytest` puts the source tree first on the path; without modules built in place
# it would hide the installed package.
if not list((ROOT / "fasttensor" / "_core").glob("tensor.*.so")):
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != ROOT]

import fasttensor  # noqa: E402
from fasttensor._core import storage  # noqa: E402


@pytest.fixture(autouse=True)
def seeded():
    """Each test starts from the same random numbers, thread count and dtype, whatever ran before."""
    threads, dtype = fasttensor.get_num_threads(), fasttensor.get_default_dtype()
    fasttensor.manual_seed(0)
    yield
    fasttensor.set_num_threads(threads)
    fasttensor.set_default_dtype(dtype)


@pytest.fixture(autouse=True, scope="module")
def no_leaks(request):
    """After a module's tests no more storages live than before, but for MAY_KEEP of them.

    A module sets MAY_KEEP where the library caches tensors on purpose. A failed test's traceback
    holds its tensors, so that nothing is checked then.
    """
    gc.collect()
    before = storage.live_storages()
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed > failed:
        return
    gc.collect()
    kept = storage.live_storages() - before
    allowed = getattr(request.module, "MAY_KEEP", 0)
    assert kept <= allowed, f"{kept} storages outlive {request.module.__name__} (allowed: {allowed})"
