"""Rearranging one tensor: flip, repeat, tril, triu."""
from libc.string cimport memcpy, memset
from fasttensor._core.dtype cimport ITEMSIZE
from fasttensor._core.dispatch cimport copy_into
from fasttensor._core.tensor cimport Tensor, new_tensor, new_like, new_view, contiguous, describe
from fasttensor._core.layout cimport like_layout
from fasttensor._core.parallel cimport parallel_for
from fasttensor.cpu.index_loops cimport *

cdef struct Strided:
    int rank, top
    Py_ssize_t sizes[64]
    Py_ssize_t sstep[64]         # bytes, may be negative
    char *src
    char *dst
    Py_ssize_t item
    ft_acc_fn row


cdef void strided_rows(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Strided *k = <Strided *>context
    cdef Py_ssize_t row, rest, n = k.sizes[k.rank - 1]
    cdef int d
    cdef char *s
    for row in range(begin, end):
        s, rest = k.src, row
        for d in range(k.rank - 2, -1, -1):
            s += (rest % k.sizes[d]) * k.sstep[d]
            rest //= k.sizes[d]
        if k.sstep[k.rank - 1] == -k.item:
            FT_REVERSE[ft_log2(k.item)](k.dst + row * n * k.item, s, n)
        else:
            k.row(k.dst + row * n * k.item, k.item, s, k.sstep[k.rank - 1], n)


def flip(Tensor x, dims):
    """x with the order of the elements reversed along dims (each 0 <= d < rank), in x's order in memory."""
    cdef Strided k
    cdef Tensor out = like_layout(x, x.code)
    cdef int order[64]
    cdef int d, e
    if x.rank == 0 or x.count == 0:
        copy_into(out, x)
        return out
    k.rank, k.src, k.dst, k.item, k.row = x.rank, x.ptr, out.ptr, ITEMSIZE[x.code], FT_ACC[OP_SET][x.code]
    for d in range(x.rank):
        e = d
        while e and out.steps[order[e - 1]] < out.steps[d]:
            order[e] = order[e - 1]
            e -= 1
        order[e] = d
    for d in range(x.rank):
        e = order[d]
        k.sizes[d], k.sstep[d] = x.sizes[e], x.steps[e] * k.item
        if e in dims:
            k.src += (k.sizes[d] - 1) * k.sstep[d]
            k.sstep[d] = -k.sstep[d]
    if x.count < BIG:
        strided_rows(&k, 0, x.count // k.sizes[k.rank - 1])
    else:
        with nogil:
            parallel_for(x.count // k.sizes[k.rank - 1], 1 + GRAIN // k.sizes[k.rank - 1], strided_rows, &k)
    return out


cdef struct Each:
    const char *src
    char *dst
    Py_ssize_t times, block, item


cdef void each_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Each *e = <Each *>context
    cdef Py_ssize_t r, t
    if e.block == e.item:
        FT_EACH[ft_log2(e.item)](e.dst + begin * e.times * e.item, e.src + begin * e.item, e.times, end - begin)
        return
    for r in range(begin, end):
        for t in range(e.times):
            ft_copy(e.dst + (r * e.times + t) * e.block, e.src + r * e.block, e.block)


def repeat_each(Tensor x, Py_ssize_t times, int dim):
    """Every slice along dim `times` times in a row."""
    cdef Tensor src = contiguous(x), out
    cdef Each e
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t rows = 1
    cdef int d
    e.item = e.block = ITEMSIZE[x.code]
    for d in range(x.rank):
        sizes[d] = x.sizes[d] * (times if d == dim else 1)
        if d <= dim:
            rows *= x.sizes[d]
        else:
            e.block *= x.sizes[d]
    out = new_tensor(x.rank, sizes, x.code, x.dev)
    e.src, e.dst, e.times = src.ptr, out.ptr, times
    if out.count < BIG:
        each_range(&e, 0, rows if out.count else 0)
    else:
        with nogil:
            parallel_for(rows, 1 + GRAIN * e.item // (times * e.block), each_range, &e)
    return out


cdef struct Triangle:
    const char *src
    char *dst
    Py_ssize_t rows, cols, k, item
    bint upper


cdef void triangle_rows(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Triangle *t = <Triangle *>context
    cdef Py_ssize_t r, cut
    cdef char *d
    cdef const char *s
    for r in range(begin, end):
        d, s = t.dst + r * t.cols * t.item, t.src + r * t.cols * t.item
        # Columns before `cut` lie below the diagonal (upper) or on and below it (lower).
        cut = r % t.rows + t.k + (0 if t.upper else 1)
        cut = (0 if cut < 0 else t.cols if cut > t.cols else cut) * t.item
        if t.upper:
            memset(d, 0, cut)
            memcpy(d + cut, s + cut, t.cols * t.item - cut)
        else:
            memcpy(d, s, cut)
            memset(d + cut, 0, t.cols * t.item - cut)


def triangle(Tensor x, Py_ssize_t k, bint upper):
    """The upper or lower triangle of the matrices in the last two dimensions, zeros elsewhere."""
    cdef Triangle t
    cdef Tensor src = contiguous(x), out = new_like(x, x.code)
    cdef Py_ssize_t limit
    if out.count == 0:
        return out
    t.rows, t.cols, t.item, t.upper = x.sizes[x.rank - 2], x.sizes[x.rank - 1], ITEMSIZE[x.code], upper
    limit = t.rows + t.cols + 1
    t.k = limit if k > limit else -limit if k < -limit else k
    t.src, t.dst = src.ptr, out.ptr
    if x.count < BIG:
        triangle_rows(&t, 0, out.count // t.cols)
    else:
        with nogil:
            parallel_for(out.count // t.cols, 1 + GRAIN // t.cols, triangle_rows, &t)
    return out


def repeat(Tensor x, list repeats):
    """x laid out repeats[d] times along each dimension d; len(repeats) >= x.dim()."""
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t pair[64]
    cdef Py_ssize_t dst[64]
    cdef Py_ssize_t src[64]
    cdef int rank = <int>len(repeats), lead = rank - x.rank, d, m = 0
    cdef Tensor out
    cdef Py_ssize_t size, times
    if rank > 64:
        raise RuntimeError(f"repeat: at most 64 dimensions, got {rank} repeats of {describe(x)}")
    for d in range(rank):
        shape[d] = repeats[d] * (x.sizes[d - lead] if d >= lead else 1)
    out = new_tensor(rank, shape, x.code, x.dev)
    if out.count == 0:
        return out
    # Each dimension becomes (repeat, size), of which the first has no step in x.
    for d in range(rank):
        times, size = repeats[d], x.sizes[d - lead] if d >= lead else 1
        if times > 1:
            if m == 64:
                raise RuntimeError(f"repeat: too many dimensions: {describe(x)} repeated {repeats}")
            pair[m], dst[m], src[m] = times, size * out.steps[d], 0
            m += 1
        if size > 1:
            if m == 64:
                raise RuntimeError(f"repeat: too many dimensions: {describe(x)} repeated {repeats}")
            pair[m], dst[m], src[m] = size, out.steps[d], x.steps[d - lead]
            m += 1
    copy_into(new_view(out, m, pair, dst, out.offset), new_view(x, m, pair, src, x.offset))
    return out
