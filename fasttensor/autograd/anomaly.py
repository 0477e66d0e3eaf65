"""Anomaly mode: gradients are checked for NaN, and the error shows where the operation was called."""

from fasttensor.autograd.recording import anomaly_enabled, set_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly", "is_anomaly_enabled"]


class detect_anomaly:
    """Context: a backward that gives NaN raises RuntimeError with the forward call's traceback.

    >>> import fasttensor as torch
    >>> with torch.autograd.detect_anomaly():
    ...     torch.ones(1, requires_grad=True).sum().backward()
    """

    def __init__(self, check_nan=True):
        self.on = True

    def __enter__(self):
        self.before = set_anomaly(True)

    def __exit__(self, *exc):
        set_anomaly(self.before)


class set_detect_anomaly(detect_anomaly):
    """Anomaly mode on or off by a flag, as a call or as a context."""

    def __init__(self, mode, check_nan=True):
        self.before = set_anomaly(bool(mode))

    def __enter__(self):
        pass


def is_anomaly_enabled():
    """Whether anomaly mode is on."""
    return anomaly_enabled()
