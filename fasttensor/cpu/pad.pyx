"""A tensor framed by a constant.

    constant_pad(x, pads, value)    pads: (before, after) for each dimension, negative ones cut
"""
from libc.string cimport memcpy

from fasttensor._core.dispatch cimport copy_into
from fasttensor._core.dtype cimport ITEMSIZE
from fasttensor._core.element cimport write_element
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport Tensor, new_tensor, new_view, describe


cdef struct Fill:
    char *out
    int size
    char value[16]


cdef void fill(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Fill *job = <Fill *>context
    cdef Py_ssize_t done = job.size, n = (end - begin) * job.size
    cdef char *out = job.out + begin * job.size
    memcpy(out, job.value, job.size)
    # doubling keeps every copy long
    while done < n:
        memcpy(out + done, out, min(done, n - done))
        done += min(done, n - done)


def constant_pad(Tensor x, tuple pads, value):
    """A new tensor with `value` around what is kept of x."""
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t kept[64]
    cdef Py_ssize_t source = 0, target = 0, before, after
    cdef int a
    cdef Tensor out
    cdef Fill job
    for a in range(x.rank):
        before, after = pads[a]
        sizes[a] = x.sizes[a] + before + after
        kept[a] = max(0, x.sizes[a] + min(before, 0) + min(after, 0))
        if sizes[a] < 0:
            raise RuntimeError(f"pad: {describe(x)} with padding ({before}, {after}) in dimension {a} would have a negative size {sizes[a]}")
    out = new_tensor(x.rank, sizes, x.code, x.dev)
    if out.count == 0:
        return out
    job.out, job.size = out.ptr, ITEMSIZE[x.code]
    write_element(job.value, x.code, value)
    with nogil:
        parallel_for(out.count, 65536, fill, &job)
    for a in range(x.rank):
        before, after = pads[a]
        if kept[a] == 0 or -before >= x.sizes[a] or -after >= x.sizes[a]:
            return out
        source -= min(before, 0) * x.steps[a]
        target += max(before, 0) * out.steps[a]
    copy_into(new_view(out, x.rank, kept, out.steps, out.offset + target), new_view(x, x.rank, kept, x.steps, x.offset + source))
    return out
