"""OpenBLAS from the scipy-openblas32 wheel, where it is installed: complex products and, for linear algebra,
LAPACK. Everything works without it.

The library is found without importing its Python module and opened when first needed. It is held to one
thread and called on tiles from the threads of `parallel_for`: two thread pools that alternate would each
wait for the other's workers to sleep.
"""
import os
import sys
from importlib.util import find_spec

from libc.limits cimport INT_MAX
from fasttensor._core.parallel cimport parallel_for

cdef extern from "<dlfcn.h>" nogil:
    void *dlopen(const char *name, int flags)
    void *dlsym(void *handle, const char *name)
    char *dlerror()
    int RTLD_NOW
    int RTLD_LOCAL

ctypedef void (*gemm_fn)(int order, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int lda,
                         const void *b, int ldb, const void *beta, void *c, int ldc) noexcept nogil
ctypedef void (*threads_fn)(int n) noexcept nogil

cdef void *_handle = NULL
cdef bint _searched = False
cdef str _path = None
cdef gemm_fn _gemm[2]
PREFIX = "scipy_"

cdef enum:
    ROW_MAJOR = 101
    NO_TRANS = 111
    TRANS = 112
    CONJ_TRANS = 113
    CONJ_NO_TRANS = 114
    ROWS = 32            # of C in one task


def library_path():
    """The file of the installed OpenBLAS, or None. FASTTENSOR_BLAS names another; empty: none."""
    given = os.environ.get("FASTTENSOR_BLAS")
    if given is not None:
        return given or None
    try:
        spec = find_spec("scipy_openblas32")
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    name = "libscipy_openblas" + (".dylib" if sys.platform == "darwin" else ".so")
    path = os.path.join(next(iter(spec.submodule_search_locations)), "lib", name)
    return path if os.path.exists(path) else None


cdef load():
    """Open the library. It counts its threads while it is loaded, so the variable is set just for that long."""
    global _handle, _searched, _path
    cdef bytes encoded
    cdef void *found
    _searched = True
    path = library_path()
    if path is None:
        return
    before = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        encoded = os.fsencode(path)
        _handle = dlopen(encoded, RTLD_NOW | RTLD_LOCAL)
    finally:
        if before is None:
            del os.environ["OPENBLAS_NUM_THREADS"]
        else:
            os.environ["OPENBLAS_NUM_THREADS"] = before
    if _handle == NULL:
        return
    _path = path
    found = symbol("openblas_set_num_threads")
    if found != NULL:
        (<threads_fn>found)(1)
    _gemm[0], _gemm[1] = <gemm_fn>symbol("cblas_cgemm"), <gemm_fn>symbol("cblas_zgemm")


cdef void *symbol(str name) except? NULL:
    cdef bytes encoded
    cdef void *found
    if not _searched:
        load()
    if _handle == NULL:
        return NULL
    encoded = (PREFIX + name).encode()
    found = dlsym(_handle, encoded)
    if found == NULL:           # a library given by FASTTENSOR_BLAS may have the plain names
        encoded = name.encode()
        found = dlsym(_handle, encoded)
    return found


def address(str name):
    """The address of a BLAS or LAPACK routine as an int, 0 where there is none."""
    return <size_t>symbol(name)


def loaded_path():
    """The library in use, None before its first use or where there is none."""
    return _path


cdef struct ComplexTask:
    gemm_fn gemm
    Py_ssize_t size, m, n, k, ars, acs, ldc
    int ta, tb, lda, ldb
    const char *a
    const char *b
    char *c


cdef void rows_of_c(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef ComplexTask *t = <ComplexTask *>context
    cdef float one[2]
    cdef float zero[2]
    cdef double one_d[2]
    cdef double zero_d[2]
    one[0], one_d[0] = 1, 1
    one[1] = one_d[1] = zero[0] = zero[1] = zero_d[0] = zero_d[1] = 0
    t.gemm(ROW_MAJOR, t.ta, t.tb, <int>(end - begin), <int>t.n, <int>t.k, <void *>one if t.size == 8 else <void *>one_d,
           t.a + begin * t.ars * t.size, t.lda, t.b, t.ldb, <void *>zero if t.size == 8 else <void *>zero_d,
           t.c + begin * t.ldc * t.size, <int>t.ldc)


cdef bint layout(Py_ssize_t rows, Py_ssize_t cols, Py_ssize_t rs, Py_ssize_t cs, bint conj, int *trans,
                 int *ld) noexcept nogil:
    """Whether BLAS reads a matrix of these strides, and under which names."""
    if cs == 1 and rs >= cols and rs <= INT_MAX:
        trans[0], ld[0] = CONJ_NO_TRANS if conj else NO_TRANS, <int>rs
        return True
    if rs == 1 and cs >= rows and cs <= INT_MAX:
        trans[0], ld[0] = CONJ_TRANS if conj else TRANS, <int>cs
        return True
    return False


cdef bint complex_gemm(int code, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, const char *a, Py_ssize_t ars,
                       Py_ssize_t acs, bint conj_a,
                       const char *b, Py_ssize_t brs, Py_ssize_t bcs, bint conj_b, char *c, Py_ssize_t ldc) except -1:
    cdef ComplexTask t
    if not _searched:
        load()
    t.gemm = _gemm[0] if code == 10 else _gemm[1]
    if t.gemm == NULL or m > INT_MAX or n > INT_MAX or k > INT_MAX or k == 0:
        return False
    if not layout(m, k, ars, acs, conj_a, &t.ta, &t.lda) or not layout(k, n, brs, bcs, conj_b, &t.tb, &t.ldb):
        return False
    t.size = 8 if code == 10 else 16
    t.m, t.n, t.k, t.a, t.b, t.c, t.ars, t.acs, t.ldc = m, n, k, a, b, c, ars, acs, ldc
    with nogil:
        parallel_for(m, ROWS if <double>m * n * k > 1 << 17 else m, rows_of_c, &t)
    return True
