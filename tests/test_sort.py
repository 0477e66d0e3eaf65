"""sort, topk, kthvalue, median: order, ties, NaN, dtypes, long and short rows."""
import random

import pytest

import fasttensor as ft
from fasttensor.autograd import gradcheck, gradgradcheck
from helpers import assert_close, from_oracle, oracle, to_lists

NAN, INF = float("nan"), float("inf")
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


def numbers(n, seed=0, low=-100, high=100):
    rng = random.Random(seed)
    return [rng.randrange(low, high) for _ in range(n)]


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 17, 49, 300, 20000])
def test_sort_is_stable(name, n):
    low = 0 if name in ("bool", "uint8") else -100
    x = ft.tensor(numbers(n, low=low)).to(getattr(ft, name))
    keys = to_lists(x)
    for descending in (False, True):
        values, indices = ft.sort(x, descending=descending, stable=True)
        expected = sorted(range(n), key=lambda i: (-keys[i] if descending else keys[i]))
        assert to_lists(indices) == expected
        assert to_lists(values) == [keys[i] for i in expected]
        if n > 63 and name != "bool":       # shorter rows have PyTorch's order
            k = (n + 1) // 2
            assert to_lists(ft.topk(x, k, largest=descending)[1]) == expected[:k]


def test_nan_is_the_greatest_and_zeros_are_equal():
    x = ft.tensor([NAN, 0.0, -0.0, INF, -INF, NAN, 1.0])
    assert to_lists(x.sort()[1]) == [4, 1, 2, 6, 3, 0, 5]
    assert to_lists(x.sort(descending=True)[1]) == [0, 5, 3, 6, 1, 2, 4]
    assert str(to_lists(x.sort()[0])[2]) == "-0.0"
    assert to_lists(x.topk(3)[1])[2] == 3
    assert to_lists(x.median()) != to_lists(x.median()), "a NaN is the median"
    assert to_lists(x.nanmedian()) == 0.0


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("name", ["float32", "int64", "float64"])
def test_dims_and_strides(dim, name):
    torch = oracle()
    base = torch.tensor(numbers(4 * 30 * 6)).reshape(4, 30, 6).to(getattr(torch, name))
    for x in (base, base.transpose(0, 2), base[:, ::3]):
        y = from_oracle(base) if x is base else from_oracle(base).transpose(0, 2) if x.shape[0] == 6 else from_oracle(base)[:, ::3]
        size = x.shape[dim]
        expected = torch.sort(x, dim=dim, stable=True)
        actual = ft.sort(y, dim=dim)
        assert_close(actual[0], expected[0])
        assert_close(actual[1], expected[1])
        k = size // 2
        assert_close(y.topk(k, dim)[0], x.topk(k, dim)[0])
        assert_close(y.kthvalue(k + 1, dim)[0], x.kthvalue(k + 1, dim)[0])
        assert_close(y.median(dim, True)[1], x.median(dim, True)[1])


@pytest.mark.parametrize("n", [3, 20, 63])
def test_short_rows_choose_among_equals_as_pytorch(n):
    torch = oracle()
    for seed in range(20):
        x = torch.tensor(numbers(n, seed, 0, 6))
        y = from_oracle(x)
        for k in (1, n // 2, n):
            assert_close(y.topk(k)[1], x.topk(k)[1])
            assert_close(y.topk(k, largest=False)[1], x.topk(k, largest=False)[1])
            if k:
                assert_close(y.kthvalue(k)[1], x.kthvalue(k)[1])


@pytest.mark.parametrize("dtype", [ft.float32, ft.int64])
@pytest.mark.parametrize("order", ["random", "rising", "falling", "equal"])
@pytest.mark.parametrize("n", [200, 30000])
def test_topk_of_long_rows(order, dtype, n):
    values = {"random": numbers(n, 1, -10 ** 6, 10 ** 6), "rising": list(range(n)), "falling": list(range(n, 0, -1)), "equal": [7] * n}[order]
    x = ft.tensor(values, dtype=dtype)
    for k in {1, 5, min(n, 300), min(n, 9000), n}:
        for largest in (True, False):
            got, at = x.topk(k, largest=largest)
            assert to_lists(got) == sorted(values, reverse=largest)[:k]
            assert to_lists(x[at]) == to_lists(got)
            assert len(set(to_lists(at))) == k


def test_large_integers_keep_their_digits():
    x = ft.tensor([2 ** 62, 2 ** 62 + 1, -2 ** 63, 2 ** 63 - 1, 2 ** 62])
    assert to_lists(x.sort()[1]) == [2, 0, 4, 1, 3]
    assert x.kthvalue(4)[0].item() == 2 ** 62 + 1


def test_empty_and_scalar():
    assert ft.sort(ft.zeros(0))[0].shape == (0,)
    assert ft.zeros(3, 0).topk(0)[0].shape == (3, 0)
    assert ft.tensor(4.0).sort()[0].item() == 4.0
    assert ft.zeros(0, 3).sort(1)[1].dtype is ft.int64
    assert ft.zeros(0).median().item() != 0


@pytest.mark.parametrize("call, kind", [
    (lambda: ft.sort(ft.zeros(2, dtype=ft.complex64)), RuntimeError), (lambda: ft.zeros(3).topk(4), RuntimeError),
    (lambda: ft.zeros(3).kthvalue(0), RuntimeError), (lambda: ft.zeros(3).sort(1), IndexError),
    (lambda: ft.zeros(2, 0).kthvalue(1), IndexError), (lambda: ft.zeros(2, 0).median(1), IndexError)])
def test_errors(call, kind):
    with pytest.raises(kind):
        call()


@pytest.mark.parametrize("function", [
    lambda x: x.sort(1, True)[0], lambda x: x.topk(2, 0)[0], lambda x: x.kthvalue(2, 1)[0], lambda x: x.median(1)[0],
    lambda x: x.median(), lambda x: x.msort(), lambda x: x.nanmedian(0)[0]])
def test_gradients(function):
    x = ft.tensor([v * 0.31 for v in range(20)], dtype=ft.float64)[ft.tensor([(7 * i) % 20 for i in range(20)])]
    x = x.reshape(4, 5).requires_grad_()
    assert gradcheck(function, (x,))
    assert gradgradcheck(function, (x,))


def test_named_results_and_out():
    found = ft.sort(ft.tensor([2, 1]))
    assert to_lists(found.values) == [1, 2] and to_lists(found.indices) == [1, 0]
    values, indices = ft.empty(0, dtype=ft.int64), ft.empty(0, dtype=ft.int64)
    ft.topk(ft.tensor([3, 1, 2]), 2, out=(values, indices))
    assert to_lists(values) == [3, 2] and to_lists(indices) == [0, 2]
