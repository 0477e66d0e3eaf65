"""Every operation has a benchmark case, and every case runs."""
import importlib.util
import os
import re
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


sys.path.insert(0, str(FOLDER))        # the workers import their siblings by name
table = load("table")
steps = load("steps")
report = load("report")
memory = load("memory")
scaling = load("scaling")
accuracy = load("accuracy")
families = load("families")
# Modules whose functions compute nothing with elements, and names without arithmetic elsewhere.
NO_ARITHMETIC = {f"functional.{name}" for name in """checks control memory numeric_info printing random removed streams switches convert view_copies
                 complex_parts basics kinds symbolic_numbers""".split()}
NO_CASE = {"LinAlgError", "LinearCrossEntropyOptions", "_canonical_mask", "_none_or_dtype", "broadcast_shapes"}


def timed_names():
    """Every name in the sources of the cases, and the names of the cases."""
    sources = [case for group in families.cases.CASES.values() for case in group.items()]
    return {word for name, source in sources for word in (name.split(".")[0], *re.findall(r"\w+", source))}


def test_every_public_function_has_a_case():
    from fasttensor import _names
    timed = timed_names() | {op.name for op in table.load_rows()}
    missing = []
    places = {"__all__": fasttensor, "NN_FUNCTIONAL": fasttensor.nn.functional, "SPECIAL": fasttensor.special, "LINALG": fasttensor.linalg,
              "FFT": fasttensor.fft}
    called = {id(getattr(place, name, None)) for name in timed for place in places.values()}      # other names of the same function
    for kind, modules in _names.NAMES.items():
        for module, names in modules.items():
            for name in names.split() if module not in NO_ARITHMETIC else ():
                # the in-place form, the copying form and the form with indices run the kernel of the plain one
                stem = re.sub("(_|_copy|_with_indices)$", "", name)
                known = [n in timed or n in NO_CASE or id(getattr(places[kind], n, missing)) in called for n in (name, stem)]
                if not any(known):
                    missing.append(f"{module}.{name}")
    assert not missing, "add a case to benches/cases"


def test_every_case_of_a_family_runs():
    """All of them in one test: each takes less than a millisecond on the small operands."""
    failed = {}
    for name in families.case_names():
        if not name.endswith(".large"):
            try:
                families.build(name, fasttensor)()
            except Exception as error:
                failed[name] = f"{type(error).__name__}: {error}"
    assert not failed


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


def test_compare_names_what_became_slower_at_each_thread_count(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(report, "BASELINE", tmp_path / "baseline.json")
    report.save_baseline({1: ({"a": 1.0, "b": 1.0}, {"a": 2.0, "b": 2.0}), 2: ({"a": 1.0}, {"a": 4.0})})
    found = {1: ({"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 2.0}), 2: ({"a": 2.0}, {"a": 4.0}), 3: ({"a": 1.0}, {"a": 1.0})}
    assert report.compare(found) == 2
    printed = capsys.readouterr().out
    assert "slower: b, 1 thread(s): ratio 1.00, stored 2.00" in printed
    assert "slower: a, 2 thread(s): ratio 2.00, stored 4.00" in printed
    assert "nothing is stored for 3 thread(s)" in printed


def test_memory_of_a_step_is_measured_and_compared():
    names = memory.training(list(steps.STEPS), "")
    assert "step/resnet18_cifar_sgd" in names and "step/adam_2M" not in names
    path = os.pathsep.join([str(Path(fasttensor.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    found = memory.measure(sys.executable, "fasttensor", "step/mlp_64x784_adam", 1, dict(os.environ, PYTHONPATH=path), 2)
    # 203,530 parameters of 4 bytes, each with a gradient and two averages
    assert 0.8e6 < found["built"] and 3.2e6 < found["peak"] < 30e6
    twice = {"built": 2 * found["built"], "peak": 2 * found["peak"]}
    assert memory.ratio(found, twice) == pytest.approx({"peak": 0.5, "steps": 0.5})


def test_scaling_covers_every_operation_and_thread_count(tmp_path):
    threads = fasttensor.get_num_threads()
    try:
        found = scaling.run(fasttensor, 1, 0.0, [1000, 2000], scale=8)
    finally:
        fasttensor.set_num_threads(threads)
    assert set(found["element"]) == {"add", "exp", "sum", "softmax"} and set(found["call"]) == set(scaling.BOUND)
    assert all(cost > 0 for costs in found["element"].values() for cost in costs.values())
    twice = {"call": {name: value / 2 for name, value in found["call"].items()}}
    assert scaling.speedups(found, twice) == pytest.approx(dict.fromkeys(scaling.BOUND, 2.0))
    pytest.importorskip("matplotlib")
    scaling.draw({"fasttensor": {"1": found}}, tmp_path / "scaling.png")
    assert (tmp_path / "scaling.png").stat().st_size > 1000


@pytest.mark.parametrize("name", list(accuracy.FUNCTIONS))
def test_errors_of_vector_functions_are_bounded(name):
    assert 0 < accuracy.error(fasttensor, name, 5001) <= 4.1


def test_table_of_families_counts_what_is_below_one():
    lines = load("family_table").table({"1": {"a/x": 4.0, "a/y": 0.25, "b/z": 2.0}, "2": {"a/x": 0.5}})
    assert lines[2] == "| a | 1.00 | 1 of 2 | 0.25 `y` | 0.50 | 1 of 1 | 0.50 `x` |"
    assert lines[3] == "| b | 2.00 | 0 of 1 | 2.00 `z` | - | - | - |"
