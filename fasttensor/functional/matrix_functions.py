"""Functions of matrices: determinants, pseudoinverse, rank, condition, exponential, least squares, low-rank factors."""

from fasttensor._core.dispatch import backend
from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.batched import all_samples, find_level
from fasttensor.autograd.checks import int_of, optional_tensor
from fasttensor.autograd.rule import apply, needs_history
from fasttensor.autograd.rules.linalg import Det, Slogdet
from fasttensor.autograd.rules.linalg_spectral import MatrixExp, Pinv
from fasttensor.functional.decompositions import linalg_cholesky, linalg_eigh, linalg_eigvalsh, linalg_qr, linalg_svd, linalg_svdvals, no_convergence
from fasttensor.functional.dims import deliver, tensor_argument
from fasttensor.functional.linalg_arguments import batches, check, matrix, square
from fasttensor.functional.linalg_norm import matrix_norm
from fasttensor.functional.numeric_info import finfo
from fasttensor.functional.random import randn
from fasttensor.functional.solving import inv_ex, solve_triangular
from fasttensor.functional.results import RESULTS

__all__ = ["det", "slogdet", "logdet", "pinverse", "matrix_exp", "svd_lowrank", "pca_lowrank", "lobpcg"]

SlogdetResult = RESULTS["slogdet"]
SlogdetLinalgResult = RESULTS["linalg_slogdet"]
LstsqResult = RESULTS["linalg_lstsq"]


def det(A, *, out=None):
    """The determinant of square matrices (..., n, n); its gradient is finite for singular ones.

    dtypes: float32, float64 or complex. RuntimeError for matrices that are not square. Source: the LU factorisation.

    >>> torch.linalg.det(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(8.)
    """
    square("linalg.det", A)
    return deliver("linalg.det", out, apply(Det, A), True)


def slogdet(A, *, out=None):
    """The sign of the determinant and the logarithm of its absolute value; 0 and -inf for singular matrices.

    dtypes: float32, float64 or complex. RuntimeError for matrices that are not square. Source: the LU factorisation.

    >>> torch.slogdet(torch.tensor([[-1.0]]))
    torch.return_types.slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.))
    """
    square("slogdet", A)
    return deliver("slogdet", out, SlogdetResult(*apply(Slogdet, A)))


def linalg_slogdet(A, *, out=None):
    """The sign of the determinant and the logarithm of its absolute value, (..., n, n) -> (...); 0 and -inf for singular matrices.

    Raises RuntimeError for matrices that are not square, and for integers. Source: the LU factorisation.

    >>> torch.linalg.slogdet(torch.tensor([[-1.0]]))
    torch.return_types.linalg_slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.))
    """
    square("linalg.slogdet", A)
    return deliver("linalg.slogdet", out, SlogdetLinalgResult(*apply(Slogdet, A)), True)


def logdet(A):
    """log(det(A)): nan where a real determinant is negative, -inf where it is 0.

    (..., n, n) -> (...); float32, float64 or complex. NaN where the determinant is negative. RuntimeError for matrices that are not square.

    >>> torch.logdet(torch.eye(2))
    tensor(0.)
    """
    square("logdet", A)
    sign, size = apply(Slogdet, A)
    if A.is_complex():
        return sign.log() + size
    return size.masked_fill(sign.detach() < 0, float("nan"))


