"""Derivatives of factorisations without eigenvalues, and of what is solved by them. The backwards are made of
differentiable operations, so they can be differentiated again.

The formulas follow from the differential of the factorisation's equation: see S. Walter, "Structured higher-order
algorithmic differentiation in the forward and reverse mode" (LU, QR) and I. Murray, "Differentiation of the
Cholesky decomposition".
"""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.batched import all_samples
from fasttensor.autograd.rule import Rule, apply, recording


def diagonal(x):
    return x.diagonal(0, -2, -1)


def unreal(x, like):
    """x without its imaginary part where `like` is real."""
    return x.real if x.is_complex() and not like.is_complex() else x


class CholeskyEx(Rule):
    name = "LinalgCholeskyExBackward0"

    @staticmethod
    def forward(ctx, a, upper):
        factor, info = backend(a).potrf(a, upper)
        ctx.save(factor)
        ctx.upper = upper
        return factor, info

    @staticmethod
    def backward(ctx, g, _):
        factor, = ctx.saved
        if g is None:
            return None, None
        lower = factor.mH if ctx.upper else factor
        g = g.mH if ctx.upper else g
        p = (lower.mH @ g).tril()
        p = p - diagonal(p).diag_embed() * 0.5
        p = (p + p.mH) * 0.5
        inner = apply(SolveTriangular, lower.mH, p, True, True, False)
        return apply(SolveTriangular, lower, inner, False, False, False), None


class SolveTriangular(Rule):
    """a @ x = b, or x @ a = b, of one batch shape; reads the triangle that `upper` names."""
    name = "LinalgSolveTriangularBackward0"

    @staticmethod
    def forward(ctx, a, b, upper, left, unit):
        x = backend(a).trsm(a, b, upper, left, unit)
        ctx.save(a, x)
        ctx.args = upper, left, unit
        return x

    @staticmethod
    def backward(ctx, g):
        a, x = ctx.saved
        upper, left, unit = ctx.args
        gb = apply(SolveTriangular, a.mH, g, not upper, left, unit)
        ga = None
        if ctx.needs_input_grad[0]:
            ga = -(gb @ x.mH if left else x.mH @ gb)
            ga = ga.triu(1 if unit else 0) if upper else ga.tril(-1 if unit else 0)
        return ga, gb, None, None, None


class LuFactorEx(Rule):
    name = "LinalgLuFactorExBackward0"

    @staticmethod
    def forward(ctx, a):
        lu, pivots, info = backend(a).getrf(a)
        ctx.save(lu, pivots)
        return lu, pivots, info

    @staticmethod
    def backward(ctx, g, *_):
        lu, pivots = ctx.saved
        if g is None:
            return None
        m, n = lu.shape[-2:]
        k = min(m, n)
        first = lu[..., :k, :k]
        lower, upper = unit_lower(first), first.triu()
        if m > n:
            below, g_below = lu[..., k:, :], g[..., k:, :]
            g_first = g[..., :k, :]
            inner = (lower.mH @ g_first.tril(-1)).tril(-1) + (g_first.triu() @ upper.mH - below.mH @ g_below).triu()
        elif m < n:
            beside, g_beside = lu[..., k:], g[..., k:]
            g_first = g[..., :k]
            inner = (lower.mH @ g_first.tril(-1) - g_beside @ beside.mH).tril(-1) + (g_first.triu() @ upper.mH).triu()
        else:
            inner = (lower.mH @ g.tril(-1)).tril(-1) + (g.triu() @ upper.mH).triu()
        if m > n:
            top = apply(SolveTriangular, lower.mH, inner, True, True, True)
            ga = apply(SolveTriangular, upper.mH, join(top, g_below, -2), False, False, False)
        else:
            right = apply(SolveTriangular, upper.mH, inner, False, False, False)
            ga = apply(SolveTriangular, lower.mH, right if m == n else join(right, g_beside, -1), True, True, True)
        return permutation(pivots, m, ga.dtype) @ ga


def unit_lower(x):
    return x.tril(-1) + one_like(x)


def one_like(x):
    """The identity of x's last size, without gradient."""
    return x.new_ones((x.shape[-1],)).diag_embed()


def join(a, b, dim):
    from fasttensor.autograd.rules.join import Cat
    return apply(Cat, dim % a.ndim, a.dtype.code, a, b)


def permutation(pivots, m, dtype):
    """P of A = P L U: its column i has its one in the row that pivoting brought to row i."""
    order = backend(pivots).row_order(pivots, m)
    return (order.unsqueeze(-2) == backend(pivots).row_order(pivots[..., :0], m).unsqueeze(-1)).to(dtype)


def without_singular(x, info):
    """NaN for what has no solution: LAPACK leaves what was in memory, which looks like one."""
    singular = info != 0
    return x.masked_fill(singular[..., None, None], float("nan")) if not x.is_meta and bool(singular.any()) else x


