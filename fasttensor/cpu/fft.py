"""Discrete Fourier transforms by pocketfft, imported when first used: SciPy's where it is installed, else numpy's.

SciPy's computes several transforms at once in vector registers, in the input's own precision, and shares them among
threads. numpy's works in double precision, one after the other; here its batches are cut into pieces for threads.
norm is numpy's name for a direction: "backward" scales the inverse by 1/n, "forward" the forward, "ortho" both
by 1/sqrt(n).

    >>> import fasttensor
    >>> fft_r2c(fasttensor.ones(4), (0,), "backward")
    tensor([4.+0.j, 0.+0.j, 0.+0.j])
"""
from functools import cache
from math import prod

from fasttensor._core.construct import empty
from fasttensor._core.dtype import DTYPES
from fasttensor._core.foreign import from_array
from fasttensor._core.parallel import get_num_threads

PIECE = 1 << 15     # elements of the input that are worth a thread
SPECTRUM = {"float32": "complex64", "float64": "complex128", "complex64": "complex64", "complex128": "complex128"}
SIGNAL = {"complex64": "float32", "complex128": "float64"}


def pieces_of(shape, dims):
    """Slices of the longest dimension that is not transformed; one of everything where that is not worth threads."""
    others = [d for d in range(len(shape)) if d not in dims]
    count = prod(shape) // PIECE
    if get_num_threads() == 1 or count < 2 or not others:
        return [()]
    dim = max(others, key=lambda d: shape[d])
    step = -(-shape[dim] // count)
    return [(slice(None),) * dim + (slice(i, i + step),) for i in range(0, shape[dim], step)]


@cache
def library():
    """scipy.fft or numpy.fft, and whether it is SciPy's."""
    try:
        from scipy import fft
    except ImportError:
        from numpy import fft
        return fft, False
    return fft, True


def transform(name, x, dims, norm, shape, dtype, size=None):
    """The library's function of that name, or of several dimensions; `size`: of the last of `dims` in a real result."""
    import numpy
    fft, from_scipy = library()
    array = x.detach().contiguous().numpy()
    one, many = getattr(fft, name), getattr(fft, name + "n")

    def run(array, **more):
        # the functions of several dimensions cost more than a small transform
        if len(dims) == 1:
            return one(array, size, dims[0], norm, **more)
        return many(array, None if size is None else [array.shape[d] for d in dims[:-1]] + [size], dims, norm, **more)

    if from_scipy:
        return from_array(run(array, workers=get_num_threads() if x.numel() >= 2 * PIECE else None))
    result = empty("fft", (shape,), DTYPES[dtype])
    out = result.numpy()
    pieces = pieces_of(array.shape, dims)
    if int(numpy.__version__.split(".")[0]) < 2:      # takes no `out`, and returns double precision
        out[...] = run(array)
    elif len(pieces) == 1:
        run(array, out=out)
    else:
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(get_num_threads()) as pool:
            list(pool.map(lambda at: run(array[at], out=out[at]), pieces))
    return result


def resized(shape, dim, size):
    shape = list(shape)
    shape[dim] = size
    return shape


def fft_c2c(x, dims, norm, forward):
    """Real or complex to complex over `dims`."""
    return transform("fft" if forward else "ifft", x, dims, norm, x.shape, SPECTRUM[x.dtype.name])


def fft_r2c(x, dims, norm):
    """Real to the first half (n // 2 + 1) of the last of `dims`, forward."""
    return transform("rfft", x, dims, norm, resized(x.shape, dims[-1], x.shape[dims[-1]] // 2 + 1), SPECTRUM[x.dtype.name])


def fft_c2r(x, dims, norm, size):
    """The first half of the last of `dims` to `size` real values, inverse."""
    return transform("irfft", x, dims, norm, resized(x.shape, dims[-1], size), SIGNAL[x.dtype.name], size)
