"""The command line: runs the libraries in turn, in processes of their own, and reports."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from . import memory, report, scaling

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


def run_memory(options, with_torch):
    """The table of peak memory, and its JSON."""
    names = memory.training(json.loads(subprocess.check_output([sys.executable, str(WORKER), "--steps"])), options.only)
    threads = int(options.threads.split(",")[0])
    env, results = environment(threads), {}
    for name in names:
        results[name] = {"fasttensor": memory.measure(sys.executable, "fasttensor", name, threads, env)}
        if with_torch:
            results[name]["torch"] = memory.measure(options.torch_python, "torch", name, threads, env)
    memory.print_table(results)
    write(options.out / "memory.json", results)


def run_scaling(options, with_torch):
    """Cost by size and what threads give: tables, JSON and a chart."""
    results = {}
    for library, python in (("fasttensor", sys.executable), ("torch", options.torch_python))[:1 + with_torch]:
        for threads in options.threads.split(","):
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / "out.json"
                subprocess.run([python, str(WORKER.with_name("scaling_worker.py")), library, threads, str(options.seconds),
                                str(options.largest), str(out)], check=True, env=environment(threads))
                results.setdefault(library, {})[threads] = json.loads(out.read_text())
    scaling.print_tables(results)
    write(options.out / "scaling.json", results)
    chart(lambda path: scaling.draw(results, path), options.out / "scaling.png")


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1))
    print(f"\nfigures {path}")


def chart(draw, path):
    try:
        if draw(path) is not False:
            print(f"chart   {path}")
    except ImportError:
        print("no chart: install the extra, pip install '.[bench]'")


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
    parser.add_argument("--memory", action="store_true", help="peak memory of the training steps instead of times")
    parser.add_argument("--scaling", action="store_true", help="cost by size and by threads instead of the cases")
    parser.add_argument("--largest", type=float, default=1e8, help="elements of the largest scaling case (default 1e8)")
    parser.add_argument("--compare", action="store_true", help="exit 1 if a ratio fell below the stored one")
    parser.add_argument("--save-baseline", action="store_true", help="store this run's ratios")
    return parser.parse_args()


def main():
    options = arguments()
    with_torch = has_torch(options.torch_python)
    if not with_torch:
        print(f"benches: {options.torch_python} has no PyTorch, so there are times but no ratios "
              "(--torch-python PATH)")
    if options.memory or options.scaling:
        for wanted, work in ((options.memory, run_memory), (options.scaling, run_scaling)):
            if wanted:
                work(options, with_torch)
        return
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
    write(options.out / f"{options.device}.json", {str(k): {"fasttensor": a, "torch": b} for k, (a, b) in results.items()})
    chart(lambda path: report.draw(results, path), options.out / f"{options.device}.png")
    if options.save_baseline:
        report.save_baseline(results)
    if options.compare and report.compare(results):
        sys.exit(1)


if __name__ == "__main__":
    main()
