"""Tables that compare measurements."""

from enum import Enum

from .measurement import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]

BEST, GOOD, BAD, VERY_BAD, END = "\033[92m\033[1m", "\033[34m", "\033[33m", "\033[91m", "\033[0m"


class Colorize(Enum):
    """What the colours of a table compare."""
    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A table for each label: a row for each sub_label and number of threads, a column for each description.

    >>> from fasttensor.utils.benchmark import Measurement, TaskSpec
    >>> def took(name, size, time):
    ...     return Measurement(1, [time], TaskSpec("f(x)", "", label="f", sub_label=size, description=name))
    >>> print(str(Compare([took("old", "8", 2e-6), took("new", "8", 1e-6), took("old", "64", 4e-6), took("new", "64", 3e-6)])).rstrip())
    [---------- f ----------]
               |  old  |  new
    1 threads: --------------
          8    |  2.0  |  1.0
          64   |  4.0  |  3.0
    <BLANKLINE>
    Times are in microseconds (us).
    """

    def __init__(self, results):
        self._results, self._trim, self._colorize, self._warn = [], False, Colorize.NONE, False
        self.extend_results(results)

    def __str__(self):
        return "\n".join(self._tables())

    def extend_results(self, results):
        """Add measurements."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self):
        """Show only digits that the measurements support."""
        self._trim = True

    def colorize(self, rowwise=False):
        """Colour the best and the worst times, of columns or of rows."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self):
        """Mark times whose spread is large."""
        self._warn = True

    def print(self):
        """Print the tables."""
        print(str(self))

    def _tables(self):
        merged = Measurement.merge(self._results)
        for label in ordered_unique(m.label for m in merged):
            yield self._table(label, [m for m in merged if m.label == label])

    def _table(self, label, results):
        unit, scale = select_unit(min(m.median for m in results))
        rows = ordered_unique((m.num_threads, m.env if len({r.env for r in results}) > 1 else "", m.as_row_name) for m in results)
        rows.sort(key=lambda row: row[0])       # stable: else in the order of measuring
        columns = ordered_unique(m.description for m in results)
        cells = {}
        for m in results:
            row = (m.num_threads, m.env if len({r.env for r in results}) > 1 else "", m.as_row_name)
            cells[row, m.description] = m
        texts = {key: self._text(m, scale) for key, m in cells.items()}
        threads = ordered_unique(row[0] for row in rows)
        names = {row: "      " + (f"({row[1]}) " if row[1] else "") + row[2] for row in rows}
        first = max([len(name) for name in names.values()] + [len(f"{n} threads") for n in threads])
        widths = [max([len(column or "")] + [len(texts[row, column]) for row in rows if (row, column) in texts]) for column in columns]
        head = " " * first + "".join(f"  |  {(column or '').center(width)}" for column, width in zip(columns, widths))
        lines = ["[" + f" {label or ''} ".center(len(head) - 2, "-") + "]", head.rstrip()]
        for count in threads:
            title = f"{count} threads: "
            lines.append(title + "-" * max(len(head) - len(title), 0))
            for row in (row for row in rows if row[0] == count):
                line = names[row].ljust(first)
                for column, width in zip(columns, widths):
                    text = texts.get((row, column), "").rjust(width)
                    line += f"  |  {self._colored(text, row, column, cells)}"
                lines.append(line)
        lines += ["", f"Times are in {unit_to_english(unit)}s ({unit}).", ""]
        if self._warn and any(m.has_warnings for m in results):
            lines.append("(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n")
        return "\n".join(lines)

    def _text(self, m, scale):
        digits = m.significant_figures if self._trim else None
        value = m.median / scale
        text = f"{value:.1f}" if digits is None else f"{trim_sigfig(value, digits):.{max(0, min(digits, 4) - len(str(int(value))))}f}"
        return text + (f" (! {100 * m.iqr / m.median:.0f}%)" if self._warn and m.has_warnings else "")

    def _colored(self, text, row, column, cells):
        m = cells.get((row, column))
        if m is None or self._colorize is Colorize.NONE:
            return text
        same = [o.median for (r, c), o in cells.items() if (r == row if self._colorize is Colorize.ROWWISE else c == column)]
        ratio = m.median / min(same)
        color = BEST if ratio <= 1.02 else GOOD if ratio <= 1.25 else VERY_BAD if ratio >= 10 else BAD if ratio >= 2 else ""
        return f"{color}{text}{END}" if color else text
