"""Discrete Fourier transforms (``torch.fft``), gathered from the families of functions."""

from fasttensor._assemble import gather

gather("FFT", globals())
