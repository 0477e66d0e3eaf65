"""How times grow: cost per element from 1e3 to 1e8 elements, and what a second thread gives.

    python -m benches --scaling

A flat line is a cost that does not depend on the size. It rises where operands leave a cache, and falls at
the small end where the cost of a call is spread over more elements.
"""
import time

SIZES = [10 ** k for k in range(3, 9)]
BOUND = ("matmul_512", "conv_64_56", "attention_512", "exp_1M")     # by arithmetic, not by memory
ELEMENTWISE = ("add", "exp", "sum", "softmax")


def operation(name, t, n):
    """The zero-argument call of one operation on n float32 elements; softmax over rows of 1000."""
    a = t.empty(n).fill_(0.5)
    if name == "add":
        b = t.empty(n).fill_(0.25)
        return lambda: a + b
    if name == "softmax":
        rows = a.view(-1, 1000)
        return lambda: t.softmax(rows, -1)
    return getattr(a, name)


def compute_bound(name, t, scale=1):
    """A call that more threads should make faster; scale divides its extents, for tests."""
    if name == "matmul_512":
        a, b = t.randn(512 // scale, 512 // scale), t.randn(512 // scale, 512 // scale)
        return lambda: a @ b
    if name == "conv_64_56":
        x, w = t.randn(8, 64 // scale, 56 // scale, 56 // scale), t.randn(64 // scale, 64 // scale, 3, 3)
        return lambda: t.nn.functional.conv2d(x, w, padding=1)
    if name == "attention_512":
        q, k, v = (t.randn(4, 8, 512 // scale, 64) for _ in range(3))
        return lambda: t.nn.functional.scaled_dot_product_attention(q, k, v)
    x = t.randn(1_000_000 // scale)
    return lambda: t.exp(x)


def fastest(call, budget):
    """The least time of a call, over about `budget` seconds and at least twice."""
    call()
    begin = time.perf_counter()
    call()
    once = max(time.perf_counter() - begin, 1e-7)
    inner, best, first, turns = max(1, int(1e-3 / once)), once, time.perf_counter(), 0
    while turns < 2 or time.perf_counter() - first < budget:
        begin = time.perf_counter()
        for _ in range(inner):
            call()
        best, turns = min(best, (time.perf_counter() - begin) / inner), turns + 1
    return best


def run(t, threads, budget, sizes, scale=1):
    """{"element": {operation: {size: nanoseconds an element}}, "call": {workload: seconds}}."""
    t.set_num_threads(threads)
    element = {name: {str(n): fastest(operation(name, t, n), budget) / n * 1e9 for n in sizes} for name in ELEMENTWISE}
    return {"element": element, "call": {name: fastest(compute_bound(name, t, scale), 4 * budget) for name in BOUND}}


def speedups(one, more):
    """What more threads give on the compute-bound workloads: time at one thread over theirs."""
    return {name: one["call"][name] / more["call"][name] for name in one["call"] if name in more["call"]}


def print_tables(results):
    """results: {library: {threads: what run() returned}}."""
    for library, by_threads in results.items():
        for threads, found in by_threads.items():
            sizes = list(next(iter(found["element"].values())))
            print(f"\n{library}, {threads} thread(s): ns per element\n{'elements':10}" + "".join(f"{int(n):>10.0e}" for n in sizes))
            for name, costs in found["element"].items():
                print(f"{name:10}" + "".join(f"{costs[n]:10.3f}" for n in sizes))
        first = next(iter(by_threads))
        for threads, found in by_threads.items():
            if threads != first:
                print(f"\n{library}, {threads} threads against {first}: "
                      + ", ".join(f"{name} {value:.2f}" for name, value in speedups(by_threads[first], found).items()))


def draw(results, path):
    """Cost per element against size, an axis an operation. Needs matplotlib."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained", sharex=True)
    for axis, name in zip(axes.flat, ELEMENTWISE):
        for library, by_threads in results.items():
            for threads, found in by_threads.items():
                costs = found["element"][name]
                axis.plot([int(n) for n in costs], list(costs.values()), marker="o", markersize=3,
                          linestyle="-" if library == "fasttensor" else "--", label=f"{library}, {threads} thread(s)")
        axis.set(xscale="log", yscale="log", title=name)
        axis.grid(alpha=0.3)
    axes.flat[0].legend(fontsize=8)
    figure.supxlabel("elements")
    figure.supylabel("nanoseconds an element")
    figure.savefig(path, dpi=110)
    plt.close(figure)
