"""Resampling along one dimension by a table: each output a weighted sum of a few inputs.

    resample(x, dim, index, weight)                     out[.., i, ..] = sum_t weight[i, t] * x[.., index[i, t], ..]
    resample_backward(g, dim, size, index, weight)      its transpose

Linear, cubic, antialiased and nearest interpolation are such tables applied dimension by dimension.
"""
from libc.stdlib cimport malloc, free

from fasttensor._core.dtype cimport FLOAT16, FLOAT32, FLOAT64, is_complex_code
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous, cast, describe

ctypedef fused real:
    float
    double


cdef struct Job:
    const void *x
    void *out
    Py_ssize_t size, outs, inner, taps
    const Py_ssize_t *index
    const double *weight
    bint transposed


cdef void one(Job *job, Py_ssize_t outer, const real *kind) noexcept nogil:
    cdef Py_ssize_t i, t, j, inner = job.inner
    cdef const real *x = <const real *>job.x + outer * inner * (job.outs if job.transposed else job.size)
    cdef real *out = <real *>job.out + outer * inner * (job.size if job.transposed else job.outs)
    cdef const real *src
    cdef real *dst
    cdef real w, total
    if job.transposed:
        for j in range(job.size * inner):
            out[j] = 0
    for i in range(job.outs):
        if inner == 1 and not job.transposed:
            total = 0
            for t in range(job.taps):
                total += <real>job.weight[i * job.taps + t] * x[job.index[i * job.taps + t]]
            out[i] = total
            continue
        for t in range(job.taps):
            w = <real>job.weight[i * job.taps + t]
            if w == 0 and job.taps > 1:
                if t == 0 and not job.transposed:
                    for j in range(inner):
                        out[i * inner + j] = 0
                continue
            if job.transposed:
                src, dst = x + i * inner, out + job.index[i * job.taps + t] * inner
                for j in range(inner):
                    dst[j] += w * src[j]
            else:
                src, dst = x + job.index[i * job.taps + t] * inner, out + i * inner
                if t == 0:
                    for j in range(inner):
                        dst[j] = w * src[j]
                else:
                    for j in range(inner):
                        dst[j] += w * src[j]


cdef void run_f32(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        one(<Job *>context, begin, <float *>NULL)


cdef void run_f64(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        one(<Job *>context, begin, <double *>NULL)


cdef Tensor apply_table(Tensor x, int dim, Py_ssize_t size, list index, list weight, bint transposed):
    cdef Job job
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t outer = 1, i, t, n = len(index)
    cdef int code, a
    cdef Tensor plain, out
    cdef Py_ssize_t *places
    cdef double *weights
    if is_complex_code(x.code):
        raise RuntimeError(f"interpolate: expected a real tensor, got {describe(x)}")
    code = FLOAT64 if x.code == FLOAT64 else FLOAT32
    plain = cast(contiguous(x), code)
    job.inner, job.taps, job.transposed = 1, len(index[0]) if n else 1, transposed
    for a in range(x.rank):
        sizes[a] = x.sizes[a]
        if a < dim:
            outer *= sizes[a]
        elif a > dim:
            job.inner *= sizes[a]
    job.size = size if transposed else sizes[dim]
    job.outs = n
    sizes[dim] = size if transposed else n
    out = new_tensor(x.rank, sizes, code, x.dev)
    places = <Py_ssize_t *>malloc((n * job.taps + 1) * (sizeof(Py_ssize_t) + sizeof(double)))
    if places == NULL:
        raise MemoryError(f"interpolate: no memory for the weights of {n} results")
    weights = <double *>(places + n * job.taps)
    try:
        for i in range(n):
            for t in range(job.taps):
                places[i * job.taps + t] = index[i][t]
                weights[i * job.taps + t] = weight[i][t]
                if not 0 <= places[i * job.taps + t] < job.size:
                    raise RuntimeError("resample: an index lies outside of the input")
        job.x, job.out, job.index, job.weight = plain.ptr, out.ptr, places, weights
        if out.count and plain.count:
            with nogil:
                parallel_for(outer, max(1, 32768 // (job.inner * (job.size + job.outs) * job.taps + 1)),
                             run_f32 if code == FLOAT32 else run_f64, &job)
    finally:
        free(places)
    return out if out.code == x.code or x.code < FLOAT16 else cast(out, x.code)


def resample(Tensor x, int dim, list index, list weight):
    """Integer inputs give float32 sums, for the caller to round."""
    return apply_table(x, dim, 0, index, weight, False)


def resample_backward(Tensor g, int dim, Py_ssize_t size, list index, list weight):
    return apply_table(g, dim, size, index, weight, True)
