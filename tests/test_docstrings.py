"""The examples in docstrings print what they say, and every public function has one."""
import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import fasttensor
import fasttensor.nn.functional

MAY_KEEP = 64       # examples make generators and modules that caches hold


def modules():
    found = []
    for info in pkgutil.walk_packages(fasttensor.__path__, "fasttensor."):
        parts = info.name.split(".")
        if "cuda" not in parts and "_optable" not in parts:
            found.append(info.name)
    return found


def examples_of(module):
    finder = doctest.DocTestFinder(exclude_empty=True, recurse=True)
    scope = {"fasttensor": fasttensor, "torch": fasttensor, "ft": fasttensor, "nn": fasttensor.nn,
             "F": fasttensor.nn.functional, **vars(module)}
    tests = [t for t in finder.find(module, module.__name__, module=False, globs=scope) if t.examples]
    own = []
    for test in tests:
        name = test.name.removeprefix(module.__name__ + ".").split(".")[0]
        owner = getattr(module, name, None)
        # A class or function that the module only imports is tested where it is defined.
        if name == module.__name__ or getattr(owner, "__module__", module.__name__) == module.__name__:
            own.append(test)
    return own


@pytest.mark.parametrize("name", modules())
def test_examples(name):
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS, verbose=False)
    report = []
    for test in examples_of(module):
        fasttensor.manual_seed(0)
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_table_examples():
    from fasttensor.autograd.generated_functions import FUNCTIONS, INPLACE
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
    parser, report = doctest.DocTestParser(), []
    for name, function in [*FUNCTIONS.items(), *INPLACE.items()]:
        scope = {"fasttensor": fasttensor, "torch": fasttensor}
        runner.run(parser.get_doctest(inspect.getdoc(function) or "", scope, name, name, 0), out=report.append)
    assert runner.failures == 0, "".join(report[:40])


# The namespaces that programs use; in each, what __all__ lists, or every name without an underscore.
SPACES = ("", ".nn.functional", ".linalg", ".special", ".fft", ".optim", ".optim.lr_scheduler", ".optim.swa_utils", ".distributions", ".utils.data",
          ".autograd", ".autograd.functional", ".autograd.graph", ".autograd.forward_ad", ".func", ".amp", ".masked", ".nn", ".nn.init", ".nn.utils")
# Names that need no example, with the reason.
WITHOUT_EXAMPLE = {}


def public_names():
    """(name, object) of every public callable, and of every attribute of Tensor."""
    found = []
    for space in SPACES:
        module = importlib.import_module("fasttensor" + space)
        for name in getattr(module, "__all__", None) or dir(module):
            value = getattr(module, name)
            if name[0] != "_" and callable(value) and not inspect.ismodule(value):
                found.append((f"{module.__name__}.{name}", value))
    return found + [(f"Tensor.{name}", getattr(fasttensor.Tensor, name)) for name in dir(fasttensor.Tensor) if name[0] != "_"]


def test_every_public_name_has_an_example():
    missing = [name for name, value in public_names() if ">>>" not in (inspect.getdoc(value) or "") and name not in WITHOUT_EXAMPLE]
    assert not missing, f"without an example in the docstring: {missing}"


def test_public_examples():
    """What the finder above cannot see: compiled functions, methods, functions made by functions."""
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS, verbose=False)
    parser, report, seen = doctest.DocTestParser(), [], set()
    for name, value in public_names():
        text = inspect.getdoc(value) or ""
        if text in seen or inspect.isclass(value) and value.__module__.startswith("fasttensor."):
            continue        # classes are run with their modules
        seen.add(text)
        scope = {**vars(sys.modules.get(getattr(value, "__module__", None) or "", fasttensor)), "fasttensor": fasttensor, "torch": fasttensor,
                 "ft": fasttensor, "nn": fasttensor.nn, "F": fasttensor.nn.functional}
        fasttensor.manual_seed(0)
        runner.run(parser.get_doctest(text, scope, name, name, 0), out=report.append)
    assert runner.failures == 0, "".join(report[:40])


def test_results_of_table_examples_are_kept():
    tool = Path(__file__).parents[1] / "tools" / "make_examples.py"
    if not tool.exists():
        pytest.skip("installed without its tools")
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, cwd=Path(fasttensor.__file__).parents[1])
    assert done.returncode == 0, "run tools/make_examples.py " + done.stderr
