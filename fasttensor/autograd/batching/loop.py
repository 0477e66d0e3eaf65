"""An operation run once a sample, and users' Functions."""
from fasttensor._core.tensor import Tensor
from fasttensor.autograd.batched import batch, value_at
from fasttensor.autograd.rule import apply

DYNAMIC = {"MaskedSelect", "nonzero", "nonzero_tuple", "masked_select", "runs", "bincount", "repeated_positions"}
# argument that is written in place
WRITES = {"IndexPut": 0, "Scatter": 0, "IndexWrite": 0}


def refuse_dynamic(name):
    raise RuntimeError(f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over {name}: each"
                       " sample's result may have another shape. Use torch.where or a mask instead.")


def sample(x, level, i):
    """Sample i of an argument; arguments that are not batched as they are."""
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(sample(v, level, i) for v in x)
    value = value_at(x, level)
    return x if value is None else value.select(0, i)


def over_samples(function, args, level, name, kwargs=None):
    """function(*args) for every sample, stacked along dimension 0."""
    if name in DYNAMIC:
        refuse_dynamic(name)
    if level.size == 0:
        raise RuntimeError(f"vmap: {name}: the fallback path does not support vmap over dims of size 0")
    place = WRITES.get(name)
    if name == "MaskedFill" and args[3]:
        place = 0
    if place is not None and value_at(args[place], level) is None:
        from fasttensor.autograd.writing import refuse_unbatched
        refuse_unbatched(name, args[place], next(a for a in args if value_at(a, level) is not None))
    rows, parts = [], None
    for i in range(level.size):
        parts = [sample(a, level, i) for a in args]
        rows.append(function(*parts, **(kwargs or {})))
    first = rows[0]
    if isinstance(first, Tensor):
        for original, part in zip(args, parts):
            if rows[-1] is part and value_at(original, level) is not None:
                return original             # written in place, sample by sample
        return stacked(rows, name)
    if isinstance(first, (tuple, list)):
        columns = [stacked(column, name) for column in zip(*rows)]
        return type(first)(*columns) if hasattr(first, "_fields") or hasattr(first, "_parts") else tuple(columns)
    return same_for_all(rows, name)


def stacked(rows, name):
    if not isinstance(rows[0], Tensor):
        return same_for_all(rows, name)
    if any(r.shape != rows[0].shape for r in rows):
        refuse_dynamic(name)
    from fasttensor.autograd.rules.join import Stack
    return apply(Stack, 0, rows[0].dtype.code, *rows)


def same_for_all(values, name):
    """A result that is no tensor cannot differ from sample to sample."""
    if any(v is not values[0] and v != values[0] for v in values):
        raise RuntimeError(f"vmap: {name} gives a Python value that depends on the sample; use operations that give tensors")
    return values[0]


def each_sample(function, *args):
    """A function of tensors that vmap cannot look into, sample by sample; one of the arguments is batched."""
    from fasttensor.autograd.batched import find_level
    from fasttensor.autograd.batching.common import wrapped
    level = find_level(*args)
    return wrapped(over_samples(function, args, level, getattr(function, "__name__", "function")), level)


# --- users' autograd.Function ---
class VmapInfo(tuple):
    """What a Function's ``vmap`` staticmethod gets: batch_size and randomness."""

    def __new__(cls, batch_size, randomness):
        return super().__new__(cls, (batch_size, randomness))

    batch_size = property(lambda self: self[0])
    randomness = property(lambda self: self[1])


def user_function(function, args, level):
    """A Function by its own ``vmap`` staticmethod, or sample by sample where it has ``generate_vmap_rule``."""
    own = getattr(function, "vmap", None)
    if own is not None:
        if function.generate_vmap_rule:
            raise RuntimeError(f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True and an overriden vmap"
                               " staticmethod. Please set generate_vmap_rule=False or delete the overriden vmap staticmethod.")
        in_dims = tuple(None if value_at(a, level) is None else 0 for a in args)
        values = [a if value_at(a, level) is None else value_at(a, level) for a in args]
        made, out_dims = own(VmapInfo(level.size, level.randomness), in_dims, *values)
        if isinstance(made, Tensor):
            return given_back(made, out_dims, level)
        dims = out_dims if isinstance(out_dims, (tuple, list)) else (out_dims,) * len(made)
        return tuple(given_back(m, d, level) for m, d in zip(made, dims))
    if not function.generate_vmap_rule:
        raise RuntimeError(f"You tried to vmap over {function.__name__}, but it does not have vmap support. Please override and implement the"
                           " vmap staticmethod or set generate_vmap_rule=True.")
    from fasttensor.autograd.batching.common import wrapped
    return wrapped(over_samples(function.apply, args, level, function.__name__), level)


def given_back(made, dim, level):
    if not isinstance(made, Tensor) or dim is None:
        return made
    return batch(made.movedim(dim, 0), level)
