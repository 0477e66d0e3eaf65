"""Dropout: mask, scale and product in one pass over the input.

    y, mask = dropout(x, 0.1)           mask: one byte an element, kept for dropout_backward
"""
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.dispatch cimport copy_into
from fasttensor._core.layout cimport like_layout, same_order
from fasttensor._core.storage cimport new_storage
from fasttensor._core.parallel cimport parallel_for, range_fn
from fasttensor.cpu.generator cimport generator_of
from fasttensor.cpu.random cimport ft_fill, fill, threshold, SERIAL

cdef extern from "random_fill.h":
    range_fn ft_dropout[12]
    range_fn ft_scale_mask[12]


def dropout(Tensor x, double p, generator=None):
    """Zeroes elements with probability p and scales the rest by 1 / (1 - p): one pass over x.
    Returns the result and the mask of what was kept (bool, x's layout)."""
    cdef ft_fill f
    cdef range_fn body = ft_dropout[x.code]
    if body == NULL or x.dev != CPU:
        raise NotImplementedError(f'"dropout" not implemented for {describe(x)}: a floating-point CPU tensor is needed')
    cdef bint dense = x.contig or is_dense(x)
    cdef Tensor src = x if dense else like_layout(x, x.code)
    cdef Tensor y = from_storage(new_storage(<size_t>x.count * ITEMSIZE[x.code]), x.code, x.rank, src.sizes, src.steps, 0)
    cdef Tensor mask = from_storage(new_storage(<size_t>x.count), BOOL, x.rank, src.sizes, src.steps, 0)
    if not dense:
        copy_into(src, x)
    f.base = threshold(1.0 - p)
    f.b = inverse(1.0 - p, x.code)
    f.out, f.in_, f.mask = y.ptr, src.ptr, <unsigned char *>mask.ptr
    fill(generator_of(generator), &f, body, x.count, 2, ITEMSIZE[x.code], ITEMSIZE[x.code], 1, 1 << 14)
    return y, mask


cdef double inverse(double keep, int code) noexcept:
    """1 / keep as the dtype holds it: PyTorch divides a tensor of ones."""
    if code == FLOAT64:
        return 1.0 / keep
    cdef float q = <float>1.0 / <float>keep
    if code == FLOAT32:
        return q
    return round_to(q, code)


cdef double round_to(float q, int code):
    cdef Py_ssize_t one = 1
    cdef Tensor t = new_tensor(1, &one, FLOAT32, CPU)
    (<float *>t.ptr)[0] = q
    return (<float *>cast(cast(t, code), FLOAT32).ptr)[0]


def dropout_backward(Tensor g, Tensor mask, double p):
    """g where the mask is set, times 1 / (1 - p), elsewhere 0 (or NaN where g is not finite)."""
    cdef ft_fill f
    cdef range_fn body = ft_scale_mask[g.code]
    if body == NULL or g.dev != CPU:
        raise NotImplementedError(f'"dropout" not implemented for {describe(g)}: a floating-point CPU tensor is needed')
    cdef bint alike = same_order(g, mask) and is_dense(g)
    cdef Tensor src = g if alike else contiguous(g)
    cdef Tensor keep = mask if alike else contiguous(mask)
    cdef Tensor y = like_layout(src, g.code)
    f.b = inverse(1.0 - p, g.code)
    f.out, f.in_, f.mask = y.ptr, src.ptr, <unsigned char *>keep.ptr
    if g.count < SERIAL:
        body(&f, 0, g.count)
    else:
        with nogil:
            parallel_for(g.count, 1 << 14, body, &f)
    return y
