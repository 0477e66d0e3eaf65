"""Resampling by tables: each output along a dimension a weighted sum of a few inputs.

    resample(x, tables)                     out[.., i, ..] = sum_t weight[i][t] * x[.., index[i][t], ..]
    resample_backward(g, tables, sizes)     its transpose, to the extents `sizes` of the tables' dimensions

`tables` lists (dim, taps); taps has the lists `index` and `weight` and a place `made`, where this file keeps them
as C arrays. Linear, cubic, antialiased and nearest interpolation are such tables, one for each dimension.
"""
from libc.stdlib cimport malloc, free
from libc.string cimport memset

from fasttensor._core.dtype cimport FLOAT16, FLOAT32, FLOAT64, is_complex_code
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous, cast, describe

cdef extern from "resample_rows.h" nogil:
    ctypedef struct ft_taps:
        Py_ssize_t n, size
        int *start
        int *index
        double *weight
    ctypedef struct ft_resampling:
        int levels
        const ft_taps *taps[3]
        Py_ssize_t ins "in"[3]
        Py_ssize_t out[3]
        Py_ssize_t inner, scratch
    void ft_taps_free(ft_taps *t)
    bint ft_taps_room(ft_taps *t, Py_ssize_t n, Py_ssize_t size, Py_ssize_t count)
    bint ft_taps_lanes(ft_taps *t)
    bint ft_taps_transpose(const ft_taps *t, ft_taps *back)
    void ft_resampling_settle(ft_resampling *r)
    void ft_resample_float(const ft_resampling *r, int a, const float *x, float *out, Py_ssize_t first, Py_ssize_t last, float *scratch)
    void ft_resample_double(const ft_resampling *r, int a, const double *x, double *out, Py_ssize_t first, Py_ssize_t last, double *scratch)


cdef class Table:
    """The lists of one dimension as C arrays, and their transpose once it is asked for."""
    cdef ft_taps forth
    cdef ft_taps back
    cdef bint transposed

    def __cinit__(self):
        memset(&self.forth, 0, sizeof(ft_taps))
        memset(&self.back, 0, sizeof(ft_taps))

    def __init__(self, list index, list weight, Py_ssize_t size):
        cdef Py_ssize_t i, t, place, count = 0
        cdef list places, weights
        for places in index:
            count += len(places)
        if max(size, count, <Py_ssize_t>len(index)) > 0x7fffffff:
            raise RuntimeError(f"interpolate: {size} inputs and {len(index)} outputs along one dimension are too many: at most {0x7fffffff}")
        if not ft_taps_room(&self.forth, len(index), size, count):
            raise MemoryError(f"interpolate: no memory for the {count} weights")
        count = 0
        for i in range(len(index)):
            places, weights = index[i], weight[i]
            self.forth.start[i] = <int>count
            for t in range(len(places)):
                place = places[t]
                if not 0 <= place < size:
                    raise RuntimeError("resample: an index lies outside of the input")
                self.forth.index[count], self.forth.weight[count] = <int>place, weights[t]
                count += 1
        self.forth.start[len(index)] = <int>count
        if not ft_taps_lanes(&self.forth):
            raise MemoryError(f"interpolate: no memory for the {count} weights")

    def __dealloc__(self):
        ft_taps_free(&self.forth)
        ft_taps_free(&self.back)

    cdef const ft_taps *get(self, bint transposed) except NULL:
        if not transposed:
            return &self.forth
        if not self.transposed:
            ft_taps_free(&self.back)
            if not ft_taps_transpose(&self.forth, &self.back):
                raise MemoryError(f"interpolate: no memory for the weights of {self.forth.n} gradients")
            self.transposed = True
        return &self.back


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
    cdef Table table
    if is_complex_code(x.code):
        raise RuntimeError(f"interpolate: expected a real tensor, got {describe(x)}")
    for a in range(x.rank):
        taps[a] = NULL
        shape[a] = x.sizes[a]
    for k in range(len(tables)):
        dim, lists = tables[k]
        a = dim
        if lists.made is None:
            lists.made = Table(lists.index, lists.weight, sizes[k] if transposed else x.sizes[a])
        table = lists.made
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
            raise MemoryError(f"interpolate: no memory for {job.plan.scratch} intermediate values")
    return out if out.code == x.code or x.code < FLOAT16 else cast(out, x.code)


def resample(Tensor x, list tables):
    """Integer inputs give float32 sums, for the caller to round."""
    return apply_tables(x, tables, (), False)


def resample_backward(Tensor g, list tables, tuple sizes):
    return apply_tables(g, tables, sizes, True)
