"""Scaled dot-product attention of float32 and float64, block by block: no more than one block of scores exists at a time.

q (..., H, L, E), k (..., G, S, E), v (..., G, S, V), G a divisor of H, with none or one dimension before the heads, any
strides; mask, added to the scores, has the scores' shape (strides of 0 where it is broadcast) or is None.

    out, lse = attention(q, k, v, None, True, 0.125)

Source: Dao et al., FlashAttention, arXiv 2205.14135.
"""
from fasttensor._core.dtype cimport FLOAT32, FLOAT64
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport Tensor, CPU, contiguous, describe, new_tensor, new_view
from fasttensor._core.storage cimport no_room
from fasttensor.cpu.gemm.blocks cimport ft_kernel, kernel_of

cdef extern from "attention_kernels.h" nogil:
    ctypedef struct attention_operand:
        char *p
        Py_ssize_t outer, inner, row
    ctypedef struct attention_job:
        attention_operand q, k, v, o, g, dq, dk, dv
        const char *mask
        Py_ssize_t mask_outer, mask_inner, mask_row, mask_col
        char *lse
        char *parts
        const ft_kernel *kern
        Py_ssize_t heads, shared, items, L, S, E, V, blocks, pieces, piece
        bint causal, failed
        double scale
    void attention_forward_f32(void *job, Py_ssize_t begin, Py_ssize_t end)
    void attention_forward_f64(void *job, Py_ssize_t begin, Py_ssize_t end)
    void attention_backward_f32(void *job, Py_ssize_t begin, Py_ssize_t end)
    void attention_backward_f64(void *job, Py_ssize_t begin, Py_ssize_t end)
    void attention_add_parts_f32(void *job, Py_ssize_t begin, Py_ssize_t end)
    void attention_add_parts_f64(void *job, Py_ssize_t begin, Py_ssize_t end)
    enum:
        ATTENTION_ROWS
        ATTENTION_KEYS

cdef enum:
    TASK = 400_000      # multiply-adds worth waking a thread for
    TASKS = 8           # tasks of backward below which the keys of a head are shared


cdef attention_operand operand(Tensor t) noexcept:
    cdef attention_operand x
    cdef int r = t.rank
    x.p, x.row, x.inner = t.ptr, t.steps[r - 2], t.steps[r - 3]
    x.outer = t.steps[0] if r == 4 else 0
    return x


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
    return new_tensor(like.rank, sizes, like.code, CPU)


cdef Tensor rows_together(Tensor like, Py_ssize_t rows, Py_ssize_t cols):
    """A tensor (..., heads, rows, cols) in which the heads of a row are neighbours in memory.

    Programs that make queries of such a form transpose heads and rows back right after attention: this makes that free.
    """
    cdef Py_ssize_t[4] sizes
    cdef Py_ssize_t[4] steps
    cdef int r = like.rank
    cdef Py_ssize_t outer = like.sizes[0] if r == 4 else 1, heads = like.sizes[r - 3]
    cdef Tensor t
    sizes[0], sizes[1], sizes[2], sizes[3] = outer, rows, heads, cols
    t = new_tensor(4, sizes, like.code, CPU)
    sizes[0], sizes[1], sizes[2], sizes[3] = outer, heads, rows, cols
    steps[0], steps[1], steps[2], steps[3] = rows * heads * cols, cols, heads * cols, 1
    if r == 4:
        return new_view(t, 4, sizes, steps, 0)
    return new_view(t, 3, &sizes[1], &steps[1], 0)


cdef bint start(attention_job *g, Tensor q, Tensor k, Tensor v, Tensor mask, bint causal, double scale) except False:
    cdef int r = q.rank, d
    cdef bint good = ((r == 3 or r == 4) and k.rank == r and v.rank == r and (q.code == FLOAT32 or q.code == FLOAT64)
                      and k.code == q.code and v.code == q.code)
    if good:
        for d in range(r - 3):
            good = good and q.sizes[d] == k.sizes[d]
        for d in range(r - 1):
            good = good and k.sizes[d] == v.sizes[d]
        good = good and k.sizes[r - 3] and q.sizes[r - 3] % k.sizes[r - 3] == 0 and q.sizes[r - 1] == k.sizes[r - 1]
    if good and mask is not None:
        good = mask.rank == r and mask.code == q.code and mask.sizes[r - 1] == k.sizes[r - 2]
        for d in range(r - 1):
            good = good and mask.sizes[d] == q.sizes[d]
    if not good:
        raise RuntimeError(f"attention: query {describe(q)}, key {describe(k)}, value {describe(v)} and mask"
                           f" {None if mask is None else describe(mask)} do not fit")
    g.q, g.k, g.v = operand(q), operand(k), operand(v)
    g.heads, g.L, g.S, g.E, g.V = q.sizes[r - 3], q.sizes[r - 2], k.sizes[r - 2], q.sizes[r - 1], v.sizes[r - 1]
    g.shared, g.items, g.kern = g.heads // k.sizes[r - 3], g.heads * (q.sizes[0] if r == 4 else 1), kernel_of(q.code)
    g.blocks, g.causal, g.scale, g.failed = (g.L + ATTENTION_ROWS - 1) // ATTENTION_ROWS, causal, scale, False
    g.mask, g.mask_col = NULL, 1
    if mask is not None:
        g.mask, g.mask_col, g.mask_row, g.mask_inner = mask.ptr, mask.steps[r - 1], mask.steps[r - 2], mask.steps[r - 3]
        g.mask_outer = mask.steps[0] if r == 4 else 0
    return True


