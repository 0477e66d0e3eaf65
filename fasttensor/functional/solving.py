"""Systems of linear equations: solve, inverses, triangular systems, least squares."""
from math import prod

from fasttensor._core.dispatch import backend
from fasttensor._core.tensor import description
from fasttensor.autograd.batched import all_samples
from fasttensor.autograd.checks import flag
from fasttensor.autograd.rule import apply, needs_history
from fasttensor.autograd.rules.linalg import CholeskyInverse, CholeskySolve, InvEx, Solve, SolveTriangular, permutation
from fasttensor.functional.common import refuse_shared, wrap_dims
from fasttensor.functional.dims import deliver, tensor_argument
from fasttensor.functional.linalg_arguments import batches, check, is_vector, matrix, numbers, square
from fasttensor.functional.results import RESULTS

__all__ = ["inverse", "cholesky_solve", "cholesky_inverse", "triangular_solve", "lu_solve", "ormqr", "orgqr"]

InvExResult = RESULTS["linalg_inv_ex"]
SolveExResult = RESULTS["linalg_solve_ex"]
TriangularSolveResult = RESULTS["triangular_solve"]


def singular(value):
    return f"The diagonal element {value} is zero, the inversion could not be completed because the input matrix is singular."


def inverse_of(name, A, out):
    square(name, A)
    y, info = apply(InvEx, A)
    check(name, info, singular)
    return deliver(name, out, y, True)


