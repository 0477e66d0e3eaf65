"""Sequences of different lengths: padding and packing."""
from collections import namedtuple

import fasttensor as ft

_Packed = namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


def invert_permutation(permutation):
    """The permutation that undoes another; None for None.

    int64 (N,) to int64 (N,).

    >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    result = ft.empty_like(permutation)
    result.scatter_(0, permutation, ft.arange(0, permutation.numel(), device=permutation.device))
    return result


class PackedSequence(_Packed):
    """Sequences of different lengths, time step by time step: the rows of the longer ones go on.

    `data` (sum of lengths, *), `batch_sizes` (int64: rows of each step), and the permutation that sorted the batch
    by falling length, with its inverse. Made by `pack_padded_sequence` and `pack_sequence`.

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 3, 2]), tensor([2, 1]))
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is not None:
            if batch_sizes.device.type != "cpu":
                raise ValueError("batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                                 "manually. They should be instantiated by functions like pack_sequence and "
                                 "pack_padded_sequences in nn.utils.rnn.")
        else:
            data, batch_sizes = data
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _map(self, data):
        if data is self.data:
            return self
        def move(t):
            return (None if t is None else t.to(data.device))
        return type(self)(data, self.batch_sizes, move(self.sorted_indices), move(self.unsorted_indices))

    def to(self, *args, **kwargs):
        """The sequence with its data in another dtype or on another device."""
        return self._map(self.data.to(*args, **kwargs))

    def cpu(self, *args, **kwargs):
        """The sequence on the CPU."""
        return self._map(self.data.cpu())

    def cuda(self, *args, **kwargs):
        """The sequence on a GPU."""
        return self._map(self.data.cuda(*args, **kwargs))

    def double(self):
        """The data as float64."""
        return self._map(self.data.double())

    def float(self):
        """The data as float32."""
        return self._map(self.data.float())

    def half(self):
        """The data as float16."""
        return self._map(self.data.half())

    def long(self):
        """The data as int64."""
        return self._map(self.data.long())

    def int(self):
        """The data as int32."""
        return self._map(self.data.int())

    def pin_memory(self):
        """The sequence in memory that a GPU can read directly."""
        return self._map(self.data.pin_memory())

    @property
    def is_cuda(self):
        """Whether the data is on a GPU."""
        return self.data.device.type == "cuda"

    def is_pinned(self):
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Pack padded sequences (T, B, *), or (B, T, *) with `batch_first`, of the given lengths.

    `enforce_sorted=True` demands lengths that fall; False sorts them. RuntimeError for a length that is
    not positive, or out of order.

    >>> from fasttensor.nn.utils.rnn import pack_padded_sequence
    >>> pack_padded_sequence(torch.tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True).data
    tensor([1, 3, 2])
    """
    lengths = ft.as_tensor(lengths, dtype=ft.int64, device="cpu")
    if lengths.dim() != 1:
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device} {lengths.dtype} tensor")
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = ft.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
    sizes = lengths.tolist()
    if not sizes or input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(sizes) != input.size(1):
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} "
                           f"(batch_size={input.size(1)})")
    if min(sizes) <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if any(a < b for a, b in zip(sizes, sizes[1:])):
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                           "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this "
                           "requirement if you do not need ONNX exportability.")
    if sizes[0] > input.size(0):
        raise RuntimeError(f"Expected `lengths` to be at most the padded length {input.size(0)}, but got {sizes[0]}")
    batch_sizes = []
    alive = len(sizes)
    for t in range(sizes[0]):
        while sizes[alive - 1] <= t:
            alive -= 1
        batch_sizes.append(alive)
    # Steps with the same rows are cut out together.
    pieces, start = [], 0
    for t in range(1, len(batch_sizes) + 1):
        if t == len(batch_sizes) or batch_sizes[t] != batch_sizes[start]:
            pieces.append(input[start:t, :batch_sizes[start]].reshape(-1, *input.shape[2:]))
            start = t
    return PackedSequence(ft.cat(pieces), ft.tensor(batch_sizes, dtype=ft.int64), sorted_indices, None)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Undo `pack_padded_sequence`: returns (padded, lengths).

    `total_length` pads further; ValueError when it is less than the longest sequence.

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1., 2.]), torch.tensor([3.])])
    >>> padded, lengths = torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    >>> padded, lengths
    (tensor([[1., 2.],
            [3., 0.]]), tensor([2, 1]))
    """
    sizes = sequence.batch_sizes.tolist()
    longest = len(sizes)
    if total_length is not None:
        if total_length < longest:
            raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                             f"total_length={total_length} and max sequence length being {longest}")
        longest = total_length
    data, batch = sequence.data, sizes[0]
    rest = data.shape[1:]
    steps, start = [], 0
    for n in sizes:
        step = data[start:start + n]
        if n < batch:
            step = ft.cat([step, data.new_full((batch - n, *rest), padding_value)])
        steps.append(step)
        start += n
    padded = ft.stack(steps)
    if longest > len(sizes):
        padded = ft.cat([padded, data.new_full((longest - len(sizes), batch, *rest), padding_value)])
    lengths = ft.tensor([sum(n > i for n in sizes) for i in range(batch)], dtype=ft.int64)
    if batch_first:
        padded = padded.transpose(0, 1)
    order = sequence.unsorted_indices
    if order is not None:
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stack tensors (L_i, *) of different lengths into (T, B, *), or (B, T, *) with `batch_first`.

    >>> from fasttensor.nn.utils.rnn import pad_sequence
    >>> pad_sequence([torch.ones(2), torch.ones(1)], batch_first=True)
    tensor([[1., 1.],
            [1., 0.]])
    """
    if isinstance(sequences, ft.Tensor):
        sequences = sequences.unbind(0)
    elif not hasattr(sequences, "__iter__"):
        raise RuntimeError("pad_sequence: Expected iterable for input sequences, but got arg of type: "
                           f"{type(sequences)}")
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(s.size(0) for s in sequences)
    rows = []
    for s in sequences:
        fill = longest - s.size(0)
        if fill:
            blank = s.new_full((fill, *s.shape[1:]), padding_value)
            s = ft.cat([s, blank] if padding_side == "right" else [blank, s])
        rows.append(s)
    return ft.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """Undo `pad_sequence`: a list of tensors of the given lengths.

    `padded_sequences` (T, B, *), or (B, T, *) with `batch_first`; `lengths` (B,) int64. The results are views.

    >>> torch.nn.utils.rnn.unpad_sequence(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [row[:int(n)] for row, n in zip(padded_sequences, lengths)]


def pack_sequence(sequences, enforce_sorted=True):
    """Pack tensors (L_i, *) of different lengths.

    >>> from fasttensor.nn.utils.rnn import pack_sequence
    >>> pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).batch_sizes
    tensor([2, 1])
    """
    lengths = ft.tensor([s.size(0) for s in sequences], dtype=ft.int64)
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """Undo `pack_sequence`: a list of tensors.

    In the order in which they were packed.

    >>> torch.nn.utils.rnn.unpack_sequence(torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
