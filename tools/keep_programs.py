"""Runs the programs of tests/programs under PyTorch and keeps what they print; --compare runs them under both libraries.

    python tools/keep_programs.py [--compare] [NAME...]
"""
import argparse
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "programs"))
import cases  # noqa: E402


def timed(case, *python, environment):
    begin = time.perf_counter()
    printed = cases.run(case, *python, environment=environment)
    return printed, time.perf_counter() - begin


def last_loss(printed):
    """The last line's figures."""
    return printed.strip().splitlines()[-1][:60]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", action="store_true", help="lay fasttensor's output over PyTorch's instead of keeping it")
    parser.add_argument("names", nargs="*", default=list(cases.CASES))
    options = parser.parse_args()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for case in options.names:
        theirs, seconds = timed(case, environment=environment)
        if not options.compare:
            (cases.KEPT / f"{case}.txt").write_text(theirs)
            print(f"{case:34} {seconds:5.1f} s")
            continue
        ours, our_seconds = timed(case, "-m", "fasttensor", environment={**environment, "PYTHONPATH": str(ROOT)})
        found = cases.differences(case, ours, theirs)
        print(f"| {case} | {seconds:.1f} s | {our_seconds:.1f} s | {'same' if ours == theirs else 'differs' if found else 'same but for rounding'} |"
              f" {last_loss(theirs)} | {last_loss(ours)} |", flush=True)


if __name__ == "__main__":
    main()
