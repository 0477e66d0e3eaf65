"""Derivatives of singular values, eigenvalues, pseudoinverses and the matrix exponential.

M. Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation"; G. Golub and V. Pereyra for the pseudoinverse; for the exponential R. Mathias, "A chain
rule for matrix functions": exp([[A, E], [0, A]]) holds the derivative in direction E.
"""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, apply, recording
from fasttensor.autograd.rules.linalg import Solve, diagonal, join, one_like, unreal


def check_gauge(name, what, values, scale):
    """Vectors are defined up to a phase each: a loss that depends on it has no gradient."""
    if recording():
        return
    limit = 1e-2 if values.dtype.name == "float32" else 1e-5
    if values.numel() and not values.is_meta and float(values.abs().max()) > limit * max(1.0, float(scale.abs().max())):
        raise RuntimeError(f"{name}_backward: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. The specified"
                           f" loss function depends on this quantity, so it is ill-defined.")


def skew(x):
    return x - x.mH


class Svd(Rule):
    """U, the singular values, V^H and info; without `vectors` U and V^H are empty, and there is no gradient."""
    name = "LinalgSvdBackward0"

    @staticmethod
    def forward(ctx, a, full, vectors):
        u, s, vh, info = backend(a).gesdd(a, ("A" if full else "S") if vectors else "N")
        if not vectors:
            u = vh = a.new_empty((0,))
        elif a.numel() == 0:
            u, vh = unit_like(u), unit_like(vh)
        ctx.save(u, s, vh)
        ctx.mark_non_differentiable(info)
        return u, s, vh, info

    @staticmethod
    def backward(ctx, gu, gs, gvh, _):
        u, s, vh = ctx.saved
        k = s.shape[-1]
        u, vh = u[..., :k], vh[..., :k, :]
        if gu is None and gvh is None:
            return None if gs is None else (u * gs.to(u.dtype).unsqueeze(-2)) @ vh, None, None
        gu = None if gu is None else gu[..., :k]
        gv = None if gvh is None else gvh[..., :k, :].mH
        v = vh.mH
        inner_u = None if gu is None else u.mH @ gu
        inner_v = None if gv is None else vh @ gv
        if u.is_complex():
            phase = sum(diagonal(x).imag for x in (inner_u, inner_v) if x is not None)
            check_gauge("svd", "singular vectors", phase, inner_u if inner_u is not None else inner_v)
        squares = s * s
        gaps = squares.unsqueeze(-2) - squares.unsqueeze(-1) + one_like(s)
        inner = None
        if inner_u is not None:
            inner = skew(inner_u) / gaps * s.unsqueeze(-2)
        if inner_v is not None:
            term = s.unsqueeze(-1) * (skew(inner_v) / gaps)
            inner = term if inner is None else inner + term
        if u.is_complex():      # the diagonals of the skew terms belong to the phases
            inner = inner - diagonal(inner).diag_embed()
            if inner_u is not None:
                inner = inner + (diagonal(skew(inner_u)) / (2 * s)).diag_embed()
        if gs is not None:
            inner = inner + gs.to(inner.dtype).diag_embed()
        m, n = u.shape[-2], vh.shape[-1]
        if m > k and gu is not None:
            left = u @ inner + (gu - u @ inner_u) / s.unsqueeze(-2)
        else:
            left = u @ inner
        ga = left @ vh
        if n > k and gv is not None:
            ga = ga + (u / s.unsqueeze(-2)) @ (gv - v @ inner_v).mH
        return ga, None, None


def unit_like(x):
    """Identities of x's shape."""
    m, n = x.shape[-2:]
    return x.new_ones((max(m, n),)).diag_embed()[:m, :n].expand(x.shape).clone()


class Eigh(Rule):
    """Eigenvalues and vectors of Hermitian matrices (empty without `vectors`: then there is no gradient), info."""
    name = "LinalgEighBackward0"

    @staticmethod
    def forward(ctx, a, upper, vectors):
        values, v, info = backend(a).syevd(a, upper, vectors)
        v = v if vectors else a.new_empty((0,))
        ctx.save(values, v)
        ctx.mark_non_differentiable(info)
        return values, v, info

    @staticmethod
    def backward(ctx, gl, gv, _):
        values, v = ctx.saved
        if gv is None:
            return None if gl is None else (v * gl.to(v.dtype).unsqueeze(-2)) @ v.mH, None, None
        inner = v.mH @ gv
        if v.is_complex():
            check_gauge("linalg_eigh", "eigenvectors", diagonal(inner).imag, inner)
        gaps = values.unsqueeze(-2) - values.unsqueeze(-1) + one_like(values)
        inner = skew(inner) * 0.5 / gaps
        inner = inner - diagonal(inner).diag_embed() if v.is_complex() else inner
        if gl is not None:
            inner = inner + gl.to(v.dtype).diag_embed()
        return v @ inner @ v.mH, None, None


