"""Programs that say `import torch`, run by `python -m fasttensor` and after `as_torch()`."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fasttensor

ROOT = Path(fasttensor.__file__).resolve().parents[1]


def run(*arguments, cwd, code=0, **options):
    """What `python ARGUMENTS` prints; the exit code is checked."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *map(str, arguments)], cwd=cwd, env=environment, capture_output=True, text=True, **options)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stderr if code else done.stdout


IMPORTS = """
import fasttensor
import torch
import torch.nn as nn, torch.nn.functional as F
import torch.backends.cudnn as cudnn
from torch import Tensor, optim
from torch.autograd import Function, Variable
from torch.nn.modules.utils import _pair
from torch.nn.parameter import Parameter
from torch.optim.lr_scheduler import StepLR, _LRScheduler
from torch.utils.data import DataLoader
from torch.utils.data._utils.collate import default_collate
import importlib.util, pickle
assert torch is fasttensor and nn is fasttensor.nn and F is fasttensor.nn.functional
assert cudnn is torch.backends.cudnn and DataLoader is torch.utils.data.DataLoader
assert isinstance(torch.ones(2), Tensor) and issubclass(nn.Linear, torch.nn.Module)
assert type(pickle.loads(pickle.dumps(nn.Linear(2, 2)))) is nn.Linear
assert importlib.util.find_spec("torch") and importlib.util.find_spec("torch.nn") and not importlib.util.find_spec("torch.nothing")
print("fine")
"""


def test_names_are_the_same_objects(tmp_path):
    assert run("-m", "fasttensor", "-c", IMPORTS, cwd=tmp_path) == "fine\n"
    assert run("-c", "import fasttensor; assert fasttensor.as_torch() is fasttensor.as_torch()" + IMPORTS, cwd=tmp_path) == "fine\n"


@pytest.mark.parametrize("statement, kind, named", [
    ("import torch.nothing", "ModuleNotFoundError", "torch.nothing"),
    ("from torch import nothing", "ImportError", "torch.nothing"),
    ("from torch.nn import Nothing", "ImportError", "torch.nn.Nothing"),
    ("from torch.nn.functional import nothing", "ImportError", "torch.nn.functional.nothing"),
    ("import torch; torch.nothing", "AttributeError", "nothing"),
])
def test_what_is_missing_is_named(tmp_path, statement, kind, named):
    last = run("-m", "fasttensor", "-c", statement, cwd=tmp_path, code=1).strip().splitlines()[-1]
    assert last.startswith(kind + ":") and named in last and "docs/coverage.md" in last


SCRIPT = """
import os, sys, multiprocessing, subprocess

def child(queue, x):
    import torch
    queue.put((torch.__spec__.name, x.sum().item()))

if __name__ == "__main__":
    import torch
    print(sys.argv, __name__, __file__ == os.path.abspath(sys.argv[0]), sys.path[0] == os.path.dirname(__file__), __spec__)
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=child, args=(queue, torch.ones(3)))
        process.start()
        print(queue.get())
        process.join()
    print(subprocess.check_output([sys.executable, "-c", "import torch; from torch.nn import Linear; print(torch.__spec__.name)"], text=True).strip())
    sys.exit(7)
"""


def test_a_script_sees_what_python_shows_it(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "script.py").write_text(SCRIPT.replace("sys.exit(7)", ""))
    lines = run("-m", "fasttensor", "here/script.py", "--lr", "-m", "3", cwd=tmp_path).splitlines()
    assert lines == ["['here/script.py', '--lr', '-m', '3'] __main__ True True None", "('fasttensor', 3.0)", "('fasttensor', 3.0)", "fasttensor"]
    (tmp_path / "here" / "script.py").write_text("raise SystemExit(7)")
    run("-m", "fasttensor", "here/script.py", cwd=tmp_path, code=7)


def test_tracebacks_are_those_of_the_script(tmp_path):
    (tmp_path / "bad.py").write_text("def f():\n    1 / 0\nf()\n")
    assert run("-m", "fasttensor", "bad.py", cwd=tmp_path, code=1) == run("bad.py", cwd=tmp_path, code=1)
    (tmp_path / "worse.py").write_text("x = (\n")
    assert run("-m", "fasttensor", "worse.py", cwd=tmp_path, code=1) == run("worse.py", cwd=tmp_path, code=1)
    (tmp_path / "stop.py").write_text("raise KeyboardInterrupt\n")
    assert run("-m", "fasttensor", "stop.py", cwd=tmp_path, code=-2) == run("stop.py", cwd=tmp_path, code=-2)


def test_a_module(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "train.py").write_text(
        "import sys, torch\nfrom . import __name__ as p\nprint(sys.argv[1:], __name__, __spec__.name, p, torch.__name__, torch.__spec__.name)")
    assert run("-m", "fasttensor", "-m", "package.train", "-c", "x", cwd=tmp_path) == "['-c', 'x'] __main__ package.train package torch fasttensor\n"


def test_what_cannot_run(tmp_path):
    assert "usage" in run("-m", "fasttensor", cwd=tmp_path, code=2)
    assert "unknown option --epochs" in run("-m", "fasttensor", "--epochs", cwd=tmp_path, code=2)
    assert "can't open file" in run("-m", "fasttensor", "missing.py", cwd=tmp_path, code=2)


def test_pytorch_that_is_there_already_is_named(tmp_path):
    (tmp_path / "torch.py").write_text("__version__ = '2.9'")
    last = run("-c", "import torch, fasttensor; fasttensor.as_torch()", cwd=tmp_path, code=1).strip().splitlines()[-1]
    assert last.startswith("RuntimeError: as_torch: PyTorch 2.9 is already imported") and "python -m fasttensor" in last


def test_programs_from_standard_input(tmp_path):
    text = "import torch, sys\nprint(torch.ones(2).sum().item(), sys.argv, __name__, repr(sys.path[0]))\nraise SystemExit(3)\n"
    assert run("-m", "fasttensor", "-", "a", cwd=tmp_path, code=3, input=text) == ""
    assert run("-m", "fasttensor", "-", "a", cwd=tmp_path, input=text.replace("3", "0")) == "2.0 ['-', 'a'] __main__ ''\n"
