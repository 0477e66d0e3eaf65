"""Linear algebra of hard matrices: dependent columns, singular ones, numbers near the ends of their range, nothing at all."""
import pytest

import fasttensor as ft
from fasttensor.autograd import gradcheck

L = ft.linalg
FLOATS = ["float32", "float64", "complex64", "complex128"]


def rows(values, dtype="float64"):
    return ft.tensor(values, dtype=getattr(ft, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("turned", [False, True])
def test_gels_refuses_what_rounding_alone_makes_independent(dtype, turned):
    ft.manual_seed(3)
    a = ft.randn(6, 3, dtype=getattr(ft, dtype))
    a[:, 2] = a[:, 0] * 1.1 + a[:, 1]
    if turned:
        a = a.mT.contiguous()
    b = ft.ones(a.shape[0], 2, dtype=a.dtype)
    with pytest.raises(L.LinAlgError, match="does not have full rank \\(error code: 3\\)"):
        L.lstsq(a, b, driver="gels")
    with pytest.raises(L.LinAlgError, match="Batch element 1"):
        L.lstsq(ft.stack([ft.eye(*a.shape, dtype=a.dtype), a]), b.expand(2, *b.shape), driver="gels")


@pytest.mark.parametrize("dtype", FLOATS)
def test_gels_takes_columns_of_any_scale(dtype):
    scales = rows([1.0, 1e-12, 1e12], dtype)
    ft.manual_seed(3)
    a, x = ft.randn(5, 3, dtype=scales.dtype), rows([[1.0], [2.0], [3.0]], dtype)
    got = L.lstsq(a * scales, a @ x, driver="gels").solution * scales.unsqueeze(-1)
    assert ft.allclose(got, x, rtol=1e-4)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares_have_the_same_values_where_gradients_are_recorded(driver):
    ft.manual_seed(1)
    a, b = ft.randn(5, 3, dtype=ft.float64), ft.randn(5, 2, dtype=ft.float64)
    plain = L.lstsq(a, b, rcond=0.5, driver=driver).solution
    got = L.lstsq(a.requires_grad_(), b, rcond=0.5, driver=driver).solution
    assert got.requires_grad and got.tolist() == plain.tolist()
    assert gradcheck(lambda a, b: L.lstsq(a, b, driver=driver).solution, (a, b.requires_grad_()))


def test_inverses_and_determinants_of_triangles_keep_every_digit():
    # the LU of a triangle is itself: rounding enters each element a few times
    ft.manual_seed(0)
    a = ft.randn(30, 30, dtype=ft.float64).triu()
    inverse = L.inv(a)
    assert inverse.tril(-1).abs().max().item() == 0 and inverse.stride() == (1, 30)
    want = L.solve_triangular(a, ft.eye(30, dtype=a.dtype), upper=True)
    assert ft.allclose(inverse, want, rtol=1e-13, atol=0)
    assert abs(L.det(a).item() / a.diagonal().prod().item() - 1) < 1e-14


@pytest.mark.parametrize("p", ["fro", "nuc", 1, -1, float("inf"), -float("inf")])
def test_condition_numbers_of_singular_and_of_empty_matrices(p):
    a = rows([[[1.0, 0.0], [0.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])
    assert L.cond(a, p).isinf().tolist() == [False, True, True]
    assert L.cond(ft.zeros(0, 0), p).item() == 0 and L.cond(ft.zeros(2, 0, 0), p).tolist() == [0, 0]


@pytest.mark.parametrize("dtype", FLOATS)
def test_factors_without_elements_need_no_pivots(dtype):
    a = ft.zeros(0, 3, 3, dtype=getattr(ft, dtype))
    assert [t.shape for t in L.lu(a, pivot=False)] == [(0,), (0, 3, 3), (0, 3, 3)]
    assert [t.shape for t in L.lu_factor_ex(a, pivot=False)] == [(0, 3, 3), (0, 3), (0,)]
    with pytest.raises(RuntimeError, match="without pivoting"):
        L.lu(ft.ones(2, 2), pivot=False)


@pytest.mark.parametrize("dtype", FLOATS)
def test_ldl_of_nan_has_pivots_that_a_solution_takes(dtype):
    found = L.ldl_factor_ex(rows([[float("nan")]], dtype))
    assert found.info.item() != 0 and found.pivots.tolist() == [1] and found.LD.isnan().all()
    assert L.ldl_solve(found.LD, found.pivots, rows([[1.0]], dtype)).isnan().all()
    with pytest.raises(L.LinAlgError, match="linalg.ldl_factor:"):
        L.ldl_factor(rows([[0.0]], dtype))


def test_exponential_of_one_number():
    x = rows([1.0, float("inf"), -float("inf"), -700.0])
    assert L.matrix_exp(x.reshape(4, 1, 1)).flatten().tolist() == x.exp().tolist()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p, want", [(2, 5 ** 0.5), (3, 9 ** (1 / 3)), (40.0, 2.0), (-2, 0.8 ** 0.5), (0.5, 3 + 2 * 2 ** 0.5)])
def test_norms_near_the_ends_of_the_range(dtype, p, want):
    wide = dtype in ("float64", "complex128")
    for scale in (1e-200, 1e200) if wide else (1e-30, 1e30):
        x = (rows([1.0, 2.0], "complex128" if dtype.startswith("complex") else "float64") * scale).to(getattr(ft, dtype)).requires_grad_()
        y = L.vector_norm(x, p)
        assert abs(y.item() / scale / want - 1) < 1e-5, (scale, y)
        both = L.vector_norm(ft.stack([x.detach(), x.detach() / scale]), p, dim=1, keepdim=True)
        assert both.shape == (2, 1) and abs(both[1].item() / want - 1) < 1e-5 and both[0].item() == y.item()
        unit, = ft.autograd.grad(L.vector_norm(x / scale, p), x)
        grad, = ft.autograd.grad(y, x)
        assert ft.allclose(grad, unit * scale, rtol=1e-4)
    big = 3e38 if not wide else 1.5e308
    assert abs(L.vector_norm(rows([big, 1.0], dtype), p).item() / big - 1) < 1e-6 or p < 0
    assert L.vector_norm(rows([float("inf"), 1.0], dtype)).item() == float("inf") and L.vector_norm(rows([0.0, 0.0], dtype), p).item() == 0


def test_norms_of_half_precision_near_the_ends_of_the_range():
    for dtype in (ft.float16, ft.bfloat16):
        x = ft.full((4,), 1e-7 if dtype is ft.float16 else 1e-38, dtype=dtype)
        assert x.norm().item() == (x[0].double() * 2).to(dtype).item()
    assert ft.tensor([3e38, 1.0], dtype=ft.bfloat16).norm().item() == ft.tensor(3e38, dtype=ft.bfloat16).item()