class Eig(Rule):
    """Complex eigenvalues, vectors of length 1 (empty without `vectors`: then there is no gradient) and info."""
    name = "LinalgEigBackward0"

    @staticmethod
    def forward(ctx, a, vectors):
        values, v, info = backend(a).geev(a, vectors)
        v = v if vectors else a.new_empty((0,))
        ctx.save(a, values, v)
        ctx.mark_non_differentiable(info)
        return values, v, info

    @staticmethod
    def backward(ctx, gl, gv, _):
        a, values, v = ctx.saved
        inner = None
        if gv is not None:
            inner = v.mH @ gv
            check_gauge("linalg_eig", "eigenvectors", diagonal(inner).imag, inner)
            # vectors keep their length: what would change it is projected away
            inner = inner - (v.mH @ v) * diagonal(inner).real.unsqueeze(-2)
            gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
            inner = inner / (gaps.conj() + one_like(values))
            inner = inner - diagonal(inner).diag_embed()
        if gl is not None:
            inner = gl.diag_embed() if inner is None else inner + gl.diag_embed()
        if inner is None:
            return None, None
        return unreal(apply(Solve, v.mH, inner @ v.mH)[0], a), None


class Pinv(Rule):
    """`cutoff` gives the values to drop from the singular values (or the absolute eigenvalues, descending)."""
    name = "LinalgPinvBackward0"

    @staticmethod
    def forward(ctx, a, cutoff, hermitian):
        kernels = backend(a)
        if hermitian:
            values, v, info = kernels.syevd(a, False, True)
            size, u, vh = values.abs(), v, v.mH
        else:
            u, values, vh, info = kernels.gesdd(a, "S")
            size = values
        limit = cutoff(size.amax(-1, True))
        turned = (values.reciprocal() * 1).masked_fill(size <= limit, 0).to(a.dtype)
        y = (vh.mH * turned.unsqueeze(-2)) @ u.mH
        ctx.save(a, y)
        return y, info

    @staticmethod
    def backward(ctx, g, _):
        a, p = ctx.saved
        if g is None:
            return None, None, None
        ph, gh = p.mH, g.mH
        if a.shape[-2] <= a.shape[-1]:
            k = gh @ p
            kph = k @ ph
            ga = kph - (p @ k).mH - (a @ p) @ kph + (ph @ p) @ (gh - k @ a)
        else:
            k = p @ gh
            phk = ph @ k
            ga = phk - (k @ p).mH + (gh - a @ k) @ p @ ph - (phk @ p) @ a
        return ga, None, None


class MatrixExp(Rule):
    name = "LinalgMatrixExpBackward0"

    @staticmethod
    def forward(ctx, a):
        ctx.save(a)
        return exponential(a)

    @staticmethod
    def backward(ctx, g):
        a, = ctx.saved
        n = a.shape[-1]
        upper = join(a.mH, g, -1)
        lower = join(a * 0, a.mH, -1)
        return apply(MatrixExp, join(upper, lower, -2))[..., :n, n:]


# Coefficients of Pade's approximant of order 13, and the largest 1-norm that it serves: N. Higham, "The scaling
# and squaring method for the matrix exponential revisited".
PADE = (64764752532480000., 32382376266240000., 7771770303897600., 1187353796428800., 129060195264000., 10559470521600.,
        670442572800., 33522128640., 1323241920., 40840800., 960960., 16380., 182., 1.)
THETA = {"float64": 5.37, "complex128": 5.37, "float32": 3.9, "complex64": 3.9}


def exponential(a):
    """exp(a) by scaling, Pade's approximant and squaring; each matrix is scaled by its own norm."""
    if a.numel() == 0:
        return a.clone()
    if a.shape[-1] == 1:
        return a.exp()
    size = a.abs().sum(-2).amax(-1)
    finite = size.isfinite()
    count = (size.masked_fill(finite.logical_not(), 0) / THETA[a.dtype.name]).clamp(min=1e-30).log2().ceil().clamp(min=0)
    a = a * (0.5 ** count).unsqueeze(-1).unsqueeze(-1).to(a.dtype)
    b = PADE
    one = one_like(a)
    # in single precision these coefficients would lose digits: they are divided by the first
    b = [value / b[0] for value in b]
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    u = a @ (a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * one)
    v = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * one
    y, _, _, _ = backend(a).gesv(v - u, v + u)
    if a.is_meta:
        return y.contiguous()
    for step in range(int(count.max())):
        y = y.where((count <= step).unsqueeze(-1).unsqueeze(-1), y @ y)
    y = y.contiguous()          # a solution lies column by column
    return y if bool(finite.all()) else y.masked_fill(finite.logical_not().unsqueeze(-1).unsqueeze(-1), float("nan"))
