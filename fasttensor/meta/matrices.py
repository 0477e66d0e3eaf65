"""Shapes of decompositions, solvers and Fourier transforms. `info`, by which a factorisation says that it failed, is a meta tensor too."""
from fasttensor._core.dtype import DTYPES
from fasttensor._core.tensor import description
from fasttensor.meta.tensors import code_of, like, new, together, with_strides

INT32 = DTYPES["int32"].code
REAL = {"complex64": DTYPES["float32"].code, "complex128": DTYPES["float64"].code}
COMPLEX = {"float32": DTYPES["complex64"].code, "float64": DTYPES["complex128"].code}


def _real(x):
    return REAL.get(x.dtype.name, code_of(x))


def _complex(x):
    return COMPLEX.get(x.dtype.name, code_of(x))


def _info(x):
    return new(x.shape[:-2], INT32)


def _columns(sizes, code):
    """Matrices whose columns lie together, as LAPACK leaves them."""
    *lead, m, n = sizes
    steps, run = [], m * n
    for size in reversed(lead):
        steps.append(run)
        run *= max(size, 1)
    return with_strides(sizes, (*steps[::-1], 1, max(m, 1)), code) if m != 1 or n != 1 else new(sizes, code)


def _turned(x):
    return _columns(x.shape, code_of(x))


def _small(x):
    return min(x.shape[-2:])


def getrf(x):
    return _turned(x), new((*x.shape[:-2], _small(x)), INT32), _info(x)


def gesv(x, y):
    together("linalg.solve", x, y)
    return _turned(y), _turned(x), new((*x.shape[:-2], x.shape[-1]), INT32), _info(x)


def inverse(x):
    return _turned(x), _info(x)


def potrf(x, upper):
    return like(x) if upper else _turned(x), _info(x)


def potri(x, upper):
    return like(x)


def trsm(x, y, upper, left, unit):
    together("linalg.solve_triangular", x, y)
    return _turned(y)


def geqrf(x):
    return _turned(x), new((*x.shape[:-2], _small(x)), code_of(x)), _info(x)


def orgqr(x, factors):
    together("linalg.householder_product", x, factors)
    return _turned(x), _info(x)


def ormqr(x, factors, other, left, transpose):
    together("ormqr", x, factors, other)
    return _turned(other), _info(x)


def sytrf(x, hermitian):
    return _turned(x), new((*x.shape[:-2], x.shape[-1]), INT32), _info(x)


def sytrs(x, pivots, y, hermitian):
    together("linalg.ldl_solve", x, pivots, y)
    return _turned(y), _info(x)


def row_order(pivots, m):
    return new((*pivots.shape[:-1], m), INT32)


def gesdd(x, job):
    *lead, m, n = x.shape
    k = min(m, n)
    s = new((*lead, k), _real(x))
    if job == "N":
        return None, s, None, _info(x)
    full = job == "A"
    return (_columns((*lead, m, m if full else k), code_of(x)), s, _columns((*lead, n if full else k, n), code_of(x)), _info(x))


def syevd(x, upper, vectors):
    return new(x.shape[:-1], _real(x)), _turned(x) if vectors else None, _info(x)


def geev(x, vectors):
    return new(x.shape[:-1], _complex(x)), _columns(x.shape, _complex(x)) if vectors else None, _info(x)


def least_squares(x, y, driver, rcond):
    raise NotImplementedError(f"aten::linalg_lstsq: attempted to run this operator with Meta tensors ({description(x)}, {description(y)}), for"
                              " which it is not implemented, as in PyTorch: the shape of residuals depends on the rank")


def fft_c2c(x, dims, scaling, forward):
    return new(x.shape, _complex(x))


def fft_r2c(x, dims, scaling, forward, weighted):
    return fft_sized(x, dims[-1], x.shape[dims[-1]] // 2 + 1, _complex(x))


def fft_c2r(x, dims, scaling, size, forward, weighted):
    return fft_sized(x, dims[-1], size, _real(x))


def fft_sized(x, dim, size, code):
    return new([size if d == dim % x.ndim else n for d, n in enumerate(x.shape)], code)
