"""The order in which results lie in memory.

Elementwise results follow their operands' strides as PyTorch's do: the first operand for which two dimensions differ decides
which of them is the inner one. Images keep their channels inside (torch.channels_last) through everything made for images.
"""
from fasttensor._core.dispatch cimport copy_into, internal_overlap
from fasttensor._core.dtype cimport BFLOAT16, COMPLEX64, FLOAT32
from fasttensor._core.tensor cimport *


cdef Tensor like_layout(Tensor x, int code):
    return layout_on(x, code, x.dev)


cdef Tensor layout_on(Tensor x, int code, int dev):
    cdef const Py_ssize_t *steps[1]
    if x.contig:
        return new_tensor(x.rank, x.sizes, code, dev)
    if is_dense(x):
        return with_steps(x.rank, x.sizes, x.steps, code, dev)
    steps[0] = x.steps
    return ordered(x.rank, x.sizes, code, dev, 1, steps)


cdef Tensor with_steps(int rank, const Py_ssize_t *sizes, const Py_ssize_t *steps, int code, int dev):
    """Uninitialised memory under dense strides."""
    cdef Tensor y = new_tensor(rank, sizes, code, dev)
    cdef Py_ssize_t run = 1
    cdef int d
    for d in range(rank - 1, -1, -1):
        y.steps[d] = steps[d]
        if sizes[d] != 1:
            if steps[d] != run:
                y.contig = y.count == 0
            run *= sizes[d]
    return y


cdef Tensor ordered(int rank, const Py_ssize_t *sizes, int code, int dev, int n, const Py_ssize_t **operands):
    """Uninitialised memory in the order of the operands' strides. A stride of zero compares with none, so that broadcast dimensions keep their place."""
    cdef int order[64]
    cdef Py_ssize_t steps[64]
    cdef Py_ssize_t run = 1, before, after
    cdef int d, e, at, k, swap
    for d in range(rank):       # fastest dimension first
        order[d] = rank - 1 - d
        at = d
        for e in range(d - 1, -1, -1):
            swap = 0
            for k in range(n):
                before, after = operands[k][order[e]], operands[k][order[at]]
                if before == 0 or after == 0:
                    continue
                if before != after:
                    swap = -1 if before < after else 1
                    break
                if sizes[order[e]] > sizes[order[at]]:
                    swap = 1
                    break
            if swap < 0:
                break
            if swap > 0:
                order[e], order[at] = order[at], order[e]
                at = e
    for d in range(rank):
        steps[order[d]] = run
        run *= max(sizes[order[d]], 1)
    return with_steps(rank, sizes, steps, code, dev)


cdef inline int inside_out(int k, int rank) noexcept:
    """The k-th dimension of images in memory, from the innermost, which is the channels: those of torch.channels_last and _3d."""
    return 1 if k == 0 else 0 if k == rank - 1 else rank - k


cdef bint packed_channels(Tensor x) noexcept:
    """Whether the strides are those of torch.channels_last, or _3d, where there is more than one element."""
    cdef Py_ssize_t run = 1
    cdef int k, d
    if x.rank != 4 and x.rank != 5:
        return False
    for k in range(x.rank):
        d = inside_out(k, x.rank)
        if x.sizes[d] != 1 and x.steps[d] != run:
            return False
        run *= x.sizes[d]
    return True


cdef bint same_order(Tensor a, Tensor b) noexcept:
    cdef int d
    for d in range(a.rank):
        if a.sizes[d] != 1 and a.steps[d] != b.steps[d]:
            return False
    return True


cdef Tensor joint_layout(int rank, const Py_ssize_t *sizes, int code, int dev, Tensor a, Tensor b, Tensor c, bint alone):
    cdef Py_ssize_t spread[3][64]
    cdef const Py_ssize_t *operands[3]
    cdef Tensor t, first = None
    cdef int n = 0, d, lead
    cdef bint plain = True, whole = True, inside = True, equal = True
    for t in (a, b, c):
        if t is None:
            continue
        plain = plain and t.contig
        if t.rank != rank or not has_sizes(t, sizes):
            whole = False
    if plain or rank < 2:
        return new_tensor(rank, sizes, code, dev)
    for t in (a, b, c):
        if t is None:
            continue
        if whole and alone:
            inside = inside and packed_channels(t)
            if first is None:
                first = t
                equal = is_dense(t)
            equal = equal and same_order(first, t)
        lead = rank - t.rank
        for d in range(rank):
            spread[n][d] = 0 if d < lead or (t.sizes[d - lead] == 1 and sizes[d] != 1) else t.steps[d - lead]
        operands[n] = spread[n]
        n += 1
    if whole and alone:
        if inside:
            return empty_images(rank, sizes, code, dev)
        if equal:
            return with_steps(rank, sizes, first.steps, code, dev)
    return ordered(rank, sizes, code, dev, n, operands)


