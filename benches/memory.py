"""Peak resident memory of the training steps, each in a fresh process, in both libraries.

    python -m benches --memory

`import` is what the process holds once the library is imported, `built` what the network and its data add
(PyTorch imports more of itself then), `peak` the most above `import`, `steps` the most above `built`. A ratio
below 1 says that fasttensor holds less.
"""
import json
import re
import subprocess
import tempfile
from pathlib import Path

WORKER = Path(__file__).with_name("memory_worker.py")
STEPS = 8           # the caches of freed blocks are full by the second step
MEBI = 1 << 20


def training(names, pattern):
    """The cases that train a network (not those of an optimizer alone) and match the pattern."""
    return [n for n in names if n.startswith("step/") and not n.startswith("step/adam_") and re.search(pattern, n)]


def measure(python, module, name, threads, env, count=STEPS):
    """Bytes of one case: {"import", "built", "first_step", "peak"}, the last three above the import."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        subprocess.run([python, str(WORKER), module, str(threads), name, str(count), str(out)], check=True, env=env)
        return json.loads(out.read_text())


def ratio(ours, theirs):
    """Ours over PyTorch's: of the peak above the import, and of what the steps add to the built network."""
    return {"peak": ours["peak"] / theirs["peak"],
            "steps": (ours["peak"] - ours["built"]) / (theirs["peak"] - theirs["built"])}


def print_table(results):
    """MiB and ratios; results: {case: {"fasttensor": ..., "torch": ... or absent}}."""
    print(f"\npeak resident memory, MiB\n{'case':28} {'fasttensor':>10} {'PyTorch':>8} {'ratio':>6}"
          f" {'steps':>8} {'PyTorch':>8} {'ratio':>6}")
    for name, found in results.items():
        ours, theirs = found["fasttensor"], found.get("torch")
        line = [f"{name:28} {ours['peak'] / MEBI:10.1f}", f" {(ours['peak'] - ours['built']) / MEBI:8.1f}"]
        if theirs:
            r = ratio(ours, theirs)
            line[0] += f" {theirs['peak'] / MEBI:8.1f} {r['peak']:6.2f}"
            line[1] += f" {(theirs['peak'] - theirs['built']) / MEBI:8.1f} {r['steps']:6.2f}"
        print("".join(line))
