"""Linear algebra: factors that give their matrix back, gradients twice, bad input."""
import pytest

import fasttensor as ft
from fasttensor.autograd import gradcheck, gradgradcheck

np = pytest.importorskip("numpy")
pytest.importorskip("scipy_openblas32")
RNG = np.random.default_rng(0)
DTYPES = ("float32", "float64", "complex64", "complex128")
L = ft.linalg


def random(*shape, dtype="float64"):
    values = RNG.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * RNG.standard_normal(shape)
    return ft.from_numpy(values.astype(dtype))


def positive(n, dtype="float64", batch=()):
    a = random(*batch, n, n, dtype=dtype)
    return a @ a.mH + n * ft.eye(n, dtype=a.dtype)


def leaf(t):
    return t.detach().clone().requires_grad_()


def same(a, b, scale=1.0):
    limit = 2e-4 if a.dtype.name in ("float32", "complex64") else 1e-10
    assert a.shape == b.shape and float((a - b).abs().max()) < limit * scale


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 5, 3), (2, 2, 3, 5), (1, 1), (40, 30)])
def test_factors_multiply_to_the_matrix(shape, dtype):
    a = random(*shape, dtype=dtype)
    k = min(shape[-2:])
    p, lower, upper = L.lu(a)
    same(p @ lower @ upper, a)
    for mode in ("reduced", "complete"):
        q, r = L.qr(a, mode)
        same(q @ r, a)
        same(q.mH @ q, ft.eye(q.shape[-1], dtype=a.dtype).expand(q.mH.shape[:-1] + q.shape[-1:]))
    same(L.qr(a, "r").R, L.qr(a).R)
    for full in (False, True):
        u, s, vh = L.svd(a, full)
        same((u[..., :k] * s.to(a.dtype).unsqueeze(-2)) @ vh[..., :k, :], a)
    same(L.svdvals(a), s)
    same(a @ L.pinv(a) @ a, a)
    packed, tau = ft.geqrf(a)
    if shape[-2] >= shape[-1]:
        same(L.householder_product(packed, tau), L.qr(a).Q)
        other = random(*shape[:-2], shape[-2], 2, dtype=dtype)
        same(ft.ormqr(packed, tau, other), L.qr(a, "complete").Q @ other)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_square_matrices(batch, dtype):
    a, b = random(*batch, 4, 4, dtype=dtype), random(*batch, 4, 2, dtype=dtype)
    same(a @ L.solve(a, b), b)
    same(L.solve(a, b.mT, left=False) @ a, b.mT, 10)
    same(a @ L.inv(a), ft.eye(4, dtype=a.dtype).expand(a.shape))
    same(L.lu_solve(*L.lu_factor(a), b), L.solve(a, b), 10)
    same(a.mH @ L.lu_solve(*L.lu_factor(a), b, adjoint=True), b, 10)
    values, vectors = L.eig(a)
    same(a.to(vectors.dtype) @ vectors, vectors * values.unsqueeze(-2), 10)
    h = positive(4, dtype, batch)
    values, vectors = L.eigh(h)
    same((vectors * values.to(h.dtype).unsqueeze(-2)) @ vectors.mH, h, 10)
    same(L.eigvalsh(h, "U"), values, 10)
    for upper in (False, True):
        factor = L.cholesky(h, upper=upper)
        same(factor.mH @ factor if upper else factor @ factor.mH, h, 10)
        same(h @ ft.cholesky_solve(b, factor, upper), b, 10)
        same(ft.cholesky_inverse(factor, upper), L.inv(h))
    same(h @ L.ldl_solve(*L.ldl_factor(h, hermitian=True), b, hermitian=True), b, 10)
    same(L.det(a), ft.from_numpy(np.asarray(np.linalg.det(a.numpy()))), 10)
    sign, size = L.slogdet(a)
    same(sign * size.exp().to(a.dtype), L.det(a), 10)
    same(L.matrix_exp(a) @ L.matrix_exp(-a), ft.eye(4, dtype=a.dtype).expand(a.shape), 1000)
    for name in ("gels", "gelsy", "gelsd", "gelss"):
        tall, right = random(*batch, 6, 3, dtype=dtype), random(*batch, 6, 2, dtype=dtype)
        same(L.lstsq(tall, right, driver=name).solution, L.pinv(tall) @ right)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_gradients_of_factors(shape, dtype):
    a = leaf(random(*shape, dtype=dtype))
    functions = [lambda a: ft.linalg.lu(a)[1:], L.pinv, L.svdvals]
    functions.append(lambda a: L.qr(a))
    # what does not depend on the vectors' phases
    functions.append(lambda a: (lambda u, s, vh: (u @ vh, s))(*L.svd(a, False)))
    for function in functions:
        assert gradcheck(function, (a,)) and gradgradcheck(function, (a,))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_square_matrices(dtype):
    a, b = leaf(random(3, 3, dtype=dtype)), leaf(random(3, 2, dtype=dtype))

    def hermitian(a):
        return a @ a.mH + ft.eye(3, dtype=a.dtype)

    pairs = [(L.inv, (a,)), (L.det, (a,)), (lambda a: L.slogdet(a)[1], (a,)), (L.solve, (a, b)), (L.matrix_exp, (a,)), (L.eigvals, (a,)),
             (lambda a: L.eig(a).eigenvectors.abs(), (a,)), (lambda a: L.cholesky(hermitian(a)), (a,)),
             (lambda a: L.eigvalsh(hermitian(a)), (a,)), (lambda a: L.eigh(hermitian(a)).eigenvectors.abs(), (a,)),
             (lambda a, b: L.solve_triangular(a, b, upper=True), (a, b)), (lambda a, b: L.lu_solve(*L.lu_factor(a), b), (a, b)),
             (lambda a, b: ft.cholesky_solve(b, L.cholesky(hermitian(a))), (a, b)),
             (lambda a: ft.cholesky_inverse(L.cholesky(hermitian(a))), (a,)), (lambda b: L.lstsq(b, b).solution, (b,))]
    for function, inputs in pairs:
        assert gradcheck(function, inputs) and gradgradcheck(function, inputs)


