"""A recurrent layer in one direction over whole sequences: tanh, relu, GRU and LSTM, in float32 and float64.

Rows are packed by time: step t has sizes[t] rows, never more than the step before. All input products are
one matrix product; each step then adds the recurrent product and applies the gates (see rnn_steps.h).

    out, h, c, kept = rnn_forward("lstm", x, [3, 3, 2], h0, c0, w_ih, w_hh, b_ih, b_hh, False)
"""
from libc.stdlib cimport malloc, free
from libc.string cimport memcpy
from fasttensor._core.dtype cimport FLOAT32, FLOAT64
from fasttensor._core.parallel cimport parallel_for, range_fn, thread_count
from fasttensor._core.tensor cimport Tensor, CPU, contiguous, new_tensor, new_like
from fasttensor._core.storage cimport no_room
from fasttensor.cpu.gemm.blocks cimport Product, start_product, multiply
from fasttensor.cpu.matmul cimport linear_plain

cdef extern from "rnn_layer.h" nogil:
    ctypedef int (*rnn_product)(int itemsize, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, const void *a, const void *b,
                                Py_ssize_t brs, Py_ssize_t bcs, void *c, int add) noexcept nogil
    int RNN_BYTES
    ctypedef void (*rnn_parallel)(Py_ssize_t n, Py_ssize_t grain, range_fn body, void *context) noexcept nogil
    ctypedef struct rnn_plan:
        rnn_parallel run
        rnn_product multiply
        int kind, threads, in_place
        Py_ssize_t hidden, steps, batch, block
        const Py_ssize_t *n
        const Py_ssize_t *at
    int rnn_forward_f32(const rnn_plan *p, const void *w, void *scratch, void *h, void *gates, void *out, void *c, void *cells,
                        const void *bias_n, void *kept_n)
    int rnn_forward_f64(const rnn_plan *p, const void *w, void *scratch, void *h, void *gates, void *out, void *c, void *cells,
                        const void *bias_n, void *kept_n)
    int rnn_backward_f32(const rnn_plan *p, const void *w, void *scratch, const void *gates, const void *cells, const void *kept_n,
                         const void *out, const void *h0, const void *c0, const void *gout, void *dh, void *dc, void *dgates,
                         void *drecurrent, void *before)
    int rnn_backward_f64(const rnn_plan *p, const void *w, void *scratch, const void *gates, const void *cells, const void *kept_n,
                         const void *out, const void *h0, const void *c0, const void *gout, void *dh, void *dc, void *dgates,
                         void *drecurrent, void *before)
    void column_sums_f32(const void *a, Py_ssize_t rows, Py_ssize_t cols, void *sums)
    void column_sums_f64(const void *a, Py_ssize_t rows, Py_ssize_t cols, void *sums)

cdef enum:
    IN_CACHE = 1 << 20       # bytes
    BLOCK = 8                # rows of the batch that keep a thread at arithmetic while the weight passes by

cdef dict KINDS = {"rnn_tanh": 0, "rnn_relu": 1, "gru": 2, "lstm": 3}
cdef int[4] GATES = [1, 1, 3, 4]


cdef Tensor matrix(Py_ssize_t rows, Py_ssize_t cols, int code):
    cdef Py_ssize_t[2] sizes
    sizes[0], sizes[1] = rows, cols
    return new_tensor(2, sizes, code, CPU)


cdef Tensor copied(Tensor x):
    cdef Tensor y = new_like(x, x.code)
    x = contiguous(x)
    memcpy(y.ptr, x.ptr, x.count * (4 if x.code == FLOAT32 else 8))
    return y


cdef inline char *at_or_null(Tensor x) noexcept:
    return NULL if x is None else x.ptr


