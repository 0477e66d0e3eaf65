"""Factorisations of matrices: Cholesky, LU, QR, LDL, singular values, eigenvalues."""

from fasttensor._core.dispatch import backend
from fasttensor._core.tensor import description
from fasttensor.autograd.batched import all_samples
from fasttensor.autograd.rule import apply, needs_history
from fasttensor.autograd.rules.linalg import CholeskyEx, LuFactorEx, Qr, permutation, unit_lower
from fasttensor.autograd.rules.linalg_spectral import Eig, Eigh, Svd
from fasttensor.functional.dims import deliver, flag, tensor_argument
from fasttensor.functional.linalg_arguments import LinAlgError, check, matrix, square
from fasttensor.functional.results import RESULTS

__all__ = ["cholesky", "lu_unpack", "qr", "geqrf", "svd", "lu"]

CholeskyExResult = RESULTS["linalg_cholesky_ex"]
LuFactorResult = RESULTS["linalg_lu_factor"]
LuFactorExResult = RESULTS["linalg_lu_factor_ex"]
LuResult = RESULTS["linalg_lu"]
LuUnpackResult = RESULTS["lu_unpack"]
LdlFactorResult = RESULTS["linalg_ldl_factor"]
LdlFactorExResult = RESULTS["linalg_ldl_factor_ex"]
QrLinalgResult = RESULTS["linalg_qr"]
QrResult = RESULTS["qr"]
GeqrfResult = RESULTS["geqrf"]
SvdLinalgResult = RESULTS["linalg_svd"]
SvdResult = RESULTS["svd"]
EigResult = RESULTS["linalg_eig"]
EighResult = RESULTS["linalg_eigh"]


def not_positive(value):
    return ("The factorization could not be completed because the input is not positive-definite"
            f" (the leading minor of order {value} is not positive-definite).")


def linalg_cholesky_ex(A, *, upper=False, check_errors=False, out=None):
    """The Cholesky factor and info, int32 of the batch's shape: 0, or the order of the leading minor that is not positive-definite.

    A: (..., n, n) of float32, float64 or complex; only its lower (`upper`: upper) triangle is read. Raises RuntimeError for other shapes and
    dtypes, LinAlgError where `check_errors` and a matrix has no factor.

    >>> torch.linalg.cholesky_ex(torch.tensor([[4.0, 2.0], [2.0, 5.0]])).L
    tensor([[2., 0.],
            [1., 2.]])
    """
    flag("linalg_cholesky_ex", "upper", upper)
    square("linalg.cholesky_ex", A)
    factor, info = apply(CholeskyEx, A, bool(upper))
    if check_errors:
        check("linalg.cholesky_ex", info, not_positive)
    return deliver("linalg.cholesky_ex", out, CholeskyExResult(factor, info), True)


def linalg_cholesky(A, *, upper=False, out=None):
    """L with A = L L^H for Hermitian positive-definite matrices; `upper`: its adjoint. LinAlgError where A is not such a matrix.

    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    flag("linalg_cholesky", "upper", upper)
    square("linalg.cholesky", A)
    factor, info = apply(CholeskyEx, A, bool(upper))
    check("linalg.cholesky", info, not_positive)
    return deliver("linalg.cholesky", out, factor, True)


def cholesky(input, upper=False, *, out=None):
    """The factor L of input = L L^H, (..., n, n), or with `upper` its adjoint; see `linalg.cholesky` for dtypes and errors.

    >>> torch.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    flag("cholesky", "upper", upper)
    tensor_argument("cholesky", input)
    if not input.numel():
        return deliver("cholesky", out, input.clone())
    square("cholesky", input)
    factor, info = apply(CholeskyEx, input, bool(upper))
    check("cholesky", info, not_positive)
    return deliver("cholesky", out, factor)


def linalg_lu_factor_ex(A, *, pivot=True, check_errors=False, out=None):
    """LU in one matrix, int32 pivots counted from 1, and info: 0 or the place of a zero on U's diagonal.

    A: (..., m, n) of float32, float64 or complex. Raises RuntimeError without `pivot`, LinAlgError where `check_errors` and U has a zero.

    >>> torch.linalg.lu_factor_ex(torch.tensor([[1.0, 2.0], [2.0, 2.0]])).info
    tensor(0, dtype=torch.int32)
    """
    flag("linalg_lu_factor_ex", "pivot", pivot)
    matrix("linalg.lu_factor_ex", A)
    if not pivot and A.numel():
        raise RuntimeError("linalg.lu_factor_ex: LU without pivoting is not implemented on the CPU")
    lu, pivots, info = apply(LuFactorEx, A)
    if check_errors:
        check("linalg.lu_factor_ex", info, zero_pivot)
    return deliver("linalg.lu_factor_ex", out, LuFactorExResult(lu, pivots, info), True)


