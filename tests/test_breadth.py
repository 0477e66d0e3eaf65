"""What sweeps of the operator database over strides, empty and 0-d inputs, forms and second derivatives found, as literals."""
import math

import pytest

import fasttensor as ft

NAN = math.nan


def test_gradient_of_a_view_outside_of_its_base():
    """as_strided may reach elements before, behind and between those of the tensor it is given."""
    def gradient(x, *geometry):
        x = x.detach().requires_grad_()
        return ft.autograd.grad(x.as_strided(*geometry).sum(), x)[0].tolist()
    assert gradient(ft.arange(9.0)[1::2], (2,), (1,), 0) == [1, 0, 0, 0]
    assert gradient(ft.zeros(3)[1:2], (1,), (1,), 0) == [0]
    assert gradient(ft.zeros(4096)[1:2], (4096,), (1,), 0) == [1]
    assert gradient(ft.zeros(3, 3)[:, 1:], (3, 3), (3, 1), 0) == [[1, 1]] * 3
    x = ft.arange(9.0)[4:6].detach().requires_grad_()
    first, = ft.autograd.grad((x.as_strided((9,), (1,), 0) ** 3).sum(), x, create_graph=True)
    assert first.tolist() == [48, 75] and ft.autograd.grad(first.sum(), x)[0].tolist() == [24, 30]


def test_second_derivatives():
    for function in (ft.special.i1, ft.special.i1e):
        x = ft.zeros(1, dtype=ft.float64, requires_grad=True)
        first, = ft.autograd.grad(function(x), x, create_graph=True)
        assert first.item() == 0.5 and ft.autograd.grad(first, x)[0].item() == 0
    a, b = ft.zeros(5, 5, 0, requires_grad=True), ft.zeros(0, 5, requires_grad=True)
    assert [tuple(g.shape) for g in ft.autograd.grad((a @ b).sum(), (a, b), create_graph=True)] == [(5, 5, 0), (0, 5)]


def test_real_values_do_not_fit_complex_memory():
    with pytest.raises(RuntimeError, match="In-place abs is not supported for complex"):
        ft.tensor([3 + 4j]).abs_()
    assert ft.tensor([3 + 4j]).abs().tolist() == [5]


def test_transposes_of_no_and_one_dimension():
    x = ft.tensor(2 + 1j)
    assert x.mT.item() == 2 + 1j and x.mH.item() == x.adjoint().item() == 2 - 1j
    for read in (lambda t: t.mT, lambda t: t.mH, lambda t: t.H, lambda t: t.adjoint()):
        with pytest.raises(RuntimeError, match="1-D"):
            read(ft.ones(2))


def test_index_put_with_one_truth_value():
    x = ft.zeros(3)
    yes, no = ft.tensor(True), ft.tensor(False)
    assert x.index_put((yes,), ft.tensor(1.0)).tolist() == [1, 1, 1] and x.index_put((no,), ft.tensor(1.0)).tolist() == [0, 0, 0]
    assert x.index_put((yes,), ft.tensor([1.0, 2, 3]), accumulate=True).tolist() == [1, 2, 3]
    assert ft.zeros(2, 2).index_put((ft.tensor([0, 1]), yes), ft.tensor(1.0)).tolist() == [[1, 1], [1, 1]]
    with pytest.raises(IndexError):
        ft.tensor(0.0).index_put((yes,), ft.tensor(1.0))


def test_padding_without_channels():
    pad = ft.nn.functional.pad
    assert pad(ft.zeros(2, 0, 4), (1, 1), "circular").shape == (2, 0, 6) and pad(ft.zeros(0, 2, 4), (1, 1), "reflect").shape == (0, 2, 6)
    for mode in ("reflect", "replicate"):
        for shape in ((0, 4), (2, 0, 4)):
            with pytest.raises(RuntimeError, match="non-zero"):
                pad(ft.zeros(shape), (1, 1), mode)


