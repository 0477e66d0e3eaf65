"""Times the scaling cases on one library, in a process of its own.

    python benches/scaling_worker.py MODULE THREADS BUDGET LARGEST OUT.json
"""
import importlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import scaling


def main():
    module, threads, budget, largest, out = sys.argv[1:]
    t = importlib.import_module(module)
    importlib.import_module(module + ".nn.functional")
    t.manual_seed(0)
    with t.no_grad():
        found = scaling.run(t, int(threads), float(budget), [n for n in scaling.SIZES if n <= int(float(largest))])
    Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
