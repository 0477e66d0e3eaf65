"""Masks of attention by blocks: which squares of queries x keys are hidden, seen in part, or seen in full."""
import fasttensor as ft

_DEFAULT_SPARSE_BLOCK_SIZE = 128


def noop_mask(batch, head, token_q, token_kv):
    """The mask that hides nothing.

    >>> nn.attention.flex_attention.noop_mask(*torch.zeros(4, dtype=torch.int64).unbind())
    tensor(True)
    """
    return batch.new_ones((), dtype=ft.bool)


def unknown_mask(batch, head, token_q, token_kv):
    """The mask_mod of a part of a BlockMask, whose batch and head numbers are no longer those of the whole."""
    raise RuntimeError("flex_attention: a part of a BlockMask has no mask_mod of its own; set part.mask_mod to a function of the part's "
                       "batch, head, query and key numbers")


def each_index(function, scored):
    """`function(batch, head, query, key)`, or of (score, ...), over four vectors of numbers: (B, H, Q, K)."""
    for place in (3, 2, 1, 0):
        dims = [None] * 4
        dims[place] = 0
        function = ft.vmap(function, in_dims=(0, *dims) if scored else tuple(dims))
    return function


def numbers(*sizes, device=None):
    """0, 1, ... size - 1 for each size."""
    return [ft.arange(n, device=device) for n in sizes]


def _two(size):
    both = (size, size) if isinstance(size, int) else tuple(size)
    if len(both) != 2 or any(not isinstance(n, int) or n < 1 for n in both):
        raise ValueError(f"BLOCK_SIZE must be a positive int or two of them, got {size!r}")
    return both


def _ordered(dense):
    """How many blocks of each row are set, and their numbers first, both int32."""
    return dense.sum(-1).to(ft.int32), ft.argsort(dense.to(ft.int32), dim=-1, descending=True, stable=True).to(ft.int32)


def _dense(counts, indices, columns=None):
    """The opposite of `_ordered`: bool (B, H, rows, columns)."""
    columns = columns or indices.shape[-1]
    listed = ft.arange(indices.shape[-1], device=indices.device) < counts.unsqueeze(-1)
    made = ft.zeros(*indices.shape[:-1], columns + 1, dtype=ft.bool, device=indices.device)
    return made.scatter(-1, ft.where(listed, indices.long(), columns), True)[..., :-1]


