"""DLPack: memory exchanged with other array libraries through capsules, in both directions.

Both forms of the protocol are understood: "dltensor", and "dltensor_versioned" with its flags.
"""
from cpython.pycapsule cimport PyCapsule_New, PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_SetName
from cpython.ref cimport Py_INCREF, Py_DECREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport malloc, free
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.storage cimport Storage, foreign_storage, no_room

cdef struct DLDevice:
    int32_t device_type
    int32_t device_id

cdef struct DLDataType:
    uint8_t code
    uint8_t bits
    uint16_t lanes

cdef struct DLTensor:
    void *data
    DLDevice device
    int32_t ndim
    DLDataType dtype
    int64_t *shape
    int64_t *strides
    uint64_t byte_offset

cdef struct Managed:
    DLTensor tensor
    void *context
    void (*deleter)(Managed *) noexcept

cdef struct Versioned:
    uint32_t major
    uint32_t minor
    void *context
    void (*deleter)(Versioned *) noexcept
    uint64_t flags
    DLTensor tensor

cdef enum:
    ON_CPU = 1
    ON_CUDA = 2
    ON_CUDA_HOST = 3
    READ_ONLY = 1
    IS_COPIED = 2

# (DLPack's type code, bits) by dtype
cdef uint8_t KIND[12]
KIND[:] = [6, 1, 0, 0, 0, 0, 2, 4, 2, 2, 5, 5]


cdef void describe_memory(DLTensor *d, Tensor x, int64_t *room) noexcept:
    cdef int k
    d.data, d.byte_offset, d.ndim = x.ptr, 0, x.rank
    d.device.device_type = ON_CPU if x.dev == CPU else ON_CUDA
    d.device.device_id = 0
    d.dtype.code, d.dtype.bits, d.dtype.lanes = KIND[x.code], <uint8_t>(8 * ITEMSIZE[x.code]), 1
    d.shape, d.strides = room, room + x.rank
    for k in range(x.rank):
        room[k] = x.sizes[k]
        room[x.rank + k] = x.steps[k]


cdef void release(Managed *m) noexcept with gil:
    Py_DECREF(<object>m.context)
    free(m.tensor.shape)
    free(m)


cdef void release_versioned(Versioned *m) noexcept with gil:
    Py_DECREF(<object>m.context)
    free(m.tensor.shape)
    free(m)


cdef void drop(object capsule) noexcept:
    # a capsule that nobody consumed still owns the memory
    cdef Managed *m
    cdef Versioned *v
    if PyCapsule_IsValid(capsule, "dltensor"):
        m = <Managed *>PyCapsule_GetPointer(capsule, "dltensor")
        if m.deleter != NULL:
            m.deleter(m)
    elif PyCapsule_IsValid(capsule, "dltensor_versioned"):
        v = <Versioned *>PyCapsule_GetPointer(capsule, "dltensor_versioned")
        if v.deleter != NULL:
            v.deleter(v)


NO_MEMORY = "__dlpack__: no memory for the description of the tensor"


def export(Tensor x not None, bint versioned, bint copied):
    """A capsule over x's memory, which it keeps alive."""
    if x.dev == META:
        raise BufferError("__dlpack__: Cannot pack tensors on meta, which have no memory")
    cdef int64_t *room = <int64_t *>malloc(2 * (x.rank + 1) * sizeof(int64_t))
    cdef Managed *m
    cdef Versioned *v
    if room == NULL:
        raise no_room(NO_MEMORY)
    x = alias(x)        # a later resize of the original must not free what was exported
    if versioned:
        v = <Versioned *>malloc(sizeof(Versioned))
        if v == NULL:
            free(room)
            raise no_room(NO_MEMORY)
        describe_memory(&v.tensor, x, room)
        v.major, v.minor, v.context, v.deleter = 1, 0, <void *>x, release_versioned
        v.flags = (READ_ONLY if x.store is not None and x.store.read_only else 0) | (IS_COPIED if copied else 0)
        Py_INCREF(x)
        return PyCapsule_New(v, "dltensor_versioned", drop)
    m = <Managed *>malloc(sizeof(Managed))
    if m == NULL:
        free(room)
        raise no_room(NO_MEMORY)
    describe_memory(&m.tensor, x, room)
    m.context, m.deleter = <void *>x, release
    Py_INCREF(x)
    return PyCapsule_New(m, "dltensor", drop)


