"""A tensor framed by its own values: mirrored at the edges, the edges repeated, or wrapped around.

    mapped_pad(x, pads, mode)                      pads: (before, after) for each of the last 1 to 3 dimensions, negative ones cut
    mapped_pad_backward(g, sizes, pads, mode)      its transpose: the gradient of an input with extents `sizes` there

`mode` 0 reflects, 1 replicates, 2 wraps around. The caller has checked that the widths fit.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport malloc, free
from libc.string cimport memcpy, memset

from fasttensor._core.dtype cimport COMPLEX64, FLOAT16, FLOAT32, FLOAT64, ITEMSIZE, is_complex_code
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous, cast
from fasttensor._core.storage cimport no_room

ctypedef fused word:
    uint8_t
    uint16_t
    uint32_t
    uint64_t

ctypedef fused real:
    float
    double


cdef struct Job:
    const char *x
    char *out
    int code
    Py_ssize_t item, unit           # bytes of a word, and words of an element
    Py_ssize_t ins[3]
    Py_ssize_t outs[3]
    Py_ssize_t shift[3]             # outputs first .. last - 1 are inputs at the same place less `shift`
    Py_ssize_t first[3]
    Py_ssize_t last[3]
    Py_ssize_t *source[3]           # the input of each output
    Py_ssize_t *start[3]            # and for each input where its outputs begin in `targets`
    Py_ssize_t *targets[3]
    Py_ssize_t *memory


cdef void chart(Job *job, int a, Py_ssize_t before, Py_ssize_t after, int mode) noexcept nogil:
    """The map of one dimension."""
    cdef Py_ssize_t n = job.ins[a], i, p, low = 0, high = n
    cdef Py_ssize_t *source = job.source[a]
    if mode == 2:       # what is cut does not come back at the other end
        low, high = max(-before, 0), n - max(-after, 0)
    for i in range(job.outs[a]):
        p = i - before
        if not low <= p < high:
            if mode == 0:
                p = -p if p < 0 else 2 * (n - 1) - p
            elif mode == 1:
                p = 0 if p < 0 else n - 1
            else:
                p = (p - low) % (high - low)
                p = low + (p + (high - low) if p < 0 else p)
        source[i] = p
    job.shift[a] = before
    job.first[a] = min(max(low + before, 0), job.outs[a])
    job.last[a] = max(min(high + before, job.outs[a]), job.first[a])


cdef void invert(Job *job, int a) noexcept nogil:
    cdef Py_ssize_t i, total = 0, n
    cdef Py_ssize_t *start = job.start[a]
    memset(start, 0, (job.ins[a] + 1) * sizeof(Py_ssize_t))
    for i in range(job.outs[a]):
        start[job.source[a][i]] += 1
    for i in range(job.ins[a] + 1):
        n = start[i]
        start[i] = total
        total += n
    for i in range(job.outs[a]):
        job.targets[a][start[job.source[a][i]]] = i
        start[job.source[a][i]] += 1
    for i in range(job.ins[a], 0, -1):
        start[i] = start[i - 1]
    start[0] = 0


cdef void spread(const Job *job, const word *x, word *out) noexcept nogil:
    """One row of outputs."""
    cdef Py_ssize_t i, k, u = job.unit, first = job.first[2], last = job.last[2]
    cdef const Py_ssize_t *source = job.source[2]
    if u == 1:
        for i in range(first):
            out[i] = x[source[i]]
        for i in range(last, job.outs[2]):
            out[i] = x[source[i]]
    else:
        for i in range(job.outs[2]):
            if i < first or i >= last:
                for k in range(u):
                    out[i * u + k] = x[source[i] * u + k]
    if last > first:
        memcpy(out + first * u, x + (first - job.shift[2]) * u, (last - first) * u * sizeof(word))


cdef void forward(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *job = <Job *>context
    cdef Py_ssize_t row, o0, o1, plane, bytes = job.item * job.unit
    cdef const char *x
    cdef char *out
    o1, o0 = begin % job.outs[1], begin // job.outs[1]
    plane = o0 // job.outs[0]
    o0 -= plane * job.outs[0]
    for row in range(begin, end):
        x = job.x + ((plane * job.ins[0] + job.source[0][o0]) * job.ins[1] + job.source[1][o1]) * job.ins[2] * bytes
        out = job.out + row * job.outs[2] * bytes
        if job.item == 1:
            spread(job, <uint8_t *>x, <uint8_t *>out)
        elif job.item == 2:
            spread(job, <uint16_t *>x, <uint16_t *>out)
        elif job.item == 4:
            spread(job, <uint32_t *>x, <uint32_t *>out)
        else:
            spread(job, <uint64_t *>x, <uint64_t *>out)
        o1 += 1
        if o1 == job.outs[1]:
            o1 = 0
            o0 += 1
            if o0 == job.outs[0]:
                o0 = 0
                plane += 1


cdef void gather(const Job *job, const real *g, real *out, bint fresh) noexcept nogil:
    """Adds one row of gradients to a row of the input's, or begins it."""
    cdef Py_ssize_t i, k, u = job.unit, first = job.first[2], last = job.last[2]
    cdef Py_ssize_t low = (first - job.shift[2]) * u, n = (last - first) * u
    cdef const real *same = g + first * u
    cdef real *kept = out + low
    if fresh:
        if last > first:
            memset(out, 0, low * sizeof(real))
            memcpy(kept, same, n * sizeof(real))
            memset(kept + n, 0, (job.ins[2] * u - low - n) * sizeof(real))
        else:
            memset(out, 0, job.ins[2] * u * sizeof(real))
    else:
        for i in range(n):
            kept[i] += same[i]
    for i in range(first):
        for k in range(u):
            out[job.source[2][i] * u + k] += g[i * u + k]
    for i in range(last, job.outs[2]):
        for k in range(u):
            out[job.source[2][i] * u + k] += g[i * u + k]


