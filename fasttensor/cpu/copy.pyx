"""Copies and dtype conversions between strided tensors: the core's copy slot for the CPU."""
from fasttensor._core.dtype cimport ITEMSIZE
from fasttensor._core.tensor cimport Tensor, new_like, is_dense, describe
from fasttensor._core.iterator cimport Iterator, start, add_operand, add_scalar, finish, run, loop_fn
from fasttensor._core.dispatch cimport set_copy

cdef extern from "convert.h" nogil:
    const loop_fn FT_CONVERT[12][12]
    void copy_1(char **p, const Py_ssize_t *s, Py_ssize_t n, const double *par) noexcept
    void copy_2(char **p, const Py_ssize_t *s, Py_ssize_t n, const double *par) noexcept
    void copy_4(char **p, const Py_ssize_t *s, Py_ssize_t n, const double *par) noexcept
    void copy_8(char **p, const Py_ssize_t *s, Py_ssize_t n, const double *par) noexcept
    void copy_16(char **p, const Py_ssize_t *s, Py_ssize_t n, const double *par) noexcept
    void copy_rows(char **p, const Py_ssize_t *s, Py_ssize_t n, const double *par) noexcept

cdef enum:
    GRAIN = 65536
    LONG_ROW = 8192     # bytes of a row above which the call of a loop costs nothing


cdef loop_fn copy_loop(int src, int dst) noexcept nogil:
    cdef int size = ITEMSIZE[dst]
    if src != dst:
        return FT_CONVERT[src][dst]
    return copy_1 if size == 1 else copy_2 if size == 2 else copy_4 if size == 4 else copy_8 if size == 8 else copy_16


cdef bint touches(Tensor a, Tensor b) noexcept:
    """Whether the two may share memory. Addresses decide, as `tensor.data`, arrays and other libraries' tensors show one
    memory through several storages."""
    cdef Py_ssize_t high_a = 0, high_b = 0
    cdef int d
    if a.store is None or b.store is None or a.count == 0 or b.count == 0:
        return False
    for d in range(a.rank):
        high_a += (a.sizes[d] - 1) * a.steps[d]
    for d in range(b.rank):
        high_b += (b.sizes[d] - 1) * b.steps[d]
    return a.ptr < b.ptr + (high_b + 1) * ITEMSIZE[b.code] and b.ptr < a.ptr + (high_a + 1) * ITEMSIZE[a.code]


cdef bint overlaps(Tensor a, Tensor b) noexcept:
    """Whether the two may share memory without being the same view."""
    cdef int d
    if not touches(a, b):
        return False
    if a.ptr != b.ptr or a.rank != b.rank or a.code != b.code:
        return True
    for d in range(a.rank):
        if a.sizes[d] != b.sizes[d] or (a.steps[d] != b.steps[d] and a.sizes[d] > 1):
            return True
    return False


cdef bint mixes(Tensor a, Tensor b) noexcept:
    """Whether an element of `a` is another one of `b`. PyTorch finds out for dense tensors only; others are read first here."""
    cdef int d
    if not overlaps(a, b) or not is_dense(a) or not is_dense(b):
        return False
    if a.ptr != b.ptr or a.rank != b.rank or ITEMSIZE[a.code] != ITEMSIZE[b.code]:
        return True
    for d in range(a.rank):
        if a.sizes[d] != b.sizes[d] or (a.steps[d] != b.steps[d] and a.sizes[d] > 1):
            return True
    return False


cdef bint apart(str name, Tensor written, Tensor read) except False:
    """Refuse to write a tensor of which an operand shows other elements."""
    if mixes(written, read):
        raise RuntimeError(f"{name}: unsupported operation: some elements of the input tensor {describe(read)} and the written-to tensor"
                           f" {describe(written)} refer to a single memory location. Please clone() the tensor before performing the operation.")
    return True


cdef bint disjoint(str name, Tensor written, Tensor read) except False:
    """Refuse to write a tensor in the memory of an operand that is read after writing began; of what is not dense only the very same."""
    if written is read or (touches(written, read) and is_dense(written) and is_dense(read)):
        raise RuntimeError(f"{name}: unsupported operation: some elements of the input tensor {describe(read)} and the written-to tensor"
                           f" {describe(written)} refer to a single memory location. Please clone() the tensor before performing the operation.")
    return True


cdef void move(Iterator *it, int code) noexcept:
    """A copy within one dtype."""
    cdef int d, size = ITEMSIZE[code]
    cdef double row
    cdef Py_ssize_t n = it.sizes[0]
    if it.rank < 2 or it.steps[0][0] != size or it.steps[1][0] != size or n * size > LONG_ROW:
        it.move = True
        run(it, copy_loop(code, code), NULL, GRAIN)
        return
    # rows so short that their cost is the call of a loop for each: the rows are the elements of the loop
    row = n * size
    it.rank -= 1
    it.count //= n
    it.item[0] = it.item[1] = 0
    for d in range(it.rank):
        it.sizes[d] = it.sizes[d + 1]
        it.steps[0][d], it.steps[1][d] = it.steps[0][d + 1], it.steps[1][d + 1]
    run(it, copy_rows, &row, max(<Py_ssize_t>1, GRAIN // n))


cdef bint copy_cpu(Tensor dst, Tensor src) except False:
    cdef Iterator it
    cdef Tensor plain
    if overlaps(dst, src):
        plain = new_like(src, src.code)
        copy_cpu(plain, src)
        src = plain
    if dst.count == 0:
        return True
    start(&it, dst.rank, dst.sizes)
    add_operand(&it, dst)
    add_operand(&it, src)
    finish(&it)
    if src.code == dst.code:
        move(&it, dst.code)
    else:
        run(&it, copy_loop(src.code, dst.code), NULL, GRAIN)
    return True


cdef void fill(Tensor dst, void *value) noexcept:
    """dst[...] = one element of its own dtype."""
    cdef Iterator it
    if dst.count == 0:
        return
    start(&it, dst.rank, dst.sizes)
    add_operand(&it, dst)
    add_scalar(&it, value)
    finish(&it)
    run(&it, copy_loop(dst.code, dst.code), NULL, GRAIN)


set_copy(0, copy_cpu)
