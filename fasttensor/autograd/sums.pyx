"""sum and mean, which programs call most, recorded without an interpreted step.

What the quick way does not cover (other dtypes, dtype=, out=, several dimensions) goes to
functional/reduction.py.
"""
from fasttensor._core.dtype cimport FLOAT32, FLOAT64
from fasttensor._core.tensor cimport Tensor, Node, new_view, wrap_dim, CPU
from fasttensor._core.dispatch cimport grad_enabled, hook
from fasttensor.autograd.checks cimport named_dim
from fasttensor.autograd.recording cimport requires, new_node, add_input, set_history
from fasttensor.cpu.reduce_driver cimport total


cdef tuple NAMES = (("SumBackward0", "SumBackward1"), ("MeanBackward0", "MeanBackward1"))


cdef object spread(Node node, Tensor g):
    """g repeated over the reduced dimensions; out_meta is (sizes, reduced dimension or -1 for all, keepdim)."""
    cdef tuple sizes = node.out_meta[0]
    cdef int dim = node.out_meta[1], d, k = 0, rank = len(sizes)
    cdef Py_ssize_t s[64]
    cdef Py_ssize_t t[64]
    cdef bint keepdim = node.out_meta[2]
    if grad_enabled() and requires(g):
        return (g.unsqueeze(dim) if dim >= 0 and not keepdim else g).expand(sizes)
    for d in range(rank):
        s[d] = sizes[d]
        if dim < 0 or d == dim:
            t[d] = 0
            k += dim >= 0 and keepdim
        else:
            t[d] = g.steps[k]
            k += 1
    return new_view(g, rank, s, t, g.offset)


cdef object sum_backward(Node node, object grad):
    return spread(node, <Tensor>grad)


cdef object mean_backward(Node node, object grad):
    # divided last: every element has memory of its own, so that programs may write into the gradient
    return spread(node, <Tensor>grad) / node.par[0]


def try_total(x, dim, keepdim, bint mean):
    """The sum, or mean, of a float tensor over everything or one dimension; None for what is not covered."""
    cdef Tensor t, out
    cdef Node node
    cdef int d = -1, k
    cdef bint keep
    if not isinstance(x, Tensor) or not isinstance(keepdim, bool):
        return None
    keep = keepdim
    t = x
    if t.dev != CPU or not FLOAT32 <= t.code <= FLOAT64:
        return None
    if dim is None:
        if keep:
            return None
    elif type(dim) is int and t.rank:
        d = wrap_dim(t, dim, "mean" if mean else "sum")
    else:
        return None
    out = total(t, None if d < 0 else (d,), keep, t.code, mean)
    if grad_enabled() and requires(t):
        node = new_node(mean_backward if mean else sum_backward, NAMES[mean][d >= 0])
        add_input(node, t)
        node.out_meta = (tuple([t.sizes[k] for k in range(t.rank)]), d, keep)
        if mean:
            node.par[0] = t.sizes[d] if d >= 0 else t.count
        set_history(out, node, 0)
    return out


def sum(input, dim=None, keepdim=False, *, dtype=None, out=None, axis=None, keepdims=None):
    """Sum of all elements, or over `dim` (an int or several).

    Integers and bool give int64; `dtype` converts first. float32 is summed in lanes and joined in double.

    >>> import fasttensor as torch
    >>> torch.sum(torch.tensor([[1, 2], [3, 4]]), 0)
    tensor([4, 6])
    """
    cdef object got
    dim = named_dim("sum", dim, axis)
    if keepdims is not None:
        keepdim = keepdims
    if dtype is None and out is None:
        got = try_total(input, dim, keepdim, False)
        if got is not None:
            return got
    return hook("sum")(input, dim, keepdim, dtype, out)


def mean(input, dim=None, keepdim=False, *, dtype=None, out=None, axis=None, keepdims=None):
    """Mean of all elements, or over `dim`. RuntimeError for integers without `dtype`.

    >>> import fasttensor as torch
    >>> torch.mean(torch.tensor([1.0, 2.0, 6.0]))
    tensor(3.)
    """
    cdef object got
    dim = named_dim("mean", dim, axis)
    if keepdims is not None:
        keepdim = keepdims
    if dtype is None and out is None:
        got = try_total(input, dim, keepdim, True)
        if got is not None:
            return got
    return hook("mean")(input, dim, keepdim, dtype, out)
