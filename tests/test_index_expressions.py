"""What may stand between the brackets of x[...], beside PyTorch: fixed cases, and random expressions."""
import random
import warnings

import numpy as np
import pytest

import fasttensor as torch
from helpers import oracle

CASES = {
    "list of lists": lambda t: [[0, 1], [1, 2]], "list in a tuple": lambda t: ([[0, 1], [1, 1]],), "slices in a list": lambda t: [slice(0, 1), 0],
    "None in a list": lambda t: [None, 0], "Ellipsis in a list": lambda t: [..., 0], "tensors in a list": lambda t: [t.tensor([0, 1]), t.tensor([1, 2])],
    "scalars in a list": lambda t: [t.tensor(0), t.tensor(1)], "arrays in a list": lambda t: [np.array([0, 1])], "uneven": lambda t: [[1, 0], 0],
    "two ellipses": lambda t: (..., 0, ...), "ellipses alone": lambda t: (..., ...), "ellipses first": lambda t: (..., ..., 0),
    "tuple in a tuple": lambda t: (0, (1, 2)), "empty tuple in a tuple": lambda t: ((),), "empty list in a list": lambda t: [[]],
    "floats": lambda t: [1.5], "array of floats": lambda t: np.array([1.5]), "uint16": lambda t: np.array([0, 1], dtype=np.uint16),
    "text": lambda t: "a", "bytes": lambda t: b"a", "float": lambda t: 1.5, "dict": lambda t: {}, "set": lambda t: {0}, "numpy bool": lambda t: np.bool_(True),
    "0-d bool array": lambda t: np.array(True), "0-d array": lambda t: np.array(1), "huge": lambda t: 2**70, "range": lambda t: range(2),
    "mask of bools": lambda t: [[True, False, True], [False, True, False]], "long list": lambda t: [0] * 40, "many lists": lambda t: [[0]] * 33,
    "sequence": lambda t: Sequence([0, 1]), "sequence of lists": lambda t: Sequence([[0, 1], [0, 1]]), "index": lambda t: Index(),
    "array only": lambda t: Array(), "None in lists": lambda t: [[0, None]], "float tensor": lambda t: t.tensor([1.0]),
    "int8": lambda t: t.tensor([1, 0], dtype=t.int8),
}


class Sequence:
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Index:
    def __index__(self):
        return 1


class Array:
    def __array__(self, *args, **kwargs):
        return np.array([0, 1])


def outcome(t, shape, index, value=None, dtype="float32"):
    """What reading, or writing `value`, gives: shape and elements, or the error's type."""
    x = t.arange(int(np.prod(shape)), dtype=t.float64).to(getattr(t, dtype)).reshape(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if value is None:
                x = x[index(t)]
            else:
                x[index(t)] = value(t)
        except Exception as error:
            return type(error).__name__
    return tuple(x.shape), x.tolist()


@pytest.mark.parametrize("name", CASES)
def test_cases(name):
    for shape in ((2, 3, 4), (3,), (2, 2)):
        for value in (None, lambda t: 9, lambda t: t.tensor(7.0)):
            got, want = (outcome(t, shape, CASES[name], value) for t in (torch, oracle()))
            assert got == want, (shape, value)


def entry(r, size):
    """A random entry for a dimension of that size, as a function of the library."""
    size = max(size, 1)
    kind = r.randrange(12)
    ints = [r.randrange(-size, size) for _ in range(r.choice([0, 1, 2, 3]))]
    if kind < 3:
        i = r.randrange(-size - (r.random() < 0.05), size)
        return lambda t: i
    if kind < 6:
        cut = slice(r.choice([None, r.randrange(-size, size + 1)]), r.choice([None, r.randrange(-size, size + 2)]), r.choice([None, 1, 2, 3]))
        return lambda t: cut
    if kind < 8:
        return lambda t: t.tensor(ints, dtype=t.int64)
    if kind == 8:
        return lambda t: list(ints)
    if kind == 9:
        mask = [r.random() < 0.5 for _ in range(size)]
        return lambda t: t.tensor(mask)
    if kind == 10:
        rows = [[r.randrange(-size, size)] for _ in range(2)]
        return lambda t: t.tensor(rows)
    i = r.randrange(-size, size)
    return r.choice([lambda t: t.tensor(i), lambda t: np.int64(i), lambda t: np.array([i])])


def random_case(r):
    shape = tuple(r.choice([1, 2, 3, 4, 0]) if r.random() < 0.3 else r.choice([2, 3, 4]) for _ in range(r.randrange(0, 5)))
    parts = []
    dims = list(shape)
    for size in dims[:r.randrange(0, len(dims) + 1)]:
        parts.append(entry(r, size))
    for extra in (None, Ellipsis, True, False):
        if r.random() < (0.2 if extra in (None, Ellipsis) else 0.05):
            parts.insert(r.randrange(len(parts) + 1), lambda t, extra=extra: extra)
    return shape, (lambda t: parts[0](t)) if len(parts) == 1 and r.random() < 0.7 else (lambda t: tuple(p(t) for p in parts))


def values(shape):
    """What may be written to a place of that shape."""
    return [lambda t: 1, lambda t: True, lambda t: t.tensor(1), lambda t: t.ones(shape[-1:]), lambda t: t.ones(shape), lambda t: t.ones((1,) + shape)]


@pytest.mark.parametrize("seed", range(8))
def test_random_expressions(seed):
    r = random.Random(seed)
    for _ in range(400):
        shape, index = random_case(r)
        dtype = r.choice(["float32", "int64", "int8", "bool", "complex64", "float16"])
        got, want = (outcome(t, shape, index, None, dtype) for t in (torch, oracle()))
        assert got == want, (shape, index(torch))
        if isinstance(want, str):
            continue
        value = r.choice(values(want[0]))
        got, want = (outcome(t, shape, index, value, dtype) for t in (torch, oracle()))
        assert got == want, (shape, index(torch), value(torch))
