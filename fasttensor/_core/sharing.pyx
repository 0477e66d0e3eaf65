"""Memory that processes share: a nameless file in memory, mapped by each of them.

It disappears with the last process that holds it, so that nothing is left behind by one that was killed.
"""
import gc
import mmap
import os
from cpython.object cimport PyObject
from libc.string cimport memcpy
from fasttensor._core.dtype cimport ITEMSIZE
from fasttensor._core.storage cimport Storage, no_room
from fasttensor._core.storage import storage_over
from fasttensor._core.tensor cimport Tensor, CPU

cdef extern from "sys/mman.h":
    enum:
        PROT_READ
        PROT_WRITE
        MAP_SHARED
        MAP_POPULATE
    void *map_memory "mmap"(void *addr, size_t length, int prot, int flags, int fd, long offset)
    int unmap_memory "munmap"(void *addr, size_t length)

cdef extern from "pthread.h":
    int pthread_atfork(void (*prepare)() noexcept nogil, void (*parent)() noexcept nogil, void (*child)() noexcept nogil)

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject *o)

cdef enum:
    HEAD = 64       # bytes of a block before its content, which keep that aligned
    DONE = 1        # the first byte of one that its receiver is done with


class Handle:
    """An open file descriptor of shared memory, closed with its last user."""

    def __init__(self, fd, nbytes):
        self.fd, self.nbytes = fd, nbytes

    def __del__(self):
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def attach(int fd, size_t nbytes):
    """The storage over shared memory that a descriptor stands for, which it takes over."""
    cdef Storage store = storage_over(mmap.mmap(fd, nbytes) if nbytes else bytearray())
    store.shared = Handle(fd, nbytes)
    return store


def share(Tensor x not None):
    """Move a CPU tensor's memory, and every view of it, into shared memory."""
    cdef Storage store = x.store, made, former
    if x.dev != CPU:
        raise RuntimeError("share_memory_: only memory of the CPU can be moved into shared memory")
    if store is None or store.is_shared():
        return
    if store.read_only:
        raise RuntimeError("share_memory_: the tensor shows memory that is not writable (a read-only array or buffer): clone() it first")
    if not hasattr(os, "memfd_create"):
        raise RuntimeError("share_memory_: this system has no memfd_create")
    fd = os.memfd_create("fasttensor")
    os.ftruncate(fd, store.length)
    made = attach(fd, store.length)
    memcpy(made.ptr, store.ptr, store.length)
    # an array or buffer made from a tensor may still show the old block, which lives as long as the storage
    former = Storage.__new__(Storage)
    former.ptr, former.length, former.capacity, former.owner = store.ptr, store.length, store.capacity, store.owner
    store.former = former
    # one reference is the tensor's and one this function's; others may be views
    move(store, made.ptr, Py_REFCNT(<PyObject *>store) > 2)
    store.capacity, store.owner, store.shared = 0, made, made.shared
    x.ptr = store.ptr + x.offset * ITEMSIZE[x.code]


cdef int move(Storage store, char *to, bint search) except -1:
    """Let a storage and all that refers to it point to `to`."""
    cdef Storage second
    cdef Tensor view
    cdef char *old = store.ptr
    store.ptr = to
    if search:
        for user in gc.get_referrers(store):
            if isinstance(user, Tensor):
                view = user
                if view.store is store:
                    view.ptr = to + view.offset * ITEMSIZE[view.code]
            elif isinstance(user, Storage):         # `tensor.data` has a storage of its own over the same bytes
                second = user
                if second.owner is store and second.ptr == old:
                    move(second, to, True)
    return 0


# Counts the forks of this process: memory that was mapped at one is seen by the child too.
cdef unsigned long forks = 0


cdef void before_fork() noexcept nogil:
    global forks
    forks += 1


pthread_atfork(before_fork, NULL, NULL)


cdef class Mapped:
    """The bytes of a descriptor's memory behind `HEAD`, mapped at once. Unlike Python's mmap it keeps no descriptor open: a
    program holds more batches than files.

    A block's first byte says whether its receiver is done with it, so that the sender may fill it again: one made with `gives_back`
    says so when its last view goes, unless a forked process may still look at it. It may then be looked at again once the sender has
    filled it.
    """
    cdef char *ptr
    cdef Py_ssize_t length
    cdef unsigned long forks
    cdef bint gives_back
    cdef bint inherited         # a child was forked while there were views, and may hold them still
    cdef Py_ssize_t users

    def __cinit__(self, int fd, Py_ssize_t nbytes, bint gives_back):
        cdef void *ptr = map_memory(NULL, HEAD + nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0)
        if <size_t>ptr == <size_t>-1:
            raise no_room(f"could not map {nbytes} bytes of shared memory")
        self.ptr, self.length, self.gives_back, self.forks = <char *>ptr, nbytes, gives_back, forks

    def __dealloc__(self):
        if self.ptr != NULL:
            unmap_memory(self.ptr, HEAD + self.length)

    @property
    def in_use(self):
        """Whether a tensor, array or view of this process, or of one forked from it, may show the memory."""
        return self.users > 0 or self.inherited

    def address(self):
        """Of the first byte behind the head."""
        return <size_t>self.ptr + HEAD

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        if self.users == 0:
            self.forks = forks
        self.users += 1
        buffer.buf, buffer.obj, buffer.len = self.ptr + HEAD, self, self.length
        buffer.itemsize, buffer.readonly, buffer.ndim, buffer.format = 1, 0, 1, NULL
        buffer.shape, buffer.strides, buffer.suboffsets, buffer.internal = &self.length, &buffer.itemsize, NULL, NULL

    def __releasebuffer__(self, Py_buffer *buffer):
        self.users -= 1
        if self.users == 0:
            self.inherited |= self.forks != forks
            if self.gives_back and not self.inherited:
                self.ptr[0] = DONE
