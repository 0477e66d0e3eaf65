"""Short-time Fourier transforms."""
import warnings

from fasttensor._core.tensor import description
from fasttensor.autograd.batched import all_samples
from fasttensor.autograd.checks import flag, int_of, optional_tensor
from fasttensor.functional import stand_for_function
from fasttensor.functional.conv import fold
from fasttensor.functional.dims import tensor_argument
from fasttensor.functional.fft import FFT
from fasttensor.functional.padding import constant_pad_nd, pad

__all__ = ["stft", "istft"]
stand_for_function(__name__)


def options(name, x, n_fft, hop_length, win_length, window):
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if not 0 < n_fft:
        raise RuntimeError(f"{name}({description(x)}, n_fft={n_fft}): expected n_fft > 0")
    if hop <= 0:
        raise RuntimeError(f"{name}({description(x)}, hop_length={hop}): expected hop_length > 0")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{name}({description(x)}, win_length={length}): expected 0 < win_length <= n_fft={n_fft}")
    if window is not None and (window.ndim != 1 or window.shape[0] != length):
        raise RuntimeError(f"{name}: expected a 1D window tensor of size equal to win_length={length}, but got {description(window)}")
    if window is not None and length < n_fft:
        left = (n_fft - length) // 2
        window = constant_pad_nd(window, (left, n_fft - length - left))
    elif window is None and length < n_fft:
        left = (n_fft - length) // 2
        window = constant_pad_nd((x.real if x.is_complex() else x).new_ones((length,)), (left, n_fft - length - left))
    return hop, window


def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False, onesided=None,
         return_complex=None, align_to_window=None):
    """Fourier transforms of overlapping windows: (..., L) gives (..., frequencies, frames).

    hop_length (n_fft // 4) is the windows' distance; `center` pads the signal so that frame t is centred at t * hop_length;
    normalized divides by sqrt(n_fft); onesided (default for real signals) returns n_fft // 2 + 1 frequencies.
    return_complex must be given for real signals; False returns real and imaginary parts in a last dimension.

    >>> torch.stft(torch.ones(16), 4, window=torch.ones(4), return_complex=True).shape
    torch.Size([3, 17])
    """
    n_fft = int_of(n_fft, "stft", "n_fft")
    if hop_length is not None:
        hop_length = int_of(hop_length, "stft", "hop_length")
    optional_tensor(window, "stft", "window", 5)
    if onesided is not None:
        flag("stft", "onesided", onesided)
    if return_complex is not None:
        flag("stft", "return_complex", return_complex)
    tensor_argument("stft", input)
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"stft({description(input)}): expected a tensor of floating point or complex values")
    if return_complex is None:
        if not (input.is_complex() or window is not None and window.is_complex()):
            raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further require that"
                               " return_complex=True in a future PyTorch release.")
        return_complex = True
    if input.ndim not in (1, 2):
        raise RuntimeError(f"stft({description(input)}): expected a 1D or 2D tensor")
    if align_to_window is not None and center:
        raise RuntimeError("stft: align_to_window should only be set when center = false.")
    hop, window = options("stft", input, n_fft, hop_length, win_length, window)
    x = input if input.ndim == 2 else input.unsqueeze(0)
    if center:
        amount = n_fft // 2
        if pad_mode == "constant":
            x = constant_pad_nd(x, (amount, amount))
        else:
            x = pad(x.unsqueeze(0), (amount, amount), pad_mode).squeeze(0)
    if n_fft > x.shape[-1]:
        raise RuntimeError(f"stft({description(input)}, n_fft={n_fft}): expected n_fft <= {x.shape[-1]}")
    frames = x.unfold(-1, n_fft, hop)
    if window is not None:
        frames = frames * window
    is_complex = frames.is_complex()
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise RuntimeError("stft: Cannot have onesided output if window or input is complex")
    y = FFT["rfft" if onesided else "fft"](frames, norm="ortho" if normalized else None).transpose(-2, -1)
    y = y if input.ndim == 2 else y.squeeze(0)
    return y if return_complex else _view_as_real(y)


