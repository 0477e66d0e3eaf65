"""Views: what all of them share, and reshaping.

Reshaping and permuting go back by the inverse view; cutting (select, slice, diagonal ...) goes back
by putting the gradient into zeros at the same place.
"""
from fasttensor._core.tensor cimport Tensor, Node, backward_fn, new_view, wrap_dim, describe, INLINE_DIMS, MAX_DIMS, BATCHED
from fasttensor._core.checked cimport mul_overflows
from fasttensor._core.dispatch cimport grad_enabled, inference_enabled
from fasttensor._core.dispatch cimport hook as python_hook
from fasttensor.autograd.checks cimport integer, later_bools
from fasttensor.autograd.checks import int_of
from fasttensor.autograd.recording cimport requires, new_node, add_input, set_history, shrink_to
from fasttensor.autograd.history cimport mark_view, scatter_view, geometry_of, view_overlaps
from fasttensor.autograd.batched cimport Batched, as_batched, memory_of, wrap


# --- backward functions; out_meta holds what each needs ---
cdef object reshape_backward(Node node, object grad):
    return reshape_to(<Tensor>grad, <tuple>node.out_meta)


cdef object expand_backward(Node node, object grad):
    return shrink_to(<Tensor>grad, <tuple>node.out_meta)


cdef object strided_backward(Node node, object grad):
    return scatter_view(<Tensor>grad, <tuple>node.out_meta)


cdef bint recorded(Tensor x) noexcept:
    return (x.needs_grad or x.base is not None) and requires(x) and grad_enabled()


cdef Tensor finish_view(Tensor view, Tensor x, backward_fn run, str label, object meta):
    cdef Node node
    if x.dev == BATCHED:
        return view_of_batch(view, as_batched(x), run, label, meta)
    if recorded(x):
        node = new_node(run, label)
        add_input(node, x)
        node.out_meta = meta
        set_history(view, node, 0)
    if not inference_enabled():
        mark_view(view, x)
    return view


cdef Tensor view_of_batch(Tensor view, Batched x, backward_fn run, str label, object meta):
    """The same view of every sample, given a sample's: the batch stays dimension 0."""
    cdef Py_ssize_t sizes[65]
    cdef Py_ssize_t steps[65]
    cdef Tensor value = x.value, all_samples
    cdef Py_ssize_t n = value.sizes[0]
    cdef int d
    if view.rank >= MAX_DIMS:
        raise RuntimeError(f"vmap: a tensor can have at most {MAX_DIMS} dimensions, the batch's included")
    sizes[0], steps[0] = n, value.steps[0]
    for d in range(view.rank):
        sizes[d + 1], steps[d + 1] = view.sizes[d], view.steps[d]
    all_samples = new_view(value, view.rank + 1, sizes, steps, view.offset)
    if meta is not None:
        if run is reshape_backward:
            meta = (n,) + <tuple>meta
        elif run is expand_backward:
            run, meta = expand_batch_backward, (1, (n,) + <tuple>meta)
        elif run is expand_batch_backward:
            meta = (meta[0] + 1, (n,) + <tuple>meta[1])
        elif label == "PermuteBackward0" or label == "TransposeBackward0" or label == "TBackward0":
            meta = (0,) + tuple([d + 1 for d in <tuple>meta])
        elif view_overlaps(memory_of(x)):
            # places in a sample's index space are places in that of all samples, which lie one after another
            meta = ((n,) + meta[0], (x.count,) + meta[1], meta[2], (n,) + meta[3], None, n * x.count)
        else:
            meta = geometry_of(all_samples, value)
    return wrap(finish_view(all_samples, value, run, label, meta), x.level)


cdef object expand_batch_backward(Node node, object grad):
    """Sums over the dimensions that each sample was expanded along; the first dimensions are batches."""
    cdef Tensor g = grad
    cdef int lead = node.out_meta[0], d, added
    cdef tuple sizes = node.out_meta[1]
    added = g.rank - len(sizes)
    cdef list dims = [d for d in range(lead, g.rank) if d < lead + added or (sizes[d - added] == 1 and g.sizes[d] != 1)]
    return g.sum(dims, True).reshape(sizes) if dims else g


cdef tuple sizes_of(Tensor x):
    cdef int d
    return tuple([x.sizes[d] for d in range(x.rank)])


cdef Tensor cut(Tensor x, int rank, const Py_ssize_t *sizes, const Py_ssize_t *steps, Py_ssize_t offset, str label, tuple geometry):
    """A part of x's elements as a view; `geometry` says which elements where memory cannot (see index_space)."""
    cdef Tensor view = new_view(x, rank, sizes, steps, offset)
    if geometry is None and recorded(x):
        geometry = geometry_of(view, x)
    return finish_view(view, x, strided_backward, label, geometry)


