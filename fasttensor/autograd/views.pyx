"""Views: other shapes and strides over the same memory, with their gradients.

Reshaping and permuting go back by the inverse view; cutting (select, slice, diagonal ...) goes back
by putting the gradient into zeros at the same place.
"""
from cpython.slice cimport PySlice_Unpack, PySlice_AdjustIndices
from fasttensor._core.tensor cimport *
from fasttensor._core.dtype cimport ITEMSIZE, INT64, BOOL
from fasttensor._core.dispatch cimport grad_enabled, copy_into, binary_slots, SLOT_GETITEM, inference_enabled
from fasttensor._core.dispatch cimport hook as python_hook
from fasttensor.autograd.graph cimport *


# --- backward functions; out_meta holds what each needs ---
cdef object reshape_backward(Node node, object grad):
    return reshape_to(<Tensor>grad, <tuple>node.out_meta)


cdef object permute_backward(Node node, object grad):
    return permute_to(<Tensor>grad, <tuple>node.out_meta)


cdef object expand_backward(Node node, object grad):
    return shrink_to(<Tensor>grad, <tuple>node.out_meta)


cdef object strided_backward(Node node, object grad):
    return scatter_view(<Tensor>grad, <tuple>node.out_meta)


cdef inline bint recorded(Tensor x) noexcept:
    return (x.needs_grad or x.base is not None) and requires(x) and grad_enabled()


cdef Tensor finish_view(Tensor view, Tensor x, backward_fn run, str label, object meta):
    cdef Node node
    if recorded(x):
        node = new_node(run, label)
        add_input(node, x)
        node.out_meta = meta
        set_history(view, node, 0)
    if not inference_enabled():
        mark_view(view, x)
    return view


cdef tuple sizes_of(Tensor x):
    cdef int d
    return tuple([x.sizes[d] for d in range(x.rank)])


cdef Tensor cut(Tensor x, int rank, const Py_ssize_t *sizes, const Py_ssize_t *steps, Py_ssize_t offset, str label):
    """A part of x's elements as a view."""
    cdef Tensor view = new_view(x, rank, sizes, steps, offset)
    return finish_view(view, x, strided_backward, label, geometry_of(view, x) if recorded(x) else None)


# --- reshaping ---
cdef tuple full_shape(Tensor x, object shape, str name):
    """The sizes with -1 resolved."""
    cdef Py_ssize_t known = 1, n
    cdef int free = -1, i = 0
    cdef list sizes = []
    for s in shape:
        n = s
        if n == -1:
            if free >= 0:
                raise RuntimeError(f"{name}: only one dimension can be inferred, got {tuple(shape)}")
            free = i
        elif n < 0:
            raise RuntimeError(f"{name}: invalid shape dimension {n} in {tuple(shape)}")
        else:
            known *= n
        sizes.append(n)
        i += 1
    if free >= 0:
        if known == 0:
            raise RuntimeError(f"{name}: cannot reshape tensor of 0 elements into shape {list(sizes)} because the unspecified dimension size -1"
                               " can be any value and is ambiguous" if x.count == 0 else
                               f"{name}: shape '{list(sizes)}' is invalid for input of size {x.count} ({describe(x)})")
        if x.count % known:
            raise RuntimeError(f"{name}: shape '{list(sizes)}' is invalid for input of size {x.count} ({describe(x)})")
        sizes[free] = x.count // known
    elif known != x.count:
        raise RuntimeError(f"{name}: shape '{list(sizes)}' is invalid for input of size {x.count} ({describe(x)})")
    return tuple(sizes)


cdef bint view_steps(Tensor x, tuple shape, Py_ssize_t *steps) noexcept:
    """Strides that show x in another shape, or False where only a copy can.

    Runs of x's dimensions that lie in memory as one are split among the new dimensions.
    """
    cdef int rank = len(shape), k = rank - 1, d
    cdef Py_ssize_t run = 1, base, taken = 1, step, size
    if x.count == 0 or x.contig:
        step = 1
        for d in range(rank - 1, -1, -1):
            steps[d] = step
            size = shape[d]
            step *= size if size > 1 else 1
        return True
    base = x.steps[x.rank - 1] if x.rank else 1
    for d in range(x.rank - 1, -1, -1):
        run *= x.sizes[d]
        # does the run end here?
        if d == 0 or (x.sizes[d - 1] != 1 and x.steps[d - 1] != run * base):
            while k >= 0 and (taken < run or <Py_ssize_t>shape[k] == 1):
                steps[k] = taken * base
                taken *= <Py_ssize_t>shape[k]
                k -= 1
            if taken != run:
                return False
            if d > 0:
                base, run, taken = x.steps[d - 1], 1, 1
    return k < 0


