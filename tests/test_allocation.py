"""Every allocation of many calls fails once: a clear error, nothing lost, and the right values afterwards."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fasttensor as torch

HERE, ROOT = Path(__file__).parent / "allocation", Path(torch.__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if sys.platform != "linux" or not compiler:
        pytest.skip("the functions of the C library are replaced as Linux's loader allows, by a library that has to be compiled")
    made = tmp_path_factory.mktemp("allocation") / "failing.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, HERE / "failing.c", "-ldl", "-lpthread"], check=True)
    return made


@pytest.mark.parametrize("threads", ["1", "2"])
def test_allocations_that_fail(shim, threads):
    words = [] if threads == "1" else ["backward", "sort", "norm", "loss", "pool", "matmul"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": threads, "LD_PRELOAD": str(shim)}
    done = subprocess.run([sys.executable, "-W", "ignore", HERE / "walk.py", *words], env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found = done.stdout.splitlines()
    assert len(found) == 1 and found[0].startswith("done"), done.stdout[-4000:]


def test_no_memory_is_an_error_of_both_kinds():
    for kind in (RuntimeError, MemoryError, torch.OutOfMemoryError):
        with pytest.raises(kind, match="not enough memory: could not allocate"):
            torch.empty(1 << 50)


def test_errors_name_the_operation_and_its_tensors():
    x = torch.ones(1 << 22, 1)
    for leaf in (x, x.clone().requires_grad_()):
        with pytest.raises(torch.OutOfMemoryError, match=r"Cdist\(float32\[4194304, 1\], .*could not allocate .* bytes for float32\[4194304, 4194304\]"):
            torch.cdist(leaf, leaf)
    with pytest.raises(torch.OutOfMemoryError, match=r"could not allocate .* bytes for float32\[1048576, 4194304\]"):
        torch.ones(1 << 20, 1) + torch.ones(1 << 22)
