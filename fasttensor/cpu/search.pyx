"""Sorted sequences and counting: searchsorted, runs of equal values, repeated positions."""
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp, memset
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport Tensor, new_tensor, new_like, contiguous, cast, describe
from fasttensor._core.parallel cimport parallel_for

ctypedef fused number:
    float
    double
    int64_t

cdef struct Search:
    const char *edges
    const char *values
    const int64_t *order
    int64_t *out
    Py_ssize_t n, per            # edges of a row, values of a row
    bint one_row, right


cdef void search(Search *s, number *kind, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Py_ssize_t i, low, high, mid, base
    cdef number v
    cdef const number *edges = <const number *>s.edges
    cdef number at
    for i in range(begin, end):
        v = (<const number *>s.values)[i]
        base = 0 if s.one_row else (i // s.per) * s.n
        low, high = 0, s.n
        while low < high:
            mid = (low + high) >> 1
            at = edges[base + (s.order[base + mid] if s.order != NULL else mid)]
            # Written so that a NaN among the values goes behind everything.
            if (not at > v) if s.right else (not at >= v):
                low = mid + 1
            else:
                high = mid
        s.out[i] = low


cdef void search_f32(void *c, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    search[float](<Search *>c, NULL, a, b)


cdef void search_f64(void *c, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    search[double](<Search *>c, NULL, a, b)


cdef void search_i64(void *c, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    search[int64_t](<Search *>c, NULL, a, b)


cdef int search_code(int code) noexcept:
    return INT64 if code <= INT64 else FLOAT64 if code == FLOAT64 else FLOAT32


def searchsorted(Tensor edges, Tensor values, bint right, sorter=None):
    """Where each value would be inserted in its sorted row of edges (1-d, or values' leading shape): int64."""
    cdef Search s
    cdef int code = promote(edges.code, values.code)
    cdef Tensor e, v, out, order
    if code >= COMPLEX64:
        raise RuntimeError(f"searchsorted: complex numbers have no order, got {describe(edges)} and {describe(values)}")
    # Large integers would lose digits as float32.
    code = FLOAT64 if code > INT64 and (edges.code == INT64 or values.code == INT64) else search_code(code)
    e, v = contiguous(cast(edges, code)), contiguous(cast(values, code))
    out = new_like(v, INT64)
    s.edges, s.values, s.out, s.right, s.one_row = e.ptr, v.ptr, <int64_t *>out.ptr, right, e.rank == 1
    s.n = e.sizes[e.rank - 1]
    s.per = v.sizes[v.rank - 1] if v.rank else 1
    s.order = NULL
    if sorter is not None:
        order = contiguous(sorter)
        if order.code != INT64 or order.count != e.count:
            raise RuntimeError(f"searchsorted: sorter must be an int64 tensor of the boundaries' shape, got {describe(sorter)}")
        for i in range(order.count):
            if not 0 <= (<int64_t *>order.ptr)[i] < s.n:
                raise RuntimeError("searchsorted: sorter index out of range")
        s.order = <int64_t *>order.ptr
    if out.count:
        with nogil:
            parallel_for(out.count, 4096, search_f32 if code == FLOAT32 else search_f64 if code == FLOAT64 else search_i64, &s)
    return out


ctypedef fused scalar:
    uint8_t
    int64_t
    float
    double


cdef Py_ssize_t find_runs(scalar *x, Py_ssize_t n, int64_t *first, int64_t *which) noexcept nogil:
    cdef Py_ssize_t i, runs = 0
    for i in range(n):
        if i == 0 or x[i] != x[i - 1]:
            first[runs] = i
            runs += 1
        which[i] = runs - 1
    return runs


def runs(Tensor x):
    """Runs of equal neighbours in a 1-d tensor: (start of each run, number of each element's run), int64."""
    cdef int code = x.code
    cdef Tensor first, which, v
    cdef Py_ssize_t n = x.count, count
    if code >= COMPLEX64:
        raise NotImplementedError(f"unique: not implemented for {describe(x)}")
    v = contiguous(cast(x, UINT8 if code <= UINT8 else search_code(code)))
    first, which = new_like(v, INT64), new_like(v, INT64)
    with nogil:
        if v.code == UINT8:
            count = find_runs(<uint8_t *>v.ptr, n, <int64_t *>first.ptr, <int64_t *>which.ptr)
        elif v.code == INT64:
            count = find_runs(<int64_t *>v.ptr, n, <int64_t *>first.ptr, <int64_t *>which.ptr)
        elif v.code == FLOAT32:
            count = find_runs(<float *>v.ptr, n, <int64_t *>first.ptr, <int64_t *>which.ptr)
        else:
            count = find_runs(<double *>v.ptr, n, <int64_t *>first.ptr, <int64_t *>which.ptr)
    return first[:count], which


def repeated_positions(Tensor repeats, Py_ssize_t total=-1):
    """0 repeats[0] times, 1 repeats[1] times, ...: int64[sum of repeats]."""
    cdef Tensor r = contiguous(cast(repeats, INT64)), out
    cdef int64_t *p = <int64_t *>r.ptr
    cdef int64_t *o
    cdef Py_ssize_t i, _, at = 0, found = 0
    for i in range(r.count):
        if p[i] < 0:
            raise RuntimeError(f"repeat_interleave: repeats can not be negative, got {p[i]}")
        found += p[i]
    if total >= 0 and total != found:
        raise RuntimeError(f"repeat_interleave: allocated size does not match required size: output_size {total}, repeats sum to {found}")
    out = new_tensor(1, &found, INT64, repeats.dev)
    o = <int64_t *>out.ptr
    with nogil:
        for i in range(r.count):
            for _ in range(p[i]):
                o[at] = i
                at += 1
    return out


cdef bint same_floats(const float *a, const float *b, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, j, stop
    cdef bint differ
    for j in range(0, n, 1024):
        stop = j + 1024 if j + 1024 < n else n
        differ = False
        for i in range(j, stop):
            differ |= a[i] != b[i]
        if differ:
            return False
    return True


def equal(Tensor a, Tensor b):
    """Whether two tensors of one shape and dtype have the same elements (a NaN equals nothing)."""
    cdef Tensor x = contiguous(a), y = contiguous(b)
    cdef bint same
    if x.code <= INT64:
        return memcmp(x.ptr, y.ptr, x.count * ITEMSIZE[x.code]) == 0
    if x.code == FLOAT32 or x.code == COMPLEX64:
        with nogil:
            same = same_floats(<float *>x.ptr, <float *>y.ptr, x.count * (2 if x.code == COMPLEX64 else 1))
        return same
    if x.code < FLOAT32:
        return equal(cast(x, FLOAT32), cast(y, FLOAT32))
    return bool((a == b).all())


def one_hot(Tensor x, Py_ssize_t classes):
    """Rows of zeros with a one at each number of an int64 tensor; classes < 0: one more than the largest."""
    cdef Tensor ix = contiguous(x), out
    cdef int64_t *p = <int64_t *>ix.ptr
    cdef Py_ssize_t i, low = 0, high = -1
    cdef Py_ssize_t shape[64]
    for i in range(ix.count):
        low = p[i] if p[i] < low else low
        high = p[i] if p[i] > high else high
    if low < 0:
        raise RuntimeError("one_hot(): Class values must be non-negative.")
    if classes < 0:
        classes = high + 1
    elif high >= classes:
        raise RuntimeError(f"one_hot(): Class values must be smaller than num_classes ({classes}), got {high}.")
    if x.rank >= 64:
        raise RuntimeError("one_hot(): the result would have more than 64 dimensions")
    for i in range(x.rank):
        shape[i] = x.sizes[i]
    shape[x.rank] = classes
    out = new_tensor(x.rank + 1, shape, INT64, x.dev)
    memset(out.ptr, 0, out.count * 8)
    for i in range(ix.count):
        (<int64_t *>out.ptr)[i * classes + p[i]] = 1
    return out
