"""Discrete Fourier transforms (``torch.fft``), gathered from the families of functions."""

from fasttensor._assemble import gather_late

gather_late("FFT", globals(), __name__)
