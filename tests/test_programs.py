"""Ordinary PyTorch programs, run by `python -m fasttensor`, print what they print under PyTorch.

`tools/keep_programs.py` writes what PyTorch prints, and compares the two libraries' times.
"""
import importlib.util
import os
from pathlib import Path

import pytest

import fasttensor

# by its place: benches has a folder of the same name, which another test imports
SPEC = importlib.util.spec_from_file_location("program_cases", Path(__file__).parent / "programs" / "cases.py")
cases = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(cases)


@pytest.mark.parametrize("case", cases.CASES)
def test_program(case):
    root = str(Path(fasttensor.__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1"}
    printed = cases.run(case, "-m", "fasttensor", environment=environment)
    found = cases.differences(case, printed, (cases.KEPT / f"{case}.txt").read_text())
    assert not found, "\n".join(found)


def test_the_table_has_every_program():
    page = (Path(__file__).resolve().parents[1] / "docs" / "programs.md").read_text()
    assert [case for case in cases.CASES if f"\n| {case} | " not in page] == []
