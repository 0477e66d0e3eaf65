"""Indexing with tensors, gather and scatter, masks, embeddings, searches: values, gradients, errors."""
import random

import pytest

import fasttensor as ft
from fasttensor.autograd import gradcheck, gradgradcheck
from helpers import assert_close, from_oracle, oracle, to_lists

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


def ramp(*shape, dtype=ft.float64):
    """Distinct numbers in no order."""
    n = ft.Size(shape).numel()
    order = list(range(n))
    random.Random(n).shuffle(order)
    return ft.tensor([v * 0.37 - n * 0.15 for v in order], dtype=dtype).reshape(shape)


def leaf(*shape):
    return ramp(*shape).requires_grad_()


# --- x[...] ---
def random_index(rng, shape):
    """A mix of ints, slices, None, Ellipsis, index tensors, masks and lists (as nested lists, to be made tensors)."""
    common = rng.choice([(3,), (2, 3), (1,), (2, 1)])
    out, d, dots = [], 0, False
    while d < len(shape) and rng.random() < 0.9:
        n, r = shape[d], rng.random()
        if r < 0.15:
            out.append(rng.randrange(-n, n))
        elif r < 0.35:
            out.append(slice(rng.choice([None, 0, 1, -2]), rng.choice([None, n, -1]), rng.choice([None, 1, 2])))
        elif r < 0.42:
            out.append(None)
            continue
        elif r < 0.48 and not dots:
            out.append(Ellipsis)
            dots = True
            continue
        elif r < 0.75:
            size = common if rng.random() < 0.6 else common[-1:]
            out.append(("index", size, [rng.randrange(-n, n) for _ in range(ft.Size(size).numel())]))
        elif r < 0.85:
            out.append([rng.randrange(-n, n) for _ in range(common[-1])])
        else:
            out.append(("mask", (n,), [rng.random() > 0.4 for _ in range(n)]))
        d += 1
    return out


def build(lib, index):
    return tuple(lib.tensor(e[2], dtype=lib.int64 if e[0] == "index" else lib.bool).reshape(e[1]) if isinstance(e, tuple) else e
                 for e in index)


@pytest.mark.parametrize("seed", range(4))
def test_mixed_indices_match_pytorch(seed):
    torch = oracle()
    rng = random.Random(seed)
    for _ in range(150):
        shape = tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.choice([1, 2, 3, 4])))
        base = torch.arange(float(ft.Size(shape).numel())).reshape(shape)
        index = random_index(rng, shape)
        x, y = base.clone().requires_grad_(), from_oracle(base).requires_grad_()
        try:
            expected = x[build(torch, index)]
        except Exception:
            with pytest.raises((IndexError, RuntimeError, ValueError)):
                y[build(ft, index)]
            continue
        actual = y[build(ft, index)]
        assert_close(actual, expected, what=f"{shape} {index}")
        (expected * expected).sum().backward()
        (actual * actual).sum().backward()
        assert_close(y.grad, x.grad, what=f"gradient {shape} {index}")
        a, b = base.clone(), from_oracle(base)
        a[build(torch, index)] = 0.5
        b[build(ft, index)] = 0.5
        assert_close(b, a, what=f"assignment {shape} {index}")


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_is_read_and_written(name):
    dtype = getattr(ft, name)
    x = ft.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype)
    index = ft.tensor([1, 0, -1])
    assert to_lists(x[index].to(ft.int64)) == [[1, 0, 1], [0, 1, 1], [1, 0, 1]]
    assert to_lists(x[:, index].to(ft.int64)) == [[1, 0, 1], [0, 1, 1]]
    assert to_lists(x.gather(1, ft.tensor([[2, 0], [1, 1]])).to(ft.int64)) == [[1, 0], [0, 0]]
    assert to_lists(x.masked_select(x.bool()).to(ft.int64)) == [1, 1, 1, 1]
    assert to_lists(x.nonzero()) == [[0, 1], [0, 2], [1, 0], [1, 2]]
    y = x.clone()
    y[ft.tensor([0])] = ft.tensor([1, 1, 0]).to(dtype)
    assert to_lists(y.to(ft.int64)) == [[1, 1, 0], [1, 0, 1]]
    z = ft.zeros(2, dtype=dtype).scatter_add(0, ft.tensor([1]), ft.ones(1, dtype=dtype))
    assert to_lists(z.to(ft.int64)) == [0, 1]


