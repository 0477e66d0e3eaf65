"""New meta tensors for the rules of shapes, and the copy slot of the device: a copy to it moves nothing."""
from fasttensor._core.dtype cimport promote
from fasttensor._core.tensor cimport *
from fasttensor._core.dispatch cimport set_copy


def new(sizes, int code):
    """A contiguous meta tensor."""
    cdef Py_ssize_t dims[64]
    cdef int rank = len(sizes), d
    if rank > MAX_DIMS:
        raise RuntimeError(f"a tensor can have at most {MAX_DIMS} dimensions, got {rank}")
    for d in range(rank):
        dims[d] = sizes[d]
    return new_tensor(rank, dims, code, META)


def like(Tensor x not None, int code=-1):
    """A contiguous meta tensor of x's shape, of x's dtype unless given."""
    return new_tensor(x.rank, x.sizes, x.code if code < 0 else code, META)


def dense_like(Tensor x not None, int code=-1):
    """The same with x's strides where x is dense."""
    cdef Tensor y = new_tensor(x.rank, x.sizes, x.code if code < 0 else code, META)
    if not x.contig and is_dense(x):
        set_geometry(y, x.rank, x.sizes, x.steps)
    return y


def with_strides(sizes, strides, int code):
    """A meta tensor whose memory has no gaps, with the given strides."""
    cdef Tensor flat = new(sizes, code)
    cdef Py_ssize_t steps[64]
    cdef int d
    for d in range(flat.rank):
        steps[d] = strides[d]
    set_geometry(flat, flat.rank, flat.sizes, steps)
    return flat


def code_of(Tensor x not None):
    """The dtype's number."""
    return x.code


def promoted(Tensor a not None, Tensor b not None):
    """The dtype's number that holds both."""
    return promote(a.code, b.code)


def broadcast(str op, *shapes):
    """The sizes to which shapes broadcast."""
    cdef list sizes = [1] * max([len(s) for s in shapes])
    for s in shapes:
        for d in range(1, len(s) + 1):
            n = s[len(s) - d]
            if n != 1 and sizes[len(sizes) - d] not in (1, n):
                raise RuntimeError(f"{op}: The size of tensor a ({sizes[len(sizes) - d]}) must match the size of tensor b ({n}) at non-singleton"
                                   f" dimension {len(sizes) - d}: shapes {', '.join([str(list(shape)) for shape in shapes])}")
            if n != 1:
                sizes[len(sizes) - d] = n
    return tuple(sizes)


def together(str op, *tensors):
    """Raise RuntimeError unless all tensors (None passes) are meta tensors."""
    for t in tensors:
        if t is not None and (<Tensor?>t).dev != META:
            raise RuntimeError(f"{op}: Expected all tensors to be on the same device, but found at least two devices, meta and"
                               f" {(<Tensor>t).device}! Tensor on device {(<Tensor>t).device} is not on the expected device meta!"
                               f" ({describe(t)})")


cdef bint copy_meta(Tensor dst, Tensor src) except False:
    if dst.dev != META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    return True


set_copy(META, copy_meta)