def test_determinant_of_singular_matrices_has_a_gradient():
    a = ft.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=ft.float64, requires_grad=True)
    L.det(a).backward()
    same(a.grad, ft.tensor([[4.0, -2.0], [-2.0, 1.0]], dtype=ft.float64))
    zero = ft.zeros(3, 3, requires_grad=True)
    L.det(zero).backward()
    assert zero.grad.tolist() == [[0.0] * 3] * 3


def test_bad_input():
    vector = ft.ones(3)
    for function in (L.cholesky, L.inv, L.det, L.eigh, L.eig, L.qr, L.svd, L.lu, L.pinv, L.matrix_exp, L.slogdet, ft.logdet):
        for bad in (vector, ft.ones(3, 3, dtype=ft.int64), ft.ones(3, 3, dtype=ft.float16)):
            with pytest.raises(RuntimeError):
                function(bad)
        with pytest.raises(TypeError):
            function([[1.0]])
    for function in (L.cholesky, L.inv, L.lu_factor, lambda a: L.solve(a, a)):
        with pytest.raises(L.LinAlgError):
            function(ft.zeros(3, 3))
    with pytest.raises(L.LinAlgError, match="Batch element 1"):
        L.inv(ft.stack([ft.eye(2), ft.zeros(2, 2)]))
    for function in (L.inv, L.det, L.cholesky):
        with pytest.raises(RuntimeError):
            function(ft.ones(2, 3))
    with pytest.raises(RuntimeError):
        L.solve(ft.eye(3), ft.ones(4, 2))
    with pytest.raises(RuntimeError):
        ft.ormqr(ft.ones(3, 2), ft.ones(2), ft.ones(4, 4))
    with pytest.raises(RuntimeError):
        L.lu_solve(ft.eye(2), ft.tensor([0, 9], dtype=ft.int32), ft.eye(2))
    with pytest.raises(RuntimeError):
        L.ldl_solve(ft.eye(2), ft.tensor([0, 9], dtype=ft.int32), ft.eye(2))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_not_finite(value):
    a = ft.full((4, 4), value, dtype=ft.float64)
    for function in (L.eig, L.eigvals, L.eigh, L.svd, L.svdvals, L.cholesky):
        try:
            found = function(a)
        except RuntimeError:
            continue
        found = found if isinstance(found, tuple) else (found,)
        assert not all(bool(t.isfinite().all()) for t in found)
    for function in (L.det, L.qr, L.matrix_exp, lambda a: L.inv_ex(a)[0]):
        found = function(a)
        found = found if isinstance(found, tuple) else (found,)
        assert not bool(found[-1].isfinite().all())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_one_value_that_is_not_finite_ends(dtype, value):
    a = random(2, 4, 4, dtype=dtype)
    a[1, 2, 1] = value
    for function in (L.eig, L.svd, L.pinv, lambda a: L.lstsq(a, a, driver="gelsd")):
        with pytest.raises(RuntimeError):
            function(a)