cdef Tensor try_view(Tensor x, tuple shape, str label):
    """x in another shape without a copy, or None."""
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d, rank = len(shape)
    cdef Tensor view
    if rank > 64 or not view_steps(x, shape, steps):
        return None
    for d in range(rank):
        sizes[d] = shape[d]
    view = new_view(x, rank, sizes, steps, x.offset)
    return finish_view(view, x, reshape_backward, label, sizes_of(x) if recorded(x) else None)


cdef Tensor reshape_to(Tensor x, tuple shape):
    cdef Tensor view = try_view(x, shape, "ViewBackward0")
    if view is None:
        view = try_view(x.clone(memory_format=None).contiguous(), shape, "UnsafeViewBackward0")
        view.base = None
    return view


cdef object shape_argument(tuple args, str name):
    """Sizes given one by one or as one sequence."""
    if len(args) == 1 and not isinstance(args[0], int):
        if isinstance(args[0], Tensor) and (<Tensor>args[0]).rank == 0:
            return args
        if hasattr(args[0], "__index__") and not hasattr(args[0], "__len__"):
            return args
        return args[0]
    return args


def view(self, *shape):
    """The same memory in another shape, or with `view(dtype)` as another dtype.

    Raises RuntimeError where the strides do not allow it: use ``reshape``.
    """
    cdef Tensor x = self
    cdef tuple sizes
    if len(shape) == 1 and not isinstance(shape[0], (int, tuple, list, Tensor)):
        return python_hook("view_dtype")(self, shape[0])
    sizes = full_shape(x, shape_argument(shape, "view"), "view")
    got = try_view(x, sizes, "ViewBackward0")
    if got is None:
        raise RuntimeError(f"view size {list(sizes)} is not compatible with input tensor's size and stride {describe(x)}, {x.stride()}"
                           " (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.")
    return got


def reshape(input, *shape):
    """`input` in another shape: a view where the strides allow, else a copy. One size may be -1.

    >>> import fasttensor as torch
    >>> torch.arange(6).reshape(2, -1).shape
    torch.Size([2, 3])
    """
    cdef Tensor x = input
    return reshape_to(x, full_shape(x, shape_argument(shape, "reshape"), "reshape"))


cdef tuple flat_shape(Tensor x, start_dim, end_dim, str name):
    cdef int a = wrap_dim(x, start_dim, name), b = wrap_dim(x, end_dim, name), d
    cdef Py_ssize_t n = 1
    if a > b:
        raise RuntimeError(f"{name}() has invalid args: start_dim cannot come after end_dim")
    if x.rank == 0:
        return (1,)
    for d in range(a, b + 1):
        n *= x.sizes[d]
    return tuple([x.sizes[d] for d in range(a)] + [n] + [x.sizes[d] for d in range(b + 1, x.rank)])


def flatten(input, start_dim=0, end_dim=-1):
    """The dimensions from start_dim to end_dim joined into one."""
    cdef Tensor x = input
    if start_dim == end_dim and x.rank:
        wrap_dim(x, start_dim, "flatten")
        return input
    return reshape_to(x, flat_shape(x, start_dim, end_dim, "flatten"))


def ravel(input):
    """A contiguous 1-d tensor of all elements."""
    cdef Tensor x = input
    return reshape_to(x if x.contig else x.contiguous(), (x.count,))


