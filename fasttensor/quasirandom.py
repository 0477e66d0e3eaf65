"""``torch.quasirandom``: Sobol sequences, the numbers that PyTorch draws."""
from functools import cache
from pathlib import Path

import fasttensor as torch
from fasttensor.cpu.sobol import sobol_directions

__all__ = ["SobolEngine"]

BITS = 30
DIMENSIONS = 21201
TABLE = Path(__file__).parent / "data" / "sobol_directions.bin"


@cache
def _table():
    return TABLE.read_bytes()


def directions(dimension):
    """The direction numbers of the first dimensions: (dimension, 30) integers of 30 bits."""
    return sobol_directions(_table(), dimension)


class SobolEngine:
    """Draws points of a Sobol sequence, which fill [0, 1)^dimension evenly; `scramble` shuffles it (Matousek's linear scrambling with a
    digital shift) by `seed`, or by the default generator.

    At most 21201 dimensions. Neighbours of the sequence have Gray codes that differ in one bit, so that a point is the one before
    with one direction number of each dimension changed.

    >>> from fasttensor.quasirandom import SobolEngine
    >>> SobolEngine(2).draw(4)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500],
            [0.2500, 0.7500]])
    """

    MAXBIT = BITS
    MAXDIM = DIMENSIONS

    def __init__(self, dimension, scramble=False, seed=None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        with torch.device("cpu"), torch.no_grad():
            self.sobolstate = directions(dimension)
            self.shift = torch.zeros(dimension, dtype=torch.int64)
            if scramble:
                self._scramble()
            self.quasi = self.shift.clone()
            self._first_point = (self.quasi / 2 ** BITS).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self):
        generator = None if self.seed is None else torch.Generator().manual_seed(self.seed)
        bits = torch.randint(2, (self.dimension, BITS), generator=generator)
        self.shift = (bits << torch.arange(BITS)).sum(1)
        lower = torch.randint(2, (self.dimension, BITS, BITS), generator=generator).tril()
        lower.diagonal(dim1=1, dim2=2).fill_(1)
        places = torch.arange(BITS - 1, -1, -1)
        digits = self.sobolstate[:, None, :] >> places[:, None] & 1         # the highest first: a column a number
        for d in range(0, self.dimension, 256):                             # sums of 30 ones are exact in single precision
            digits[d:d + 256] = (lower[d:d + 256].float() @ digits[d:d + 256].float()).long() & 1
        self.sobolstate = (digits << places[:, None]).sum(1)

    def _changes(self, start, n):
        """What the points start + 1, ..., start + n of the sequence differ by from its first: (n, dimension)."""
        size = max(n, 1).bit_length()           # two blocks of 2**size points hold them
        table = torch.zeros(1, self.dimension, dtype=torch.int64)
        for bit in range(size):
            # Gray codes of the second half are those of the first in falling order, with one bit more
            table = torch.cat([table, table.flip(0) ^ self.sobolstate[:, bit]])
        first, found = start + 1, []
        for block in range(first >> size, (start + n >> size) + 1):
            code, base = (block << size) ^ (block << size >> 1), torch.zeros(self.dimension, dtype=torch.int64)
            for bit in range(code.bit_length()):
                if code >> bit & 1:
                    base = base ^ self.sobolstate[:, bit]
            low, high = max(first - (block << size), 0), min(start + n - (block << size), 2 ** size - 1)
            found.append(table[low:high + 1] ^ base)
        return torch.cat(found) if n else table[:0]

    def draw(self, n=1, out=None, dtype=None):
        """The next `n` points: (n, dimension)."""
        if isinstance(n, bool) or not isinstance(n, int):
            raise TypeError(f"_sobol_engine_draw(): argument 'n' (position 2) must be int, not {type(n).__name__}")
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}, {self.dimension}]")
        dtype = torch.get_default_dtype() if dtype is None else dtype
        if dtype not in (torch.float32, torch.float64) and (n != 1 or self.num_generated):
            raise NotImplementedError(f"\"_sobol_engine_draw\" not implemented for {dtype}: draw float32 or float64 and convert")
        if self.num_generated + n > 2 ** BITS:
            raise RuntimeError(f"SobolEngine.draw: the sequence has 2**{BITS} points; {self.num_generated} are drawn, {n} more were asked for")
        with torch.device("cpu"), torch.no_grad():
            if n == 0:
                result = torch.empty(0, self.dimension, dtype=dtype)
            else:
                first = self.num_generated == 0
                numbers = self.shift ^ self._changes(-1 if first else self.num_generated - 1, n)
                self.quasi = numbers[-1].clone()
                result = numbers.to(dtype) * 2.0 ** -BITS
                if first:       # kept in the default dtype, and so rounded to it
                    result[:1] = self._first_point
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2**m points. ValueError where the number of points drawn so far and these together is no power of two."""
        n = 2 ** m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points have been previously "
                             f"generated, then: n={self.num_generated}+2**{m}={total}. If you still want to do this, please use 'SobolEngine.draw()' "
                             "instead.")
        return self.draw(n, out, dtype)

    def reset(self):
        """Back to the first point; returns the engine."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Skip `n` points; returns the engine. ValueError for a negative number, which would repeat other points than the last ones."""
        if n < 0:
            raise ValueError(f"SobolEngine.fast_forward: n must not be negative, got {n}: reset() goes back to the first point")
        if n > 0:
            at = self.num_generated + n
            if at > 2 ** BITS:
                raise RuntimeError(f"SobolEngine.fast_forward: the sequence has 2**{BITS} points")
            self.quasi = (self.shift ^ self._changes(at - 2, 1))[0]
            self.num_generated = at
        return self

    def __repr__(self):
        text = f"dimension={self.dimension}" + (", scramble=True" if self.scramble else "") + (f", seed={self.seed}" if self.seed is not None else "")
        return f"{type(self).__name__}({text})"