def test_empty_matrices():
    a = ft.ones(0, 0)
    assert float(L.det(a)) == 1 and L.inv(a).shape == (0, 0) and L.cholesky(a).shape == (0, 0)
    assert L.svd(ft.ones(0, 3)).Vh.tolist() == ft.eye(3).tolist() and L.qr(ft.ones(3, 0), "complete").Q.tolist() == ft.eye(3).tolist()
    assert L.pinv(ft.ones(2, 0)).shape == (0, 2) and L.solve(a, ft.ones(0, 2)).shape == (0, 2)
    assert L.eigh(ft.ones(2, 0, 0)).eigenvalues.shape == (2, 0) and L.matrix_rank(ft.ones(0, 3)).item() == 0
    assert L.inv(ft.ones(0, 3, 3)).shape == (0, 3, 3) and L.cond(a).item() == 0


def test_low_rank():
    a = random(20, 3) @ random(3, 15)
    u, s, v = ft.svd_lowrank(a, 3)
    same((u * s) @ v.mT, a)
    assert ft.pca_lowrank(a, 2)[2].shape == (15, 2)


def test_phase_dependent_loss_is_refused():
    a = leaf(positive(3, "complex128"))
    with pytest.raises(RuntimeError):
        L.eigh(a).eigenvectors.imag.sum().backward()


@pytest.mark.parametrize("dtype", DTYPES)
def test_extreme_eigenvalues(dtype):
    a, b = positive(6, dtype), positive(6, dtype)
    for largest in (True, False):
        values, vectors = ft.lobpcg(a, 2, b, largest=largest)
        same(a @ vectors, b @ vectors * values.to(a.dtype), 100)
        same(vectors.mH @ b @ vectors, ft.eye(2, dtype=a.dtype))
    with pytest.raises(ValueError, match="smaller than 3 x the number"):
        ft.lobpcg(a, 3)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_matrices_that_are_parts_of_larger_memory(dtype):
    whole = ft.randn(3, 7, 5, dtype=getattr(ft, dtype))
    for part in (whole[1:, 2:, 1:], whole[2].T[1:, 3:], whole[:, 1:5, 1:].mT):
        u, s, v = ft.linalg.svd(part, full_matrices=False)
        q, r = ft.linalg.qr(part)
        p, lower, upper = ft.linalg.lu(part)
        for made in ((u * s.unsqueeze(-2)) @ v, q @ r, p.to(part.dtype) @ lower @ upper):
            assert ft.allclose(made, part, atol=1e-4)
    square = whole[1:, 2:7]
    w, vectors = ft.linalg.eig(square)
    assert ft.allclose(square.to(vectors.dtype) @ vectors, vectors * w.unsqueeze(-2), atol=1e-4)
    b = ft.randn(5, 2, dtype=whole.dtype)
    assert ft.allclose(square @ ft.linalg.lstsq(square, b.expand(2, 5, 2)).solution, b.expand(2, 5, 2), atol=1e-2)