cdef class Steps:
    """Rows of each step, in the order in which the steps run, with their first rows."""
    cdef Py_ssize_t count, rows, batch
    cdef Py_ssize_t *n
    cdef Py_ssize_t *at

    def __cinit__(self, sizes, bint reverse, Py_ssize_t batch):
        cdef Py_ssize_t t, k, size, total = 0, before = batch
        self.count, self.batch = len(sizes), batch
        self.n = <Py_ssize_t *>malloc((2 * self.count + 1) * sizeof(Py_ssize_t))
        if self.n == NULL:
            raise no_room(f"rnn: no memory for the sizes of {self.count} steps")
        self.at = self.n + self.count
        for t in range(self.count):
            size = sizes[t]
            if size < 0 or size > before:
                raise RuntimeError(f"rnn: batch sizes {list(sizes)} must not rise, nor pass the batch of the state, {batch}")
            k = self.count - 1 - t if reverse else t
            self.n[k], self.at[k] = size, total
            before = size
            total += size
        self.rows = total

    def __dealloc__(self):
        free(self.n)


cdef Tensor joined_bias(Tensor b_ih, Tensor b_hh, Py_ssize_t n):
    """b_ih + b_hh in the first n elements, b_ih after them."""
    cdef Tensor b = copied(b_ih)
    cdef Py_ssize_t i
    b_hh = contiguous(b_hh)
    for i in range(n):
        if b.code == FLOAT32:
            (<float *>b.ptr)[i] += (<float *>b_hh.ptr)[i]
        else:
            (<double *>b.ptr)[i] += (<double *>b_hh.ptr)[i]
    return b


cdef int small_product(int itemsize, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, const void *a, const void *b, Py_ssize_t brs,
                       Py_ssize_t bcs, void *c, int add) noexcept nogil:
    cdef Product g
    start_product(&g, FLOAT32 if itemsize == 4 else FLOAT64, m, n, k)
    g.a, g.ars, g.acs, g.b, g.brs, g.bcs, g.c = <const char *>a, k, 1, <const char *>b, brs, bcs, <char *>c
    if add:
        g.d, g.drs, g.dcs = g.c, n, 1
    return multiply(&g)


cdef bint packing_pays(Py_ssize_t batch, Py_ssize_t steps, Py_ssize_t H, int ng, int item) noexcept:
    """Packing reads and writes the weight once; a step of few rows reads it once, packed or not. Where it stays in the
    second-level cache, the panels are the faster form after some steps."""
    if batch > 8 or (batch > 4 and H < 512) or (batch > 2 and H < 128) or H < 32:
        return True
    return steps > 3 and (batch > 4 or ng * H * H * item <= IN_CACHE)


