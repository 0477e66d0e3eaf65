"""Tables, charts and the comparison with the stored ratios."""
import json
import math
from pathlib import Path

BASELINE = Path(__file__).with_name("baseline.json")
SLOWER = 0.8        # part of the stored ratio below which a case counts as slower: the noise of a busy machine


def best(runs):
    """The least time of several runs by case; an error's text where there is no time."""
    found = {}
    for rows in runs:
        for name, value in rows.items():
            old = found.get(name)
            numbers = [v for v in (old, value) if isinstance(v, float)]
            found[name] = min(numbers) if numbers else value
    return found


def ratios(ours, theirs):
    """PyTorch's time over ours, where both ran: above 1, we are faster."""
    return {name: theirs[name] / t for name, t in ours.items()
            if isinstance(t, float) and isinstance(theirs.get(name), float)}


def geomean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def print_table(ours, theirs, threads):
    """Times in microseconds and ratios, then a line for each group."""
    print(f"\n{threads} thread{'s' if threads > 1 else ''}"
          f"\n{'case':40} {'fasttensor us':>14} {'PyTorch us':>12} {'ratio':>7}")
    ratio = ratios(ours, theirs)
    for name, value in ours.items():
        other = theirs.get(name)
        if not isinstance(value, float):
            print(f"{name:40} {value}")
            continue
        right = f"{other * 1e6:12.1f} {ratio[name]:7.2f}" if isinstance(other, float) else (other or "")
        print(f"{name:40} {value * 1e6:14.1f} {right}")
    groups = {}
    for name, value in ratio.items():
        groups.setdefault(name.split("/")[0], []).append(value)
    for group, values in groups.items():
        print(f"{group:10} geometric mean {geomean(values):5.2f}, least {min(values):5.2f}, "
              f"{sum(v < 1 for v in values)} of {len(values)} below 1")


def draw(results, path):
    """A bar of the ratio for each case; results: {threads: (ours, theirs)}. Needs matplotlib."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    threads, (ours, theirs) = next(iter(results.items()))
    ratio = ratios(ours, theirs)
    values = ratio or {name: t * 1e6 for name, t in ours.items() if isinstance(t, float)}
    if not values:
        return False
    names = sorted(values, key=values.get, reverse=True)
    height = -(-len(names) // -(-len(names) // 90))         # columns of at most 90, of even height
    columns = [names[i:i + height] for i in range(0, len(names), height)]
    figure, axes = plt.subplots(1, len(columns), figsize=(4.6 * len(columns) + 1, max(3, 0.16 * len(columns[0]) + 1)),
                                sharex=True, squeeze=False, layout="constrained")
    for axis, part in zip(axes[0], columns):
        colors = ["tab:red" if ratio and values[n] < 1 else "tab:blue" for n in part]
        axis.barh(range(len(part)), [values[n] for n in part], color=colors)
        axis.set_yticks(range(len(part)), part, fontsize=6)
        axis.set_ylim(len(columns[0]), -1)
        axis.set_xscale("log")
        axis.grid(axis="x", alpha=0.3)
        if ratio:
            axis.axvline(1, color="black", linewidth=0.8)
    figure.supxlabel(f"PyTorch's time / fasttensor's, {threads} thread(s): above 1, fasttensor is faster" if ratio
                     else f"microseconds, {threads} thread(s)", fontsize=9)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True


def save_baseline(results):
    """Stores the ratios of this run."""
    stored = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    for threads, (ours, theirs) in results.items():
        stored.setdefault(str(threads), {}).update(
            {name: round(value, 3) for name, value in ratios(ours, theirs).items()})
    BASELINE.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")


def compare(results):
    """Prints cases whose ratio fell under its stored one; returns how many did."""
    if not BASELINE.exists():
        print(f"benches: there is no {BASELINE}; write it with --save-baseline")
        return 0
    stored = json.loads(BASELINE.read_text())
    slower = 0
    for threads, (ours, theirs) in results.items():
        if str(threads) not in stored:
            print(f"benches: nothing is stored for {threads} thread(s); add it with --save-baseline --threads {threads}")
        for name, value in sorted(ratios(ours, theirs).items()):
            old = stored.get(str(threads), {}).get(name)
            if old is not None and value < SLOWER * old:
                slower += 1
                print(f"slower: {name}, {threads} thread(s): ratio {value:.2f}, stored {old:.2f}")
    print(f"{slower} cases below {SLOWER} of their stored ratio")
    return slower
