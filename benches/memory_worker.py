"""Peak resident memory of one case on one library, in a process of its own.

    python benches/memory_worker.py MODULE THREADS CASE STEPS OUT.json
"""
import importlib
import json
import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import steps


def peak_bytes():
    """The most memory that this process has held."""
    try:
        # ru_maxrss begins at the parent's size where the process was forked from it; VmHWM does not
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure(t, name, count):
    """Bytes after the import, and more at the peak of `count` steps."""
    imported = peak_bytes()
    t.manual_seed(0)
    run = steps.build(name, t)
    built = peak_bytes()
    run()
    first = peak_bytes()
    for _ in range(count - 1):
        run()
    peak = peak_bytes()
    return {"import": imported, "built": built - imported, "first_step": first - imported, "peak": peak - imported}


def main():
    module, threads, name, count, out = sys.argv[1:]
    t = importlib.import_module(module)
    importlib.import_module(module + ".nn.functional")
    importlib.import_module(module + ".optim")
    t.set_num_threads(int(threads))
    Path(out).write_text(json.dumps(measure(t, name, int(count))))


if __name__ == "__main__":
    main()