cdef Tensor index_space(Tensor x):
    """Where elements of a recorded x share memory (after expand or unfold), a tensor of its sizes in which they do not, else None.

    A part of x has its gradient at the part's indices alone, not at all indices that mean the same memory: the same cut of this
    tensor tells the indices. Its memory is never touched.
    """
    cdef Py_ssize_t steps[64]
    cdef Py_ssize_t run = 1
    cdef int d
    cdef Tensor memory = memory_of(x), flat
    if memory.contig or not recorded(x) or not view_overlaps(memory):
        return None
    for d in range(x.rank - 1, -1, -1):
        steps[d] = run
        run *= max(x.sizes[d], 1)
    flat = new_view(x, x.rank, x.sizes, steps, 0)
    flat.dev = memory.dev
    return flat


# --- reshaping ---
cdef tuple full_shape(Tensor x, object shape, str name):
    """The sizes with -1 resolved."""
    cdef Py_ssize_t known = 1, n
    cdef int free = -1, i = 0
    cdef list sizes = []
    cdef bint overflow = False, zero = False
    for s in later_bools(shape):
        n = integer(s, name, "shape")
        if n == -1:
            if free >= 0:
                raise RuntimeError(f"{name}: only one dimension can be inferred, got {tuple(shape)} for {describe(x)}")
            free = i
        elif n < 0:
            raise RuntimeError(f"{name}: invalid shape dimension {n} in {tuple(shape)}")
        else:
            zero |= n == 0
            overflow |= mul_overflows(known, n, &known)
        sizes.append(n)
        i += 1
    if i > MAX_DIMS:
        raise RuntimeError(f"{name}: a tensor can have at most {MAX_DIMS} dimensions, got {i}")
    if zero:
        known = 0
    elif overflow:
        raise RuntimeError(f"{name}: shape '{sizes}' is invalid for input of size {x.count} ({describe(x)})")
    if free >= 0:
        if known == 0:
            raise RuntimeError(f"{name}: cannot reshape tensor of 0 elements into shape {list(sizes)} because the unspecified dimension size -1"
                               f" can be any value and is ambiguous ({describe(x)})" if x.count == 0 else
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


cdef Tensor quick_view(Tensor x, tuple shape):
    """A contiguous tensor in another shape, given as plain ints; None where there is more to it, errors included."""
    cdef Py_ssize_t sizes[INLINE_DIMS]
    cdef Py_ssize_t known = 1, n
    cdef int free = -1, i, rank
    cdef object item
    if len(shape) == 1 and isinstance(shape[0], tuple):
        shape = <tuple>shape[0]         # a Size, too
    rank = len(shape)
    if not x.contig or x.dev == BATCHED or rank > INLINE_DIMS:
        return None
    for i in range(rank):
        item = shape[i]
        if type(item) is not int:
            return None
        n = item
        if n > 0 and known <= x.count:
            known *= n if n <= x.count else x.count + 1
        elif n == -1 and free < 0:
            free = i
        else:
            return None
        sizes[i] = n
    if free >= 0:
        if x.count % known:
            return None
        sizes[free] = x.count // known
    elif known != x.count:
        return None
    return finish_view(new_view(x, rank, sizes, NULL, x.offset), x, reshape_backward, "ViewBackward0", sizes_of(x) if recorded(x) else None)


cdef Tensor reshape_to(Tensor x, tuple shape):
    cdef Tensor view = try_view(x, shape, "ViewBackward0")
    if view is None:
        view = try_view(x.clone(memory_format=None).contiguous() if x.contig else x.contiguous(), shape, "UnsafeViewBackward0")
        view.base = None
    return view


cdef object shape_argument(tuple args, str name, str argument="size"):
    """Sizes given one by one or as one sequence. PyTorch takes no sizes at all only as an empty sequence."""
    if not args:
        raise TypeError(f'{name}() missing 1 required positional arguments: "{argument}"')
    if len(args) == 1 and not isinstance(args[0], int):
        if isinstance(args[0], Tensor) and (<Tensor>args[0]).rank == 0:
            return args
        if hasattr(args[0], "__index__") and not hasattr(args[0], "__len__"):
            return args
        if not hasattr(args[0], "__iter__"):
            raise TypeError(f"{name}(): argument '{argument}' must be tuple of ints, not {type(args[0]).__name__}")
        return args[0]
    return args


def view(self, *shape, size=None, dtype=None):
    """The same memory in another shape, of which one size may be -1, or with `view(dtype)` as another dtype.

    Raises RuntimeError where the numbers of elements differ, or the strides allow no such view (``reshape`` copies then). Another dtype of
    another width changes the last dimension, whose stride must be 1.

    >>> torch.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    >>> torch.tensor([1.0]).view(torch.int32)
    tensor([1065353216], dtype=torch.int32)
    """
    cdef Tensor x = <Tensor?>self
    cdef tuple sizes
    if not shape and (size is not None or dtype is not None):
        shape = (size if dtype is None else dtype,)
    if len(shape) == 1 and not isinstance(shape[0], (int, tuple, list, Tensor)):
        return python_hook("view_dtype")(self, shape[0])
    sizes = full_shape(x, shape_argument(shape, "view"), "view")
    got = try_view(x, sizes, "ViewBackward0")
    if got is None:
        raise RuntimeError(f"view size {list(sizes)} is not compatible with input tensor's size and stride {describe(x)}, {x.stride()}"
                           " (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.")
    return got


def reshape(input, *sizes, shape=None):
    """`input` in another shape: a view where the strides allow, else a copy. One size may be -1.

    Any dtype. RuntimeError for another number of elements and for more than one -1.

    >>> import fasttensor as torch
    >>> torch.arange(6).reshape(2, -1).shape
    torch.Size([2, 3])
    """
    cdef Tensor x = <Tensor?>input
    if shape is not None and not sizes:
        sizes = (shape,)
    got = quick_view(x, sizes) if sizes else None
    return got if got is not None else reshape_to(x, full_shape(x, shape_argument(sizes, "reshape", "shape"), "reshape"))


cdef tuple flat_shape(Tensor x, start_dim, end_dim, str name):
    cdef int a = wrap_dim(x, start_dim, name), b = wrap_dim(x, end_dim, name), d
    cdef Py_ssize_t n = 1
    if a > b:
        raise RuntimeError(f"{name}() has invalid args: start_dim cannot come after end_dim: {start_dim} and {end_dim} for {describe(x)}")
    if x.rank == 0:
        return (1,)
    for d in range(a, b + 1):
        n *= x.sizes[d]
    return tuple([x.sizes[d] for d in range(a)] + [n] + [x.sizes[d] for d in range(b + 1, x.rank)])


def flatten(input, start_dim=0, end_dim=-1):
    """The dimensions from `start_dim` to `end_dim`, both included, joined into one: a view where the strides allow, else a copy.

    A 0-d tensor becomes 1-d. Raises RuntimeError where `start_dim` comes after `end_dim`, IndexError for a dimension out of range.

    >>> torch.flatten(torch.ones(2, 3, 4), 1).shape
    torch.Size([2, 12])
    """
    cdef Tensor x = <Tensor?>input
    if start_dim == end_dim and x.rank:
        wrap_dim(x, start_dim, "flatten")
        return input
    return reshape_to(x, flat_shape(x, start_dim, end_dim, "flatten"))


def ravel(input):
    """A contiguous 1-d tensor of all elements in order, over the same memory where that is contiguous.

    >>> torch.ravel(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
    cdef Tensor x = <Tensor?>input
    return reshape_to(x if x.contig else x.contiguous(), (x.count,))


def unflatten(input, dim, sizes):
    """Dimension `dim` split into `sizes`, a tuple of ints of which one may be -1, as a view.

    Raises RuntimeError where the sizes do not multiply up to the dimension's, TypeError where they are no ints.

    >>> torch.unflatten(torch.arange(6), 0, (2, -1))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    cdef Tensor x = <Tensor?>input
    cdef int d = wrap_dim(x, dim, "unflatten")
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(f"unflatten(): argument 'sizes' must be tuple of ints, not {type(sizes).__name__}")
    sizes = [int_of(s, "unflatten", "sizes") for s in later_bools(sizes)]
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
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({x.sizes[d]})"
                           f" in the input tensor {describe(x)}")
    return view(x, sizes_of(x)[:d] + tuple(sizes) + sizes_of(x)[d + 1:])


def view_as(self, other):
    """This tensor in the shape of `other`, as a view; see :func:`view` for the errors.

    >>> torch.arange(4).view_as(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    cdef Tensor x = <Tensor?>self
    got = try_view(x, full_shape(x, sizes_of(<Tensor?>other), "view_as"), "ViewBackward0")
    return view(self, sizes_of(<Tensor?>other)) if got is None else got


def reshape_as(self, other):
    """This tensor in the shape of `other`: a view where the strides allow, else a copy. RuntimeError for another number of elements.

    >>> torch.arange(4).reshape_as(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return reshape_to(self, full_shape(self, sizes_of(<Tensor?>other), "reshape_as"))


METHODS = {
    "view": view, "reshape": reshape, "flatten": flatten, "ravel": ravel, "unflatten": unflatten, "view_as": view_as,
    "reshape_as": reshape_as,
}
