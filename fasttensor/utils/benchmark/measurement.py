"""The times of a snippet, with their statistics."""

import collections
import contextlib
import dataclasses
import math
import statistics
import textwrap

import fasttensor as ft

__all__ = ["Measurement", "TaskSpec", "ordered_unique", "select_unit", "set_torch_threads", "trim_sigfig", "unit_to_english"]

WARN_SPREAD, BAD_SPREAD, FEW = 0.1, 0.25, 4      # interquartile range over median, from which on times are doubtful
UNITS = {"ns": (1e-9, "nanosecond"), "us": (1e-6, "microsecond"), "ms": (1e-3, "millisecond"), "s": (1.0, "second")}


def select_unit(seconds):
    """The unit that suits a time, and its length in seconds.

    >>> select_unit(0.002)
    ('ms', 0.001)
    """
    unit = next((name for name in ("s", "ms", "us") if seconds >= UNITS[name][0]), "ns")
    return unit, UNITS[unit][0]


def unit_to_english(unit):
    """A unit's name in full."""
    return UNITS[unit][1]


def trim_sigfig(value, digits):
    """A number rounded to so many significant digits.

    >>> trim_sigfig(1234.5, 2)
    1200.0
    """
    if digits < 1:
        raise ValueError(f"trim_sigfig: digits must be at least 1, got {digits}")
    if value == 0 or not math.isfinite(value):
        return float(value)
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return float(round(value, places))


def ordered_unique(values):
    """The different values, in the order in which they come first."""
    return list(dict.fromkeys(values))


@contextlib.contextmanager
def set_torch_threads(count):
    """Context: so many threads inside."""
    before = ft.get_num_threads()
    ft.set_num_threads(count)
    try:
        yield
    finally:
        ft.set_num_threads(before)


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What was measured, and under which labels."""
    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self):
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self):
        if not self.setup or self.setup == "pass":
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self):
        parts = [self.title, self.description or "", self.setup_str(), f"global setup: {self.global_setup}" if self.global_setup else ""]
        return "\n".join(part for part in parts if part)


@dataclasses.dataclass(repr=False)
class Measurement:
    """Times of a snippet: `raw_times` of blocks of `number_per_run` runs, in seconds; `times` are those of one run."""
    number_per_run: int
    raw_times: list
    task_spec: TaskSpec
    metadata: dict | None = None

    def __getattr__(self, name):
        if name.startswith("__") or name == "task_spec":
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    def _ordered(self):
        if not self.raw_times:
            raise RuntimeError("Measurement has no times")
        return sorted(self.times)

    @property
    def times(self):
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self):
        return statistics.median(self._ordered())

    @property
    def mean(self):
        return statistics.fmean(self._ordered())

    def _quartile(self, part):
        times = self._ordered()
        place = part * (len(times) - 1)
        low = math.floor(place)
        high = min(low + 1, len(times) - 1)
        return times[low] + (times[high] - times[low]) * (place - low)

    @property
    def iqr(self):
        """The distance between the quartiles."""
        return self._quartile(0.75) - self._quartile(0.25)

    @property
    def significant_figures(self):
        """How many digits of the median the spread lets stand.

        The interquartile range of n normally distributed times gives the standard error of the median.
        """
        if len(self.raw_times) < 2:
            return 5 if self.raw_times else 1
        spread = self.iqr / 1.349 * 1.253 / math.sqrt(len(self.raw_times))
        relative = max(2 * spread / self.median, 1e-5) if self.median else 1.0
        return max(min(-math.floor(math.log10(relative)), 5), 1)

    @property
    def has_warnings(self):
        return not self.meets_confidence(WARN_SPREAD) if len(self.raw_times) > 1 else False

    def meets_confidence(self, threshold=WARN_SPREAD):
        """Whether there are enough times, close enough to each other."""
        return len(self.raw_times) >= FEW and self.iqr <= threshold * self.median

    @property
    def title(self):
        return self.task_spec.title

    @property
    def env(self):
        return self.task_spec.env or "Unspecified env"

    @property
    def as_row_name(self):
        return self.sub_label or self.stmt or "[Unknown]"

    @staticmethod
    def merge(measurements):
        """Measurements of one task joined into one each."""
        groups = collections.defaultdict(list)
        for measured in measurements:
            groups[measured.task_spec].append(measured)
        made = []
        for spec, group in groups.items():
            number = group[0].number_per_run
            times = [time if m.number_per_run == number else time * number / m.number_per_run for m in group for time in m.raw_times]
            made.append(Measurement(number, times, spec))
        return made

    def __repr__(self):
        lines = [f"<{type(self).__module__}.Measurement object at {id(self):#x}>", self.task_spec.summarize()]
        unit, scale = select_unit(self.median)
        if len(self.raw_times) == 1:
            lines.append(f"  {self.median / scale:.2f} {unit}")
        else:
            lines.append(f"  {'Median' if len(self.raw_times) > 2 else 'Mean'}: {self.median / scale:.2f} {unit}")
            if len(self.raw_times) >= FEW:
                lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({self._quartile(0.25) / scale:.2f} to {self._quartile(0.75) / scale:.2f})")
        many = "s" if len(self.raw_times) > 1 else ""
        threads = f"{self.task_spec.num_threads} thread{'s' if self.task_spec.num_threads > 1 else ''}"
        lines.append(f"  {len(self.raw_times)} measurement{many}, {self.number_per_run} runs {'per measurement' if many else ''}, {threads}")
        if len(self.raw_times) > 1 and self.iqr > WARN_SPREAD * self.median:
            kind = "could" if self.iqr <= BAD_SPREAD * self.median else "suggests"
            lines.append(f"  WARNING: Interquartile range is {100 * self.iqr / self.median:.1f}% of the median measurement.\n"
                         f"           This {'could indicate' if kind == 'could' else 'suggests significant'} system fluctuation.")
        return "\n".join(lines)
