"""The command line: runs the libraries in turn, in processes of their own, and reports."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from . import report

WORKER = Path(__file__).with_name("worker.py")
ROOT = WORKER.parents[1]


def environment(threads):
    """The worker's environment. The source tree is on its path only where it was built in place."""
    env = dict(os.environ, OMP_NUM_THREADS=str(threads))
    if list((ROOT / "fasttensor" / "_core").glob("tensor.*.so")):
        env["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [env.get("PYTHONPATH")])])
    return env


def run(python, module, threads, options):
    """One library's times by case."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        subprocess.run([python, str(WORKER), module, str(threads), options.device, options.only,
                        str(options.seconds), str(out)], check=True, env=environment(threads))
        return json.loads(out.read_text())


def has_torch(python):
    """Whether that interpreter finds PyTorch."""
    probe = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    return subprocess.run([python, "-c", probe]).returncode == 0


def arguments():
    parser = argparse.ArgumentParser(prog="python -m benches", description=sys.modules["benches"].__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PATTERN", help="regular expression on case names")
    parser.add_argument("--threads", default="1,2", help="thread counts (default 1,2)")
    parser.add_argument("--rounds", type=int, default=2, help="turns of each library (default 2)")
    parser.add_argument("--seconds", type=float, default=0.1, help="time for a case in one turn (default 0.1)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--torch-python", default=sys.executable, metavar="PATH",
                        help="an interpreter that has PyTorch (default: this one)")
    parser.add_argument("--out", type=Path, default=Path("runs/benches"), help="folder of the results")
    parser.add_argument("--compare", action="store_true", help="exit 1 if a ratio fell below the stored one")
    parser.add_argument("--save-baseline", action="store_true", help="store this run's ratios")
    return parser.parse_args()


def main():
    options = arguments()
    with_torch = has_torch(options.torch_python)
    if not with_torch:
        print(f"benches: {options.torch_python} has no PyTorch, so there are times but no ratios "
              "(--torch-python PATH)")
    results = {}
    for threads in map(int, options.threads.split(",")):
        ours, theirs = [], []
        for _ in range(options.rounds):
            # In turn, so that a slow minute of the machine hits both.
            ours.append(run(sys.executable, "fasttensor", threads, options))
            if with_torch:
                theirs.append(run(options.torch_python, "torch", threads, options))
        results[threads] = report.best(ours), report.best(theirs)
        report.print_table(*results[threads], threads)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{options.device}.json"
    path.write_text(json.dumps({str(k): {"fasttensor": a, "torch": b} for k, (a, b) in results.items()}, indent=1))
    print(f"\ntimes  {path}")
    try:
        chart = options.out / f"{options.device}.png"
        if report.draw(results, chart):
            print(f"chart  {chart}")
    except ImportError:
        print("no chart: install the extra, pip install '.[bench]'")
    if options.save_baseline:
        report.save_baseline(results)
    if options.compare and report.compare(results):
        sys.exit(1)


if __name__ == "__main__":
    main()