def matrix_exp(A):
    """The sum of A^k / k! for square matrices.

    dtypes: floating point or complex. RuntimeError for matrices that are not square.

    >>> torch.linalg.matrix_exp(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    square("linalg.matrix_exp", A)
    return apply(MatrixExp, A)


def tolerances(name, A, atol, rtol):
    """A function of the largest singular value that gives what counts as zero."""
    for value in (atol, rtol):
        if isinstance(value, Tensor) and value.is_complex():
            raise RuntimeError(f"{name}: atol and rtol tensors of complex type are not supported, got {description(value)}")
    given = atol is not None and (atol.is_meta or bool((all_samples(atol) > 0).any()) if isinstance(atol, Tensor) else atol > 0)
    relative = rtol if rtol is not None else 0.0 if given else finfo(A.dtype).eps * max(A.shape[-2:])
    absolute = 0.0 if atol is None else atol

    def limit(largest):
        r = relative.unsqueeze(-1) if isinstance(relative, Tensor) else relative
        a = absolute.unsqueeze(-1) if isinstance(absolute, Tensor) else absolute
        scaled = r * largest
        return scaled.clamp(min=a) if not isinstance(a, Tensor) else scaled.maximum(a.to(scaled.dtype))
    return limit


def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """The Moore-Penrose pseudoinverse: singular values up to max(atol, rtol * largest) count as zero.

    dtypes: float32, float64 or complex. RuntimeError for integers and for fewer than two dimensions. Source: Moore and Penrose, by singular values.

    >>> torch.linalg.pinv(torch.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    name = "linalg.pinv"
    matrix(name, A)
    if hermitian:
        square(name, A)
    rtol = rcond if rtol is None else rtol
    limit = tolerances(name, A, atol, rtol)
    if A.numel() == 0:
        return deliver(name, out, A.mH.clone())
    if find_level(atol, rtol) is not None:
        from fasttensor.autograd.batching.loop import each_sample
        return each_sample(lambda a, t, r: pinv(a, None, hermitian, atol=t, rtol=r), A, atol, rtol)
    y, info = apply(Pinv, A, limit, bool(hermitian))
    check(name, info, no_convergence)
    return deliver(name, out, y)


def pinverse(input, rcond=1e-15):
    """The pseudoinverse, (..., m, n) -> (..., n, m): `linalg.pinv` with singular values below `rcond` times the largest left out.

    >>> torch.pinverse(torch.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    return pinv(input, rcond)


def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """How many singular values exceed max(atol, rtol * largest); rtol defaults to max(m, n) * eps.

    (..., m, n) -> (...), int64. dtypes: float32, float64 or complex. RuntimeError for fewer than two dimensions.

    >>> torch.linalg.matrix_rank(torch.ones(3, 3))
    tensor(1)
    """
    name = "linalg.matrix_rank"
    matrix(name, A)
    if tol is not None:
        atol, rtol = tol, 0.0
    limit = tolerances(name, A, atol, rtol)
    if A.numel() == 0:
        return deliver(name, out, A.new_zeros(A.shape[:-2], dtype=A.new_ones((), dtype=None).long().dtype))
    A = A.detach()
    values = linalg_eigvalsh(A).abs() if hermitian else linalg_svdvals(A)
    return deliver(name, out, (values > limit(values.amax(-1, True))).sum(-1))


def cond(A, p=None, *, out=None):
    """The condition number in norm p (None: 2): the norm of A by that of its inverse; inf for singular matrices.

    (..., m, n) to (...), real. dtypes: float32, float64 or complex. RuntimeError for another `p`, and unless it is 2, -2 or None for matrices that are
    not square.

    >>> torch.linalg.cond(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(2.)
    """
    name = "linalg.cond"
    matrix(name, A)
    if p is None or p in (2, -2):
        values = linalg_svdvals(A)
        if A.numel() == 0:
            return deliver(name, out, values.new_zeros(A.shape[:-2]))
        y = values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
        return deliver(name, out, y)
    if p not in ("fro", "nuc", 1, -1, float("inf"), -float("inf")):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    square(f"{name}(p={p})", A)
    if A.shape[-1] == 0:
        return deliver(name, out, A.sum((-2, -1)).abs())
    y = inv_ex(A)
    failed = y.info != 0
    if failed.is_meta or not bool(all_samples(failed).any()):
        return deliver(name, out, matrix_norm(A, p) * matrix_norm(y.inverse, p))
    inverse = y.inverse.masked_fill(failed.reshape(failed.shape + (1, 1)), 0)      # the NaN that stands for it would end the search for its values
    return deliver(name, out, (matrix_norm(A, p) * matrix_norm(inverse, p)).masked_fill(failed, float("inf")))


def lstsq(input, b, rcond=None, *, driver=None, out=None):
    """x that minimises |input @ x - b| a column, of least norm where there are several.

    Returns solution, residuals (squared, for input of full rank with more rows than columns), rank, and singular
    values (for the drivers "gelsd" and "gelss"); what does not apply is empty. driver: "gels" for full rank, "gelsy" (default), "gelsd", "gelss".

    dtypes: float32, float64 or complex, both the same. RuntimeError for another `driver` and for shapes that do not fit.

    >>> torch.linalg.lstsq(torch.tensor([[1.0], [1.0]]), torch.tensor([[1.0], [3.0]])).solution.round()
    tensor([[2.]])
    """
    name = "torch.linalg.lstsq"
    tensor_argument(name, b)
    matrix(name, input)
    if b.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension, got {description(b)}")
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got {driver}")
    if not 0 <= input.ndim - b.ndim <= 1 and b.ndim < input.ndim:
        raise RuntimeError(f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1, got"
                           f" {description(input)} and {description(b)}")
    vector = input.ndim - 1 == b.ndim and b.shape == input.shape[:-1]
    other = b.unsqueeze(-1) if vector else b
    if other.ndim < 2 or other.shape[-2] != input.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({-1 if vector else -2}), got {description(input)} and {description(b)}")
    matrix(name, input, other)
    A, B = batches(name, input, other)
    m, n = A.shape[-2:]
    lead = A.shape[:-2]
    none = A.new_empty((0,), dtype=A.dtype)
    real = none.abs()
    rcond = finfo(A.dtype).eps * max(m, n) if rcond is None else float(rcond)
    start = B.new_zeros(lead + (max(m, n), B.shape[-1]))
    start[..., :m, :] = B.detach()
    if A.numel() == 0 or B.numel() == 0:
        x, rank, values, info = start * 0, A.new_zeros(lead).real.long(), A.new_zeros(lead + (min(m, n),)).abs(), None
    else:
        x, rank, values, info = backend(A).least_squares(A.detach(), start, driver, rcond)
        rank = None if rank is None else rank.long()
        if bool((all_samples(info) < 0).any()):
            raise RuntimeError(f"{name}: The algorithm failed because the input contains non-finite values.")
        check(name, info, lambda value: "The least squares solution could not be computed because the input matrix does not have full rank"
                                        f" (error code: {value}).")
    full = driver == "gels" or rank is not None and bool((all_samples(rank) == n).all())
    solution = x[..., :n, :]
    if needs_history(A, B):     # the solver's values, with the gradient of the pseudoinverse's
        other = pinv(A, rtol=0.0 if driver == "gels" else rcond) @ B
        solution = solution.detach() + (other - other.detach())
    residuals = real
    if m > n and full and driver != "gelsy":
        difference = A @ solution - B
        residuals = (difference * (difference.conj() if difference.is_complex() else difference)).sum(-2)
        residuals = residuals.real if residuals.is_complex() else residuals
    return deliver(name, out, LstsqResult(solution.squeeze(-1) if vector else solution, residuals,
                                          none.abs().long() if driver == "gels" or rank is None else rank,
                                          values if driver in ("gelsd", "gelss") else real))


def approximate_basis(A, q, niter, M=None):
    """Q (..., m, q) with A close to Q Q^H A: N. Halko and others, "Finding structure with randomness", algorithm 4.4."""
    start = randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    X = A @ start if M is None else A @ start - M @ start
    Q = linalg_qr(X).Q
    for _ in range(niter):
        X = A.mH @ Q if M is None else A.mH @ Q - M.mH @ Q
        Q = linalg_qr(X).Q
        X = A @ Q if M is None else A @ Q - M @ Q
        Q = linalg_qr(X).Q
    return Q


def svd_lowrank(A, q=6, niter=2, M=None):
    """U (..., m, q), S (..., q) and V (..., n, q) with A - M close to U diag(S) V^H, by random projections.

    dtypes: float32, float64 or complex.

    >>> torch.svd_lowrank(torch.ones(5, 4), 2)[0].shape
    torch.Size([5, 2])
    """
    matrix("svd_lowrank", A)
    q = 6 if q is None else q
    if not 0 <= q <= min(A.shape[-2:]):
        raise ValueError(f"svd_lowrank: q(={q}) must be non-negative integer and not greater than min(m, n)={min(A.shape[-2:])}")
    M = None if M is None else M.expand(A.shape)
    m, n = A.shape[-2:]
    turned = m < n
    if turned:
        A, M = A.mH, None if M is None else M.mH
    Q = approximate_basis(A, q, niter, M)
    B = Q.mH @ A if M is None else Q.mH @ A - Q.mH @ M
    U, S, Vh = linalg_svd(B, full_matrices=False)
    V = Vh.mH
    U = Q @ U
    return (V, S, U) if turned else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    """`svd_lowrank` of A with its columns' means subtracted (`center`): V's columns are the principal directions.

    >>> torch.pca_lowrank(torch.ones(5, 4), 2)[2].shape
    torch.Size([4, 2])
    """
    matrix("pca_lowrank", A)
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)


def lobpcg(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None, ortho_iparams=None,
           ortho_fparams=None, ortho_bparams=None):
    """The k largest (largest=False: smallest) eigenvalues of A x = l B x and their vectors, for Hermitian A and positive-definite B.

    A, B: (..., m, m). k defaults to X's columns, `n`, or 1. Matrices here are dense, so that the values come from a
    complete factorisation: X, iK, niter, tol and what else steers PyTorch's iteration do not change the result. Where X is
    left out, the numbers that it begins from are drawn all the same, so that later ones are PyTorch's.

    dtypes: float32 and float64. Raises ValueError where m is less than three times X's columns, or `n`, or k, as PyTorch's iteration
    needs, and for a k outside of 1 .. m; RuntimeError for matrices that are not square.

    >>> torch.lobpcg(torch.tensor([3.0, 1.0, 2.0]).diag(), 1)[0]
    tensor([3.])
    """
    square("lobpcg", A)
    for place, (name, t) in enumerate((("B", B), ("X", X)), 3):
        optional_tensor(t, "lobpcg", name, place)
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    k = int_of(k, "lobpcg", "k")
    n = X.shape[-1] if X is not None else k if n is None else int_of(n, "lobpcg", "n")
    if m < 3 * n:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of requested "
                         f"eigenpairs (={n}): linalg.eigh gives all of them")
    if not 0 < k <= m:
        raise ValueError(f"lobpcg: k={k} must be in 1 .. {m} for {description(A)}")
    if X is None:
        for _ in range(A[..., 0, 0].numel()):
            randn(m, n, dtype=A.dtype, device=A.device)
    A = (A + A.mH) * 0.5
    if B is None:
        values, vectors = linalg_eigh(A)
    else:
        square("lobpcg", B, A)
        factor = linalg_cholesky(B)
        inner = solve_triangular(factor, A, upper=False)
        inner = solve_triangular(factor.mH, inner, upper=True, left=False)
        values, vectors = linalg_eigh((inner + inner.mH) * 0.5)
        vectors = solve_triangular(factor.mH, vectors, upper=True)
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :k], vectors[..., :k]


METHODS = {"det": det, "slogdet": slogdet, "logdet": logdet, "pinverse": pinverse, "matrix_exp": matrix_exp}
LINALG = {"slogdet": linalg_slogdet, **{name: globals()[name] for name in (
    "det", "matrix_exp", "pinv", "matrix_rank", "cond", "lstsq")}}