@pytest.mark.parametrize("width", [(3,), (2, 3), (1,), (70,)])
def test_index_expanded_over_rows(width):
    """An index that is the same for a whole row moves rows."""
    x, src = ramp(4, *width), ramp(5, *width) + 0.5
    one = ft.tensor([2, 0, 2, 3, 1])
    index = one.reshape(5, *[1] * len(width)).expand(5, *width)
    rows = x.tolist()
    for t in (x, x.transpose(0, -1).contiguous().transpose(0, -1)):
        assert t.gather(0, index).tolist() == [rows[i] for i in (2, 0, 2, 3, 1)]
        assert_close(t.scatter_add(0, index, src), t.index_add(0, one, src).tolist())
        assert t.scatter(0, index, src).tolist() == [src[i].tolist() for i in (1, 4, 2, 3)]
        largest = ft.maximum(t, ft.stack([src[1], src[4], ft.maximum(src[0], src[2]), src[3]]))
        assert t.scatter_reduce(0, index, src, "amax").tolist() == largest.tolist()
    with pytest.raises(RuntimeError, match="index 4 is out of bounds"):
        x.gather(0, (index[:, :1] + 1).expand(index.shape) if len(width) == 1 else index + 1)
    with pytest.raises(RuntimeError, match="index -1 is out of bounds"):
        x.scatter_add(0, ft.tensor([0, -1]).reshape(2, *[1] * len(width)).expand(2, *width), src)


def test_repeated_positions():
    x = ft.zeros(3)
    x[ft.tensor([1, 1, 2])] = ft.tensor([5., 6., 7.])
    assert to_lists(x) == [0, 6, 7], "the last of equal positions counts"
    x.index_put_((ft.tensor([0, 0]),), ft.tensor([1., 2.]), accumulate=True)
    assert to_lists(x) == [3, 6, 7]


def test_same_bits_at_any_thread_count():
    g, index = ft.randn(3000, 64), ft.randint(0, 50, (3000,))
    found = []
    for threads in (1, 2, 3):
        ft.set_num_threads(threads)
        w = ft.zeros(50, 64, requires_grad=True)
        ft.nn.functional.embedding(index, w).backward(g)
        found.append((w.grad, ft.zeros(50, 64).index_add(0, index, g), ft.zeros(50, 64).scatter_add(0, index[:, None].expand(3000, 64), g)))
    for other in found[1:]:
        assert all(ft.equal(a, b) for a, b in zip(found[0], other))


@pytest.mark.parametrize("index, message", [
    (lambda: ft.tensor([3]), "out of bounds"), (lambda: ft.tensor([-4]), "out of bounds"), (lambda: ft.tensor([0.5]), "long, int, byte or bool"),
    (lambda: ft.tensor([True, False]), "mask"), (lambda: (0, 0, 0), "too many"), (lambda: "a", None), (lambda: 1.0, None),
    (lambda: (ft.tensor([0, 1]), ft.tensor([0, 1, 2])), "broadcast")])
def test_bad_indices(index, message):
    with pytest.raises((IndexError, TypeError), match=message):
        ft.zeros(3, 3)[index()]


def test_assignment_errors():
    x = ft.zeros(3)
    with pytest.raises(RuntimeError, match="shape mismatch"):
        x[ft.tensor([0, 1])] = ft.ones(3)
    with pytest.raises(RuntimeError, match="single memory location"):
        ft.zeros(1).expand(3)[ft.tensor([0])] = 1.0
    with pytest.raises(RuntimeError, match="leaf"):
        ft.zeros(3, requires_grad=True)[ft.tensor([0])] = 1.0
    with pytest.raises(RuntimeError, match="dtypes match"):
        x.index_put_((ft.tensor([0]),), ft.tensor([1]))


def test_assignment_reads_what_it_overwrites():
    x = ft.arange(4.)
    x[ft.tensor([1, 2, 3])] = x[:3]
    assert to_lists(x) == [0, 0, 1, 2]


def test_bounds_of_empty_results():
    with pytest.raises(IndexError, match="out of bounds"):
        ft.zeros(3, 2)[:0, ft.tensor([5])]


@pytest.mark.parametrize("write", [
    lambda x: x.masked_fill_(ft.tensor([True, False, True]), 1.0), lambda x: x.scatter_(0, ft.tensor([1]), 1.0),
    lambda x: x.index_put_((ft.tensor([0]),), ft.ones(1)), lambda x: x.index_fill_(0, ft.tensor([0]), 1.0),
    lambda x: x.masked_scatter_(ft.tensor([True, False, True]), ft.ones(2)), lambda x: x.put_(ft.tensor([0]), ft.ones(1))])
