"""docs/coverage.md is what the script writes, every missing name has a reason, and what it lists as here exists."""
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import fasttensor

ROOT = Path(__file__).resolve().parents[1]


def listed():
    """{module of PyTorch: names} of the page's second part."""
    text = (ROOT / "docs" / "coverage.md").read_text().split("\n## Here\n")[1]
    return {space.removeprefix("torch").removeprefix("."): names.split()
            for space, names in re.findall(r"### `([\w.]+)`\n\n```\n(.*?)\n```", text, re.S)}


def test_differences_name_tests_that_exist():
    rows = [row for row in (ROOT / "docs" / "differences.md").read_text().split("\n") if row.startswith("|")][2:]
    wrong, file = [], ""
    for row in rows:
        held = row.rstrip("| ").rsplit("|", 1)[1]
        named = re.findall(r"`(test_\w+\.py)?(?:::(\w+))?[^`]*`", held)
        for name, test in named:
            file = name or file
            path = ROOT / "tests" / file
            if not path.is_file() or (test and f"def {test}(" not in path.read_text()):
                wrong.append(held)
        if not named and held.strip() != "the same":
            wrong.append(held)
    assert not wrong and len(rows) > 90


def test_names_that_are_listed_exist():
    missing = []
    for space, names in listed().items():
        module = fasttensor.Tensor if space == "Tensor" else import_module(".".join(filter(None, ("fasttensor", space))))
        missing += [f"{space}.{name}" for name in names if not hasattr(module, name)]
    assert not missing and len(listed()) > 50


def test_page_is_what_the_script_writes():
    torch = pytest.importorskip("torch", reason="needs PyTorch to compare with")
    if not torch.__version__.startswith("2.13."):
        pytest.skip("the page is about PyTorch 2.13")
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "coverage.py"), "--check"], capture_output=True, text=True,
                          cwd=Path(fasttensor.__file__).parents[1], env={**os.environ, "PYTHONPATH": str(Path(fasttensor.__file__).parents[1])})
    assert done.returncode == 0, done.stdout + done.stderr