def inv(A, *, out=None):
    """The inverse of square matrices; LinAlgError for a singular one. Prefer `linalg.solve` to multiplying by an inverse.

    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return inverse_of("linalg.inv", A, out)


def inverse(input, *, out=None):
    """The inverse of square matrices, (..., n, n): see `linalg.inv` for dtypes and errors.

    >>> torch.inverse(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return inverse_of("inverse", input, out)


def inv_ex(A, *, check_errors=False, out=None):
    """The inverse and, a matrix, info: 0 or the place of a zero on the diagonal of its U, where the inverse is NaN.

    A: (..., n, n) of float32, float64 or complex. LinAlgError where `check_errors` and a matrix is singular.

    >>> torch.linalg.inv_ex(torch.tensor([[2.0, 0.0], [0.0, 4.0]])).info
    tensor(0, dtype=torch.int32)
    """
    square("linalg.inv_ex", A)
    y, info = apply(InvEx, A)
    if check_errors:
        check("linalg.inv_ex", info, singular)
    return deliver("linalg.inv_ex", out, InvExResult(nan_where(y, info), info), True)


def nan_where(x, info):
    # LAPACK leaves the right hand side in place of a solution that does not exist
    return x.masked_fill((info != 0)[(...,) + (None,) * (x.ndim - info.ndim)], float("nan"))


def solved(name, A, B, left):
    """x, info of A @ x = B or x @ A = B."""
    tensor_argument(name, B)
    square(name, A)
    vector = is_vector(A, B)
    numbers(name, B)
    if vector and not left:
        raise RuntimeError(f"{name}: Vector broadcasting of the left hand side is not supported for left=False. In this case"
                           f" linalg.solve is equivalent to B / A.squeeze(-1); got {description(A)} and {description(B)}")
    b = B.unsqueeze(-1) if vector else B
    matrix(name, A, b)
    if b.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'}: {description(A)} and {description(B)}")
    A, b = batches(name, A, b)
    if left:
        x, _, _, info = apply(Solve, A, b)
    else:
        x, _, _, info = apply(Solve, A.mT, b.mT)
        x = x.mT
    return x.squeeze(-1) if vector else x, info


def solve(A, B, *, left=True, out=None):
    """x of A @ x = B (left=False: x @ A = B). A: (..., n, n); B: (..., n, k), or (..., n) for vectors; batches broadcast.

    LinAlgError for a singular A.

    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    x, info = solved("linalg.solve", A, B, left)
    check("torch.linalg.solve", info, lambda value: "The solver failed because the input matrix is singular.")
    return deliver("linalg.solve", out, x, True)


def solve_ex(A, B, *, left=True, check_errors=False, out=None):
    """x of A @ x = B and info in place of an error: 0, or the place of a zero on U's diagonal, where x is NaN. See `linalg.solve`.

    >>> torch.linalg.solve_ex(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0])).result
    tensor([1.0000, 0.5000])
    """
    x, info = solved("linalg.solve_ex", A, B, left)
    if check_errors:
        check("linalg.solve_ex", info, lambda value: "The solver failed because the input matrix is singular.")
    return deliver("linalg.solve_ex", out, SolveExResult(nan_where(x, info), info), True)


def solve_triangular(A, B, *, upper, left=True, unitriangular=False, out=None):
    """x of A @ x = B (left=False: x @ A = B) with triangular A, of which the other triangle is not read.

    A zero on the diagonal gives inf or nan, not an error.

    A (..., n, n), B (..., n, k), one dtype: float32, float64 or complex; batches broadcast. RuntimeError where the shapes do not fit.

    >>> torch.linalg.solve_triangular(torch.tensor([[2.0, 0.0], [1.0, 1.0]]), torch.tensor([[2.0], [3.0]]), upper=False)
    tensor([[1.],
            [2.]])
    """
    flag("solve_triangular", "upper", upper)
    flag("solve_triangular", "left", left)
    flag("solve_triangular", "unitriangular", unitriangular)
    name = "linalg.solve_triangular"
    square(name, A, B)
    if B.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'}: {description(A)} and {description(B)}")
    if out is not None:
        refuse_shared(name, out, (B,), True)
    A, B = batches(name, A, B)
    return deliver(name, out, apply(SolveTriangular, A, B, bool(upper), bool(left), bool(unitriangular)), True)


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False, *, out=None):
    """The solution of A x = b with triangular A, and A: see `linalg.solve_triangular`.

    b (..., n, k), A (..., n, n), one dtype: float32, float64 or complex; batches broadcast. RuntimeError where the shapes do not fit.

    >>> torch.triangular_solve(torch.tensor([[2.0]]), torch.tensor([[4.0]])).solution
    tensor([[0.5000]])
    """
    name = "triangular_solve"
    square(name, A, b)
    if b.shape[-2] != A.shape[-1]:
        raise RuntimeError(f"{name}: Incompatible matrix sizes for triangular_solve: each A matrix is {A.shape[-2]} by {A.shape[-1]}"
                           f" but each b matrix is {b.shape[-2]} by {b.shape[-1]}")
    A, b = batches(name, A, b)
    matrices = A.mT if transpose else A
    x = apply(SolveTriangular, matrices, b, bool(upper) != bool(transpose), True, bool(unitriangular))
    return deliver(name, out, TriangularSolveResult(x, A.clone()), True)


def lu_solution(name, LU, pivots, B, left, adjoint, out):
    square(name, LU, B)
    tensor_argument(name, pivots)
    if pivots.dtype.name != "int32":
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32. Got {description(pivots)}")
    if pivots.shape != LU.shape[:-1]:
        raise RuntimeError(f"{name}: Number of pivots per batch should be same as the dimension of the matrix, got {description(LU)} and {description(pivots)}")
    if B.shape[-2 if left else -1] != LU.shape[-1]:
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'}: {description(LU)} and {description(B)}")
    P = permutation(pivots, LU.shape[-1], LU.dtype)
    LU, B, P = batches(name, LU, B, P)
    if not left:        # x A = B is A^H x^H = B^H
        B, adjoint = B.mH, not adjoint
    if adjoint:
        x = apply(SolveTriangular, LU.mH, B, False, True, False)
        x = P @ apply(SolveTriangular, LU.mH, x, True, True, True)
    else:
        x = apply(SolveTriangular, LU, P.mT @ B, False, True, True)
        x = apply(SolveTriangular, LU, x, True, True, False)
    return deliver(name, out, x if left else x.mH, True)


def linalg_lu_solve(LU, pivots, B, *, left=True, adjoint=False, out=None):
    """x of A @ x = B, A^H @ x = B (adjoint) or x @ A = B (left=False), by the factors of `linalg.lu_factor`.

    LU: (..., n, n); pivots: (..., n), int32; B: (..., n, k). Raises RuntimeError where dtypes differ or shapes do not fit.

    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> torch.linalg.lu_solve(LU, pivots, torch.tensor([[2.0], [2.0]]))
    tensor([[1.0000],
            [0.5000]])
    """
    flag("linalg_lu_solve", "left", left)
    flag("linalg_lu_solve", "adjoint", adjoint)
    return lu_solution("linalg.lu_solve", LU, pivots, B, left, adjoint, out)


def lu_solve(b, LU_data, LU_pivots, *, out=None):
    """x of A @ x = b by the factors of A: `linalg.lu_solve`, which takes the right-hand side last.

    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> torch.lu_solve(torch.tensor([[2.0], [2.0]]), LU, pivots)
    tensor([[1.0000],
            [0.5000]])
    """
    return lu_solution("lu_solve", LU_data, LU_pivots, b, True, False, out)


def cholesky_solve(B, L, upper=False, *, out=None):
    """x of A @ x = B by A's Cholesky factor L.

    B (..., n, k), L (..., n, n), one dtype: float32, float64 or complex; batches broadcast. Raises RuntimeError where the shapes do not fit.

    >>> torch.cholesky_solve(torch.tensor([[4.0]]), torch.tensor([[2.0]]))
    tensor([[1.]])
    """
    flag("cholesky_solve", "upper", upper)
    name = "cholesky_solve"
    square(name, L, B)
    if B.shape[-2] != L.shape[-1]:
        raise RuntimeError(f"{name}: Incompatible matrix sizes for cholesky_solve: each A matrix is {L.shape[-2]} by {L.shape[-1]}"
                           f" but each b matrix is {B.shape[-2]} by {B.shape[-1]}")
    L, B = batches(name, L, B)
    return deliver(name, out, apply(CholeskySolve, B, L, bool(upper)))


def cholesky_inverse(L, upper=False, *, out=None):
    """The inverse of A by its Cholesky factor L.

    (..., n, n) of float32, float64 or complex. RuntimeError for matrices that are not square.

    >>> torch.cholesky_inverse(torch.tensor([[2.0]]))
    tensor([[0.2500]])
    """
    flag("cholesky_inverse", "upper", upper)
    square("cholesky_inverse", L)
    return deliver("cholesky_inverse", out, apply(CholeskyInverse, L, bool(upper)))


def ldl_solve(LD, pivots, B, *, hermitian=False, out=None):
    """x of A @ x = B by the factors of `linalg.ldl_factor`: LD (..., n, n), pivots (..., n), B (..., n, k). No gradient.

    Raises RuntimeError where dtypes differ or shapes do not fit.

    >>> LD, pivots = torch.linalg.ldl_factor(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> torch.linalg.ldl_solve(LD, pivots, torch.tensor([[2.0], [2.0]]))
    tensor([[1.0000],
            [0.5000]])
    """
    flag("ldl_solve", "hermitian", hermitian)
    name = "linalg.ldl_solve"
    square(name, LD, B)
    tensor_argument(name, pivots)
    if pivots.dtype.is_floating_point or pivots.dtype.is_complex or pivots.dtype.name == "bool":
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {description(pivots)}")
    if B.shape[-2] != LD.shape[-1] or pivots.shape != LD.shape[:-1]:
        raise RuntimeError(f"{name}: Incompatible shapes: {description(LD)}, pivots {description(pivots)}, B {description(B)}")
    pivots = pivots.int().unsqueeze(-1)
    data, b, pivots = batches(name, LD, B, pivots)
    x, info = backend(LD).sytrs(data.detach(), pivots.squeeze(-1), b.detach(), bool(hermitian))
    # LAPACK refuses NaN and leaves the right hand side as it is
    return deliver(name, out, x if info.is_meta or not bool((all_samples(info) != 0).any()) else nan_where(x, info), True)


def reflections(input, tau, start, left=True, adjoint=False):
    """Householder reflections applied one after another, differentiable: the first is outermost, or innermost."""
    vectors = input.tril(-1) + input.new_ones((max(input.shape[-2:]),)).diag_embed()[:input.shape[-2], :input.shape[-1]]
    k = tau.shape[-1]
    x = start
    tau = tau.conj() if adjoint and tau.is_complex() else tau
    for i in (range(k) if adjoint == left else range(k - 1, -1, -1)):
        v, t = vectors[..., i:i + 1], tau[..., i].unsqueeze(-1).unsqueeze(-1)
        x = x - (t * v) @ (v.mH @ x) if left else x - (x @ v) @ (t * v.mH)
    return x


def check_reflectors(name, input, tau):
    matrix(name, input)
    tensor_argument(name, tau)
    m, n = input.shape[-2:]
    if tau.dtype != input.dtype:
        raise RuntimeError(f"{name}: tau dtype should match input's, got {description(input)} and {description(tau)}")
    if tau.ndim != input.ndim - 1 or tau.shape[:-1] != input.shape[:-2]:
        raise RuntimeError(f"{name}: Expected tau to have one dimension less than input and equal batches, got {description(input)} and {description(tau)}")
    if tau.device != input.device:
        raise RuntimeError(f"{name}: Expected input and tau to be on the same device")


def refused_as_nan(y, info):
    """What complex matrices that LAPACK refuses, as they hold NaN, have for a product; real ones are not refused."""
    if info is None or not y.is_complex() or info.is_meta or not bool((all_samples(info) < 0).any()):
        return y
    return y * float("nan")


def householder_product(A, tau, *, out=None):
    """The first n columns of the product of Householder reflections, given as `geqrf` gives them. A: (..., m, n), n <= m.

    >>> torch.linalg.householder_product(*torch.geqrf(torch.tensor([[-2.0]])))
    tensor([[1.]])
    """
    return product("linalg.householder_product", A, tau, out)


def product(name, A, tau, out):
    check_reflectors(name, A, tau)
    m, n = A.shape[-2:]
    if m < n:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1], got {description(A)}")
    if n < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1], got {description(A)} and {description(tau)}")
    if needs_history(A, tau):
        start = A.new_ones((m,)).diag_embed()[:, :n].expand(A.shape)
        y = reflections(A, tau, start)
        return deliver(name, out, y)
    y, info = backend(A).orgqr(A, tau)
    return deliver(name, out, refused_as_nan(y, info), True)


def orgqr(input, tau, *, out=None):
    """The first n columns of the product of Householder reflections: see `linalg.householder_product`.

    >>> torch.orgqr(*torch.geqrf(torch.tensor([[-2.0]])))
    tensor([[1.]])
    """
    return product("orgqr", input, tau, out)


def ormqr(input, tau, other, left=True, transpose=False, *, out=None):
    """Q @ other, other @ Q (left=False), or with Q^H (transpose): Q is the square product of `geqrf`'s reflections, never formed.

    input: (..., m, n), tau: (..., min(m, n)), other: (..., m, k), left=False: (..., k, m). Raises RuntimeError where shapes do not fit.
    Source: LAPACK's ormqr.

    >>> a = torch.tensor([[3.0], [4.0]])
    >>> torch.ormqr(*torch.geqrf(a), a, transpose=True).round()
    tensor([[-5.],
            [ 0.]])
    """
    flag("ormqr", "left", left)
    flag("ormqr", "transpose", transpose)
    name = "ormqr"
    check_reflectors(name, input, tau)
    matrix(name, input, other)
    size = other.shape[-2 if left else -1]
    if input.shape[-2] != size or tau.shape[-1] != min(size, input.shape[-1]):
        raise RuntimeError(f"{name}: other.shape[{-2 if left else -1}] must be equal to input.shape[-2], and tau.shape[-1] the lesser of it and"
                           f" input.shape[-1], got"
                           f" {description(input)}, {description(tau)}, {description(other)}")
    if other.shape[:-2] != input.shape[:-2]:
        raise RuntimeError(f"{name}: batch dimensions of other should equal those of input, got {description(input)} and {description(other)}")
    if needs_history(input, tau, other):
        return deliver(name, out, reflections(input, tau, other, bool(left), bool(transpose)), True)
    y, info = backend(input).ormqr(input, tau, other, bool(left), bool(transpose))
    return deliver(name, out, refused_as_nan(y, info), True)


def tensorinv(A, ind=2, *, out=None):
    """The inverse with respect to tensordot over the first `ind` dimensions, whose product of sizes is that of the others.

    dtypes: float32, float64 or complex. Raises RuntimeError where the sizes do not fit or `ind` is not positive, LinAlgError for a singular map.

    >>> torch.linalg.tensorinv(torch.eye(6).reshape(2, 3, 6)).shape
    torch.Size([6, 2, 3])
    """
    tensor_argument("linalg.tensorinv", A)
    if not isinstance(ind, int) or ind <= 0:
        raise RuntimeError(f"linalg.tensorinv: Expected a strictly positive integer for 'ind', got {ind}")
    first, rest = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if prod(first) != prod(rest):
        raise RuntimeError(f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), got {description(A)}, ind={ind}")
    y = inverse_of("linalg.tensorinv", A.reshape(prod(rest), prod(first)), None)
    return deliver("linalg.tensorinv", out, y.reshape(rest + first))


def tensorsolve(A, B, dims=None, *, out=None):
    """X of tensordot(A, X, X.ndim) = B; `dims` of A are moved to its end first.

    >>> torch.linalg.tensorsolve(torch.eye(6).reshape(2, 3, 6), torch.ones(2, 3)).shape
    torch.Size([6])
    """
    tensor_argument("linalg.tensorsolve", A)
    tensor_argument("linalg.tensorsolve", B)
    if dims is not None:
        moved = list(wrap_dims(dims, A.ndim, "linalg.tensorsolve", False))
        A = A.permute([d for d in range(A.ndim) if d not in moved] + moved)
    rest = tuple(A.shape[B.ndim:])
    if prod(rest) != prod(B.shape):
        raise RuntimeError(f"linalg.tensorsolve: Expected self to satisfy the requirement prod(self.shape[other.ndim:]) =="
                           f" prod(self.shape[:other.ndim]), got {description(A)} and {description(B)}")
    x, info = solved("linalg.tensorsolve", A.reshape(B.numel(), prod(rest)), B.reshape(-1), True)
    check("torch.linalg.solve", info, lambda value: "The solver failed because the input matrix is singular.")
    return deliver("linalg.tensorsolve", out, x.reshape(rest))


METHODS = {"inverse": inverse, "cholesky_solve": cholesky_solve, "cholesky_inverse": cholesky_inverse, "triangular_solve": triangular_solve,
           "lu_solve": lu_solve, "ormqr": ormqr, "orgqr": orgqr}
LINALG = {"lu_solve": linalg_lu_solve, **{name: globals()[name] for name in (
    "inv", "inv_ex", "solve", "solve_ex", "solve_triangular", "ldl_solve", "householder_product", "tensorinv", "tensorsolve")}}
