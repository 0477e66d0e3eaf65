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


def test_results_of_table_examples_are_kept():
    tool = Path(__file__).parents[1] / "tools" / "make_examples.py"
    if not tool.exists():
        pytest.skip("installed without its tools")
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, "run tools/make_examples.py " + done.stderr
