# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""How a reduction of any strides is cut into rows, columns and groups. reduce_run runs what is planned here.

Dimensions are split into kept and reduced ones, each sorted by stride and merged where they are
one run of memory. Where the reduced ones lie closer in memory each result folds whole rows
("rows"); else a block of results is updated side by side ("columns"). Few results of many
elements are computed in groups whose bounds depend on sizes alone, then merged in order.
"""
from fasttensor._core.dtype cimport FLOAT32, FLOAT64, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, new_tensor
from fasttensor.cpu.reduce_run cimport *


cdef inline void add_dim(Py_ssize_t *size, Py_ssize_t *step, Py_ssize_t *out, int *n,
                         Py_ssize_t a, Py_ssize_t b, Py_ssize_t c) noexcept nogil:
    # Insertion keeps the list sorted by stride, innermost first.
    cdef int i = n[0]
    while i > 0 and step[i - 1] > b:
        size[i], step[i] = size[i - 1], step[i - 1]
        if out != NULL:
            out[i] = out[i - 1]
        i -= 1
    size[i], step[i] = a, b
    if out != NULL:
        out[i] = c
    n[0] += 1


cdef inline void merge_dims(Py_ssize_t *size, Py_ssize_t *step, Py_ssize_t *out, int *n) noexcept nogil:
    cdef int i, last = 0
    for i in range(1, n[0]):
        if step[i] == step[last] * size[last] and (out == NULL or out[i] == out[last] * size[last]):
            size[last] *= size[i]
        else:
            last += 1
            size[last], step[last] = size[i], step[i]
            if out != NULL:
                out[last] = out[i]
    if n[0]:
        n[0] = last + 1


cdef void make_plan(Plan *p, Tensor x, const bint *reduced, Tensor out) noexcept:
    """Sorts x's dimensions into kept and reduced ones and fixes how the work is cut."""
    cdef int i
    cdef Py_ssize_t item = ITEMSIZE[x.code], run = 1, want, n_units
    p.nk = p.nr = 0
    p.n_red = 1
    p.n_out = out.count
    p.x, p.code, p.out, p.out_code = x.ptr, x.code, out.ptr, out.code
    for i in range(x.rank - 1, -1, -1):
        if reduced[i]:
            p.n_red *= x.sizes[i]
            if x.sizes[i] != 1:
                add_dim(p.rsize, p.rstep, NULL, &p.nr, x.sizes[i], x.steps[i] * item, 0)
        else:
            if x.sizes[i] != 1:
                add_dim(p.ksize, p.kstep, p.kout, &p.nk, x.sizes[i], x.steps[i] * item, run)
            run *= x.sizes[i]
    merge_dims(p.rsize, p.rstep, NULL, &p.nr)
    merge_dims(p.ksize, p.kstep, p.kout, &p.nk)
    if p.nr == 0:
        p.nr, p.rsize[0], p.rstep[0] = 1, 1, 0
    if p.nk == 0:
        p.nk, p.ksize[0], p.kstep[0], p.kout[0] = 1, 1, 0, 1
    if p.rstep[0] <= p.kstep[0]:
        p.rows = p.rsize[0] >= 16 or p.ksize[0] < 8
    else:
        p.rows = p.ksize[0] < 8 and p.rsize[0] >= 64
    if p.nk == 1 and p.ksize[0] == 1:
        p.rows = True
    if p.rows:
        p.pieces = (p.rsize[0] + UNIT - 1) // UNIT
        p.units = p.pieces * (p.n_red // p.rsize[0]) if p.n_red else 0
        n_units = p.n_out
    else:
        p.width = 128 if p.first >= 0 else WIDTH
        p.blocks = (p.ksize[0] + p.width - 1) // p.width
        p.units = p.n_red
        n_units = p.n_out // p.ksize[0] * p.blocks
    want = p.n_out * p.n_red // 65536
    want = 64 if want > 64 else want
    p.groups = 1
    if want > n_units and n_units < 16 and p.units > 1:
        p.groups = (want + n_units - 1) // n_units
        if p.groups > p.units:
            p.groups = p.units
    p.group = (p.units + p.groups - 1) // p.groups
    if not p.rows and p.groups > 1 and p.group > FOLD:
        # whole folds, and twice as many as a row's groups would have: every group costs a pass over its accumulators
        p.group = (2 * p.group + FOLD - 1) // FOLD * FOLD
    if p.group:
        p.groups = (p.units + p.group - 1) // p.group
    p.n_tasks = n_units * p.groups


cdef int mark(Tensor x, object dims, bint *reduced) except -1:
    cdef int i
    for i in range(x.rank):
        reduced[i] = dims is None
    if dims is not None:
        for i in dims:
            reduced[i] = True
    return 0


cdef Tensor result(Tensor x, const bint *reduced, bint keepdim, int code):
    cdef Py_ssize_t sizes[MAXD]
    cdef int i, rank = 0
    for i in range(x.rank):
        if not reduced[i]:
            sizes[rank] = x.sizes[i]
            rank += 1
        elif keepdim:
            sizes[rank] = 1
            rank += 1
    return new_tensor(rank, sizes, code, x.dev)


cdef Tensor reduce(Tensor x, int op, int first, int post, double par, object dims, bint keepdim, int code,
                   Tensor mean=None):
    cdef Plan p
    cdef bint reduced[MAXD]
    cdef Tensor out
    mark(x, dims, reduced)
    out = result(x, reduced, keepdim, code)
    if out.count == 0:
        return out
    p.op, p.first, p.post, p.par = op, first, post, par
    p.kind = ft_kind_of(x.code)
    if p.kind > K_DOUBLE and op != R_SUM and op != R_PROD:
        p.kind = K_FLOAT if p.kind == K_C64 else K_DOUBLE       # absolute values
    p.out2 = NULL
    if mean is not None:
        p.out2, p.out2_code = mean.ptr, mean.code
    make_plan(&p, x, reduced, out)
    if post == P_DIVIDE and op != R_SSD:
        p.par = <double>p.n_red
    elif op == R_SSD:
        p.par = <double>p.n_red - par
        p.par = 0 if p.par < 0 else p.par
    if x.count > 4096:
        with nogil:
            execute(&p)
    else:
        execute(&p)
    return out


cdef Tensor total(Tensor x, object dims, bint keepdim, int code, bint mean):
    cdef double acc = 0
    cdef Tensor out
    if dims is None and not keepdim and x.contig and 0 < x.count <= 8192 and x.code == code and (code == FLOAT32 or code == FLOAT64):
        # small and plain: no plan is needed
        out = new_tensor(0, NULL, code, x.dev)
        loops_of(R_SUM, K_FLOAT if code == FLOAT32 else K_DOUBLE).row(x.ptr, x.count, &acc, NULL, 0)
        acc = acc / x.count if mean else acc
        if code == FLOAT32:
            (<float *>out.ptr)[0] = <float>acc
        else:
            (<double *>out.ptr)[0] = acc
        return out
    return reduce(x, R_SUM, -1, P_DIVIDE if mean else P_NONE, 0, dims, keepdim, code)