def unflatten(input, dim, sizes):
    """Dimension `dim` split into `sizes`, one of which may be -1."""
    cdef Tensor x = input
    cdef int d = wrap_dim(x, dim, "unflatten")
    if len(sizes) == 0:
        raise RuntimeError("unflatten: sizes must be non-empty")
    known = 1
    for s in sizes:
        known *= s if s != -1 else 1
    sizes = [x.sizes[d] // known if s == -1 and known else s for s in sizes]
    total = 1
    for s in sizes:
        total *= s
    if total != x.sizes[d]:
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({x.sizes[d]}) in the input tensor")
    return view(x, sizes_of(x)[:d] + tuple(sizes) + sizes_of(x)[d + 1:])


def view_as(self, other):
    """This tensor in the shape of `other`, as a view."""
    return view(self, sizes_of(other))


def reshape_as(self, other):
    """This tensor in the shape of `other`."""
    return reshape_to(self, full_shape(self, sizes_of(other), "reshape_as"))


# --- permuting ---
cdef Tensor permute_to(Tensor x, tuple dims):
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d, k
    cdef list inverse = None
    for d in range(x.rank):
        k = dims[d]
        sizes[d], steps[d] = x.sizes[k], x.steps[k]
    if recorded(x):
        inverse = [0] * x.rank
        for d in range(x.rank):
            inverse[dims[d]] = d
    return finish_view(new_view(x, x.rank, sizes, steps, x.offset), x, permute_backward, "PermuteBackward0",
                       tuple(inverse) if inverse is not None else None)


def permute(input, *dims):
    """The dimensions in another order, as a view.

    >>> import fasttensor as torch
    >>> torch.zeros(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """
    cdef Tensor x = input
    cdef list order = [wrap_dim(x, d, "permute") for d in (shape_argument(dims, "permute") if dims else ())]
    if len(order) != x.rank:
        raise RuntimeError(f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of"
                           f" dimensions i.e. input.dim() = {x.rank} is not equal to len(dims) = {len(order)}".replace("(sparse_coo)", ""))
    if len(set(order)) != x.rank:
        raise RuntimeError(f"permute(): duplicate dims are not allowed, got {tuple(order)}")
    return permute_to(x, tuple(order))


cdef Tensor swap(Tensor x, int a, int b):
    cdef list order = list(range(x.rank))
    if x.rank == 0:
        return finish_view(alias(x), x, reshape_backward, "TransposeBackward0", ())
    order[a], order[b] = b, a
    return permute_to(x, tuple(order))


def transpose(input, dim0, dim1):
    """Two dimensions swapped, as a view."""
    cdef Tensor x = input
    return swap(x, wrap_dim(x, dim0, "transpose"), wrap_dim(x, dim1, "transpose"))


def t(input):
    """A matrix transposed, as a view; vectors and 0-d tensors as they are."""
    cdef Tensor x = input
    if x.rank > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.rank}D ({describe(x)}): use .mT or transpose")
    return swap(x, 0, 1) if x.rank == 2 else swap(x, 0, 0) if x.rank else finish_view(alias(x), x, reshape_backward, "TBackward0", ())


def reversed_dims(self):
    """``Tensor.T``: all dimensions reversed."""
    cdef Tensor x = self
    return permute_to(x, tuple(range(x.rank - 1, -1, -1)))


def matrix_transpose(self):
    """``Tensor.mT``: the last two dimensions swapped."""
    cdef Tensor x = self
    if x.rank < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {x.rank}-D tensor.")
    return swap(x, x.rank - 2, x.rank - 1)


def movedim(input, source, destination):
    """Dimensions `source` moved to positions `destination`; the others keep their order."""
    cdef Tensor x = input
    source = (source,) if isinstance(source, int) else tuple(source)
    destination = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(source) != len(destination):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({source} dims) should contain the same number of dims as destination ({destination} dims)")
    src = [wrap_dim(x, d, "movedim") for d in source]
    dst = [wrap_dim(x, d, "movedim") for d in destination]
    if len(set(src)) != len(src) or len(set(dst)) != len(dst):
        raise RuntimeError(f"movedim: repeated dim in `source` ({source}) or `destination` ({destination})")
    if x.rank == 0:
        return finish_view(alias(x), x, reshape_backward, "PermuteBackward0", ())
    order = [-1] * x.rank
    for s, d in zip(src, dst):
        order[d] = s
    rest = iter([d for d in range(x.rank) if d not in src])
    return permute_to(x, tuple([next(rest) if o < 0 else o for o in order]))


