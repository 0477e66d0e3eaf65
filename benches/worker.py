"""Times cases on one library, in a process of its own.

    python benches/worker.py MODULE THREADS DEVICE PATTERN BUDGET OUT.json
    python benches/worker.py --steps                the names of the larger cases
"""
import importlib
import json
import re
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import families
import networks_other  # noqa: F401, they add their cases to those of steps
import networks_sequences  # noqa: F401
import networks_vision  # noqa: F401
import steps
import table


def timed(run, budget, wait):
    """The lower quartile of the time of one call, over about `budget` seconds."""
    for _ in range(3):
        run()
    wait()
    begin = time.perf_counter()
    run()
    wait()
    once = max(time.perf_counter() - begin, 1e-7)
    inner = max(1, int(2e-3 / once))
    found, first = [], time.perf_counter()
    while time.perf_counter() - first < budget or len(found) < 5:
        begin = time.perf_counter()
        for _ in range(inner):
            run()
        wait()
        found.append((time.perf_counter() - begin) / inner)
    found.sort()
    return found[len(found) // 4]


def main():
    if sys.argv[1:] == ["--steps"]:
        print(json.dumps(list(steps.STEPS)))
        return
    module, threads, device, pattern, budget, out = sys.argv[1:]
    t = importlib.import_module(module)
    importlib.import_module(module + ".nn.functional")
    t.set_num_threads(int(threads))
    wait = t.cuda.synchronize if device == "cuda" else lambda: None
    if device != "cpu":
        t.set_default_device(device)
    rows = {}
    warnings.simplefilter("ignore")         # deprecated forms are timed too
    for names, build in ((table.case_names(), table.build), (list(steps.STEPS), steps.build), (families.case_names(), families.build)):
        for name in names:
            if not re.search(pattern, name):
                continue
            t.manual_seed(0)
            try:
                rows[name] = timed(build(name, t), float(budget), wait)
            except Exception as error:      # one case must not end the run; the report shows it
                rows[name] = f"{type(error).__name__}: {error}"[:200]
    Path(out).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