def test_what_has_no_inverse_is_not_finite():
    a = ft.stack([ft.zeros(2, 2), ft.eye(2)])
    y, info = ft.linalg.inv_ex(a)
    assert info.tolist() == [1, 0] and y[0].isnan().all() and ft.equal(y[1], ft.eye(2))
    for b in (ft.ones(2, 2, 1), ft.ones(2, 2)):
        x, info = ft.linalg.solve_ex(a, b)
        assert info.tolist() == [1, 0] and x[0].isnan().all() and ft.equal(x[1], b[1])


def blocked(m, n, dtype):
    """A matrix of several panels whose elements are small whole numbers."""
    i, j = ft.arange(m).unsqueeze(1), ft.arange(n)
    return ((i * 7 + j * 13 + i * j * 3) % 11 - 5 + 9 * (i == j)).to(dtype)


@pytest.mark.parametrize("dtype", [ft.float32, ft.float64])
@pytest.mark.parametrize("shape", [(33, 33), (130, 131), (100, 64), (64, 100), (17, 200), (200, 17), (0, 3), (3, 0)])
def test_factors_of_several_panels(shape, dtype):
    a = blocked(*shape, dtype)
    m, n = shape
    p, lower, upper = L.lu(a)
    same(p @ lower @ upper, a) if a.numel() else None
    assert float(lower.abs().amax()) <= 1 if a.numel() else lower.shape == (m, min(m, n))
    q, r = L.qr(a)
    if a.numel():
        same(q @ r, a, 10)
        same(q.mT @ q, ft.eye(min(m, n), dtype=dtype))
        packed, tau = ft.geqrf(a)
        whole, other = L.qr(a, "complete").Q, blocked(m, 9, dtype)
        for left, transpose, expected in ((True, False, whole @ other), (True, True, whole.mT @ other), (False, False, other.mT @ whole),
                                          (False, True, other.mT @ whole.mT)):
            same(ft.ormqr(packed, tau, other if left else other.mT, left, transpose), expected, 10)


@pytest.mark.parametrize("dtype", [ft.float32, ft.float64])
@pytest.mark.parametrize("n", [1, 31, 33, 64, 130])
def test_systems_of_several_panels(n, dtype):
    a = blocked(n, n, dtype)
    spd = a @ a.mT + n * ft.eye(n, dtype=dtype)
    spd = spd / float(spd.abs().amax())
    for upper in (False, True):
        other = ft.ones_like(spd).tril(-1) if upper else ft.ones_like(spd).triu(1)
        hidden = spd.masked_fill(other > 0, ft.nan)
        c = L.cholesky(hidden, upper=upper)             # the other triangle is not read
        same(c.mT @ c if upper else c @ c.mT, spd)
        same(ft.cholesky_inverse(c, upper) @ spd, ft.eye(n, dtype=dtype), 100)
    for k in (1, 17, 300):
        b = blocked(n, k, dtype)
        same(spd @ L.solve(spd, b), b, 1000)
        for upper, left, unit in ((u, w, d) for u in (False, True) for w in (False, True) for d in (False, True)):
            t = (a / (9 * n) + ft.eye(n, dtype=dtype)).contiguous()
            x = L.solve_triangular(t, b if left else b.mT, upper=upper, left=left, unitriangular=unit)
            t = t.triu(1) if upper else t.tril(-1)
            t = t + (ft.eye(n, dtype=dtype) if unit else ft.eye(n, dtype=dtype) * (a / (9 * n) + 1).diagonal())
            same(t @ x if left else x @ t, b if left else b.mT, 10)


