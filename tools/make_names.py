#!/usr/bin/env python3
"""Writes fasttensor/_names.py: which module provides which public name, method of Tensor and hook.

    python tools/make_names.py            # writes the file
    python tools/make_names.py --check    # exit status 1 where it is out of date

The index is read off the built package: every family is imported, in the order of
`fasttensor.functional.FAMILIES`, and where two list the same name the later one has it.
"""

import argparse
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "fasttensor" / "_names.py"
WIDTH = 150

HEAD = '''"""Which module below fasttensor provides which name. Written by tools/make_names.py: change that, not this file."""
'''


def by_module(owner):
    """{module: names} of {name: module}."""
    found = {}
    for name, module in owner.items():
        found.setdefault(module, []).append(name)
    return found


def index():
    """{"NAMES": {kind: {module: names}}, "METHODS": {module: names}, "PROPERTIES": ..., "HOOKS": ...}."""
    from fasttensor._assemble import KINDS, TABLE, listed
    from fasttensor.functional import FAMILIES

    modules = [TABLE, *("functional." + name for name in FAMILIES)]
    names = {kind: by_module({n: m for m in modules for n in listed(m, kind)}) for kind in KINDS}
    methods = {n: (m, hasattr(type(value), "__set__")) for m in modules for n, value in listed(m, "METHODS").items()}
    return {
        "NAMES": names,
        "METHODS": by_module({n: m for n, (m, assigned) in methods.items() if not assigned}),
        "PROPERTIES": by_module({n: m for n, (m, assigned) in methods.items() if assigned}),
        "HOOKS": by_module({n: m for m in modules for n in listed(m, "HOOKS")}),
    }


def lines_of(modules, indent):
    """The lines of a dict {module: "names"}."""
    lines = []
    for module in sorted(modules):
        rows = textwrap.wrap(" ".join(sorted(modules[module])), WIDTH - indent - len(module) - 8, break_long_words=False, break_on_hyphens=False)
        if len(rows) == 1:
            lines.append(f'{" " * indent}"{module}": "{rows[0]}",')
            continue
        lines.append(f'{" " * indent}"{module}":')
        lines += [f'{" " * (indent + 4)}"{row} "' for row in rows[:-1]] + [f'{" " * (indent + 4)}"{rows[-1]}",']
    return lines


def text():
    """The whole file."""
    made = index()
    lines = [HEAD, "NAMES = {"]
    for kind, modules in made.pop("NAMES").items():
        lines += [f'    "{kind}": {{', *lines_of(modules, 8), "    },"]
    lines.append("}")
    for title, modules in made.items():
        lines += [f"{title} = {{", *lines_of(modules, 4), "}"]
    return "\n".join(lines) + "\n"


def mend():
    """Where the file is missing or cannot be read (a merge's marks), put an empty one, with which the package can be imported."""
    try:
        compile(TARGET.read_text(), str(TARGET), "exec")
    except (OSError, SyntaxError):
        TARGET.write_text("from collections import defaultdict\nNAMES = defaultdict(dict)\nMETHODS = PROPERTIES = HOOKS = {}\n")


def main():
    parser = argparse.ArgumentParser(description="Write the index of names.")
    parser.add_argument("--check", action="store_true", help="only say whether the file is up to date")
    options = parser.parse_args()
    if not options.check:
        mend()
    made = text()
    if options.check:
        sys.exit(
            0 if TARGET.exists() and TARGET.read_text() == made else f"{TARGET} is out of date: run tools/make_names.py"
        )
    if TARGET.read_text() != made:
        TARGET.write_text(made)


if __name__ == "__main__":
    main()