cdef class Borrowed:
    """Gives another library's memory back when the last tensor over it goes."""
    cdef Managed *plain
    cdef Versioned *versioned

    def __dealloc__(self):
        if self.plain != NULL and self.plain.deleter != NULL:
            self.plain.deleter(self.plain)
        if self.versioned != NULL and self.versioned.deleter != NULL:
            self.versioned.deleter(self.versioned)


cdef int code_from(DLDataType t) except -1:
    cdef int code
    for code in range(NDTYPES):
        if KIND[code] == t.code and 8 * ITEMSIZE[code] == t.bits and t.lanes == 1:
            return code
    if t.code == 1 and t.bits == 8 and t.lanes == 1:
        return UINT8
    raise BufferError(f"from_dlpack: no dtype for DLPack type code {t.code} of {t.bits} bits and {t.lanes} lanes")


def take(capsule):
    """The tensor of a capsule, which is used up."""
    cdef Borrowed owner = Borrowed.__new__(Borrowed)
    cdef DLTensor *d
    cdef Managed *m = NULL
    cdef Versioned *v = NULL
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef Py_ssize_t run = 1, room = 1
    cdef int k, code, rank
    cdef bint read_only = False, empty = False
    cdef Storage store
    if PyCapsule_IsValid(capsule, "dltensor_versioned"):
        v = <Versioned *>PyCapsule_GetPointer(capsule, "dltensor_versioned")
        if v.major != 1:
            raise BufferError(f"from_dlpack: DLPack version {v.major}.{v.minor} is not known here; 1.x is")
        d, read_only = &v.tensor, v.flags & READ_ONLY != 0
    elif PyCapsule_IsValid(capsule, "dltensor"):
        m = <Managed *>PyCapsule_GetPointer(capsule, "dltensor")
        d = &m.tensor
    else:
        raise RuntimeError("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might "
                           "have already constructed a tensor from it once.")
    rank = d.ndim
    if not 0 <= rank <= MAX_DIMS:
        raise BufferError(f"from_dlpack: {rank} dimensions, at most {MAX_DIMS} are possible")
    if d.device.device_type not in (ON_CPU, ON_CUDA, ON_CUDA_HOST):
        raise BufferError(f"from_dlpack: memory on DLPack device type {d.device.device_type} cannot be used here")
    code = code_from(d.dtype)
    for k in range(rank - 1, -1, -1):
        sizes[k] = d.shape[k]
        steps[k] = run if d.strides == NULL else d.strides[k]
        if steps[k] < 0:
            raise BufferError("from_dlpack: negative strides are not supported: copy the array first")
        run *= sizes[k]
        empty |= sizes[k] == 0
        room += (sizes[k] - 1) * steps[k]
    if v != NULL:
        owner.versioned = v
        PyCapsule_SetName(capsule, "used_dltensor_versioned")
    else:
        owner.plain = m
        PyCapsule_SetName(capsule, "used_dltensor")
    store = foreign_storage(<char *>d.data + d.byte_offset, 0 if empty else room * ITEMSIZE[code], owner)
    store.read_only = read_only
    if d.device.device_type == ON_CUDA:
        store.dev = CUDA
    return from_storage(store, code, rank, sizes, steps, 0)


def device_pair(Tensor x not None):
    """DLPack's (device type, device number)."""
    if x.dev == META:
        raise BufferError("__dlpack_device__: a meta tensor has no memory")
    return (ON_CPU if x.dev == CPU else ON_CUDA, 0)
