"""Resampling by tables: each output along a dimension a weighted sum of a few inputs.

    resample(x, tables)                     out[.., i, ..] = sum_t weight[i][t] * x[.., index[i][t], ..]
    resample_backward(g, tables, sizes)     its transpose, to the extents `sizes` of the tables' dimensions

`tables` lists (dim, taps), with taps of fasttensor.cpu.taps. Linear, cubic, antialiased and nearest interpolation are such tables, one for each dimension.
"""
from libc.stdlib cimport malloc, free

from fasttensor._core.dtype cimport FLOAT16, FLOAT32, FLOAT64, is_complex_code
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous, cast, describe
from fasttensor._core.storage cimport no_room
from fasttensor.cpu.taps cimport ft_taps, Taps

cdef extern from "resample_rows.h" nogil:
    ctypedef struct ft_resampling:
        int levels
        const ft_taps *taps[3]
        Py_ssize_t ins "in"[3]
        Py_ssize_t out[3]
        Py_ssize_t inner, scratch
    void ft_resampling_settle(ft_resampling *r)
    void ft_resample_float(const ft_resampling *r, int a, const float *x, float *out, Py_ssize_t first, Py_ssize_t last, float *scratch)
    void ft_resample_double(const ft_resampling *r, int a, const double *x, double *out, Py_ssize_t first, Py_ssize_t last, double *scratch)


cdef struct Job:
    ft_resampling plan
    const char *x
    char *out
    int code
    Py_ssize_t parts, rows, x_plane, out_plane
    bint failed


cdef void run(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *job = <Job *>context
    cdef Py_ssize_t i, plane, first, last, item = 4 if job.code == FLOAT32 else 8
    cdef const char *x
    cdef char *out
    cdef void *scratch = malloc(job.plan.scratch * item + 64)
    if scratch == NULL:
        job.failed = True
        return
    for i in range(begin, end):
        plane = i // job.parts
        first = (i - plane * job.parts) * job.rows
        last = min(first + job.rows, job.plan.out[0])
        x, out = job.x + plane * job.x_plane * item, job.out + plane * job.out_plane * item
        if job.code == FLOAT32:
            ft_resample_float(&job.plan, 0, <float *>x, <float *>out, first, last, <float *>scratch)
        else:
            ft_resample_double(&job.plan, 0, <double *>x, <double *>out, first, last, <double *>scratch)
    free(scratch)


cdef Tensor apply_tables(Tensor x, list tables, tuple sizes, bint transposed):
    cdef Job job
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t planes = 1
    cdef int code, a, first = 64, last = -1, k
    cdef const ft_taps *taps[64]
    cdef Tensor plain, out
    cdef Taps table
    if is_complex_code(x.code):
        raise RuntimeError(f"interpolate: expected a real tensor, got {describe(x)}")
    for a in range(x.rank):
        taps[a] = NULL
        shape[a] = x.sizes[a]
    for k in range(len(tables)):
        a, table = tables[k]
        taps[a] = table.get(transposed)
        if taps[a].size != x.sizes[a]:
            raise RuntimeError(f"resample: a table for {taps[a].size} positions does not fit dimension {a} of {describe(x)}")
        shape[a] = taps[a].n
        first, last = min(first, a), max(last, a)
    if last - first > 2:            # further apart than one pass reaches
        for k in range(len(tables)):
            x = apply_tables(x, tables[k:k + 1], sizes[k:k + 1], transposed)
        return x
    code = FLOAT64 if x.code == FLOAT64 else FLOAT32
    plain = cast(contiguous(x), code)
    out = new_tensor(x.rank, shape, code, x.dev)
    if out.count and plain.count:
        job.plan.inner, job.plan.levels = 1, last - first + 1
        for a in range(x.rank):
            if a < first:
                planes *= shape[a]
            elif a > last:
                job.plan.inner *= shape[a]
            else:
                job.plan.taps[a - first], job.plan.ins[a - first], job.plan.out[a - first] = taps[a], x.sizes[a], shape[a]
        ft_resampling_settle(&job.plan)
        job.x_plane, job.out_plane = plain.count // planes, out.count // planes
        job.code, job.x, job.out, job.failed = code, plain.ptr, out.ptr, False
        # few large planes are cut between rows: slabs at the cuts are made twice
        job.rows = shape[first]
        if planes < 16 and (job.plan.levels > 1 or job.plan.inner > 1):
            job.rows = max(<Py_ssize_t>8, (shape[first] * planes + 15) // 16)
        job.parts = (shape[first] + job.rows - 1) // job.rows
        with nogil:
            parallel_for(planes * job.parts, max(<Py_ssize_t>1, 16384 * job.parts // (job.x_plane + job.out_plane)), run, &job)
        if job.failed:
            raise no_room(f"interpolate: no memory for {job.plan.scratch} intermediate values")
    return out if out.code == x.code or x.code < FLOAT16 else cast(out, x.code)


def resample(Tensor x, list tables):
    """Integer inputs give float32 sums, for the caller to round."""
    return apply_tables(x, tables, (), False)


def resample_backward(Tensor g, list tables, tuple sizes):
    return apply_tables(g, tables, sizes, True)
