"""Fourier transforms (``torch.fft``) and short-time transforms."""
from fasttensor._core.dtype import DTYPES, get_default_dtype
from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.checks import int_of, later_bools
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.fft import FftC2C, FftC2R, FftR2C
from fasttensor.functional.creation import need_pinning, only_strided
from fasttensor.functional.dims import deliver, numpy_axis, tensor_argument
from fasttensor.functional.padding import constant_pad_nd
from fasttensor.functional.ranges import arange

__all__ = []
METHODS = {}
COMPLEX = {"float32": DTYPES["complex64"], "float64": DTYPES["complex128"]}


# (norm, forward) -> what the kernels divide by: 0 nothing, 1 sqrt(n), 2 n
SCALING = {(norm, forward): 1 if norm == "ortho" else 2 * (forward == (norm == "forward"))
           for norm in (None, "backward", "forward", "ortho") for forward in (True, False)}


def scaling_of(name, norm, forward):
    try:
        return SCALING[norm, forward]
    except (KeyError, TypeError):
        raise RuntimeError(f'Invalid normalization mode: "{norm}" ({name}): expected one of "forward", "backward", "ortho"') from None


def numbers(name, x, to_complex):
    """x as floating point or complex numbers that can be transformed."""
    tensor_argument(name, x)
    if x.dtype.name in ("float16", "bfloat16"):
        raise RuntimeError(f"{name}: Unsupported dtype {x.dtype.name}: convert with .float()")
    if not (x.is_floating_point() or x.is_complex()):
        x = x.to(get_default_dtype())
    return x.to(COMPLEX[x.dtype.name]) if to_complex and not x.is_complex() else x


def real_only(name, x):
    tensor_argument(name, x)
    if x.is_complex():
        raise RuntimeError(f"{name} expects a real input tensor, but got {description(x)}")
    return numbers(name, x, False)


def wrap(name, x, dim):
    if not hasattr(dim, "__index__"):
        raise TypeError(f"{name}(): argument 'dim' must be int, not {type(dim).__name__}")
    if x.ndim == 0 or not -x.ndim <= dim < x.ndim:
        raise IndexError(f"{name}: Dimension out of range (expected to be in range of [{-max(x.ndim, 1)}, {max(x.ndim, 1) - 1}], but got {dim})"
                         f" for {description(x)}")
    return dim % x.ndim


def check_ints(name, argument, value):
    """TypeError where sizes or dimensions are not ints: a Tensor of one element counts as an index elsewhere."""
    for n in later_bools(value) if isinstance(value, (tuple, list)) else (value,):
        if n is not None and (not hasattr(n, "__index__") or isinstance(n, (bool, Tensor))):
            raise TypeError(f"{name}(): argument '{argument}' must be int or tuple of ints, not {type(n).__name__}")


def sizes_and_dims(name, x, s, dim, default=None):
    """The transform's sizes (None: as they are) and its dimensions."""
    check_ints(name, "s" if name[-1] in "2n" else "n", s)
    check_ints(name, "dim", dim)
    if isinstance(s, int):
        s = (s,)
    if isinstance(dim, int):
        dim = (dim,)
    if dim is not None:
        dims = tuple(wrap(name, x, d) for d in dim)
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"{name}: FFT dims must be unique, got {tuple(dim)}")
        if s is not None and len(s) != len(dims):
            raise RuntimeError(f"{name}: When given, dim and shape arguments must have the same length, got dim={tuple(dim)} and s={tuple(s)}")
    elif s is not None:
        if len(s) > x.ndim:
            raise RuntimeError(f"{name}: Got shape with {len(s)} values but input tensor only has {x.ndim} dimensions.")
        dims = tuple(range(x.ndim - len(s), x.ndim))
    else:
        dims = tuple(range(x.ndim))
    sizes = [None] * len(dims) if s is None else [None if n == -1 else n for n in later_bools(s)]
    return sizes, dims


def resized(name, x, sizes, dims):
    """x cut or filled with zeros to the sizes."""
    for n, d in zip(sizes, dims):
        have = x.shape[d]
        n = have if n is None else n
        if n < 1:
            raise RuntimeError(f"{name}: Invalid number of data points ({n}) specified for dimension {d} of {description(x)}")
        if n < have:
            x = x.narrow(d, 0, n)
        elif n > have:
            x = constant_pad_nd(x, [0, 0] * (x.ndim - 1 - d) + [0, n - have])
    return x