class Solve(Rule):
    """x of a @ x = b for matrices of one batch shape, its LU factors, pivots and info."""
    name = "LinalgSolveExBackward0"

    @staticmethod
    def forward(ctx, a, b):
        x, lu, pivots, info = backend(a).gesv(a, b)
        x = without_singular(x, info)
        ctx.save(a, x)
        ctx.mark_non_differentiable(lu)
        return x, lu, pivots, info

    @staticmethod
    def backward(ctx, g, *_):
        a, x = ctx.saved
        if g is None:
            return None, None
        gb = apply(Solve, a.mH, g)[0]
        return -(gb @ x.mH) if ctx.needs_input_grad[0] else None, gb


class InvEx(Rule):
    name = "LinalgInvExBackward0"

    @staticmethod
    def forward(ctx, a):
        y, info = backend(a).inverse(a)
        y = without_singular(y, info)
        ctx.save(y)
        return y, info

    @staticmethod
    def backward(ctx, g, _):
        y, = ctx.saved
        return None if g is None else -(y.mH @ g @ y.mH)


class CholeskySolve(Rule):
    """x of L L^H x = b. The gradient is that of the product L L^H, over the whole of L, as PyTorch's."""

    @staticmethod
    def forward(ctx, b, factor, upper):
        kernels = backend(b)
        lower, other = (factor.mH, factor) if upper else (factor, factor.mH)
        x = kernels.trsm(other, kernels.trsm(lower, b, False, True, False), True, True, False)
        ctx.save(factor, x)
        ctx.upper = upper
        return x

    @staticmethod
    def backward(ctx, g):
        factor, x = ctx.saved
        gb = apply(CholeskySolve, g, factor, ctx.upper)
        if not ctx.needs_input_grad[1]:
            return gb, None, None
        common = gb @ x.mH
        common = common + common.mH
        return gb, -(factor @ common) if ctx.upper else -(common @ factor), None


class CholeskyInverse(Rule):
    @staticmethod
    def forward(ctx, factor, upper):
        if factor.is_complex():
            return CholeskySolve.forward(ctx, one_like(factor).expand(factor.shape), factor, upper)
        y = backend(factor).potri(factor, upper)
        ctx.save(factor, y)
        ctx.upper = upper
        return y

    @staticmethod
    def backward(ctx, g):
        factor, y = ctx.saved
        common = y @ (g + g.mH) @ y
        return -(factor @ common) if ctx.upper else -(common @ factor), None


def parity(pivots):
    """1 or -1 a matrix: the sign of its row exchanges."""
    n = pivots.shape[-1]
    rows = backend(pivots).row_order(pivots[..., :0], n)
    return 1 - 2 * ((pivots != rows + 1).sum(-1) % 2)


class Det(Rule):
    name = "LinalgDetBackward0"

    @staticmethod
    def forward(ctx, a):
        lu, pivots, _ = backend(a).getrf(a)
        pivot = diagonal(lu)
        y = pivot.prod(-1) * parity(pivots).to(a.dtype)
        ctx.save(a, y, pivot)
        return y

    @staticmethod
    def backward(ctx, g):
        a, y, pivot = ctx.saved
        if invertible(a, y, pivot) or recording() and a.numel() == 0:
            factor = (g * conj(y)).unsqueeze(-1).unsqueeze(-1)
            return factor * apply(InvEx, a)[0].mH
        if recording():
            return g.unsqueeze(-1).unsqueeze(-1) * conj(apply(Cofactors, a))
        # cofactors by singular values are finite where A has no inverse
        u, s, vh, _ = backend(a).gesdd(a, "S")
        others = without_one(s).to(a.dtype)
        turn = apply(Det, u @ vh)
        return (u * others.unsqueeze(-2)) @ vh * (g * turn if not a.is_complex() else g * conj(turn)).unsqueeze(-1).unsqueeze(-1)


class Cofactors(Rule):
    """The derivatives of the determinant by the matrix's elements, for a matrix that has no inverse too: t conj(U) C conj(V^H) with
    A = U S V^H, C the diagonal of the products of the other singular values and t = det(U) det(V^H)."""

    @staticmethod
    def forward(ctx, a):
        ctx.save(a)
        u, s, vh, _ = backend(a).gesdd(a, "S")
        return (conj(u) * without_one(s).to(a.dtype).unsqueeze(-2)) @ conj(vh) * apply(Det, u @ vh).unsqueeze(-1).unsqueeze(-1)

    @staticmethod
    def backward(ctx, g):
        a, = ctx.saved
        return conj(apply(CofactorsAlong, conj(g), a))


class CofactorsAlong(Rule):
    """How the cofactors of A change along E: by those of S + F to first order, F = U^H E V, which are the products of the singular values
    but two times the trace's other elements on the diagonal, and times -F^T beside it. The map of E is its own transpose."""

    @staticmethod
    def forward(ctx, e, a):
        ctx.save(a)
        u, s, vh, _ = backend(a).gesdd(a, "S")
        f = u.mH @ e @ vh.mH
        others = without_two(s).to(a.dtype)
        change = -others * f.mT
        change.diagonal(0, -2, -1).copy_((others @ diagonal(f).unsqueeze(-1)).squeeze(-1))
        return conj(u) @ change @ conj(vh) * apply(Det, u @ vh).unsqueeze(-1).unsqueeze(-1)

    @staticmethod
    def backward(ctx, g):
        a, = ctx.saved
        if ctx.needs_input_grad[1]:
            raise NotImplementedError(f"det: third derivatives at a matrix without an inverse ({a.dtype}{list(a.shape)}) are not implemented")
        return conj(apply(CofactorsAlong, conj(g), a)), None


