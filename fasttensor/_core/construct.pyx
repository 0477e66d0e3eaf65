"""Making tensors from sizes: the parsing of size arguments, and memory without values."""
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.device cimport device_code
from fasttensor._core.dispatch cimport hook
from fasttensor._core.layout cimport layout_on
from fasttensor._core.storage cimport Storage, new_storage
from fasttensor._core.checked cimport reach_of
from cpython.long cimport PyLong_AsLongAndOverflow
from libc.string cimport memcpy

cdef extern from "Python.h":
    bint PyLong_CheckExact(object o)
    object PyNumber_Index(object o)


cdef int parse_sizes(str op, object args, Py_ssize_t *sizes) except -1:
    cdef int rank = 0, beyond = 0
    cdef object first, item
    if len(args) == 1:
        first = args[0]
        if isinstance(first, (tuple, list)):
            args = first
        elif not PyLong_CheckExact(first) and not isinstance(first, int) and not hasattr(type(first), "__index__"):
            if isinstance(first, range):
                args = tuple(first)
            else:
                raise TypeError(f"{op}(): argument 'size' (position 1) must be tuple of ints, not {type(first).__name__}")
    elif len(args) and isinstance(args[0], (tuple, list)):
        raise TypeError(f"{op}() takes 1 positional argument but {len(args)} were given")
    if len(args) > MAX_DIMS:
        raise RuntimeError(f"{op}(): a tensor can have at most {MAX_DIMS} dimensions, got {len(args)}")
    for item in args:
        if PyLong_CheckExact(item):
            sizes[rank] = PyLong_AsLongAndOverflow(item, &beyond)
            if beyond:
                raise TypeError(f"{op}(): argument 'size' failed to unpack the object at pos {rank + 1} with error "
                                f'"Overflow when unpacking long long": {item}')
        elif rank == 0 and isinstance(item, bool) or not hasattr(type(item), "__index__"):       # PyTorch looks at the first alone
            raise TypeError(f"{op}(): argument 'size' must be tuple of ints, but found element of type {type(item).__name__} at pos {rank}")
        else:
            sizes[rank] = PyNumber_Index(item)
        if sizes[rank] < 0:
            raise RuntimeError(f"{op}: Trying to create tensor with negative dimension {sizes[rank]}: {list(args)}")
        rank += 1
    return rank


cdef int code_or_default(object dtype) except -1:
    return default_float() if dtype is None else code_of(dtype)


def empty(str op, args, dtype=None, device=None):
    """Uninitialised and contiguous; `args` holds the sizes, or one sequence of them."""
    cdef Py_ssize_t sizes[64]
    cdef int rank = parse_sizes(op, args, sizes)
    return new_tensor(rank, sizes, code_or_default(dtype), device_code(device))


def empty_strided(size, stride, dtype=None, device=None):
    """Uninitialised memory under the given sizes and strides."""
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef Py_ssize_t room
    cdef int d, rank = parse_sizes("empty_strided", (tuple(size),), sizes), code = code_or_default(dtype)
    if len(stride) != rank:
        raise RuntimeError(f"dimensionality of sizes ({rank}) must match dimensionality of strides ({len(stride)})")
    if rank and isinstance(stride[0], bool):
        raise TypeError("empty_strided(): argument 'stride' (position 2) must be tuple of ints, but found element of type bool at pos 0")
    for d in range(rank):
        steps[d] = stride[d]
        if steps[d] < 0:
            raise RuntimeError(f"empty_strided: strides must not be negative, got {tuple(stride)}")
    room = reach_of(rank, sizes, steps, 0, ITEMSIZE[code])
    if room < 0:
        raise RuntimeError(f"empty_strided: Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    room //= ITEMSIZE[code]
    cdef int dev = device_code(device)
    cdef Tensor flat = new_tensor(1, &room, code, dev)
    return new_view(flat, rank, sizes, steps, 0)


def unwritten(Tensor x not None):
    """Say that the writes to a new tensor were its making: its version is 0, unless something was saved of it meanwhile."""
    if x.store is not None and not x.store.watched:
        x.store.version = 0


def written_once(Tensor x not None):
    """Count the last write to a tensor and the one that follows as one."""
    if x.store is not None and x.store.version and not x.store.watched:
        x.store.version -= 1


def empty_like(Tensor x not None, dtype=None, device=None, bint contiguous=False):
    """Uninitialised, of x's shape; x's order in memory unless `contiguous`."""
    if x.dev == BATCHED:
        return hook("empty_like_batch")(x, dtype, device, contiguous)
    cdef int code = x.code if dtype is None else code_of(dtype)
    cdef int dev = x.dev if device is None else device_code(device)
    if contiguous or x.contig:
        return new_tensor(x.rank, x.sizes, code, dev)
    return layout_on(x, code, dev)


def shape_from(str op, args):
    """The sizes that arguments ask for, as a tuple."""
    cdef Py_ssize_t sizes[64]
    cdef int d, rank = parse_sizes(op, args, sizes)
    return tuple([sizes[d] for d in range(rank)])


# --- over existing memory ---

def over_storage(Storage store not None, dtype, size, stride, Py_ssize_t offset=0):
    """A tensor over a storage's memory; RuntimeError where it would reach outside."""
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d, code = code_of(dtype), rank = len(size)
    cdef bint empty = False
    if rank > MAX_DIMS or len(stride) != rank:
        raise RuntimeError(f"a tensor needs as many strides as sizes, at most {MAX_DIMS}: got sizes {tuple(size)} and strides {tuple(stride)}")
    for d in range(rank):
        sizes[d], steps[d] = size[d], stride[d]
        if sizes[d] < 0 or steps[d] < 0 or sizes[d] > (<Py_ssize_t>1 << 48) or steps[d] > (<Py_ssize_t>1 << 48):
            raise RuntimeError(f"sizes and strides must not be negative: got sizes {tuple(size)} and strides {tuple(stride)}")
        empty |= sizes[d] == 0
        # in Python's integers: a damaged file may ask for products beyond 64 bits
    last = offset + sum([(sizes[d] - 1) * <object>steps[d] for d in range(rank)])
    if offset < 0 or not empty and (last + 1) * ITEMSIZE[code] > store.length:
        raise RuntimeError(f"sizes {tuple(size)}, strides {tuple(stride)} and offset {offset} of {dtype_of(code)} reach outside a storage"
                           f" of {store.length} bytes")
    return from_storage(store, code, rank, sizes, steps, offset)


def copy_storage(Storage store not None):
    """A storage with the same bytes."""
    cdef Storage made = new_storage(store.length)
    if store.dev != CPU:
        raise RuntimeError("copy_storage: only the CPU's memory can be copied byte by byte; copy the tensor instead")
    memcpy(made.ptr, store.ptr, store.length)
    return made


def become(Tensor self not None, Tensor other not None):
    """Make a new tensor object show another's memory: what a constructor does."""
    set_geometry(self, other.rank, other.sizes, other.steps)
    self.store, self.ptr, self.offset = other.store, other.ptr, other.offset
    self.code, self.dev = other.code, other.dev
