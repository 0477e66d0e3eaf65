"""Every operation has a benchmark case, and every case runs."""
import importlib.util
import sys
from pathlib import Path

import pytest

import fasttensor
import fasttensor.nn.functional

FOLDER = Path(__file__).resolve().parents[1] / "benches"


def load(name):
    spec = importlib.util.spec_from_file_location("benches_" + name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


table = load("table")
steps = load("steps")
report = load("report")


def test_every_row_has_a_case():
    names = set(table.case_names())
    missing = [op.name for op in table.load_rows() if "op/" + op.name not in names]
    assert not missing
    for op in table.load_rows():
        table.function_of(op, fasttensor)       # raises LookupError, which says what to add


@pytest.mark.parametrize("name", table.case_names())
def test_table_case_runs(name):
    table.build(name, fasttensor, size=9)()


@pytest.mark.parametrize("name", list(steps.STEPS))
def test_step_runs(name):
    steps.build(name, fasttensor)()


def test_ratios_and_their_mean():
    ours, theirs = {"a": 1.0, "b": 2.0, "c": "error"}, {"a": 4.0, "b": 2.0, "c": 1.0}
    assert report.ratios(ours, theirs) == {"a": 4.0, "b": 1.0}
    assert report.geomean([4.0, 1.0]) == pytest.approx(2.0)
    assert report.best([{"a": 2.0, "b": "x"}, {"a": 1.0, "b": 3.0}]) == {"a": 1.0, "b": 3.0}
