"""The stored ratios by family, and the cases far below 1, as the Markdown of docs/families.md.

    python benches/family_table.py
"""
import json
import math
from pathlib import Path

BASELINE = Path(__file__).with_name("baseline.json")


def by_family(ratios):
    """{family: {case: ratio}} of {"family/case": ratio}."""
    found = {}
    for name, ratio in ratios.items():
        family, case = name.split("/", 1)
        found.setdefault(family, {})[case] = ratio
    return found


def cells(cases):
    """Geometric mean, how many of the cases lie below 1, and the least with its name."""
    if not cases:
        return "-", "-", "-"
    least = min(cases, key=cases.get)
    mean = math.exp(sum(map(math.log, cases.values())) / len(cases))
    return f"{mean:.2f}", f"{sum(r < 1 for r in cases.values())} of {len(cases)}", f"{cases[least]:.2f} `{least}`"


def table(stored):
    """The lines of the table for {threads: {case: ratio}}."""
    one, two = (by_family(stored.get(threads, {})) for threads in ("1", "2"))
    lines = ["| family | 1 thread | below 1 | least | 2 threads | below 1 | least |", "|---|---|---|---|---|---|---|"]
    for family in sorted(one | two):
        lines.append("| " + " | ".join([family, *cells(one.get(family, {})), *cells(two.get(family, {}))]) + " |")
    return lines


def slowest(stored, limit=0.5):
    """The lines of the list of cases below a ratio at one thread."""
    found = sorted((ratio, name) for name, ratio in stored.get("1", {}).items() if ratio < limit)
    return [f"- `{name}` {ratio:.2f}" for ratio, name in found]


if __name__ == "__main__":
    ratios = json.loads(BASELINE.read_text())
    print("\n".join([*table(ratios), "", *slowest(ratios)]))