# --- adding and dropping dimensions of size 1 ---
def unsqueeze(input, dim):
    """A dimension of size 1 inserted at `dim`.

    >>> import fasttensor as torch
    >>> torch.zeros(3).unsqueeze(0).shape
    torch.Size([1, 3])
    """
    cdef Tensor x = input
    cdef Py_ssize_t sizes[65]
    cdef Py_ssize_t steps[65]
    cdef int k, d, rank = x.rank
    cdef Py_ssize_t at = dim
    if not -(rank + 1) <= at <= rank:
        raise IndexError(f"unsqueeze: Dimension out of range (expected to be in range of [{-(rank + 1)}, {rank}], but got {at})")
    if at < 0:
        at += rank + 1
    for d in range(rank + 1):
        k = d if d < at else d - 1
        if d == at:
            sizes[d] = 1
            steps[d] = x.sizes[d] * x.steps[d] if d < rank else 1
        else:
            sizes[d], steps[d] = x.sizes[k], x.steps[k]
    return finish_view(new_view(x, rank + 1, sizes, steps, x.offset), x, reshape_backward, "UnsqueezeBackward0",
                       sizes_of(x) if recorded(x) else None)


def squeeze(input, dim=None):
    """Dimensions of size 1 dropped: all of them, or those in `dim` (an int or a tuple)."""
    cdef Tensor x = input
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d, k = 0
    cdef object dims
    if dim is None:
        dims = None
    elif isinstance(dim, (tuple, list)):
        dims = {wrap_dim(x, d, "squeeze") for d in dim}
        if len(dims) != len(dim):
            raise RuntimeError(f"squeeze: dim appears multiple times in the list of dims {dim}")
    else:
        dims = {wrap_dim(x, dim, "squeeze")}
    for d in range(x.rank):
        if x.sizes[d] == 1 and (dims is None or d in dims):
            continue
        sizes[k], steps[k] = x.sizes[d], x.steps[d]
        k += 1
    return finish_view(new_view(x, k, sizes, steps, x.offset), x, reshape_backward, "SqueezeBackward0",
                       sizes_of(x) if recorded(x) else None)


def expand(self, *sizes, implicit=False):
    """Dimensions of size 1 repeated without a copy; -1 keeps a size, new dimensions come first."""
    cdef Tensor x = self
    cdef Py_ssize_t s[64]
    cdef Py_ssize_t st[64]
    cdef object shape = shape_argument(sizes, "expand")
    cdef int rank = len(shape), lead = rank - x.rank, d
    cdef Py_ssize_t n
    if lead < 0 or rank > 64:
        raise RuntimeError(f"expand({describe(x)}, size={list(shape)}): the number of sizes provided ({rank}) must be greater or equal to"
                           f" the number of dimensions in the tensor ({x.rank})")
    for d in range(rank):
        n = shape[d]
        if d < lead:
            if n < 0:
                raise RuntimeError(f"expand: The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {d}")
            s[d], st[d] = n, 0
        elif n == -1 or n == x.sizes[d - lead]:
            s[d], st[d] = x.sizes[d - lead], x.steps[d - lead]
        elif x.sizes[d - lead] == 1 and n >= 0:
            s[d], st[d] = n, 0
        else:
            raise RuntimeError(f"The expanded size of the tensor ({n}) must match the existing size ({x.sizes[d - lead]}) at non-singleton"
                               f" dimension {d}.  Target sizes: {list(shape)}.  Tensor sizes: {list(sizes_of(x))}")
    return finish_view(new_view(x, rank, s, st, x.offset), x, expand_backward, "ExpandBackward0", sizes_of(x) if recorded(x) else None)


def expand_as(self, other):
    """This tensor expanded to the shape of `other`."""
    return expand(self, sizes_of(other))


# --- cutting ---
cdef Tensor select_at(Tensor x, int dim, Py_ssize_t index):
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d, k = 0
    for d in range(x.rank):
        if d != dim:
            sizes[k], steps[k] = x.sizes[d], x.steps[d]
            k += 1
    return cut(x, k, sizes, steps, x.offset + index * x.steps[dim], "SelectBackward0")


