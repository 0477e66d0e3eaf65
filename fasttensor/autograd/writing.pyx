"""Whole-tensor writes, with their gradients; other memory under a tensor."""
from fasttensor._core.tensor cimport Tensor, Node, new_tensor, new_like, from_storage, set_geometry, same_shape, describe, wrote, CPU, META, BATCHED, MAX_DIMS
from fasttensor._core.dtype cimport ITEMSIZE, FLOAT16, dtype_of
from fasttensor._core.resizing cimport resize_storage
from fasttensor._core.storage cimport Storage
from fasttensor._core.dispatch cimport grad_enabled, copy_into, internal_overlap
from fasttensor._core.dispatch import backend
from fasttensor._core.element cimport check_number, read_element, scalar_code, write_element
from fasttensor.cpu.copy cimport fill, apart
from fasttensor.autograd.recording cimport requires, add_input, shrink_to
from fasttensor.autograd.history cimport check_inference, check_inplace, inplace_node, rebase
from fasttensor.autograd.elementwise cimport differentiable_cast
from fasttensor.autograd.copying cimport to_device, with_channels_last
from fasttensor.autograd.batched cimport Level, Batched, as_batched, living, padded
from fasttensor.autograd.batched import replace_value
from fasttensor.autograd.checks import flag
from fasttensor.autograd.copying import channels_last, channels_last_3d


cdef object copy_backward(Node node, object grad):
    cdef Tensor g = grad, s
    cdef tuple meta = node.out_meta
    if node.inputs[1] is None:
        return (zero_of(g), None)
    s = differentiable_cast(shrink_to(g, <tuple>meta[0]), <int>meta[1])
    return (zero_of(g), s if s.dev == <int>meta[2] else to_device(s, <int>meta[2], s.code))


cdef Tensor zero_of(Tensor g):
    cdef Tensor z = new_like(g, g.code)
    zero_memory(z)
    return z


cdef void zero_memory(Tensor z):
    cdef double complex zero = 0
    if z.dev == CPU:
        fill(z, &zero)


cdef Tensor write_batch(Tensor x, Tensor s):
    """copy_ where one of the two is batched."""
    cdef Level level = living((x, s))
    if not isinstance(x, Batched) or (<Batched>x).level is not level:
        refuse_unbatched("copy_", x, s)
    if s.rank > x.rank:
        raise RuntimeError(f"copy_: {describe(s)} does not broadcast to {describe(x)}")
    copy_(as_batched(x).value, padded(s, level, x.rank))
    return x


def refuse_unbatched(name, x, other):
    """A write of different values for each sample into memory that all samples share."""
    raise RuntimeError(f"vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that"
                       f" has more elements than `self`: {name} would write {describe(other)} of each sample into {describe(x)}, which all"
                       " samples share. Use the out-of-place operation, or make `self` with new_zeros or zeros_like of a batched tensor.")


def copy_(self, src, non_blocking=False):
    """Write `src`, broadcast to this shape and converted to this dtype, into this tensor, which is returned; gradients flow to `src`.

    Raises RuntimeError where `src` does not broadcast, and where elements of this tensor share memory.

    >>> torch.zeros(2, 2).copy_(torch.tensor([1, 2]))
    tensor([[1., 2.],
            [1., 2.]])
    """
    cdef Tensor x = self, s
    cdef Node node
    cdef bint recording
    if non_blocking is not False and non_blocking is not True:
        flag("copy_", "non_blocking", non_blocking)
    if not isinstance(src, Tensor):
        if internal_overlap(x):
            raise RuntimeError(f"copy_: unsupported operation: more than one element of the written-to tensor {describe(x)} refers to a single memory"
                               " location. Please clone() the tensor before performing the operation, or use fill_().")
        return fill_(self, src)
    s = <Tensor>src
    if s is x:
        check_inplace(x, "copy_")
        wrote(x)
        return x
    if x.dev == BATCHED or s.dev == BATCHED:
        return write_batch(x, s)
    check_inplace(x, "copy_")
    recording = grad_enabled() and (requires(x) or requires(s)) and x.code >= FLOAT16
    if same_shape(x, s):        # a broadcast operand is expanded first in PyTorch, and read first here
        apart("copy_", x, s)
    copy_into(x, s)
    wrote(x)
    if recording:
        node = inplace_node(x, copy_backward, "torch::autograd::CopyBackwards")
        add_input(node, s)
        node.out_meta = (tuple([s.sizes[d] for d in range(s.rank)]), s.code if s.code >= FLOAT16 else x.code, s.dev)
        rebase(x, node)
    return x