cdef Tensor scratch_for(bint in_place, bint backward, Py_ssize_t batch, Py_ssize_t H, int ng, int code):
    """Memory for the packed weight, or for the product of one step."""
    cdef Py_ssize_t wide = RNN_BYTES // (4 if code == FLOAT32 else 8) * (2 if backward else 1)
    return matrix(batch, ng * H, code) if in_place else matrix((H + wide - 1) // wide * wide, ng * H, code)


cdef rnn_plan plan_steps(Steps s, int kind, Py_ssize_t H, int code) noexcept:
    """How the steps run: on one weight, packed or not, in blocks of rows that go through all steps by themselves, where
    there are enough rows for all threads; otherwise the threads share the hidden units of each step."""
    cdef rnn_plan p
    cdef Py_ssize_t blocks = 1
    p.run, p.multiply, p.kind, p.threads = parallel_for, small_product, kind, thread_count()
    p.in_place = not packing_pays(s.batch, s.count, H, GATES[kind], 4 if code == FLOAT32 else 8)
    p.hidden, p.steps, p.batch, p.n, p.at = H, s.count, s.batch, s.n, s.at
    if p.threads > 1 and not p.in_place and s.batch >= BLOCK * p.threads and s.rows * GATES[kind] * H * (H + 64) > 1 << 18:
        blocks = p.threads
        if s.rows < s.batch * s.count:      # of unlike lengths: more of them, for whoever has time
            blocks = min(4 * blocks, s.batch // BLOCK)
    p.block = (s.batch + blocks - 1) // blocks
    return p


def rnn_forward(str mode, Tensor x not None, sizes, Tensor h0 not None, Tensor c0, Tensor w_ih not None,
                Tensor w_hh not None, Tensor b_ih, Tensor b_hh, bint reverse):
    """(outputs (rows, H), h_n, c_n or None, kept for backward) of x (rows, I) packed by time."""
    cdef int kind = KINDS[mode], failed
    cdef int ng = GATES[kind], code = x.code
    cdef rnn_plan plan
    cdef Steps s = Steps(sizes, reverse, h0.sizes[0])
    cdef Py_ssize_t H = w_hh.sizes[1]
    cdef Tensor bias = None, gates, out, h, c = None, cells = None, kept_n = None, bias_n = None
    x, w_ih, w_hh = contiguous(x), contiguous(w_ih), contiguous(w_hh)
    check_shapes(mode, x, s, h0, c0, w_ih, w_hh, b_ih, b_hh, ng)
    if b_ih is not None:
        bias = joined_bias(b_ih, b_hh, 2 * H if kind == 2 else ng * H)
    gates = linear_plain(x, w_ih, bias, 0)
    out, h = matrix(s.rows, H, code), copied(h0)
    if kind == 3:
        c, cells = copied(c0), matrix(s.rows, H, code)
    if kind == 2:
        kept_n = matrix(s.rows, H, code)
        bias_n = None if b_hh is None else contiguous(b_hh)
    plan = plan_steps(s, kind, H, code)
    cdef Tensor scratch = scratch_for(plan.in_place, False, s.batch, H, ng, code)
    cdef char *pbias = NULL if bias_n is None else bias_n.ptr + 2 * H * (4 if code == FLOAT32 else 8)
    cdef char *pc = at_or_null(c)
    cdef char *pcells = at_or_null(cells)
    cdef char *pkept = at_or_null(kept_n)
    with nogil:
        if code == FLOAT32:
            failed = rnn_forward_f32(&plan, w_hh.ptr, scratch.ptr, h.ptr, gates.ptr, out.ptr, pc, pcells, pbias, pkept)
        else:
            failed = rnn_forward_f64(&plan, w_hh.ptr, scratch.ptr, h.ptr, gates.ptr, out.ptr, pc, pcells, pbias, pkept)
    if failed:
        raise no_room(f"{mode}: no memory for packing")
    return out, h, c, (gates, cells, kept_n)


cdef bint check_shapes(str mode, Tensor x, Steps s, Tensor h0, Tensor c0, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh,
                       int ng) except False:
    """The loops trust these."""
    cdef Py_ssize_t H = w_hh.sizes[1] if w_hh.rank == 2 else -1
    good = (x.rank == 2 and w_ih.rank == 2 and w_hh.rank == 2 and h0.rank == 2 and x.sizes[0] == s.rows
            and w_ih.sizes[0] == ng * H and w_ih.sizes[1] == x.sizes[1] and w_hh.sizes[0] == ng * H and h0.sizes[1] == H
            and x.code == h0.code == w_ih.code == w_hh.code)
    if good and c0 is not None:
        good = c0.rank == 2 and c0.sizes[0] == h0.sizes[0] and c0.sizes[1] == H and c0.code == x.code
    for b in (b_ih, b_hh):
        if good and b is not None:
            good = (<Tensor>b).rank == 1 and (<Tensor>b).sizes[0] == ng * H and (<Tensor>b).code == x.code
    if not good or (b_ih is None) != (b_hh is None):
        shapes = [tuple(t.shape) if t is not None else None for t in (x, h0, c0, w_ih, w_hh, b_ih, b_hh)]
        raise RuntimeError(f"{mode}: shapes of input, h0, c0, w_ih, w_hh, b_ih, b_hh do not fit, or dtypes differ: {shapes}")
    return True


cdef int product(Tensor out, Tensor a, bint transposed, Tensor b) except -1:
    """out = a b, or a^T b."""
    cdef Product g
    cdef int failed
    if transposed:
        start_product(&g, a.code, a.sizes[1], b.sizes[1], a.sizes[0])
        g.ars, g.acs = 1, a.sizes[1]
    else:
        start_product(&g, a.code, a.sizes[0], b.sizes[1], a.sizes[1])
        g.ars, g.acs = a.sizes[1], 1
    g.a, g.b, g.brs, g.bcs, g.c = a.ptr, b.ptr, b.sizes[1], 1, out.ptr
    with nogil:
        failed = multiply(&g)
    if failed:
        raise no_room("rnn: no memory for packing")
    return 0


def rnn_backward(str mode, Tensor gout, Tensor gh, Tensor gc, Tensor x not None, sizes, Tensor h0 not None, Tensor c0,
                 Tensor w_ih not None, Tensor w_hh not None, Tensor out not None, kept, bint bias, bint reverse, needs):
    """Gradients of x, h0, c0, w_ih, w_hh, b_ih, b_hh (None where `needs` is false)."""
    cdef int kind = KINDS[mode], failed
    cdef int ng = GATES[kind], code = x.code
    cdef rnn_plan plan
    cdef Steps s = Steps(sizes, reverse, h0.sizes[0])
    cdef Py_ssize_t H = w_hh.sizes[1], k = ng * H
    cdef Tensor gates = kept[0], cells = kept[1], kept_n = kept[2]
    cdef Tensor dh, dc = None, dgates, drecurrent, before, dx = None, dw_ih = None, dw_hh = None, db_ih = None, db_hh = None
    x, h0, w_ih, w_hh, out = contiguous(x), contiguous(h0), contiguous(w_ih), contiguous(w_hh), contiguous(out)
    c0 = None if c0 is None else contiguous(c0)
    gout = None if gout is None else contiguous(gout)
    dh = state_gradient(gh, h0)
    if kind == 3:
        dc = state_gradient(gc, c0)
    dgates, before = matrix(s.rows, k, code), matrix(s.rows, H, code)
    drecurrent = matrix(s.rows, k, code) if kind == 2 else dgates
    plan = plan_steps(s, kind, H, code)
    cdef Tensor scratch = scratch_for(plan.in_place, True, s.batch, H, ng, code)
    cdef char *pdc = dh.ptr if dc is None else dc.ptr
    cdef char *pcells = at_or_null(cells)
    cdef char *pkept = at_or_null(kept_n)
    cdef char *pc0 = at_or_null(c0)
    cdef char *pgout = at_or_null(gout)
    with nogil:
        if code == FLOAT32:
            failed = rnn_backward_f32(&plan, w_hh.ptr, scratch.ptr, gates.ptr, pcells, pkept, out.ptr, h0.ptr, pc0, pgout, dh.ptr,
                                      pdc, dgates.ptr, drecurrent.ptr, before.ptr)
        else:
            failed = rnn_backward_f64(&plan, w_hh.ptr, scratch.ptr, gates.ptr, pcells, pkept, out.ptr, h0.ptr, pc0, pgout, dh.ptr,
                                      pdc, dgates.ptr, drecurrent.ptr, before.ptr)
    if failed:
        raise no_room(f"{mode}: no memory for packing")
    if needs[0]:
        dx = new_like(x, code)
        product(dx, dgates, False, w_ih)
    if needs[3]:
        dw_ih = new_like(w_ih, code)
        product(dw_ih, dgates, True, x)
    if needs[4]:
        dw_hh = new_like(w_hh, code)
        product(dw_hh, drecurrent, True, before)
    if bias:
        db_ih = sums(dgates, s.rows, k)
        db_hh = sums(drecurrent, s.rows, k) if kind == 2 else copied(db_ih)
    return dx, dh, dc, dw_ih, dw_hh, db_ih, db_hh


cdef Tensor state_gradient(Tensor g, Tensor like):
    """A writable copy, or zeros."""
    cdef Tensor t
    if g is not None:
        return copied(g)
    t = new_like(like, like.code)
    cdef Py_ssize_t i, n = t.count * (4 if t.code == FLOAT32 else 8)
    for i in range(n):
        t.ptr[i] = 0
    return t


cdef Tensor sums(Tensor a, Py_ssize_t rows, Py_ssize_t cols):
    cdef Py_ssize_t[1] sizes
    sizes[0] = cols
    cdef Tensor t = new_tensor(1, sizes, a.code, CPU)
    with nogil:
        if a.code == FLOAT32:
            column_sums_f32(a.ptr, rows, cols, t.ptr)
        else:
            column_sums_f64(a.ptr, rows, cols, t.ptr)
    return t
