"""cat, stack and their kin, rearrangements, small statistics: values, views, gradients, errors."""
import pytest

import fasttensor as ft
from fasttensor.autograd import gradcheck, gradgradcheck
from helpers import assert_close, from_oracle, oracle, to_lists

X = [[1, 2, 3], [4, 5, 6]]


def leaf(*shape):
    n = ft.Size(shape).numel()
    return (ft.arange(float(n), dtype=ft.float64) * 0.7 % 3.1 - 1).reshape(shape).requires_grad_()


def test_cat():
    x = ft.tensor(X)
    assert to_lists(ft.cat([x, x[:, :1]], 1)) == [[1, 2, 3, 1], [4, 5, 6, 4]]
    assert to_lists(ft.cat([x.t(), x.t()], -1)) == [[1, 4, 1, 4], [2, 5, 2, 5], [3, 6, 3, 6]]
    assert ft.cat([x, x.float()]).dtype is ft.float32
    assert to_lists(ft.cat([ft.zeros(0), ft.ones(1, 2)], 1)) == [[1, 1]], "an empty vector fits every shape"
    assert ft.cat([ft.zeros(0, 3), ft.ones(2, 3)]).shape == (2, 3)
    out = ft.empty(0)
    assert ft.cat([ft.ones(1), ft.zeros(1)], out=out) is out and to_lists(out) == [1, 0]


def test_cat_of_large_pieces_at_any_thread_count():
    parts = [ft.randn(300, 70 + i) for i in range(4)]
    expected = [sum((to_lists(p)[r] for p in parts), []) for r in range(300)]
    for threads in (1, 2):
        ft.set_num_threads(threads)
        assert to_lists(ft.cat(parts, 1)) == expected
        assert ft.equal(ft.cat([p.t() for p in parts], 0), ft.cat(parts, 1).t())


def test_stack_and_names():
    a, b = ft.tensor([1, 2]), ft.tensor([3, 4])
    assert to_lists(ft.stack([a, b], 1)) == [[1, 3], [2, 4]]
    assert to_lists(ft.hstack([a, b])) == [1, 2, 3, 4] and to_lists(ft.vstack([a, b])) == [[1, 2], [3, 4]]
    assert to_lists(ft.dstack([a, b])) == [[[1, 3], [2, 4]]] and to_lists(ft.column_stack([a, b])) == [[1, 3], [2, 4]]
    assert to_lists(ft.block_diag(a, ft.tensor([[5]]))) == [[1, 2, 0], [0, 0, 5]]
    assert to_lists(ft.cartesian_prod(a, b)) == [[1, 3], [1, 4], [2, 3], [2, 4]]
    assert to_lists(ft.combinations(ft.tensor([1, 2, 3]), 2)) == [[1, 2], [1, 3], [2, 3]]
    assert [g.shape for g in ft.meshgrid(a, ft.arange(3), indexing="xy")] == [(3, 2), (3, 2)]
    assert [p.shape[0] for p in ft.arange(7).tensor_split(3)] == [3, 2, 2]
    assert [to_lists(p) for p in ft.arange(4).tensor_split((1, 3))] == [[0], [1, 2], [3]]


@pytest.mark.parametrize("call, kind", [
    (lambda: ft.cat([]), ValueError), (lambda: ft.cat([ft.zeros(2), ft.zeros(2, 2)]), RuntimeError),
    (lambda: ft.cat([ft.zeros(2, 2), ft.zeros(2, 3)]), RuntimeError), (lambda: ft.cat([ft.tensor(1.0)]), RuntimeError),
    (lambda: ft.cat([ft.zeros(2)], 1), IndexError), (lambda: ft.cat(ft.zeros(2)), TypeError), (lambda: ft.cat([ft.zeros(2), 1]), TypeError),
    (lambda: ft.stack([ft.zeros(2), ft.zeros(3)]), RuntimeError), (lambda: ft.stack([ft.zeros(2)], 3), IndexError),
    (lambda: ft.zeros(3).hsplit(2), RuntimeError), (lambda: ft.zeros(3).tril(), RuntimeError), (lambda: ft.zeros(3).repeat(-1), RuntimeError),
    (lambda: ft.zeros(2, 2).repeat(2), RuntimeError), (lambda: ft.zeros(2).flip(0, 0), RuntimeError), (lambda: ft.zeros(2).roll((1, 2), 0), RuntimeError),
    (lambda: ft.zeros(2).repeat_interleave(ft.tensor([1, 2, 3])), RuntimeError), (lambda: ft.trace(ft.zeros(2)), RuntimeError),
    (lambda: ft.cross(ft.zeros(2), ft.zeros(2)), RuntimeError), (lambda: ft.select_scatter(ft.zeros(2, 2), ft.zeros(3), 0, 0), RuntimeError)])