def invertible(a, det, pivot):
    """Whether no matrix is near one without an inverse, as far as the pivots of its LU tell."""
    if a.is_meta or a.numel() == 0:
        return False
    size = pivot.abs()
    near = size.amin(-1) <= size.amax(-1) * (1e-3 if a.dtype.name in ("float32", "complex64") else 1e-9)
    # a determinant that underflows says nothing of the cofactors; where it overflows, so do they
    return not bool(all_samples(near | (det == 0)).any())


def conj(x):
    return x.conj() if x.is_complex() else x


def without_one(s):
    """At each place the product of the other values, without dividing."""
    n = s.shape[-1]
    rows = s.unsqueeze(-2).expand(*s.shape, n)
    return rows.masked_fill(one_like(s) != 0, 1).prod(-1)


def without_two(s):
    """At each two places the product of the values elsewhere, without dividing; 0 on the diagonal."""
    n = s.shape[-1]
    one = one_like(s) != 0
    return s.unsqueeze(-2).unsqueeze(-2).expand(*s.shape, n, n).masked_fill(one.unsqueeze(-2) | one.unsqueeze(-3), 1).prod(-1).masked_fill(one, 0)


class Slogdet(Rule):
    name = "LinalgSlogdetBackward0"

    @staticmethod
    def forward(ctx, a):
        lu, pivots, _ = backend(a).getrf(a)
        d = diagonal(lu)
        sign = d.sgn().prod(-1) * parity(pivots).to(a.dtype)
        ctx.save(a, sign)
        return sign, d.abs().log().sum(-1)

    @staticmethod
    def backward(ctx, gsign, glog):
        a, sign = ctx.saved
        if a.is_complex():
            turn = None if gsign is None else (gsign.conj() * sign).imag
            real = turn * 0 if glog is None else glog
            factor = real.to(a.dtype) if turn is None else real - 1j * turn
        elif glog is None:
            return a * 0
        else:
            factor = glog
        return factor.unsqueeze(-1).unsqueeze(-1) * apply(InvEx, a)[0].mH


class Qr(Rule):
    """mode: "reduced", "complete" or "r" (whose Q is None)."""
    name = "LinalgQrBackward0"

    @staticmethod
    def forward(ctx, a, mode):
        m, n = a.shape[-2:]
        k = min(m, n)
        ctx.mode = mode
        kernels = backend(a)
        packed, tau, info = kernels.geqrf(a)
        # LAPACK, which has the complex ones, refuses NaN
        nan = a.is_complex() and not info.is_meta and bool((info < 0).any())
        bad = (info < 0).reshape(info.shape + (1, 1)) if nan else None
        packed = packed.masked_fill(bad, float("nan")) if nan else packed
        r = (packed if mode == "complete" else packed[..., :k, :]).triu()
        if mode == "r":
            return a.new_empty((0,)), r
        columns = m if mode == "complete" else k
        if columns > k or m > n:
            wide = a.new_zeros(a.shape[:-2] + (m, columns))
            wide[..., :k] = packed[..., :k]
        else:
            wide = packed[..., :columns]
        if k == 0 and columns:
            q = a.new_ones((m,)).diag_embed().expand(a.shape[:-2] + (m, m)).clone()
        else:
            q, _ = kernels.orgqr(wide, tau)
        q = q.masked_fill(bad, float("nan")) if nan else q
        ctx.save(q, r)
        return q, r

    @staticmethod
    def backward(ctx, gq, gr):
        if ctx.mode == "r":
            raise RuntimeError("linalg.qr: the derivative of linalg.qr depends on Q: use mode='reduced' or mode='complete' in place of mode='r'")
        q, r = ctx.saved
        m, n = q.shape[-2], r.shape[-1]
        if ctx.mode == "complete" and m > n:
            raise RuntimeError("linalg.qr: The QR decomposition is not differentiable when mode='complete' and nrows > ncols; use mode='reduced'")
        if m >= n:
            return Qr.square(q, r, gq, gr), None
        beside = r[..., m:]
        gbeside = None
        if gr is not None:
            gbeside = q @ gr[..., m:]
            more = (q @ beside) @ gr[..., m:].mH
            gq = more if gq is None else gq + more
            gr = gr[..., :m]
        first = Qr.square(q, r[..., :m], gq, gr)
        return join(first, beside * 0 if gbeside is None else gbeside, -1), None

    @staticmethod
    def square(q, r, gq, gr):
        """The gradient where R is square."""
        x = None if gr is None else gr @ r.mH
        if gq is not None:
            x = -(q.mH @ gq) if x is None else x - q.mH @ gq
        x = x.triu()
        both = x + x.mH
        middle = both - diagonal(both).diag_embed() * 0.5
        inner = q @ middle
        if gq is not None:
            inner = inner + gq
        return apply(SolveTriangular, r.mH, inner, False, False, False)
