"""Sliding windows as columns, and their sum back: the kernels of nn.functional.unfold and fold.

    im2col(x, kernel, dilation, padding, stride)                [N, C, H, W] -> [N, C * kh * kw, L]
    col2im(columns, sizes, kernel, dilation, padding, stride)   the transpose: overlapping windows add
"""
from libc.stdint cimport int64_t

from fasttensor._core.dtype cimport FLOAT16, BFLOAT16, FLOAT32, FLOAT64, INT64, COMPLEX64
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous, cast

ctypedef fused element:
    int64_t
    float
    double
    float complex
    double complex


cdef struct Job:
    void *image
    void *columns
    int code
    bint back
    Py_ssize_t size[2]
    Py_ssize_t out[2]
    Py_ssize_t kernel[2]
    Py_ssize_t stride[2]
    Py_ssize_t pad[2]
    Py_ssize_t dil[2]


cdef void plane(Job *job, element *image, element *columns) noexcept nogil:
    """One channel: [H, W] to or from [kh, kw, oh, ow]."""
    cdef Py_ssize_t k0, k1, o0, o1, i0, i1, j
    if job.back:
        for j in range(job.size[0] * job.size[1]):
            image[j] = 0
    for k0 in range(job.kernel[0]):
        for k1 in range(job.kernel[1]):
            for o0 in range(job.out[0]):
                i0 = o0 * job.stride[0] + k0 * job.dil[0] - job.pad[0]
                for o1 in range(job.out[1]):
                    i1 = o1 * job.stride[1] + k1 * job.dil[1] - job.pad[1]
                    if i0 < 0 or i0 >= job.size[0] or i1 < 0 or i1 >= job.size[1]:
                        if not job.back:
                            columns[0] = 0
                    elif job.back:
                        image[i0 * job.size[1] + i1] = image[i0 * job.size[1] + i1] + columns[0]
                    else:
                        columns[0] = image[i0 * job.size[1] + i1]
                    columns += 1


cdef void planes(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *job = <Job *>context
    cdef Py_ssize_t i, v = job.size[0] * job.size[1], n = job.out[0] * job.out[1] * job.kernel[0] * job.kernel[1]
    for i in range(begin, end):
        if job.code == INT64:
            plane(job, <int64_t *>job.image + i * v, <int64_t *>job.columns + i * n)
        elif job.code == FLOAT32:
            plane(job, <float *>job.image + i * v, <float *>job.columns + i * n)
        elif job.code == FLOAT64:
            plane(job, <double *>job.image + i * v, <double *>job.columns + i * n)
        elif job.code == COMPLEX64:
            plane(job, <float complex *>job.image + i * v, <float complex *>job.columns + i * n)
        else:
            plane(job, <double complex *>job.image + i * v, <double complex *>job.columns + i * n)


cdef int work_code(int code) noexcept:
    return INT64 if code < FLOAT16 else FLOAT32 if code == BFLOAT16 or code == FLOAT16 else code


cdef bint settle(Job *job, tuple size, tuple kernel, tuple dilation, tuple padding, tuple stride) except False:
    cdef int a
    for a in range(2):
        job.size[a], job.kernel[a], job.dil[a], job.pad[a], job.stride[a] = size[a], kernel[a], dilation[a], padding[a], stride[a]
        job.out[a] = (job.size[a] + 2 * job.pad[a] - job.dil[a] * (job.kernel[a] - 1) - 1) // job.stride[a] + 1
    return True


def im2col(Tensor x, tuple kernel, tuple dilation, tuple padding, tuple stride):
    """Every window of x as a column."""
    cdef Job job
    cdef Py_ssize_t sizes[3]
    cdef Tensor plain = cast(contiguous(x), work_code(x.code)), out
    settle(&job, (x.sizes[2], x.sizes[3]), kernel, dilation, padding, stride)
    sizes[0], sizes[1], sizes[2] = x.sizes[0], x.sizes[1] * job.kernel[0] * job.kernel[1], job.out[0] * job.out[1]
    out = new_tensor(3, sizes, plain.code, x.dev)
    job.image, job.columns, job.code, job.back = plain.ptr, out.ptr, plain.code, False
    if out.count:
        with nogil:
            parallel_for(sizes[0] * plain.sizes[1], 4, planes, &job)
    return cast(out, x.code)


def col2im(Tensor columns, tuple sizes, tuple kernel, tuple dilation, tuple padding, tuple stride):
    """The sum of all columns at their windows' places, for images of extents `sizes`."""
    cdef Job job
    cdef Py_ssize_t dims[4]
    cdef Tensor plain = cast(contiguous(columns), work_code(columns.code)), out
    settle(&job, sizes, kernel, dilation, padding, stride)
    dims[0], dims[1], dims[2], dims[3] = plain.sizes[0], plain.sizes[1] // (job.kernel[0] * job.kernel[1]), sizes[0], sizes[1]
    out = new_tensor(4, dims, plain.code, plain.dev)
    job.image, job.columns, job.code, job.back = out.ptr, plain.ptr, plain.code, True
    if out.count:
        with nogil:
            parallel_for(dims[0] * dims[1], 4, planes, &job)
    return cast(out, columns.code)