def test_shared_memory_is_not_written(write):
    with pytest.raises(RuntimeError, match="single memory"):
        write(ft.zeros(1).expand(3))


# --- functions ---
I3 = ft.tensor([0, 2, 2])
GRID = ft.tensor([[0, 1, 2, 3, 0], [3, 3, 1, 0, 2], [1, 0, 0, 2, 2]])
MASK = ft.tensor([[i * 7 % 3 == 0 for i in range(j, j + 5)] for j in range(4)])
MAY_KEEP = 3
embed = {"sum": lambda w, p: ft.nn.functional.embedding_bag(ft.tensor([[0, 2], [1, 3]]), w, mode="sum", per_sample_weights=p),
         "mean": lambda w: ft.nn.functional.embedding_bag(ft.tensor([0, 2, 2, 3]), w, ft.tensor([0, 1])),
         "max": lambda w: ft.nn.functional.embedding_bag(ft.tensor([[0, 2], [1, 3]]), w, mode="max")}


def assigned(x, value, index):
    y = x.clone()
    y[index] = value
    return y


CASES = {
    "rows": (lambda x: x[I3], (4, 5)), "columns": (lambda x: x[:, I3], (4, 5)), "pairs": (lambda x: x[I3, ft.tensor([0, 1, 1])], (4, 5)),
    "mask": (lambda x: x[MASK], (4, 5)), "row mask": (lambda x: x[ft.tensor([True, False, True, True])], (4, 5)),
    "assign": (lambda x, v: assigned(x, v, ft.tensor([0, 3])), (4, 5), (2, 5)),
    "assign broadcast": (lambda x, v: assigned(x, v, (slice(1, 3), ft.tensor([0, 3]))), (4, 5), (2,)),
    "assign mask": (lambda x, v: assigned(x, v, MASK), (4, 5), (1,)),
    "index_put": (lambda x, v: x.index_put((I3,), v, True), (4, 5), (3, 5)),
    "index_select": (lambda x: x.index_select(1, I3), (4, 5)), "index_add": (lambda x, v: x.index_add(1, I3, v, alpha=2), (4, 5), (4, 3)),
    "index_copy": (lambda x, v: x.index_copy(0, ft.tensor([0, 3]), v), (4, 5), (2, 5)),
    "index_fill": (lambda x, v: x.index_fill(0, I3, v), (4, 5), ()), "gather": (lambda x: x.gather(0, GRID), (4, 5)),
    "scatter": (lambda x, v: x.scatter(1, ft.tensor([[4, 1, 2, 3, 0]] * 3), v), (4, 5), (3, 5)),
    "scatter_add": (lambda x, v: x.scatter_add(0, GRID[:, :3], v), (4, 5), (3, 5)),
    "take": (lambda x: x.take(ft.tensor([0, 5, 5, -1])), (4, 5)), "put": (lambda x, v: x.put(ft.tensor([5, 5]), v, True), (4, 5), (2,)),
    "masked_fill": (lambda x, v: x.masked_fill(MASK, v), (4, 5), ()), "masked_select": (lambda x: x.masked_select(MASK), (4, 5)),
    "masked_scatter": (lambda x, v: x.masked_scatter(MASK, v), (4, 5), (20,)),
    "embedding": (lambda w: ft.nn.functional.embedding(ft.tensor([[0, 2], [2, 3]]), w), (4, 5)),
    "bag sum": (embed["sum"], (4, 5), (2, 2)), "bag mean": (embed["mean"], (4, 5)), "bag max": (embed["max"], (4, 5)),
    **{f"scatter_reduce {how} {own}": (lambda x, v, how=how, own=own: x.scatter_reduce(0, GRID, v, how, include_self=own), (4, 5), (3, 5))
       for how in ("sum", "prod", "mean", "amax", "amin") for own in (True, False)},
}


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    function, *shapes = CASES[name]
    inputs = tuple(leaf(*s) if s else ft.tensor(0.3, dtype=ft.float64, requires_grad=True) for s in shapes)
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


