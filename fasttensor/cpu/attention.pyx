"""Scaled dot-product attention in float32, block by block: no more than one block of scores exists at a time.

q (..., L, E), k (..., S, E), v (..., S, V) with one or two leading dimensions, any strides; mask, added to the
scores, has the scores' shape (strides of 0 where it is broadcast) or is None.

    out, lse = attention(q, k, v, None, True, 0.125)

Source: Dao et al., FlashAttention, arXiv 2205.14135.
"""
from libc.math cimport INFINITY
from libc.stdlib cimport malloc, free
from libc.string cimport memset
from fasttensor._core.dtype cimport FLOAT32
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport Tensor, CPU, contiguous, new_tensor, new_view
from fasttensor.cpu.gemm.blocks cimport sgemm

cdef extern from "attention_rows.h" nogil:
    Py_ssize_t attention_seen(Py_ssize_t n, Py_ssize_t seen)
    void attention_scale(float *s, Py_ssize_t n, float scale, const float *mask, Py_ssize_t step)
    float attention_softmax(float *s, Py_ssize_t n, Py_ssize_t seen, float *m, float *l)
    void attention_finish(const float *m, float *l, float *lse, Py_ssize_t rows)
    void attention_weights(float *s, Py_ssize_t n, Py_ssize_t seen, float lse)
    void attention_gradient(const float *s, float *g, Py_ssize_t n, float delta, float scale)
    float attention_dot(const float *a, const float *b, Py_ssize_t n)

cdef enum:
    QB = 64         # query rows of a block
    KB = 256        # keys of a block

cdef struct Operand:
    float *p
    Py_ssize_t outer, inner, row        # strides of the two leading dimensions and of the rows

cdef struct Job:
    Operand q, k, v, o, dq, dk, dv, do
    const float *mask
    Py_ssize_t mask_outer, mask_inner, mask_row, mask_col
    float *lse
    Py_ssize_t heads, L, S, E, V, blocks
    bint causal, failed
    float scale


cdef Operand operand(Tensor t) noexcept:
    cdef Operand x
    cdef int r = t.rank
    x.p, x.row, x.inner = <float *>t.ptr, t.steps[r - 2], t.steps[r - 3]
    x.outer = t.steps[0] if r == 4 else 0
    return x


cdef inline float *at(Operand *x, Job *g, Py_ssize_t item, Py_ssize_t row) noexcept nogil:
    return x.p + item // g.heads * x.outer + item % g.heads * x.inner + row * x.row


cdef inline const float *mask_at(Job *g, Py_ssize_t item, Py_ssize_t row, Py_ssize_t col) noexcept nogil:
    if g.mask == NULL:
        return NULL
    return g.mask + item // g.heads * g.mask_outer + item % g.heads * g.mask_inner + row * g.mask_row + col * g.mask_col


cdef inline Py_ssize_t seen(Job *g, Py_ssize_t row, Py_ssize_t j, Py_ssize_t cols) noexcept nogil:
    """How many of the columns [j, j + cols) a row sees."""
    return attention_seen(cols, row + 1 - j) if g.causal else cols


cdef inline void scores(Job *g, Py_ssize_t item, Py_ssize_t i, Py_ssize_t rows, Py_ssize_t j, Py_ssize_t cols, float *s) noexcept nogil:
    """The scaled and masked scores of one block, as far as each row sees them."""
    cdef Py_ssize_t r
    if sgemm(rows, cols, g.E, at(&g.q, g, item, i), g.q.row, 1, at(&g.k, g, item, j), 1, g.k.row, 0, s, KB):
        g.failed = True
    for r in range(rows):
        attention_scale(s + r * KB, seen(g, i + r, j, cols), g.scale, mask_at(g, item, i + r, j), g.mask_col)