def select(input, dim, index):
    """One index of a dimension, which is dropped, as a view."""
    cdef Tensor x = input
    cdef int d
    cdef Py_ssize_t i = index
    if x.rank == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(x, dim, "select")
    if not -x.sizes[d] <= i < x.sizes[d]:
        raise IndexError(f"select(): index {i} out of range for tensor of size {list(sizes_of(x))} at dimension {d}")
    return select_at(x, d, i + x.sizes[d] if i < 0 else i)


cdef Tensor slice_at(Tensor x, int dim, Py_ssize_t start, Py_ssize_t length, Py_ssize_t step):
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d
    for d in range(x.rank):
        sizes[d], steps[d] = x.sizes[d], x.steps[d]
    sizes[dim], steps[dim] = length, steps[dim] * step
    return cut(x, x.rank, sizes, steps, x.offset + start * x.steps[dim], "SliceBackward0")


def narrow(input, dim, start, length):
    """`length` indices of a dimension from `start`, as a view."""
    cdef Tensor x = input
    cdef int d = wrap_dim(x, dim, "narrow")
    cdef Py_ssize_t s = start, n = length
    if x.rank == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if n < 0:
        raise RuntimeError(f"narrow(): length must be non-negative, got {n}.")
    if not -x.sizes[d] <= s <= x.sizes[d]:
        raise IndexError(f"narrow: start out of range (expected to be in range of [{-x.sizes[d]}, {x.sizes[d]}], but got {s})")
    if s < 0:
        s += x.sizes[d]
    if s + n > x.sizes[d]:
        raise RuntimeError(f"narrow: start ({s}) + length ({n}) exceeds dimension size ({x.sizes[d]}).")
    return slice_at(x, d, s, n, 1)


def slice_dim(input, dim=0, start=None, end=None, step=1):
    """The indices start, start + step, ... before `end` of a dimension, as a view."""
    cdef Tensor x = input
    cdef int d = wrap_dim(x, dim, "slice")
    cdef Py_ssize_t a, b, s, n
    PySlice_Unpack(slice(start, end, step), &a, &b, &s)
    if s <= 0:
        raise RuntimeError("slice step must be positive")
    n = PySlice_AdjustIndices(x.sizes[d], &a, &b, s)
    return slice_at(x, d, a, n, s)


def as_strided(input, size, stride, storage_offset=None):
    """A view with any shape and strides over the storage.

    Raises RuntimeError where it would reach outside the storage.
    """
    cdef Tensor x = input
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d, rank = len(size)
    cdef Py_ssize_t reach, offset = x.offset if storage_offset is None else storage_offset
    cdef bint empty = False
    if rank != len(stride) or rank > 64:
        raise RuntimeError(f"as_strided: mismatch in length of strides and shape: {list(size)}, {list(stride)}")
    if offset < 0:
        raise RuntimeError(f"as_strided: Tensor: invalid storage offset {offset}")
    reach = offset + 1
    for d in range(rank):
        sizes[d], steps[d] = size[d], stride[d]
        if sizes[d] < 0 or steps[d] < 0:
            raise RuntimeError(f"as_strided: Negative sizes or strides are not supported at the moment, got {list(size)}, {list(stride)}")
        if sizes[d] == 0:
            empty = True
        else:
            reach += (sizes[d] - 1) * steps[d]
    if not empty and x.store is not None and <size_t>(reach * ITEMSIZE[x.code]) > x.store.length:
        raise RuntimeError(f"as_strided: setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize"
                           f" {ITEMSIZE[x.code]} requiring a storage size of {reach * ITEMSIZE[x.code]} are out of bounds for storage of size {x.store.length}")
    return cut(x, rank, sizes, steps, offset, "AsStridedBackward0")


