"""Rearranging channels."""
from .. import functional as F
from ..module import Module


class PixelShuffle(Module):
    """Channels to pixels: (*, C r^2, H, W) -> (*, C, H r, W r). Shi et al., 2016.

    >>> nn.PixelShuffle(3)(torch.randn(1, 9, 4, 4)).shape
    torch.Size([1, 1, 12, 12])
    """
    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self):
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Pixels to channels: (*, C, H r, W r) -> (*, C r^2, H, W).

    Any dtype; RuntimeError where r divides the last two sizes not. The opposite of PixelShuffle: Shi et al., 2016.

    >>> nn.PixelUnshuffle(2)(torch.arange(4.).reshape(1, 2, 2)).flatten()
    tensor([0., 1., 2., 3.])
    """
    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self):
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Exchanges channels between groups: (N, C, *) -> (N, C, *). Zhang et al., 2018.

    >>> nn.ChannelShuffle(2)(torch.arange(4.).view(1, 4, 1, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """
    __constants__ = ["groups"]

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self):
        return f"groups={self.groups}"