cdef Py_ssize_t grain(double work) noexcept:
    """Tasks of `work` multiply-adds that a thread takes at once."""
    return 1 + <Py_ssize_t>(TASK / (work + 1))


cdef Tensor gradient_of(Tensor like):
    """Memory for a gradient in the order of `like`'s: a leaf's has to be."""
    cdef int r = like.rank
    if like.steps[r - 3] >= like.steps[r - 2]:
        return new_tensor(r, like.sizes, like.code, CPU)
    return rows_together(like, like.sizes[r - 2], like.sizes[r - 1])


def attention(Tensor q not None, Tensor k not None, Tensor v not None, Tensor mask, bint causal, double scale):
    """(softmax(q k^T scale + mask) v, log of each row's sum of exponentials)."""
    cdef attention_job g
    cdef Tensor out, lse
    cdef Py_ssize_t each
    cdef bint together = False      # as in PyTorch: the result lies as the queries do, where its kernels run, which need rows of plain memory
    if q.rank >= 3 and k.rank == q.rank and v.rank == q.rank:
        together = q.rank == 4 and 0 < q.steps[1] < q.steps[2] and q.sizes[3] == v.sizes[3]
        for t in (q, k, v):
            together = together and (<Tensor>plain_rows(t)) is t
        q, k, v = plain_rows(q), plain_rows(k), plain_rows(v)
    start(&g, q, k, v, mask, causal, scale)
    out = rows_together(q, g.L, g.V) if together else result_rows(q, g.L, g.V)
    each = g.items * g.L
    lse = new_tensor(1, &each, q.code, CPU)
    g.o, g.lse = operand(out), lse.ptr
    each = grain(<double>min(<Py_ssize_t>ATTENTION_ROWS, g.L) * g.S * (g.E + g.V))
    with nogil:
        parallel_for(g.items * g.blocks, each, attention_forward_f64 if q.code == FLOAT64 else attention_forward_f32, &g)
    if g.failed:
        raise no_room("attention: no memory for a block of scores")
    return out, lse


def attention_backward(Tensor grad not None, Tensor q not None, Tensor k not None, Tensor v not None, Tensor mask,
                       Tensor out not None, Tensor lse not None, bint causal, double scale):
    """Gradients of q, k, v."""
    cdef attention_job g
    cdef Tensor dq, dk, dv, parts
    cdef Py_ssize_t tasks, each
    q, k, v, grad, out = plain_rows(q), plain_rows(k), plain_rows(v), plain_rows(grad), plain_rows(out)
    start(&g, q, k, v, mask, causal, scale)
    dq, dk, dv = gradient_of(q), gradient_of(k), gradient_of(v)
    g.o, g.g, g.dq, g.dk, g.dv, g.lse = operand(out), operand(grad), operand(dq), operand(dk), operand(dv), lse.ptr
    # Where there are few heads, pieces of the keys share the work, by size alone; each has a gradient of q of its own.
    tasks = g.items // g.shared
    g.piece = (g.S + ATTENTION_KEYS - 1) // ATTENTION_KEYS
    if tasks < TASKS:
        g.piece = (g.piece + TASKS // tasks - 1) // (TASKS // tasks)
    g.piece *= ATTENTION_KEYS
    g.pieces = (g.S + g.piece - 1) // g.piece
    if g.pieces > 1:
        each = (g.pieces - 1) * g.items * g.L * g.E
        parts = new_tensor(1, &each, q.code, CPU)
        g.parts = parts.ptr
    each = grain(<double>g.shared * g.L * min(g.S, g.piece) * (g.E + g.V))
    with nogil:
        parallel_for(tasks * g.pieces, each, attention_backward_f64 if q.code == FLOAT64 else attention_backward_f32, &g)
        if g.pieces > 1:
            parallel_for(g.items * g.L, 1 + 8192 // g.E, attention_add_parts_f64 if q.code == FLOAT64 else attention_add_parts_f32, &g)
    if g.failed:
        raise no_room("attention: no memory for a block of scores")
    return dq, dk, dv