cdef void forward_tasks(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *g = <Job *>context
    cdef Py_ssize_t task, item, i, j, r, c, rows, cols, last
    cdef float *s = <float *>malloc((QB * KB + QB * g.V + 2 * QB) * sizeof(float))
    cdef float *acc
    cdef float *m
    cdef float *l
    cdef float *o
    cdef float keep
    if s == NULL:
        g.failed = True
        return
    acc = s + QB * KB
    m = acc + QB * g.V
    l = m + QB
    for task in range(begin, end):
        item, i = task // g.blocks, task % g.blocks * QB
        rows = min(<Py_ssize_t>QB, g.L - i)
        memset(acc, 0, rows * g.V * sizeof(float))
        for r in range(rows):
            m[r], l[r] = -INFINITY, 0
        last = min(g.S, i + rows) if g.causal else g.S
        for j in range(0, last, 256):       # KB; a step must be a literal to be counted in C
            cols = min(<Py_ssize_t>KB, last - j)
            scores(g, item, i, rows, j, cols, s)
            for r in range(rows):
                keep = attention_softmax(s + r * KB, cols, seen(g, i + r, j, cols), m + r, l + r)
                if keep != 1:
                    for c in range(g.V):
                        acc[r * g.V + c] *= keep
            if sgemm(rows, g.V, cols, s, KB, 1, at(&g.v, g, item, j), g.v.row, 1, 1, acc, g.V):
                g.failed = True
        attention_finish(m, l, g.lse + item * g.L + i, rows)
        for r in range(rows):
            o, keep = at(&g.o, g, item, i + r), l[r]
            for c in range(g.V):
                o[c] = acc[r * g.V + c] * keep
    free(s)


cdef void backward_tasks(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *g = <Job *>context
    cdef Py_ssize_t item, i, j, r, rows, cols
    cdef float *s = <float *>malloc((2 * QB * KB + g.L) * sizeof(float))
    cdef float *d
    cdef float *delta
    if s == NULL:
        g.failed = True
        return
    d = s + QB * KB
    delta = d + QB * KB
    for item in range(begin, end):
        for i in range(g.L):
            delta[i] = attention_dot(at(&g.do, g, item, i), at(&g.o, g, item, i), g.V)
            memset(at(&g.dq, g, item, i), 0, g.E * sizeof(float))
        for j in range(g.S):
            memset(at(&g.dk, g, item, j), 0, g.E * sizeof(float))
            memset(at(&g.dv, g, item, j), 0, g.V * sizeof(float))
        for j in range(0, g.S, 256):        # KB
            cols = min(<Py_ssize_t>KB, g.S - j)
            for i in range(0, g.L, 64):     # QB
                rows = min(<Py_ssize_t>QB, g.L - i)
                if g.causal and j > i + rows - 1:
                    continue
                if g.causal:
                    cols = min(min(<Py_ssize_t>KB, g.S - j), i + rows - j)
                scores(g, item, i, rows, j, cols, s)
                for r in range(rows):
                    attention_weights(s + r * KB, cols, seen(g, i + r, j, cols), g.lse[item * g.L + i + r])
                if sgemm(cols, g.V, rows, s, 1, KB, at(&g.do, g, item, i), g.do.row, 1, 1, at(&g.dv, g, item, j), g.dv.row):
                    g.failed = True
                if sgemm(rows, cols, g.V, at(&g.do, g, item, i), g.do.row, 1, at(&g.v, g, item, j), 1, g.v.row, 0, d, KB):
                    g.failed = True
                for r in range(rows):
                    attention_gradient(s + r * KB, d + r * KB, cols, delta[i + r], g.scale)
                if sgemm(rows, g.E, cols, d, KB, 1, at(&g.k, g, item, j), g.k.row, 1, 1, at(&g.dq, g, item, i), g.dq.row):
                    g.failed = True
                if sgemm(cols, g.E, rows, d, 1, KB, at(&g.q, g, item, i), g.q.row, 1, 1, at(&g.dk, g, item, j), g.dk.row):
                    g.failed = True
    free(s)


cdef Tensor plain_rows(Tensor t):
    """t itself where its rows are plain memory, else a contiguous copy."""
    return t if t.steps[t.rank - 1] == 1 or t.sizes[t.rank - 1] == 1 else contiguous(t)


cdef Tensor result_rows(Tensor like, Py_ssize_t rows, Py_ssize_t cols):
    """A contiguous tensor (..., rows, cols)."""
    cdef Py_ssize_t[4] sizes
    cdef int d
    for d in range(like.rank - 2):
        sizes[d] = like.sizes[d]
    sizes[like.rank - 2], sizes[like.rank - 1] = rows, cols
    return new_tensor(like.rank, sizes, FLOAT32, CPU)


cdef Tensor rows_together(Tensor like, Py_ssize_t rows, Py_ssize_t cols):
    """A tensor (..., heads, rows, cols) in which the heads of a row are neighbours in memory.

    Programs transpose heads and rows right after attention: this makes that free.
    """
    cdef Py_ssize_t[4] sizes
    cdef Py_ssize_t[4] steps
    cdef int r = like.rank
    cdef Py_ssize_t outer = like.sizes[0] if r == 4 else 1, heads = like.sizes[r - 3]
    cdef Tensor t
    sizes[0], sizes[1], sizes[2], sizes[3] = outer, rows, heads, cols
    t = new_tensor(4, sizes, FLOAT32, CPU)
    sizes[0], sizes[1], sizes[2], sizes[3] = outer, heads, rows, cols
    steps[0], steps[1], steps[2], steps[3] = rows * heads * cols, cols, heads * cols, 1
    if r == 4:
        return new_view(t, 4, sizes, steps, 0)
    return new_tensor(3, &sizes[1], FLOAT32, CPU)


cdef bint start(Job *g, Tensor q, Tensor k, Tensor v, Tensor mask, bint causal, double scale) except False:
    cdef int r = q.rank, d
    cdef bint good = (r == 3 or r == 4) and k.rank == r and v.rank == r and q.code == FLOAT32 and k.code == FLOAT32 and v.code == FLOAT32
    if good:
        for d in range(r - 2):
            good = good and q.sizes[d] == k.sizes[d] and q.sizes[d] == v.sizes[d]
        good = good and q.sizes[r - 1] == k.sizes[r - 1] and k.sizes[r - 2] == v.sizes[r - 2]
    if good and mask is not None:
        good = mask.rank == r and mask.code == FLOAT32 and mask.sizes[r - 2] == q.sizes[r - 2] and mask.sizes[r - 1] == k.sizes[r - 2]
        for d in range(r - 2):
            good = good and mask.sizes[d] == q.sizes[d]
    if not good:
        raise RuntimeError(f"attention: shapes of query, key, value and mask do not fit: {tuple(q.shape)}, {tuple(k.shape)}, "
                           f"{tuple(v.shape)}, {None if mask is None else tuple(mask.shape)}")
    g.q, g.k, g.v = operand(q), operand(k), operand(v)
    g.heads, g.L, g.S, g.E, g.V = q.sizes[r - 3], q.sizes[r - 2], k.sizes[r - 2], q.sizes[r - 1], v.sizes[r - 1]
    g.blocks, g.causal, g.scale, g.failed, g.mask, g.mask_col = (g.L + QB - 1) // QB, causal, scale, False, NULL, 1
    if mask is not None:
        g.mask, g.mask_col, g.mask_row, g.mask_inner = <float *>mask.ptr, mask.steps[r - 1], mask.steps[r - 2], mask.steps[r - 3]
        g.mask_outer = mask.steps[0] if r == 4 else 0
    return True


def attention(Tensor q not None, Tensor k not None, Tensor v not None, Tensor mask, bint causal, double scale):
    """(softmax(q k^T scale + mask) v, log of each row's sum of exponentials)."""
    cdef Job g
    cdef Tensor out, lse
    cdef Py_ssize_t[1] sizes
    cdef Py_ssize_t items = 1, each
    cdef int d
    cdef bint together = False      # heads beside each other only where PyTorch's kernels run, which need rows of plain memory
    if q.rank >= 3 and k.rank == q.rank and v.rank == q.rank:
        together = q.rank == 4
        for t in (q, k, v):
            together = together and (<Tensor>plain_rows(t)) is t
        q, k, v = plain_rows(q), plain_rows(k), plain_rows(v)
    start(&g, q, k, v, mask, causal, scale)
    for d in range(q.rank - 2):
        items *= q.sizes[d]
    out = rows_together(q, g.L, g.V) if together else result_rows(q, g.L, g.V)
    sizes[0] = items * g.L
    lse = new_tensor(1, sizes, FLOAT32, CPU)
    g.o, g.lse = operand(out), <float *>lse.ptr
    each = min(<Py_ssize_t>QB, g.L) * g.S * (g.E + g.V) + 1
    with nogil:
        parallel_for(items * g.blocks, 1 + 400_000 // each, forward_tasks, &g)
    if g.failed:
        raise MemoryError("attention: no memory for a block of scores")
    return out, lse


def attention_backward(Tensor grad not None, Tensor q not None, Tensor k not None, Tensor v not None, Tensor mask,
                       Tensor out not None, Tensor lse not None, bint causal, double scale):
    """Gradients of q, k, v."""
    cdef Job g
    cdef Tensor dq, dk, dv
    cdef Py_ssize_t items = 1
    cdef int d
    q, k, v, grad, out = plain_rows(q), plain_rows(k), plain_rows(v), plain_rows(grad), plain_rows(out)
    start(&g, q, k, v, mask, causal, scale)
    for d in range(q.rank - 2):
        items *= q.sizes[d]
    dq, dk, dv = rows_together(q, g.L, g.E), rows_together(q, g.S, g.E), rows_together(q, g.S, g.V)
    g.o, g.do, g.dq, g.dk, g.dv, g.lse = operand(out), operand(grad), operand(dq), operand(dk), operand(dv), <float *>lse.ptr
    with nogil:
        parallel_for(items, 1 + 400_000 // (g.L * g.S * (g.E + g.V) + 1), backward_tasks, &g)
    if g.failed:
        raise MemoryError("attention: no memory for a block of scores")
    return dq, dk, dv
