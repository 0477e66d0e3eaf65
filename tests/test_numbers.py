"""Numbers as elements, operands and factors: what each dtype takes, beside PyTorch where it is installed."""
import pytest

import fasttensor as torch
from helpers import oracle

NUMBERS = (0, -1, 127, 128, -129, -255, 256, 300, 70000, 2**31, 2**40, 2**63, 2**64, -2**63 - 1, 1.5, -0.5, 255.5, 65520.0, 1e10, 1e20, 3.4e38, 1e39,
           float("inf"), float("nan"), True, 1 + 0j, 1 + 2j)
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "bfloat16", "float16", "float32", "float64", "complex64")


def x(t, d):
    return t.zeros(2, 2, dtype=getattr(t, d))


def write(t, d, index, value):
    made = x(t, d)
    made[index] = value
    return made


WAYS = {
    "x[0] = v": lambda t, d, v: write(t, d, 0, v),
    "x[0, 1] = v": lambda t, d, v: write(t, d, (0, 1), v),
    "x[[0]] = v": lambda t, d, v: write(t, d, [0], v),
    "x[mask] = v": lambda t, d, v: write(t, d, t.tensor([True, False]), v),
    "fill_": lambda t, d, v: x(t, d).fill_(v),
    "full": lambda t, d, v: t.full((2,), v, dtype=getattr(t, d)),
    "full_like": lambda t, d, v: t.full_like(x(t, d), v),
    "tensor": lambda t, d, v: t.tensor([v], dtype=getattr(t, d)),
    "masked_fill": lambda t, d, v: x(t, d).masked_fill(t.tensor([True, False]), v),
    "scatter": lambda t, d, v: x(t, d).scatter(0, t.tensor([[0, 1]]), v),
    "where": lambda t, d, v: t.where(t.tensor([True, False]), x(t, d), v),
    "constant_pad_nd": lambda t, d, v: t.constant_pad_nd(x(t, d), (1, 1), v),
    "mul": lambda t, d, v: x(t, d) * v,
    "floor_divide": lambda t, d, v: (x(t, d) + 1) // v,
    "pow_": lambda t, d, v: x(t, d).pow_(v),
    "clamp": lambda t, d, v: t.clamp(x(t, d), v),
    "eq": lambda t, d, v: x(t, d) == v,
    "add alpha": lambda t, d, v: t.add(x(t, d), x(t, d), alpha=v),
    "addmm alpha": lambda t, d, v: t.addmm(x(t, d), x(t, d), x(t, d), alpha=v),
    "addmv beta": lambda t, d, v: t.addmv(x(t, d)[0], x(t, d), x(t, d)[0], beta=v),
    "index_add alpha": lambda t, d, v: t.index_add(x(t, d), 0, t.tensor([0, 1]), x(t, d), alpha=v),
}
# complex32 and unsigned 64-bit results are PyTorch's alone, and bounds that are complex are refused here at once
APART = {("where", 2**63), ("clamp", 2**64), ("clamp", -2**63 - 1), ("clamp", 1 + 0j), ("clamp", 1 + 2j), ("mul", 2**63), ("eq", 2**63)}


def outcome(way, t, d, v):
    try:
        made = WAYS[way](t, d, v)
        return str(made.dtype), [repr(v) for v in made.flatten().tolist()]
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("way", WAYS)
def test_as_pytorch(way):
    for d in DTYPES[way.startswith("addm"):]:         # products of bool are another family's
        for v in NUMBERS:
            if (way, v) not in APART and not (d == "float16" and isinstance(v, complex)):
                assert outcome(way, torch, d, v) == outcome(way, oracle(), d, v), (way, d, v)


@pytest.mark.parametrize("way", ["x[0] = v", "fill_", "full", "masked_fill", "scatter", "clamp", "add alpha"])
def test_overflow_is_refused(way):
    for d, v in (("int8", 300), ("uint8", 256), ("int16", -2**15 - 1), ("int32", 2**31), ("float32", 1e39)):
        with pytest.raises(RuntimeError, match=f"value cannot be converted to type {d} without overflow"):
            WAYS[way](torch, d, v)


def test_operands_wrap():
    assert (torch.tensor([1], dtype=torch.int8) + 300).tolist() == [45]
    assert (torch.tensor([1.0]) + 1e39).tolist() == [float("inf")]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.tensor([1], dtype=torch.int8) // 256


def test_factors():
    big = 2**60 + 1
    assert torch.add(torch.tensor([0]), torch.tensor([1]), alpha=big).tolist() == [big]
    assert torch.add(torch.tensor([1j]), torch.tensor([1 + 0j]), alpha=2j).tolist() == [3j]
    with pytest.raises(RuntimeError, match="add: For integral input tensors, argument alpha must not be a floating point number"):
        torch.add(torch.tensor([1]), torch.tensor([1]), alpha=1.5)
    with pytest.raises(RuntimeError, match="Boolean alpha only supported for Boolean results"):
        torch.sub(torch.tensor([1.0]), torch.tensor([1.0]), alpha=True)


@pytest.mark.parametrize("value", [[1.0, 2.0], (1, 2), "a", None, range(2)])
def test_only_numbers_and_tensors_are_assigned(value):
    with pytest.raises(TypeError, match="can't assign a .* to a torch.FloatTensor"):
        torch.zeros(2, 2)[0] = value
