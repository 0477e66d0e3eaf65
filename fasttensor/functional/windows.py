"""Windows: weights that fade a signal out at its ends. `torch.hann_window` and its kind (periodic by default), and
the formulas of ``torch.signal.windows`` (symmetric by default).

Computed in float64, then rounded to the dtype. The formulas are those of F. Harris, "On the use of windows for
harmonic analysis with the discrete Fourier transform".
"""
from math import pi

from fasttensor._core.dtype import DTYPES, get_default_dtype
from fasttensor.autograd.checks import int_of, real_number
from fasttensor.functional.creation import need_pinning
from fasttensor.functional.ranges import arange

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]
METHODS = {}


def points(name, M, sym):
    """How many points the formula spans for M values: a periodic window leaves the last one out."""
    if not hasattr(M, "__index__"):
        raise TypeError(f"{name}: window length must be int, not {type(M).__name__}")
    if M < 0:
        raise ValueError(f"{name}: requires non-negative window length, got M={M}")
    return M if sym else M + 1


def made(name, M, sym, weight, dtype, layout, device, requires_grad):
    """weight(k, N) of N points, k being the tensor of all indices below M."""
    dtype = get_default_dtype() if dtype is None else dtype
    if layout is not None and getattr(layout, "name", str(layout)) != "strided" and not str(layout).endswith("strided"):
        raise ValueError(f"{name}: is implemented for strided tensors only, got: {layout}")
    if dtype.name not in ("float32", "float64"):
        raise ValueError(f"{name}: expects float32 or float64 dtypes, got: {dtype}")
    n = points(name, M, sym)
    k = arange(int(M), dtype=DTYPES["float64"])
    y = (weight(k, n) if M > 1 else k + 1.0).to(dtype)
    y = y if device is None else y.to(device)
    return y.requires_grad_() if requires_grad else y


def cosines(coefficients):
    def weight(k, n):
        angle = k * (2 * pi / (n - 1))
        total = coefficients[0]
        for i, a in enumerate(coefficients[1:], 1):
            total = (angle * i).cos_() * ((-1) ** i * a) + total
        return total if len(coefficients) > 1 else k.new_full(k.shape, total)
    return weight


def triangle(k, n):
    return k.mul_(2 / (n - 1)).sub_(1).abs_().neg_().add_(1)


def kaiser_weight(beta):
    def weight(k, n):
        inside = 1 - (k * (2 / (n - 1)) - 1).square_()
        return (inside.clamp_(min=0.0).sqrt_() * abs(beta)).i0_() / k.new_full((), abs(beta)).i0_()
    return weight


def check_length(name, n):
    if not hasattr(n, "__index__") or isinstance(n, bool):
        raise TypeError(f"{name}(): argument 'window_length' must be int, not {type(n).__name__}")
    if n < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={n}")


def old(name, n, periodic, weight, dtype, layout, device, requires_grad):
    check_length(name, n)
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    dtype = get_default_dtype() if dtype is None else dtype
    y = made(name, n, not periodic, weight, DTYPES["float64"], layout, device, False).to(dtype)
    return y.requires_grad_() if requires_grad else y


def bartlett_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A triangle from 0 to 1 to 0.

    Shape (window_length,); the default float dtype, or `dtype`, floating point. A periodic window is a symmetric one of one value more
    without its last. Raises RuntimeError for a negative length and for integer dtypes.

    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    if pin_memory:
        need_pinning()
    return old("bartlett_window", window_length, periodic, triangle, dtype, layout, device, requires_grad)


def blackman_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """0.42 - 0.5 cos + 0.08 cos of the double angle.

    Shape (window_length,); the default float dtype, or `dtype`, floating point. A periodic window is a symmetric one of one value more
    without its last. Raises RuntimeError for a negative length and for integer dtypes.

    >>> torch.blackman_window(4)[2]
    tensor(1.)
    """
    if pin_memory:
        need_pinning()
    return old("blackman_window", window_length, periodic, cosines((0.42, 0.5, 0.08)), dtype, layout, device, requires_grad)


