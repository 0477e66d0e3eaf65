# cython: preliminary_late_includes_cy28=True
"""Memory of tensors.

Blocks are 64-byte aligned and come from a cache of freed blocks sorted by size class, four
classes an octave, since a fresh block of more than a few pages costs a page fault for each
page on first touch (2 to 3 times the cost of an addition on ten million floats). The cache is
bounded; beyond the bound blocks go back to the system at once.
"""
cimport cython
from cpython.buffer cimport PyObject_GetBuffer, PyBuffer_Release, PyBUF_SIMPLE, PyBUF_WRITABLE, PyBUF_ND, PyBUF_STRIDES, PyBUF_FORMAT
from libc.stdlib cimport free
from libc.string cimport memcpy, memset
import mmap
import os
import sys

cdef extern from "<stdlib.h>" nogil:
    int posix_memalign(void **ptr, size_t alignment, size_t size)

cdef extern from "<unistd.h>" nogil:
    long sysconf(int name)
    enum:
        _SC_PHYS_PAGES
        _SC_PAGESIZE

cdef enum:
    ALIGNMENT = 64
    SMALL_CLASSES = 16          # multiples of 64 bytes up to 1 KiB
    CLASSES = 16 + 4 * 46
    KEEP = 64                   # blocks a class keeps

cdef struct Bin:
    int n
    void *block[64]