@pytest.mark.parametrize("x, index, source, add, copy", [
    ((), (), (), None, None), ((), (1,), (1,), RuntimeError, None), ((), (1,), (2,), RuntimeError, IndexError),
    ((3,), (1,), (), RuntimeError, None), ((3,), (2,), (), IndexError, IndexError), ((3,), (2,), (2,), None, None),
    ((3,), (2,), (1,), RuntimeError, IndexError), ((3, 2), (1,), (), RuntimeError, RuntimeError),
    ((3, 2), (2,), (2,), RuntimeError, IndexError), ((3, 2), (1,), (1, 2), None, None), ((3, 2), (1, 1), (1, 2), IndexError, IndexError),
])
def test_slices_of_index_add_and_index_copy(x, index, source, add, copy):
    for name, error in (("index_add", add), ("index_copy", copy)):
        arguments = ft.zeros(x), 0, ft.zeros(index, dtype=ft.int64), ft.ones(source)
        if error is None:
            assert getattr(ft, name)(*arguments).shape == x
        else:
            with pytest.raises(error, match=name):
                getattr(ft, name)(*arguments)


def test_slice_scatter_does_not_broadcast():
    one = ft.tensor(1.0)
    for x, src, error in ((ft.zeros(4), one, RuntimeError), (ft.zeros(4, 2), ft.ones(2), RuntimeError), (one, one, IndexError)):
        with pytest.raises(error, match="slice"):
            ft.slice_scatter(x, src, 0, 1, 2)
    assert ft.slice_scatter(ft.zeros(3), ft.tensor([1.0]), 0, 1, 2).tolist() == [0, 1, 0]


def test_one_number_in_expanded_memory_stays_in_place():
    order = list(range(8000))
    for dtype in (ft.bool, ft.int8):
        x = ft.tensor(1, dtype=dtype).expand(8000)
        assert x.sort()[1].tolist() == x.argsort(descending=True).tolist() == order


def test_cholesky_of_nan():
    a = ft.stack([ft.eye(3), ft.eye(3)])
    a[1, 2, 2] = NAN
    assert ft.linalg.cholesky_ex(a)[1].tolist() == [0, 3]
    for function in (ft.linalg.cholesky, ft.cholesky):
        for dtype in (ft.float32, ft.float64, ft.complex64, ft.complex128):
            for lower in ([[NAN, 0], [0, 1]], [[1, 0], [NAN, 1]]):
                with pytest.raises(ft.linalg.LinAlgError, match="positive-definite"):
                    function(ft.tensor(lower, dtype=dtype))
    assert ft.linalg.cholesky(ft.tensor([[4.0, NAN], [2.0, 5.0]])).tolist() == [[2, 0], [1, 2]]       # the upper triangle is not read


def test_no_elements():
    assert ft.quantile(ft.tensor(1.0), ft.zeros(0)).shape == (0,) and ft.quantile(ft.ones(2, 3), ft.zeros(0), 1, True).shape == (0, 2, 1)
    assert ft.cholesky(ft.zeros(5, 0)).shape == (5, 0)
    x = ft.ones(3, 3)
    for other in (ft.tensor(1.0), ft.ones(3, 2)):
        with pytest.raises(RuntimeError, match="prepend"):
            ft.diff(x, 0, 0, other)
    with pytest.raises(RuntimeError, match="spacing"):
        ft.gradient(x, spacing=(ft.tensor(1.0), ft.tensor(1.0)))


def test_where_pytorch_reads_or_gives_something_else():
    x, y = ft.zeros(0, requires_grad=True), ft.ones(2, requires_grad=True)
    ft.block_diag(x, y)[1].dot(ft.tensor([5.0, 6.0])).backward()
    assert y.grad.tolist() == [5, 6]
    rows = ft.tensor([[-8.0, 2.0, 3.0]]).t().expand(3, 5)
    assert rows.median(1)[0].tolist() == rows.nanmedian(1)[0].tolist() == [-8, 2, 3]
    a, w, b = ft.arange(24.0).reshape(1, 6, 4), ft.arange(12.0)[::2], ft.zeros(12)[1::2]
    assert ft.native_group_norm(a, w, b, 1, 6, 4, 2, 1e-5)[0].equal(ft.nn.functional.group_norm(a, 2, w.clone(), b.clone()))
    for function in (ft.linalg.eigh, ft.linalg.eigvalsh):
        with pytest.raises(ft.linalg.LinAlgError, match="non-finite"):
            function(ft.tensor([[1.0, 0.0], [0.0, NAN]]))


def test_nan_is_no_probability():
    for p in (NAN, -0.5, 1.5):
        with pytest.raises(RuntimeError, match="between 0 and 1"):
            ft.nn.functional.binary_cross_entropy(ft.tensor([0.5, p]), ft.tensor([1.0, 0.0]))
