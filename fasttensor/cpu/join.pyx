"""Putting pieces together and rearranging: cat, stack, flip, roll, tril, triu, repeat."""
from libc.stdlib cimport malloc, free
from libc.string cimport memcpy, memset
from fasttensor._core.dtype cimport ITEMSIZE
from fasttensor._core.dispatch cimport copy_into, internal_overlap
from fasttensor._core.tensor cimport Tensor, new_tensor, new_like, new_view, contiguous, describe, wrote
from fasttensor._core.construct cimport like_layout
from fasttensor._core.parallel cimport parallel_for
from fasttensor.cpu.copy cimport touches
from fasttensor.cpu.index_loops cimport *

cdef struct Piece:
    char *src
    Py_ssize_t block             # bytes of a row of the result that come from here
    Py_ssize_t step              # bytes to what the next row takes

cdef struct Joint:
    char *dst
    Piece *pieces
    int count
    Py_ssize_t width             # bytes of a row of the result


cdef void join_rows(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Joint *j = <Joint *>context
    cdef Py_ssize_t row
    cdef int p
    cdef char *d
    for row in range(begin, end):
        d = j.dst + row * j.width
        for p in range(j.count):
            ft_copy(d, j.pieces[p].src + row * j.pieces[p].step, j.pieces[p].block)
            d += j.pieces[p].block


cdef void join_bytes(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """A single row, cut by bytes."""
    cdef Joint *j = <Joint *>context
    cdef Py_ssize_t at = 0, a, b
    cdef int p
    for p in range(j.count):
        a, b = max(begin, at), min(end, at + j.pieces[p].block)
        if a < b:
            memcpy(j.dst + a, j.pieces[p].src + (a - at), b - a)
        at += j.pieces[p].block


cdef struct Weave:
    char *dst
    char **parts
    Py_ssize_t count
    ft_weave_fn run


cdef void weave_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Weave *w = <Weave *>context
    w.run(w.dst, w.parts, w.count, begin, end)


cdef int weave(Joint *j, Py_ssize_t rows, Py_ssize_t item) except -1:
    """Rows that take one element of each piece."""
    cdef Weave w
    cdef int p
    w.parts = <char **>malloc(j.count * sizeof(char *))
    if w.parts == NULL:
        free(j.pieces)
        raise MemoryError("cat: no memory for the list of tensors")
    for p in range(j.count):
        w.parts[p] = j.pieces[p].src
    w.dst, w.count, w.run = j.dst, j.count, FT_WEAVE[ft_log2(item)]
    if rows * j.count < BIG:
        weave_range(&w, 0, rows)
    else:
        with nogil:
            parallel_for(rows, 1 + GRAIN // w.count, weave_range, &w)
    free(w.parts)
    return 0


cdef Tensor join(list parts, int dim, Tensor out):
    """Fills out with parts along dim; their shapes fit."""
    cdef Joint j
    cdef Tensor t, view
    cdef Py_ssize_t outer = 1, inner = ITEMSIZE[out.code], offset
    cdef int d
    cdef bint plain = out.contig, single = True
    if out.count == 0:
        return out
    for t in parts:
        plain = plain and t.contig and t.code == out.code
    if not plain:
        offset = out.offset
        for t in parts:
            view = new_view(out, out.rank, t.sizes, out.steps, offset)
            if t.count:
                copy_into(view, t)
            offset += t.sizes[dim] * out.steps[dim]
        return out
    for d in range(out.rank):
        if d < dim:
            outer *= out.sizes[d]
        elif d > dim:
            inner *= out.sizes[d]
    j.dst, j.count, j.width = out.ptr, <int>len(parts), out.sizes[dim] * inner
    j.pieces = <Piece *>malloc((j.count + 1) * sizeof(Piece))
    if j.pieces == NULL:
        raise MemoryError("cat: no memory for the list of tensors")
    for d in range(j.count):
        t = parts[d]
        j.pieces[d].src, j.pieces[d].block, j.pieces[d].step = t.ptr, t.sizes[dim] * inner, t.sizes[dim] * inner
        single = single and t.sizes[dim] * inner == ITEMSIZE[out.code]
    if single and j.count > 1:
        weave(&j, outer, ITEMSIZE[out.code])
    elif out.count < BIG:
        join_rows(&j, 0, outer)
    else:
        with nogil:
            if outer == 1:
                parallel_for(j.width, 1 << 18, join_bytes, &j)
            else:
                parallel_for(outer, 1 + (1 << 18) // j.width, join_rows, &j)
    free(j.pieces)
    return out


cdef Tensor joined_in(Tensor out, list parts, int dim, int rank, Py_ssize_t *shape, int code, int dev):
    """The parts in `out`, where it is memory of the result's shape and dtype apart from theirs, else in new memory."""
    cdef int d
    if out is None or out.rank != rank or out.code != code or out.dev != dev or internal_overlap(out) or out.store is None or out.store.read_only:
        return join(parts, dim, new_tensor(rank, shape, code, dev))
    for d in range(rank):
        if out.sizes[d] != shape[d]:
            return join(parts, dim, new_tensor(rank, shape, code, dev))
    for t in parts:
        if touches(out, <Tensor>t):
            return join(parts, dim, new_tensor(rank, shape, code, dev))
    join(parts, dim, out)
    wrote(out)
    return out


def cat(list tensors, int dim, int code, Tensor out=None):
    """Tensors of fitting shapes joined along dim, as dtype code. An empty 1-d tensor fits everything. `out` is the result where it can be."""
    cdef Py_ssize_t shape[64]
    cdef Tensor t, first = None
    cdef list parts = []
    cdef int d
    cdef Py_ssize_t total = 0
    for t in tensors:
        if t.rank == 1 and t.sizes[0] == 0:
            continue
        if first is None:
            first = t
        if t.rank != first.rank:
            raise RuntimeError(f"cat: Tensors must have same number of dimensions: got {first.rank} and {t.rank} "
                               f"({describe(first)} and {describe(t)})")
        for d in range(t.rank):
            if d != dim and t.sizes[d] != first.sizes[d]:
                raise RuntimeError(f"cat: Sizes of tensors must match except in dimension {dim}. Expected size {first.sizes[d]} "
                                   f"but got size {t.sizes[d]} for tensor number {len(parts)} in the list "
                                   f"({describe(first)} and {describe(t)})")
        if t.rank == 0:
            raise RuntimeError("cat: zero-dimensional tensor cannot be concatenated; use stack")
        total += t.sizes[dim]
        parts.append(t)
    if first is None:
        shape[0] = 0
        t = tensors[0]
        return new_tensor(1, shape, code, t.dev)
    for d in range(first.rank):
        shape[d] = first.sizes[d]
    shape[dim] = total
    return joined_in(out, parts, dim, first.rank, shape, code, first.dev)


def stack(list tensors, int dim, int code, Tensor out=None):
    """Tensors of one shape joined along a new dim, as dtype code. `out` is the result where it can be."""
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t one[64]
    cdef Py_ssize_t steps[64]
    cdef Tensor t, first = tensors[0]
    cdef list parts = []
    cdef int d, rank = first.rank + 1, k
    for d in range(rank):
        shape[d] = len(tensors) if d == dim else first.sizes[d - (d > dim)]
        one[d] = 1 if d == dim else shape[d]
    for t in tensors:
        if t.rank != first.rank:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {describe(first)} and {describe(t)}")
        for d in range(rank):
            k = d - (d > dim)
            if d != dim and t.sizes[k] != shape[d]:
                raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 "
                                   f"and {list(t.shape)} at entry {len(parts)}")
            steps[d] = 1 if d == dim else t.steps[k]
        parts.append(new_view(t, rank, one, steps, t.offset))
    return joined_in(out, parts, dim, rank, shape, code, first.dev)


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


def roll(Tensor x, Py_ssize_t shift, int dim):
    """x with its elements moved by shift along dim, those pushed over the end coming in at the start."""
    cdef Tensor src = contiguous(x), out = new_like(x, x.code)
    cdef Py_ssize_t n = x.sizes[dim], a, outer = 1, inner = ITEMSIZE[x.code]
    cdef Piece pieces[2]
    cdef Joint j
    cdef int d
    if x.count == 0:
        return out
    a = shift % n
    a = a + n if a < 0 else a
    for d in range(x.rank):
        if d < dim:
            outer *= x.sizes[d]
        elif d > dim:
            inner *= x.sizes[d]
    j.dst, j.pieces, j.count, j.width = out.ptr, pieces, 2, n * inner
    pieces[0].step = pieces[1].step = j.width
    pieces[0].src, pieces[0].block = src.ptr + (n - a) * inner, a * inner
    pieces[1].src, pieces[1].block = src.ptr, (n - a) * inner
    if out.count < BIG:
        join_rows(&j, 0, outer)
    else:
        with nogil:
            if outer == 1:
                parallel_for(j.width, 1 << 18, join_bytes, &j)
            else:
                parallel_for(outer, 1 + (1 << 18) // j.width, join_rows, &j)
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