def diagonal(input, offset=0, dim1=0, dim2=1):
    """The diagonal of two dimensions as the last dimension of a view; `offset` above (or below) the main one."""
    cdef Tensor x = input
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int a = wrap_dim(x, dim1, "diagonal"), b = wrap_dim(x, dim2, "diagonal"), d, k = 0
    cdef Py_ssize_t n, start = x.offset, off = offset
    if x.rank < 2 or a == b:
        raise RuntimeError(f"diagonal: diagonal dimensions cannot be identical {dim1}, {dim2}")
    for d in range(x.rank):
        if d != a and d != b:
            sizes[k], steps[k] = x.sizes[d], x.steps[d]
            k += 1
    if off >= 0:
        n = min(x.sizes[a], x.sizes[b] - off)
    else:
        n = min(x.sizes[a] + off, x.sizes[b])
    n = max(n, 0)
    if n:
        start += off * x.steps[b] if off >= 0 else -off * x.steps[a]
    sizes[k], steps[k] = n, x.steps[a] + x.steps[b]
    return cut(x, k + 1, sizes, steps, start, "DiagonalBackward0")


def unfold(self, dimension, size, step):
    """Windows of `size` every `step` along a dimension, as a last dimension of a view."""
    cdef Tensor x = self
    cdef Py_ssize_t sizes[65]
    cdef Py_ssize_t steps[65]
    cdef int d, dim = wrap_dim(x, dimension, "unfold")
    cdef Py_ssize_t window = size, by = step, length = x.sizes[dim] if x.rank else 1
    if window < 0 or window > length:
        raise RuntimeError(f"unfold: maximum size for tensor at dimension {dimension} is {length} but size is {window}")
    if by <= 0:
        raise RuntimeError(f"unfold: step is {by} but must be > 0")
    for d in range(x.rank):
        sizes[d], steps[d] = x.sizes[d], x.steps[d]
    if x.rank == 0:
        sizes[0], steps[0] = window, 1
        return cut(x, 1, sizes, steps, x.offset, "UnfoldBackward0")
    sizes[dim], steps[dim] = (length - window) // by + 1, x.steps[dim] * by
    sizes[x.rank], steps[x.rank] = window, x.steps[dim]
    return cut(x, x.rank + 1, sizes, steps, x.offset, "UnfoldBackward0")


# --- basic indexing ---
cdef bint is_plain_int(object i):
    return isinstance(i, int) and not isinstance(i, bool)


cdef object getitem(object self, object index):
    """x[index] for ints, slices, None and Ellipsis; anything else is advanced indexing."""
    cdef Tensor x = <Tensor>self
    cdef Py_ssize_t i, a, b, s, n
    if is_plain_int(index):
        if x.rank == 0:
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number")
        i = index
        if not -x.sizes[0] <= i < x.sizes[0]:
            raise IndexError(f"index {i} is out of bounds for dimension 0 with size {x.sizes[0]}")
        return select_at(x, 0, i + x.sizes[0] if i < 0 else i)
    if type(index) is slice:
        if x.rank == 0:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        PySlice_Unpack(index, &a, &b, &s)
        if s <= 0:
            raise ValueError("step must be greater than zero")
        n = PySlice_AdjustIndices(x.sizes[0], &a, &b, s)
        return slice_at(x, 0, a, n, s)
    if type(index) is not tuple:
        if isinstance(index, Tensor) and (<Tensor>index).rank and x.rank:
            return python_hook("advanced_getitem")(x, index)
        index = (index,)
    view, rest = basic_part(x, <tuple>index)
    if rest is None:
        return view
    return python_hook("advanced_getitem")(view, rest)


