"""What a tensor's memory is, and other readings of the same bytes."""
from fasttensor._core.tensor cimport Tensor, Node, from_storage, CPU, META, BATCHED
from fasttensor._core.storage cimport new_storage
from fasttensor._core.dtype cimport ITEMSIZE, FLOAT16, code_of, dtype_of, real_code, complex_code, is_float_code, is_complex_code
from fasttensor._core.element cimport scalar_code
from fasttensor._core.dispatch cimport grad_enabled
from fasttensor.autograd.recording cimport requires, new_node, add_input, set_history
from fasttensor.autograd.elementwise cimport result_code
from fasttensor.autograd.batched cimport as_batched, wrap
from fasttensor.autograd.checks cimport integer


def strides(Tensor x not None):
    """The strides in elements."""
    cdef int d
    return tuple([x.steps[d] for d in range(x.rank)])


cdef Py_ssize_t place_of(Tensor x, dim, str name) except -1:
    cdef Py_ssize_t n = x.rank if x.rank else 1, d = integer(dim, name, "dim")
    if not -n <= d < n or x.rank == 0:
        raise IndexError(f"{name}: Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return d + n if d < 0 else d


def size(Tensor self not None, dim=None):
    """The shape, or with `dim` the size of one dimension. Raises IndexError for a dimension out of range.

    >>> torch.ones(2, 3).size(), torch.ones(2, 3).size(-1)
    (torch.Size([2, 3]), 3)
    """
    return self.shape if dim is None else self.sizes[place_of(self, dim, "size")]


def stride(Tensor self not None, dim=None):
    """The steps in elements between neighbours along each dimension, as a tuple, or along one. IndexError for a dimension out of range.

    >>> torch.ones(2, 3).stride()
    (3, 1)
    """
    return strides(self) if dim is None else self.steps[place_of(self, dim, "stride")]


def dim(Tensor self not None):
    """The number of dimensions.

    >>> torch.ones(2, 3).dim()
    2
    """
    return self.rank


def numel(Tensor input not None):
    """The number of elements, the product of the sizes.

    >>> torch.numel(torch.ones(2, 3))
    6
    """
    return input.count


def is_floating_point(Tensor input not None):
    """Whether the dtype is float16, bfloat16, float32 or float64 (or a float8 type).

    >>> torch.is_floating_point(torch.ones(2)), torch.is_floating_point(torch.tensor(1))
    (True, False)
    """
    return is_float_code(input.code)


def is_complex(Tensor input not None):
    """Whether the dtype is complex64 or complex128.

    >>> torch.is_complex(torch.tensor(1j))
    True
    """
    return is_complex_code(input.code)


def data_ptr(self):
    """Address in memory of the first element, in bytes; 0 for a tensor without elements and on meta.

    >>> x = torch.ones(2)
    >>> x[1:].data_ptr() - x.data_ptr()
    4
    """
    if (<Tensor?>self).dev == BATCHED:
        raise RuntimeError("vmap: data_ptr: a batched tensor has no memory of its own")
    return <size_t>(<Tensor?>self).ptr if (<Tensor>self).count and (<Tensor>self).dev != META else 0


def storage_offset(self):
    """Number of elements between the storage's start and this tensor's first element.

    >>> torch.ones(5)[2:].storage_offset()
    2
    """
    return (<Tensor?>self).offset


def storage_of(Tensor x not None):
    """The storage. A tensor that no constructor filled gets an empty one, so that it can be copied and saved."""
    if x.dev == BATCHED:
        raise RuntimeError("vmap: untyped_storage: a batched tensor has no memory of its own")
    if x.store is None and x.dev == CPU:
        x.store = new_storage(0)
        x.ptr = x.store.ptr
    return x.store


def is_inference(self):
    """Whether it was made in inference mode, without what gradients need.

    >>> with torch.inference_mode():
    ...     x = torch.ones(2)
    >>> x.is_inference()
    True
    """
    return (<Tensor?>self).inference


def result_type(a, b):
    """The dtype of an operation between two tensors or numbers."""
    for v in (a, b):
        if not isinstance(v, Tensor) and scalar_code(v) < 0:
            raise TypeError(f"result_type(): arguments must be Tensors or Numbers, not {type(v).__name__}")
    return dtype_of(result_code(a, b, None, 0))


cdef object view_dtype_backward(Node node, object grad):
    return view_dtype(<Tensor>grad, dtype_of(<int>node.par[0]))


def view_dtype(Tensor x not None, d):
    """The same bytes as elements of another dtype: the last dimension's size changes with the element's."""
    cdef int code = code_of(d), old = ITEMSIZE[x.code], new = ITEMSIZE[code], i
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef Py_ssize_t offset = x.offset
    cdef Tensor y
    cdef Node node
    if x.dev == BATCHED and (x.rank or old == new):
        return wrap(view_dtype(as_batched(x).value, d), as_batched(x).level)
    for i in range(x.rank):
        sizes[i], steps[i] = x.sizes[i], x.steps[i]
    if old != new:
        if x.rank == 0:
            raise RuntimeError(f"self.dim() cannot be 0 to view {dtype_of(x.code)} as {d} (different element sizes)")
        if x.steps[x.rank - 1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 to view {dtype_of(x.code)} as {d} (different element sizes), but got {x.steps[x.rank - 1]}")
        if new > old:
            ratio = new // old
            if x.sizes[x.rank - 1] % ratio or x.offset % ratio:
                raise RuntimeError(f"self.size(-1) must be divisible by {ratio} to view {dtype_of(x.code)} as {d} (different element sizes),"
                                   f" but got {x.sizes[x.rank - 1]}")
            for i in range(x.rank - 1):
                if x.steps[i] % ratio:
                    raise RuntimeError(f"self.stride({i}) must be divisible by {ratio} to view {dtype_of(x.code)} as {d}")
                steps[i] //= ratio
            sizes[x.rank - 1] //= ratio
            offset //= ratio
        else:
            ratio = old // new
            for i in range(x.rank - 1):
                steps[i] *= ratio
            sizes[x.rank - 1] *= ratio
            offset *= ratio
    y = from_storage(x.store, code, x.rank, sizes, steps, offset)
    y.ptr, y.dev = x.ptr, x.dev
    if grad_enabled() and requires(x) and code >= FLOAT16:
        node = new_node(view_dtype_backward, "ViewBackward1")
        add_input(node, x)
        node.par[0] = x.code
        set_history(y, node, 0)
    return y


def complex_parts(Tensor x not None):
    """A complex tensor's parts as a last dimension, over the same memory, without history."""
    cdef Py_ssize_t sizes[65]
    cdef Py_ssize_t steps[65]
    cdef int d
    for d in range(x.rank):
        sizes[d], steps[d] = x.sizes[d], 2 * x.steps[d]
    sizes[x.rank], steps[x.rank] = 2, 1
    return from_storage(x.store, real_code(x.code), x.rank + 1, sizes, steps, 2 * x.offset)


def parts_as_complex(Tensor x not None):
    """The inverse of complex_parts."""
    cdef Py_ssize_t steps[64]
    cdef int d
    for d in range(x.rank - 1):
        steps[d] = x.steps[d] // 2
    return from_storage(x.store, complex_code(x.code), x.rank - 1, x.sizes, steps, x.offset // 2)
