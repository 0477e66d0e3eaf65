"""Whole Jacobians and Hessians: one run of the function, then a sweep a row (jacrev) or a column (jacfwd)."""
import functools

from fasttensor.autograd.grad_mode import is_grad_enabled
from fasttensor.functional.joining import stack
from fasttensor.functional.ranges import eye
from fasttensor.utils._pytree import tree_unflatten

from .transforms import Linear, Trace, creates

__all__ = ["jacrev", "jacfwd", "hessian"]


def basis(shape, lead, dtype):
    """One-hot tensors of a shape, one an element, each expanded over the batch dimensions `lead`."""
    n = shape.numel()
    rows = eye(n, dtype=dtype).reshape((n,) + (1,) * len(lead) + tuple(shape))
    return [r.expand(*lead, *shape) for r in rows] if lead else list(rows)


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """The Jacobian by reverse mode, a function of the same arguments: [*output shape, *input shape].

    argnums: an int or a tuple of ints. Trees of inputs or outputs give trees of Jacobians, outputs outside. The function
    runs once, and one sweep gives a row; chunk_size, which bounds memory elsewhere, has no effect.

    >>> import fasttensor as torch
    >>> torch.func.jacrev(torch.square)(torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        trace = Trace("jacrev", func, args, kwargs, argnums, has_aux)
        create = creates(trace)
        n_batch = len(trace.active)
        columns = []
        for k, (y, value) in enumerate(zip(trace.outs, trace.values)):
            lead = tuple(value.shape[:n_batch])
            rows = []
            for seed in basis(y.shape, lead, value.dtype):
                seeds = [None] * len(trace.outs)
                seeds[k] = seed
                rows.append(trace.sweep(seeds, create))
            parts = [joined(list(column), n_batch, y.shape, x) for column, x in zip(zip(*rows), trace.leaves)] if rows else [
                x.new_zeros(lead + tuple(y.shape) + tuple(x.shape[n_batch:])) for x in trace.leaves]
            columns.append(trace.result(parts, trace.input_spec, create))
        made = tree_unflatten(columns, trace.out_spec)
        return (made, trace.aux_output(create)) if has_aux else made
    return wrapped


def joined(rows, n_batch, shape, like):
    """Rows of a Jacobian, one an element of `shape`, as [*batches, *shape, *rest]."""
    made = stack(rows, n_batch)
    return made.reshape(tuple(made.shape[:n_batch]) + tuple(shape) + tuple(like.shape[n_batch:]))


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """The Jacobian a column at a time, a function of the same arguments: [*output shape, *input shape].

    As `jacrev`, for functions with fewer inputs than outputs. Columns come from reverse mode twice (`fasttensor.func.jvp`);
    the function runs once, so that `randomness` has no effect.

    Arguments and results are floating point. Raises RuntimeError for an argument that is no tensor.

    >>> import fasttensor as torch
    >>> torch.func.jacfwd(torch.square)(torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        trace = Trace("jacfwd", func, args, kwargs, argnums, has_aux)
        linear = Linear(trace)
        create = is_grad_enabled() and linear.has_outer()
        n_batch = len(trace.active)
        by_input = []
        for k, x in enumerate(trace.leaves):
            lead, shape = tuple(x.shape[:n_batch]), x.shape[n_batch:]
            columns = []
            for tangent in basis(shape, lead, x.dtype):
                tangents = [None] * len(trace.leaves)
                tangents[k] = tangent
                columns.append(linear(tangents, create))
            by_input.append([last(list(c), shape) for c in zip(*columns)] if columns else [
                y.new_zeros(tuple(y.shape) + tuple(shape)) for y in trace.values])
        made = tree_unflatten([trace.result([parts[j] for parts in by_input], trace.input_spec, create)
                               for j in range(len(trace.outs))], trace.out_spec)
        return (made, trace.aux_output(create)) if has_aux else made
    return wrapped


def last(columns, shape):
    made = stack(columns, columns[0].dim())
    return made.reshape(tuple(made.shape[:-1]) + tuple(shape))


def hessian(func, argnums=0):
    """The Hessian of a function, a function of the same arguments: [*output shape, *input shape, *input shape].

    It is `jacrev` of `jacrev`: forward mode, which is reverse mode twice here, would only add a sweep.

    Arguments and results are floating point. Raises RuntimeError for an argument that is no tensor.

    >>> import fasttensor as torch
    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacrev(jacrev(func, argnums), argnums)


