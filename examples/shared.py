"""What the examples share: text that Python ships, a progress bar, options."""
import argparse
import inspect
import pkgutil
import re
import sys
from pathlib import Path

EXTRAS = "install the examples' extras: pip install '.[examples]'"


def parser(text, name, **defaults):
    """Options that every example has."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--steps", type=int, default=defaults["steps"], help=f"{defaults.get('unit', 'steps')} of training (default %(default)s)")
    made.add_argument("--lr", type=float, default=defaults["lr"], help="learning rate (default %(default)s)")
    made.add_argument("--seed", type=int, default=0, help="of weights and draws (default 0)")
    made.add_argument("--out", type=Path, default=Path("runs") / name, help="folder of the results (default %(default)s)")
    made.add_argument("--quiet", action="store_true", help="no progress bar")
    return made


def bar(steps, quiet):
    """The steps, with a progress bar unless `quiet`, and a function that shows figures beside it."""
    if quiet:
        return range(steps), lambda **figures: None
    try:
        from tqdm import tqdm
    except ImportError:
        sys.exit(f"{EXTRAS}, or add --quiet")
    made = tqdm(range(steps))
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
