"""The standard's Fourier transforms."""
import fasttensor as torch

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = ("fftn", "ifftn", "rfftn", "irfftn")
__all__ = [*ONE, *MANY, "fftfreq", "rfftfreq", "fftshift", "ifftshift"]


def _one(name):
    function = getattr(torch.fft, name)

    def run(x, /, *, n=None, axis=-1, norm="backward"):
        return function(x, n, axis, norm)
    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"``torch.fft.{name}`` along an axis."
    return run


def _many(name):
    function = getattr(torch.fft, name)

    def run(x, /, *, s=None, axes=None, norm="backward"):
        return function(x, s, axes, norm)
    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"``torch.fft.{name}`` along axes."
    return run


globals().update((_name, _one(_name)) for _name in ONE)
globals().update((_name, _many(_name)) for _name in MANY)


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of `fft`."""
    return torch.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of `rfft`.

    >>> rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return torch.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x, /, *, axes=None):
    """The zero frequency moved to the middle."""
    return torch.fft.fftshift(x, axes)


def ifftshift(x, /, *, axes=None):
    """The zero frequency moved back to the front."""
    return torch.fft.ifftshift(x, axes)