def test_embedding_options():
    w = ft.ones(4, 2, requires_grad=True)
    index = ft.tensor([[0, 2, 2], [3, 3, 3]])
    ft.nn.functional.embedding(index, w, padding_idx=3, scale_grad_by_freq=True).sum().backward()
    assert to_lists(w.grad) == [[1, 1], [0, 0], [1, 1], [0, 0]]
    table = ft.tensor([[3., 4.], [0.3, 0.4]])
    out = ft.nn.functional.embedding(ft.tensor([0, 1]), table, max_norm=1.0)
    assert_close(out, ft.tensor([[0.6, 0.8], [0.3, 0.4]]), rtol=1e-5)
    with pytest.raises(IndexError, match="out of bounds"):
        ft.nn.functional.embedding(ft.tensor([4]), w)
    with pytest.raises(RuntimeError, match="Long or Int"):
        ft.nn.functional.embedding(ft.tensor([0.5]), w)


@pytest.mark.parametrize("call", [
    lambda: ft.zeros(3).gather(0, ft.tensor([3])), lambda: ft.zeros(3).gather(0, ft.tensor([-1])),
    lambda: ft.zeros(3).scatter(0, ft.tensor([3]), 1.0), lambda: ft.zeros(3).index_select(0, ft.tensor([3])),
    lambda: ft.zeros(3).take(ft.tensor([3])), lambda: ft.zeros(3).put(ft.tensor([3]), ft.ones(1)),
    lambda: ft.zeros(3).index_add(0, ft.tensor([-1]), ft.ones(1)), lambda: ft.zeros(2, 3).gather(5, ft.tensor([[0]]))])
def test_positions_outside(call):
    with pytest.raises((IndexError, RuntimeError), match="out of (bounds|range)"):
        call()


@pytest.mark.parametrize("call", [
    lambda: ft.zeros(3).gather(0, ft.tensor([[0]])), lambda: ft.zeros(2, 3).gather(0, ft.zeros(2, 4).long()),
    lambda: ft.zeros(3).scatter(0, ft.tensor([0, 1]), ft.ones(1)), lambda: ft.zeros(3).scatter(0, ft.tensor([0]), ft.tensor([1])),
    lambda: ft.zeros(3).scatter_reduce(0, ft.tensor([0]), ft.ones(1), "max"), lambda: ft.zeros(3).masked_fill(ft.zeros(3), 1.0),
    lambda: ft.zeros(3).masked_scatter(ft.ones(3).bool(), ft.ones(2)), lambda: ft.zeros(3).index_copy(0, ft.tensor([0]), ft.tensor([1])),
    lambda: ft.nn.functional.one_hot(ft.tensor([-1])), lambda: ft.nn.functional.one_hot(ft.tensor([3]), 3), lambda: ft.bincount(ft.tensor([-1])),
    lambda: ft.searchsorted(ft.zeros(2, 3), ft.zeros(3, 1)), lambda: ft.histc(ft.zeros(3), bins=0)])
def test_bad_arguments(call):
    with pytest.raises(RuntimeError):
        call()