def test_errors(call, kind):
    with pytest.raises(kind):
        call()


def test_rearranging():
    x = ft.tensor(X)
    assert to_lists(x.flip(0, 1)) == [[6, 5, 4], [3, 2, 1]] and to_lists(x.fliplr()) == [[3, 2, 1], [6, 5, 4]]
    assert to_lists(x.roll(1)) == [[6, 1, 2], [3, 4, 5]] and to_lists(x.roll((1, -1), (0, 1))) == [[5, 6, 4], [2, 3, 1]]
    assert to_lists(x.rot90()) == [[3, 6], [2, 5], [1, 4]]
    assert to_lists(x.repeat(1, 2)) == [[1, 2, 3, 1, 2, 3], [4, 5, 6, 4, 5, 6]] and x.repeat(2, 1, 1).shape == (2, 2, 3)
    assert to_lists(x.repeat_interleave(ft.tensor([1, 0, 2]), 1)) == [[1, 3, 3], [4, 6, 6]]
    assert to_lists(x.tril(1)) == [[1, 2, 0], [4, 5, 6]] and to_lists(x.triu(-1)) == X
    assert to_lists(x.diag()) == [1, 5] and to_lists(ft.diag(ft.tensor([1, 2]), -1)) == [[0, 0, 0], [1, 0, 0], [0, 2, 0]]
    assert to_lists(x.select_scatter(ft.tensor([7, 8]), 1, 0)) == [[7, 2, 3], [8, 5, 6]]
    assert to_lists(ft.unravel_index(ft.tensor(5), (2, 3))[0]) == 1
    y = x.clone()
    assert y.tril_() is y and to_lists(y) == [[1, 0, 0], [4, 5, 0]]


@pytest.mark.parametrize("name", ["bool", "uint8", "float16", "bfloat16", "float64", "complex64", "int64"])
def test_large_rearrangements_match_pytorch(name):
    torch = oracle()
    x = (torch.arange(60 * 90 * 3).reshape(60, 90, 3) % 7).to(getattr(torch, name))
    y = from_oracle(x)
    for a, b in ((x, y), (x.transpose(0, 2), y.transpose(0, 2))):
        assert_close(b.flip(0, 2), a.flip(0, 2))
        assert_close(b.roll(7, 1), a.roll(7, 1))
        assert_close(b.tril(2), a.tril(2))
        assert_close(b.triu(-1), a.triu(-1))
        assert_close(b.repeat(2, 1, 2), a.repeat(2, 1, 2))


def test_comparisons():
    nan = float("nan")
    assert ft.equal(ft.tensor([0.0]), ft.tensor([-0.0])) and not ft.equal(ft.tensor([nan]), ft.tensor([nan]))
    assert not ft.equal(ft.zeros(2), ft.zeros(3))
    big = ft.randn(5000)
    other = big.clone()
    other[4999] += 1
    assert ft.equal(big, big.clone()) and not ft.equal(big, other)
    assert ft.allclose(ft.tensor([1.0, nan]), ft.tensor([1.0 + 1e-7, nan]), equal_nan=True)
    assert not ft.isclose(ft.tensor(float("inf")), ft.tensor(-float("inf"))).item()


