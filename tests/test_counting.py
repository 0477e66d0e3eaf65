"""Counting, cross products and outer products: against PyTorch over sizes and dtypes, and kept values."""
import pytest
from helpers import assert_close, from_oracle, oracle

import fasttensor as ft

NAN = float("nan")


@pytest.mark.parametrize("n, largest", [(1, 1), (7, 3), (100, 100), (50_000, 100), (50_000, 40_000)])
def test_bincount(n, largest):
    torch = oracle()
    x, w = torch.randint(0, largest, (n,)), torch.rand(n)
    small = (x % 1000).to(torch.int16)
    assert torch.bincount(x).tolist() == ft.bincount(from_oracle(x)).tolist()
    assert torch.bincount(small, minlength=7).tolist() == ft.bincount(from_oracle(small), minlength=7).tolist()
    assert_close(ft.bincount(from_oracle(x), from_oracle(w)), torch.bincount(x, w))


def test_bincount_kept_values():
    assert ft.bincount(ft.tensor([1, 1, 3] * 20)).tolist() == [0, 40, 0, 20]
    assert ft.bincount(ft.tensor([2, 0], dtype=ft.uint8), ft.tensor([0.5, 2.0])).tolist() == [2, 0, 0.5]
    assert ft.bincount(ft.tensor([], dtype=ft.int64), minlength=2).tolist() == [0, 0]
    for bad in (ft.tensor([1, -1]), ft.tensor([[1]]), ft.tensor([1.0])):
        with pytest.raises(RuntimeError, match="non-negative integral"):
            ft.bincount(bad)


def test_histograms_between_given_edges():
    torch = oracle()
    x = torch.randn(5000)
    x[:3] = torch.tensor([NAN, 2.0, -2.0])
    points, weight = torch.randn(5000, 3), torch.rand(5000)
    even, uneven = torch.linspace(-2, 2, 33), torch.tensor([-1.0, 0.0, 0.0, 0.5, 2.0])
    for edges in (even, uneven):
        assert torch.histogram(x, edges).hist.tolist() == ft.histogram(from_oracle(x), from_oracle(edges)).hist.tolist()
    for options in ({}, {"range": [-1.0, 1.0, -2.0, 2.0, 0.0, 1.0]}, {"density": True}, {"weight": weight}):
        want = torch.histogramdd(points, [5, 6, 7], **options)
        got = ft.histogramdd(from_oracle(points), [5, 6, 7], **{k: from_oracle(v) for k, v in options.items()})
        assert_close(got.hist, want.hist)
        for a, b in zip(got.bin_edges, want.bin_edges):
            assert_close(a, b)
    want = torch.histogramdd(points, [even, uneven, even]).hist
    assert_close(ft.histogramdd(from_oracle(points), [from_oracle(e) for e in (even, uneven, even)]).hist, want)


