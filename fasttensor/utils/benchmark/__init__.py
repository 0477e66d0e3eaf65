"""Timing of snippets: `Timer` measures, `Measurement` holds the times, `Compare` prints a table of several."""

from .compare import Colorize, Compare
from .measurement import Measurement, TaskSpec, ordered_unique, select_unit, set_torch_threads, trim_sigfig, unit_to_english
from .timer import Language, Timer, timer

__all__ = ["Colorize", "Compare", "Language", "Measurement", "TaskSpec", "Timer", "ordered_unique", "select_unit", "set_torch_threads", "timer",
           "trim_sigfig", "unit_to_english"]
