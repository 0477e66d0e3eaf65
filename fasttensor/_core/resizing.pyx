"""Storages that get larger or smaller under the tensors that show them."""
import gc
from libc.string cimport memcpy
from fasttensor._core.dtype cimport UINT8
from fasttensor._core.storage cimport Storage
from fasttensor._core.tensor cimport Tensor, CPU, META, new_tensor

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(object o)


cdef Storage root_of(Storage store):
    """The storage that owns the block; `Tensor.data` shows the same memory through a storage of its own."""
    while store.capacity == 0 and isinstance(store.owner, Storage):
        store = <Storage>store.owner
    return store


cdef bint move_users(Storage root, Storage store, Py_ssize_t by, size_t before) except False:
    """Lead tensors and storages that hold addresses into a block to its new place.

    Python's collector knows who refers to a storage, which costs a look at all objects, but only here.
    """
    cdef Tensor t
    cdef Storage other
    for user in gc.get_referrers(store):
        if isinstance(user, Tensor):
            t = <Tensor>user
            if t.store is store:
                t.ptr += by
        elif isinstance(user, Storage):
            other = <Storage>user
            if other.owner is store and other.capacity == 0:
                if other.ptr == store.ptr - by and other.length == before:
                    other.length = root.length
                other.ptr += by
                move_users(root, other, by, before)
    return True


cdef bint resize_storage(Storage store, size_t nbytes, Tensor sole=None) except False:
    """Another length; the first bytes stay, the others are uninitialised. RuntimeError for memory that belongs to another object.

    `sole`: a tensor; where nothing else refers to the storage, it alone is moved.
    """
    cdef Storage root = root_of(store), made
    cdef Py_ssize_t n = nbytes, by
    cdef size_t before = root.length
    cdef char *old = root.ptr
    cdef bint alone = False
    if root.dev != CPU and root.dev != META or root.dev == CPU and root.capacity == 0:
        raise RuntimeError("Trying to resize storage that is not resizable: its memory belongs to another object")
    if root.dev == CPU and nbytes <= root.capacity:
        by = 0
    else:
        made = new_tensor(1, &n, UINT8, root.dev).store
        if root.dev == CPU:
            memcpy(made.ptr, root.ptr, min(before, nbytes))
        alone = sole is not None and root is store and Py_REFCNT(store) <= 3       # of the tensor, the caller and `root`
        root.ptr, made.ptr, root.capacity, made.capacity = made.ptr, root.ptr, made.capacity, root.capacity
        by = root.ptr - old
        if not alone and root.dev == CPU:
            # an array of another library may show the old block
            made.former = getattr(root, "former", None)
            root.former = made
    root.length = nbytes
    if alone:
        sole.ptr += by
    elif by or root is not store or nbytes != before:
        move_users(root, root, by, before)
    return True


def resize(Storage store not None, nbytes):
    """`UntypedStorage.resize_`: the same storage with another number of bytes."""
    if isinstance(nbytes, bool) or not isinstance(nbytes, int):
        raise RuntimeError(f"resize_ expects an int, but got {type(nbytes).__name__}")
    if not 0 <= nbytes <= <Py_ssize_t>1 << 58:
        raise RuntimeError(f"resize_: a storage cannot have {nbytes} bytes")
    resize_storage(store, nbytes)
    return store


def resizable(Storage store not None):
    """Whether the storage owns its memory."""
    cdef Storage root = root_of(store)
    return root.dev == META or root.dev == CPU and root.capacity != 0