def zero_pivot(value):
    return (f"U[{value},{value}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the"
            " factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)")


def linalg_lu_factor(A, *, pivot=True, out=None):
    """LU with row exchanges, for `linalg.lu_solve`; A: (..., m, n). LinAlgError where U has a zero on its diagonal.

    >>> torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [2.0, 2.0]])).pivots
    tensor([2, 2], dtype=torch.int32)
    """
    flag("linalg_lu_factor", "pivot", pivot)
    matrix("linalg.lu_factor", A)
    if not pivot and A.numel():
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    lu, pivots, info = apply(LuFactorEx, A)
    check("torch.linalg.lu_factor", info, zero_pivot)
    return deliver("linalg.lu_factor", out, LuFactorResult(lu, pivots), True)


def lu(A, pivot=True, get_infos=False, out=None):
    """`linalg.lu_factor_ex` as (LU, pivots), with info where `get_infos`.

    A: (..., m, n) of float32, float64 or complex; pivots (..., min(m, n)), int32. RuntimeError for other dtypes.

    >>> torch.lu(torch.tensor([[1.0, 2.0], [2.0, 2.0]]))[1]
    tensor([2, 2], dtype=torch.int32)
    """
    flag("lu", "pivot", pivot)
    found = linalg_lu_factor_ex(A, pivot=pivot, check_errors=not get_infos)
    return deliver("lu", out, RESULTS["_lu_with_info"](*found) if get_infos else tuple(found[:2]))


def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True, *, out=None):
    """P, L, U of a packed LU; the parts that are not asked for are empty.

    Shapes: (..., m, n) and (..., k) to (..., m, m), (..., m, k) and (..., k, n), k = min(m, n). RuntimeError for pivots that are not int32 or do
    not fit.

    >>> A = torch.tensor([[1.0, 2.0], [2.0, 2.0]])
    >>> P, L, U = torch.lu_unpack(*torch.linalg.lu_factor(A))
    >>> (P @ L @ U).equal(A)
    True
    """
    matrix("lu_unpack", LU_data)
    tensor_argument("lu_unpack", LU_pivots)
    m, n = LU_data.shape[-2:]
    if LU_pivots.dtype.name != "int32":
        raise RuntimeError(f"torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype, got {description(LU_pivots)}")
    if unpack_pivots and LU_pivots.shape != LU_data.shape[:-2] + (min(m, n),):
        raise RuntimeError(f"lu_unpack: pivots must be {tuple(LU_data.shape[:-2] + (min(m, n),))}, got {description(LU_pivots)}")
    empty = LU_data.new_empty((0,))
    P = permutation(LU_pivots, m, LU_data.dtype) if unpack_pivots else empty
    L, U = split(LU_data) if unpack_data else (empty, empty)
    return deliver("lu_unpack", out, LuUnpackResult(P, L, U), True)


def split(data):
    """L with its unit diagonal and U."""
    m, n = data.shape[-2:]
    k = min(m, n)
    lower = data[..., :k].tril(-1) + data.new_ones((max(m, k),)).diag_embed()[:, :k] if m != k else unit_lower(data[..., :k])
    return lower, data[..., :k, :].triu()


def linalg_lu(A, *, pivot=True, out=None):
    """A = P @ L @ U with a permutation P (..., m, m), unit lower L (..., m, k), upper U (..., k, n), k = min(m, n).

    A: (..., m, n) of float32, float64 or complex. Rows are exchanged for the largest pivot, as LAPACK's getrf does; RuntimeError without `pivot`.

    >>> torch.linalg.lu(torch.tensor([[1.0, 2.0], [2.0, 2.0]])).U
    tensor([[2., 2.],
            [0., 1.]])
    """
    flag("linalg_lu", "pivot", pivot)
    matrix("linalg.lu", A)
    found = linalg_lu_factor_ex(A, pivot=pivot)
    P, L, U = lu_unpack(found.LU, found.pivots)
    return deliver("linalg.lu", out, LuResult(P if pivot else A.new_empty((0,)), L, U), True)


def linalg_ldl_factor_ex(A, *, hermitian=False, check_errors=False, out=None):
    """L and D of A = L D L^T (L^H where `hermitian`) in one matrix, pivots, and info: 0 or the place of a zero block of D.

    A: (..., n, n), symmetric, of float32, float64 or complex; its lower triangle is read. LinAlgError where `check_errors` and D is singular.
    Source: Bunch and Kaufman, 1977 (LAPACK's sytrf).

    >>> torch.linalg.ldl_factor_ex(torch.tensor([[2.0, 1.0], [1.0, 2.0]])).LD
    tensor([[2.0000, 0.0000],
            [0.5000, 1.5000]])
    """
    flag("linalg_ldl_factor_ex", "hermitian", hermitian)
    square("linalg.ldl_factor_ex", A)
    data, pivots, info = backend(A).sytrf(A.detach(), bool(hermitian))
    data = data.tril()
    if not info.is_meta and bool((all_samples(info) < 0).any()):
        data = data.masked_fill((info < 0).reshape(info.shape + (1, 1)), float("nan")).tril()
    if check_errors:
        check("linalg.ldl_factor_ex", info, singular_block)
    return deliver("linalg.ldl_factor_ex", out, LdlFactorExResult(data, pivots, info), True)


