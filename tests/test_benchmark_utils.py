"""Timer, Measurement and Compare of utils.benchmark."""
import pickle

import pytest

import fasttensor as torch
from fasttensor.utils import benchmark
from fasttensor.utils.benchmark import Compare, Measurement, TaskSpec, Timer


def measured(times, number=1, **spec):
    return Measurement(number, list(times), TaskSpec("f(x)", "", **spec))


def test_timer_runs_the_snippet_with_its_threads():
    seen = []
    before = torch.get_num_threads()
    timer = Timer("note(torch.get_num_threads())", setup="""
        value = 3
    """, globals={"note": seen.append}, num_threads=1)
    result = timer.timeit(10)
    assert seen == [1] * 12 and result.number_per_run == 10 and torch.get_num_threads() == before
    heard = []
    assert len(timer.blocked_autorange(callback=lambda n, t: heard.append(n), min_run_time=0.002).times) == len(heard) > 0
    assert timer.adaptive_autorange(min_run_time=0.001, max_run_time=0.01).median > 0
    with pytest.raises(NotImplementedError, match="Python"):
        Timer("f();", language="c++")
    with pytest.raises(ValueError, match="str"):
        Timer(lambda: None)


def test_statistics():
    result = measured([2e-6, 4e-6, 4e-6, 4e-6, 6e-6], number=2, label="f", sub_label="small", num_threads=2)
    assert result.times[0] == 1e-6 and result.median == 2e-6 and result.mean == pytest.approx(2e-6) and result.iqr == 0
    assert result.title == "f: small" and result.as_row_name == "small" and result.meets_confidence() and not result.has_warnings
    text = repr(result)
    assert "Median: 2.00 us" in text and "5 measurements, 2 runs per measurement, 2 threads" in text
    wide = measured([1.0, 2.0, 3.0, 4.0])
    assert wide.has_warnings and "WARNING" in repr(wide) and wide.significant_figures == 1
    joined, = Measurement.merge([measured([1.0]), measured([4.0], number=2)])
    assert joined.raw_times == [1.0, 2.0]
    assert pickle.loads(pickle.dumps(result)).median == 2e-6
    assert benchmark.select_unit(3e-5)[0] == "us" and benchmark.trim_sigfig(0.01234, 2) == 0.012
    with pytest.raises(RuntimeError, match="no times"):
        measured([]).median


def test_tables():
    table = Compare([measured([2e-6], label="f", sub_label=size, description=name, num_threads=n)
                     for size in ("8", "64") for name in ("old", "new") for n in (1, 2)])
    lines = str(table).splitlines()
    assert lines[0].startswith("[-") and " f " in lines[0] and lines[1].split("|")[1:] == ["  old  ", "  new"]
    assert [line.split(":")[0] for line in lines if "threads" in line] == ["1 threads", "2 threads"]
    assert sum("2.0" in line for line in lines) == 4 and "microseconds (us)" in str(table)
    table.trim_significant_figures()
    table.colorize()
    assert "\033[92m" in str(table)
    with pytest.raises(ValueError, match="Measurement"):
        table.extend_results([3])
