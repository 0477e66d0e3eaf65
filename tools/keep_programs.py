"""Runs the programs of tests/programs under PyTorch and keeps what they print; --compare runs them under both libraries.

    python tools/keep_programs.py [--compare | --table] [NAME...]

--table also writes the compared lines into docs/programs.md, where the lines of other programs stay.
"""
import argparse
import os
import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "programs"))
import cases  # noqa: E402

PAGE = ROOT / "docs" / "programs.md"
HEAD = "| program | PyTorch's last loss | fasttensor's | PyTorch | fasttensor | printed |"
LOSS = re.compile(r"(?:loss|error)[^0-9\n-]{0,4}(-?\d+\.\d+)", re.IGNORECASE)


def timed(case, *python, environment):
    begin = time.perf_counter()
    printed = cases.run(case, *python, environment=environment)
    return printed, time.perf_counter() - begin


def last_loss(printed):
    """The last loss, as the program printed it; a dash where it prints none."""
    found = LOSS.findall(printed)
    return found[-1] if found else "-"


def compare(case, environment):
    """A line of the table."""
    theirs, seconds = timed(case, environment=environment)
    ours, our_seconds = timed(case, "-m", "fasttensor", environment={**environment, "PYTHONPATH": str(ROOT)})
    same = "same" if ours == theirs else "differs" if cases.differences(case, ours, theirs) else "same but for rounding"
    return f"| {case} | {last_loss(theirs)} | {last_loss(ours)} | {seconds:.1f} s | {our_seconds:.1f} s | {same} |"


def write(line):
    """Put a line into the table, in the order of the cases."""
    before, rest = PAGE.read_text().split(HEAD + "\n", 1)
    rule, *body = rest.split("\n\n", 1)[0].splitlines()
    lines = {row.split("|")[1].strip(): row for row in [*body, line]}
    table = "\n".join([HEAD, rule, *(lines[case] for case in cases.CASES if case in lines)])
    PAGE.write_text(before + table + "\n\n" + rest.split("\n\n", 1)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", action="store_true", help="lay fasttensor's output over PyTorch's instead of keeping it")
    parser.add_argument("--table", action="store_true", help="the same, and write the lines into docs/programs.md")
    parser.add_argument("names", nargs="*", default=list(cases.CASES))
    options = parser.parse_args()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for case in options.names:
        if options.compare or options.table:
            line = compare(case, environment)
            print(line, flush=True)
            if options.table:
                write(line)
            continue
        printed, seconds = timed(case, environment=environment)
        (cases.KEPT / f"{case}.txt").write_text(printed)
        print(f"{case:34} {seconds:5.1f} s")


if __name__ == "__main__":
    main()
