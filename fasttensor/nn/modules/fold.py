"""Sliding blocks to columns, and back."""
from .. import functional as F
from ..module import Module


class Fold(Module):
    """Adds columns of sliding blocks up to an image: (N, C * prod(kernel), L) -> (N, C, *output_size).

    >>> nn.Fold((4, 5), (2, 2))(torch.randn(1, 12, 12)).shape
    torch.Size([1, 3, 4, 5])
    """
    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return (f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
                f"padding={self.padding}, stride={self.stride}")


class Unfold(Module):
    """Sliding blocks of an image as columns: (N, C, H, W) -> (N, C * prod(kernel), L).

    >>> nn.Unfold((2, 3))(torch.randn(2, 5, 3, 4)).shape
    torch.Size([2, 30, 4])
    """
    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return (f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
                f"stride={self.stride}")
