"""Inputs at the border of what an operation takes: no elements, no dimensions, NaN, singular matrices, small integers, complex zeros."""
import math

import pytest

import fasttensor as ft

F = ft.nn.functional
NAN = math.nan


def parts(x):
    return [[v.real, v.imag] for v in x.flatten().tolist()]


def same(got, want):
    return repr(got) == repr(want)


def test_complex_division_by_zero_divides_the_parts():
    z = ft.tensor([1 + 2j, -1j, 0j, 3 + 0j])
    zero = ft.zeros(4, dtype=ft.complex64)
    want = [[math.inf, math.inf], [NAN, -math.inf], [NAN, NAN], [math.inf, NAN]]
    for got in (z / zero, z / 0, ft.addcdiv(ft.zeros(4, dtype=ft.complex64), z, zero)):
        assert same([[abs(p) if p != p else p for p in row] for row in parts(got)], want)
    for got in (ft.reciprocal(zero[0]), 1 / zero[0], ft.rsqrt(zero[0])):
        assert got.real.item() == math.inf and math.isnan(got.imag.item())
    assert parts(ft.tensor([4 + 2j]) / ft.tensor([1 - 1j])) == [[1.0, 3.0]]


def test_whole_powers_of_complex_numbers_are_exact():
    z = ft.tensor([0j, 1j, -2.5j, 3 + 4j])
    assert (z ** 0).tolist() == [1, 1, 1, 1] and (z ** ft.zeros(4)).tolist() == [1, 1, 1, 1]
    assert (z ** 3).tolist() == [0, -1j, 15.625j, -117 + 44j]
    assert (z[1:] ** -1).tolist() == (1 / z[1:]).tolist()
    assert (z ** ft.tensor([1, 2, 3, 1])).tolist() == [0, -1, 15.625j, 3 + 4j]
    inf = float("inf")
    z = ft.tensor([complex(0, inf), complex(-inf, 1), 1e300j, 1e-170 + 0j, 3 + 4j], dtype=ft.complex128)
    y = z ** ft.full((5,), -2)
    assert (y[:3].abs() == 0).all() and y[3].item() == inf and abs(y[4].item() - (3 + 4j) ** -2) < 1e-17


def test_no_elements():
    assert F.multi_margin_loss(ft.zeros(0, 3), ft.zeros(0, dtype=ft.long)).item() == 0
    assert F.multilabel_margin_loss(ft.zeros(0, 3), ft.zeros(0, 3, dtype=ft.long)).item() == 0
    assert F.adaptive_avg_pool1d(ft.zeros(2, 0, 8), 5).shape == (2, 0, 5)
    assert F.adaptive_avg_pool2d(ft.zeros(2, 0, 8, 6), (5, None)).shape == (2, 0, 5, 6)
    assert ft.addmv(ft.ones(1), ft.zeros(3, 0), ft.zeros(0)).tolist() == [1, 1, 1]
    empty = ft.zeros(2, 0, dtype=ft.long)
    assert ft.cumulative_trapezoid(empty, empty).dtype == ft.float32
    with pytest.raises(RuntimeError, match="size|sample"):
        ft.cumulative_trapezoid(ft.zeros(0), ft.zeros(6))
    with pytest.raises(RuntimeError, match="at least one element"):
        ft.native_batch_norm(ft.zeros(0, 5, 5), None, None, None, None, True, 0.1, 1e-5)
    assert ft.native_batch_norm(ft.zeros(3, 0, 4), None, None, ft.zeros(0), ft.zeros(0), False, 0.1, 1e-5)[0].shape == (3, 0, 4)


def test_no_dimensions():
    with pytest.raises(IndexError, match="tensordot"):
        ft.tensordot(ft.tensor(1.0), ft.tensor(2.0), dims=([0], [0]))
    assert ft.linalg.vecdot(ft.tensor(2.0), ft.tensor([3.0, 4.0])).tolist() == 14
    assert ft.linalg.vecdot(ft.tensor(2.0), ft.tensor(3.0)).item() == 6
    assert ft.block_diag(ft.tensor(1.0, dtype=ft.float64), ft.ones(1, 2, dtype=ft.complex64)).dtype == ft.complex64
    assert ft.block_diag(ft.tensor(1.0), ft.ones(1, 2, dtype=ft.long)).dtype == ft.float32


def test_not_a_number():
    x, y = ft.tensor([[1.0, NAN]]), ft.tensor([[2.0, 3.0]])
    assert math.isnan(ft.cdist(x, y, p=0).item()) and ft.cdist(y, y + 1, p=0).item() == 2
    assert math.isnan(ft.pdist(ft.cat([x, y]), p=0).item())
    # central differences do not read the element itself
    assert ft.gradient(ft.tensor([1.0, 2.0, NAN, 8.0, 9.0]))[0].tolist()[2] == 3