def test_histograms_kept_values():
    edges = ft.tensor([0.0, 1.0, 1.5, 4.0])
    assert ft.histogram(ft.tensor([0.0, 1.0, 4.0, 4.5, -1.0, NAN, 1.4]), edges).hist.tolist() == [1, 2, 1]
    points = ft.tensor([[0.0, 0.0], [1.0, 1.0], [0.6, 0.2], [0.0, 3.0]])
    assert ft.histogramdd(points, [2, 3]).hist.tolist() == [[1, 0, 1], [1, 1, 0]]
    assert ft.histogramdd(points, [edges, edges]).hist.tolist() == [[2, 0, 1], [0, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape, dim", [((5, 3), 1), ((3, 5), 0), ((2, 3, 7), 1), ((3000, 3), -1), ((3, 3000), 0), ((0, 3), 1), ((3,), 0)])
def test_cross(shape, dim, dtype):
    torch = oracle()
    kind = getattr(torch, dtype)
    if kind.is_floating_point or kind.is_complex:
        a, b = torch.randn(shape, dtype=kind), torch.randn(shape, dtype=kind)
    else:
        a, b = torch.randint(0, 9, shape).to(kind), torch.randint(0, 9, shape).to(kind)
    want, got = torch.linalg.cross(a, b, dim=dim), ft.linalg.cross(from_oracle(a), from_oracle(b), dim=dim)
    assert_close(got, want, **({"atol": 2e-2} if dtype == "float16" else {}))


def test_cross_kept_values_and_gradients():
    a, b = ft.tensor([[1.0, 2.0, 3.0]], requires_grad=True), ft.tensor([[-1.0, 0.5, 2.0]], requires_grad=True)
    c = ft.cross(a, b, dim=1)
    assert c.tolist() == [[2.5, -5.0, 2.5]] and ft.cross(a.T, b.T).tolist() == [[2.5], [-5.0], [2.5]]
    c.backward(ft.tensor([[1.0, 0.0, 0.0]]))
    assert a.grad.tolist() == [[0.0, 2.0, -0.5]] and b.grad.tolist() == [[0.0, -3.0, 2.0]]
    x = ft.randn(2, 1, 3, dtype=ft.complex128, requires_grad=True), ft.randn(1, 4, 3, dtype=ft.complex128, requires_grad=True)
    assert ft.autograd.gradcheck(ft.linalg.cross, x) and ft.autograd.gradgradcheck(ft.linalg.cross, x)
    with pytest.raises(RuntimeError):
        ft.cross(ft.ones(3, dtype=ft.bool), ft.ones(3, dtype=ft.bool))


@pytest.mark.parametrize("equation, p, q", [
    ("i,j->ij", (5,), (6,)), ("i,j->ji", (5,), (6,)), ("ab,cd->acbd", (2, 3), (4, 5)), ("ij,jk->ik", (3, 1), (1, 4)),
    ("bij,bjk->bik", (2, 3, 1), (2, 1, 4)), ("i,i->", (1,), (1,)), ("ab,c->cab", (2, 0), (3,))])
def test_einsum_of_outer_products(equation, p, q):
    torch = oracle()
    a, b = torch.randn(p, dtype=torch.float64), torch.randn(q, dtype=torch.float64)
    ours = from_oracle(a).requires_grad_(), from_oracle(b).requires_grad_()
    assert_close(ft.einsum(equation, *ours), torch.einsum(equation, a, b))
    assert ft.autograd.gradcheck(lambda x, y: ft.einsum(equation, x, y), ours)


def test_outer_products_kept_values():
    x, y = ft.tensor([1.0, 2.0]), ft.tensor([3.0, -1.0])
    assert ft.einsum("i,j->ij", x, y).tolist() == [[3, -1], [6, -2]]
    assert ft.addr(ft.ones(2), x, y, alpha=2).tolist() == [[7, -1], [13, -3]]
    m = [ft.ones(2, 3), ft.ones(3, 4), ft.ones(4, 5)]
    assert ft.linalg.multi_dot(m).tolist() == [[12.0] * 5] * 2


def test_statistics_of_native_norms():
    x = ft.tensor([[[1.0, 3.0], [2.0, 6.0]]], requires_grad=True)
    y, mean, rstd = ft.native_layer_norm(x, (2,), None, None, 0.0)
    assert mean.tolist() == [[[2.0], [4.0]]] and rstd.tolist() == [[[1.0], [0.5]]] and not mean.requires_grad
    assert ft.autograd.grad(y, x, ft.tensor([[[1.0, 0.0], [0.0, 0.0]]]))[0].tolist() == [[[0.0, 0.0], [0.0, 0.0]]]
    y, mean, rstd = ft.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)
    assert mean.tolist() == [2.0, 4.0] and rstd.tolist() == [1.0, 0.5] and y.requires_grad
    for recorded in (x, x.detach()):
        y, mean, rstd = ft.native_group_norm(recorded, None, None, 1, 2, 2, 1, 0.0)
        assert mean.tolist() == [[3.0]] and rstd.item() == pytest.approx(3.5 ** -0.5)


@pytest.mark.parametrize("shape", [(512, 512), (7, 130), (1000, 3), (5, 200)])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_batch_norm_of_rows_keeps_its_digits(shape, offset):
    torch = oracle()
    torch.manual_seed(0)
    x, g, w, b = (torch.randn(shape) + offset), torch.randn(shape), torch.rand(shape[1]), torch.rand(shape[1])
    wide, ours = x.double().requires_grad_(), from_oracle(x).requires_grad_()
    want = torch.nn.functional.batch_norm(wide, None, None, w.double(), b.double(), True)
    got = ft.nn.functional.batch_norm(ours, None, None, from_oracle(w), from_oracle(b), True)
    want.backward(g.double())
    got.backward(from_oracle(g))
    bound = 3e-6 + 6e-7 * offset
    assert float((got.double() - from_oracle(want.detach())).abs().max()) < bound
    assert float((ours.grad.double() - from_oracle(wide.grad)).abs().max()) < bound


def test_vander_and_tensordot():
    torch = oracle()
    for x in (torch.randn(7, dtype=torch.float64), torch.randint(-3, 4, (6,))):
        for n in (0, 1, 2, 5, None):
            for rising in (False, True):
                want, got = torch.vander(x, n, rising), ft.vander(from_oracle(x), n, rising)
                assert tuple(got.shape) == tuple(want.shape)
                assert_close(got, want)
    v = ft.tensor([0.0, 1.5, -2.0], dtype=ft.float64, requires_grad=True)
    assert ft.linalg.vander(v, N=4).tolist() == [[1, 0, 0, 0], [1, 1.5, 2.25, 3.375], [1, -2, 4, -8]]
    assert ft.autograd.gradcheck(lambda t: ft.linalg.vander(t, N=4), (v,)) and ft.autograd.gradgradcheck(lambda t: ft.linalg.vander(t, N=4), (v,))
    a, b = torch.randn(3, 4, 5, 2, dtype=torch.float64), torch.randn(4, 5, 3, 2, dtype=torch.float64)
    for dims in (0, ([1, 2], [0, 1]), ([0, -1], [2, 3]), ([3], [3]), ([], [])):
        assert_close(ft.tensordot(from_oracle(a), from_oracle(b), dims), torch.tensordot(a, b, dims))
    assert_close(ft.tensordot(from_oracle(a[:, :1]), from_oracle(b), ([1, 2], [0, 1])), torch.tensordot(a[:, :1], b, ([1, 2], [0, 1])))
    assert ft.tensordot(ft.tensor([[1.0, 2.0]]), ft.tensor([[3.0], [4.0]]), 1).tolist() == [[11.0]]
    for dims in (1, ([0, 0], [0, 2]), ([4], [0])):
        with pytest.raises((RuntimeError, IndexError)):
            ft.tensordot(from_oracle(a), from_oracle(b), dims)


def test_bins_that_are_subnormally_narrow():
    counts, _ = ft.histogram(ft.zeros(5, dtype=ft.float64), 10, range=(0.0, 5e-324))
    assert counts.sum() == 5
