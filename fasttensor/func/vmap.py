"""vmap: a function of one sample, run for all samples of a batch at once."""
import functools

import fasttensor.autograd.batching  # noqa: F401 - how operations run on batches
from fasttensor._core.tensor import Tensor
from fasttensor.autograd.batched import batch, close_level, open_level, value_at
from fasttensor.functional.joining import cat
from fasttensor.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

__all__ = ["vmap"]


def name_of(func):
    return getattr(func, "__name__", None) or repr(func)


_get_name = name_of


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """The function `func` of one sample as a function of a batch of samples.

    in_dims: which dimension of each argument holds the samples, None for arguments that all samples share: an int,
    or nested tuples, lists and dicts of the arguments' structure. out_dims: where the results' batch dimension goes;
    None for results that no batched argument enters. randomness: "error", "same" (one draw for all samples) or
    "different". chunk_size: run the batch in parts of this size, to save memory. Keyword arguments are shared.

    Operations run once for all samples where they have a form for batches, else sample by sample. Raises RuntimeError
    for ``.item()``, ``bool()`` and results whose shape depends on values; ValueError for dimensions that do not fit.

    >>> import fasttensor as torch
    >>> torch.vmap(torch.dot)(torch.ones(2, 3), torch.tensor([[1., 2., 3.], [4., 5., 6.]]))
    tensor([ 6., 15.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        size, dims, leaves, spec = _process_batched_inputs(in_dims, args, func)
        if chunk_size is None or chunk_size >= size:
            return run(func, leaves, dims, spec, size, randomness, out_dims, kwargs)
        parts = []
        for start in range(0, size, chunk_size):
            n = min(chunk_size, size - start)
            piece = [x if d is None else x.narrow(d, start, n) for x, d in zip(leaves, dims)]
            outs, out_spec = tree_flatten(run(func, piece, dims, spec, n, randomness, out_dims, kwargs))
            parts.append(outs)
        out_at = output_dims(func, outs, out_spec, out_dims)
        return tree_unflatten([column[0] if d is None else cat(column, d) for column, d in zip(zip(*parts), out_at)], out_spec)
    return wrapped


def _process_batched_inputs(in_dims, args, func):
    """(batch size, dimension of each leaf, leaves, structure) after PyTorch's checks."""
    call = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple, list, dict)) and in_dims is not None:
        raise ValueError(f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
                         "function with no inputs. The latter is unsupported.")
    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(tuple(in_dims) if isinstance(in_dims, list) else in_dims, spec, lambda x: x is None)
    if dims is None:
        raise ValueError(f"{call}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                         f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}.")
    for i, (x, d) in enumerate(zip(leaves, dims)):
        if d is None:
            continue
        if not isinstance(d, int):
            raise ValueError(f"{call}: Got in_dim={d} for an input but in_dim must be either an integer dimension or None.")
        if not isinstance(x, Tensor):
            raise ValueError(f"{call}: Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor arguments, "
                             "please use None as the respective in_dim")
        if not -x.dim() <= d < x.dim():
            raise ValueError(f"{call}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {x.dim()} so expected in_dim "
                             f"to satisfy -{x.dim()} <= in_dim < {x.dim()}.")
        dims[i] = d % x.dim()
    return _validate_and_get_batch_size(dims, leaves), dims, leaves, spec


def _validate_and_get_batch_size(dims, leaves):
    """How many samples there are, the same number in all that are batched."""
    sizes = [x.shape[d] for x, d in zip(leaves, dims) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(s != sizes[0] for s in sizes):
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension")
    return sizes[0]


# Libraries whose containers go through vmap put their own functions in the place of the four that follow and the one before
# the last, under PyTorch's names for them.
def run(func, leaves, dims, spec, size, randomness, out_dims, kwargs):
    """What the function gives for one batch, its samples side by side."""
    level = open_level(size, randomness)
    try:
        inputs = _create_batched_inputs(dims, leaves, level, spec)
        return _unwrap_batched(func(*inputs, **kwargs), out_dims, level, size, func)
    finally:
        close_level(level)


def _create_batched_inputs(flat_in_dims, flat_args, vmap_level, args_spec):
    """The arguments of the function: one sample's shapes."""
    return tree_unflatten([x if d is None else _add_batch_dim(x, d, vmap_level) for x, d in zip(flat_args, flat_in_dims)], args_spec)


def _add_batch_dim(x, dim, level):
    return batch(x.movedim(dim, 0) if dim else x, level)


def _unwrap_batched(batched_outputs, out_dims, vmap_level, batch_size, func):
    """The results with the samples of all along their dimensions."""
    outs, out_spec = tree_flatten(batched_outputs)
    out_at = output_dims(func, outs, out_spec, out_dims)
    return tree_unflatten([_maybe_remove_batch_dim(name_of(func), x, vmap_level, batch_size, d) for x, d in zip(outs, out_at)], out_spec)


def _maybe_remove_batch_dim(name, batched_output, vmap_level, batch_size, out_dim):
    value = value_at(batched_output, vmap_level)
    if out_dim is None:
        if value is not None:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}.")
    if value is None:
        value = batched_output.unsqueeze(0).expand(batch_size, *batched_output.shape)
    if not -value.dim() <= out_dim < value.dim():
        raise IndexError(f"vmap({name}, ...): Dimension out of range (expected to be in range of "
                         f"[{-value.dim()}, {value.dim() - 1}], but got {out_dim})")
    return value.movedim(0, out_dim) if out_dim else value


def output_dims(func, outs, spec, out_dims):
    call = f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>)"
    if isinstance(out_dims, int) or out_dims is None:
        dims = [out_dims] * spec.num_leaves
    else:
        dims = _broadcast_to_and_flatten(out_dims, spec, lambda x: x is None)
        if dims is None and isinstance(out_dims, (tuple, list)) and spec.is_leaf() and len(out_dims) == 1:
            dims = list(out_dims)
        if dims is None and isinstance(out_dims, tuple) and spec.type is list and len(out_dims) == spec.num_children:
            dims = _broadcast_to_and_flatten(list(out_dims), spec, lambda x: x is None)
    if dims is None:
        raise ValueError(f"{call}: out_dims is not compatible with the structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} "
                         f"but outputs has structure {spec}.")
    for x, d in zip(outs, dims):
        if d is not None and not isinstance(d, int):
            raise ValueError(f"{call}: `out_dims` must be an int, None or a python collection of ints representing where in the outputs the vmapped "
                             "dimension should appear.")
        if not isinstance(x, Tensor) and d is not None:
            raise ValueError(f"vmap({name_of(func)}, ...): `{name_of(func)}` must only return Tensors, got type {type(x)}. Did you mean to set "
                             "out_dims= to None for output?")
    return dims
