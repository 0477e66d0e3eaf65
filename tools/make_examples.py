#!/usr/bin/env python3
"""Writes fasttensor/_optable/example_results.py: what the examples of the operation table's rows print.

    python tools/make_examples.py            # writes the file
    python tools/make_examples.py --check    # exit status 1 where it is out of date

The build puts the results into the rows' docstrings (`_optable/examples.py`).
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "fasttensor" / "_optable" / "example_results.py"
HEAD = '"""What the examples of the rows print. Written by tools/make_examples.py: change that, not this file."""\n\nRESULTS = {\n'


def text():
    """The whole file."""
    import fasttensor
    from fasttensor._optable import examples
    from fasttensor._optable.table import OPS

    kept = []
    for op in OPS:
        if op.private:
            continue
        for inplace in (False, True):
            if inplace and not op.inplace:
                continue
            for lines in examples.calls(op, inplace):
                scope = {"torch": fasttensor}
                try:
                    for line in lines[:-1]:
                        exec(line, scope)
                    result = eval(lines[-1], scope)
                except AttributeError:
                    continue        # no such form
                kept.append(f"    {'; '.join(lines)!r}: {str(result)!r},\n")
                break
    return HEAD + "".join(kept) + "}\n"


def main():
    parser = argparse.ArgumentParser(description="Write fasttensor/_optable/example_results.py.")
    parser.add_argument("--check", action="store_true", help="do not write; exit with 1 where the file differs")
    made = text()
    if parser.parse_args().check:
        return int(TARGET.read_text(encoding="utf-8") != made)
    TARGET.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
