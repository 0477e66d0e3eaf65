"""Padding of the last one to three dimensions."""
from .. import functional as F
from ..module import Module
from .utils import _ntuple


class _PadNd(Module):
    __constants__ = ["padding"]
    _sides = 0
    _mode = ""

    def __init__(self, padding):
        super().__init__()
        self.padding = _ntuple(self._sides)(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads the last dimension with `value`: padding = number or (left, right).

    >>> nn.ConstantPad1d((2, 1), 9)(torch.zeros(1, 2))
    tensor([[9., 9., 0., 0., 9.]])
    """
    _sides = 2


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two dimensions with `value`: padding = number or (left, right, top, bottom)."""
    _sides = 4


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three dimensions with `value`: padding = number or six numbers, last dimension first."""
    _sides = 6


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad1d(_ZeroPadNd):
    """Pads the last dimension with zeros."""
    _sides = 2


class ZeroPad2d(_ZeroPadNd):
    """Pads the last two dimensions with zeros.

    >>> nn.ZeroPad2d(1)(torch.ones(1, 1, 1, 1)).sum((0, 1))
    tensor([[0., 0., 0.],
            [0., 1., 0.],
            [0., 0., 0.]])
    """
    _sides = 4


class ZeroPad3d(_ZeroPadNd):
    """Pads the last three dimensions with zeros."""
    _sides = 6


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pads the last dimension with its mirror image, without repeating the edge.

    >>> nn.ReflectionPad1d(2)(torch.arange(4.).view(1, 1, 4))
    tensor([[[2., 1., 0., 1., 2., 3., 2., 1.]]])
    """
    _sides = 2


class ReflectionPad2d(_ReflectionPadNd):
    """Pads the last two dimensions with their mirror image."""
    _sides = 4


class ReflectionPad3d(_ReflectionPadNd):
    """Pads the last three dimensions with their mirror image."""
    _sides = 6


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pads the last dimension with copies of the edge.

    >>> nn.ReplicationPad1d(1)(torch.arange(3.).view(1, 1, 3))
    tensor([[[0., 0., 1., 2., 2.]]])
    """
    _sides = 2


class ReplicationPad2d(_ReplicationPadNd):
    """Pads the last two dimensions with copies of the edges."""
    _sides = 4


class ReplicationPad3d(_ReplicationPadNd):
    """Pads the last three dimensions with copies of the edges."""
    _sides = 6


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input):
        n = self._sides // 2
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def forward(self, input):
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


class CircularPad1d(_CircularPadNd):
    """Pads the last dimension with its other end.

    >>> nn.CircularPad1d(1)(torch.arange(3.).view(1, 1, 3))
    tensor([[[2., 0., 1., 2., 0.]]])
    """
    _sides = 2


class CircularPad2d(_CircularPadNd):
    """Pads the last two dimensions with their other ends."""
    _sides = 4


class CircularPad3d(_CircularPadNd):
    """Pads the last three dimensions with their other ends."""
    _sides = 6