cdef object fill_backward(Node node, object grad):
    return (zero_of(<Tensor>grad), (<Tensor>grad).sum() if node.inputs[1] is not None else None)


def fill_(self, value):
    """Set every element to `value`, a number or a 0-d tensor, in place.

    Raises RuntimeError for a tensor with dimensions and for a number that the dtype cannot hold, TypeError for anything else.

    >>> torch.empty(2).fill_(3)
    tensor([3., 3.])
    """
    cdef Tensor x = <Tensor?>self
    cdef Tensor v = None
    cdef char buffer[16]
    cdef Node node
    if isinstance(value, Tensor):
        v = <Tensor>value
        if v.rank != 0:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {v.rank} dimensions.")
    elif scalar_code(value) < 0:
        raise TypeError(f"fill_(): argument 'value' must be Number or Tensor, not {type(value).__name__}")
    if x.dev == BATCHED or (v is not None and v.dev == BATCHED):
        if v is not None:
            return write_batch(x, v)
        fill_(as_batched(x).value, value)
        return x
    check_inplace(x, "fill_")
    cdef bint recording = grad_enabled() and (requires(x) or (v is not None and requires(v)))
    if v is not None:
        if v.dev == CPU:
            check_number(x.code, read_element(v.ptr, v.code))
        copy_into(x, v)
    elif x.dev == CPU:
        write_element(buffer, x.code, value)
        fill(x, buffer)
    elif x.dev != META:
        backend(x).fill(x, value)
    wrote(x)
    if recording:
        node = inplace_node(x, fill_backward, "FillBackward0")
        if v is not None:
            add_input(node, v)
        else:
            node.inputs.append(None)
            if node.nrs is not None:
                node.nrs.append(0)
        rebase(x, node)
    return x


def zero_(self):
    """Set every element to zero, in place.

    >>> torch.ones(2).zero_()
    tensor([0., 0.])
    """
    return fill_(self, 0)


def resize_(self, *sizes, memory_format=None):
    """Give this tensor another shape. Its storage gets larger where it must, for all that show it; new elements are uninitialised.

    Raises RuntimeError for a tensor that requires grad, negative sizes, and memory that belongs to another object (numpy's, a file's).

    >>> torch.arange(4).resize_(2, 1)
    tensor([[0],
            [1]])
    """
    cdef Tensor x = <Tensor?>self
    cdef Py_ssize_t s[64]
    cdef Storage old = x.store
    cdef Py_ssize_t n
    cdef object total = 1
    cdef int d
    if not sizes:
        raise TypeError('resize_() missing 1 required positional arguments: "size"')
    cdef tuple shape = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) and getattr(sizes[0], "ndim", 1) else sizes
    if len(shape) and isinstance(shape[0], bool):
        raise TypeError("resize_(): argument 'size' (position 1) must be tuple of ints, but found element of type bool at pos 0")
    if x.dev == BATCHED:
        raise RuntimeError("vmap: resize_ of a batched tensor is not supported: use reshape, or a new tensor")
    if requires(x):
        raise RuntimeError("cannot resize variables that require grad")
    check_inference(x, "resize_")
    if memory_format is None and shape == x.shape:
        return x                # in its strides
    if len(shape) > MAX_DIMS:
        raise RuntimeError(f"resize_: a tensor can have at most {MAX_DIMS} dimensions, got {len(shape)}")
    for d in range(len(shape)):
        s[d] = shape[d]
        if s[d] < 0:
            raise RuntimeError(f"resize_: negative size {s[d]} in {list(shape)}")
        # in Python's integers, which do not overflow
        total *= s[d]
    if total > <Py_ssize_t>1 << 58:
        raise RuntimeError(f"resize_: Storage size calculation overflowed with sizes={list(shape)}")
    n = total
    cdef size_t nbytes = (n + x.offset) * ITEMSIZE[x.code] if n else 0
    if (x.dev == CPU or x.dev == META) and (old is None or nbytes > old.length):
        if old is None:
            grown = new_tensor(len(shape), s, x.code, x.dev)
            x.store, x.ptr, x.offset = (<Tensor>grown).store, (<Tensor>grown).ptr, 0
        else:
            resize_storage(old, nbytes, x)
    set_geometry(x, len(shape), s, NULL)
    if memory_format is channels_last or memory_format is channels_last_3d:
        laid = with_channels_last(x, memory_format)
        set_geometry(x, x.rank, x.sizes, (<Tensor>laid).steps)
    wrote(x)
    return x