def test_singular_matrices_have_no_finite_solution():
    a = ft.ones(2, 2, dtype=ft.float64)
    y, info = ft.linalg.inv_ex(ft.stack([a, 2 * ft.eye(2, dtype=ft.float64)]))
    assert info.tolist() == [2, 0] and y[0].isnan().all() and y[1].tolist() == [[0.5, 0], [0, 0.5]]
    assert not ft.linalg.solve_ex(a, ft.tensor([1.0, 2.0], dtype=ft.float64))[0].isfinite().any()
    a.requires_grad_()
    ft.logdet(a).backward()
    assert not a.grad.isfinite().any()


@pytest.mark.parametrize("p, want", [(math.inf, [[0, 0], [0.6, 0.8]]), (-math.inf, [[1, 0], [0, 0]])])
def test_gradient_of_extreme_norms_of_complex_numbers(p, want):
    x = ft.tensor([0.1 + 0j, 3 + 4j], requires_grad=True)
    ft.linalg.vector_norm(x, p).backward()
    assert ft.allclose(ft.view_as_real(x.grad), ft.tensor(want, dtype=ft.float32))
    many = ft.complex(ft.arange(1.0, 400.0).sin(), ft.arange(1.0, 400.0).cos() * 2).requires_grad_()
    ft.linalg.vector_norm(many, p).backward()
    assert many.grad.isfinite().all() and many.grad.abs().sum().item() == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("write", [lambda x: x.polygamma_(1), lambda x: x.logit_(), lambda x: x.mvlgamma_(2), lambda x: x.clamp_(0.5)])
def test_fractions_are_not_written_into_integers(write):
    with pytest.raises(RuntimeError, match="can't be cast"):
        write(ft.tensor([3, 4]))


def test_bytes_are_resized_with_border_weights_rounded_as_one():
    x = ft.tensor([[9, 40, 3, 250], [0, 7, 255, 31], [100, 2, 60, 8], [77, 1, 19, 130]], dtype=ft.uint8)[None, None]
    got = F.interpolate(x, (3, 3), mode="bicubic", align_corners=False)
    assert got.tolist() == [[[[11, 25, 194], [43, 107, 19], [70, 2, 99]]]]


def test_as_strided_scatter_counts_in_the_memory_of_a_view():
    base = ft.arange(8.0, requires_grad=True)
    x = base[1:7:2]                                         # 1, 3, 5
    got = ft.as_strided_scatter(x, ft.tensor([9.0, 8.0]), (2,), (3,), 0)        # memory 0 and 3
    assert got.tolist() == [1, 8, 5]
    assert ft.as_strided_scatter(x, ft.tensor([9.0]), (1,), (1,)).tolist() == [9, 3, 5]
    got.sum().backward()
    assert base.grad.tolist() == [0, 1, 0, 0, 0, 1, 0, 0]


def test_gradient_of_an_expanded_signal():
    one, many = ft.tensor([1.5], requires_grad=True), ft.full((10,), 1.5, requires_grad=True)
    spread = one.detach().expand(10).requires_grad_()
    for x in (one.expand(10), many, spread):
        y = ft.view_as_real(ft.stft(x, 7, center=False, return_complex=True, window=ft.ones(7)))
        (y * ft.arange(float(y.numel())).reshape(y.shape)).sum().backward()
    assert ft.allclose(spread.grad, many.grad) and ft.allclose(one.grad, many.grad.sum()) and len(set(many.grad.tolist())) > 5


def test_cholesky_gradient_is_hermitian():
    a = ft.tensor([[2, 1j], [-1j, 3]], dtype=ft.complex128, requires_grad=True)
    (ft.linalg.cholesky(a) * (1 + 2j)).sum().abs().backward()
    assert ft.allclose(a.grad, a.grad.mH)


def test_comparisons_of_complex_numbers_in_place():
    z, other = [1j, 0j, 1 + 1j], [1j, 0j, 2]
    for name, want in (("eq", [1, 1, 0]), ("ne", [0, 0, 1]), ("logical_and", [1, 0, 1]), ("logical_or", [1, 0, 1]), ("logical_xor", [0, 0, 0])):
        x = ft.tensor(z)
        assert getattr(x, name + "_")(ft.tensor(other)) is x and x.tolist() == want and x.dtype is ft.complex64
    assert ft.tensor(z).logical_not_().tolist() == [0, 1, 0]
    with pytest.raises(RuntimeError, match="In-place abs is not supported for complex tensors"):
        ft.tensor(z).abs_()