def test_pivots_and_infos_as_lapack_s():
    lu, pivots, info = L.lu_factor_ex(ft.tensor([[0.0, 2.0, 2.0], [-4.0, 2.0, 6.0], [4.0, 2.0, 3.0]]))
    assert lu.tolist() == [[-4, 2, 6], [-1, 4, 9], [0, 0.5, -2.5]] and pivots.tolist() == [2, 3, 3] and info == 0
    assert L.lu_factor_ex(ft.ones(40, 40))[2].item() == 2 and L.inv_ex(ft.zeros(3, 3)).info.item() == 1
    nan = ft.tensor([[ft.nan, 0.0], [0.0, 1.0]])
    assert L.lu_factor_ex(nan)[1].tolist() == [1, 2] and L.det(nan).isnan() and L.det(nan.flip(0)).isnan()
    a = -ft.eye(100)
    a[77, 77] = 1
    assert L.cholesky_ex(-a).info.item() == 78
    # a column that is zero below its diagonal keeps its sign, others give theirs up
    packed, tau = ft.geqrf(ft.tensor([[2.0, 1.0], [0.0, 3.0]]))
    assert packed.tolist() == [[2, 1], [0, 3]] and tau.tolist() == [0, 0]
    packed, tau = ft.geqrf(ft.tensor([[3.0], [4.0]]))
    assert packed.tolist() == [[-5], [0.5]] and tau.item() == pytest.approx(1.6)
    for scale in (1e-40, 1e-30, 1e30):
        q, r = L.qr(ft.tensor([[3.0, 1.0], [4.0, 0.0]]) * scale)
        assert q.abs().tolist() == [[pytest.approx(0.6, rel=1e-4), pytest.approx(0.8, rel=1e-4)], [pytest.approx(0.8, rel=1e-4), pytest.approx(0.6, rel=1e-4)]]
        assert abs(r[0, 0].item()) == pytest.approx(5 * scale, rel=1e-4)


@pytest.mark.parametrize("dtype", [ft.float32, ft.float64])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (100, 40), (40, 100), (70, 70)])
def test_least_squares_of_full_rank(shape, dtype):
    a, b = blocked(*shape, dtype), blocked(shape[0], 5, dtype) / 9
    for driver in ("gels", "gelsy", "gelsd"):
        x, residuals, rank, _ = L.lstsq(a, b, driver=driver)
        assert x.shape == (shape[1], 5) and rank.tolist() == ([] if driver == "gels" else min(shape))
        same(a.mT @ (a @ x), a.mT @ b, 100)
        same(x, L.pinv(a) @ b, 10)      # of least norm
        if driver != "gelsy" and shape[0] > shape[1]:
            same(residuals, ((a @ x - b) ** 2).sum(0), 10)


def test_least_squares_without_full_rank():
    x, _, rank, _ = L.lstsq(ft.ones(3, 2, dtype=ft.float64), ft.tensor([[1.0], [2.0], [3.0]], dtype=ft.float64))
    same(x, ft.ones(2, 1, dtype=ft.float64))
    assert rank.item() == 1
    near = ft.tensor([[1.0, 0.0], [0.0, 1e-9], [0.0, 0.0]])
    assert L.lstsq(near, ft.ones(3, 1)).rank.item() == 1 and L.lstsq(near.double(), ft.ones(3, 1).double()).rank.item() == 2
    assert L.lstsq(near.double(), ft.ones(3, 1).double(), rcond=1e-8).rank.item() == 1
    both = L.lstsq(ft.stack((near.double(), ft.eye(3, 2, dtype=ft.float64))), ft.ones(2, 3, 1).double(), rcond=1e-8)
    assert both.rank.tolist() == [1, 2] and both.solution[1].flatten().tolist() == pytest.approx([1, 1])


def test_determinants_have_gradients_with_and_without_an_inverse():
    a = blocked(40, 40, ft.float64) / 10
    a.requires_grad_()
    y = L.det(a)
    g, = ft.autograd.grad(y, a, ft.ones_like(y))
    same(g / float(y), L.inv(a.detach()).mT, 10)
    b = ft.tensor([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1e-30]]], dtype=ft.float64, requires_grad=True)
    L.det(b).sum().backward()
    same(b.grad, ft.tensor([[[4.0, -2.0], [-2.0, 1.0]], [[4.0, -3.0], [-2.0, 1.0]], [[1e-30, 0.0], [0.0, 1.0]]], dtype=ft.float64))
    each = ft.func.vmap(ft.func.grad(L.det))(b.detach())
    same(each, b.grad)
    large = ft.tensor([[3e20, 0.0], [0.0, 3e20]], requires_grad=True)
    L.det(large).backward()
    assert large.grad.diagonal().tolist() == [ft.inf, ft.inf]           # as the determinant is