cdef void backward(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *job = <Job *>context
    cdef Py_ssize_t row, i0, i1, plane, at, a, b, bytes = job.item * job.unit
    cdef char *out
    cdef bint fresh
    for row in range(begin, end):
        i1, i0 = row % job.ins[1], row // job.ins[1]
        plane, i0 = i0 // job.ins[0], i0 % job.ins[0]
        out = job.out + row * job.ins[2] * bytes
        fresh = True
        for a in range(job.start[0][i0], job.start[0][i0 + 1]):
            for b in range(job.start[1][i1], job.start[1][i1 + 1]):
                at = ((plane * job.outs[0] + job.targets[0][a]) * job.outs[1] + job.targets[1][b]) * job.outs[2] * bytes
                if job.code == FLOAT32:
                    gather(job, <float *>(job.x + at), <float *>out, fresh)
                else:
                    gather(job, <double *>(job.x + at), <double *>out, fresh)
                fresh = False
        if fresh:
            memset(out, 0, job.ins[2] * bytes)


cdef Tensor work(Tensor x, tuple sizes, tuple pads, int mode, bint transposed):
    cdef Job job
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t before[3]
    cdef Py_ssize_t after[3]
    cdef Py_ssize_t planes = 1, total = 0
    cdef Py_ssize_t *at
    cdef int nd = len(pads), a, lead = x.rank - nd, code = x.code
    cdef Tensor plain, out
    if transposed:
        code = FLOAT32 if code == COMPLEX64 or code < FLOAT64 and code >= FLOAT16 else FLOAT64
        plain = contiguous(x) if is_complex_code(x.code) else cast(contiguous(x), code)
        job.item, job.unit = 4 if code == FLOAT32 else 8, 2 if is_complex_code(x.code) else 1
    else:
        plain = contiguous(x)
        job.item, job.unit = min(ITEMSIZE[code], 8), 2 if ITEMSIZE[code] == 16 else 1
    for a in range(lead):
        shape[a] = x.sizes[a]
        planes *= shape[a]
    for a in range(3):
        if a < 3 - nd:
            before[a] = after[a] = 0
            job.ins[a] = job.outs[a] = 1
        else:
            before[a], after[a] = pads[a - 3 + nd]
            job.ins[a] = sizes[a - 3 + nd]
            job.outs[a] = job.ins[a] + before[a] + after[a]
            shape[lead + a - 3 + nd] = job.ins[a] if transposed else job.outs[a]
        total += 2 * job.outs[a] + job.ins[a] + 1
    out = new_tensor(x.rank, shape, plain.code, x.dev)
    if out.count == 0:
        return out if out.code == x.code else cast(out, x.code)
    job.memory = at = <Py_ssize_t *>malloc(total * sizeof(Py_ssize_t))
    if at == NULL:
        raise no_room(f"pad: no memory for the {total} positions of a padded plane")
    for a in range(3):
        job.source[a], job.targets[a], job.start[a] = at, at + job.outs[a], at + 2 * job.outs[a]
        at += 2 * job.outs[a] + job.ins[a] + 1
        chart(&job, a, before[a], after[a], mode)
        if transposed:
            invert(&job, a)
    job.code, job.x, job.out = code, plain.ptr, out.ptr
    with nogil:
        if transposed:
            parallel_for(planes * job.ins[0] * job.ins[1], max(<Py_ssize_t>1, 16384 // job.outs[2]), backward, &job)
        else:
            parallel_for(planes * job.outs[0] * job.outs[1], max(<Py_ssize_t>1, 32768 // job.outs[2]), forward, &job)
        free(job.memory)
    return out if out.code == x.code else cast(out, x.code)


def mapped_pad(Tensor x, tuple pads, int mode):
    """x with the frame that the mode finds in it; any dtype."""
    return work(x, tuple(x.shape)[x.rank - len(pads):], pads, mode, False)


def mapped_pad_backward(Tensor g, tuple sizes, tuple pads, int mode):
    """Sums of the gradients of what each element was copied to; floating point and complex dtypes."""
    return work(g, sizes, pads, mode, True)
