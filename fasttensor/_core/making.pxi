# Making tensors and views without history; included in tensor.pyx, whose .pxd declares them.

cdef Py_ssize_t counted(int rank, const Py_ssize_t *sizes) except -1:
    """The number of elements, which a view with strides of 0 can make larger than any memory."""
    cdef Py_ssize_t count = 1
    cdef bint overflow = False
    cdef int d
    for d in range(rank):
        if sizes[d] == 0:
            return 0
        overflow |= mul_overflows(count, sizes[d], &count)
    if overflow:
        raise RuntimeError(f"numel: integer multiplication overflow: a tensor of sizes {[sizes[d] for d in range(rank)]} has too many elements")
    return count


cdef bint set_geometry(Tensor t, int rank, const Py_ssize_t *sizes, const Py_ssize_t *steps) except False:
    """Shape and strides; `steps` NULL means contiguous."""
    cdef int d
    cdef Py_ssize_t run = 1, n, count = 1
    cdef Py_ssize_t *room
    if rank > MAX_DIMS:
        raise RuntimeError(f"a tensor can have at most {MAX_DIMS} dimensions, got {rank}")
    # before anything changes: the tensor stays whole where this raises
    if steps != NULL:
        count = counted(rank, sizes)
    else:
        for d in range(rank - 1, -1, -1):
            n = sizes[d]
            if n < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {[sizes[i] for i in range(rank)]}")
            if n > 1:
                # elements of 16 bytes must have a size in 64 bits
                if count > (<Py_ssize_t>1 << 58) // n:
                    raise RuntimeError(f"Storage size calculation overflowed with sizes={[sizes[i] for i in range(rank)]}")
                count *= n
    if rank > INLINE_DIMS and (t.sizes == t.inline_dims or t.rank < rank):
        room = <Py_ssize_t *>malloc(2 * rank * sizeof(Py_ssize_t))
        if room == NULL:
            raise no_room(f"no memory for a shape of {rank} dimensions")
        if t.sizes != t.inline_dims:
            free(t.sizes)
        t.sizes, t.steps = room, room + rank
    t.rank, t.contig = rank, True
    if steps == NULL:
        for d in range(rank - 1, -1, -1):
            n = sizes[d]
            t.sizes[d], t.steps[d] = n, run
            if n > 1:
                run *= n
        t.count = run
        for d in range(rank):
            if sizes[d] == 0:
                t.count = 0
        return True
    t.count = count
    for d in range(rank - 1, -1, -1):
        n = sizes[d]
        t.sizes[d], t.steps[d] = n, steps[d]
        if n != 1 and steps[d] != run:
            t.contig = False
        if count:
            run *= n
    if count == 0:
        t.contig = True
    return True


cdef size_t _promised = 0            # addresses given to meta tensors so far
cdef bint _any_meta = False


cdef Storage no_storage(size_t nbytes):
    """The storage of a meta tensor: a length without memory.

    Its address is one that no process can have (above 2^62), so that views of one storage overlap as they would in memory,
    different ones do not, and a stray access faults at once.
    """
    global _promised, _any_meta
    cdef size_t half = <size_t>1 << 62
    if not _any_meta:
        from fasttensor._core.dispatch import begin_meta
        begin_meta()
        _any_meta = True
    if nbytes >= half - _promised:
        _promised = 0
    cdef Storage store = foreign_storage(<void *>(half + _promised), nbytes, None)
    store.dev = META
    _promised += (nbytes + 127) & ~<size_t>63
    return store


cdef Storage shared_storage(Storage store):
    """A storage over the same memory with a count of writes of its own."""
    # not an owner behind an owner, which would become a chain where `data` is read and set in turn
    cdef Storage owner = <Storage>store.owner if not store.capacity and isinstance(store.owner, Storage) else store
    cdef Storage other = foreign_storage(store.ptr, store.length, owner)
    other.dev, other.read_only = store.dev, store.read_only
    return other


cdef Storage adopted_storage(Storage store, unsigned long version):
    """The same, which takes the block of memory over: whoever has `store` keeps showing it."""
    cdef Storage other = foreign_storage(store.ptr, store.length, store.owner)
    other.dev, other.read_only, other.version = store.dev, store.read_only, version
    for name in ("shared", "former"):           # of memory that processes share
        if hasattr(store, name):
            setattr(other, name, getattr(store, name))
    if store.capacity:
        other.capacity, store.capacity, store.owner = store.capacity, 0, other
    return other


cdef Storage large_storage(Tensor t):
    """Memory for a large tensor, whose shape the error says."""
    try:
        return new_storage(t.count * ITEMSIZE[t.code])
    except MemoryError as error:
        raise no_room(f"not enough memory: could not allocate {t.count * ITEMSIZE[t.code]} bytes for {describe(t)}") from None