CASES = {
    "cat": (lambda a, b: ft.cat([a, b], 1), (4, 5), (4, 2)), "stack": (lambda a, b: ft.stack([a, b], 1), (2, 3), (2, 3)),
    "block_diag": (lambda a, b: ft.block_diag(a, b), (2, 2), (3,)), "flip": (lambda x: x.flip(0, 1), (2, 3)),
    "roll": (lambda x: x.roll((1, 2), (0, 1)), (2, 3)), "rot90": (lambda x: x.rot90(), (2, 3)), "repeat": (lambda x: x.repeat(2, 1, 3), (2, 3)),
    "repeat_interleave": (lambda x: x.repeat_interleave(ft.tensor([1, 0, 2]), 1), (2, 3)), "interleave 2": (lambda x: x.repeat_interleave(2, 1), (2, 3)),
    "tril": (lambda x: x.tril(-1), (3, 4)), "triu": (lambda x: x.triu(1), (3, 4)), "diag": (lambda x: x.diag(1), (3, 4)),
    "diag vector": (lambda x: x.diag(1), (3,)), "diag_embed": (lambda x: x.diag_embed(1, 0, 2), (2, 3)),
    "diagonal_scatter": (lambda x, v: x.diagonal_scatter(v, 1), (3, 4), (3,)), "select_scatter": (lambda x, v: x.select_scatter(v, 1, 2), (3, 4), (3,)),
    "slice_scatter": (lambda x, v: x.slice_scatter(v, 1, 0, 4, 2), (3, 4), (3, 2)),
    "as_strided_scatter": (lambda x, v: x.as_strided_scatter(v, (2, 2), (4, 2), 1), (3, 4), (2, 2)),
    "cov": (lambda x: x.cov(), (3, 4)), "corrcoef": (lambda x: x.corrcoef(), (3, 4)), "cross": (lambda a, b: a.cross(b, dim=1), (2, 3), (2, 3)),
    "vander": (lambda x: ft.vander(x, 4), (3,)), "trace": (lambda x: x.trace(), (3, 4)),
    "meshgrid": (lambda a, b: ft.meshgrid(a, b, indexing="xy")[0] * 2, (2,), (3,)), "combinations": (lambda x: ft.combinations(x), (4,)),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    function, *shapes = CASES[name]
    inputs = tuple(leaf(*s) for s in shapes)
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


def test_segments():
    x = ft.tensor([[1., 2.], [5., 6.], [3., 4.]])
    sizes = ft.tensor([2, 0, 1])
    assert to_lists(ft.segment_reduce(x, "sum", lengths=sizes)) == [[6, 8], [0, 0], [3, 4]]
    assert to_lists(ft.segment_reduce(x, "max", lengths=sizes, initial=0)) == [[5, 6], [0, 0], [3, 4]]
    assert to_lists(ft.segment_reduce(x, "mean", offsets=ft.tensor([0, 2, 3]))) == [[3, 4], [3, 4]]
    assert to_lists(ft.segment_reduce(x, "prod", lengths=ft.tensor([[1, 1]] * 3), axis=1)) == [[1, 2], [5, 6], [3, 4]]
    for bad in (ft.tensor([1, 1]), ft.tensor([-1, 4]), ft.tensor([[3]])):
        with pytest.raises(RuntimeError, match="lengths"):
            ft.segment_reduce(x, "sum", lengths=bad)


def test_copies_of_views_and_diagonals():
    x = ft.arange(6).reshape(2, 3)
    y = ft.permute_copy(x, (1, 0))
    assert to_lists(y) == [[0, 3], [1, 4], [2, 5]] and y.data_ptr() != x.data_ptr()
    assert [to_lists(p) for p in ft.unbind_copy(x)] == X2
    assert to_lists(ft.zeros(4, 2).fill_diagonal_(1, wrap=True)) == to_lists(oracle().zeros(4, 2).fill_diagonal_(1, wrap=True))
    assert to_lists(ft.nonzero_static(x, size=1)) == [[0, 1]]
    assert ft.broadcast_shapes((2, 1), 3) == (2, 3)
    assert to_lists(reversed(x)) == [[3, 4, 5], [0, 1, 2]]


X2 = [[0, 1, 2], [3, 4, 5]]


def test_coordinates_of_what_is_no_position():
    for indices, shape, error in ((ft.ones(2), (2, 3), TypeError), (ft.tensor([1]), (2, 0.5), TypeError), (ft.tensor([1]), (-2, 3), ValueError)):
        with pytest.raises(error, match="unravel_index"):
            ft.unravel_index(indices, shape)


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("n, r", [(0, 2), (1, 1), (1, 2), (3, 4), (6, 1), (6, 2), (6, 3), (7, 5), (60, 2)])
def test_combinations_are_those_of_itertools(n, r, repeated):
    import itertools
    choose = itertools.combinations_with_replacement if repeated else itertools.combinations
    got = ft.combinations(ft.arange(n) * 3, r, repeated)
    assert got.tolist() == [[3 * i for i in row] for row in choose(range(n), r)] and got.shape[1] == r
    x = ft.ones(n).requires_grad_()
    if got.shape[0]:
        ft.combinations(x, r, repeated).sum().backward()
        assert x.grad.sum() == got.numel()


def test_blocks_on_a_diagonal():
    a, b = ft.ones(2, 1).requires_grad_(), ft.full((3,), 2, dtype=ft.int64)
    y = ft.block_diag(a, b, ft.tensor(5.0), ft.zeros(0, 2))
    assert y.tolist() == [[1, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0], [0, 2, 2, 2, 0, 0, 0], [0, 0, 0, 0, 5, 0, 0]]
    y.backward(ft.arange(28.0).view(4, 7))
    assert a.grad.tolist() == [[0], [7]]
    z = ft.ones(1, 2).requires_grad_()
    ft.block_diag(z, ft.ones(1, 1, dtype=ft.complex64)).abs().sum().backward()
    assert z.grad.tolist() == [[1, 1]] and z.grad.dtype is ft.float32
    assert ft.func.vmap(ft.block_diag)(ft.ones(3, 1, 2)).shape == (3, 1, 2)