def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """alpha - beta cos.

    Shape (window_length,); the default float dtype, or `dtype`, floating point. A periodic window is a symmetric one of one value more
    without its last. Raises RuntimeError for a negative length and for integer dtypes.

    >>> torch.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    if pin_memory:
        need_pinning()
    return old("hamming_window", window_length, periodic, cosines((alpha, beta)), dtype, layout, device, requires_grad)


def hann_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """(1 - cos) / 2.

    Shape (window_length,); the default float dtype, or `dtype`, floating point. A periodic window is a symmetric one of one value more
    without its last. Raises RuntimeError for a negative length and for integer dtypes.

    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    if pin_memory:
        need_pinning()
    return old("hann_window", window_length, periodic, cosines((0.5, 0.5)), dtype, layout, device, requires_grad)


def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """The ratio of Bessel functions I0(beta sqrt(1 - t^2)) / I0(beta) for t from -1 to 1.

    Shape (window_length,); the default float dtype, or `dtype`, floating point. A periodic window is a symmetric one of one value more
    without its last. Raises RuntimeError for a negative length and for integer dtypes. Source: Kaiser and Schafer, 1980.

    >>> torch.kaiser_window(3, False)[1]
    tensor(1.)
    """
    if pin_memory:
        need_pinning()
    return old("kaiser_window", window_length, periodic, kaiser_weight(beta), dtype, layout, device, requires_grad)


def bartlett(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """A triangle from 0 to 1 to 0."""
    return made("bartlett", M, sym, triangle, dtype, layout, device, requires_grad)


def blackman(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """0.42 - 0.5 cos + 0.08 cos of the double angle."""
    return made("blackman", M, sym, cosines((0.42, 0.5, 0.08)), dtype, layout, device, requires_grad)


def cosine(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Half a period of the sine."""
    M = int_of(M, "cosine", "M")
    return made("cosine", M, sym, lambda k, n: ((k + 0.5) * (pi / n) - pi / 2).cos_(), dtype, layout, device, requires_grad)


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """exp(-|k - center| / tau); center defaults to the middle, and must for symmetric windows."""
    M = int_of(M, "exponential", "M")
    real_number(tau, "exponential", "tau")
    if tau <= 0:
        raise ValueError(f"exponential: Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError(f"exponential: Center must be None for symmetric windows, got {center}: give sym=False")
    middle = (points("exponential", M, sym) - 1) / 2 if center is None else center
    return made("exponential", M, sym, lambda k, n: ((k - middle).abs_() * (-1 / tau)).exp_(), dtype, layout, device, requires_grad)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """exp(-((k - middle) / std)^2 / 2)."""
    M = int_of(M, "gaussian", "M")
    real_number(std, "gaussian", "std")
    if std <= 0:
        raise ValueError(f"gaussian: Standard deviation must be positive, got: {std} instead.")
    return made("gaussian", M, sym, lambda k, n: (((k - (n - 1) / 2) / std).square_() * -0.5).exp_(), dtype, layout, device, requires_grad)


def general_cosine(M, *, a, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The sum of (-1)^i a[i] cos(2 pi i k / (N - 1)).

    >>> torch.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    if not hasattr(a, "__iter__"):
        raise TypeError(f"general_cosine: Coefficients must be a list/tuple, got {type(a).__name__}")
    if not a:
        raise ValueError("general_cosine: Coefficients cannot be empty")
    return made("general_cosine", M, sym, cosines(tuple(a)), dtype, layout, device, requires_grad)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """alpha - (1 - alpha) cos."""
    return made("general_hamming", M, sym, cosines((alpha, 1.0 - alpha)), dtype, layout, device, requires_grad)


def hamming(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """0.54 - 0.46 cos."""
    return made("hamming", M, sym, cosines((0.54, 0.46)), dtype, layout, device, requires_grad)


def hann(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """(1 - cos) / 2."""
    return made("hann", M, sym, cosines((0.5, 0.5)), dtype, layout, device, requires_grad)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """I0(beta sqrt(1 - t^2)) / I0(beta) for t from -1 to 1."""
    real_number(beta, "kaiser", "beta")
    if beta < 0:
        raise ValueError(f"kaiser: beta must be non-negative, got: {beta} instead.")
    return made("kaiser", M, sym, kaiser_weight(beta), dtype, layout, device, requires_grad)


def nuttall(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Four cosines with the coefficients of A. Nuttall, "Some windows with very good sidelobe behavior"."""
    return made("nuttall", M, sym, cosines((0.3635819, 0.4891775, 0.1365995, 0.0106411)), dtype, layout, device, requires_grad)
