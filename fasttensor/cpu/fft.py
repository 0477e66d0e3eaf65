"""Discrete Fourier transforms by numpy's pocketfft, imported when first used.

norm is numpy's name for a direction: "backward" scales the inverse by 1/n, "forward" the forward, "ortho" both by 1/sqrt(n).

    >>> import fasttensor
    >>> fft_r2c(fasttensor.ones(4), (0,), "backward")
    tensor([4.+0.j, 0.+0.j, 0.+0.j])
"""
from fasttensor._core.foreign import from_array


def tensor_of(array, double):
    """numpy before version 2 computes in double precision alone."""
    kind = ("D" if double else "F") if array.dtype.kind == "c" else ("d" if double else "f")
    if array.dtype.char != kind or not array.flags.c_contiguous:
        array = array.astype(kind, order="C")
    return from_array(array)


def array_of(x):
    return x.detach().contiguous().numpy()


def is_double(x):
    return x.dtype.name in ("float64", "complex128")


def fft_c2c(x, dims, norm, forward):
    """Real or complex to complex over `dims`."""
    from numpy import fft
    if len(dims) == 1:      # the functions of several dimensions cost more than a small transform
        return tensor_of((fft.fft if forward else fft.ifft)(array_of(x), None, dims[0], norm), is_double(x))
    return tensor_of((fft.fftn if forward else fft.ifftn)(array_of(x), axes=dims, norm=norm), is_double(x))


def fft_r2c(x, dims, norm):
    """Real to the first half (n // 2 + 1) of the last of `dims`, forward."""
    from numpy import fft
    if len(dims) == 1:
        return tensor_of(fft.rfft(array_of(x), None, dims[0], norm), is_double(x))
    return tensor_of(fft.rfftn(array_of(x), axes=dims, norm=norm), is_double(x))


def fft_c2r(x, dims, norm, size):
    """The first half of the last of `dims` to `size` real values, inverse."""
    from numpy import fft
    if len(dims) == 1:
        return tensor_of(fft.irfft(array_of(x), size, dims[0], norm), is_double(x))
    sizes = [x.shape[d] for d in dims[:-1]] + [size]
    return tensor_of(fft.irfftn(array_of(x), sizes, dims, norm), is_double(x))