cdef Tensor new_tensor(int rank, const Py_ssize_t *sizes, int code, int dev):
    cdef Tensor t = ft_fresh_tensor()
    set_geometry(t, rank, sizes, NULL)
    t.code, t.dev, t.inference = code, dev, inference_enabled()
    if dev == CPU:
        t.store = new_storage(t.count * ITEMSIZE[code]) if t.count < 1 << 20 else large_storage(t)
        t.ptr = t.store.ptr
    elif dev == META:
        t.store = no_storage(t.count * ITEMSIZE[code])
        t.ptr = t.store.ptr
    elif dev == BATCHED:
        raise RuntimeError("vmap: this operation has no form for batched tensors: call it outside of vmap, or loop over the batch")
    else:
        hook("allocate")(t)
    return t


cdef Tensor new_like(Tensor x, int code):
    return new_tensor(x.rank, x.sizes, code, x.dev)


cdef Tensor new_view(Tensor x, int rank, const Py_ssize_t *sizes, const Py_ssize_t *steps, Py_ssize_t offset):
    """A view of x's storage; `offset` in elements from the storage's start."""
    cdef Tensor t = ft_fresh_tensor()
    set_geometry(t, rank, sizes, steps)
    t.store, t.code, t.dev, t.offset, t.inference = x.store, x.code, x.dev, offset, x.inference
    t.ptr = x.ptr + (offset - x.offset) * ITEMSIZE[x.code]
    return t


cdef Tensor alias(Tensor x):
    return new_view(x, x.rank, x.sizes, x.steps, x.offset)


cdef Tensor from_storage(Storage store, int code, int rank, const Py_ssize_t *sizes, const Py_ssize_t *steps, Py_ssize_t offset):
    cdef Tensor t = ft_fresh_tensor()
    set_geometry(t, rank, sizes, steps)
    t.store, t.code, t.offset = store, code, offset
    if store is None:               # a meta tensor's memory, or that of a tensor that no constructor filled
        t.dev = META
        return t
    t.dev, t.ptr = store.dev, store.ptr + offset * ITEMSIZE[code]
    return t


cdef Tensor contiguous(Tensor x):
    if x.contig:
        return x
    cdef Tensor t = new_like(x, x.code)
    copy_into(t, x)
    return t


cdef Tensor cast(Tensor x, int code):
    if x.code == code:
        return x
    cdef Tensor t = new_like(x, code)
    copy_into(t, x)
    return t


cdef bint same_shape(Tensor a, Tensor b) noexcept:
    cdef int d
    if a.rank != b.rank:
        return False
    for d in range(a.rank):
        if a.sizes[d] != b.sizes[d]:
            return False
    return True


cdef bint has_sizes(Tensor t, const Py_ssize_t *sizes) noexcept:
    cdef int d
    for d in range(t.rank):
        if t.sizes[d] != sizes[d]:
            return False
    return True


cdef bint is_dense(Tensor x) noexcept:
    """Whether the elements fill one block of memory in some order of the dimensions."""
    cdef Py_ssize_t run = 1
    cdef int d, found, rank = x.rank
    cdef unsigned long long done = 0
    if x.contig:
        return True
    while True:
        found = -1
        for d in range(rank):
            if x.sizes[d] != 1 and not (done >> d) & 1 and x.steps[d] == run:
                found = d
                break
        if found < 0:
            return run == x.count
        done |= 1ULL << found
        run *= x.sizes[found]


cdef int wrap_dim(Tensor x, object dim, str name) except -1:
    """A dimension number as 0 <= d < rank; a 0-d tensor accepts 0 and -1. TypeError for a bool."""
    cdef int rank = x.rank if x.rank else 1
    cdef Py_ssize_t d
    if dim is True or dim is False:
        raise TypeError(f"{name}(): argument 'dim' must be int, not bool")
    d = dim
    if not -rank <= d < rank:
        raise IndexError(f"{name}: Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {d}) for {describe(x)}")
    return <int>(d + rank if d < 0 else d)


cdef void wrote(Tensor x):
    if x.store is not None:
        bump(x.store)


cdef str describe(object x):
    """ "float32[2, 3]" for a tensor, "int 3" for a number: how errors name arguments."""
    cdef Tensor t
    if isinstance(x, Tensor):
        t = x
        return f"{dtype_of(t.code).name}[{', '.join([str(t.sizes[d]) for d in range(t.rank)])}]"
    text = repr(x)
    return f"{type(x).__name__} {text if len(text) < 40 else text[:37] + '...'}"


def description(x):
    """How error messages name an argument, e.g. ``float32[2, 3]``."""
    return describe(x)
