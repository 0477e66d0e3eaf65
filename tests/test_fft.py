"""Fourier transforms against their defining sums, their inverses, gradients and errors; windows."""
import math

import pytest

import fasttensor as ft
from fasttensor.autograd import gradcheck, gradgradcheck

np = pytest.importorskip("numpy")
RNG = np.random.default_rng(0)
NORMS = (None, "backward", "ortho", "forward")


def random(*shape, dtype="float64"):
    values = RNG.standard_normal(shape)
    return ft.from_numpy((values + 1j * RNG.standard_normal(shape) if dtype.startswith("complex") else values).astype(dtype))


def same(a, b, limit=1e-10):
    assert a.shape == b.shape and a.dtype == b.dtype and float((a - b).abs().max()) < limit


def test_defining_sum():
    x = random(5, dtype="complex128")
    k = ft.arange(5, dtype=ft.float64)
    turn = ft.exp(-2j * math.pi * k.unsqueeze(1) * k / 5)
    same(ft.fft.fft(x), turn @ x)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("size", [1, 2, 7, 8])
def test_inverses(size, norm):
    x, z = random(3, size, size), random(3, size, size, dtype="complex128")
    for suffix in ("", "2", "n"):
        f = ft.fft
        same(getattr(f, "ifft" + suffix)(getattr(f, "fft" + suffix)(z, norm=norm), norm=norm), z)
        sizes = size if not suffix else (size, size)
        spectrum = getattr(f, "rfft" + suffix)(x, sizes, norm=norm)
        same(getattr(f, "irfft" + suffix)(spectrum, sizes, norm=norm), x)
        half = getattr(f, "ihfft" + suffix)(x, sizes, norm=norm)
        same(getattr(f, "hfft" + suffix)(half, sizes, norm=norm), x)


def test_single_precision_stays_single():
    assert ft.fft.fft(ft.ones(4)).dtype == ft.complex64 and ft.fft.irfft(ft.ones(4, dtype=ft.complex64)).dtype == ft.float32
    assert ft.fft.fft(ft.arange(4)).dtype == ft.complex64


@pytest.mark.parametrize("norm", ["backward", "ortho"])
@pytest.mark.parametrize("name", [kind + suffix for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for suffix in ("", "2", "n")])
def test_gradients(name, norm):
    function = getattr(ft.fft, name)
    x = random(3, 4, dtype="complex128" if "r" not in name.replace("rfft", "R") and not name.startswith(("rfft", "ihfft")) else "float64")
    x.requires_grad_()
    for sizes in (None, 5, 2):
        if sizes is not None and not name.endswith(("2", "n")):
            def run(t, n=sizes):
                return function(t, n, norm=norm)
        else:
            def run(t, n=sizes):
                return function(t, None if n is None else (3, n), norm=norm)
        assert gradcheck(run, (x,)) and gradgradcheck(run, (x,))


def test_shift_and_frequencies():
    f = ft.fft.fftfreq(5, 0.5)
    assert f.tolist() == pytest.approx([0.0, 0.4, 0.8, -0.8, -0.4])
    assert ft.fft.ifftshift(ft.fft.fftshift(f)).tolist() == f.tolist()
    assert ft.fft.rfftfreq(6).tolist() == pytest.approx([0, 1 / 6, 2 / 6, 0.5])


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("onesided", [True, False])
def test_istft_inverts_stft(center, normalized, onesided):
    x, window = random(2, 64), ft.hann_window(16, dtype=ft.float64) + 0.1
    options = dict(hop_length=4, window=window, center=center, normalized=normalized, onesided=onesided)
    y = ft.istft(ft.stft(x, 16, return_complex=True, **options), 16, length=64, **options)
    same(y, x)


def test_stft_gradient():
    x, window = random(32).requires_grad_(), ft.hann_window(8, dtype=ft.float64)
    assert gradcheck(lambda x: ft.stft(x, 8, window=window, return_complex=True), (x,))


def test_errors():
    x = ft.ones(4, 4)
    for error, call in ((RuntimeError, lambda: ft.fft.fft(x, 0)), (IndexError, lambda: ft.fft.fft(x, dim=2)), (RuntimeError, lambda: ft.fft.fft(x, norm="x")),
                        (RuntimeError, lambda: ft.fft.fftn(x, dim=(0, 0))), (RuntimeError, lambda: ft.fft.fftn(x, (2, 2), (0,))),
                        (RuntimeError, lambda: ft.fft.rfft(x.to(ft.complex64))), (RuntimeError, lambda: ft.fft.fft(x.half())),
                        (TypeError, lambda: ft.fft.fft([1.0])), (RuntimeError, lambda: ft.stft(x, 2)),
                        (RuntimeError, lambda: ft.stft(x, 9, center=False, return_complex=True)),
                        (RuntimeError, lambda: ft.istft(x, 4)), (RuntimeError, lambda: ft.hann_window(-1)),
                        (ValueError, lambda: ft.signal.windows.hann(-1)), (ValueError, lambda: ft.signal.windows.hann(3, dtype=ft.int64))):
        with pytest.raises(error):
            call()


@pytest.mark.parametrize("name", ["bartlett", "blackman", "cosine", "exponential", "gaussian", "hamming", "hann", "kaiser", "nuttall"])
def test_windows(name):
    function = getattr(ft.signal.windows, name)
    assert function(0).shape == (0,) and function(1).tolist() == [1.0]
    w = function(9, dtype=ft.float64)
    assert w.tolist() == pytest.approx(w.flip(0).tolist()) and w.max().item() == pytest.approx(1.0)
    assert function(8, sym=False, dtype=ft.float64).tolist() == pytest.approx(function(9, dtype=ft.float64)[:8].tolist())
    old = getattr(ft, name + "_window", None)
    if old is not None:
        assert old(8).tolist() == pytest.approx(function(8, sym=False).tolist())
