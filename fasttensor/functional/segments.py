"""Rarely used neighbours of indexing: segment_reduce, nonzero_static, fill_diagonal_, embedding_renorm_."""
from fasttensor._core.dtype import DTYPES
from fasttensor.autograd.batched import all_samples
from fasttensor.autograd.checks import flag, int_of, real_number
from fasttensor.functional.arguments import check_writable, deliver, description, need_tensor
from fasttensor.functional.common import as_new
from fasttensor.functional.embedding import renorm_rows
from fasttensor.functional.masking import nonzero
from fasttensor.functional.rearranging import repeat_interleave

__all__ = ["segment_reduce", "nonzero_static", "embedding_renorm_"]
NEUTRAL = {"sum": 0, "mean": 0, "prod": 1, "max": float("-inf"), "min": float("inf")}
NAMES = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin"}


def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """Reductions of consecutive segments of data along axis: "sum", "mean", "max", "min" or "prod".

    lengths: data.shape[:axis] + [segments], sizes that add up to data's along axis; or offsets with one more entry, the
    bounds. initial: what each segment starts with. An empty segment without it gives the neutral value, its mean NaN.

    dtypes: floating point. Raises RuntimeError for another `reduce`, and where neither lengths nor offsets are given.

    >>> torch.segment_reduce(torch.tensor([1., 2., 3.]), "max", lengths=torch.tensor([2, 1]))
    tensor([2., 3.])
    """
    need_tensor(data, "segment_reduce", "data", 1)
    if reduce not in NEUTRAL:
        raise RuntimeError(f"segment_reduce(): reduce must be one of {', '.join(NEUTRAL)}, got {reduce!r}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): exactly one of lengths and offsets must be given")
    if data.numel() == 0 and data.dim() == 0:
        raise RuntimeError(f"segment_reduce(): data must have dimensions, got {description(data)}")
    sizes = (lengths if lengths is not None else offsets.diff()).long()
    if axis < 0 or sizes.dim() != axis + 1 or sizes.shape[:axis] != data.shape[:axis]:
        raise RuntimeError(f"segment_reduce(): {'lengths' if offsets is None else 'offsets'} must have data's shape before axis {axis} and one "
                           f"dimension more, got {description(sizes)} for {description(data)}")
    if not unsafe and sizes.numel() and not sizes.is_meta:
        if all_samples(sizes).min().item() < 0:
            raise RuntimeError("segment_reduce(): lengths contains negative value!")
        if (all_samples(sizes).sum(-1) != data.shape[axis]).any().item():
            raise RuntimeError(f"segment_reduce(): Expected all rows of lengths along axis to sum to data.size(axis) = {data.shape[axis]}")
    segments = sizes.shape[-1]
    start = NEUTRAL[reduce] if initial is None else initial
    shape = (*data.shape[:axis], segments, *data.shape[axis + 1:])
    flat = data.reshape(sizes.reshape(-1, segments).shape[0] * data.shape[axis] if sizes.numel() else 0, -1) if data.numel() else None
    if flat is None:
        out = data.new_full(shape, start)
    else:
        ids = repeat_interleave(sizes.reshape(-1))
        out = data.new_full((sizes.numel(), flat.shape[1]), start)
        out = out.scatter_reduce(0, ids.unsqueeze(1).expand(flat.shape), flat, NAMES[reduce]).reshape(shape)
    if reduce == "mean":
        counts = sizes.reshape(*sizes.shape, *(1,) * (len(shape) - sizes.dim())).to(out.dtype)
        out = out / counts if initial is None else out / counts.clamp(min=1)
    return out


def nonzero_static(input, *, size, fill_value=-1, out=None):
    """The first `size` positions of elements that are not zero, as ``nonzero`` gives them, filled up with fill_value.

    >>> torch.nonzero_static(torch.tensor([0, 3, 4]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    size = int_of(size, "nonzero_static", "size")
    if size < 0:
        raise RuntimeError(f"nonzero_static(): 'size' must be an non-negative integer, got {size}")
    if input.is_meta:
        return deliver(out, input.new_empty((size, input.dim()), dtype=DTYPES["int64"]), "nonzero_static", True)
    found = nonzero(input)
    made = found.new_full((size, input.dim()), fill_value)
    n = min(size, found.shape[0])
    made[:n] = found[:n]
    return deliver(out, as_new(made), "nonzero_static", True)


def fill_diagonal_(self, fill_value, wrap=False):
    """Fills the main diagonal, in place. Of more than two dimensions all must have one size. wrap: a tall matrix's
    diagonal starts again below.

    >>> torch.zeros(2, 2).fill_diagonal_(5)
    tensor([[5., 0.],
            [0., 5.]])
    """
    if not isinstance(fill_value, complex):
        real_number(fill_value, "fill_diagonal_", "fill_value")
    flag("fill_diagonal_", "wrap", wrap)
    if self.dim() < 2:
        raise RuntimeError(f"fill_diagonal_(): dimensions must larger than 1, got {description(self)}")
    if self.dim() > 2 and len(set(self.shape)) > 1:
        raise RuntimeError(f"fill_diagonal_(): all dimensions of input must be of equal length, got {description(self)}")
    check_writable(self, "fill_diagonal_")
    size, step, start = min(self.shape), sum(self.stride()), self.storage_offset()
    self.as_strided((size,), (step,), start).fill_(fill_value)
    if wrap and self.dim() == 2 and self.shape[0] > self.shape[1] + 1:
        height, width = self.shape
        more = -(-self.numel() // (width + 1)) - size
        self.as_strided((more,), (step,), start + self.stride(0) * (width + 1)).fill_(fill_value)
    return self


def embedding_renorm_(input, indices, max_norm, norm_type=2.0):
    """Scales, in place, those rows of input[num, width] that indices names and whose norm exceeds max_norm.

    Floating point; indices int32 or int64 of any shape. The norm is the `norm_type`-norm.

    >>> torch.embedding_renorm_(torch.tensor([[3., 4.]]), torch.tensor([0]), 5.0, 2.0)
    tensor([[3., 4.]])
    """
    need_tensor(input, "embedding_renorm_")
    need_tensor(indices, "embedding_renorm_", "indices", 2)
    real_number(max_norm, "embedding_renorm_", "max_norm")
    real_number(norm_type, "embedding_renorm_", "norm_type")
    renorm_rows(input, indices, max_norm, norm_type)
    return input


def row_iterator(self):
    """``reversed(x)``: the rows from last to first."""
    return self.flip(0) if self.dim() else self


METHODS = {"nonzero_static": nonzero_static, "fill_diagonal_": fill_diagonal_, "__reversed__": row_iterator}
NN_FUNCTIONAL = []
