from fasttensor._core.storage cimport Storage

cdef enum:
    INLINE_DIMS = 8
    MAX_DIMS = 64
    CPU = 0
    CUDA = 1
    META = 2
    BATCHED = 3                     # stands for each sample of a batch inside vmap: its memory is that of another tensor

# What a node runs for its gradients: (node, gradient or tuple of gradients) -> gradient | tuple
ctypedef object (*backward_fn)(Node node, object grad)

cdef class Node:
    """One recorded operation. `inputs` holds, for each differentiable input, the Node that
    made it, the leaf Tensor itself, or None."""
    cdef backward_fn run
    cdef readonly object rule       # class with `backward(ctx, *grads)`; None for table rows
    cdef int op                     # row of the operation table, -1 otherwise
    cdef list inputs
    cdef list nrs                   # output numbers of the inputs' nodes; None when all 0
    cdef int n_outputs
    # shape, dtype and device of output 0, for checking gradients; `metas` where there are more, or more
    # than 8 dimensions: a list of (code, device, shape) or None
    cdef int out_rank
    cdef unsigned char out_code, out_dev
    cdef Py_ssize_t out_sizes[8]
    cdef list metas
    cdef tuple saved                # Tensors (outputs as detached aliases) or None
    cdef int saved_output           # bits of the indices in `saved` that are outputs' aliases
    cdef unsigned long saved_version
    cdef double par[4]
    cdef readonly str label         # PyTorch's name, "AddBackward0"
    cdef object out_meta            # for several outputs: list of (sizes, code) to make zeros from
    cdef unsigned long seq
    cdef bint released
    cdef bint materialize
    # engine state of the run under way
    cdef unsigned long visit
    cdef int pending
    cdef bint needed
    cdef object grad
    # rarely used: hooks, traceback of anomaly mode
    cdef object extra
    cdef readonly tuple needs_input_grad
    cdef dict __dict__
    cdef object __weakref__

cdef void set_saved_reader(tuple (*reader)(Node)) noexcept

cdef class Tensor:
    cdef Storage store
    cdef char *ptr                  # first element
    cdef Py_ssize_t offset          # of `ptr` in the storage, in elements
    cdef Py_ssize_t count           # number of elements
    cdef Py_ssize_t *sizes
    cdef Py_ssize_t *steps          # strides in elements
    cdef int rank
    cdef unsigned char code         # dtype
    cdef unsigned char dev
    cdef bint contig                # C-contiguous
    cdef bint needs_grad            # a leaf that requires grad, or has a node
    cdef bint inference
    cdef Node node                  # None for leaves: use node_of() for views
    cdef int nr                     # which output of the node
    cdef Tensor base                # differentiable view of
    cdef unsigned long base_seq     # the base's node when this view's node was computed
    cdef object grad_
    # engine state of a leaf in the run under way
    cdef unsigned long visit
    cdef int pending
    cdef bint needed
    cdef object acc
    cdef object meta                # rarely used: hooks, retain_grad, names
    cdef dict __dict__
    cdef object __weakref__
    cdef Py_ssize_t inline_dims[16]     # last, so that the fields that every operation reads lie together
    cdef object only_element(self, str what)

# New tensors. `sizes` may be any C array of `rank` values; nothing here records gradients.
cdef Tensor new_tensor(int rank, const Py_ssize_t *sizes, int code, int dev)    # uninitialised, contiguous
cdef Tensor new_like(Tensor x, int code)                                        # same shape, contiguous
cdef Tensor new_view(Tensor x, int rank, const Py_ssize_t *sizes, const Py_ssize_t *steps, Py_ssize_t offset)
cdef Node fresh_node()
cdef Tensor alias(Tensor x)                                                     # same view, no gradient history
cdef Tensor from_storage(Storage store, int code, int rank, const Py_ssize_t *sizes, const Py_ssize_t *steps, Py_ssize_t offset)
cdef bint set_geometry(Tensor t, int rank, const Py_ssize_t *sizes, const Py_ssize_t *steps) except False
cdef Tensor contiguous(Tensor x)            # x itself or a contiguous copy; no gradient history
cdef Tensor cast(Tensor x, int code)        # x itself or a converted contiguous copy; no gradient history
cdef bint same_shape(Tensor a, Tensor b) noexcept
cdef bint has_sizes(Tensor t, const Py_ssize_t *sizes) noexcept      # as many as it has dimensions
cdef bint is_dense(Tensor x) noexcept       # no holes and no overlap, in any order of dimensions
cdef int wrap_dim(Tensor x, object dim, str name) except -1
cdef void wrote(Tensor x)                   # counts an in-place write

# PyTorch-like description "float32[2, 3]" for error messages.
cdef str describe(object x)
