"""Values put at the indices that max pooling found, and taken from there.

    max_pool_backward(g, indices, sizes)    adds each gradient at its index: [..., *sizes]
    max_unpool(x, indices, sizes)           puts each value at its index, zeros elsewhere
    max_pool_gather(x, indices, nd)         the derivative of both: the values at the indices

Indices are flat positions in the last `nd` dimensions; one outside of them raises RuntimeError.
"""
from libc.stdint cimport int64_t
from libc.string cimport memset

from fasttensor._core.dtype cimport FLOAT16, FLOAT32, FLOAT64, INT64, is_complex_code
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous, cast, describe

ctypedef fused element:
    float
    double
    int64_t


cdef struct Job:
    int code
    bint add                # or overwrite
    void *x
    void *out
    int64_t *indices
    Py_ssize_t outs         # indices of a plane
    Py_ssize_t volume       # of a plane that they point into
    Py_ssize_t[2] bad       # whether there is an index outside, and which


cdef bint inside(const int64_t *indices, Py_ssize_t n, Py_ssize_t volume, Py_ssize_t *bad) noexcept nogil:
    """Whether all indices are in the plane, looked at before any is used, so that the loops over them have no branches."""
    cdef size_t worst = 0           # a negative index is a large one
    cdef Py_ssize_t i
    for i in range(n):
        worst = <size_t>indices[i] if <size_t>indices[i] > worst else worst
    if worst < <size_t>volume or n == 0:
        return True
    for i in range(n):
        if indices[i] < 0 or indices[i] >= volume:
            bad[1] = indices[i]
            bad[0] = True
    return False


cdef void scatter_plane(const element *g, const int64_t *indices, Py_ssize_t n, element *out, Py_ssize_t volume, bint add,
                        Py_ssize_t *bad) noexcept nogil:
    cdef Py_ssize_t i
    memset(out, 0, volume * sizeof(element))
    if not inside(indices, n, volume, bad):
        return
    if add:
        for i in range(n):
            out[indices[i]] += g[i]
    else:
        for i in range(n):
            out[indices[i]] = g[i]


cdef void gather_plane(const element *x, const int64_t *indices, Py_ssize_t n, element *out, Py_ssize_t volume, Py_ssize_t *bad) noexcept nogil:
    cdef Py_ssize_t i
    if inside(indices, n, volume, bad):
        for i in range(n):
            out[i] = x[indices[i]]


cdef void add_planes(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *job = <Job *>context
    cdef Py_ssize_t i, n = job.outs, v = job.volume
    for i in range(begin, end):
        if job.code == FLOAT32:
            scatter_plane(<float *>job.x + i * n, job.indices + i * n, n, <float *>job.out + i * v, v, job.add, job.bad)
        elif job.code == FLOAT64:
            scatter_plane(<double *>job.x + i * n, job.indices + i * n, n, <double *>job.out + i * v, v, job.add, job.bad)
        else:
            scatter_plane(<int64_t *>job.x + i * n, job.indices + i * n, n, <int64_t *>job.out + i * v, v, job.add, job.bad)


cdef void gather_planes(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *job = <Job *>context
    cdef Py_ssize_t i, n = job.outs, v = job.volume
    for i in range(begin, end):
        if job.code == FLOAT32:
            gather_plane(<float *>job.x + i * v, job.indices + i * n, n, <float *>job.out + i * n, v, job.bad)
        elif job.code == FLOAT64:
            gather_plane(<double *>job.x + i * v, job.indices + i * n, n, <double *>job.out + i * n, v, job.bad)
        else:
            gather_plane(<int64_t *>job.x + i * v, job.indices + i * n, n, <int64_t *>job.out + i * n, v, job.bad)


cdef int work_code(Tensor x, str name) except -1:
    """The type to move values in."""
    if is_complex_code(x.code):
        raise RuntimeError(f"{name}: expected a real tensor, got {describe(x)}")
    return x.code if x.code == FLOAT32 or x.code == FLOAT64 or x.code == INT64 else FLOAT32 if x.code >= FLOAT16 else INT64


cdef Tensor through(Tensor x, Tensor indices, int nd, tuple sizes, bint scatter, bint add, str name):
    cdef Job job
    cdef int code = work_code(x, name), a
    cdef Py_ssize_t dims[64]
    cdef Tensor plain = cast(contiguous(x), code), out
    indices = contiguous(indices)
    job.volume = job.outs = 1
    for a in range(x.rank):
        dims[a] = x.sizes[a]
    for a in range(nd):
        dims[x.rank - nd + a] = sizes[a]
        job.outs *= indices.sizes[indices.rank - nd + a]
        job.volume *= sizes[a] if scatter else x.sizes[x.rank - nd + a]
    out = new_tensor(x.rank, dims, code, x.dev)
    job.add = add
    job.code, job.x, job.out, job.indices, job.bad[0] = code, plain.ptr, out.ptr, <int64_t *>indices.ptr, False
    if out.count:
        with nogil:
            parallel_for(out.count // (job.volume if scatter else job.outs), max(1, 32768 // (job.volume + 1)),
                         add_planes if scatter else gather_planes, &job)
    if job.bad[0]:
        raise RuntimeError(f"{name}: found an index {job.bad[1]} outside of the {job.volume} positions of a plane")
    return cast(out, x.code)


def max_pool_backward(Tensor g, Tensor indices, tuple sizes):
    """Adds each gradient at its index: [..., *sizes]."""
    return through(g, indices, len(sizes), sizes, True, True, "max_pool_backward")


def max_unpool(Tensor x, Tensor indices, tuple sizes):
    """Puts each value at its index, zeros elsewhere; the last of equal indices stays."""
    return through(x, indices, len(sizes), sizes, True, False, "max_unpool")


def max_pool_gather(Tensor x, Tensor indices, int nd):
    """The values of x at the indices."""
    return through(x, indices, nd, tuple(indices.shape)[indices.rank - nd:], False, False, "max_unpool_backward")