cdef char *BYTES = b"B"
cdef Bin bins[200]
cdef size_t used_bytes = 0, peak_bytes = 0, cached_bytes = 0
cdef long live = 0
# An eighth of the machine's memory, at most 4 GiB.
cdef size_t cache_limit = min(<size_t>4 << 30, <size_t>sysconf(_SC_PHYS_PAGES) * <size_t>sysconf(_SC_PAGESIZE) // 8)


cdef inline int size_class(size_t nbytes, size_t *rounded) noexcept nogil:
    """Index of the smallest class that holds `nbytes`, and its size."""
    cdef size_t step, k
    cdef int octave
    if nbytes <= 1024:
        k = (nbytes + 63) >> 6
        if k == 0:
            k = 1
        rounded[0] = k << 6
        return <int>k - 1
    octave = 63 - __builtin_clzll(nbytes - 1)       # 2^octave < nbytes <= 2^(octave+1)
    step = (<size_t>1) << (octave - 2)
    k = (nbytes - ((<size_t>1) << octave) + step - 1) // step     # 1..4
    rounded[0] = ((<size_t>1) << octave) + k * step
    return SMALL_CLASSES + (octave - 10) * 4 + <int>k - 1

cdef extern from *:
    int __builtin_clzll(unsigned long long x) noexcept nogil


cdef void give_back(void *ptr, size_t capacity) noexcept:
    """Count a storage out, and keep its block for the next or free it."""
    global live, used_bytes, cached_bytes
    cdef size_t rounded
    cdef int k
    live -= 1
    if capacity:
        used_bytes -= capacity
        k = size_class(capacity, &rounded)
        if bins[k].n < KEEP and cached_bytes + rounded <= cache_limit:
            bins[k].block[bins[k].n] = ptr
            bins[k].n += 1
            cached_bytes += rounded
        else:
            free(ptr)


cdef Py_ssize_t place(Storage self, Py_ssize_t index) except -1:
    if not -<Py_ssize_t>self.length <= index < <Py_ssize_t>self.length:
        raise IndexError(f"index {index} is out of bounds for a storage of {self.length} bytes")
    if self.dev != 0:
        raise RuntimeError("this storage is not in the CPU's memory: copy the tensor with .cpu() first")
    return index + <Py_ssize_t>self.length if index < 0 else index


cdef class Storage:
    """Untyped memory shared by a tensor and its views (PyTorch's ``UntypedStorage``): bytes, with their number as its length.

    >>> len(torch.UntypedStorage(8))
    8
    """

    def __cinit__(self):
        global live
        live += 1

    def __init__(self, content=0):
        """Uninitialised memory of a number of bytes, or the bytes of a sequence or buffer."""
        cdef Storage made
        cdef bytes data
        if isinstance(content, int):
            if content < 0:
                raise RuntimeError(f"UntypedStorage: Storage size must be non-negative, got {content}")
            made = new_storage(content)
        else:
            data = bytes(content)
            made = new_storage(len(data))
            if data:
                memcpy(made.ptr, <char *>data, len(data))
        self.ptr, self.length, self.capacity = made.ptr, made.length, made.capacity
        made.capacity = 0           # the block is this object's now

    def __dealloc__(self):
        give_back(self.ptr, self.capacity)

    @cython.binding(False)
    def nbytes(self):
        """Size in bytes."""
        return self.length

    @cython.binding(False)
    def size(self):
        """Size in bytes."""
        return self.length

    def __len__(self):
        return self.length

    @staticmethod
    def from_file(filename, shared=False, nbytes=0):
        """The bytes of a file; with `shared`, writes go to the file."""
        with open(filename, "r+b" if shared else "rb") as file:
            length = nbytes or os.fstat(file.fileno()).st_size
            if not length:
                return make_storage(0)
            return storage_over(mmap.mmap(file.fileno(), length, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY))

    def __getattr__(self, name):
        # the methods that are made of operations on tensors come with fasttensor.storage
        if not name.startswith("_") and name not in ("shared", "former") and "fasttensor.storage" not in sys.modules:
            from importlib import import_module
            import_module("fasttensor.storage")
            return getattr(self, name)
        raise AttributeError(f"'UntypedStorage' object has no attribute {name!r}")

    @cython.binding(False)
    def __sizeof__(self):
        return object.__sizeof__(self) + self.length

    @cython.binding(False)
    def data_ptr(self):
        """Address of the first byte; 0 of a meta tensor's."""
        return <size_t>self.ptr if self.dev != 2 else 0

    @property
    def _cdata(self):
        return <size_t>self.ptr

    @property
    def device_type(self):
        return ("cpu", "cuda", "meta")[self.dev]

    @cython.binding(False)
    def is_shared(self):
        """Whether another process can map this memory."""
        return bool(getattr(self, "shared", False))

    @cython.binding(False)
    def tobytes(self):
        """A copy of the bytes."""
        if self.dev != 0:
            raise NotImplementedError(f"this storage is on {self.device_type}: its bytes are not in the CPU's memory")
        return <bytes>self.ptr[:self.length] if self.length else b""

    def __getitem__(self, index):
        cdef Storage part
        if isinstance(index, slice):
            start, stop, step = index.indices(self.length)
            if step != 1 or self.dev != 0:
                raise RuntimeError(f"a storage is sliced with step 1 and in the CPU's memory, got step {step} on {self.device_type}")
            part = foreign_storage(self.ptr + <size_t>start, max(stop - start, 0), self)
            part.read_only = self.read_only
            return part
        return <unsigned char>self.ptr[place(self, index)]

    def __setitem__(self, Py_ssize_t index, unsigned char value):
        if self.read_only:
            raise RuntimeError("this storage is not writable")
        self.ptr[place(self, index)] = <char>value

    @cython.binding(False)
    def __reduce__(self):
        return storage_from_bytes, (self.tobytes(),)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        if self.dev != 0:
            raise BufferError("this storage is not in the CPU's memory: copy the tensor with .cpu() first")
        if flags & PyBUF_WRITABLE and self.read_only:
            raise BufferError("this storage is not writable: ask for a read-only buffer, or copy it first")
        buffer.buf, buffer.obj, buffer.len = self.ptr, self, self.length
        buffer.itemsize, buffer.readonly, buffer.ndim = 1, self.read_only, 1
        buffer.format = BYTES if flags & PyBUF_FORMAT else NULL
        buffer.shape = <Py_ssize_t *>&self.length if flags & PyBUF_ND else NULL
        # one dimension of bytes is contiguous in every order
        buffer.strides = &buffer.itemsize if (flags & PyBUF_STRIDES) == PyBUF_STRIDES else NULL
        buffer.suboffsets, buffer.internal = NULL, NULL

    def __repr__(self):
        if self.dev == 2:
            return f"...\n[torch.storage.UntypedStorage(device={self.device_type}) of size {self.length}]"
        return "\n".join([f" {value}" for value in self.tobytes()] + [f"[torch.storage.UntypedStorage(device={self.device_type}) of size {self.length}]"])


cdef extern from "pool.h":
    pass

cdef extern from *:
    """
    typedef struct __pyx_obj_10fasttensor_5_core_7storage_Storage ft_storage;
    static ft_pool ft_storages;
    static void (*ft_give_back)(void *, size_t);
    static long *ft_live;

    static void ft_storage_dealloc(PyObject *o) {
        ft_storage *s = (ft_storage *)o;
        if (Py_TYPE(o) != ft_storages.type || s->__weakref__ || s->__dict__ || ft_storages.n >= FT_SPARE || s->owner != Py_None) {
            PyObject_GC_UnTrack(o);
            ft_pool_pass(&ft_storages, o, &s->__dict__);
            return;
        }
        PyObject_GC_UnTrack(o);
        ft_give_back(s->ptr, s->capacity);
        FT_RESET(s->writer);
        s->ptr = NULL;
        s->length = s->capacity = 0;
        s->version = 0;
        s->dev = 0;
        s->read_only = s->watched = 0;
        ft_storages.spare[ft_storages.n++] = o;
    }

    static int ft_open_storages(PyObject *type, void (*give_back)(void *, size_t), long *live) {
        ft_give_back = give_back;
        ft_live = live;
        return ft_pool_open(&ft_storages, (PyTypeObject *)type, ft_storage_dealloc);
    }

    /* without memory */
    static inline PyObject *ft_fresh_storage(void) {
        int spare = ft_storages.n > 0;
        PyObject *o = ft_pool_take(&ft_storages, offsetof(ft_storage, __dict__));
        if (o && spare) ++*ft_live;       /* a new one counts itself */
        return o;
    }
    """
    int ft_open_storages(object type, void (*give_back)(void *, size_t) noexcept, long *counter) except -1
    Storage ft_fresh_storage()

ft_open_storages(Storage, give_back, &live)


class OutOfMemoryError(RuntimeError, MemoryError):
    """Memory that could not be had: of both types, so that programs catch it that were written for PyTorch, or for arrays of other libraries.

    >>> issubclass(torch.OutOfMemoryError, RuntimeError), issubclass(torch.OutOfMemoryError, MemoryError)
    (True, True)
    """
    __module__ = "torch"


cdef object no_memory(size_t nbytes):
    return OutOfMemoryError(f"not enough memory: could not allocate {nbytes} bytes ({used_bytes} bytes are in use)")


cdef object no_room(str what):
    """The error of an operation that has no room to work in: "matrix product: no memory for packing"."""
    return OutOfMemoryError(f"{what} ({used_bytes} bytes are in use)")


cdef Storage new_storage(size_t nbytes):
    """Uninitialised memory from the cache or from the system."""
    global used_bytes, peak_bytes, cached_bytes
    cdef size_t rounded
    cdef int k
    cdef void *ptr = NULL
    cdef Storage store
    if nbytes > (<size_t>1 << 55):          # no size class is that large
        raise no_memory(nbytes)
    k = size_class(nbytes, &rounded)
    if bins[k].n:
        bins[k].n -= 1
        ptr = bins[k].block[bins[k].n]
        cached_bytes -= rounded
    else:
        if posix_memalign(&ptr, ALIGNMENT, rounded):
            empty_cache()           # the cached blocks may be what is missing
            if posix_memalign(&ptr, ALIGNMENT, rounded):
                raise no_memory(nbytes)
    store = ft_fresh_storage()
    store.ptr, store.length, store.capacity = <char *>ptr, nbytes, rounded
    used_bytes += rounded
    if used_bytes > peak_bytes:
        peak_bytes = used_bytes
    return store


cdef Storage foreign_storage(void *ptr, size_t nbytes, object owner):
    """Memory that `owner` keeps alive."""
    cdef Storage store = ft_fresh_storage()
    store.ptr, store.length, store.owner = <char *>ptr, nbytes, owner
    return store


cdef void bump(Storage store):
    """Count an in-place write; a saved tensor's next writer is remembered for the error message."""
    store.version += 1
    if store.watched:
        store.writer = caller_line()
        store.watched = False


cdef object caller_line():
    """"file:line" of the innermost frame outside this package."""
    frame = sys._getframe()
    while frame is not None and "fasttensor" in frame.f_globals.get("__name__", "").split(".")[:1]:
        frame = frame.f_back
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def empty_cache():
    """Give the cached blocks of memory back to the system.

    >>> torch.empty_cache()
    """
    global cached_bytes
    cdef int k
    for k in range(CLASSES):
        while bins[k].n:
            bins[k].n -= 1
            free(bins[k].block[bins[k].n])
    cached_bytes = 0


def set_cache_limit(size_t nbytes):
    """Bound the bytes kept for reuse; 0 turns the cache off."""
    global cache_limit
    cache_limit = nbytes
    if cached_bytes > cache_limit:
        empty_cache()


def memory_stats():
    """Bytes of tensor memory: ``current``, ``peak``, ``cached``, and the number of ``live`` storages.

    >>> sorted(torch.memory_stats())
    ['cached', 'current', 'live', 'peak']
    """
    return {"current": used_bytes, "peak": peak_bytes, "cached": cached_bytes, "live": live}


def reset_peak_memory_stats():
    """Start counting the peak from what is in use now.

    >>> torch.reset_peak_memory_stats()
    """
    global peak_bytes
    peak_bytes = used_bytes


def live_storages():
    """How many storages exist now: a leak shows as a number that grows."""
    return live


def make_storage(size_t nbytes, bint zero=True):
    """A new storage of `nbytes` bytes."""
    cdef Storage store = new_storage(nbytes)
    if zero:
        memset(store.ptr, 0, nbytes)
    return store


def storage_over(object buffer):
    """A storage over the memory of an object with the buffer protocol, which it keeps alive."""
    cdef Py_buffer view
    cdef Storage store
    # a memoryview as owner keeps the buffer exported, so that e.g. a bytearray cannot be resized meanwhile
    owner = memoryview(buffer)
    PyObject_GetBuffer(owner, &view, PyBUF_SIMPLE)
    store = foreign_storage(view.buf, view.len, owner)
    store.read_only = view.readonly
    PyBuffer_Release(&view)
    return store


def storage_from_bytes(bytes data):
    """What a pickled storage becomes."""
    return storage_over(bytearray(data))
