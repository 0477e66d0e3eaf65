"""What the examples share: options and their checks, text that Python ships, a progress bar."""
import argparse
import inspect
import math
import os
import pkgutil
import re
import sys
from pathlib import Path

import fasttensor as torch

EXTRAS = "install the examples' extras: pip install '.[examples]'"


def stop(message):
    """Ends the program with one line."""
    print(f"{Path(sys.argv[0]).stem}: {message}", file=sys.stderr)
    sys.exit(2)


class Parser(argparse.ArgumentParser):
    """Says what is wrong with an option in one line."""

    def __init__(self, text):
        super().__init__(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message):
        stop(f"{message} (--help lists the options)")


def count(least=1, most=2 ** 63 - 1):
    """The type of an option that is a whole number from `least` to `most`."""
    def read(text):
        try:
            value = int(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number " + (f"of at least {least}" if most > 2 ** 62 else f"from {least} to {most}"))
        return value
    return read


def rate(text):
    """The type of a learning rate."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def folder(path):
    """Makes the folder of the results."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        stop(f"--out {path}: {error.strerror or error}")
    if not os.access(path, os.W_OK | os.X_OK):
        stop(f"--out {path}: nothing can be written there")


def restored(path, use, missing):
    """What `use` makes of the content of a file that this program saved."""
    if not path.is_file():
        stop(f"there is no {path}: {missing}")
    try:
        return use(torch.load(path))
    except Exception as error:          # whatever a file of another program leads to
        reason = " ".join(str(error).split())
        stop(f"{path} is not what this program saves: {reason[:200] or type(error).__name__}")


def parser(text, name, **defaults):
    """Options that every example has."""
    made = Parser(text)
    made.add_argument("--steps", type=count(), default=defaults["steps"], help=f"{defaults.get('unit', 'steps')} of training (default %(default)s)")
    made.add_argument("--lr", type=rate, default=defaults["lr"], help="learning rate (default %(default)s)")
    made.add_argument("--seed", type=count(0), default=0, help="of weights and draws (default 0)")
    made.add_argument("--out", type=Path, default=Path("runs") / name, help="folder of the results (default %(default)s)")
    made.add_argument("--quiet", action="store_true", help="no progress bar")
    return made


def bar(steps, quiet):
    """The steps (a range or their number), with a progress bar unless `quiet`, and a function that shows figures beside it."""
    steps = range(steps) if isinstance(steps, int) else steps
    if quiet:
        return steps, lambda **figures: None
    try:
        from tqdm import tqdm
    except ImportError:
        stop(f"{EXTRAS}, or add --quiet")
    made = tqdm(steps)
    return made, lambda **figures: made.set_postfix({k: f"{v:.3f}" if isinstance(v, float) else v for k, v in figures.items()}, refresh=False)


def pyplot():
    """matplotlib's pyplot without a window; None, with a word about it, where it is missing."""
    try:
        import matplotlib
    except ImportError:
        print(f"no picture: {EXTRAS}")
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    return plt


def documentation(limit=250_000):
    """English about Python: the docstrings of the standard library on this machine, without code and tables."""
    paragraphs = []
    size = 0
    for module in sorted(pkgutil.iter_modules(), key=lambda m: m.name):
        if module.name not in sys.stdlib_module_names or module.name.startswith("_") or module.ispkg:
            continue
        spec = module.module_finder.find_spec(module.name)
        try:
            source = Path(spec.origin).read_text()
        except (OSError, TypeError, UnicodeDecodeError, AttributeError):
            continue
        for text in re.findall(r'"""(.*?)"""', source, re.S):
            for paragraph in inspect.cleandoc(text).split("\n\n"):
                words = " ".join(paragraph.split())
                if len(words) > 60 and words.isascii() and words[0].isupper() and words[-1] == "." and not re.search(r"[<>=\\|_{}\[\]]{1}", words):
                    paragraphs.append(words)
                    size += len(words)
        if size > limit:
            break
    return "\n".join(paragraphs)
