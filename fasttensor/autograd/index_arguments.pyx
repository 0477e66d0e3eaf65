"""Checks that every indexing and joining function makes, compiled because they cost more than small operations."""
import warnings
from fasttensor._core.dtype cimport promote, UINT8, INT64, FLOAT16, BFLOAT16
from fasttensor._core.element cimport check_number, read_element, scalar_code, write_element, write_operand
from fasttensor._core.tensor cimport Tensor, CPU, new_tensor, describe
from fasttensor.cpu.copy cimport apart, disjoint
from fasttensor.autograd.checks cimport integer


cpdef bint refuse_read_only(Tensor x, str name) except False:
    """Refuses to write into memory that its owner lent for reading."""
    if x.store is not None and x.store.read_only:
        raise RuntimeError(f"{name}: {describe(x)} shows memory that is not writable (a read-only array or buffer): clone() it first")
    return True


def check_writable(Tensor x, str name):
    """Refuses to write into memory that several elements of x share, or that is not writable."""
    cdef int d
    refuse_read_only(x, name)
    if x.contig:
        return
    for d in range(x.rank):
        if x.sizes[d] > 1 and x.steps[d] == 0:
            raise RuntimeError(f"{name}: unsupported operation: more than one element of the written-to tensor {describe(x)} "
                               "refers to a single memory location. Please clone() the tensor before performing the operation.")


def refuse_mixed(str name, Tensor written, tuple operands):
    """Refuses to write a tensor of which an operand shows other elements."""
    for operand in operands:
        if isinstance(operand, Tensor):
            apart(name, written, <Tensor>operand)


def refuse_shared(str name, out, tuple operands, bint same=False):
    """Refuses an out= in the memory of an operand: one that shows other elements, and the operand itself unless `same`.

    Called before the work, so that nothing is written when it raises. out may be a tuple of tensors."""
    for written in out if isinstance(out, (tuple, list)) else (out,):
        if isinstance(written, Tensor):
            for read in operands:
                if isinstance(read, Tensor):
                    if same:
                        apart(name, <Tensor>written, <Tensor>read)
                    else:
                        disjoint(name, <Tensor>written, <Tensor>read)


def scalar_like(value, Tensor x, str name):
    """A number or 0-d tensor as a 0-d tensor of x's dtype."""
    cdef Tensor t
    if isinstance(value, Tensor):
        t = value
        if t.rank:
            raise RuntimeError(f"{name}: only supports a 0-dimensional value tensor, but got {describe(t)} with {t.rank} dimension(s).")
        if t.code == x.code and t.dev == x.dev:
            return value
        if t.dev == CPU:
            check_number(x.code, read_element(t.ptr, t.code))
        return value.to(x.device, x.dtype)
    if scalar_code(value) < 0:
        raise TypeError(f"{name}(): argument 'value' must be Number or Tensor, not {type(value).__name__}")
    if x.dev != CPU:
        return x.new_full((), value)
    t = new_tensor(0, NULL, x.code, x.dev)
    write_element(t.ptr, x.code, value)
    return t


def assigned(value, Tensor x):
    """The number of ``x[...] = value`` as a 0-d tensor of x's dtype. As in PyTorch, half types take what they do not hold as infinity."""
    cdef Tensor t
    if isinstance(value, (bool, float, complex)):
        pass
    elif isinstance(value, int) or getattr(getattr(value, "dtype", None), "kind", "") in ("i", "u") and getattr(value, "ndim", 1) == 0:
        value = int(value)
        if not -9223372036854775808 <= value <= 9223372036854775807:
            raise ValueError(f"Overflow when unpacking long long: {value}")
    else:
        raise TypeError(f"can't assign a {type(value).__module__ + '.' if type(value).__module__ == 'numpy' else ''}{type(value).__name__} to a {x.type()}:"
                        " make it a tensor first")
    if x.dev != CPU:
        return x.new_full((), value)
    t = new_tensor(0, NULL, x.code, x.dev)
    if FLOAT16 <= x.code <= BFLOAT16 and not (isinstance(value, complex) and value.imag != 0):
        write_operand(t.ptr, x.code, value)
    else:
        write_element(t.ptr, x.code, value)
    return t


def join_arguments(tensors, object dim, str name, int extra):
    """(list, dim, dtype code) of a cat (extra 0) or stack (extra 1) after its checks."""
    cdef Tensor t, shaped = None
    cdef int code = -1, position = 0, rank
    cdef Py_ssize_t d
    cdef list parts
    if isinstance(tensors, Tensor) or not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")
    parts = list(tensors)
    if not parts:
        raise (RuntimeError if extra else ValueError)(f"{name}(): expected a non-empty list of Tensors")
    for entry in parts:
        if not isinstance(entry, Tensor):
            raise TypeError(f"{name}(): expected Tensor as element {position} in argument 'tensors', but got {type(entry).__name__}")
        t = entry
        if t.rank == 0 and not extra:
            raise RuntimeError(f"{name}(): zero-dimensional tensor (at position {position}) cannot be concatenated; use stack")
        code = t.code if code < 0 or code == t.code else promote(code, t.code)
        # An empty vector fits every shape and decides nothing.
        if shaped is None or (shaped.rank == 1 and shaped.count == 0 and not extra):
            shaped = t
        position += 1
    rank = shaped.rank + extra
    d = integer(dim, name, "dim")
    if not -rank <= d < rank:
        raise IndexError(f"{name}(): Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {d}) for {describe(shaped)}")
    return parts, d + rank if d < 0 else d, code


def warn_of_bytes():
    """The warning that a uint8 index deserves, which is a mask as in PyTorch and not a list of positions."""
    warnings.warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.", UserWarning, stacklevel=2)


def index_kind(Tensor x, Tensor index):
    """How x[index] reads with one tensor that has dimensions: 2 by a mask of x's shape, 1 any other way."""
    cdef int d
    if index.code > INT64:
        raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, got {describe(index)}")
    if index.code == UINT8:
        warn_of_bytes()
    if index.code > UINT8 or index.rank != x.rank:
        return 1
    for d in range(x.rank):
        if x.sizes[d] != index.sizes[d]:
            return 1
    return 2
