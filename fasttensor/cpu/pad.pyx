"""A tensor framed by a constant.

    constant_pad(x, pads, value)    pads: (before, after) for each dimension, negative ones cut
"""
from libc.stdlib cimport malloc, free
from libc.string cimport memcpy

from fasttensor._core.dtype cimport ITEMSIZE
from fasttensor._core.element cimport write_element
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous, describe
from fasttensor._core.storage cimport no_room


cdef struct Job:
    const char *x
    char *out
    const char *blank                   # a row of the constant
    int rank                            # dimensions before the rows
    Py_ssize_t sizes[64]                # of the result, and what is kept of x from `skipped` on, `before` positions in
    Py_ssize_t inputs[64]
    Py_ssize_t kept[64]
    Py_ssize_t skipped[64]
    Py_ssize_t before[64]
    Py_ssize_t row, x_row, skip, head, body     # bytes


cdef void rows(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """Every row is written once: the constant, what is kept, the constant."""
    cdef Job *job = <Job *>context
    cdef Py_ssize_t at, source
    cdef Py_ssize_t place[64]
    cdef int a
    cdef bint inside
    # copies of a fixed size, of which what is kept of x overwrites a part, cost less than the call of memcpy
    cdef bint thin = job.head <= 16 and job.row - job.head - job.body <= 16 <= job.row
    cdef char *out = job.out + begin * job.row
    at = begin
    for a in range(job.rank - 1, -1, -1):
        place[a] = at % job.sizes[a]
        at //= job.sizes[a]
    for _ in range(begin, end):
        inside, source = True, 0
        for a in range(job.rank):
            at = place[a] - job.before[a]
            inside = inside and 0 <= at < job.kept[a]
            source = source * job.inputs[a] + at + job.skipped[a]
        if not inside or job.body == 0:
            memcpy(out, job.blank, job.row)
        else:
            if thin:
                memcpy(out, job.blank, 16)
                memcpy(out + job.row - 16, job.blank, 16)
            else:
                memcpy(out, job.blank, job.head)
                memcpy(out + job.head + job.body, job.blank, job.row - job.head - job.body)
            memcpy(out + job.head, job.x + source * job.x_row + job.skip, job.body)
        out += job.row
        for a in range(job.rank - 1, -1, -1):
            place[a] += 1
            if place[a] < job.sizes[a]:
                break
            place[a] = 0


cdef char *constant_row(Py_ssize_t size, int code, object value) except NULL:
    cdef Py_ssize_t done = ITEMSIZE[code]
    cdef char *row = <char *>malloc(max(size, <Py_ssize_t>16))
    if row == NULL:
        raise no_room(f"pad: no memory for a row of {size} bytes")
    try:
        write_element(row, code, value)
    except BaseException:
        free(row)
        raise
    # doubling keeps every copy long
    while done < size:
        memcpy(row + done, row, min(done, size - done))
        done += min(done, size - done)
    return row


def constant_pad(Tensor x, tuple pads, value):
    """A new tensor with `value` around what is kept of x."""
    cdef Job job
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t before, after, unit = ITEMSIZE[x.code], count = 1
    cdef int a, last = 0
    cdef Tensor out, plain = contiguous(x)
    cdef char *blank
    for a in range(x.rank):
        before, after = pads[a]
        job.sizes[a] = sizes[a] = x.sizes[a] + before + after
        job.inputs[a] = x.sizes[a]
        if sizes[a] < 0:
            raise RuntimeError(f"pad: {describe(x)} with padding ({before}, {after}) in dimension {a} would have a negative size {sizes[a]}")
        job.skipped[a], job.before[a] = max(-before, 0), max(before, 0)
        job.kept[a] = max(0, x.sizes[a] - job.skipped[a] - max(-after, 0))
        if before or after:
            last = a
    out = new_tensor(x.rank, sizes, x.code, x.dev)
    if out.count == 0:
        return out
    if x.rank == 0:
        memcpy(out.ptr, plain.ptr, unit)
        return out
    # dimensions after the last that changes are part of its elements
    for a in range(last + 1, x.rank):
        unit *= sizes[a]
    for a in range(last):
        count *= sizes[a]
    job.rank = last
    job.row, job.x_row = sizes[last] * unit, x.sizes[last] * unit
    job.skip, job.head = job.skipped[last] * unit, min(job.before[last], sizes[last]) * unit
    job.body = job.kept[last] * unit
    job.x, job.out, job.blank = plain.ptr, out.ptr, NULL
    job.blank = blank = constant_row(job.row, x.code, value)
    with nogil:
        parallel_for(count, max(<Py_ssize_t>1, 131072 // job.row), rows, &job)
        free(blank)
    return out