def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Make this tensor show the memory of another tensor or storage, from `storage_offset` on, by `size` and `stride` (default: all of it).

    A storage that ends before the last element gets larger. Raises RuntimeError for a tensor of another dtype or device, and where such a
    storage belongs to another object.

    >>> x = torch.empty(0)
    >>> x.set_(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    cdef Tensor x = self, y
    cdef Py_ssize_t zero = 0
    if x.dev == BATCHED or (isinstance(source, Tensor) and (<Tensor>source).dev == BATCHED):
        raise RuntimeError("vmap: set_ of a batched tensor is not supported")
    if not isinstance(storage_offset, int):
        raise TypeError(f"set_(): argument 'storage_offset' must be int, not {type(storage_offset).__name__}")
    check_inplace(x, "set_")
    if source is None:
        x.data = new_tensor(1, &zero, x.code, x.dev)        # its writes are still counted from where they were
        wrote(x)
        return x
    if isinstance(source, Tensor):
        y = source
        if y.code != x.code:
            raise RuntimeError(f"set_: expected a tensor of {dtype_of(x.code)}, got {describe(y)}")
    else:
        store = source._untyped_storage if hasattr(source, "_untyped_storage") else source
        n = (<Storage?>store).length // ITEMSIZE[x.code]
        zero = n
        y = from_storage(store, x.code, 1, &zero, NULL, 0)
    if y.dev != x.dev:
        raise RuntimeError(f'set_: Attempted to set the storage of a tensor on device "{x.device}" to a storage on different device'
                           f' "{y.device}". This is no longer allowed; the devices must match.')
    if size is not None:
        if stride is None:
            stride = contiguous_strides(size)
        need = last_byte(size, stride, storage_offset, ITEMSIZE[x.code])
        if y.store is not None and <object>y.store.length < need <= <Py_ssize_t>1 << 58:
            resize_storage(y.store, need)
        y = y.as_strided(size, stride, storage_offset)
    x.data = y
    wrote(x)
    return x


cdef object last_byte(size, stride, offset, int item):
    """How many bytes a storage needs for these elements."""
    if len(size) != len(stride) or 0 in size or offset < 0:
        return 0
    return (offset + 1 + sum([(n - 1) * s for n, s in zip(size, stride)])) * item


cdef list contiguous_strides(size):
    steps, run = [], 1
    for n in reversed(list(size)):
        steps.insert(0, run)
        run *= max(n, 1)
    return steps


def become(self, view, str name):
    """Give this tensor the geometry, and the history, of a view of itself."""
    cdef Tensor x = self, v = view
    if x.dev == BATCHED:
        become(as_batched(x).value, as_batched(v).value, name)
        replace_value(x, as_batched(x).value)
        return x
    check_inplace(x, name)
    set_geometry(x, v.rank, v.sizes, v.steps)
    x.ptr, x.offset = v.ptr, v.offset
    if v.node is not None:
        x.node, x.nr, x.needs_grad = v.node, v.nr, True
    wrote(x)
    return x


METHODS = {"copy_": copy_, "fill_": fill_, "zero_": zero_, "resize_": resize_, "set_": set_}