def singular_block(value):
    return f"D[{value},{value}] is zero, the factorization is singular and cannot be used to solve systems"


def linalg_ldl_factor(A, *, hermitian=False, out=None):
    """L and D of A = L D L^T, and pivots: `linalg.ldl_factor_ex` that raises LinAlgError for a singular D.

    >>> torch.linalg.ldl_factor(torch.tensor([[2.0, 1.0], [1.0, 2.0]])).LD
    tensor([[2.0000, 0.0000],
            [0.5000, 1.5000]])
    """
    flag("linalg_ldl_factor", "hermitian", hermitian)
    found = linalg_ldl_factor_ex(A, hermitian=hermitian)
    check("torch.linalg.ldl_factor", found.info, singular_block)
    return deliver("linalg.ldl_factor", out, LdlFactorResult(found.LD, found.pivots), True)


def linalg_qr(A, mode="reduced", *, out=None):
    """A = Q R with orthonormal columns and upper triangular R: "reduced" (..., m, k) and (..., k, n), "complete", or "r" for R alone.

    A: (..., m, n) of float32, float64 or complex, k = min(m, n). RuntimeError for another mode or dtype.

    >>> Q, R = torch.linalg.qr(torch.tensor([[3.0], [4.0]]))
    >>> (Q @ R).round()
    tensor([[3.],
            [4.]])
    """
    matrix("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    return deliver("linalg.qr", out, QrLinalgResult(*apply(Qr, A, mode)), True)


def qr(input, some=True, *, out=None):
    """input = Q R, see `linalg.qr`: some=False is its mode "complete".

    >>> Q, R = torch.qr(torch.tensor([[3.0], [4.0]]))
    >>> Q.shape, R.shape
    (torch.Size([2, 1]), torch.Size([1, 1]))
    """
    flag("qr", "some", some)
    matrix("qr", input)
    return deliver("qr", out, QrResult(*apply(Qr, input, "reduced" if some else "complete")), True)


def geqrf(input, *, out=None):
    """R with Householder vectors below it, (..., m, n), and their factors (..., min(m, n)), as `linalg.householder_product` and `ormqr` read them.

    Raises NotImplementedError where a gradient is asked for: use `linalg.qr`. Source: LAPACK's geqrf.

    >>> a, tau = torch.geqrf(torch.tensor([[3.0], [4.0]]))
    >>> a.shape, tau.shape
    (torch.Size([2, 1]), torch.Size([1]))
    """
    matrix("geqrf", input)
    if needs_history(input):
        raise NotImplementedError("the derivative for 'geqrf' is not implemented: use linalg.qr")
    packed, tau, info = backend(input).geqrf(input)
    if not info.is_meta and bool((all_samples(info) < 0).any()):
        failed = info < 0
        packed = packed.masked_fill(failed.reshape(failed.shape + (1, 1)), float("nan"))
        tau = tau.masked_fill(failed.unsqueeze(-1), float("nan"))
    return deliver("geqrf", out, GeqrfResult(packed, tau))


def no_convergence(value):
    return f"The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated singular values (error code: {value})."


def recorded(A):
    """Whether a gradient may be asked for, which needs the vectors."""
    return needs_history(A)


def singular_parts(name, A, full, vectors, driver=None):
    matrix(name, A)
    if driver is not None:
        raise RuntimeError(f"{name}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")
    u, s, vh, info = apply(Svd, A, bool(full), vectors)
    check(name, info, no_convergence)
    return u, s, vh


def linalg_svd(A, full_matrices=True, *, driver=None, out=None):
    """A = U diag(S) Vh with descending S; full_matrices=False: the first min(m, n) columns of U and rows of Vh.

    The gradient is defined where the singular values differ, and uses the first min(m, n) vectors alone.
    LinAlgError for matrices that hold NaN or do not converge.

    >>> torch.linalg.svd(torch.tensor([[0.0, 2.0], [1.0, 0.0]])).S
    tensor([2., 1.])
    """
    flag("linalg.svd", "full_matrices", full_matrices)
    return deliver("linalg.svd", out, SvdLinalgResult(*singular_parts("linalg.svd", A, full_matrices, True, driver)), True)


def linalg_svdvals(A, *, driver=None, out=None):
    """The singular values, descending.

    (..., m, n) of float32, float64 or complex to (..., min(m, n)), real. RuntimeError for other dtypes, LinAlgError for matrices that hold NaN.

    >>> torch.linalg.svdvals(torch.tensor([[0.0, 2.0], [1.0, 0.0]]))
    tensor([2., 1.])
    """
    return deliver("linalg.svdvals", out, singular_parts("linalg.svdvals", A, False, recorded(A), driver)[1], True)


def svd(input, some=True, compute_uv=True, *, out=None):
    """input = U diag(S) V^H: see `linalg.svd`, which returns V^H. compute_uv=False: U and V are zeros.

    Shapes: (..., m, n) to (..., m, k), (..., k) and (..., n, k) with k = min(m, n); some=False: all columns of U and V.

    >>> torch.svd(torch.tensor([[0.0, 2.0], [1.0, 0.0]])).S
    tensor([2., 1.])
    """
    flag("svd", "some", some)
    u, s, vh = singular_parts("svd", input, not some and compute_uv, bool(compute_uv) or recorded(input))
    if not compute_uv:
        lead = input.shape[:-2]
        u, v = (input.new_zeros(lead + (n, n)) for n in input.shape[-2:])
    else:
        v = vh.mH
    return deliver("svd", out, SvdResult(u, s, v), True)


def eigen_check(name, A, info):
    check(name, info, lambda value: "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated"
                                    f" eigenvalues (error code: {value}).")


def finite(name, A):
    if A.numel() and not A.is_meta and not bool(all_samples(A).isfinite().all()):
        raise RuntimeError(f"{name}: input should not contain infs or NaNs, got {description(A)} with some")


def linalg_eig(A, *, out=None):
    """Complex eigenvalues and eigenvectors (columns of length 1) of square matrices, in no fixed order.

    (..., n, n) of float32, float64 or complex to (..., n) and (..., n, n). RuntimeError for matrices that are not square, and for NaN and infinities.

    >>> torch.linalg.eig(torch.tensor([[2.0, 0.0], [0.0, 3.0]])).eigenvalues
    tensor([2.+0.j, 3.+0.j])
    """
    square("linalg.eig", A)
    finite("torch.linalg.eig", A)
    values, vectors, info = apply(Eig, A, True)
    eigen_check("linalg.eig", A, info)
    return deliver("linalg.eig", out, EigResult(values, vectors))


def linalg_eigvals(A, *, out=None):
    """The eigenvalues of `linalg.eig`, complex, in no fixed order: (..., n, n) -> (..., n). RuntimeError for NaN and infinities.

    >>> torch.linalg.eigvals(torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
    tensor([2.+0.j, 3.+0.j])
    """
    square("linalg.eigvals", A)
    finite("torch.linalg.eigvals", A)
    values, _, info = apply(Eig, A, recorded(A))
    eigen_check("linalg.eigvals", A, info)
    return deliver("linalg.eigvals", out, values)


def is_upper(name, UPLO):
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"{name}: Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper() == "U"


def linalg_eigh(A, UPLO="L", *, out=None):
    """Ascending real eigenvalues and orthonormal eigenvectors (columns) of Hermitian matrices, given by one triangle.

    LinAlgError for matrices that hold NaN or do not converge.

    >>> torch.linalg.eigh(torch.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    tensor([1., 3.])
    """
    square("linalg.eigh", A)
    values, vectors, info = apply(Eigh, A, is_upper("linalg.eigh", UPLO), True)
    eigen_check("linalg.eigh", A, info)
    return deliver("linalg.eigh", out, EighResult(values, vectors), True)


def linalg_eigvalsh(A, UPLO="L", *, out=None):
    """The eigenvalues of `linalg.eigh`, real and ascending: (..., n, n) -> (..., n). Only the triangle that `UPLO` names is read.

    >>> torch.linalg.eigvalsh(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    tensor([1., 3.])
    """
    square("linalg.eigvalsh", A)
    values, _, info = apply(Eigh, A, is_upper("linalg.eigvalsh", UPLO), recorded(A))
    eigen_check("linalg.eigvalsh", A, info)
    return deliver("linalg.eigvalsh", out, values, True)


METHODS = {"cholesky": cholesky, "lu": lu, "qr": qr, "geqrf": geqrf, "svd": svd}
LINALG = {"LinAlgError": LinAlgError, **{name.removeprefix("linalg_"): globals()[name] for name in (
    "linalg_cholesky", "linalg_cholesky_ex", "linalg_lu_factor", "linalg_lu_factor_ex", "linalg_lu", "linalg_ldl_factor",
    "linalg_ldl_factor_ex", "linalg_qr", "linalg_svd", "linalg_svdvals", "linalg_eig", "linalg_eigvals", "linalg_eigh", "linalg_eigvalsh")}}