def _view_as_real(y):
    from fasttensor import view_as_real
    return view_as_real(y)


def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None,
          return_complex=False):
    """The signal whose `stft` is nearest: overlapping windows added, divided by the sum of the squared windows.

    input: complex (..., frequencies, frames). Raises RuntimeError where that sum is 0 inside of the result.

    >>> x = torch.arange(16.)
    >>> window = torch.hann_window(8)
    >>> torch.istft(torch.stft(x, 8, window=window, return_complex=True), 8, window=window).shape
    torch.Size([16])
    """
    n_fft = int_of(n_fft, "istft", "n_fft")
    if hop_length is not None:
        hop_length = int_of(hop_length, "istft", "hop_length")
    if win_length is not None:
        win_length = int_of(win_length, "istft", "win_length")
    optional_tensor(window, "istft", "window", 5)
    flag("istft", "center", center)
    flag("istft", "return_complex", return_complex)
    tensor_argument("istft", input)
    if not input.is_complex():
        raise RuntimeError(f"istft requires a complex-valued input tensor matching the output from stft with return_complex=True, got {description(input)}")
    if input.numel() == 0:
        raise RuntimeError(f"istft({description(input)}): input tensor cannot be empty.")
    if input.ndim not in (2, 3):
        raise RuntimeError(f"istft({description(input)}): expected a tensor with 2 or 3 dimensions")
    hop, window = options("istft", input, n_fft, hop_length, win_length, window)
    if hop > (n_fft if win_length is None else win_length):
        raise RuntimeError(f"istft({description(input)}, hop_length={hop}): expected 0 < hop_length <= win_length")
    x = (input if input.ndim == 3 else input.unsqueeze(0)).transpose(-2, -1)
    size = x.shape[-1]
    onesided = size != n_fft if onesided is None else onesided
    if size != (n_fft // 2 + 1 if onesided else n_fft):
        raise RuntimeError(f"istft({description(input)}): expected the frequency dimension (3rd to the last) to have"
                           f" {'n_fft / 2 + 1' if onesided else 'n_fft'} values for n_fft={n_fft}, got {size}")
    if return_complex and onesided:
        raise RuntimeError("istft: Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("istft: Complex windows are incompatible with return_complex=False")
    norm = "ortho" if normalized else None
    if return_complex:
        frames = FFT["ifft"](x, norm=norm)
    else:
        frames = FFT["irfft"](x if onesided else x[..., :n_fft // 2 + 1], n_fft, norm=norm)
    count = frames.shape[1]
    if window is None:
        window = (frames.real if frames.is_complex() else frames).new_ones((n_fft,))
    total = n_fft + hop * (count - 1)
    signal = overlap_add(frames * window, total, hop)
    squares = (window * window).to(frames.dtype) if not window.is_complex() else window * window
    weight = overlap_add(squares.expand(1, count, n_fft), total, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    stop = min(end, total)
    signal, weight = signal[:, start:stop], weight[:, start:stop]
    if weight.numel() and not weight.is_meta and float(all_samples(weight).detach().abs().min()) < 1e-11:
        raise RuntimeError(f"window overlap add min: 1 (istft({description(input)}, n_fft={n_fft}, hop_length={hop}, center={center}): the windows"
                           " leave samples without weight)")
    y = signal / weight
    if end > total:
        warnings.warn("The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. Please check"
                      " your center and hop_length settings.", stacklevel=2)
        y = constant_pad_nd(y, (0, end - total))
    return y if input.ndim == 3 else y.squeeze(0)


def overlap_add(frames, total, hop):
    """(batch, frames, n) added at distances `hop`: (batch, total)."""
    n = frames.shape[-1]
    return fold(frames.transpose(1, 2), (1, total), (1, n), stride=(1, hop)).reshape(frames.shape[0], total)


METHODS = {"stft": stft, "istft": istft}