class BlockMask:
    """A mask of (B, H, Q, K) as blocks of `BLOCK_SIZE` = (queries, keys), made by `create_block_mask`.

    Of each row of blocks `kv_num_blocks` (B, H, rows) are seen in part, their column numbers first in `kv_indices` (B, H, rows,
    columns); `full_kv_num_blocks` and `full_kv_indices` name those seen in full, where `mask_mod` need not be asked. `q_num_blocks`,
    `q_indices` and their full forms are the same by columns. All int32.

    >>> from fasttensor.nn.attention.flex_attention import create_block_mask
    >>> create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 256, 256).to_dense()
    tensor([[[[1, 0],
              [1, 1]]]], dtype=torch.int32)
    """
    _TENSORS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices",
                "full_q_num_blocks", "full_q_indices")

    def __init__(self, seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num_blocks, q_indices,
                 full_q_num_blocks, full_q_indices, BLOCK_SIZE=(_DEFAULT_SPARSE_BLOCK_SIZE,) * 2, mask_mod=noop_mask, **orders):
        if kv_indices.dim() < 2:
            raise RuntimeError(f"BlockMask must have at least 2 dimensions, got kv_indices of {tuple(kv_indices.shape)}")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = tuple(seq_lengths), _two(BLOCK_SIZE), mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks, kv_indices, full_kv_num_blocks=None, full_kv_indices=None,
                       BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, mask_mod=None, seq_lengths=None, compute_q_blocks=True, **orders):
        """A mask from the blocks of each row of blocks; what `create_block_mask` works out from a function."""
        size = _two(BLOCK_SIZE)
        if kv_indices.dim() < 2:
            raise RuntimeError(f"BlockMask must have at least 2 dimensions, got kv_indices of {tuple(kv_indices.shape)}")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        if seq_lengths is None:
            seq_lengths = kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1]
        columns = [None] * 4
        if compute_q_blocks:
            columns[:2] = _ordered(_dense(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_indices is not None:
                columns[2:] = _ordered(_dense(full_kv_num_blocks, full_kv_indices).transpose(-2, -1))
        return cls(seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *columns, size, mask_mod or noop_mask)

    @property
    def shape(self):
        """(B, H, queries, keys)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def partial_blocks(self):
        """bool (B, H, rows, columns): where `mask_mod` is asked."""
        return _dense(self.kv_num_blocks, self.kv_indices)

    def full_blocks(self):
        """bool (B, H, rows, columns): what is seen in full; None where that is not kept apart."""
        return None if self.full_kv_indices is None else _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def to_dense(self):
        """1 for each block that is seen, in part or in full, 0 for the others: int32 (B, H, rows, columns)."""
        full = self.full_blocks()
        return (self.partial_blocks() if full is None else self.partial_blocks() | full).to(ft.int32)

    def numel(self):
        """Elements of the mask: B H Q K."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    def sparsity(self):
        """Percent of the mask's elements in hidden blocks; negative where blocks reach beyond the ends."""
        return 100 * (1 - int(self.to_dense().sum()) * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def elements(self, device=None):
        """The mask itself: bool (B, H, Q, K), True where a query sees a key."""
        (rows, columns), (q_len, kv_len) = self.BLOCK_SIZE, self.seq_lengths
        seen = each_index(self.mask_mod, False)(*numbers(*self.shape, device=device))

        def spread(blocks):
            return blocks.repeat_interleave(rows, -2).repeat_interleave(columns, -1)[..., :q_len, :kv_len]
        seen = seen & spread(self.partial_blocks())
        return seen if self.full_kv_indices is None else seen | spread(self.full_blocks())

    def _with(self, change, seq_lengths, mask_mod):
        values = [None if t is None else change(t) for t in (getattr(self, name) for name in self._TENSORS)]
        return BlockMask(seq_lengths, *values, self.BLOCK_SIZE, mask_mod)

    def __getitem__(self, index):
        """The mask of some batches and heads; numbers keep their dimension, of size 1."""
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in index)
        return self._with(lambda t: t[index], self.seq_lengths, unknown_mask)

    def to(self, device):
        """The mask with its tensors on a device."""
        return self._with(lambda t: t.to(device), self.seq_lengths, self.mask_mod)

    def _adjust(self, new_q_len, new_kv_len):
        """The mask of other numbers of queries and keys; blocks beyond the old ones are hidden."""
        rows, columns = -(-new_q_len // self.BLOCK_SIZE[0]), -(-new_kv_len // self.BLOCK_SIZE[1])

        def cut(blocks):
            more = ft.nn.functional.pad(blocks, (0, max(0, columns - blocks.shape[-1]), 0, max(0, rows - blocks.shape[-2])))
            return _ordered(more[..., :rows, :columns])
        full = (None, None) if self.full_kv_indices is None else cut(self.full_blocks())
        return BlockMask.from_kv_blocks(*cut(self.partial_blocks()), *full, self.BLOCK_SIZE, self.mask_mod, (new_q_len, new_kv_len))

    def as_tuple(self, flatten=True):
        """The lengths, the tensors, the block size and `mask_mod`, as arguments of BlockMask."""
        tensors = tuple(getattr(self, name) for name in self._TENSORS)
        return ((*self.seq_lengths, *tensors, *self.BLOCK_SIZE, self.mask_mod) if flatten
                else (self.seq_lengths, *tensors, self.BLOCK_SIZE, self.mask_mod))

    def to_string(self, grid_size=(20, 20), limit=4):
        """A picture of each (batch, head), at most `limit`: filled where blocks are seen, light where a cell stands for several blocks
        of which some are hidden."""
        dense = self.to_dense()
        rows, columns = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        if rows == -1:
            rows, columns = dense.shape[-2:]
        steps = -(-dense.shape[-2] // rows), -(-dense.shape[-1] // columns)
        lines = []
        for at, (batch, head) in enumerate((b, h) for b in range(dense.shape[0]) for h in range(dense.shape[1])):
            if at == limit:
                lines += ["...", "To print out more, set BlockMask.to_string(limit=N)",
                          "You can also index (BlockMask[batch, head]) to choose a specific batch or head"]
                break
            lines.append(f"({batch}, {head})")
            for row in dense[batch, head].split(steps[0], 0):
                parts = [float(cell.float().mean()) for cell in row.split(steps[1], 1)]
                lines.append("".join("\u2588\u2588" if part == 1 else "\u2591\u2591" if part else "  " for part in parts))
            lines.append("")
        return "\n".join(lines)

    def __str__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().rstrip(chr(10))}\n)"

    def __repr__(self):
        def shown(value):
            return None if value is None else value.shape
        fields = [f"    {name}={shown(getattr(self, name))}," for name in self._TENSORS]
        return "\n".join(["BlockMask(", *fields, f"    BLOCK_SIZE={self.BLOCK_SIZE},", f"    shape={self.shape},",
                          f"    sparsity={self.sparsity():.2f}%,",
                          f"    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}", ")"])