def basic_part(Tensor x, tuple index):
    """The view that the ints, slices, Nones and Ellipsis of an index cut out, and the index that is left
    for advanced indexing (full slices and index tensors), or None."""
    cdef Py_ssize_t sizes[66]
    cdef Py_ssize_t steps[66]
    cdef Py_ssize_t offset = x.offset, a, b, s, n, i
    cdef int dim = 0, k = 0, used = 0, gap
    cdef list rest = None
    cdef bint advanced = False, seen = False
    for e in index:
        if e is Ellipsis or e is None:
            continue
        if is_bool_mask(e):
            used += mask_rank(e)
            advanced = True
            continue
        used += 1
        if not is_plain_int(e) and type(e) is not slice and not is_scalar_index(e):
            advanced = True
    if used > x.rank:
        raise IndexError(f"too many indices for tensor of dimension {x.rank} ({describe(x)})")
    gap = x.rank - used
    rest = []
    for e in index:
        if e is None:
            sizes[k], steps[k] = 1, x.sizes[dim] * x.steps[dim] if dim < x.rank else 1
            k += 1
            rest.append(FULL)
        elif e is Ellipsis:
            if seen:
                raise IndexError("an index can only have a single ellipsis ('...')")
            seen = True
            for _ in range(gap):
                sizes[k], steps[k] = x.sizes[dim], x.steps[dim]
                k += 1
                dim += 1
                rest.append(FULL)
        elif type(e) is slice:
            PySlice_Unpack(e, &a, &b, &s)
            if s <= 0:
                raise ValueError("step must be greater than zero")
            n = PySlice_AdjustIndices(x.sizes[dim], &a, &b, s)
            sizes[k], steps[k] = n, x.steps[dim] * s
            offset += a * x.steps[dim] if n else 0
            k += 1
            dim += 1
            rest.append(FULL)
        elif is_plain_int(e) or is_scalar_index(e):
            i = e
            if not -x.sizes[dim] <= i < x.sizes[dim]:
                raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {x.sizes[dim]}")
            offset += (i + x.sizes[dim] if i < 0 else i) * x.steps[dim]
            dim += 1
        else:
            rest.append(e)
            n = mask_rank(e) if is_bool_mask(e) else 1
            for _ in range(n):
                sizes[k], steps[k] = x.sizes[dim], x.steps[dim]
                k += 1
                dim += 1
        if k > 64:
            raise RuntimeError("indexing: a tensor can have at most 64 dimensions")
    while dim < x.rank:
        sizes[k], steps[k] = x.sizes[dim], x.steps[dim]
        k += 1
        dim += 1
    if advanced and used_as_is(x, index):
        return x, tuple(rest)
    return cut(x, k, sizes, steps, offset, "SliceBackward0"), (tuple(rest) if advanced else None)


FULL = slice(None)


cdef bint used_as_is(Tensor x, tuple index):
    """Whether the basic part changes nothing: only full slices beside the tensors."""
    for e in index:
        if e is None or is_plain_int(e) or (type(e) is slice and e != FULL) or is_scalar_index(e):
            return False
    return True


cdef bint is_bool_mask(object e):
    if isinstance(e, bool):
        return True
    if isinstance(e, Tensor):
        return (<Tensor>e).code == BOOL or ((<Tensor>e).code == 1 and False)
    return getattr(getattr(e, "dtype", None), "kind", "") == "b"


cdef int mask_rank(object e) except -1:
    return 0 if isinstance(e, bool) else e.ndim


cdef bint is_scalar_index(object e):
    """A 0-d integer tensor or numpy integer stands for its number."""
    if isinstance(e, Tensor):
        return (<Tensor>e).rank == 0 and (<Tensor>e).code != BOOL and (<Tensor>e).code <= INT64 and not (<Tensor>e).needs_grad
    return not isinstance(e, (int, list, tuple, slice)) and hasattr(e, "__index__") and getattr(e, "ndim", 0) == 0 \
        and getattr(getattr(e, "dtype", None), "kind", "i") != "b"


binary_slots()[SLOT_GETITEM] = getitem

METHODS = {
    "view": view, "reshape": reshape, "flatten": flatten, "ravel": ravel, "unflatten": unflatten, "view_as": view_as,
    "reshape_as": reshape_as, "permute": permute, "transpose": transpose, "swapaxes": transpose, "swapdims": transpose, "t": t,
    "movedim": movedim, "moveaxis": movedim, "unsqueeze": unsqueeze, "squeeze": squeeze, "expand": expand, "expand_as": expand_as,
    "select": select, "narrow": narrow, "as_strided": as_strided, "diagonal": diagonal, "unfold": unfold,
    "T": property(reversed_dims), "mT": property(matrix_transpose),
}
FUNCTIONS = {name: METHODS[name] for name in (
    "reshape", "flatten", "ravel", "unflatten", "permute", "transpose", "swapaxes", "swapdims", "t", "movedim", "moveaxis",
    "unsqueeze", "squeeze", "select", "narrow", "as_strided", "diagonal")}
