# Python's buffer protocol.

cdef bint is_columns(Tensor x) noexcept:
    """Whether the first dimension runs fastest and there are no holes: Fortran's order."""
    cdef Py_ssize_t run = 1
    cdef int d
    for d in range(x.rank):
        if x.count and x.sizes[d] != 1 and x.steps[d] != run:
            return False
        run *= x.sizes[d] if x.count else 1
    return True


cdef char *FORMATS[12]
FORMATS[:] = [b"?", b"B", b"b", b"h", b"i", b"q", b"e", NULL, b"f", b"d", b"Zf", b"Zd"]


cdef bint show_buffer(Tensor self, Py_buffer *buffer, int flags) except False:
    """Python's buffer protocol: fill in everything but the owner."""
    if self.dev != CPU:
        raise BufferError("this tensor is not in the CPU's memory: copy it with .cpu() first")
    if self.code == BFLOAT16:
        raise BufferError("the buffer protocol has no bfloat16: convert with .float() first")
    if self.requires_grad:              # numpy then asks __array__, which says the same
        raise BufferError("this tensor requires grad, and writes to a buffer are not recorded: use .detach() first")
    cdef bint read_only = self.store is not None and self.store.read_only
    cdef bint columns = is_columns(self)
    if flags & PyBUF_WRITABLE and read_only:
        raise BufferError("this tensor shows memory that is not writable: ask for a read-only buffer, or clone() it first")
    if not self.contig:
        if (flags & PyBUF_STRIDES) != PyBUF_STRIDES or (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS:
            raise BufferError("this tensor is not contiguous: use .contiguous()")
        if (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS and not columns:
            raise BufferError("this tensor is contiguous in no order: use .contiguous()")
    if (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS and not columns:
        raise BufferError("this tensor is not contiguous in Fortran's order: use .contiguous()")
    cdef int d
    cdef Py_ssize_t *dims = <Py_ssize_t *>malloc(2 * (self.rank + 1) * sizeof(Py_ssize_t))
    if dims == NULL:
        raise no_room(f"buffer: no memory for the shape of {describe(self)}")
    for d in range(self.rank):
        dims[d] = self.sizes[d]
        dims[self.rank + d] = self.steps[d] * ITEMSIZE[self.code]
    buffer.buf, buffer.len = self.ptr, self.count * ITEMSIZE[self.code]
    buffer.itemsize, buffer.ndim, buffer.readonly = ITEMSIZE[self.code], self.rank, read_only
    buffer.format = FORMATS[self.code] if flags & PyBUF_FORMAT else NULL
    buffer.shape = dims if flags & PyBUF_ND else NULL
    buffer.strides = dims + self.rank if (flags & PyBUF_STRIDES) == PyBUF_STRIDES else NULL
    buffer.suboffsets, buffer.internal = NULL, dims
    return True
