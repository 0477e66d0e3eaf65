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
    """Pads the last two dimensions with `value`: padding = number or (left, right, top, bottom).

    Input any with at least 2 dimensions; `padding` is a number or (left, right, top, bottom). Negative pads cut.

    >>> nn.ConstantPad2d((1, 0, 0, 1), 3.5)(torch.arange(4.).reshape(1, 2, 2))
    tensor([[[3.5000, 0.0000, 1.0000],
             [3.5000, 2.0000, 3.0000],
             [3.5000, 3.5000, 3.5000]]])
    """
    _sides = 4


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three dimensions with `value`: padding = number or six numbers, last dimension first.

    Input any with at least 3 dimensions; `padding` is a number or (left, right, top, bottom, front, back). Negative pads cut.

    >>> nn.ConstantPad3d(1, 3.5)(torch.randn(1, 2, 3, 3, 3)).shape
    torch.Size([1, 2, 5, 5, 5])
    """
    _sides = 6


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad1d(_ZeroPadNd):
    """Pads the last dimension with zeros.

    `padding` is a number or (left, right); negative pads cut.

    >>> nn.ZeroPad1d((1, 2))(torch.tensor([[1., 2.]]))
    tensor([[0., 1., 2., 0., 0.]])
    """
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
    """Pads the last three dimensions with zeros.

    `padding` is a number or (left, right, top, bottom, front, back); negative pads cut.

    >>> nn.ZeroPad3d(1)(torch.randn(1, 2, 3, 3, 3)).shape
    torch.Size([1, 2, 5, 5, 5])
    """
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
    """Pads the last two dimensions with their mirror image.

    Input (N, C, H, W) or (C, H, W); `padding` is a number or (left, right, top, bottom). Each pad must be narrower than its dimension (RuntimeError).

    >>> nn.ReflectionPad2d((1, 0, 0, 1))(torch.arange(4.).reshape(1, 2, 2))
    tensor([[[1., 0., 1.],
             [3., 2., 3.],
             [1., 0., 1.]]])
    """
    _sides = 4


class ReflectionPad3d(_ReflectionPadNd):
    """Pads the last three dimensions with their mirror image.

    Input (N, C, D, H, W) or (C, D, H, W); `padding` is a number or (left, right, top, bottom, front, back).
    Each pad must be narrower than its dimension (RuntimeError).

    >>> nn.ReflectionPad3d(1)(torch.randn(1, 2, 3, 3, 3)).shape
    torch.Size([1, 2, 5, 5, 5])
    """
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
    """Pads the last two dimensions with copies of the edges.

    Input (N, C, H, W) or (C, H, W); `padding` is a number or (left, right, top, bottom).

    >>> nn.ReplicationPad2d((1, 0, 0, 1))(torch.arange(4.).reshape(1, 2, 2))
    tensor([[[0., 0., 1.],
             [2., 2., 3.],
             [2., 2., 3.]]])
    """
    _sides = 4


class ReplicationPad3d(_ReplicationPadNd):
    """Pads the last three dimensions with copies of the edges.

    Input (N, C, D, H, W) or (C, D, H, W); `padding` is a number or (left, right, top, bottom, front, back).

    >>> nn.ReplicationPad3d(1)(torch.randn(1, 2, 3, 3, 3)).shape
    torch.Size([1, 2, 5, 5, 5])
    """
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
    """Pads the last two dimensions with their other ends.

    Input (N, C, H, W) or (C, H, W); `padding` is a number or (left, right, top, bottom). No pad may be wider than its dimension (RuntimeError).

    >>> nn.CircularPad2d((1, 0, 0, 1))(torch.arange(4.).reshape(1, 2, 2))
    tensor([[[1., 0., 1.],
             [3., 2., 3.],
             [1., 0., 1.]]])
    """
    _sides = 4


class CircularPad3d(_CircularPadNd):
    """Pads the last three dimensions with their other ends.

    Input (N, C, D, H, W) or (C, D, H, W); `padding` is a number or (left, right, top, bottom, front, back).
    No pad may be wider than its dimension (RuntimeError).

    >>> nn.CircularPad3d(1)(torch.randn(1, 2, 3, 3, 3)).shape
    torch.Size([1, 2, 5, 5, 5])
    """
    _sides = 6
