"""Discrete Fourier transforms.

`scaling` 0 leaves the sums as they are, 1 divides by sqrt(N), 2 by N, the number of values that are transformed together. A
transform of real values keeps the first half of the last dimension's spectrum (n // 2 + 1); `weighted` counts twice
there what stands for its mirror image too, and halves it on the way back: the gradients of one another.

    >>> import fasttensor
    >>> fft_r2c(fasttensor.tensor([1., 2., 0., 0.]), (0,), 0, True, False)
    tensor([ 3.+0.j,  1.-2.j, -1.+0.j])
"""
from libc.math cimport sqrt
from fasttensor._core.tensor cimport *
from fasttensor._core.dtype cimport *
from fasttensor._core.storage cimport Storage, new_storage, no_room
from fasttensor._core.parallel cimport parallel_for, range_fn, thread_count, thread_index

cdef extern from "fft_kernel.h" nogil:
    enum:
        FT_C2C
        FT_R2C
        FT_R2C_FULL
        FT_C2R
        FT_FFT_FLOATS
        FT_FFT_DOUBLES
    ctypedef struct ft_arena:
        size_t bytes
    ctypedef struct ft_fft_plan:
        void *lanes
        void *line
        Py_ssize_t lane_room
        size_t line_bytes
        ft_arena arena
    ctypedef struct ft_fft:
        const void *x
        void *y
        Py_ssize_t n, sx, sy
        int kind, forward, weighted
        double scale
        int rank
        Py_ssize_t *size
        Py_ssize_t *xs
        Py_ssize_t *ys
        Py_ssize_t lines
        int whole_rows
        const ft_fft_plan *plan
        char *lane_room
        char *line_room
        size_t lane_bytes, line_bytes
        Py_ssize_t buffer
        void (*parallel)(Py_ssize_t, Py_ssize_t, range_fn, void *) noexcept nogil
        int (*thread)() noexcept nogil
    ft_fft_plan *ft_fft_make(Py_ssize_t n, int wide, int real)
    bint ft_fft_complete_f(ft_fft_plan *f, bint line_by_line)
    bint ft_fft_complete_d(ft_fft_plan *f, bint line_by_line)
    void ft_fft_free(ft_fft_plan *f)
    bint ft_fft_line_by_line(const ft_fft *g, const ft_fft_plan *f, Py_ssize_t blocks, int item)
    Py_ssize_t ft_fft_blocks(const ft_fft *g, int width)
    void ft_fft_blocks_f(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept
    void ft_fft_blocks_d(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept
    void ft_fft_lines_f(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept
    void ft_fft_lines_d(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept

cdef enum:
    PLANS = 64                  # kept, of so many bytes in all
    PLAN_BYTES = 64 << 20
    CHUNK = 16384               # points that are worth a thread
    WHOLE = 65536               # points of a line that is shared among threads


cdef class Plan:
    cdef ft_fft_plan *c

    def __dealloc__(self):
        if self.c != NULL:
            ft_fft_free(self.c)


cdef dict plans = {}
cdef size_t kept = 0


cdef Plan plan_of(Py_ssize_t n, bint wide, bint real):
    cdef object key = n << 2 | wide << 1 | real
    cdef Plan plan = plans.get(key)
    if plan is None:
        plan = Plan.__new__(Plan)
        plan.c = ft_fft_make(n, wide, real)
        if plan.c != NULL:
            plans[key] = plan
    if plan.c == NULL:
        raise no_room(f"fft: no memory for a transform of {n} values")
    return plan


cdef int complete(Plan plan, Py_ssize_t n, bint wide, bint line_by_line) except -1:
    """The tables of one way of computing, and room for them among those that are kept."""
    global kept
    cdef size_t before = plan.c.arena.bytes
    if not (ft_fft_complete_d(plan.c, line_by_line) if wide else ft_fft_complete_f(plan.c, line_by_line)):
        raise no_room(f"fft: no memory for a transform of {n} values")
    kept += plan.c.arena.bytes - before
    while len(plans) > 1 and (len(plans) > PLANS or kept > PLAN_BYTES):         # the oldest first
        kept -= (<Plan>plans.pop(next(iter(plans)))).c.arena.bytes
    return 0


cdef int lines_of(ft_fft *g, Tensor x, Tensor y, int dim) except -1:
    """All dimensions but one, neighbours joined where both tensors allow it."""
    cdef int d, rank = 0
    g.lines = 1
    for d in range(x.rank):
        if d == dim or x.sizes[d] == 1:
            continue
        g.lines *= x.sizes[d]
        if rank and g.xs[rank - 1] == x.steps[d] * x.sizes[d] and g.ys[rank - 1] == y.steps[d] * y.sizes[d]:
            g.size[rank - 1] *= x.sizes[d]
            g.xs[rank - 1] = x.steps[d]
            g.ys[rank - 1] = y.steps[d]
            continue
        g.size[rank] = x.sizes[d]
        g.xs[rank] = x.steps[d]
        g.ys[rank] = y.steps[d]
        rank += 1
    g.rank = rank
    return 0


cdef int transform(Tensor x, Tensor y, int dim, Py_ssize_t n, int kind, bint forward, bint weighted, double scale) except -1:
    """One dimension of x into y, which may be x where both are complex."""
    cdef ft_fft g
    cdef bint wide = y.code == FLOAT64 or y.code == COMPLEX128, alone, shared
    cdef int width = FT_FFT_DOUBLES if wide else FT_FFT_FLOATS, threads = thread_count()
    cdef range_fn body
    cdef Py_ssize_t count, grain
    cdef Plan plan = plan_of(n, wide, kind != FT_C2C)
    cdef Storage room
    lines_of(&g, x, y, dim)
    g.x, g.y, g.n, g.sx, g.sy = x.ptr, y.ptr, n, x.steps[dim], y.steps[dim]
    g.kind, g.forward, g.weighted, g.scale, g.plan = kind, forward, weighted, scale, plan.c
    g.whole_rows = g.rank > 0 and (g.rank == 1 or 2 * g.size[g.rank - 1] >= width)
    g.parallel, g.thread = parallel_for, thread_index
    count = ft_fft_blocks(&g, width)
    alone = ft_fft_line_by_line(&g, plan.c, count, 16 if wide else 8)
    if (plan.c.line if alone else plan.c.lanes) == NULL:
        complete(plan, n, wide, alone)
    shared = alone and n >= WHOLE
    g.buffer = plan.c.lane_room
    g.lane_bytes = <size_t>g.buffer * 4 * width * (8 if wide else 4)
    g.line_bytes = (plan.c.line_bytes + 63) // 64 * 64
    room = new_storage(threads * g.lane_bytes + (1 if shared else threads) * g.line_bytes)
    g.lane_room, g.line_room = room.ptr, room.ptr + threads * g.lane_bytes
    if alone:
        body = ft_fft_lines_d if wide else ft_fft_lines_f
        count, grain = g.lines, CHUNK // n + 1
    else:
        body = ft_fft_blocks_d if wide else ft_fft_blocks_f
        grain = CHUNK // (n * width) + 1
    if g.lines * n < 4096:
        parallel_for(count, grain, body, &g)
    else:
        with nogil:
            if shared:
                body(&g, 0, count)
            else:
                parallel_for(count, grain, body, &g)
    return 0


cdef double scale_of(double count, int scaling) noexcept:
    return 1 if scaling == 0 else 1 / sqrt(count) if scaling == 1 else 1 / count


def fft_c2c(Tensor x, tuple dims, int scaling, bint forward):
    """Real or complex to complex over `dims`."""
    cdef Tensor y = new_like(x, complex_code(x.code)), source = x
    cdef double count = 1
    cdef int d
    for dim in dims:
        count *= x.sizes[<int>dim]
    cdef double scale = scale_of(count, scaling)
    if y.count == 0:
        return y
    for dim in reversed(dims):
        d = dim
        transform(source, y, d, x.sizes[d], FT_C2C if is_complex_code(source.code) else FT_R2C_FULL, forward, False, scale)
        source, scale = y, 1
    return y


cdef Tensor sized(Tensor x, int dim, Py_ssize_t n, int code):
    cdef Py_ssize_t sizes[64]
    cdef int d
    for d in range(x.rank):
        sizes[d] = n if d == dim else x.sizes[d]
    return new_tensor(x.rank, sizes, code, x.dev)


def fft_r2c(Tensor x, tuple dims, int scaling, bint forward, bint weighted):
    """Real to the first half of the spectrum in the last of `dims`."""
    cdef int d = dims[len(dims) - 1]
    cdef Tensor y = sized(x, d, x.sizes[d] // 2 + 1, complex_code(x.code))
    cdef double count = 1
    for dim in dims:
        count *= x.sizes[<int>dim]
    if y.count == 0:
        return y
    transform(x, y, d, x.sizes[d], FT_R2C, forward, weighted, scale_of(count, scaling))
    for dim in dims[:len(dims) - 1]:
        d = dim
        transform(y, y, d, y.sizes[d], FT_C2C, forward, False, 1)
    return y


def fft_c2r(Tensor x, tuple dims, int scaling, Py_ssize_t size, bint forward, bint weighted):
    """The first half of the spectrum in the last of `dims` to `size` real values."""
    cdef int last = dims[len(dims) - 1], d
    cdef Tensor y = sized(x, last, size, real_code(x.code)), between
    cdef double count = size
    if y.count == 0:
        return y
    for dim in dims[:len(dims) - 1]:
        count *= x.sizes[<int>dim]
    if len(dims) > 1:
        between = new_like(x, x.code)
        for dim in dims[:len(dims) - 1]:
            d = dim
            transform(x, between, d, x.sizes[d], FT_C2C, forward, False, 1)
            x = between
    transform(x, y, last, size, FT_C2R, forward, weighted, scale_of(count, scaling))
    return y
