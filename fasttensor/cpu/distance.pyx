"""Distances between the rows of matrices, and their gradients, without the differences of all pairs in memory.

Example::

    y = distance.cdist(a, b, 1.0)                      # a [B, P, M], b [B, R, M]: [B, P, R]
    ga = distance.cdist_backward(g, a, b, y, 1.0)      # for b: the operands exchanged, g and y transposed

float32 and float64 are computed as they are, half types in float32. Sums of a gradient run over the other operand's rows
in an order that their number alone decides.
"""
from libc.stdlib cimport calloc, malloc, free
from libc.string cimport memcpy, memset
from fasttensor._core.dtype cimport FLOAT32, FLOAT64
from fasttensor._core.tensor cimport Tensor, new_tensor, new_like, contiguous, cast
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.storage cimport no_room

cdef extern from "distance.h" nogil:
    ctypedef struct ft_distance:
        Py_ssize_t item, block
        void (*pack)(const void *x, Py_ssize_t rows, Py_ssize_t m, void *to) noexcept nogil
        void (*forward)(const void *a, const void *packed, Py_ssize_t rows, Py_ssize_t m, double p, void *out) noexcept nogil
        void (*backward)(const void *a, const void *packed, const void *g, const void *y, Py_ssize_t rows, Py_ssize_t m, double p,
                         void *sums) noexcept nogil
        void (*gather)(void *sums, Py_ssize_t m, void *to) noexcept nogil
        void (*finish)(void *y, const void *na, const void *nb, Py_ssize_t rows, Py_ssize_t n) noexcept nogil
    const ft_distance FT_DISTANCE[2]

cdef struct Job:
    const ft_distance *f
    char *a
    char *b                     # packed, `step` bytes a matrix
    char *y
    char *g
    char *ga
    Py_ssize_t rows, others, m, step, grain
    double p
    bint failed


cdef Tensor plain(Tensor x):
    return contiguous(x) if x.code >= FLOAT32 else cast(x, FLOAT32)


cdef int setup(Job *j, Tensor a, Tensor b, double p) except -1:
    """Everything but y, g and ga; j.b is to be freed."""
    cdef Py_ssize_t k, batch
    cdef int r = a.rank
    j.f = &FT_DISTANCE[a.code == FLOAT64]
    j.rows, j.others, j.m, j.p, j.failed = a.sizes[r - 2], b.sizes[r - 2], a.sizes[r - 1], p, False
    batch = a.count // (j.rows * j.m) if a.count else 0
    j.a = a.ptr
    j.step = (j.others + j.f.block - 1) // j.f.block * j.f.block * j.m * j.f.item
    j.b = <char *>malloc(batch * j.step + 1)
    if j.b == NULL:
        raise no_room(f"cdist: no memory for a packed copy of {j.others} rows of {j.m} elements")
    for k in range(batch):
        j.f.pack(b.ptr + k * j.others * j.m * j.f.item, j.others, j.m, j.b + k * j.step)
    # rows that share a block of b while it is in cache
    j.grain = 4 + 65536 // (j.others * j.m + 1)
    return 0


