"""Measuring the time of a snippet of Python."""

import timeit
from enum import Enum
from time import perf_counter as timer

from .measurement import Measurement, TaskSpec, set_torch_threads

__all__ = ["Language", "Timer", "timer"]


class Language(Enum):
    """What a snippet is written in."""
    PYTHON = 0
    CPP = 1


class Timer:
    """Times `stmt`, as the standard library's timeit does, with one thread unless num_threads says otherwise.

    setup runs once before, `globals` holds the names. label, sub_label, description and env say how `Compare` shows the result.
    C++ snippets are not supported: NotImplementedError.

    >>> import fasttensor
    >>> x = fasttensor.ones(8)
    >>> m = Timer("x + x", globals={"x": x}).timeit(100)
    >>> m.number_per_run, len(m.times)
    (100, 1)
    """

    def __init__(self, stmt="pass", setup="pass", global_setup="", timer=timer, globals=None, label=None, sub_label=None, description=None,
                 env=None, num_threads=1, language=Language.PYTHON):
        if not isinstance(stmt, str):
            raise ValueError(f"Only a `str` stmt is supported, got {type(stmt).__name__}")
        if language not in (Language.PYTHON, "py", "python") or global_setup:
            raise NotImplementedError("Timer: only Python snippets can be timed; C++ snippets and their global_setup cannot")
        self._globals = dict(globals or {})
        if "torch" not in self._globals:
            import fasttensor
            self._globals["torch"] = fasttensor
        stmt, setup = _dedent(stmt), _dedent(setup)
        self._timer = timeit.Timer(stmt=stmt, setup=setup, timer=timer, globals=self._globals)
        self._task_spec = TaskSpec(stmt=stmt, setup=setup, label=label, sub_label=sub_label, description=description, env=env,
                                   num_threads=num_threads)

    def _time(self, number):
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number=1000000):
        """One measurement of `number` runs, after a hundredth as many to warm up."""
        with set_torch_threads(self._task_spec.num_threads):
            self._time(max(number // 100, 2))
            return Measurement(number, [self._time(number)], self._task_spec)

    def _block(self, min_run_time):
        """How many runs make a block whose time the clock's own does not disturb."""
        self._time(2)
        overhead = min(timeit.Timer("pass", timer=self._timer.timer).timeit(0) for _ in range(5))
        number = 1
        while True:
            taken = self._time(number)
            if (taken > 1e-4 and overhead / taken <= 1e-4 and taken >= min_run_time / 1000) or taken >= min_run_time / 10:
                return number
            number *= 10

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Measurements of blocks of runs for at least min_run_time seconds; callback(number, time) hears of each."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block(min_run_time)
            times, total = [], 0.0
            while total < min_run_time or not times:
                taken = self._time(number)
                total += taken
                times.append(taken)
                if callback is not None:
                    callback(number, taken)
            return Measurement(number, times, self._task_spec)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """Measurements until their interquartile range is below `threshold` of the median, or max_run_time seconds passed."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block(0.05)
            times, total, rounds = [], 0.0, 0
            while total < max_run_time:
                taken = self._time(number)
                total += taken
                times.append(taken)
                if callback is not None:
                    callback(number, taken)
                rounds += 1
                made = Measurement(number, times, self._task_spec)
                if total >= min_run_time and made.meets_confidence(threshold):
                    break
            return Measurement(number, times, self._task_spec)

    def collect_callgrind(self, *args, **kwargs):
        """Not offered: it counts the instructions of PyTorch's own binaries."""
        raise NotImplementedError("collect_callgrind: instruction counts are not offered; run valgrind --tool=callgrind on the program itself")


def _dedent(text):
    """Snippets may be indented as a whole."""
    import textwrap
    return textwrap.dedent(text).strip("\n") or "pass"