def c2c(name, x, s, dim, norm, forward, out):
    x = numbers(name, x, False)
    scaling = scaling_of(name, norm, forward)
    sizes, dims = sizes_and_dims(name, x, s, dim)
    if not dims:
        return deliver(name, out, numbers(name, x, True).clone())
    return deliver(name, out, apply(FftC2C, resized(name, x, sizes, dims), dims, scaling, forward))


def r2c(name, x, s, dim, norm, forward, out):
    """Not forward: the inverse of the Hermitian transform."""
    x = real_only(name, x)
    scaling = scaling_of(name, norm, forward)
    sizes, dims = sizes_and_dims(name, x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    return deliver(name, out, apply(FftR2C, resized(name, x, sizes, dims), dims, scaling, forward, False))


def c2r(name, x, s, dim, norm, forward, out):
    """Forward: the Hermitian transform, of a signal of which half is given."""
    x = numbers(name, x, True)
    scaling = scaling_of(name, norm, forward)
    sizes, dims = sizes_and_dims(name, x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    size = 2 * (x.shape[dims[-1]] - 1) if sizes[-1] is None else sizes[-1]
    if size < 1:
        raise RuntimeError(f"{name}: Invalid number of data points ({size}) specified for {description(x)}")
    sizes[-1] = size // 2 + 1
    x = resized(name, x, sizes, dims)
    if isinstance(out, Tensor) and not out.is_floating_point():
        raise RuntimeError(f"{name}: the result is real: expects a floating point output tensor, but got {description(out)}")
    return deliver(name, out, apply(FftC2R, x, dims, scaling, size, forward, False))


def one(kind, name, forward, doc):
    full = "fft_" + name

    def transform(input, n=None, dim=-1, norm=None, *, out=None, **names):
        return kind(full, input, None if n is None else (n,), (numpy_axis(name, names, dim, -1) if names else dim,), norm, forward, out)
    return named(transform, name, doc + " over one dimension, cut or filled with zeros to `n` values.")


def two(kind, name, forward, doc):
    full = "fft_" + name

    def transform(input, s=None, dim=(-2, -1), norm=None, *, out=None, **names):
        return kind(full, input, s, numpy_axis(name, names, dim, (-2, -1)) if names else dim, norm, forward, out)
    return named(transform, name, doc + " over two dimensions of sizes `s`.")


def many(kind, name, forward, doc):
    full = "fft_" + name

    def transform(input, s=None, dim=None, norm=None, *, out=None, **names):
        return kind(full, input, s, numpy_axis(name, names, dim) if names else dim, norm, forward, out)
    return named(transform, name, doc + " over the dimensions `dim` (all) of sizes `s`.")


# What the examples in the docstrings print.
RESULTS_OF = {
    "fft": "tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])", "rfft": "tensor([10.+0.j, -2.+2.j, -2.+0.j])",
    "ifft": "tensor([ 2.5000+0.0000j, -0.5000-0.5000j, -0.5000+0.0000j, -0.5000+0.5000j])",
    "ihfft": "tensor([ 2.5000+0.0000j, -0.5000-0.5000j, -0.5000+0.0000j])",
    "irfft": "tensor([1., 3., 3., 3.])",
    "hfft": "tensor([ 4., 12., 12., 12.])",
    **dict.fromkeys(("fft2", "fftn", "rfft2", "rfftn"), "tensor([[10.+0.j, -2.+0.j],\n            [-4.+0.j,  0.+0.j]])"),
    **dict.fromkeys(("ifft2", "ifftn", "ihfft2", "ihfftn"), "tensor([[ 2.5000+0.j, -0.5000+0.j],\n            [-1.0000+0.j,  0.0000+0.j]])"),
    **dict.fromkeys(("irfft2", "irfftn"), "tensor([[ 2.5000, -0.5000],\n            [-1.0000,  0.0000]])"),
    **dict.fromkeys(("hfft2", "hfftn"), "tensor([[10., -2.],\n            [-4.,  0.]])"),
}


def named(function, name, doc):
    function.__name__ = function.__qualname__ = name
    shown = "[[1.0, 2.0], [3.0, 4.0]]" if name[-1] in "2n" else "[10.0, -2.0, -2.0]" if name in ("irfft", "hfft") else "[1.0, 2.0, 3.0, 4.0]"
    function.__doc__ = doc + """

    norm: "backward" (default) scales the inverse by 1/n, "forward" the forward transform, "ortho" both by 1/sqrt(n).
    float32 and complex64 give these, float64 and complex128 theirs; integers become the default dtype. Raises RuntimeError for float16,
    for sizes below 1, for repeated dimensions and another `norm`, IndexError for a dimension out of range.

    >>> torch.fft.""" + f"{name}(torch.tensor({shown}))\n    {RESULTS_OF[name]}\n"
    return function


KINDS = (("fft", c2c, True, "Discrete Fourier transform, complex"), ("ifft", c2c, False, "Inverse discrete Fourier transform, complex"),
         ("rfft", r2c, True, "Fourier transform of real values, of which the first half (n // 2 + 1) is returned,"),
         ("irfft", c2r, False, "Inverse of `rfft`: real values from half a spectrum,"),
         ("hfft", c2r, True, "Real Fourier transform of a signal of which half is given,"),
         ("ihfft", r2c, False, "Inverse of `hfft`,"))
FFT = {}
for _name, _kind, _forward, _doc in KINDS:
    for _suffix, _make in (("", one), ("2", two), ("n", many)):
        FFT[_name + _suffix] = _make(_kind, _name + _suffix, _forward, _doc)


def shifted(name, input, dim, sign):
    tensor_argument(name, input)
    dims = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    dims = [wrap(name, input, d) for d in dims]
    if not dims:
        return input.clone()
    return input.roll([input.shape[d] // 2 if sign > 0 else (input.shape[d] + 1) // 2 for d in dims], dims)


def fftshift(input, dim=None, **names):
    """Moves frequency 0 to the middle.

    Any dtype, over all dimensions or `dim` (an int or a tuple); a copy. IndexError for a dimension out of range.

    >>> torch.fft.fftshift(torch.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return shifted("fft_fftshift", input, numpy_axis("fft_fftshift", names, dim) if names else dim, 1)


def ifftshift(input, dim=None, **names):
    """The inverse of `fftshift`.

    Any dtype, over all dimensions or `dim` (an int or a tuple); a copy. IndexError for a dimension out of range.

    >>> torch.fft.ifftshift(torch.tensor([-2, -1, 0, 1]))
    tensor([ 0,  1, -2, -1])
    """
    return shifted("fft_ifftshift", input, numpy_axis("fft_ifftshift", names, dim) if names else dim, -1)


def frequencies(name, values, n, d, dtype, device, requires_grad, out):
    dtype = get_default_dtype() if dtype is None else dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype, got {dtype}")
    y = values.to(dtype).to(device) * (1.0 / (n * d)) if n else values.to(dtype).to(device)
    if out is not None:
        return deliver(name, out, y)
    return y.requires_grad_() if requires_grad else y


def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """The frequencies of `fft`'s results for samples `d` apart: 0, 1, ..., -2, -1 over n d.

    Shape (n,), in cycles per unit of `d`; the default float dtype, or `dtype`. RuntimeError for integer dtypes.

    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("fftfreq", layout)
    n = int_of(n, "fft_fftfreq", "n", 1)
    half = (n + 1) // 2
    values = arange(n)
    values[half:] -= n
    return frequencies("fft_fftfreq", values, n, d, dtype, "cpu" if device is None else device, requires_grad, out)


def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """The frequencies of `rfft`'s results: 0, 1, ..., n // 2 over n d.

    Shape (n // 2 + 1,), in cycles per unit of `d`; the default float dtype, or `dtype`. RuntimeError for integer dtypes.

    >>> torch.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("rfftfreq", layout)
    return frequencies("fft_rfftfreq", arange(n // 2 + 1), n, d, dtype, "cpu" if device is None else device, requires_grad, out)


FFT.update(fftshift=fftshift, ifftshift=ifftshift, fftfreq=fftfreq, rfftfreq=rfftfreq)
