"""Reading and writing through indices. Where the indices differ from sample to sample, the sample's own number
becomes one more index."""
from fasttensor.autograd.batched import value_at
from fasttensor.autograd.generated_functions import FUNCTIONS
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules import index as rules

from . import loop
from .common import full, padded


def numbers(level, rank):
    """0, 1, ... of the samples, shaped to broadcast against `rank` further dimensions."""
    from fasttensor.functional.ranges import arange
    return arange(level.size).reshape((level.size,) + (1,) * rank)


def layout(indices):
    """(rank of the indices together, dimension of the result where they stand, whether they are adjacent)."""
    places = [d for d, i in enumerate(indices) if i is not None]
    rank = max(indices[d].dim() for d in places)
    adjacent = places == list(range(places[0], places[-1] + 1))
    return rank, places[0] if adjacent else 0, adjacent


def with_numbers(level, indices):
    rank = layout(indices)[0]
    return numbers(level, rank), *[None if i is None else padded(i, level, rank) for i in indices]


def check_masks(name, indices):
    if any(i is not None and i.dtype.code <= 1 for i in indices):
        loop.refuse_dynamic(name)


def read(level, rule, x, *indices):
    value = value_at(x, level)
    batched = [i for i in indices if i is not None and value_at(i, level) is not None]
    if batched:
        check_masks("aten::index", indices)
    rank, at, adjacent = layout(indices)
    if not batched:
        if adjacent and all(i is None or i.dtype.code > 1 for i in indices):
            return apply(rules.Index, value, None, *indices)
        return NotImplemented
    if value is None:
        y = apply(rules.Index, x, *[None if i is None else padded(i, level, rank) for i in indices])
        return y.movedim(at, 0)
    y = apply(rules.Index, value, *with_numbers(level, indices))
    # the numbers are not adjacent to indices further on, so that all of them came first
    return y.movedim(tuple(range(1, rank + 1)), tuple(range(at + 1, at + rank + 1))) if at else y


def write(level, rule, x, value, how, *indices):
    target = value_at(x, level)
    if target is None:
        return NotImplemented
    check = [i for i in indices if i is not None]
    if any(i.dtype.code <= 1 for i in check):
        if any(value_at(i, level) is not None for i in check):
            loop.refuse_dynamic("aten::index_put")
        return NotImplemented
    rank, at, adjacent = layout(indices)
    result = x.dim() - len(check) + rank
    if value.dim() > result:
        return NotImplemented
    if all(value_at(i, level) is None for i in check):
        if not adjacent:
            return NotImplemented
        apply(rule, target, padded(value, level, result), how, None, *indices)
        return x
    if at:
        return NotImplemented
    apply(rule, target, padded(value, level, result), how, *with_numbers(level, indices))
    return x


def index_select(level, rule, x, dim, index):
    if value_at(index, level) is None and x.dim():
        return apply(rule, value_at(x, level), dim + 1, index)
    if not x.dim():
        return NotImplemented
    return read(level, rule, x, *(None,) * dim, index if index.dim() else index.unsqueeze(0))


def embedding(level, rule, weight, index, padding_idx, scale):
    table = value_at(weight, level)
    if table is None:
        return apply(rule, weight, value_at(index, level), padding_idx, scale)
    if scale:
        return NotImplemented
    if value_at(index, level) is None:
        y = apply(rules.Index, table, None, index)
        skip = index == padding_idx
    else:
        y = apply(rules.Index, table, *with_numbers(level, (index,)))
        skip = value_at(index, level) == padding_idx
    if padding_idx >= 0:
        y = FUNCTIONS["where"](skip.unsqueeze(-1), y.detach(), y)
    return y


def gather(level, rule, x, dim, index):
    if not x.dim() or not index.dim():
        return NotImplemented
    return apply(rule, full(x, level), dim + 1, full(index, level))


def scatter(level, rule, x, dim, index, src, how):
    target = value_at(x, level)
    if target is None or not x.dim() or not index.dim():
        return NotImplemented
    if src.dim() or value_at(src, level) is not None:
        if not src.dim():
            return NotImplemented
        src = full(src, level)
    apply(rule, target, dim + 1, full(index, level), src, how)
    return x


def scatter_reduce(level, rule, x, dim, index, src, reduce, include_self):
    if not x.dim() or not index.dim() or not src.dim():
        return NotImplemented
    return apply(rule, full(x, level), dim + 1, full(index, level), full(src, level), reduce, include_self)


def index_write(level, rule, x, dim, index, src, how):
    target = value_at(x, level)
    if target is None or value_at(index, level) is not None or not x.dim():
        return NotImplemented
    apply(rule, target, dim + 1, index, padded(src, level, x.dim()), how)
    return x


def masked_fill(level, rule, x, mask, value, inplace):
    target = value_at(x, level)
    if inplace and target is None:
        return NotImplemented
    if value_at(value, level) is not None:
        rank = max(x.dim(), mask.dim())
        made = FUNCTIONS["where"](padded(mask, level, rank), padded(value, level, rank), padded(x, level, rank))
        if not inplace:
            return made
        target.copy_(made)
        return x
    rank = max(x.dim(), mask.dim())
    if inplace:
        if mask.dim() > x.dim():
            return NotImplemented
        apply(rule, target, padded(mask, level, rank), value, True)
        return x
    return apply(rule, padded(x, level, rank), padded(mask, level, rank), value, False)


def masked_select(level, rule, x, mask):
    value = value_at(x, level)
    if value_at(mask, level) is not None or level.size == 0:
        return NotImplemented           # each sample's result may have another shape
    y = apply(rule, value, mask.expand(value.shape))
    return y.reshape(level.size, y.numel() // level.size)


RULES = {"Index": read, "IndexPut": write, "IndexSelect": index_select, "Embedding": embedding, "Gather": gather, "Scatter": scatter,
         "ScatterReduce": scatter_reduce, "IndexWrite": index_write, "MaskedFill": masked_fill, "MaskedSelect": masked_select}