def test_out():
    x, out = ft.arange(6).reshape(2, 3), ft.empty(0, dtype=ft.int64)
    assert ft.index_select(x, 1, ft.tensor([2, 0]), out=out) is out and to_lists(out) == [[2, 0], [5, 3]]
    with pytest.warns(UserWarning, match="resized"):
        assert to_lists(ft.gather(x, 1, ft.tensor([[2], [0]]), out=out)) == [[2], [3]]
    assert to_lists(ft.nonzero(x, out=out.resize_(0))) == [[0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    with pytest.raises(RuntimeError, match="dtype"):
        ft.take(ft.zeros(3), ft.tensor([0]), out=out)


def test_sets_and_counts():
    x = ft.tensor([[3, 1, 3], [2, 1, 3]])
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    assert to_lists(values) == [1, 2, 3] and to_lists(inverse) == [[2, 0, 2], [1, 0, 2]] and to_lists(counts) == [2, 1, 3]
    assert to_lists(ft.unique(ft.tensor([[1, 2], [0, 5], [1, 2]]), dim=0)) == [[0, 5], [1, 2]]
    assert to_lists(ft.unique_consecutive(ft.tensor([1, 1, 2, 1]), return_counts=True)[1]) == [2, 1, 1]
    assert ft.unique(ft.tensor([float("nan"), float("nan")])).numel() == 2
    assert to_lists(ft.isin(x, ft.tensor([2, 3]))) == [[True, False, True], [True, False, True]]
    assert to_lists(ft.bincount(ft.tensor([1, 1, 3]), minlength=5)) == [0, 2, 0, 1, 0]
    assert to_lists(ft.bincount(ft.tensor([1, 1]), ft.tensor([0.5, 1.0]))) == [0.0, 1.5]
    assert to_lists(ft.searchsorted(ft.tensor([1, 3, 3, 5]), ft.tensor([3, 6]), right=True)) == [3, 4]
    assert to_lists(ft.histc(ft.tensor([1., 2., 1., float("nan")]), bins=4, min=0, max=3)) == [0, 2, 1, 0]
    assert to_lists(ft.histogram(ft.tensor([1., 2., 1.]), bins=2).hist) == [2, 1]


def test_results_keep_the_order_of_memory():
    base = ft.arange(120.0).reshape(2, 3, 4, 5)
    x, i, j = base.contiguous(memory_format=ft.channels_last), ft.tensor([1, 0, 1]), ft.tensor([[0, 1], [1, 0], [1, 1]])
    for entry, strides in (((i,), (60, 1, 15, 3)), ((slice(None), i), (60, 20, 5, 1)), ((slice(None), j.t()), (120, 20, 40, 5, 1)),
                           ((i, slice(None), i), (15, 1, 3)), ((i[:, None], i), (60, 20, 5, 1)), ((..., i), (36, 3, 9, 1)),
                           (([0, 1],), (60, 1, 15, 3)), ((i, None), (60, 3, 1, 15, 3))):
        got = x[entry]
        assert ft.equal(got, base[entry])
        assert got.stride() == strides, f"{entry}: {got.stride()}"
    v = base.permute(3, 1, 0, 2)
    assert v[i].stride() == (24, 4, 12, 1) and ft.equal(v[i], v.contiguous()[i])
    assert ft.arange(6).view(2, 3)[ft.tensor([[0, 1], [1, 1], [0, 0]]).t()].stride() == (3, 6, 1)
    for name, arguments in (("index_select", (1, i)), ("gather", (1, ft.zeros(2, 1, 4, 5).long())), ("index_add", (0, i[:2], x)),
                            ("index_copy", (0, i[:2], x)), ("scatter_reduce", (0, ft.zeros(1, 3, 4, 5).long(), x, "amax")),
                            ("index_reduce", (0, i[:2], x, "amax")), ("scatter_add", (0, ft.zeros(2, 3, 4, 5).long(), x))):
        assert getattr(x, name)(*arguments).is_contiguous(), name
    for got in (x.index_put((i,), ft.tensor(2.0)), x.index_fill(1, i, 3.0), x.put(i, ft.ones(3)), x.flip(1), x.sort(1)[0], x.sort(0)[1]):
        assert got.stride() == x.stride()
    assert ft.equal(x.flip(1, 3), base.flip(1, 3)) and ft.equal(x.put(i, ft.ones(3)), base.put(i, ft.ones(3)))
    assert ft.equal(x.sort(2, descending=True)[0], base.sort(2, descending=True)[0])


def test_order_of_memory_against_pytorch():
    theirs = pytest.importorskip("torch")
    rng, checked = random.Random(0), 0
    for _ in range(300):
        shape, order = [rng.choice((2, 3)) for _ in range(4)], rng.sample(range(4), 4)
        entries = []
        for n in shape[:rng.choice((1, 2, 3, 4))]:
            kind = rng.choice(("all", "vector", "matrix", "turned", "mask"))
            entries.append(None if kind == "all" else [rng.randrange(n) for _ in range(2)] if kind == "vector" else
                           [[rng.randrange(n) for _ in range(2)] for _ in range(3)] if kind == "matrix" else
                           ("t", [[rng.randrange(n) for _ in range(3)] for _ in range(2)]) if kind == "turned" else [True] * 2 + [False] * (n - 2))
        got = []
        for t in (theirs, ft):
            x = t.arange(float(shape[0] * shape[1] * shape[2] * shape[3])).reshape(shape).permute(order).contiguous()
            x = x.permute([order.index(d) for d in range(4)])
            got.append(x[tuple(slice(None) if e is None else t.tensor(e[1]).t() if e[0] == "t" else t.tensor(e) for e in entries)])
        assert got[0].tolist() == got[1].tolist()
        assert got[0].stride() == got[1].stride() or 1 in got[0].shape, (shape, order, entries)
        checked += 1
    assert checked == 300
