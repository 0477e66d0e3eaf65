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


# passes of every radix, a large prime factor, convolutions; one line, and blocks of lanes with and without a rest
@pytest.mark.parametrize("size", [1, 2, 3, 7, 9, 10, 16, 26, 44, 45, 64, 101, 146, 240, 257, 263, 512, 1009])
@pytest.mark.parametrize("lines", [1, 3, 21])
def test_lengths(size, lines):
    for wide, limit in (("complex128", 1e-15), ("complex64", 5e-7)):
        z = random(lines, size, dtype=wide)
        k = np.arange(size)
        turn = np.exp(-2j * np.pi * (k[:, None] * k % size) / size)
        right = z.numpy().astype("complex128") @ turn
        half = (z.real.numpy().astype("float64") @ turn)[:, :size // 2 + 1]
        columns = z.t().contiguous()
        for got, value in ((ft.fft.fft(z), right), (ft.fft.fft(columns, dim=0).t(), right), (ft.fft.ifft(z.conj(), norm="forward").conj(), right),
                           (ft.fft.rfft(z.real), half), (ft.fft.rfft(columns.real.contiguous(), dim=0).t(), half),
                           (ft.fft.fft(z.real)[:, :size // 2 + 1], half)):
            error = np.linalg.norm(got.numpy() - value) / np.linalg.norm(value)
            assert error < limit * max(4, math.log2(size)) and got.dtype == z.dtype
        same(ft.fft.irfft(ft.fft.rfft(z.real), size), z.real, limit * 100)


def test_views_in_any_order():
    z = random(6, 20, 34, dtype="complex128")
    for x in (z, z[:, ::2], z.permute(2, 0, 1), z[:, :, 1:30:3], z[:1].expand(5, 20, 34)):
        for dims in ((0,), (1,), (2, 0), (0, 1, 2)):
            same(ft.fft.ifftn(ft.fft.fftn(x, dim=dims), dim=dims), x.contiguous())
            same(ft.fft.fftn(x, dim=dims), ft.fft.fftn(x.contiguous(), dim=dims))


def test_lines_do_not_meet():
    for n in (64, 512):
        x = ft.zeros(20, n)
        x[3, 5] = math.nan
        for y in (ft.fft.fft(x), ft.fft.rfft(x), ft.fft.fft(x.t().contiguous(), dim=0).t(), ft.fft.irfft(x.to(ft.complex64))):
            assert y.isnan().any(1).nonzero().tolist() == [[3]]


def test_empty_batches():
    assert ft.fft.fft(ft.zeros(0, 5)).shape == (0, 5) and ft.fft.rfft(ft.zeros(0, 5)).shape == (0, 3)
    assert ft.fft.irfft(ft.zeros(0, 5, dtype=ft.complex64)).shape == (0, 8)


def test_same_bits_at_every_thread_count():
    x, z = ft.randn(300, 512), ft.complex(ft.randn(2, 131072), ft.randn(2, 131072))
    before, results = ft.get_num_threads(), []
    try:
        for threads in (1, 3):
            ft.set_num_threads(threads)
            results.append([ft.fft.fft(x), ft.fft.rfft2(x), ft.fft.fft(x, dim=0), ft.fft.fft(z), ft.fft.irfft(ft.fft.rfft(z.real))])
    finally:
        ft.set_num_threads(before)
    assert all(bool((a == b).all()) for a, b in zip(*results))


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
