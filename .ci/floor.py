#!/usr/bin/env python3
"""Compare conformance results with the floor, which only rises.

    python .ci/floor.py operators.json modules.json            # exit 1 if a count fell
    python .ci/floor.py --raise operators.json modules.json    # write the higher counts

The floor, tests/conformance_floor.json, holds the number of operators that pass every check, of
checks by kind, and of modules, optimizers and schedulers.
"""
import collections
import json
import sys
from pathlib import Path

FLOOR = Path(__file__).resolve().parents[1] / "tests" / "conformance_floor.json"


def counts_of(paths):
    """Passing counts, and all counts, by what is counted."""
    passed, total = collections.Counter(), collections.Counter()
    operators = collections.defaultdict(list)
    for path in paths:
        for row in json.loads(Path(path).read_text()):
            if "op" in row:
                operators[row["op"]].append(row["status"] == "pass")
                key, ok = "check " + row["check"], row["status"] == "pass"
            else:
                key, ok = row["kind"] + "s", row["ok"]
            passed[key] += ok
            total[key] += 1
    if operators:
        passed["operators"] = sum(map(all, operators.values()))
        total["operators"] = len(operators)
    return passed, total


def main():
    arguments = sys.argv[1:]
    raising = "--raise" in arguments
    passed, total = counts_of([a for a in arguments if a != "--raise"])
    floor = json.loads(FLOOR.read_text()) if FLOOR.exists() else {}
    fell = False
    for key in sorted(total):
        least = floor.get(key, 0)
        note = ""
        if passed[key] < least:
            fell, note = True, "  BELOW THE FLOOR"
        elif passed[key] > least:
            note = "  above the floor: run .ci/floor.py --raise"
        print(f"{key:16} {passed[key]:5} of {total[key]:5} pass, floor {least:5}{note}")
    if raising:
        raised = {key: max(floor.get(key, 0), passed[key]) for key in sorted({*floor, *total})}
        FLOOR.write_text(json.dumps(raised, indent=1) + "\n")
        print(f"wrote {FLOOR}")
    elif fell:
        sys.exit(1)


if __name__ == "__main__":
    main()