cdef bint channels_inside(Tensor x) noexcept:
    cdef Py_ssize_t low = 0, size, step
    cdef int k, d
    if x.rank < 3 or x.rank > 5 or x.dev == BATCHED or x.steps[1] == 0:
        return False
    for k in range(max(x.rank, 4)):
        if x.rank == 3:         # as one row of an image: [N, C, 1, L]
            d = 1 if k == 0 else 2 if k == 1 else 0
            size, step = x.sizes[d], x.steps[d]
            if k == 2:
                size, step = 1, x.sizes[2] * x.steps[2]
        else:
            d = inside_out(k, x.rank)
            size, step = x.sizes[d], x.steps[d]
        if size == 0 or step < low or (k >= max(x.rank, 4) - 1 and low == x.steps[1]):
            return False
        low = step * size if size > 1 else step
    return True


cdef Tensor empty_images(int rank, const Py_ssize_t *sizes, int code, int dev):
    cdef Py_ssize_t steps[5]
    cdef Py_ssize_t run = 1
    cdef int k, d
    for k in range(rank):
        d = inside_out(k, rank)
        steps[d] = run
        run *= max(sizes[d], 1)
    return with_steps(rank, sizes, steps, code, dev)


cdef Tensor images_inside(Tensor y):
    cdef Tensor out
    cdef int k, d
    cdef Py_ssize_t run = 1
    cdef bint equal = True
    if y.dev == BATCHED:
        return y
    for k in range(y.rank):
        d = inside_out(k, y.rank)
        equal = equal and y.steps[d] == run
        run *= max(y.sizes[d], 1)
    if equal:
        return y
    out = empty_images(y.rank, y.sizes, y.code, y.dev)
    copy_into(out, y)
    return out


def in_images_order(Tensor x not None, result, int nd=0):
    """The result, or each tensor of a tuple, with its channels innermost where those of x are; else as it is.
    With `nd`, only where x has that many dimensions beside the batch's and the channels'."""
    if (x.rank != nd + 2 if nd else x.rank < 4) or not channels_inside(x):
        return result
    if type(result) is tuple:
        return tuple([images_inside(t) if isinstance(t, Tensor) else t for t in result])
    return images_inside(result)


def in_either_order(Tensor a not None, Tensor b not None, Tensor result not None):
    """The result of a convolution with its channels innermost where those of the images a or the weight b are; of signals only the weight counts."""
    if a.rank == 5 and a.code != FLOAT32 and a.code != BFLOAT16 and a.code != COMPLEX64:
        return result       # PyTorch's kernels for volumes of other dtypes know one order
    return images_inside(result) if (a.rank > 3 and channels_inside(a)) or channels_inside(b) else result


def has_channels_inside(Tensor x not None):
    """Whether an image's channels lie innermost in memory, which results then keep."""
    return channels_inside(x)


def with_channels_inside(Tensor y not None):
    """y itself, or a copy with its channels innermost."""
    return images_inside(y)


cdef Tensor channels_behind(Tensor t, bint back):
    cdef Py_ssize_t sizes[5]
    cdef Py_ssize_t steps[5]
    cdef int d, to
    for d in range(t.rank):
        to = 0 if d == 0 else t.rank - 1 if d == 1 else d - 1
        if back:
            sizes[d], steps[d] = t.sizes[to], t.steps[to]
        else:
            sizes[to], steps[to] = t.sizes[d], t.steps[d]
    return new_view(t, t.rank, sizes, steps, t.offset)


def laid_out_as(Tensor x not None, Tensor like not None):
    """Give x, of the same shape and without values yet, the strides of a result."""
    if not like.contig and is_dense(like):
        set_geometry(x, like.rank, like.sizes, like.steps)


def internal_overlap_kind(Tensor x not None):
    """Whether elements of a tensor share memory: 0 they do not, 1 they do, as a dimension has a stride of 0, 2 that would take a search."""
    cdef int d
    if x.contig or is_dense(x):
        return 0
    for d in range(x.rank):
        if x.steps[d] == 0 and x.sizes[d] > 1:
            return 1
    return 2


def overlaps_itself(Tensor x not None):
    """Whether more than one element surely lies in one place, as in expanded tensors."""
    return internal_overlap(x)


def moved_channels(Tensor t not None, bint back=False):
    """A view of images with the channels as the last dimension, or back as the second."""
    return channels_behind(t, back)