cdef inline Py_ssize_t least(Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    return a if a < b else b


cdef void forward_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *j = <Job *>context
    cdef Py_ssize_t at, last, k, i
    while begin < end:
        at = begin // j.rows
        last = least(end, (at + 1) * j.rows)
        k = 0
        while k < j.others:
            for i in range(begin, last):
                j.f.forward(j.a + i * j.m * j.f.item, j.b + at * j.step + k * j.m * j.f.item, least(j.others - k, j.f.block), j.m, j.p,
                            j.y + (i * j.others + k) * j.f.item)
            k += j.f.block
        begin = last


cdef void backward_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *j = <Job *>context
    cdef Py_ssize_t k, i, at
    cdef char *sums = <char *>calloc(j.m + 1, 64)
    if sums == NULL:
        j.failed = True
        return
    for i in range(begin, end):
        k = 0
        while k < j.others:
            at = (i * j.others + k) * j.f.item
            j.f.backward(j.a + i * j.m * j.f.item, j.b + i // j.rows * j.step + k * j.m * j.f.item, j.g + at, j.y + at,
                         least(j.others - k, j.f.block), j.m, j.p, sums)
            k += j.f.block
        j.f.gather(sums, j.m, j.ga + i * j.m * j.f.item)
    free(sums)


cdef void run(Job *j, Py_ssize_t rows, void (*body)(void *, Py_ssize_t, Py_ssize_t) noexcept nogil) noexcept:
    if rows * j.others * j.m < 8192:
        body(j, 0, rows)
    else:
        with nogil:
            parallel_for(rows, j.grain, body, j)


cdef Tensor of_pairs(Tensor a, Tensor b):
    cdef Py_ssize_t sizes[64]
    cdef int d
    for d in range(a.rank):
        sizes[d] = a.sizes[d]
    sizes[a.rank - 1] = b.sizes[a.rank - 2]
    return new_tensor(a.rank, sizes, FLOAT64 if a.code == FLOAT64 else FLOAT32, a.dev)


def cdist(Tensor a, Tensor b, double p):
    """p-norms of a's rows less b's: a [..., P, M], b [..., R, M] of one dtype and the same leading dimensions."""
    cdef Job j
    cdef Tensor y = of_pairs(a, b), x = plain(a), other = plain(b)
    if y.count:
        if x.count == 0:
            y.zero_()
            return cast(y, a.code)
        setup(&j, x, other, p)
        j.y = y.ptr
        run(&j, y.count // j.others, forward_chunk)
        free(j.b)
    return cast(y, a.code)


def cdist_backward(Tensor g, Tensor a, Tensor b, Tensor y, double p):
    """The gradient of a, from that of the distances y."""
    cdef Job j
    cdef Tensor x = plain(a), other = plain(b), distances = plain(y), of_y = plain(g), ga = new_like(x, x.code)
    if ga.count:
        if other.count == 0:
            ga.zero_()
            return cast(ga, a.code)
        setup(&j, x, other, p)
        j.y, j.g, j.ga = distances.ptr, of_y.ptr, ga.ptr
        run(&j, ga.count // j.m, backward_chunk)
        free(j.b)
        if j.failed:
            raise no_room(f"cdist: no memory for sums of {j.m} elements")
    return cast(ga, a.code)


# --- all pairs of one matrix's rows: those behind row i begin at this place ---
cdef inline Py_ssize_t place(Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    return i * n - i * (i + 1) // 2


cdef void pairs_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *j = <Job *>context
    cdef Py_ssize_t i, k, first, many
    cdef char block[256]
    cdef char *part = block
    cdef char *to
    k = (begin + 1) // j.f.block * j.f.block
    while k < j.others:
        many = least(j.others - k, j.f.block)
        for i in range(begin, least(end, k + many - 1)):
            first = i + 1 - k if i + 1 > k else 0       # what of the block lies behind row i
            to = j.y + (place(i, j.others) + k + first - i - 1) * j.f.item
            j.f.forward(j.a + i * j.m * j.f.item, j.b + k * j.m * j.f.item, many, j.m, j.p, part if first else to)
            if first:
                memcpy(to, part + first * j.f.item, (many - first) * j.f.item)
        k += j.f.block


cdef void pairs_backward_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *j = <Job *>context
    cdef Py_ssize_t i, k, at, size = j.f.item
    cdef char *sums = <char *>calloc(j.m + 1, 64)
    cdef char *rows = <char *>malloc(2 * j.others * size)       # gradients and distances of one row to all
    if sums == NULL or rows == NULL:
        j.failed, end = True, begin
    for i in range(begin, end):
        for k in range(i):
            at = place(k, j.others) + i - k - 1
            if size == 4:
                (<float *>rows)[k], (<float *>rows)[j.others + k] = (<float *>j.g)[at], (<float *>j.y)[at]
            else:
                (<double *>rows)[k], (<double *>rows)[j.others + k] = (<double *>j.g)[at], (<double *>j.y)[at]
        memset(rows + i * size, 0, size)
        memset(rows + (j.others + i) * size, 0, size)
        at = place(i, j.others) * size
        memcpy(rows + (i + 1) * size, j.g + at, (j.others - i - 1) * size)
        memcpy(rows + (j.others + i + 1) * size, j.y + at, (j.others - i - 1) * size)
        k = 0
        while k < j.others:
            j.f.backward(j.a + i * j.m * size, j.b + k * j.m * size, rows + k * size, rows + (j.others + k) * size,
                         least(j.others - k, j.f.block), j.m, j.p, sums)
            k += j.f.block
        j.f.gather(sums, j.m, j.ga + i * j.m * size)
    free(sums)
    free(rows)


def pdist(Tensor a, double p):
    """p-norms of the differences of each two of a's rows, a [N, M]: N (N - 1) / 2 values."""
    cdef Job j
    cdef Tensor x = plain(a), y
    cdef Py_ssize_t count = a.sizes[0] * (a.sizes[0] - 1) // 2
    y = new_tensor(1, &count, x.code, a.dev)
    if count:
        if x.count == 0:
            y.zero_()
            return cast(y, a.code)
        setup(&j, x, x, p)
        j.y = y.ptr
        run(&j, j.rows, pairs_chunk)
        free(j.b)
    return cast(y, a.code)


def pdist_backward(Tensor g, Tensor a, Tensor y, double p):
    """The gradient of a."""
    cdef Job j
    cdef Tensor x = plain(a), distances = plain(y), of_y = plain(g), ga = new_like(x, x.code)
    if ga.count:
        setup(&j, x, x, p)
        j.y, j.g, j.ga = distances.ptr, of_y.ptr, ga.ptr
        run(&j, j.rows, pairs_backward_chunk)
        free(j.b)
        if j.failed:
            raise no_room(f"pdist: no memory for sums of {j.m} elements")
    return cast(ga, a.code)


cdef void finish_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *j = <Job *>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        j.f.finish(j.y + i * j.others * j.f.item, j.a + i * j.f.item, j.b + i // j.rows * j.others * j.f.item, 1, j.others)


def cdist_finish(Tensor products, Tensor a, Tensor b):
    """sqrt(a + b - 2 products), from products [..., P, R], written over, and squares of lengths a [..., P] and b [..., R]."""
    cdef Job j
    cdef Tensor x = contiguous(a), other = contiguous(b)
    if products.count:
        j.f = &FT_DISTANCE[products.code == FLOAT64]
        j.rows, j.others = products.sizes[products.rank - 2], products.sizes[products.rank - 1]
        j.y, j.a, j.b = products.ptr, x.ptr, other.ptr
        with nogil:
            parallel_for(products.count // j.others, 1 + 16384 // j.others, finish_chunk, &j)
    return products
