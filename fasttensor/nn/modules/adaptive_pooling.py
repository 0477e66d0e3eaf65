"""Pooling to an output size."""
from .. import functional as F
from ..module import Module


class _AdaptivePoolNd(Module):
    __constants__ = ["output_size"]

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def extra_repr(self):
        return f"output_size={self.output_size}"


class _AdaptiveAvgPoolNd(_AdaptivePoolNd):
    pass


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    __constants__ = ["output_size", "return_indices"]

    def __init__(self, output_size, return_indices=False):
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of even windows that give `output_size` values: (N, C, L) -> (N, C, output_size).

    >>> nn.AdaptiveAvgPool1d(5)(torch.randn(1, 64, 8)).shape
    torch.Size([1, 64, 5])
    """

    def forward(self, input):
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means to `output_size` = (H, W), each a number or None to keep the input's.

    >>> nn.AdaptiveAvgPool2d((None, 7))(torch.randn(1, 64, 10, 9)).shape
    torch.Size([1, 64, 10, 7])
    """

    def forward(self, input):
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means to `output_size` = (D, H, W).

    Input (N, C, D, H, W) or (C, D, H, W), floating-point; a size of None keeps the input's. RuntimeError for
    other numbers of dimensions.

    >>> nn.AdaptiveAvgPool3d((2, None, 1))(torch.randn(1, 3, 8, 5, 6)).shape
    torch.Size([1, 3, 2, 5, 1])
    """

    def forward(self, input):
        return F.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima of even windows that give `output_size` values.

    >>> nn.AdaptiveMaxPool1d(2)(torch.tensor([[[1., 2., 3., 4.]]]))
    tensor([[[2., 4.]]])
    """

    def forward(self, input):
        return F.adaptive_max_pool1d(input, self.output_size, return_indices=self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima to `output_size` = (H, W).

    Input (N, C, H, W) or (C, H, W), floating-point; with `return_indices` also where each maximum is, int64,
    counted within its plane.

    >>> nn.AdaptiveMaxPool2d((1, 2))(torch.arange(8.).reshape(1, 2, 4))
    tensor([[[5., 7.]]])
    """

    def forward(self, input):
        return F.adaptive_max_pool2d(input, self.output_size, return_indices=self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima to `output_size` = (D, H, W).

    Input (N, C, D, H, W) or (C, D, H, W), floating-point; with `return_indices` also where each maximum is,
    int64, counted within its volume.

    >>> nn.AdaptiveMaxPool3d(2)(torch.randn(1, 3, 8, 6, 4)).shape
    torch.Size([1, 3, 2, 2, 2])
    """

    def forward(self, input):
        return F.adaptive_max_pool3d(input, self.output_size, return_indices=self.return_indices)
